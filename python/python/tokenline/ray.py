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

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from ray.data import Dataset

from tokenline._engines import EXTRACTED, TABLES, Extraction


def extract(
    df: Dataset,
    column: str,
    schema: Any = None,
    *,
    keep: str | Iterable[str] = (),
    tables: Sequence[str] = TABLES,
    cache: bool = False,
    **options: Any,
) -> tuple[Dataset, ...]:
    """The records and the rejects of a text column, as two datasets with the `keep` columns of their input row.

    `tables` names others, such as `tool_calls`; `options` are those of `tokenline.arrow.extract`.
    """
    extraction = Extraction(schema, keep, tables, options)

    def structs(batch: pa.Table) -> pa.Table:
        return batch.select(extraction.keep).append_column(EXTRACTED, extraction.chunks(batch[column]))

    def rows(batch: pa.Table, table: str) -> pa.Table:
        lists = pc.struct_field(batch[EXTRACTED], table).combine_chunks()
        kept = batch.select(extraction.keep).take(pc.list_parent_indices(lists))
        columns = pc.list_flatten(lists).flatten()
        return pa.table([*kept.columns, *columns], names=[*extraction.keep, *extraction.fields[table]])

    arrow = {"batch_format": "pyarrow", "batch_size": None}
    extracted = df.map_batches(structs, **arrow)
    extracted = extracted.materialize() if cache else extracted
    return tuple(extracted.map_batches(rows, fn_args=[table], **arrow) for table in extraction.fields)
