"""Extraction from a column of model output in DataFusion.

```python
from datafusion import SessionContext
from tokenline.datafusion import extract

outputs = SessionContext().read_parquet("outputs/")
records, rejects = extract(outputs, "output", keep="id")
records.write_parquet("records/")
rejects.show()
```

The frames are lazy: each action on one of them reads its input and extracts. With `cache=True` that happens once, and the
result stays in memory. Needs `pyarrow`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from datafusion import DataFrame, col, udf

from tokenline._engines import EXTRACTED, Extraction, Table, quoted

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from tokenline._types import Schema
    from tokenline.arrow import LazyTableOptions


def extract(
    df: DataFrame,
    column: str,
    schema: Schema | None = None,
    **options: Unpack[LazyTableOptions],
) -> tuple[DataFrame, ...]:
    """The records and the rejects of a text column, as two frames with the `keep` columns of their input row.

    `tokenline.arrow.LazyTableOptions` has the options, and the columns of the results. Raises `ValueError` for
    options that contradict each other or the table, and `TypeError` for an unknown one; a column without texts is an
    error of the query.
    """
    cache = options.pop("cache", False)
    extraction = Extraction(schema, options)
    text = df.schema().field(column).type
    structs = udf(extraction, [text], extraction.type, "immutable", name="tokenline_extract")
    columns = [col(quoted(name)) for name in extraction.keep]
    extracted = df.select(*columns, structs(col(quoted(column))).alias(EXTRACTED))
    extracted = extracted.cache() if cache else extracted

    def rows(table: Table) -> DataFrame:
        of_row = [col(EXTRACTED)[name].alias(name) for name in table.row]
        if not table.entry:
            return extracted.filter(col(EXTRACTED).is_not_null()).select(*columns, *of_row)
        lists = extracted.select(*columns, *of_row, col(EXTRACTED)[table.name].alias(EXTRACTED))
        entries = lists.unnest_columns(EXTRACTED, preserve_nulls=False)
        of_entry = (col(EXTRACTED)[name].alias(name) for name in table.entry)
        return entries.select(*columns, *(col(quoted(name)) for name in table.row), *of_entry)

    return tuple(map(rows, extraction.tables))
