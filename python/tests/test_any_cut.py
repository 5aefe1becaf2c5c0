"""However the input is cut, the events are the same, and they are those of the Rust program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import FIXTURES, MESSY, TEXTS, as_program, cut, events, program_events, provider_of

from tokenline import Live, ResponseParser

FRAGMENTS = st.sampled_from(
    [
        '{"a":1}', '{"a":"x', '"}', "{", "}", "[", "]", ",", ":", "\n", "\r\n", " ", "  ", "```json\n", "```\n",
        "- ", "1. ", "text", "é", "日本", '\\u00e9', '"', "\\", "NaN", "null", "12", "1.5e3", "<think>", "</think>",
        '{"name":"f","arguments":{}}', '{"b":[1,{"c":null}]}', "# ", "\ufeff", "//", "{x}",
    ]
)  # fmt: skip
TEXT = st.lists(FRAGMENTS, max_size=40).map("".join)


def cuts_of(data: bytes, cuts: list[int]) -> list[bytes]:
    places = [0, *sorted(place % (len(data) + 1) for place in cuts), len(data)]
    return [data[start:end] for start, end in zip(places, places[1:])]


@given(TEXT, st.lists(st.integers(0, 10_000), max_size=12), st.sampled_from(["lenient", "strict"]))
@settings(max_examples=400)
def test_any_cut_same_events(text: str, cuts: list[int], mode: str) -> None:
    data = text.encode()
    whole = events([data], mode=mode)
    assert events(cuts_of(data, cuts), mode=mode) == whole
    assert events([text], mode=mode) == whole
    assert events(list(text), mode=mode) == whole


@given(st.binary(max_size=60), st.lists(st.integers(0, 100), max_size=5))
def test_any_bytes(data: bytes, cuts: list[int]) -> None:
    assert events(cuts_of(data, cuts)) == events([data])


@given(TEXT, st.lists(st.integers(0, 10_000), max_size=12))
@settings(max_examples=300)
def test_live_yields_the_same_events(text: str, cuts: list[int]) -> None:
    data = text.encode()
    live: Live[Any] = Live()
    found: list[Any] = []
    for chunk in cuts_of(data, cuts):
        live.push(chunk)
        found.extend(live)
    live.finish()
    found.extend(live)
    assert found == events([data])
    assert live.value is None


def test_every_cut_of_a_messy_text() -> None:
    data = MESSY.encode()
    whole = events([data])
    for at in range(len(data)):
        assert events([data[:at], data[at:]]) == whole
    for size in (1, 2, 3, 5, 7):
        assert events(cut(data, size)) == whole


@given(TEXT)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_program_finds_the_same(text: str) -> None:
    data = text.encode()
    expected = [{k: v for k, v in event.items() if k != "column" or "code" in event} for event in program_events(data)]
    assert [as_program(event) for event in events([data])] == expected


TEXT_FIXTURES = sorted(path for path in TEXTS.rglob("*") if path.is_file())


@pytest.mark.parametrize("path", TEXT_FIXTURES, ids=lambda path: path.name)
def test_the_program_finds_the_same_in_fixtures(path: Path) -> None:
    data = path.read_bytes()
    for mode in ("lenient", "strict"):
        found = [as_program(event) for event in events(cut(data, 7), mode=mode)]
        expected = program_events(data, "--mode", mode)
        assert found == [{k: v for k, v in event.items() if k != "column" or "code" in event} for event in expected]


def test_the_program_finds_the_same_with_a_schema(tmp_path: Path) -> None:
    schema = {"properties": {"a": {"type": "integer", "maximum": 1}, "entity": {"pattern": "^[A-Z]+$"}}}
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(schema))
    data = MESSY.encode()
    found = [as_program(event) for event in events([data], schema=schema)]
    expected = program_events(data, "--schema", str(path))
    assert found == [{k: v for k, v in event.items() if k != "column" or "code" in event} for event in expected]
    assert sum(event["event"] == "rejected" for event in found) > 4


RESPONSES = sorted(path for path in FIXTURES.rglob("*") if path.suffix in {".sse", ".messages", ".jsonl", ".json"} and "requests" not in path.parts)


@pytest.mark.parametrize("path", RESPONSES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_any_cut_of_a_response(path: Path) -> None:
    provider = provider_of(path)
    data = path.read_bytes()

    def read(chunks: Any) -> list[Any]:
        parser = ResponseParser(provider)
        found: list[Any] = []
        for chunk in chunks:
            parser.push(chunk)
            found.extend(parser)
        parser.finish()
        return joined([*found, *parser])

    whole = read([data])
    assert read(cut(data, 1)) == read(cut(data, 13)) == whole


def joined(found: list[Any]) -> list[Any]:
    """Events without the pieces in which text arrives."""
    return [event for event in found if type(event).__name__ not in {"Text", "Reasoning", "Refusal"}]
