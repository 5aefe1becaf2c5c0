"""The open record, mutated in place."""

from __future__ import annotations

import json
import time
from typing import Any

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import cut

from tokenline import Live, Record, Reject

DOCUMENT = '{"title":"Soupé","steps":["Peel",{"minutes":20,"by":["Ann",null]},[],{}],"done":true,"note":"日本\\n😀"}'


def test_it_grows_in_place() -> None:
    live: Live[dict[str, Any]] = Live()
    assert Live().value is None
    live.push('{"title":"So')
    value: Any = live.value
    assert value == {"title": "So"}
    live.push("up")
    live.push('","steps":["Pe')
    assert live.value is value == {"title": "Soup", "steps": ["Pe"]}
    steps = value["steps"]
    live.push('el"],"minutes":2')
    assert value == {"title": "Soup", "steps": ["Peel"]}
    assert value["steps"] is steps
    live.push("0}")
    assert value["minutes"] == 20
    assert list(live) == []
    live.push("\n")
    (record,) = live
    assert isinstance(record, Record)
    assert record.value is value
    assert (record.raw, record.completion) == ('{"title":"Soup","steps":["Peel"],"minutes":20}', "newline")
    assert live.value is None
    assert live.report.records == 1


@given(st.integers(1, 30))
def test_at_each_point_it_is_a_prefix(size: int) -> None:
    live: Live[dict[str, Any]] = Live()
    whole = json.loads(DOCUMENT)
    seen: list[Any] = []
    for chunk in cut(DOCUMENT.encode(), size):
        live.push(chunk)
        if live.value is not None:
            assert is_prefix(live.value, whole)
            seen.append(json.dumps(live.value))
    assert live.value == whole
    assert len(set(seen)) > 1 or size > 20


def is_prefix(part: Any, whole: Any) -> bool:
    if isinstance(part, dict):
        names = list(whole)[: len(part)]
        return list(part) == names and all(is_prefix(part[name], whole[name]) for name in names)
    if isinstance(part, list):
        return len(part) <= len(whole) and all(map(is_prefix, part, whole))
    return bool(whole.startswith(part) if isinstance(part, str) else part == whole)


def test_a_string_that_the_user_keeps_does_not_change() -> None:
    live: Live[dict[str, Any]] = Live()
    live.push('{"a":"one')
    assert live.value is not None
    kept = live.value["a"]
    names = {kept: 1}
    live.push(" two")
    assert (kept, names[kept], live.value["a"]) == ("one", 1, "one two")


def test_the_user_may_change_the_open_record() -> None:
    live: Live[dict[str, Any]] = Live()
    live.push('{"a":["x","y')
    assert live.value is not None
    live.value["a"].clear()
    live.value["b"] = 1
    live.push('z","w"],"c":{"d":"')
    live.value.clear()
    live.push('e"}}\n')
    (record,) = live
    assert isinstance(record, Record)
    assert record.value == {"c": {"d": "e"}} or "c" not in record.value


def test_what_was_no_record_is_discarded() -> None:
    live: Live[dict[str, Any]] = Live()
    live.push('{"a":1,"b":"x')
    assert live.value == {"a": 1, "b": "x"}
    live.push('" oops}\n')
    (rejected,) = live
    assert isinstance(rejected, Reject)
    assert rejected.code == "malformed_json"
    assert list(live) == []
    value: Any = live.value
    assert value is None
    live.push('{"c":')
    assert live.value == {}
    live.finish()
    assert [event.code for event in live if isinstance(event, Reject)] == ["truncated"]
    assert live.value is None
    assert live.report.complete


def test_several_records_and_elements() -> None:
    live: Live[dict[str, Any]] = Live()
    live.push('[{"a":"x"},{"a":"y')
    assert live.value == {"a": "y"}
    assert [event.value for event in live if isinstance(event, Record)] == [{"a": "x"}]
    live.push('"}]\n')
    assert [event.value for event in live if isinstance(event, Record)] == [{"a": "y"}]


def test_items() -> None:
    live: Live[dict[str, Any]] = Live(items="/data")
    live.push('{"status":"ok","data":[{"a":"x')
    assert live.value == {"a": "x"}


def test_schema_and_model() -> None:
    class Soup(pydantic.BaseModel):
        title: str

    live = Live(model=Soup)
    live.push('{"title":"Leek"}\n{"title":7}\n')
    record, rejected = live
    assert isinstance(record, Record)
    assert record.value == Soup(title="Leek")
    assert isinstance(rejected, Reject)
    assert (rejected.code, rejected.line) == ("schema_violation", 2)


def test_repeated_names() -> None:
    live: Live[dict[str, Any]] = Live()
    live.push('{"a":{"b":1},"c":"x","a":"y"}\n')
    (record,) = live
    assert isinstance(record, Record)
    assert list(record.value.items()) == [("a", "y"), ("c", "x")]


@pytest.mark.parametrize("text", ["x", "é", "漢", "😀"])
def test_a_chunk_costs_the_same_at_any_size(text: str) -> None:
    def cost(size: int) -> float:
        chunk = text * 4
        best = float("inf")
        for _ in range(5):
            live: Live[dict[str, Any]] = Live()
            live.push('{"a":"' + text * size)
            start = time.perf_counter()
            for _ in range(500):
                live.push(chunk)
                assert live.value is not None
            best = min(best, time.perf_counter() - start)
        return best / 500

    # Copying 4 MB would take a thousand times as long; a loaded machine may take several times as long.
    assert cost(1_000_000) < 20 * cost(1_000)
