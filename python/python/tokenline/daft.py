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

from collections.abc import Iterable, Sequence
from typing import Any

import daft
import pyarrow as pa

from tokenline._engines import EXTRACTED, TABLES, Extraction


def extract(
    df: daft.DataFrame,
    column: str,
    schema: Any = None,
    *,
    keep: str | Iterable[str] = (),
    tables: Sequence[str] = TABLES,
    cache: bool = False,
    **options: Any,
) -> tuple[daft.DataFrame, ...]:
    """The records and the rejects of a text column, as two frames with the `keep` columns of their input row.

    `tables` names others, such as `tool_calls`; `options` are those of `tokenline.arrow.extract`.
    """
    extraction = Extraction(schema, keep, tables, options)

    @daft.func.batch(return_dtype=daft.DataType.from_arrow_type(extraction.type))
    def structs(texts: daft.Series) -> pa.Array:
        return extraction(texts.to_arrow())

    extracted = df.select(*extraction.keep, structs(daft.col(column)).alias(EXTRACTED))
    extracted = extracted.collect() if cache else extracted
    return tuple(
        extracted.select(*extraction.keep, daft.col(EXTRACTED).get(table).alias(EXTRACTED))
        .explode(EXTRACTED, ignore_empty_and_null=True)
        .select(*extraction.keep, daft.col(EXTRACTED).unnest())
        for table in extraction.fields
    )
