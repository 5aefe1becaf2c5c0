"""The program's records and rejects as tables, and the comparison of tables with them.

    tables.py TOKENLINE DIRECTORY     writes DIRECTORY/{plain,schema}-{records,rejects}.parquet from DIRECTORY/rows.jsonl
"""

import json
import pathlib
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq

SCHEMA = pathlib.Path(__file__).resolve().with_name("schema.json")
COLUMNS = {
    "records": ["id", "line", "start", "end", "completion", "json"],
    "rejects": ["id", "line", "column", "start", "end", "code", "message", "instance_path", "schema_path"],
}
TYPES = {
    table: pa.schema(
        [(name, pa.int64() if name in ("line", "column", "start", "end") else pa.string()) for name in names]
    )
    for table, names in COLUMNS.items()
}


def of_program(tokenline: str, rows: pathlib.Path, schema: pathlib.Path | None) -> dict[str, pa.Table]:
    command = [tokenline, "parse", "--from", "lines", rows, "--text-pointer", "/output", "--id-pointer", "/id"]
    command += ["--emit", "events", "--quiet", *(["--schema", schema] if schema else [])]
    events = subprocess.run(command, check=True, capture_output=True).stdout.decode()
    found: dict[str, list[dict]] = {"records": [], "rejects": []}
    # Not `splitlines`: strings may contain U+2028.
    for line in events.removesuffix("\n").split("\n"):
        event = json.loads(line)
        if event["event"] == "record":
            # The record's text, as the program wrote it: the last member.
            event["json"] = line.partition(',"value":')[2].removesuffix("}")
            found["records"].append(event)
        elif event["event"] == "rejected":
            found["rejects"].append(event)
    return {table: pa.Table.from_pylist(found[table], TYPES[table]) for table in found}


def differences(expected: pa.Table, actual: pa.Table) -> str | None:
    """Compares sorted tables; the first difference, if there is one."""
    if actual.column_names != expected.column_names:
        return f"columns {actual.column_names} instead of {expected.column_names}"
    actual = actual.cast(expected.schema)
    keys = [(name, "ascending") for name in expected.column_names]
    expected, actual = expected.sort_by(keys).combine_chunks(), actual.sort_by(keys).combine_chunks()
    if actual.equals(expected):
        return None
    for at, (one, other) in enumerate(zip(expected.to_pylist(), actual.to_pylist())):
        if one != other:
            return f"sorted row {at} is {other} instead of {one}"
    return f"{actual.num_rows} rows instead of {expected.num_rows}"


if __name__ == "__main__":
    directory = pathlib.Path(sys.argv[2])
    for name, schema in [("plain", None), ("schema", SCHEMA)]:
        for table, rows in of_program(sys.argv[1], directory / "rows.jsonl", schema).items():
            assert rows.num_rows > 1_000, f"only {rows.num_rows} {table}"
            pq.write_table(rows, directory / f"{name}-{table}.parquet")
