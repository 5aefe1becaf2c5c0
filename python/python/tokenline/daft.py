"""Extraction from a column of model output in Daft.

```python
import daft
from tokenline.daft import extract

outputs = daft.read_parquet("outputs/")
records, rejects = extract(outputs, "output", keep="id")
records.write_parquet("records/")
rejects.show()
```

The frames are lazy: each action on one of them reads its input and extracts. With `cache=True` that happens once, and the
result stays in memory. Needs `pyarrow`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import daft
import pyarrow as pa

from tokenline._engines import EXTRACTED, Extraction, Table

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from tokenline._types import Schema
    from tokenline.arrow import LazyTableOptions


def extract(
    df: daft.DataFrame,
    column: str,
    schema: Schema | None = None,
    **options: Unpack[LazyTableOptions],
) -> tuple[daft.DataFrame, ...]:
    """The records and the rejects of a text column, as two frames with the `keep` columns of their input row.

    `tokenline.arrow.LazyTableOptions` has the options, and the columns of the results. Raises `ValueError` for
    options that contradict each other or the table, and `TypeError` for an unknown one; a column without texts is an
    error of the query.
    """
    cache = options.pop("cache", False)
    extraction = Extraction(schema, options)

    @daft.func.batch(return_dtype=daft.DataType.from_arrow_type(extraction.type))
    def structs(texts: daft.Series) -> pa.Array:
        # What Daft has no type for, such as a dictionary, is a column of Python objects, and to_arrow() pickles them.
        is_object = texts.datatype() == daft.DataType.python()
        return extraction(pa.array(texts.to_pylist()) if is_object else texts.to_arrow())

    extracted = df.select(*extraction.keep, structs(daft.col(column)).alias(EXTRACTED))
    extracted = extracted.collect() if cache else extracted

    def rows(table: Table) -> daft.DataFrame:
        column = daft.col(EXTRACTED)
        of_row = [column.get(name).alias(name) for name in table.row]
        if not table.entry:
            return extracted.where(column.not_null()).select(*extraction.keep, *of_row)
        lists = extracted.select(*extraction.keep, *of_row, column.get(table.name).alias(EXTRACTED))
        entries = lists.explode(EXTRACTED, ignore_empty_and_null=True)
        return entries.select(*extraction.keep, *table.row, column.unnest())

    return tuple(map(rows, extraction.tables))
