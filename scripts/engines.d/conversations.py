"""Files of conversations on Spark: the report of `validate_conversations` is that of the program.

    conversations.py TOKENLINE DIRECTORY

Small splits, so that most lines come after lines of other splits. Writes the differences to standard output.
"""

import json
import pathlib
import random
import subprocess
import sys

from pyspark.sql import SparkSession
from tokenline.spark import validate_conversations

DAMAGES = [
    lambda line: line[: len(line) // 2],
    lambda line: b"[" + line + b"]",
    lambda line: line.replace(b"2026-02-10", b"2026-02-30"),
    lambda line: line.replace(b'"user_id"', b'"user"'),
    lambda line: line.replace(b"Hi", b"\xff"),
    lambda line: line + b" x",
    lambda line: b"",
    lambda line: b" \t\r",
    lambda line: line + b"\r",
    lambda line: b"\xef\xbb\xbf" + line,
]


def line(random: random.Random, ids: int) -> bytes:
    conversation = {
        "conversation_id": f"c{random.randrange(ids)}",
        "user_id": f"u{random.randrange(40)}",
        "timestamp": "2026-02-10T12:34:56Z",
        "messages": [{"role": "user", "content": f"Hi ä {number}"} for number in range(random.randrange(4))],
    }
    text = json.dumps(conversation, ensure_ascii=random.random() < 0.5).encode()
    return random.choice(DAMAGES)(text) if random.random() < 0.2 else text


def files(directory: pathlib.Path) -> None:
    choices = random.Random(7)
    for number, end in enumerate([b"\n", b"", b"\n", b'\n{"conversation_id":', b"\r\n", b"\n\n"]):
        text = b"\n".join(line(choices, 3000) for _ in range(400)) + end
        mark = b"\xef\xbb\xbf" if number in (2, 3) else b""
        (directory / f"{number}.jsonl").write_bytes(mark + text)


def main() -> None:
    program, directory = sys.argv[1], pathlib.Path(sys.argv[2]) / "conversations"
    directory.mkdir()
    files(directory)
    (directory / "empty").mkdir()
    (directory / "empty" / "blank.jsonl").write_bytes(b"\n \n")
    session = SparkSession.builder.master("local[2]").config("spark.sql.files.maxPartitionBytes", "20000")
    spark = session.config("spark.ui.enabled", "false").getOrCreate()
    for inputs in [sorted(directory.glob("*.jsonl")), [directory / "empty" / "blank.jsonl"]]:
        for profile in ("open", "strict"):
            for max_errors in (100, 7, 0):
                options = ["--profile", profile, "--max-errors", str(max_errors)]
                report = directory / "report.json"
                subprocess.run(
                    [program, "conversations", "validate", *options, "--report-json", report, "--input", *inputs],
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
                expected = json.loads(report.read_text())
                actual = validate_conversations(
                    spark, [str(path) for path in inputs], profile=profile, max_errors=max_errors
                )
                compare(f"{profile}, {max_errors} errors listed", actual, expected)
    # Otherwise nothing was compared.
    assert expected["error_count"] == 1, expected


def compare(name: str, actual: dict, expected: dict) -> None:
    for key in sorted(actual.keys() | expected.keys()):
        if key == "errors":
            for left, right in zip(actual[key], expected[key]):
                if left != right:
                    print(f"{name}: {left}, the program {right}")
                    return
        elif actual.get(key) != expected.get(key):
            print(f"{name}: {key} is {actual.get(key)}, the program's {expected.get(key)}")


main()
