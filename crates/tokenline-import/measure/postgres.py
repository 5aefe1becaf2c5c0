"""Measures an import of PostgreSQL rows, and the same import by a straightforward script with psycopg.

    python crates/tokenline-import/measure/postgres.py [--rows 1000000] [--conversations 100000] [--runs 3]

Needs psycopg 3 (`pip install 'psycopg[binary]'`) and a PostgreSQL server in /usr/lib/postgresql, which it starts in a
temporary folder. Prints the median of the runs: rows a second, and CPU time and peak memory of the client.
"""

import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psycopg

HERE = Path(__file__).resolve().parent
MAPPING = """
conversation-id = "thread"
user-id = "customer"
timestamp = "sent_at"
role = "author"
content = "body"

[metadata]
channel = "channel"
"""
FILL = """
CREATE TABLE messages (id bigint PRIMARY KEY, thread text NOT NULL, customer text NOT NULL,
    sent_at timestamptz NOT NULL, author text NOT NULL, body text NOT NULL, channel text);
INSERT INTO messages
SELECT i, 'thread-' || (i * 7919 % {conversations}), 'user-' || (i * 7919 % {conversations}) % 5000,
    '2026-01-01T00:00:00Z'::timestamptz + i * interval '1.5 s',
    CASE WHEN i / {conversations} % 2 = 0 THEN 'human' ELSE 'bot' END,
    repeat('Message ' || i || E': \\"some text\\" and more. ', 1 + (i % 7)::int), 'web'
FROM generate_series(0, {rows}::bigint - 1) AS i;
CREATE INDEX ON messages (thread, id);
"""


def start_server(folder):
    versions = sorted(Path("/usr/lib/postgresql").iterdir(), key=lambda path: int(path.name))
    binaries = versions[-1] / "bin"
    owner = []
    if os.getuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
        owner = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    init = [binaries / "initdb", "-U", "reader", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-D", f"{folder}/data"]
    subprocess.run(owner + init, check=True, cwd="/", stdout=subprocess.DEVNULL)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["-p", str(port), "-k", folder, "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"]
    options += ["-c", "max_wal_size=8GB", "-c", "shared_buffers=256MB", "-c", "work_mem=64MB"]
    with open(f"{folder}.log", "w") as log:
        server = subprocess.Popen(
            owner + [binaries / "postgres", "-D", f"{folder}/data"] + options, cwd="/", stdout=log, stderr=log
        )
    url = f"postgres://reader@127.0.0.1:{port}/postgres"
    for _ in range(200):
        try:
            psycopg.connect(url).close()
            return server, url
        except psycopg.OperationalError:
            time.sleep(0.05)
    sys.exit(f"the server does not start; see {folder}.log")


def run(command):
    """Seconds, CPU seconds and peak memory in MiB of a command."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"failed: {command}")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def conversations(path):
    with open(path, encoding="utf-8") as file:
        lines = (json.loads(line) for line in file)
        return {line["conversation_id"]: (line["messages"], line["user_id"], line["metadata"]) for line in lines}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--conversations", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--importer", help="the compiled example `import_postgres`; default: builds it")
    arguments = parser.parse_args()
    importer = arguments.importer
    if importer is None:
        build = ["cargo", "build", "--profile", "dist", "-p", "tokenline-import", "--features", "postgres", "--example", "import_postgres"]
        subprocess.run(build, check=True, cwd=HERE)
        target = os.environ.get("CARGO_TARGET_DIR", HERE.parents[2] / "target")
        importer = Path(target) / "dist/examples/import_postgres"
    with tempfile.TemporaryDirectory(prefix="tokenline-measure") as work, tempfile.TemporaryDirectory() as folder:
        server, url = start_server(folder)
        try:
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(FILL.format(rows=arguments.rows, conversations=arguments.conversations))
                connection.execute("VACUUM ANALYZE messages")
            work = Path(work)
            (work / "mapping.toml").write_text(MAPPING)
            ours = [importer, url, "SELECT * FROM messages", "id", work / "mapping.toml"]
            sides = {
                "tokenline, grouped": [*ours, work / "grouped", "--grouped"],
                "tokenline, sorted by the client": [*ours, work / "sorted"],
                "psycopg and json, grouped": [sys.executable, HERE / "psycopg_import.py", url, work / "psycopg"],
            }
            results = {name: [] for name in sides}
            for _ in range(arguments.runs):
                # To empty a large file takes time.
                for output in ("grouped", "sorted", "psycopg"):
                    (work / output).unlink(missing_ok=True)
                for name, command in sides.items():
                    results[name].append(run(command))
            expected = conversations(work / "psycopg")
            assert len(expected) == arguments.conversations
            assert conversations(work / "grouped") == conversations(work / "sorted") == expected
        finally:
            server.terminate()
            server.wait()
            os.remove(f"{folder}.log")
    print(f"{arguments.rows} rows, {arguments.conversations} conversations, median of {arguments.runs} runs")
    print(f"| {'client':32} | rows/s | seconds | CPU s | CPU µs/row | peak MiB |")
    print(f"|{'-' * 34}|-------:|--------:|------:|-----------:|---------:|")
    for name, runs in results.items():
        seconds, cpu, memory = (statistics.median(values) for values in zip(*runs))
        print(
            f"| {name:32} | {arguments.rows / seconds:6.0f} | {seconds:7.2f} | {cpu:5.2f} "
            f"| {cpu / arguments.rows * 1e6:10.2f} | {memory:8.0f} |"
        )


if __name__ == "__main__":
    main()
