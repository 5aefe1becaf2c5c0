"""Records from a table of model outputs, with pandas.

    python with_pandas.py OUTPUTS.parquet SCHEMA.json RESULTS

OUTPUTS has the columns `id` and `output`. Writes RESULTS/records.parquet and RESULTS/rejects.parquet.
"""

import pathlib
import sys

import pandas as pd
from tokenline.pandas import extract

outputs, schema, results = sys.argv[1:]
pathlib.Path(results).mkdir(parents=True, exist_ok=True)
table = pd.read_parquet(outputs, columns=["id", "output"], dtype_backend="pyarrow")
records, rejects = extract(table, "output", pathlib.Path(schema).read_text(), keep="id")
records.to_parquet(f"{results}/records.parquet", index=False)
rejects.to_parquet(f"{results}/rejects.parquet", index=False)
print(rejects["code"].value_counts())
