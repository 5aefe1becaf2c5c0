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

from typing import TYPE_CHECKING, TypeVar

import polars as pl

from tokenline._tables import EXTRACTED, Table, arguments, tables_of
from tokenline.arrow import Extractor

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from tokenline._types import Schema
    from tokenline.arrow import TableOptions

Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)


def extract(
    df: Frame,
    column: str,
    schema: Schema | None = None,
    **options: Unpack[TableOptions],
) -> tuple[Frame, ...]:
    """The records and the rejects of a text column, as two frames with the `keep` columns of their input row.

    `tokenline.arrow.TableOptions` has the options, and the columns of the results. Raises `ValueError` for options
    that contradict each other or the table, and `TypeError` for an unknown option; a column without texts is an error
    of Polars.
    """
    keep, names, rest = arguments(options)
    extractor = Extractor(schema, **rest)
    tables = tables_of(names, extractor, keep)
    kind = pl.Struct(pl.Schema(extractor.output_type))

    def structs(texts: pl.Series) -> pl.Series:
        return pl.Series(extractor.extract(texts))

    # Elementwise: the engine may split the column into batches, and run them in parallel.
    run = pl.col(column).map_batches(structs, return_dtype=kind, is_elementwise=True)
    extracted = df.lazy().select(*keep, run.alias(EXTRACTED))

    def rows(table: Table) -> pl.LazyFrame:
        column = pl.col(EXTRACTED).struct
        of_row = [column.field(name) for name in table.row]
        if not table.entry:
            return extracted.filter(pl.col(EXTRACTED).is_not_null()).select(*keep, *of_row)
        lists = extracted.select(*keep, *of_row, column.field(table.name).alias(EXTRACTED))
        return lists.explode(EXTRACTED, empty_as_null=False, keep_nulls=False).unnest(EXTRACTED)

    results = [rows(table) for table in tables]
    return tuple(pl.collect_all(results) if isinstance(df, pl.DataFrame) else results)
