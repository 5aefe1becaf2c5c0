"""The same three jobs on each engine.

`tables` returns the records and the rejects. `read` reads the input and sums the length of the outputs; `extract` does the
same with the texts of the records: what it takes longer is the extraction.
"""

import glob
import os
from typing import Any

import pyarrow as pa


class Job:
    package = ""
    is_measured = True
    note = ""

    def tables(self, path: str, schema: str | None) -> tuple[pa.Table, pa.Table]:
        raise NotImplementedError

    def read(self, directory: str) -> object:
        raise NotImplementedError

    def extract(self, directory: str, schema: str | None) -> object:
        raise NotImplementedError

    def close(self) -> None:
        """Ends processes of the engine."""


class Polars(Job):
    package = "polars"

    def _tables(self, path: str, schema: str | None) -> Any:
        import polars as pl
        from tokenline.polars import extract

        return extract(pl.scan_parquet(path), "output", schema, keep="id")

    def tables(self, path: str, schema: str | None) -> tuple[pa.Table, pa.Table]:
        import polars as pl

        records, rejects = pl.collect_all(self._tables(path, schema))
        return pa.table(records), pa.table(rejects)

    def read(self, directory: str) -> object:
        import polars as pl

        return pl.scan_parquet(directory).select(pl.col("output").str.len_bytes().sum()).collect(engine="streaming")

    def extract(self, directory: str, schema: str | None) -> object:
        import polars as pl

        records, _ = self._tables(directory, schema)
        return records.select(pl.col("json").str.len_bytes().sum()).collect(engine="streaming")


class Pandas(Job):
    package = "pandas"

    def _outputs(self, path: str) -> Any:
        import pandas as pd

        return pd.read_parquet(path, columns=["id", "output"], dtype_backend="pyarrow")

    def _tables(self, path: str, schema: str | None) -> Any:
        from tokenline.pandas import extract

        return extract(self._outputs(path), "output", schema, keep="id")

    def tables(self, path: str, schema: str | None) -> tuple[pa.Table, pa.Table]:
        records, rejects = self._tables(path, schema)
        return pa.Table.from_pandas(records, preserve_index=False), pa.Table.from_pandas(rejects, preserve_index=False)

    def read(self, directory: str) -> object:
        return self._outputs(directory)["output"].str.len().sum()

    def extract(self, directory: str, schema: str | None) -> object:
        return self._tables(directory, schema)[0]["json"].str.len().sum()


class DuckDB(Job):
    package = "duckdb"

    def __init__(self) -> None:
        import duckdb

        self.connection = duckdb.connect()

    def _tables(self, path: str, schema: str | None, **options: Any) -> Any:
        from tokenline.duckdb import extract

        outputs = self.connection.read_parquet(path)
        return extract(outputs, "output", schema, keep="id", connection=self.connection, **options)

    def tables(self, path: str, schema: str | None) -> tuple[pa.Table, pa.Table]:
        records, rejects = self._tables(path, schema, cache=True)
        return records.to_arrow_table(), rejects.to_arrow_table()

    def read(self, directory: str) -> object:
        return self.connection.read_parquet(f"{directory}/*").aggregate("sum(strlen(output))").fetchall()

    def extract(self, directory: str, schema: str | None) -> object:
        records, _ = self._tables(f"{directory}/*", schema)
        return records.aggregate("sum(strlen(json))").fetchall()


class DataFusion(Job):
    package = "datafusion"

    def _outputs(self, path: str) -> Any:
        from datafusion import SessionContext

        return SessionContext().read_parquet(path)

    def _tables(self, path: str, schema: str | None, **options: Any) -> Any:
        from tokenline.datafusion import extract

        return extract(self._outputs(path), "output", schema, keep="id", **options)

    def tables(self, path: str, schema: str | None) -> tuple[pa.Table, pa.Table]:
        records, rejects = self._tables(path, schema, cache=True)
        return records.to_arrow_table(), rejects.to_arrow_table()

    def _length(self, df: Any, name: str) -> object:
        from datafusion import col, functions

        return df.aggregate([], [functions.sum(functions.octet_length(col(name)))]).collect()

    def read(self, directory: str) -> object:
        return self._length(self._outputs(directory), "output")

    def extract(self, directory: str, schema: str | None) -> object:
        return self._length(self._tables(directory, schema)[0], "json")


class Daft(Job):
    package = "daft"

    def _tables(self, path: str, schema: str | None, **options: Any) -> Any:
        import daft
        from tokenline.daft import extract

        return extract(daft.read_parquet(path), "output", schema, keep="id", **options)

    def tables(self, path: str, schema: str | None) -> tuple[pa.Table, pa.Table]:
        records, rejects = self._tables(path, schema, cache=True)
        return records.to_arrow(), rejects.to_arrow()

    def read(self, directory: str) -> object:
        import daft

        return daft.read_parquet(directory).agg(daft.col("output").length_bytes().sum()).to_pydict()

    def extract(self, directory: str, schema: str | None) -> object:
        import daft

        return self._tables(directory, schema)[0].agg(daft.col("json").length_bytes().sum()).to_pydict()


class Ray(Job):
    package = "ray"

    def __init__(self) -> None:
        import ray

        os.environ.setdefault("RAY_AUTH_MODE", "disabled")
        ray.init(include_dashboard=False, logging_level="ERROR", log_to_driver=False)
        ray.data.DataContext.get_current().enable_progress_bars = False

    def _tables(self, path: str, schema: str | None, **options: Any) -> Any:
        import ray
        from tokenline.ray import extract

        return extract(ray.data.read_parquet(path), "output", schema, keep="id", **options)

    def tables(self, path: str, schema: str | None) -> tuple[pa.Table, pa.Table]:
        import ray

        def collected(dataset: Any) -> pa.Table:
            return pa.concat_tables(ray.get(dataset.to_arrow_refs()), promote_options="permissive")

        records, rejects = self._tables(path, schema, cache=True)
        return collected(records), collected(rejects)

    def _length(self, dataset: Any, name: str) -> object:
        import pyarrow.compute as pc

        def length(batch: pa.Table) -> pa.Table:
            return pa.table({"bytes": [pc.sum(pc.binary_length(batch[name])).as_py() or 0]})

        return sum(row["bytes"] for row in dataset.map_batches(length, batch_format="pyarrow", batch_size=None).take_all())

    def close(self) -> None:
        import ray

        ray.shutdown()

    def read(self, directory: str) -> object:
        import ray

        return self._length(ray.data.read_parquet(directory), "output")

    def extract(self, directory: str, schema: str | None) -> object:
        return self._length(self._tables(directory, schema)[0], "json")


class Spark(Job):
    package = "pyspark"
    master = "local[2]"

    def __init__(self) -> None:
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master(self.master).config("spark.ui.enabled", "false")
        self.spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()

    def _outputs(self, path: str) -> Any:
        return self.spark.read.parquet(*sorted(glob.glob(path)))

    def _tables(self, path: str, schema: str | None, **options: Any) -> Any:
        from tokenline.spark import extract

        return extract(self._outputs(path), "output", schema, keep="id", **options)

    def tables(self, path: str, schema: str | None) -> tuple[pa.Table, pa.Table]:
        records, rejects = self._tables(path, schema, cache=True)
        return records.toArrow(), rejects.toArrow()

    def close(self) -> None:
        self.spark.stop()

    def read(self, directory: str) -> object:
        return self._outputs(directory).selectExpr("sum(octet_length(output))").collect()

    def extract(self, directory: str, schema: str | None) -> object:
        return self._tables(directory, schema)[0].selectExpr("sum(octet_length(json))").collect()


def jobs() -> dict[str, type[Job]]:
    from spark_cluster import SparkCluster

    return {
        "polars": Polars,
        "pandas": Pandas,
        "duckdb": DuckDB,
        "datafusion": DataFusion,
        "daft": Daft,
        "ray": Ray,
        "spark": Spark,
        "spark-cluster": SparkCluster,
    }
