"""Records from a table of model outputs, with DuckDB.

    python with_duckdb.py 'OUTPUTS/*.parquet' SCHEMA.json RESULTS

OUTPUTS has the columns `id` and `output`. Writes RESULTS/records.parquet and RESULTS/rejects.parquet.
"""

import pathlib
import sys

import duckdb
from tokenline.duckdb import extract

outputs, schema, results = sys.argv[1:]
pathlib.Path(results).mkdir(parents=True, exist_ok=True)
connection = duckdb.connect()
table = connection.read_parquet(outputs)
records, rejects = extract(
    table, "output", pathlib.Path(schema).read_text(), keep="id", connection=connection, cache=True
)
records.to_parquet(f"{results}/records.parquet")
rejects.to_parquet(f"{results}/rejects.parquet")
print(rejects.aggregate("code, count(*) AS rejects").order("rejects DESC"))
