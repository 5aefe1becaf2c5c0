"""Records from a table of model outputs, with Polars.

    python with_polars.py 'OUTPUTS/*.parquet' SCHEMA.json RESULTS

OUTPUTS has the columns `id` and `output`. Writes RESULTS/records.parquet and RESULTS/rejects.parquet.
"""

import pathlib
import sys

import polars as pl
from tokenline.polars import extract

outputs, schema, results = sys.argv[1:]
pathlib.Path(results).mkdir(parents=True, exist_ok=True)
tables = extract(pl.scan_parquet(outputs), "output", pathlib.Path(schema).read_text(), keep="id")
# Reads and extracts once for both.
records, rejects = pl.collect_all(tables)
records.write_parquet(f"{results}/records.parquet")
rejects.write_parquet(f"{results}/rejects.parquet")
print(rejects.group_by("code").len().sort("len", descending=True))
