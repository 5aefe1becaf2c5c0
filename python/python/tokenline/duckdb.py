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

from contextlib import ExitStack
from typing import TYPE_CHECKING

import duckdb

from tokenline._engines import EXTRACTED, Extraction, Table, quoted

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from tokenline._types import Schema
    from tokenline.arrow import LazyTableOptions


def extract(
    df: duckdb.DuckDBPyRelation,
    column: str,
    schema: Schema | None = None,
    *,
    connection: duckdb.DuckDBPyConnection | None = None,
    **options: Unpack[LazyTableOptions],
) -> tuple[duckdb.DuckDBPyRelation, ...]:
    """The records and the rejects of a text column, as two relations with the `keep` columns of their input row.

    `connection` is the relation's, unless that is DuckDB's default. Without `cache`, a function stays registered there.
    `tokenline.arrow.LazyTableOptions` has the options, and the columns of the results. Raises `ValueError` for
    options that contradict each other or the table, and `TypeError` for an unknown one; a column without texts is an
    error of the query.
    """
    cache = options.pop("cache", False)
    extraction = Extraction(schema, options)
    connection = connection or duckdb.default_connection()
    name = f"tokenline_extract_{id(extraction)}"
    (text,), structs = df.project(quoted(column)).types, duckdb.sqltype(extraction.extractor.duckdb_type())
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

    def rows(table: Table) -> duckdb.DuckDBPyRelation:
        of_row = "".join(f"{EXTRACTED}.{name}, " for name in table.row)
        if not table.entry:
            return extracted.filter(f"{EXTRACTED} IS NOT NULL").project(columns + of_row)
        return extracted.project(f"{columns}{of_row}unnest({EXTRACTED}.{table.name}, max_depth := 2)")

    return tuple(map(rows, extraction.tables))
