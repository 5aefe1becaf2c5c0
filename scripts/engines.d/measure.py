"""One engine: compares its tables with the program's, and measures it.

    measure.py ENGINE DIRECTORY     a line of JSON on standard output

The directory has the files of `corpus.py` and `tables.py`, and in `copies/` the outputs several times, for the speed.
"""

import json
import pathlib
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version

import pyarrow.parquet as pq
from engine_jobs import Job, jobs
from tables import SCHEMA, differences

ROUNDS = 3
EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "python" / "examples"


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


def compare_example(engine: str, directory: pathlib.Path) -> list[str]:
    """Runs the engine's example of the guide, if there is one."""
    example, results = EXAMPLES / f"with_{engine}.py", directory / f"with_{engine}"
    if not example.exists():
        return []
    outputs = directory / "outputs.parquet"
    subprocess.run([sys.executable, example, outputs, SCHEMA, results], check=True, stdout=sys.stderr)
    found = []
    for table in ("records", "rejects"):
        (path,) = results.glob(f"{table}*")
        difference = differences(pq.read_table(directory / f"schema-{table}.parquet"), pq.read_table(path))
        if difference is not None:
            found.append(f"{example.name} {table}: {difference}")
    return found


def main(engine: str, directory: pathlib.Path) -> None:
    job = jobs()[engine]()
    differing = compare(job, directory)
    result: dict[str, object] = {"version": version(job.package), "differences": differing}
    if job.is_measured:
        copies = str(directory / "copies")
        result["read"] = seconds(lambda: job.read(copies))
        for name, schema in [("plain", None), ("schema", SCHEMA.read_text())]:
            result[name] = seconds(lambda: job.extract(copies, schema))
    job.close()
    differing += compare_example(engine, directory)
    result["note"] = job.note
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1], pathlib.Path(sys.argv[2]))
