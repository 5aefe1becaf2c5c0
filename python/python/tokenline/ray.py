"""Extraction from a column of model output in Ray Data.

```python
import ray
from tokenline.ray import extract

outputs = ray.data.read_parquet("outputs/")
records, rejects = extract(outputs, "output", keep="id")
records.write_parquet("records/")
print(rejects.groupby("code").count().take_all())
```

The datasets are lazy: each action on one of them reads its input and extracts. With `cache=True` that happens once, and the
result stays in the object store. The workers need `tokenline` and `pyarrow`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from ray.data import Dataset

from tokenline._engines import EXTRACTED, Extraction, Table

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from tokenline._types import Schema
    from tokenline.arrow import LazyTableOptions


def extract(
    df: Dataset,
    column: str,
    schema: Schema | None = None,
    **options: Unpack[LazyTableOptions],
) -> tuple[Dataset, ...]:
    """The records and the rejects of a text column, as two datasets with the `keep` columns of their input row.

    `tokenline.arrow.LazyTableOptions` has the options, and the columns of the results. Raises `ValueError` for
    options that contradict each other or the table, and `TypeError` for an unknown one; a column without texts is an
    error of the query.
    """
    cache = options.pop("cache", False)
    extraction = Extraction(schema, options)

    def structs(batch: pa.Table) -> pa.Table:
        return batch.select(extraction.keep).append_column(EXTRACTED, extraction.chunks(batch[column]))

    def rows(batch: pa.Table, table: Table) -> pa.Table:
        places, results = extraction.rows(batch[EXTRACTED], table)
        kept = batch.select(extraction.keep).take(places)
        return pa.table([*kept.columns, *results.columns], names=[*extraction.keep, *results.column_names])

    arrow = {"batch_format": "pyarrow", "batch_size": None}
    extracted = df.map_batches(structs, **arrow)
    extracted = extracted.materialize() if cache else extracted
    return tuple(extracted.map_batches(rows, fn_args=[table], **arrow) for table in extraction.tables)
