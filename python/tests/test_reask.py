"""What was rejected is asked for again, and judged by the same rules."""

from __future__ import annotations

import asyncio
import gc
import http.server
import json
import os
import pickle
import random
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pydantic
import pytest
import tokenline

SCHEMA = {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}}


class Point(pydantic.BaseModel):
    x: int
    y: int

    @pydantic.field_validator("y")
    @classmethod
    def even(cls, y: int) -> int:
        if y % 2:
            raise ValueError(f"{y} is odd")
        return y


def body(*values: str) -> str:
    return "".join(value + "\n" for value in values)


def test_the_answer_takes_the_place_of_the_reject() -> None:
    asked = []

    def ask(reject: tokenline.Reject) -> str:
        asked.append((reject.text, reject.for_model, reject.code))
        return 'Here it is:\n```json\n{"a": 2}\n```'

    stream = tokenline.records(body('{"a":1}', '{"a":"two"}', '{"a":3}'), SCHEMA, reask=ask)
    assert list(stream) == [{"a": 1}, {"a": 2}, {"a": 3}]
    assert asked == [('{"a":"two"}', "expected type integer, found a string (at /a)", "schema_violation")]
    assert stream.report.reasked == {"asked": 1, "requests": 1, "delivered": 1}
    assert (stream.report.records, stream.report.rejected, stream.report.complete) == (3, 0, True)
    assert stream.report.to_dict()["reasked"]["requests"] == 1


def test_all_faults_are_told_and_those_of_the_model_too() -> None:
    told: list[str] = []

    def ask(reject: tokenline.Reject) -> str | None:
        told.append(reject.for_model)
        return None

    list(tokenline.records(body('{"x":"1"}', '{"x":1,"y":3}'), model=Point, reask=ask))
    assert told == [
        "2 faults:\n- missing required member `y`\n- /x: expected type integer, found a string",
        "rejected by a validator of the model (at /y)",
    ]


def test_an_answer_is_judged_by_the_model() -> None:
    answers = iter(['{"x":1,"y":5}', '{"x":1,"y":6}'])
    stream = tokenline.records(
        '{"x":1,"y":3}\n', model=Point, reask=lambda reject: next(answers), reask_attempts=2
    )
    assert list(stream) == [Point(x=1, y=6)]
    assert stream.report.reasked == {"asked": 1, "requests": 2, "delivered": 1}


@pytest.mark.parametrize(
    ("answers", "attempts", "reasons"),
    [
        (['{"a":"x"}', '{"a":"y"}', '{"a":1}'], 2, ["expected type integer", "expected type integer"]),
        (['{"a":"x"}', '{"a":"x"}'], 3, ["expected type integer", "expected type integer", "the same came again"]),
        (['{"a":"two"}', '{"a":1}'], 3, ["expected type integer", "the same came again"]),
        (["No.", None], 3, ["the answer had no record"]),
        (['{"a":1}\n{"a":2}'], 1, ["more than one record"]),
        (['{"a":1}\n{"a":}'], 1, ["a record beside a reject"]),
        ([None], 1, []),
    ],
)
def test_a_reject_is_final_with_the_reasons(
    answers: list[str | None], attempts: int, reasons: list[str]
) -> None:
    left = iter(answers)
    stream = tokenline.records(
        '{"a":"two"}\n{"a":1}\n', SCHEMA, reask=lambda reject: next(left), reask_attempts=attempts
    )
    assert list(stream) == [{"a": 1}]
    [reject] = stream.report.rejects
    assert len(reject.attempts) == len(reasons)
    assert all(reason in attempt for reason, attempt in zip(reasons, reject.attempts))
    assert ("asked again" in str(reject)) == bool(reasons)


def test_the_same_text_is_asked_for_once() -> None:
    asked: list[str | None] = []
    stream = tokenline.records(
        '{"a":"x"}\n' * 50, SCHEMA, reask=lambda reject: asked.append(reject.text)
    )
    assert list(stream) == []
    assert asked == ['{"a":"x"}']
    assert stream.report.rejected == 50
    assert "asked for before" in stream.report.rejects[1].attempts[0]


def test_events_have_the_place_of_the_original_and_survive_pickling() -> None:
    wire = 'data: {"choices":[{"index":0,"delta":{"content":"Two:\\n{\\"a\\":\\"x\\"}\\n{\\"a\\":[}\\n"}}]}\n\n'
    wire += 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    answers = iter(['{"a":7}', '{"a":"z"}'])
    events = list(
        tokenline.responses(wire, "openai-chat", schema=SCHEMA, reask=lambda reject: next(answers))
    )
    [record] = [event for event in events if isinstance(event, tokenline.Record)]
    assert (record.value, record.raw, record.line, record.start, record.end) == ({"a": 7}, '{"a":7}', 2, 5, 14)
    assert (record.recovered, record.attempts) == (("reasked",), 1)
    [reject] = [event for event in events if isinstance(event, tokenline.Reject)]
    assert (reject.text, reject.line, len(reject.attempts)) == ('{"a":[}', 3, 1)
    for event in (record, reject):
        assert pickle.loads(pickle.dumps(event)) == event
        assert repr(pickle.loads(pickle.dumps(event))) == repr(event)


TOOLS = tokenline.ToolSet(
    [{"name": "weather", "parameters": {"required": ["city"], "properties": {"city": {"type": "string"}}}}]
)
NATIVE = (
    'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":'
    '{"name":"weather","arguments":"{\\"city\\":7}"}}]}}]}\n\n'
    'data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\n'
)


@pytest.mark.parametrize("answer", ['{"city":"Oslo"}', '```json\n{"city": "Oslo"}\n```', '[weather(city="Oslo")]'])
@pytest.mark.parametrize(("source", "provider"), [(NATIVE, "openai-chat"), ('[weather(city=7)]', None)])
def test_calls_are_asked_for(source: str, provider: tokenline.Provider | None, answer: str) -> None:
    asked = []

    def ask(call: tokenline.RejectedCall) -> str:
        asked.append((call.name, call.for_model))
        return answer

    stream = tokenline.tool_calls(source, provider, TOOLS, reask=ask)
    [call] = list(stream)
    assert (call.name, call.parameters, call.attempts) == ("weather", {"city": "Oslo"}, 1)
    assert call.call_id == ("c1" if provider else None)
    assert call.recovered[-1] == "reasked"
    [(name, why)] = asked
    assert name == "weather"
    assert "expected type string" in why
    assert stream.report.tool_calls == 1
    assert stream.report.rejected == 0


def test_a_call_that_stays_wrong_is_a_reject() -> None:
    stream = tokenline.tool_calls(NATIVE, "openai-chat", TOOLS, reask=lambda call: '{"town":"Oslo"}')
    assert list(stream) == []
    [reject] = stream.report.rejects
    assert "missing required member `city`" in reject.attempts[0]


def test_records_of_a_response_are_asked_for() -> None:
    wire = 'data: {"choices":[{"index":0,"delta":{"content":"{\\"a\\":\\"x\\"}\\n"},"finish_reason":"stop"}]}\n\n'
    wire += "data: [DONE]\n\n"
    stream = tokenline.records(wire, SCHEMA, provider="openai-chat", reask=lambda reject: '{"a":1}')
    assert list(stream) == [{"a": 1}]
    assert stream.report.complete
    assert list(tokenline.records(wire, provider="openai-chat")) == [{"a": "x"}]
    with pytest.raises(ValueError, match="`provider` must be one of"):
        tokenline.records(wire, provider="nobody")  # type: ignore[call-overload]


def test_an_item_may_come_without_the_list_around_it() -> None:
    text = '{"rows":[{"a":1},{"a":"x"},{"a":3}]}'
    for answer in ['{"a":2}', '{"rows":[{"a":2}]}']:
        stream = tokenline.records(text, SCHEMA, items="/rows", reask=_returns(answer))
        assert list(stream) == [{"a": 1}, {"a": 2}, {"a": 3}]


def _returns(answer: str) -> Callable[[Any], str]:
    return lambda reject: answer


def test_errors_of_the_function() -> None:
    class Gone(Exception):
        pass

    def fail(reject: tokenline.Reject) -> str:
        raise Gone

    stream = tokenline.records('{"a":1}\n{"a":"x"}\n{"a":3}\n', SCHEMA, reask=fail)
    assert next(stream) == {"a": 1}
    with pytest.raises(Gone):
        next(stream)
    assert list(stream) == []
    assert stream.report.rejected == 1

    with pytest.raises(TypeError, match="`reask` must be a function that returns a str or None, not int"):
        list(tokenline.records('{"a":"x"}\n', SCHEMA, reask=lambda reject: 7))  # type: ignore[arg-type,return-value]
    with pytest.raises(TypeError, match="`reask` must be a function, not int"):
        tokenline.records("", reask=7)  # type: ignore[call-overload]

    async def ask(reject: tokenline.Reject) -> str:
        return "{}"

    with pytest.raises(TypeError, match="awaitable: asynchronous functions are for `arecords`"):
        list(tokenline.records('{"a":"x"}\n', SCHEMA, reask=ask))


def test_an_interrupt_leaves_the_question_open() -> None:
    interrupts = iter([True, False])

    def ask(reject: tokenline.Reject) -> str:
        if next(interrupts):
            raise KeyboardInterrupt
        return '{"a":2}'

    stream = tokenline.records('{"a":"x"}\n{"a":3}\n', SCHEMA, reask=ask)
    with pytest.raises(KeyboardInterrupt):
        next(stream)
    assert list(stream) == [{"a": 2}, {"a": 3}]
    assert stream.report.reasked == {"asked": 1, "requests": 1, "delivered": 1}


def test_strict_raises_once_the_reject_is_final() -> None:
    answers = iter(['{"a":2}', '{"a":[]}'])
    text = '{"a":"x"}\n{"a":"y"}\n{"a":3}\n'
    stream = tokenline.records(text, SCHEMA, strict=True, reask=lambda reject: next(answers))
    assert next(stream) == {"a": 2}
    with pytest.raises(tokenline.RejectedError) as raised:
        next(stream)
    assert len(raised.value.reject.attempts) == 1


def test_nothing_is_asked_without_a_function_and_quoted_text_is_not_kept() -> None:
    [reject] = [event for event in _events('{"a":"x"}\n') if isinstance(event, tokenline.Reject)]
    assert (reject.text, reject.attempts, reject.further) == (None, (), ())


def _events(text: str) -> Iterator[Any]:
    parser = tokenline.JsonlParser(schema=SCHEMA)
    parser.push(text)
    parser.finish()
    return iter(parser)


def test_right_records_do_not_wait_for_an_asynchronous_function() -> None:
    async def run() -> tuple[list[Any], tokenline.Report]:
        answered = asyncio.Event()

        async def ask(reject: tokenline.Reject) -> str:
            await answered.wait()
            return '{"a":0}'

        seen = []
        async with tokenline.arecords(
            ['{"a":"x"}\n{"a":1}\n', '{"a":2}\n'], SCHEMA, reask=ask
        ) as stream:
            async for record in stream:
                seen.append(record)
                if len(seen) == 2:
                    answered.set()
        return seen, stream.report

    seen, report = asyncio.run(asyncio.wait_for(run(), 10))
    assert seen == [{"a": 1}, {"a": 2}, {"a": 0}]
    assert report.complete
    assert report.reasked == {"asked": 1, "requests": 1, "delivered": 1}


def test_an_answer_comes_while_the_source_is_silent() -> None:
    async def run() -> list[Any]:
        told = asyncio.Event()

        async def source() -> AsyncIterator[str]:
            yield '{"a":"x"}\n'
            # Nothing more, until the answer has been delivered.
            await told.wait()
            yield '{"a":1}\n'

        async def ask(reject: tokenline.Reject) -> str:
            await asyncio.sleep(0.01)
            return '{"a":0}'

        seen = []
        async for record in tokenline.arecords(source(), SCHEMA, reask=ask):
            seen.append(record)
            told.set()
        return seen

    assert asyncio.run(asyncio.wait_for(run(), 10)) == [{"a": 0}, {"a": 1}]


def test_closing_ends_what_is_awaited() -> None:
    async def run() -> tuple[list[str], tokenline.Report]:
        log: list[str] = []

        async def source() -> AsyncIterator[str]:
            try:
                yield '{"a":"x"}\n{"a":1}\n'
                await asyncio.Event().wait()
            finally:
                log.append("source closed")

        async def ask(reject: tokenline.Reject) -> str:
            try:
                await asyncio.Event().wait()
            finally:
                log.append("question ended")
            return ""

        async with tokenline.arecords(source(), SCHEMA, reask=ask) as stream:
            assert await stream.__anext__() == {"a": 1}
            # A cancelled read loses nothing, and does not end the source.
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(stream.__anext__(), 0.02)
            assert log == []
        return log, stream.report

    log, report = asyncio.run(asyncio.wait_for(run(), 10))
    assert log == ["question ended", "source closed"]
    assert report.rejected == 1


def test_an_exception_of_an_asynchronous_function_ends_the_stream() -> None:
    async def run() -> tokenline.Report:
        async def ask(reject: tokenline.Reject) -> str:
            raise LookupError("nobody there")

        stream = tokenline.arecords(['{"a":"x"}\n'], SCHEMA, reask=ask)
        with pytest.raises(LookupError):
            while True:
                await stream.__anext__()
        assert [record async for record in stream] == []
        return stream.report

    assert asyncio.run(asyncio.wait_for(run(), 10)).rejected == 1


def test_a_call_of_another_tool_is_no_answer() -> None:
    tools = [
        {"name": "person", "parameters": {"required": ["name"], "properties": {"name": {"type": "string"}}}},
        {"name": "rm", "parameters": {}},
    ]
    source = '{"name":"person","arguments":{"name":7}}'
    for answer, expected in [
        ('{"name":"rm"}', [("person", {"name": "rm"})]),
        ('{"name":"Bob"}', [("person", {"name": "Bob"})]),
        ('{"name":"person","arguments":{"name":"Eve"}}', [("person", {"name": "Eve"})]),
        ("[rm()]", []),
        ('{"name":"person","arguments":{"name":8}}', []),
        ('{"name":[]}', []),
        ('{"name":"rm","arguments":{"path":"/"}}', []),
        ('<tool_call>{"name":"rm","arguments":{"path":"/"}}</tool_call>', []),
        ('{"name":"nope","arguments":{}}', []),
    ]:
        stream = tokenline.tool_calls(source, None, tools, reask=_returns(answer))
        assert [(call.name, call.parameters) for call in stream] == expected, answer
    assert list(tokenline.tool_calls(source, None, tools, reask=_returns("```\nrm(path=7)\n```"))) == []
    native = tokenline.tool_calls(
        NATIVE, "openai-chat", TOOLS, call_format="pythonic", reask=_returns('{"name":"weather","arguments":{"city":"Oslo"}}')
    )
    assert [call.parameters for call in native] == [{"city": "Oslo"}]
    unknown = '{"name":"persn","arguments":{"name":"Eve"}}'
    stream = tokenline.tool_calls(unknown, None, tools, reask=_returns(source.replace("7", '"Eve"')))
    assert [call.name for call in stream] == ["person"]


def test_a_second_question_is_about_the_same_call() -> None:
    asked = []

    def ask(call: tokenline.RejectedCall) -> str:
        asked.append((call.call_id, call.number, call.received, call.reject.instance_path))
        return '{"city":8}' if len(asked) == 1 else '{"city":"Oslo"}'

    [call] = tokenline.tool_calls(NATIVE, "openai-chat", TOOLS, reask=ask, reask_attempts=2)
    assert asked == [("c1", 1, '{"city":7}', "/parameters/city"), ("c1", 1, '{"city":8}', "/parameters/city")]
    assert (call.call_id, call.attempts) == ("c1", 2)


def test_text_is_kept_only_if_it_is_asked_for() -> None:
    for repairs, stops in ((False, False), (True, False), (False, True)):
        stream = tokenline.tool_calls(
            NATIVE, "openai-chat", TOOLS, strict=True, repair_syntax=repairs, stop_on_repetition=stops
        )
        with pytest.raises(tokenline.RejectedError) as raised:
            list(stream)
        assert raised.value.reject.text is None
    with pytest.raises(ValueError, match="`reask_attempts` must be at least 1"):
        tokenline.records("", reask=_returns(""), reask_attempts=0)


def test_the_function_may_use_the_stream() -> None:
    def ask(reject: tokenline.Reject) -> str | None:
        return '{"a":0}' if stream.report.reasked["requests"] < 2 else None

    stream = tokenline.records('{"a":"x"}\n{"a":"y"}\n{"a":"z"}\n', SCHEMA, reask=ask)
    assert list(stream) == [{"a": 0}, {"a": 0}]
    assert stream.report.rejected == 1


def test_an_exception_that_ends_iterations_does_not_end_the_stream_silently() -> None:
    answers = iter(['{"a":1}'])
    stream = tokenline.records('{"a":"x"}\n{"a":"y"}\n', SCHEMA, reask=lambda reject: next(answers))
    assert next(stream) == {"a": 1}
    with pytest.raises(RuntimeError, match="`reask` raised StopIteration"):
        next(stream)

    async def run() -> None:
        async def nothing() -> AsyncIterator[str]:
            return
            yield

        async def ask(reject: tokenline.Reject) -> str:
            return await nothing().__anext__()

        async for _ in tokenline.arecords('{"a":"x"}\n', SCHEMA, reask=ask):
            pass

    with pytest.raises(RuntimeError, match="`reask` raised StopAsyncIteration"):
        asyncio.run(run())


def test_an_interrupted_validator_keeps_the_answer() -> None:
    interrupts = iter([False, True, False])

    class Interrupted(pydantic.BaseModel):
        a: int

        @pydantic.field_validator("a")
        @classmethod
        def interrupt(cls, a: int) -> int:
            if a == 1 and next(interrupts):
                raise KeyboardInterrupt
            if a == 0:
                raise ValueError("zero")
            return a

    asked = []

    def ask(reject: tokenline.Reject) -> str:
        asked.append(reject.text)
        return '{"a":1}'

    stream = tokenline.records('{"a":1}\n{"a":0}\n', model=Interrupted, reask=ask)
    assert next(stream) == Interrupted.model_construct(a=1)
    with pytest.raises(KeyboardInterrupt):
        next(stream)
    assert list(stream) == [Interrupted.model_construct(a=1)]
    assert asked == ['{"a":0}']


def test_counts_add_up_when_a_stream_is_closed() -> None:
    def ask(reject: tokenline.Reject) -> str:
        raise KeyboardInterrupt

    stream = tokenline.records('{"a":"x"}\n{"a":1}\n', SCHEMA, reask=ask)
    with pytest.raises(KeyboardInterrupt):
        next(stream)
    stream.close()
    assert stream.report.rejected == 1

    stream = tokenline.records(
        '{"a":"x"}\n', SCHEMA, strict=True, reask=lambda reject: 7  # type: ignore[arg-type,return-value]
    )
    with pytest.raises(TypeError, match="`reask` must be a function that returns"):
        next(stream)
    assert stream.report.rejected == 1

    async def run() -> tokenline.Report:
        stream = tokenline.arecords(
            '{"a":"x"}\n{"a":"y"}\n{"a":3}\n', SCHEMA, reask=lambda reject: 7  # type: ignore[arg-type,return-value]
        )
        with pytest.raises(TypeError):
            while True:
                await stream.__anext__()
        return stream.report

    report = asyncio.run(run())
    assert (report.records, report.rejected) == (1, 2)


def test_counts_add_up_when_functions_and_validators_fail() -> None:
    class Failing(pydantic.BaseModel):
        a: int

        @pydantic.model_validator(mode="after")
        def fail(self) -> Failing:
            if self.a == 0:
                raise ValueError("zero")
            raise LookupError

    stream = tokenline.records('{"a":0}\n', model=Failing, reask=_returns('{"a":1}'))
    with pytest.raises(LookupError):
        next(stream)
    assert stream.report.rejected == 1

    def nested(reject: tokenline.Reject) -> str:
        list(tokenline.records('{"a":', strict=True))
        return ""

    async def run() -> tokenline.Report:
        stream = tokenline.arecords('{"a":"x"}\n', SCHEMA, reask=nested)
        with pytest.raises(tokenline.RejectedError):
            await stream.__anext__()
        return stream.report

    assert asyncio.run(run()).rejected == 1

    interrupts = iter([False, True, True, False])

    class Interrupted(pydantic.BaseModel):
        a: int

        @pydantic.field_validator("a")
        @classmethod
        def interrupt(cls, a: int) -> int:
            if next(interrupts):
                raise KeyboardInterrupt
            if a == 0:
                raise ValueError("zero")
            return a

    stream_of = tokenline.records('{"a":0}\n', model=Interrupted, reask=_returns('{"a":1}'))
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            next(stream_of)
    assert len(list(stream_of)) == 1
    assert stream_of.report.reasked == {"asked": 1, "requests": 1, "delivered": 1}


def test_a_source_that_is_cancelled_from_inside_goes_on_or_ends() -> None:
    async def run() -> list[Any]:
        class Source:
            def __init__(self) -> None:
                self.reads = 0

            def __aiter__(self) -> Source:
                return self

            async def __anext__(self) -> str:
                self.reads += 1
                if self.reads == 2:
                    raise asyncio.CancelledError
                if self.reads == 4:
                    raise StopAsyncIteration
                return '{"a":1}\n'

        stream = tokenline.arecords(Source(), SCHEMA, reask=_returns(""))
        seen: list[Any] = [await stream.__anext__()]
        with pytest.raises(asyncio.CancelledError):
            await stream.__anext__()
        seen += [record async for record in stream]
        return seen

    assert asyncio.run(asyncio.wait_for(run(), 5)) == [{"a": 1}, {"a": 1}]

    async def cancelled(reject: tokenline.Reject) -> str:
        raise asyncio.CancelledError

    async def ask() -> None:
        stream = tokenline.arecords('{"a":"x"}\n', SCHEMA, reask=cancelled)
        with pytest.raises(RuntimeError, match="`reask` was cancelled"):
            await stream.__anext__()

    asyncio.run(asyncio.wait_for(ask(), 5))


def test_what_was_answered_comes_before_the_exception_of_another_question() -> None:
    async def run() -> list[Any]:
        answers: Iterator[str | Exception] = iter(['{"a":1}', LookupError()])

        async def ask(reject: tokenline.Reject) -> str:
            answer = next(answers)
            if isinstance(answer, Exception):
                raise answer
            return answer

        seen = []
        with pytest.raises(LookupError):
            async for record in tokenline.arecords('{"a":"x"}\n{"a":"y"}\n{"a":3}\n', SCHEMA, reask=ask):
                seen.append(record)
        return seen

    assert {"a": 1} in asyncio.run(run())


def test_a_source_is_read_and_closed_in_one_task() -> None:
    async def run() -> set[Any]:
        tasks = set()

        async def source() -> AsyncIterator[str]:
            try:
                for n in range(5):
                    tasks.add(asyncio.current_task())
                    yield f'{{"a":"{n}"}}\n{{"a":{n}}}\n'
                    await asyncio.sleep(0)
            finally:
                tasks.add(asyncio.current_task())

        async def ask(reject: tokenline.Reject) -> str:
            await asyncio.sleep(0.001)
            return '{"a":9}'

        async with tokenline.arecords(source(), SCHEMA, reask=ask) as stream:
            async for record in stream:
                if record == {"a": 9}:
                    break
        assert len(asyncio.all_tasks()) == 1
        return tasks

    assert len(asyncio.run(run())) == 1


def test_a_dropped_stream_leaves_no_task() -> None:
    async def run() -> None:
        async def source() -> AsyncIterator[str]:
            yield '{"a":"x"}\n'
            await asyncio.sleep(30)

        async def ask(reject: tokenline.Reject) -> str:
            await asyncio.sleep(30)
            return ""

        async def consume() -> None:
            async for _ in tokenline.arecords(source(), SCHEMA, reask=ask):
                pass

        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(consume(), 0.02)
        gc.collect()
        await asyncio.sleep(0.01)
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(run())


def test_a_cancelled_close_closes_the_source() -> None:
    async def run() -> tuple[list[str], tokenline.Report]:
        log = []

        async def source() -> AsyncIterator[str]:
            try:
                yield '{"a":"x"}\n{"a":1}\n'
                await asyncio.sleep(30)
            finally:
                log.append("closed")

        async def ask(reject: tokenline.Reject) -> str:
            try:
                await asyncio.sleep(30)
            finally:
                await asyncio.sleep(0.1)
            return ""

        stream = tokenline.arecords(source(), SCHEMA, reask=ask)
        assert await stream.__anext__() == {"a": 1}
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(stream.__anext__(), 0.01)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(stream.aclose(), 0.01)
        await asyncio.sleep(0.2)
        return log, stream.report

    log, report = asyncio.run(run())
    assert log == ["closed"]
    assert (report.records, report.rejected) == (1, 1)


def test_at_most_four_are_awaited_at_a_time() -> None:
    async def run() -> tuple[int, int]:
        open_now, most = 0, 0

        async def ask(reject: tokenline.Reject) -> str:
            nonlocal open_now, most
            open_now += 1
            most = max(most, open_now)
            await asyncio.sleep(0.001)
            open_now -= 1
            return '{"a":0}'

        text = body(*('{"a":"%d"}' % n for n in range(60)))
        count = len([record async for record in tokenline.arecords(text, SCHEMA, reask=ask)])
        return most, count

    assert asyncio.run(asyncio.wait_for(run(), 20)) == (4, 60)


class Model:
    """Answers wrongly in seeded ways, and says what is to be delivered."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.texts: list[str] = []
        self.delivered: list[int] = []
        self.answers: dict[str, list[str | None]] = {}
        for number in range(self.random.randrange(1, 12)):
            self._add(number)

    def _wrong(self, number: int) -> str:
        return self.random.choice(
            [f'{{"a":"{number}"}}', f'{{"b":{number}}}', f'{{"a":{number},,}}', f'{{"a":{number}.5}}']
        )

    def _add(self, number: int) -> None:
        right = f'{{"a":{number}}}'
        if self.random.random() < 0.6:
            self.texts.append(right)
            self.delivered.append(number)
            return
        wrong = self._wrong(number)
        self.texts.append(wrong)
        answer = self.random.choice(["right", "prose", "none", "two", "wrong, then right"])
        fenced = f"Sorry. Corrected:\n```json\n{right}\n```\n"
        if answer == "wrong, then right":
            again = f'{{"a":"{number}, again"}}'
            self.answers[wrong] = [again]
            self.answers[again] = [fenced]
        else:
            answers: dict[str, list[str | None]] = {
                "right": [right],
                "prose": ["I cannot.", fenced],
                "none": [None],
                "two": [right + "\n" + right, None],
            }
            self.answers[wrong] = answers[answer]
        if answer in ("right", "prose", "wrong, then right"):
            self.delivered.append(number)

    def ask(self, reject: tokenline.Reject) -> str | None:
        assert reject.text is not None
        return self.answers[reject.text].pop(0)

    async def ask_later(self, reject: tokenline.Reject) -> str | None:
        await asyncio.sleep(self.random.choice([0, 0, 0.0005]))
        return self.ask(reject)


@pytest.mark.parametrize("seed", range(200))
def test_what_is_delivered_is_what_the_answers_allow(seed: int) -> None:
    text = body(*Model(seed).texts)
    cut = random.Random(seed).randrange(1, 30)
    pieces = [text[at : at + cut] for at in range(0, len(text), cut)]

    model = Model(seed)
    stream = tokenline.records(pieces, SCHEMA, reask=model.ask, reask_attempts=2)
    assert [record["a"] for record in stream] == model.delivered
    assert stream.report.records + stream.report.rejected == len(model.texts)
    reasked = stream.report.reasked
    assert reasked["delivered"] == sum(n in model.delivered for n in _wrong_numbers(model))

    async def run() -> list[int]:
        later = Model(seed)
        stream = tokenline.arecords(pieces, SCHEMA, reask=later.ask_later, reask_attempts=2)
        return [record["a"] async for record in stream]

    assert sorted(asyncio.run(run())) == sorted(model.delivered)


def _wrong_numbers(model: Model) -> list[int]:
    return [number for number, text in enumerate(model.texts) if text != f'{{"a":{number}}}']


def test_syntax_is_repaired_on_request() -> None:
    text = '{"a":1,}\n{"a":2}\n'
    assert list(tokenline.records(text, SCHEMA)) == [{"a": 2}]
    stream = tokenline.records(text, SCHEMA, repair_syntax=True)
    assert list(stream) == [{"a": 1}, {"a": 2}]
    assert stream.report.to_dict()["records"] == 2


def test_a_loop_ends_the_text_and_closes_the_source() -> None:
    closed = []

    def source() -> Iterator[str]:
        try:
            yield '{"a":1}\n'
            while True:
                yield "I will try again. "
        finally:
            closed.append(True)

    stream = tokenline.records(source(), stop_on_repetition=True)
    assert list(stream) == [{"a": 1}]
    assert closed == [True]
    assert stream.report.by_code == {"prose": 1, "repetition": 1}
    assert stream.report.to_dict()["ended_by"] == "repetition"


class Chat(http.server.BaseHTTPRequestHandler):
    """A server of chat completions whose first response has a wrong record."""

    requests: ClassVar[list[Any]] = []

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.requests.append(request)
        if request.get("stream"):
            kind = "text/event-stream"
            rows = body(*('{"number":"%d","net":%s,"total":2}' % (n, "-1" if n == 1 else "1") for n in range(3)))
            event = {"choices": [{"index": 0, "delta": {"content": rows}, "finish_reason": "stop"}]}
            text = f"data: {json.dumps(event)}\n\ndata: [DONE]\n\n"
        else:
            kind = "application/json"
            message = {"role": "assistant", "content": 'Sorry:\n```json\n{"number":"1","net":1,"total":2}\n```'}
            text = json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: Any) -> None:
        pass


def test_the_example_runs() -> None:
    pytest.importorskip("openai")
    path = Path(__file__).parents[1] / "examples" / "reask.py"
    code = path.read_text().partition('"""\n\n')[2].splitlines()
    assert sum(bool(line) for line in code) <= 25, "an example is short"
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Chat) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}/v1"
        environment = {**os.environ, "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none", "NO_PROXY": "*"}
        done = subprocess.run(
            [sys.executable, path, "a-model"], env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        server.shutdown()
        thread.join()
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert sorted(line[:10] for line in lines[:3]) == [f"number='{n}'" for n in range(3)]
    assert lines[3] == "{'asked': 1, 'requests': 1, 'delivered': 1} []"
    [_, again] = Chat.requests
    assert again["messages"][1] == {"role": "assistant", "content": '{"number":"1","net":-1,"total":2}'}
    assert "less than the minimum 0 (at /net)" in again["messages"][2]["content"]
