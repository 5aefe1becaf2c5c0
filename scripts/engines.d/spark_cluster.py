"""Spark on a master and two executors, of which one is killed in the middle of each job."""

import os
import pathlib
import signal
import threading
import time
from typing import Any

import pyarrow as pa
from engine_jobs import Spark

TASKS = 48


class SparkCluster(Spark):
    master = "local-cluster[2,1,1024]"
    is_measured = False

    def __init__(self) -> None:
        import pyspark

        os.environ["SPARK_HOME"] = str(pathlib.Path(pyspark.__file__).parent)
        self.kills = 0
        super().__init__()

    def _outputs(self, path: str) -> Any:
        return super()._outputs(path).repartition(TASKS)

    def tables(self, path: str, schema: str | None) -> tuple[pa.Table, pa.Table]:
        records, rejects = self._tables(path, schema)
        return self._with_kill(records), self._with_kill(rejects)

    def _with_kill(self, frame: Any) -> pa.Table:
        failures: list[str] = []
        thread = threading.Thread(target=self._kill_one, args=[failures])
        thread.start()
        table = frame.toArrow()
        thread.join()
        assert not failures, failures
        self.kills += 1
        self.note = f"{self.kills} executors killed"
        return table

    def _kill_one(self, failures: list[str]) -> None:
        """Kills an executor when between a quarter and all of the tasks that extract have ended."""
        tracker = self.spark.sparkContext.statusTracker()
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            for stage in map(tracker.getStageInfo, tracker.getActiveStageIds()):
                if stage and stage.numTasks == TASKS and TASKS // 4 <= stage.numCompletedTasks < TASKS:
                    before = executors()
                    os.kill(min(before), signal.SIGKILL)
                    while time.monotonic() < deadline and not executors() - before:
                        time.sleep(0.05)
                    if not executors() - before:
                        failures.append("no executor took the place of the killed one")
                    return
            time.sleep(0.002)
        failures.append("found no time to kill an executor")


def executors() -> set[int]:
    """The processes of this program's executors."""
    found = set()
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            command = (path / "cmdline").read_bytes()
            parents = [int(path.name)]
            while parents[-1] > 1:
                status = pathlib.Path(f"/proc/{parents[-1]}/stat").read_text()
                parents.append(int(status.rpartition(")")[2].split()[1]))
        except (OSError, ValueError):
            continue
        if b"CoarseGrainedExecutorBackend" in command and os.getpid() in parents:
            found.add(int(path.name))
    return found
