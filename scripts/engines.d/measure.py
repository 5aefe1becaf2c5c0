"""One engine: compares its tables with the program's, and measures it.

    measure.py ENGINE DIRECTORY     a line of JSON on standard output

The directory has the files of `corpus.py` and `tables.py`, and in `copies/` the outputs several times, for the speed.
"""

import json
import pathlib
import statistics
import sys
import time
from collections.abc import Callable
from importlib.metadata import version

import pyarrow.parquet as pq
from engine_jobs import Job, jobs
from tables import SCHEMA, differences

ROUNDS = 3


def seconds(run: Callable[[], object]) -> float:
    """The median of several rounds, after one that warms everything up."""
    run()
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def compare(job: Job, directory: pathlib.Path) -> list[str]:
    found = []
    for name, schema in [("plain", None), ("schema", SCHEMA.read_text())]:
        tables = job.tables(str(directory / "outputs.parquet"), schema)
        for table, actual in zip(("records", "rejects"), tables):
            difference = differences(pq.read_table(directory / f"{name}-{table}.parquet"), actual)
            if difference is not None:
                found.append(f"{name} {table}: {difference}")
    return found


def main(engine: str, directory: pathlib.Path) -> None:
    job = jobs()[engine]()
    result: dict[str, object] = {"version": version(job.package), "differences": compare(job, directory)}
    if job.is_measured:
        copies = str(directory / "copies")
        result["read"] = seconds(lambda: job.read(copies))
        for name, schema in [("plain", None), ("schema", SCHEMA.read_text())]:
            result[name] = seconds(lambda: job.extract(copies, schema))
    result["note"] = job.note
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1], pathlib.Path(sys.argv[2]))
