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

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from tokenline._conversations import validate_conversations
from tokenline._engines import EXTRACTED, Extraction, Table, quoted

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from tokenline._types import Schema
    from tokenline.arrow import LazyTableOptions

__all__ = ["extract", "validate_conversations"]


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
    columns = [quoted(name, "`") for name in extraction.keep]
    # mapInArrow takes a dot in a name for a path.
    inputs = df.selectExpr(*(f"{name} AS _{at}" for at, name in enumerate([*columns, quoted(column, "`")])))
    output = StructType()
    for name, field in zip(extraction.keep, inputs.schema):
        output.add(name, field.dataType, field.nullable, field.metadata)
    output.add(EXTRACTED, StructType.fromDDL(extraction.extractor.ddl()))

    def structs(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            arrays = [*batch.columns[:-1], extraction(batch.columns[-1])]
            yield pa.RecordBatch.from_arrays(arrays, names=output.names)

    extracted = inputs.mapInArrow(structs, output)
    extracted = extracted.persist() if cache else extracted

    def rows(table: Table) -> DataFrame:
        of_row = [f"{EXTRACTED}.{name}" for name in table.row]
        if not table.entry:
            return extracted.where(f"{EXTRACTED} IS NOT NULL").selectExpr(*columns, *of_row)
        return extracted.selectExpr(*columns, *of_row, f"inline({EXTRACTED}.{table.name})")

    return tuple(map(rows, extraction.tables))
