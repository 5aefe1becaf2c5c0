"""The examples that need no cluster, as their users run them. `scripts/engines` runs the others."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"
SCHEMA = '{"required":["city"],"properties":{"city":{"type":"string"}}}'
TEXTS = ['Sure:\n{"city":"Oslo"}\n{"city":1}\n', '{"city":"東京"}\n{"city":', "nothing"]


def run(name: str, *arguments: pathlib.Path | str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, EXAMPLES / name, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8")


@pytest.fixture
def schema(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "schema.json"
    path.write_text(SCHEMA)
    return path


@pytest.mark.parametrize("engine", ["duckdb", "pandas", "polars"])
def test_tables_in_and_tables_out(engine: str, tmp_path: pathlib.Path, schema: pathlib.Path) -> None:
    pytest.importorskip(engine)
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"id": ["a", "b", "c"], "output": TEXTS}), tmp_path / "outputs.parquet")
    done = run(f"with_{engine}.py", tmp_path / ("outputs.parquet" if engine == "pandas" else "*.parquet"), schema, tmp_path / "results")
    assert "schema_violation" in done.stdout and "truncated" in done.stdout
    records = pq.read_table(tmp_path / "results" / "records.parquet").to_pylist()
    found = sorted((record["id"], json.loads(record["json"])["city"]) for record in records)
    assert found == [("a", "Oslo"), ("b", "東京")]
    rejects = pq.read_table(tmp_path / "results" / "rejects.parquet").to_pylist()
    assert sorted((reject["id"], reject["line"]) for reject in rejects) == [("a", 3), ("b", 2)]


def test_records_of_one_response(tmp_path: pathlib.Path, schema: pathlib.Path) -> None:
    (tmp_path / "response.txt").write_text(TEXTS[0] + TEXTS[1], encoding="utf-8")
    done = run("one_process.py", tmp_path / "response.txt", schema)
    assert [json.loads(line) for line in done.stdout.splitlines()] == [{"city": "Oslo"}, {"city": "東京"}]
    assert [line.split(": ")[1] for line in done.stderr.splitlines()] == ["schema_violation", "truncated"]
