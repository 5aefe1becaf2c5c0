"""Helpers of several tests."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tokenline import PROVIDERS, JsonlParser, Note, Provider, Record, Reject
from tokenline._types import Chunk

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "crates" / "tokenline-llm" / "fixtures"
TEXTS = ROOT / "crates" / "tokenline-core" / "fixtures"

MESSY = (
    "Sure! Here they are:\n```json\n"
    '{"entity":"DNA","aliases":["a\\u00e9\\n","日本"],"weight":0.9}\n'
    '{"entity":NaN,"b":{"c":1}}\n'
    '- {"entity":"RNA"}, {"entity":"cell"}\n'
    '[{"a":1},\n {"a":2},\n 3]\n'
    '{\n  "a": {"b": [1, 2.5, -0, 1e2, true, null]}\n}\n'
    "```\nAnything else? [1]\n"
    '{"query":"x"},"limit":10}\n'
    '{"a":"cut off'
)


def events(chunks: Iterable[Chunk], **settings: Any) -> list[Any]:
    """All events of a text in chunks."""
    parser = JsonlParser(**settings)
    found: list[Any] = []
    for chunk in chunks:
        parser.push(chunk)
        found.extend(parser)
    parser.finish()
    found.extend(parser)
    return found


def cut(data: bytes, size: int) -> Iterator[bytes]:
    """The data in chunks of this size."""
    for start in range(0, len(data), size):
        yield data[start : start + size]


def provider_of(path: Path) -> Provider:
    """The provider of a fixture, by its folder."""
    folder = path.relative_to(FIXTURES).parts[0]
    return next(provider for provider in PROVIDERS if provider == folder)


def program() -> str:
    """The path of the Rust program; skips the test if there is none."""
    path = os.environ.get("TOKENLINE_PROGRAM") or shutil.which("tokenline")
    if path is None or not Path(path).exists():
        pytest.skip("TOKENLINE_PROGRAM is not set: NOT compared with the Rust program")
    return path


def program_events(data: bytes, *arguments: str) -> list[dict[str, Any]]:
    """The events that the program prints."""
    command = [program(), "parse", "--emit", "events", *arguments, "-"]
    ran = subprocess.run(command, input=data, capture_output=True, check=False)
    assert ran.returncode in (0, 3), ran.stderr.decode()
    return [json.loads(line) for line in ran.stdout.splitlines()]


def as_program(event: Record[Any] | Reject | Note) -> dict[str, Any]:
    """An event of a text as the program prints it."""
    if isinstance(event, Record):
        of_record = {
            "event": "record",
            "line": event.line,
            "start": event.start,
            "end": event.end,
            "completion": event.completion,
            "value": event.value,
        }
        if event.recovered:
            of_record["recovered"] = list(event.recovered)
        return of_record
    of_reject = {
        "event": "rejected" if isinstance(event, Reject) else "note",
        "code": event.code,
        "line": event.line,
        "start": event.start,
        "end": event.end,
        "column": event.column,
        "message": event.message,
    }
    for name in ("instance_path", "schema_path"):
        if getattr(event, name) is not None:
            of_reject[name] = getattr(event, name)
    return of_reject
