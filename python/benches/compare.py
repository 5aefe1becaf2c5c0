"""Compares tokenline with other readers of JSON, on the same inputs, in one table.

    python benches/compare.py [--rounds 15] [--markdown]

Lines: a text of JSON Lines in memory, each record as Python objects. tokenline takes chunks of 64 KiB, finds the lines
itself, and checks that nothing else is in them; the others are given line by line. Instances: the same text, each record
as an instance of a pydantic model. Growing record: chunks of 4 bytes, and what there is of the record after each. Column:
model outputs of ten lines in an Arrow array, each record checked against a schema and kept as JSON. Each figure is the best
of its rounds, which are interleaved, in CPU time: other load does not count.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, Literal, Optional

import ijson
import jiter
import json_repair
import jsonschema
import msgspec
import orjson
import partial_json_parser
import pyarrow as pa
import pydantic
from instructor.dsl.partial import Partial

import tokenline
import tokenline.arrow

WORDS = "light sugar cell gene water energy carries turns from into of the a with plants proteins".split()
SCHEMAS: dict[str, dict[str, Any]] = {}
SCHEMAS["definitions"] = {
    "type": "object",
    "properties": {
        "type": {"const": "definition"},
        "entity": {"type": "string"},
        "definition": {"type": "string"},
        "confidence": {"type": "number"},
    },
    "required": ["type", "entity", "definition"],
}
SCHEMAS["conversations"] = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "messages": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"role": {"enum": ["user", "assistant"]}, "content": {"type": "string"}},
                "required": ["role", "content"],
            },
        },
    },
    "required": ["id", "messages"],
}


class Definition(pydantic.BaseModel):
    type: Literal["definition"]
    entity: str
    definition: str
    confidence: Optional[float] = None


class Message(pydantic.BaseModel):
    role: Literal["user", "assistant"]
    content: str


class Conversation(pydantic.BaseModel):
    id: str
    messages: list[Message]


MODELS: dict[str, type[pydantic.BaseModel]] = {"definitions": Definition, "conversations": Conversation}


def sentence(rng: random.Random, words: int) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(words))


def definitions(rng: random.Random) -> dict[str, Any]:
    """A record of about 150 bytes."""
    return {
        "type": "definition",
        "entity": sentence(rng, 2),
        "definition": sentence(rng, 12),
        "confidence": rng.randrange(100) / 100,
    }


def conversations(rng: random.Random) -> dict[str, Any]:
    """A record of about 1.8 KB."""
    messages = [
        {"role": rng.choice(["user", "assistant"]), "content": sentence(rng, 30), "at": rng.randrange(10**9)}
        for _ in range(8)
    ]
    return {"id": f"conversation-{rng.randrange(10**6)}", "messages": messages, "model": None, "done": True}


class Recipe(pydantic.BaseModel):
    title: str
    servings: int
    tags: list[str]
    steps: list[dict[str, Any]]
    notes: str


def recipe(size: int) -> bytes:
    """One record of about this many bytes: lists, objects, and one long text."""
    rng = random.Random(7)
    value: dict[str, Any] = {"title": "Soup", "servings": 4, "tags": ["warm", "quick"], "steps": []}
    while len(json.dumps(value)) < size // 2:
        value["steps"].append({"text": sentence(rng, 8), "minutes": rng.randrange(60), "optional": False})
    value["notes"] = ""
    while len(json.dumps(value)) < size:
        value["notes"] += sentence(rng, 3) + ". "
    return json.dumps(value).encode()


def per_line(loads: Callable[[bytes], Any]) -> Callable[[bytes], int]:
    def read(data: bytes) -> int:
        count = 0
        for line in io.BytesIO(data):
            loads(line)
            count += 1
        return count

    return read


def in_chunks(read: Callable[[Any], Any]) -> Callable[[bytes], int]:
    def count(data: bytes) -> int:
        chunks = (data[start : start + 65536] for start in range(0, len(data), 65536))
        found = 0
        for _ in read(chunks):
            found += 1
        return found

    return count


def events(data: bytes) -> int:
    parser = tokenline.JsonlParser()
    count = 0
    for start in range(0, len(data), 65536):
        parser.push(data[start : start + 65536])
        for _ in parser:
            count += 1
    return count


def whole_ijson(data: bytes) -> int:
    return sum(1 for _ in ijson.items(io.BytesIO(data), "", multiple_values=True, use_float=True))


LINES: dict[str, Callable[[bytes], int]] = {
    "json.loads": per_line(json.loads),
    "orjson": per_line(orjson.loads),
    "msgspec": per_line(msgspec.json.Decoder().decode),
    "jiter": per_line(jiter.from_json),
    "ijson": whole_ijson,
    "tokenline.records": in_chunks(tokenline.records),
    "tokenline.JsonlParser": events,
}
WITH_SCHEMA = "tokenline.records, schema"
# Too slow for the whole text.
SAMPLED: dict[str, Callable[[bytes], int]] = {"json_repair": per_line(lambda line: json_repair.loads(line.decode()))}


def live(data: bytes, chunks: range) -> int:
    return grown(tokenline.Live(), data, chunks)


def live_model(data: bytes, chunks: range) -> int:
    return grown(tokenline.Live(model=Recipe), data, chunks)


def grown(reader: tokenline.Live[Any], data: bytes, chunks: range) -> int:
    reader.push(data[: chunks.start])
    value = None
    start = time.process_time_ns()
    for at in chunks:
        reader.push(data[at : at + 4])
        value = reader.value
    spent = time.process_time_ns() - start
    assert value is not None
    return spent


def prefixes(parse: Callable[[bytes], Any]) -> Callable[[bytes, range], int]:
    """For what parses all there is again after each chunk."""

    def read(data: bytes, chunks: range) -> int:
        start = time.process_time_ns()
        for at in chunks:
            parse(data[: at + 4])
        return time.process_time_ns() - start

    return read


PARTIAL = Partial[Recipe]


def instructor_partial(data: bytes, chunks: range) -> int:
    """instructor's stream of partial models."""
    text = data.decode()

    def pieces() -> Any:
        yield text[: chunks.start]
        for at in chunks:
            yield text[at : at + 4]

    models = iter(PARTIAL.model_from_chunks(pieces()))  # type: ignore[attr-defined]
    next(models)
    start = time.process_time_ns()
    for _ in models:
        pass
    return time.process_time_ns() - start


GROWING: dict[str, Callable[[bytes, range], int]] = {
    "tokenline.Live": live,
    "tokenline.Live, model": live_model,
    "jiter, partial": prefixes(lambda data: jiter.from_json(data, partial_mode="trailing-strings")),
    "instructor, Partial": instructor_partial,
    "partial-json-parser": prefixes(lambda data: partial_json_parser.loads(data.decode())),
    "json_repair": prefixes(lambda data: json_repair.loads(data.decode())),
}
# Chunks that are measured at each size, for the slow ones.
CHUNKS = {"tokenline.Live": 250, "tokenline.Live, model": 250, "jiter, partial": 250}


def texts() -> dict[str, tuple[bytes, int]]:
    """For each kind of record a text of 2 MB, and how many it has."""
    corpora = {}
    for make in (definitions, conversations):
        rng = random.Random(1)
        size = 2_000_000
        lines: list[bytes] = []
        while sum(map(len, lines[-1:])) * len(lines) < size:
            lines.append(json.dumps(make(rng)).encode() + b"\n")
        corpora[make.__name__] = (b"".join(lines), len(lines))
    return corpora


def instances_table(rounds: int) -> list[list[str]]:
    corpora = texts()
    table = [["instances/s (times pydantic)", *(f"{name}, {len(data) // count} B" for name, (data, count) in corpora.items())]]
    rates: dict[str, list[float]] = {}
    for corpus, (data, count) in corpora.items():
        model = MODELS[corpus]
        build = pydantic.TypeAdapter(model).validator.validate_json

        def by_column(data: bytes) -> int:
            records = pa.array(tokenline.arrow.extract(pa.array([data]), model)).field("records").flatten()  # noqa: B023
            return sum(1 for _ in map(build, records.field("json").to_pylist()))  # noqa: B023

        readers: dict[str, Callable[[bytes], int]] = {
            "pydantic, model_validate_json": per_line(model.model_validate_json),
            "tokenline.records, model": in_chunks(lambda chunks: tokenline.records(chunks, model=model)),  # noqa: B023
            "tokenline.records, model, schema=True": in_chunks(
                lambda chunks: tokenline.records(chunks, schema=True, model=model)  # noqa: B023
            ),
            "tokenline.arrow, then pydantic": by_column,
        }
        best = dict.fromkeys(readers, float("inf"))
        for _ in range(rounds):
            for name, read in readers.items():
                start = time.process_time()
                assert read(data) == count, name
                best[name] = min(best[name], (time.process_time() - start) / count)
        for name, seconds in best.items():
            rates.setdefault(name, []).append(1 / seconds)
    baseline = rates["pydantic, model_validate_json"]
    for name, figures in rates.items():
        table.append([name, *(f"{figure:,.0f} ({figure / base:.2f})" for figure, base in zip(figures, baseline))])
    return table


def lines_table(rounds: int) -> list[list[str]]:
    corpora = texts()
    table = [["records/s (times json.loads)", *(f"{name}, {len(data) // count} B" for name, (data, count) in corpora.items())]]
    rates: dict[str, list[float]] = {name: [] for name in [*LINES, WITH_SCHEMA, *SAMPLED]}
    for corpus, (data, count) in corpora.items():
        schema = tokenline.SchemaValidator(SCHEMAS[corpus])
        readers = {**LINES, WITH_SCHEMA: in_chunks(lambda chunks: tokenline.records(chunks, schema))}  # noqa: B023
        best = dict.fromkeys(rates, float("inf"))
        sample = data[: data.index(b"\n", len(data) // 200) + 1]
        for _ in range(rounds):
            for name, read in readers.items():
                start = time.process_time()
                assert read(data) == count, name
                best[name] = min(best[name], (time.process_time() - start) / count)
        for name, read in SAMPLED.items():
            start = time.process_time()
            found = read(sample)
            best[name] = (time.process_time() - start) / found
        for name, seconds in best.items():
            rates[name].append(1 / seconds)
    baseline = rates["json.loads"]
    for name, figures in rates.items():
        cells = [f"{figure:,.0f} ({figure / base:.2f})" for figure, base in zip(figures, baseline)]
        table.append([name, *cells])
    return table


def growing_table(rounds: int) -> list[list[str]]:
    sizes = (2048, 8192, 65536)
    table = [["growing record, ns a chunk of 4 bytes", *(f"at {size // 1024} KB" for size in sizes)]]
    columns: dict[str, list[float | None]] = {name: [] for name in GROWING}
    for size in sizes:
        data = recipe(size + 2048)
        best: dict[str, float] = {}
        for turn in range(rounds):
            for name, read in GROWING.items():
                is_slow = name not in CHUNKS
                if is_slow and (turn > 0 or size > 8192):
                    continue
                count = CHUNKS.get(name, 10)
                spent = read(data, range(size, size + 4 * count, 4)) / count
                best[name] = min(best.get(name, spent), spent)
        for name, column in columns.items():
            column.append(best.get(name))
    for name, column in columns.items():
        table.append([name, *("" if figure is None else f"{figure:,.0f}" for figure in column)])
    return table


def column_table(rounds: int) -> list[list[str]]:
    rng = random.Random(3)
    table = [
        ["column with a schema, MB/s"],
        ["orjson and jsonschema"],
        ["pydantic, model_validate_json"],
        ["tokenline.arrow"],
        ["times jsonschema"],
        ["times pydantic"],
    ]
    for make in (definitions, conversations):
        outputs = ["".join(json.dumps(make(rng)) + "\n" for _ in range(10)) for _ in range(400)]
        column, size = pa.array(outputs), sum(map(len, outputs))
        checker = jsonschema.Draft202012Validator(SCHEMAS[make.__name__])
        schema = tokenline.SchemaValidator(SCHEMAS[make.__name__])
        model = MODELS[make.__name__]

        def by_python() -> int:
            kept = []
            for output in outputs:  # noqa: B023
                records = map(orjson.loads, output.splitlines())
                kept.append([orjson.dumps(record) for record in records if checker.is_valid(record)])  # noqa: B023
            return sum(map(len, kept))

        def by_pydantic() -> int:
            kept = []
            for output in outputs:  # noqa: B023
                for line in output.splitlines():
                    try:
                        model.model_validate_json(line)  # noqa: B023
                    except pydantic.ValidationError:
                        continue
                    kept.append(line)
            return len(kept)

        def by_kernel() -> int:
            extracted = pa.array(tokenline.arrow.extract(column, schema))  # noqa: B023
            return len(extracted.field("records").flatten())

        best = dict.fromkeys((by_python, by_pydantic, by_kernel), float("inf"))
        for turn in range(rounds):
            for read in best:
                if read is by_python and turn >= 3:
                    continue
                start = time.process_time()
                assert read() == 4000
                best[read] = min(best[read], time.process_time() - start)
        slow, typed, fast = (size / 1e6 / seconds for seconds in best.values())
        table[0].append(f"{make.__name__}, {size // 4000} B")
        cells = (f"{slow:.1f}", f"{typed:.0f}", f"{fast:.0f}", f"{fast / slow:.0f}", f"{fast / typed:.1f}")
        for row, cell in zip(table[1:], cells):
            row.append(cell)
    return table


def show(table: list[list[str]], markdown: bool) -> None:
    widths = [max(len(row[at]) for row in table) for at in range(len(table[0]))]
    for index, row in enumerate(table):
        cells = [cell.ljust(width) if at == 0 else cell.rjust(width) for at, (cell, width) in enumerate(zip(row, widths))]
        print("| " + " | ".join(cells) + " |" if markdown else "  ".join(cells))
        if index == 0 and markdown:
            print("|" + "|".join("-" * (width + 2) if at == 0 else "-" * (width + 1) + ":" for at, width in enumerate(widths)) + "|")
    print()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=15, help="rounds of each measurement (default: 15)")
    arguments.add_argument("--markdown", action="store_true", help="print the tables as Markdown")
    options = arguments.parse_args()
    show(lines_table(options.rounds), options.markdown)
    show(instances_table(options.rounds), options.markdown)
    show(growing_table(options.rounds), options.markdown)
    show(column_table(options.rounds), options.markdown)
    packages = ("orjson", "jsonschema", "msgspec", "jiter", "ijson", "instructor", "partial-json-parser", "json_repair", "pydantic")
    print(", ".join(f"{name} {version(name)}" for name in packages))


if __name__ == "__main__":
    main()
