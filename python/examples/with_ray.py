"""Records from a table of model outputs, with Ray Data.

    python with_ray.py OUTPUTS SCHEMA.json RESULTS

OUTPUTS is Parquet with the columns `id` and `output`, or in a program the dataset that a batch of vLLM has just made. Writes
RESULTS/records and RESULTS/rejects as Parquet. The workers need `tokenline` and `pyarrow`.
"""

import os
import pathlib
import sys

import ray
from tokenline.ray import extract

outputs, schema, results = (os.path.abspath(path) for path in sys.argv[1:])
table = ray.data.read_parquet(outputs)
records, rejects = extract(table, "output", pathlib.Path(schema).read_text(), keep="id", cache=True)
records.write_parquet(f"{results}/records")
rejects.write_parquet(f"{results}/rejects")
print(rejects.groupby("code").count().take_all())
