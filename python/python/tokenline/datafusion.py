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

from collections.abc import Iterable, Sequence
from typing import Any

from datafusion import DataFrame, col, udf

from tokenline._engines import EXTRACTED, TABLES, Extraction, quoted


def extract(
    df: DataFrame,
    column: str,
    schema: Any = None,
    *,
    keep: str | Iterable[str] = (),
    tables: Sequence[str] = TABLES,
    cache: bool = False,
    **options: Any,
) -> tuple[DataFrame, ...]:
    """The records and the rejects of a text column, as two frames with the `keep` columns of their input row.

    `tables` names others, such as `tool_calls`; `options` are those of `tokenline.arrow.extract`.
    """
    extraction = Extraction(schema, keep, tables, options)
    text = df.schema().field(column).type
    structs = udf(extraction, [text], extraction.type, "immutable", name="tokenline_extract")
    columns = [col(quoted(name)) for name in extraction.keep]
    extracted = df.select(*columns, structs(col(quoted(column))).alias(EXTRACTED))
    extracted = extracted.cache() if cache else extracted
    results = []
    for table, fields in extraction.fields.items():
        rows = extracted.select(*columns, col(EXTRACTED)[table].alias(EXTRACTED))
        rows = rows.unnest_columns(EXTRACTED, preserve_nulls=False)
        results.append(rows.select(*columns, *(col(EXTRACTED)[name].alias(name) for name in fields)))
    return tuple(results)
