"""Extraction from a column of model output in Spark.

```python
from pyspark.sql import SparkSession
from tokenline.spark import extract

outputs = SparkSession.builder.getOrCreate().read.parquet("outputs/")
records, rejects = extract(outputs, "output", keep="id")
records.write.parquet("records")
rejects.groupBy("code").count().show()
```

The frames are lazy: each action on one of them reads its input and extracts. With `cache=True` that happens once, and the
result is persisted, in memory and on disk, until `spark.catalog.clearCache()`. The executors need `tokenline` and `pyarrow`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from tokenline._conversations import validate_conversations
from tokenline._engines import EXTRACTED, TABLES, Extraction, quoted

__all__ = ["extract", "validate_conversations"]


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
    columns = [quoted(name, "`") for name in extraction.keep]
    inputs = df.select(*columns, quoted(column, "`"))
    output = StructType(inputs.schema.fields[:-1]).add(EXTRACTED, StructType.fromDDL(extraction.extractor.ddl()))

    def structs(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            arrays = [*batch.columns[:-1], extraction(batch.columns[-1])]
            yield pa.RecordBatch.from_arrays(arrays, names=output.names)

    extracted = inputs.mapInArrow(structs, output)
    extracted = extracted.persist() if cache else extracted
    return tuple(extracted.selectExpr(*columns, f"inline({EXTRACTED}.{table})") for table in extraction.fields)
