"""The texts of rejects, the words of validators, and all violations: on request only."""

from __future__ import annotations

import asyncio
import copy
import pickle
from collections.abc import Iterator
from typing import Any

import pydantic
import pytest
from support import MESSY, cut, events

import tokenline
from tokenline import JsonlParser, Reject, RejectedError, Report, ResponseParser, arecords, records, responses, tool_calls

SECRET = "ada@example.com"
SCHEMA = {
    "required": ["name"],
    "properties": {"age": {"minimum": 0}, "scores": {"additionalProperties": {"type": "integer"}}},
}
TEXT = f'{{"name":"Bo"}}\n{{"age":-1,"scores":{{"{SECRET}":"high"}}}}\nSo {{"name":\n{{"name": nope}}\n'


def wire(text: str) -> bytes:
    import json

    event = {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]}
    return b"data: " + json.dumps(event).encode() + b"\n\ndata: [DONE]\n\n"


class Person(pydantic.BaseModel):
    name: str

    @pydantic.field_validator("name")
    @classmethod
    def known(cls, name: str) -> str:
        if name != "Bo":
            raise ValueError(f"{name} is not known")
        return name


@pytest.mark.parametrize("provider", [None, "openai-chat"])
def test_texts_are_there_on_request(provider: Any) -> None:
    source = wire(TEXT) if provider else TEXT.encode()
    found = []
    for size in (1, 7, 10_000):
        stream = records(cut(source, size), SCHEMA, provider=provider, show_values=True)
        assert list(stream) == [{"name": "Bo"}]
        texts = [reject.text for reject in stream.report.rejects]
        assert texts[0] == f'{{"age":-1,"scores":{{"{SECRET}":"high"}}}}'
        assert len(texts) == stream.report.rejected
        assert all(text is not None and text in TEXT for text in texts)
        found.append([(str(reject), reject.text) for reject in stream.report.rejects])
    assert found[0] == found[1] == found[2]
    plain = records(source, SCHEMA, provider=provider)
    assert list(plain) == [{"name": "Bo"}]
    assert [str(reject) for reject in plain.report.rejects] == [message for message, _ in found[0]]
    assert all(reject.text is None for reject in plain.report.rejects)
    assert SECRET not in repr(plain.report.to_dict()) + repr(plain.report.rejects)


def test_texts_of_asynchronous_and_of_strict_streams() -> None:
    async def read() -> Report:
        stream = arecords(TEXT, SCHEMA, show_values=True)
        assert [value async for value in stream] == [{"name": "Bo"}]
        return stream.report

    texts = [reject.text for reject in asyncio.run(read()).rejects]
    assert texts == [reject.text for reject in report_of(show_values=True).rejects]
    stream = records(TEXT, SCHEMA, strict=True, show_values=True)
    next(stream)
    with pytest.raises(RejectedError) as raised:
        next(stream)
    assert raised.value.reject.text == texts[0]
    with pytest.raises(RejectedError) as raised:
        list(records(TEXT, SCHEMA, strict=True))
    assert raised.value.reject.text is None


def report_of(**options: Any) -> Report:
    stream = records(TEXT, SCHEMA, **options)
    list(stream)
    return stream.report


def test_parsers_have_the_same_events_with_texts() -> None:
    """`show_values` takes another path through the package, which has to read the same."""
    for text in (TEXT, MESSY):
        for size in (1, 5, 10_000):
            plain = events(cut(text.encode(), size), schema=SCHEMA)
            shown = events(cut(text.encode(), size), schema=SCHEMA, show_values=True)
            assert [str(event) for event in plain] == [str(event) for event in shown]
            assert [event.text for event in plain if isinstance(event, Reject)] == [None] * len(rejects(plain))
            assert all(reject.text for reject in rejects(shown))
    parser = JsonlParser(schema=SCHEMA, show_values=True)
    for _ in range(2):
        parser.push(TEXT)
        parser.finish()
        found = [event.text for event in parser if isinstance(event, Reject)]
        assert found == [reject.text for reject in parser.report.rejects]
        assert len(found) == parser.report.rejected == 3
        parser.reset()
        assert (parser.report.rejects, parser.report.records) == ([], 0)


def rejects(found: list[Any]) -> list[Reject]:
    return [event for event in found if isinstance(event, Reject)]


def test_responses_and_calls() -> None:
    [reject] = [event for event in responses(wire('{"a":1'), "openai-chat", show_values=True) if isinstance(event, Reject)]
    assert reject.text == '{"a":1'
    parser = ResponseParser("openai-chat", show_values=True)
    parser.push(wire('{"no":no}\n'))
    parser.finish()
    assert [event.text for event in parser if isinstance(event, Reject)] == ['{"no":no}']
    tools = [{"name": "weather", "parameters": {"properties": {"city": {"type": "string"}}}}]
    stream = tool_calls('[weather(city=7)]', tools=tools, show_values=True)
    assert list(stream) == []
    [reject] = stream.report.rejects
    assert reject.text is not None
    assert "7" in reject.text


def test_the_report_keeps_as_many_texts_as_rejects() -> None:
    stream = records('{"x":}\n{"y":}\n{"z":}\n', show_values=True, diagnostics=2)
    list(stream)
    assert [reject.text for reject in stream.report.rejects] == ['{"x":}', '{"y":}']
    assert (stream.report.rejected, stream.report.dropped) == (3, 1)


def test_names_are_shown_on_request() -> None:
    def path(**options: Any) -> Any:
        return report_of(all_violations=True, **options).rejects[0].further[1].instance_path

    assert (path(), path(show_names=True)) == ("/scores/*", f"/scores/{SECRET}")
    assert path(show_values=True) == "/scores/*"


def test_all_violations() -> None:
    [first, *_] = report_of().rejects
    assert (first.message, first.further) == ("missing required member `name`", ())
    [first, *_] = report_of(all_violations=True).rejects
    assert [further.message for further in first.further] == [
        "less than the minimum 0",
        "expected type integer, found a string",
    ]
    parser = JsonlParser(schema={"maxProperties": 0, "additionalProperties": False}, all_violations=True)
    parser.push("{" + ",".join(f'"{name}":1' for name in range(200)) + "}\n")
    [reject] = list(parser)
    assert isinstance(reject, Reject)
    assert len(reject.further) == 99
    live = tokenline.Live(schema=SCHEMA, all_violations=True)
    live.push('{"age":-1}\n')
    [reject] = list(live)
    assert isinstance(reject, Reject)
    assert len(reject.further) == 1
    [reject] = tool_report(all_violations=True).rejects
    assert len(reject.further) == 1


def tool_report(**options: Any) -> Report:
    tools = [{"name": "sum", "parameters": {"required": ["b"], "properties": {"a": {"type": "integer"}}}}]
    stream = tool_calls('[sum(a="x")]', tools=tools, **options)
    list(stream)
    return stream.report


def test_the_own_words_of_pydantic() -> None:
    text = f'{{"name":"{SECRET}"}}\n'

    def message(**options: Any) -> str:
        stream = records(text, model=Person, **options)
        assert list(stream) == []
        [reject] = stream.report.rejects
        return reject.message

    assert message() == "rejected by a validator of the model"
    assert message(show_names=True) == "rejected by a validator of the model"
    assert message(show_values=True) == f"does not fit the model: Value error, {SECRET} is not known"
    asked: list[str] = []

    def reask(reject: Any) -> str:
        asked.append(reject.for_model)
        return '{"name":"Bo"}'

    assert list(records(text, model=Person, reask=reask, show_values=True)) == [Person(name="Bo")]
    assert asked == [f"does not fit the model: Value error, {SECRET} is not known (at /name)"]


def test_reasoning_that_the_prompt_has_opened() -> None:
    text = 'Perhaps {"a":1}.\n</think>\n{"a":2}\n'
    assert list(records(text, in_reasoning=True)) == [{"a": 2}]
    assert [event.value for event in events([text], in_reasoning=True) if isinstance(event, tokenline.Record)] == [{"a": 2}]


@pytest.mark.parametrize("name", ["show_values", "show_names", "all_violations", "in_reasoning", "call_updates"])
def test_flags_are_bools(name: str) -> None:
    with pytest.raises(TypeError, match=f"`{name}` must be a bool"):
        ResponseParser("openai-chat", **{name: 1})  # type: ignore[call-overload]
    if name in ("show_values", "call_updates"):
        with pytest.raises(TypeError, match="unexpected keyword argument"):
            tokenline.Live(**{name: True})  # type: ignore[call-overload]


def reports() -> Iterator[Report]:
    yield JsonlParser().report
    for options in ({}, {"show_values": True}, {"all_violations": True}, {"diagnostics": 1}, {"repair_syntax": True}):
        yield report_of(**options)
    stream = records('{"a":1,}\n{"b":x}\n', repair_syntax=True)
    list(stream)
    assert stream.report.repaired_by_edit == {"trailing_comma": 1}
    yield stream.report
    stream = records('{"a":1}\n{"b":7}\n', {"required": ["b"]}, reask=lambda reject: '{"a":1}', reask_attempts=2)
    list(stream)
    yield stream.report
    loop = records('{"a":1}\n' * 10_000, stop_on_repetition=True)
    list(loop)
    assert (loop.report.ended_by, loop.report.complete) == ("repetition", False)
    yield loop.report
    parser = ResponseParser("openai-chat")
    parser.push(b'data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\ndata: {oh}\n\n')
    parser.finish()
    assert {event.severity for event in parser if isinstance(event, (Reject, tokenline.Note))} >= {"error"}
    yield parser.report


def test_reports_are_pickled_copied_and_compared() -> None:
    found = list(reports())
    for at, report in enumerate(found):
        copies = [pickle.loads(pickle.dumps(report, protocol)) for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)]
        for again in (*copies, copy.copy(report), copy.deepcopy(report)):
            assert isinstance(again, Report)
            assert again == report
            assert (again.to_json(), repr(again)) == (report.to_json(), repr(report))
            assert (again.rejects, again.kept_notes) == (report.rejects, report.kept_notes)
            assert [reject.text for reject in again.rejects] == [reject.text for reject in report.rejects]
            for name in ("complete", "ended_by", "warnings", "repaired", "repaired_by_edit", "by_code", "reasked", "dropped"):
                assert getattr(again, name) == getattr(report, name)
        assert report != object()
        assert all((report == other) == (at == number) for number, other in enumerate(found) if at == number or number == 0)
    assert report_of() != report_of(show_values=True)


@pytest.mark.parametrize(
    "change",
    [{"by_code": {"odd": 1}}, {"ended_by": "luck"}, {"diagnostics": [1]}, {"records": -1}, {"reasks": (1, 2)}],
)
def test_a_changed_pickle_is_refused(change: dict[str, Any]) -> None:
    reduced: Any = report_of().__reduce__()
    restore, (state,) = reduced
    assert restore(state) == report_of()
    with pytest.raises((ValueError, TypeError, OverflowError)):
        restore({**state, **change})
    del state["records"]
    with pytest.raises(TypeError, match="a report has no `records`"):
        restore(state)


@pytest.mark.parametrize("provider", [None, "openai-chat"])
def test_a_stream_ends_after_so_many_records(provider: Any) -> None:
    read = 0

    def source() -> Iterator[bytes]:
        nonlocal read
        for number in range(1000):
            read += 1
            text = f'{{"a":{number}}}\n'
            event = wire(text).split(b"\n\n")[0].replace(b'"stop"', b"null") + b"\n\n"
            yield text.encode() if provider is None else event

    stream = records(source(), provider=provider, max_records=3)
    assert list(stream) == [{"a": 0}, {"a": 1}, {"a": 2}]
    assert (stream.report.records, stream.report.ended_by, stream.report.complete) == (3, "max_records", False)
    assert read <= 4
    assert list(records('{"a":1}\n', max_records=0)) == []
    whole = records('{"a":1}\n{"a":2}\n', max_records=3)
    assert len(list(whole)) == 2
    assert (whole.report.ended_by, whole.report.complete) == (None, True)


def test_a_source_is_closed_after_so_many_records() -> None:
    closed = []

    def source() -> Iterator[str]:
        try:
            while True:
                yield '{"a":1}\n[now()]\n'
        finally:
            closed.append(True)

    assert len(list(records(source(), max_records=2))) == 2
    assert len(list(tool_calls(source(), max_records=2))) == 2
    assert closed == [True, True]

    async def read() -> int:
        return len([value async for value in arecords(source(), max_records=5)])

    assert asyncio.run(read()) == 5
    assert len(closed) == 3


def test_too_many_rejects_end_a_stream() -> None:
    text = '{"name":"Bo"}\n{"age":1}\n{"name":"Al"}\n{"age":2}\n{"name":"Cy"}\n'
    stream = records(text, SCHEMA, error_budget=1)
    assert [next(stream), next(stream)] == [{"name": "Bo"}, {"name": "Al"}]
    with pytest.raises(tokenline.TooManyRejectedError) as raised:
        next(stream)
    assert (raised.value.allowed, raised.value.reject.line) == (1, 4)
    assert str(raised.value).startswith("the stream was ended: more than 1 rejected, the last of them at 4:1: schema_violation")
    assert list(stream) == []
    assert (stream.report.ended_by, stream.report.rejected, stream.report.records) == ("error_budget", 2, 2)
    assert len(list(records(text, SCHEMA, error_budget=2))) == 3
    with pytest.raises(tokenline.TooManyRejectedError):
        list(records(text, model=Person, schema=True, error_budget=0))

    async def read() -> None:
        seen = []
        with pytest.raises(tokenline.TooManyRejectedError):
            async for value in arecords(text, SCHEMA, error_budget=1):
                seen.append(value)
        assert len(seen) == 2

    asyncio.run(read())
    events = responses(wire(text), "openai-chat", schema=SCHEMA, error_budget=0)
    kinds = [type(next(events)).__name__ for _ in range(2)]
    assert kinds == ["Record", "Reject"]
    with pytest.raises(tokenline.TooManyRejectedError):
        next(events)
    copied = pickle.loads(pickle.dumps(raised.value))
    assert (copied.allowed, copied.reject) == (1, raised.value.reject)


def test_answers_after_the_end_are_not_delivered() -> None:
    text = '{"name":"Bo"}\n{"age":1}\n{"name":"Al"}\n'

    async def read() -> tokenline.Report:
        async def reask(reject: Any) -> str:
            await asyncio.sleep(0.01)
            return '{"name":"Di"}'

        stream = arecords(text, SCHEMA, reask=reask, max_records=2)
        assert [value async for value in stream] == [{"name": "Bo"}, {"name": "Al"}]
        return stream.report

    report = asyncio.run(read())
    assert (report.records, report.ended_by) == (2, "max_records")


@pytest.mark.parametrize("name", ["max_records", "error_budget"])
def test_quotas_are_numbers(name: str) -> None:
    for value, error in ((-1, ValueError), (True, TypeError), (1.5, TypeError)):
        with pytest.raises(error, match=f"`{name}` must"):
            records("", **{name: value})  # type: ignore[call-overload]
