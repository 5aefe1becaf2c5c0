"""Model outputs as they come: records in code fences, lists, arrays and prose, with broken lines and cut ends.

    corpus.py DIRECTORY [COUNT]     writes outputs.parquet (id, output) and the same as rows.jsonl, for the program

The same count gives the same outputs on every machine.
"""

import json
import pathlib
import random
import sys
from collections.abc import Callable

import pyarrow as pa
import pyarrow.parquet as pq

COUNT = 30_000
ROWS_IN_GROUP = 1_000
WORDS = "amber Łódź 東京 harbor Москва café naïve 😀 𝄞 e\u0301 עברית quiet \t \" \\ \u2028 </think> {} ```".split(" ")
PROSE = [
    "Sure! Here is what I found:",
    "Ich habe folgende Einträge gefunden:",
    "The object {entity} has no kind.",
    "That's all I could find 😀.",
    "<think>The user wants JSON Lines. {\"entity\":\"draft\"}</think>",
    "Note: [1] and {2} are references.",
    "",
]


def record(pick: random.Random) -> dict[str, object]:
    """Usually one that satisfies `schema.json`."""
    text = lambda most: " ".join(pick.choices(WORDS, k=pick.randint(1, most)))  # noqa: E731
    value: dict[str, object] = {"entity": text(6), "kind": pick.choice(["person", "place", "thing"])}
    if pick.random() < 0.7:
        value["mentions"] = pick.choice([0, 1, 12, 2**53 + 1, 7.0])
    if pick.random() < 0.5:
        value["score"] = pick.choice([None, 0.25, -1e-7, 1e300, 3])
    if pick.random() < 0.5:
        value["aliases"] = [text(3) for _ in range(pick.randrange(5))]
    if pick.random() < 0.3:
        value["seen"] = f"20{pick.randint(10, 26)}-0{pick.randint(1, 9)}-11T12:34:56.{pick.randrange(1000):03}Z"
    if pick.random() < 0.05:
        value[pick.choice(["kind", "mentions", "extra", "score"])] = pick.choice(["planet", -3, [], {}])
    return value


def broken(pick: random.Random, line: str) -> str:
    """A line that is not a record, or not only one."""
    change: Callable[[], str] = pick.choice(
        [
            lambda: line[: pick.randrange(1, len(line))],
            lambda: line.replace('"kind":', "kind:", 1),
            lambda: line[:-1] + ",}",
            lambda: line + " trailing words",
            lambda: line + line,
            lambda: line.replace('"entity"', '"kind"', 1),
            lambda: line[:-1] + ',"n":NaN}',
            lambda: "[" + line + "]",
            lambda: '"' + pick.choice(WORDS[:5]) + '"',
            lambda: "'" + line.replace('"', "'") + "'",
        ]
    )
    return change()


def output(pick: random.Random) -> str:
    lines = []
    for _ in range(pick.choice([0, 1, 2, 4, 8, 8, 8, 24])):
        compact = pick.random() < 0.7
        line = json.dumps(
            record(pick), ensure_ascii=pick.random() < 0.3, separators=(",", ":") if compact else (", ", ": ")
        )
        lines.append(broken(pick, line) if pick.random() < 0.06 else line)
    if pick.random() < 0.05 and lines:
        lines[-1] = json.dumps(record(pick), indent=2, ensure_ascii=False)
    layout = pick.choice(["plain", "plain", "fence", "prose", "numbered", "bullets", "array"])
    if layout == "fence":
        lines = [pick.choice(PROSE), "```" + pick.choice(["json", "jsonl", ""]), *lines, "```", pick.choice(PROSE)]
    elif layout == "prose":
        lines = [line for item in lines for line in ([pick.choice(PROSE)] if pick.random() < 0.3 else []) + [item]]
    elif layout == "numbered":
        lines = [f"{number}. {line}" for number, line in enumerate(lines, 1)]
    elif layout == "bullets":
        lines = [f"- {line}" for line in lines]
    elif layout == "array":
        lines = ["[", *(line + "," for line in lines[:-1]), *lines[-1:], "]"]
    text = pick.choice(["\n", "\n", "\n", "\r\n"]).join(lines)
    if pick.random() < 0.2:
        return text[: pick.randrange(len(text) + 1)]
    return text + "\n" if pick.random() < 0.5 else text


def write(directory: pathlib.Path, count: int) -> None:
    pick = random.Random(23)
    ids = [f"output-{number:06}" for number in range(count)]
    outputs = [output(pick) for _ in ids]
    pq.write_table(pa.table({"id": ids, "output": outputs}), directory / "outputs.parquet", row_group_size=ROWS_IN_GROUP)
    with open(directory / "rows.jsonl", "w", encoding="utf-8") as rows:
        for name, text in zip(ids, outputs):
            rows.write(json.dumps({"id": name, "output": text}) + "\n")


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else COUNT)
