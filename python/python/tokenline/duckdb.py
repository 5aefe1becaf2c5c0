"""Extraction from a column of model output in DuckDB.

```python
import duckdb
from tokenline.duckdb import extract

connection = duckdb.connect()
outputs = connection.sql("FROM 'outputs/*.parquet'")
records, rejects = extract(outputs, "output", keep="id", connection=connection)
records.to_parquet("records.parquet")
print(rejects.aggregate("code, count(*)"))
```

The relations are lazy: each query on one of them reads its input and extracts. With `cache=True` that happens once, and
the result stays in memory. Needs `pyarrow`, and `numpy`, without which DuckDB calls no Arrow function.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import duckdb
from duckdb import DuckDBPyConnection, DuckDBPyRelation

from tokenline._engines import EXTRACTED, TABLES, Extraction, quoted

_numbers = itertools.count(1)


def extract(
    df: DuckDBPyRelation,
    column: str,
    schema: Any = None,
    *,
    keep: str | Iterable[str] = (),
    tables: Sequence[str] = TABLES,
    cache: bool = False,
    connection: DuckDBPyConnection | None = None,
    **options: Any,
) -> tuple[DuckDBPyRelation, ...]:
    """The records and the rejects of a text column, as two relations with the `keep` columns of their input row.

    `connection` is the relation's, unless that is DuckDB's default. Without `cache`, a function stays registered there.
    `tables` names others, such as `tool_calls`; `options` are those of `tokenline.arrow.extract`.
    """
    extraction = Extraction(schema, keep, tables, options)
    connection = connection or duckdb.default_connection()
    name = f"tokenline_extract_{next(_numbers)}"
    (text,) = df.project(quoted(column)).types
    (structs,) = connection.from_arrow(extraction.empty_table()).types
    connection.create_function(name, extraction.chunks, [text], structs, type="arrow", null_handling="special")
    columns = "".join(f"{quoted(kept)}, " for kept in extraction.keep)
    try:
        extracted = df.project(f"{columns}{name}({quoted(column)}) AS {EXTRACTED}")
    except duckdb.CatalogException as error:
        raise ValueError("`connection` must be the one that `df` belongs to") from error
    if cache:
        extracted = extracted.materialize()
        connection.remove_function(name)
    return tuple(extracted.project(f"{columns}unnest({EXTRACTED}.{table}, max_depth := 2)") for table in tables)
