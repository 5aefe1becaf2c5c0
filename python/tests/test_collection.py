"""Cycles through the package's objects are collected; waits and long work end at an interrupt."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pydantic
import pytest

import tokenline
from tokenline import JsonlParser, Live, Record, ResponseParser, ToolCall, records, responses, tool_calls


class Held:
    """Is part of a cycle through an object of the package."""

    def __init__(self) -> None:
        self.value: Any = None


def through_a_source(held: Held) -> Any:
    def chunks() -> Iterator[str]:
        assert held is not None
        yield '{"a":1}\n'
        yield '{"a":2}\n'

    return records(chunks())


def through_a_source_that_is_read(held: Held) -> Any:
    stream = through_a_source(held)
    next(stream)
    return stream


class Iterates:
    def __init__(self, held: Held) -> None:
        self.held = held

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        raise StopIteration


def through_a_value(held: Held) -> Any:
    parser: JsonlParser[Any] = JsonlParser()
    parser.push('{"a":1}\n')
    (record,) = parser
    assert isinstance(record, Record)
    record.value["held"] = held
    return record


def through_the_value_of_a_live(held: Held) -> Any:
    live: Live[Any] = Live()
    live.push('{"a":{"b":[')
    live.value["a"]["b"].append(held)  # type: ignore[index]
    return live


def through_an_event_of_a_live(held: Held) -> Any:
    live: Live[Any] = Live()
    live.push('{"a":')
    live.value["held"] = held  # type: ignore[index]
    live.push("1}\n")
    return live


def through_a_call(held: Held) -> Any:
    (call,) = tool_calls("[f(a=1)]")
    assert isinstance(call, ToolCall)
    call.parameters["held"] = held
    return call


def through_a_model(held: Held) -> Any:
    class Holds(pydantic.BaseModel):
        a: int

    Holds.held = held  # type: ignore[attr-defined]
    parser: ResponseParser[Any] = ResponseParser("openai-chat", model=Holds)
    return parser


@pytest.mark.parametrize(
    "make",
    [
        through_a_source,
        through_a_source_that_is_read,
        lambda held: records(Iterates(held)),
        lambda held: responses(Iterates(held), "openai-chat"),
        through_a_value,
        through_the_value_of_a_live,
        through_an_event_of_a_live,
        through_a_call,
        through_a_model,
    ],
)
def test_cycles_are_collected(make: Callable[[Held], Any]) -> None:
    held = Held()
    held.value = make(held)
    gone = weakref.ref(held)
    del held
    gc.collect()
    assert gone() is None


def test_collection_while_it_is_read() -> None:
    def chunks() -> Iterator[str]:
        for number in range(50):
            gc.collect()
            yield '{"a":%d}\n' % number

    assert len(list(records(chunks(), model=dict[str, int]))) == 50


def interrupted_after(seconds: float, work: Callable[[], Any]) -> float:
    """Does the work, which an interrupt must end. Returns how long that took."""
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        work()
    timer.join()
    return time.monotonic() - start - seconds


def test_a_thread_that_waits_for_another_can_be_interrupted() -> None:
    release, is_reading = threading.Event(), threading.Event()

    def chunks() -> Iterator[str]:
        is_reading.set()
        release.wait()
        yield '{"a":1}'

    stream = records(chunks())
    other = threading.Thread(target=list, args=(stream,))
    other.start()
    is_reading.wait()
    try:
        assert interrupted_after(0.1, lambda: next(stream)) < 2
    finally:
        release.set()
        other.join()
    assert stream.report.records == 1


def test_threads_share_one_stream() -> None:
    stream = records('{"a":%d}\n' % number for number in range(20_000))
    found: list[list[int]] = [[] for _ in range(4)]

    def read(mine: list[int]) -> None:
        mine.extend(record["a"] for record in stream)

    threads = [threading.Thread(target=read, args=(mine,)) for mine in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(number for mine in found for number in mine) == list(range(20_000))


def test_a_long_extraction_can_be_interrupted() -> None:
    text = '{"a":[' + ",".join(["1"] * 500) + "]}\n"
    column = pa.array([text * 20] * 10_000)
    start = time.monotonic()
    tokenline.arrow.extract(column)
    whole = time.monotonic() - start
    assert interrupted_after(0.05, lambda: tokenline.arrow.extract(column)) < whole / 2
