"""Extraction from a column of model output in Polars.

```python
import polars as pl
from tokenline.polars import extract

outputs = pl.DataFrame({"id": [1, 2], "output": ['Sure:\n{"city":"Oslo"}\n{"city":', '{"city":"Rome"}']})
records, rejects = extract(outputs, "output", keep="id")
print(records["id", "json"])  # 1 {"city":"Oslo"}, 2 {"city":"Rome"}
print(rejects["id", "line", "code"])  # 1 3 truncated
```

From a `LazyFrame` come two `LazyFrame`s: `pl.collect_all([records, rejects])` reads and extracts once for both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import polars as pl

from tokenline._tables import EXTRACTED, TABLES, columns_kept, columns_of
from tokenline.arrow import Extractor

Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)


def extract(
    df: Frame,
    column: str,
    schema: Any = None,
    *,
    keep: str | Iterable[str] = (),
    tables: Sequence[str] = TABLES,
    **options: Any,
) -> tuple[Frame, ...]:
    """The records and the rejects of a text column, as two frames with the `keep` columns of their input row.

    `tables` names others, such as `tool_calls`; `options` are those of `tokenline.arrow.extract`.
    """
    keep, extractor = columns_kept(keep), Extractor(schema, **options)
    fields = columns_of(tables, extractor, keep)
    kind = pl.Struct(pl.Schema(extractor.output_type))

    def structs(texts: pl.Series) -> pl.Series:
        return pl.Series(extractor.extract(texts))

    # Elementwise: the engine may split the column into batches, and run them in parallel.
    run = pl.col(column).map_batches(structs, return_dtype=kind, is_elementwise=True)
    extracted = df.lazy().select(*keep, run.alias(EXTRACTED))
    results = [
        extracted.select(*keep, pl.col(EXTRACTED).struct.field(table).alias(EXTRACTED))
        .explode(EXTRACTED, empty_as_null=False, keep_nulls=False)
        .unnest(EXTRACTED)
        for table in fields
    ]
    return tuple(pl.collect_all(results) if isinstance(df, pl.DataFrame) else results)
