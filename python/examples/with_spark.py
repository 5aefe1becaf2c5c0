"""Records from a table of model outputs, with Spark.

    spark-submit with_spark.py OUTPUTS SCHEMA.json RESULTS

OUTPUTS is Parquet with the columns `id` and `output`, in any storage that Spark reads. Writes RESULTS/records and
RESULTS/rejects as Parquet. The executors need `tokenline` and `pyarrow`.
"""

import pathlib
import sys

from pyspark.sql import SparkSession
from tokenline.spark import extract

outputs, schema, results = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
table = spark.read.parquet(outputs)
records, rejects = extract(table, "output", pathlib.Path(schema).read_text(), keep="id", cache=True)
records.write.parquet(f"{results}/records")
rejects.write.parquet(f"{results}/rejects")
rejects.groupBy("code").count().orderBy("count", ascending=False).show()
