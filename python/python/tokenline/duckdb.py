"""Extraction from a column of model output in DuckDB.

```python
import duckdb
from tokenline.duckdb import extract

connection = duckdb.connect()
outputs = connection.sql("FROM 'outputs/*.parquet'")
records, rejects = extract(outputs, "output", keep="id", connection=connection)
records.to_parquet("records.parquet")
```

The relations are lazy: each query on one of them reads its input and extracts. `cache=True` does that once, and keeps the
result in memory. Needs `pyarrow`, and `numpy`, without which DuckDB calls no Arrow function.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import Any

import duckdb

from tokenline._engines import EXTRACTED, TABLES, Extraction, quoted


def extract(
    df: duckdb.DuckDBPyRelation,
    column: str,
    schema: Any = None,
    *,
    keep: str | Iterable[str] = (),
    tables: Sequence[str] = TABLES,
    cache: bool = False,
    connection: duckdb.DuckDBPyConnection | None = None,
    **options: Any,
) -> tuple[duckdb.DuckDBPyRelation, ...]:
    """The records and the rejects of a text column, as two relations with the `keep` columns of their input row.

    `connection` is the relation's, unless that is DuckDB's default. Without `cache`, a function stays registered there.
    `tables` names others, such as `tool_calls`; `options` are those of `tokenline.arrow.extract`.
    """
    extraction = Extraction(schema, keep, tables, options)
    connection = connection or duckdb.default_connection()
    name = f"tokenline_extract_{id(extraction)}"
    (text,), (structs,) = df.project(quoted(column)).types, connection.from_arrow(extraction.empty_table()).types
    connection.create_function(name, extraction.chunks, [text], structs, type="arrow", null_handling="special")
    columns = "".join(f"{quoted(kept)}, " for kept in extraction.keep)
    with ExitStack() as undo:
        undo.callback(connection.remove_function, name)
        try:
            extracted = df.project(f"{columns}{name}({quoted(column)}) AS {EXTRACTED}")
        except duckdb.CatalogException as error:
            raise ValueError("`connection` must be the one that `df` belongs to") from error
        extracted = extracted.materialize() if cache else extracted
        if not cache:
            undo.pop_all()
    lists = (f"{columns}unnest({EXTRACTED}.{table}, max_depth := 2)" for table in extraction.fields)
    return tuple(map(extracted.project, lists))
