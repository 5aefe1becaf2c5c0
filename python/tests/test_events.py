"""Events as objects: attributes, equality, pickles, patterns."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
from typing import Any

import pytest
from support import MESSY, events

import tokenline
from tokenline import JsonlParser, Note, Record, Reject, ToolCall


@pytest.mark.parametrize("event", events([MESSY], schema={"properties": {"a": {"type": ["integer", "object"]}}}))
def test_events_are_immutable_values(event: Any) -> None:
    assert pickle.loads(pickle.dumps(event)) == event == copy.copy(event)
    assert (event == object()) is False
    assert event != events(['{"other":1}'])[0]
    with pytest.raises(AttributeError):
        event.line = 7
    with pytest.raises(AttributeError):
        event.other = 7
    if isinstance(event, Record):
        with pytest.raises(TypeError, match="unhashable"):
            hash(event)
    else:
        assert hash(event) == hash(copy.copy(event))


def deltas(*deltas: dict[str, Any]) -> bytes:
    choices = [[{"index": 0, "delta": delta}] for delta in deltas]
    choices.append([{"index": 0, "delta": {}, "finish_reason": "tool_calls"}])
    counts = {"prompt_tokens": 3, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 2}}
    events = [{"choices": choice} for choice in choices] + [{"choices": [], "usage": counts}]
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events) + b"data: [DONE]\n\n"


def test_events_of_responses_are_copied_and_pickled() -> None:
    tools = [{"name": "a", "parameters": {"properties": {"n": {"type": "integer"}, "m": {"type": "integer"}}}}]
    calls: list[dict[str, Any]] = [
        {"index": index, "id": f"c{index}", "function": {"name": "a", "arguments": arguments}}
        for index, arguments in enumerate(['{"n":[1]}', '{"n":1,"m":2}', '{"n":"x","m":"y"}', '{"n":'])
    ]
    body = deltas(
        {"content": "So: "}, {"refusal": "No."}, {"reasoning_content": "Hm"}, *({"tool_calls": [call]} for call in calls)
    )
    found: list[Any] = list(tokenline.responses(body, "openai-chat", tools=tools, all_violations=True))
    found += tokenline.tool_calls('Sure:\n```json\n{"name": "now", "arguments": {"zone": {"a": []}}}\n```')
    found += tokenline.tool_calls("""{'name': 'now', 'arguments': {'zone': 1,}}""", repair_syntax=True)
    kinds = {type(event).__name__ for event in found}
    assert kinds == {"Text", "Refusal", "Reasoning", "ToolCall", "RejectedCall", "Finish", "Usage", "Note"}
    for event in found:
        for other in (pickle.loads(pickle.dumps(event)), copy.copy(event), copy.deepcopy(event)):
            assert type(other) is type(event)
            assert other == event
            for name in dir(event):
                if not (name.startswith("_") or name == "to_dict"):
                    assert getattr(other, name) == getattr(event, name)
    call = next(event for event in found if isinstance(event, ToolCall) and event.parameters == {"n": 1, "m": 2})
    assert copy.copy(call).parameters is call.parameters
    assert copy.deepcopy(call).parameters is not call.parameters


def test_the_text_of_a_reject_is_the_programs() -> None:
    (rejected,) = events(['{"a":1}\n{"a":"x"}'], schema={"properties": {"a": {"const": "x"}}})[:1]
    assert str(rejected).startswith("1:6: schema_violation: ")
    assert str(rejected).endswith(" (at /a)")
    assert (rejected.instance_path, rejected.schema_path) == ("/a", "/properties/a/const")
    assert (rejected.severity, rejected.origin) == ("error", "text")


def test_patterns() -> None:
    log: list[Any] = []
    for event in events([MESSY]):
        match event:
            case Record(value, line, start, end, "newline"):
                log.append((value, line, end - start))
            case Record(_, completion=completion):
                log.append(completion)
            case Reject("malformed_json", line, column):
                log.append((line, column))
            case Reject(code):
                log.append(code)
            case Note(message=message):
                log.append(message)
    assert log[:3] == ["text without a record", ({"entity": "DNA", "aliases": ["aé\n", "日本"], "weight": 0.9}, 3, 62), (4, 11)]
    assert log[-2:] == ["trailing_data", "truncated"]


def test_repr() -> None:
    record, rejected = events(['{"a":1}\n{x}\n'], mode="strict")
    assert repr(record) == "Record(value={'a': 1}, line=1, start=0, end=7, completion='newline')"
    assert repr(rejected).startswith("Reject(code='malformed_json', line=2, column=2, start=8, end=11, message='")


def test_records_are_made_by_hand() -> None:
    record = Record({"a": 1}, 1, 0, 7, "newline", ["fence"], '{"a":1}', column=3)
    assert (record.recovered, record.column, record.choice) == (("fence",), 3, 0)
    with pytest.raises(ValueError, match="`completion` must be one of 'newline', .*, not 'luck'"):
        Record({}, 1, 0, 2, "luck")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="`code` must be one of"):
        Reject("odd", 1, 1, 0, 1, "")  # type: ignore[arg-type]


def test_push_takes_bytes_text_and_buffers() -> None:
    text = '{"a":"é"}\n'
    data = text.encode()
    for chunk in (text, data, bytearray(data), memoryview(data), memoryview(data)[::1]):
        assert [record.value for record in events([chunk])] == [{"a": "é"}]
    strided = memoryview(bytes(byte for pair in zip(data, data) for byte in pair))[::2]
    assert [record.value for record in events([strided])] == [{"a": "é"}]


def test_a_parser_is_iterable_again_after_each_push() -> None:
    parser = JsonlParser()
    assert list(parser) == []
    parser.push('{"a":1}\n{"a"')
    assert iter(parser) is parser
    assert [event.line for event in parser] == [1]
    parser.push(":2}")
    assert list(parser) == []
    parser.finish()
    (record,) = parser
    assert isinstance(record, Record)
    assert record.completion == "end_of_input"
    parser.push('{"a":3}\n')
    assert list(parser) == []
    assert parser.report.complete
    parser.reset()
    parser.push('{"a":4}\n')
    assert [event.start for event in parser] == [0]
    assert (parser.report.records, parser.report.complete) == (1, False)


def test_an_undecodable_str_is_an_error() -> None:
    with pytest.raises(UnicodeEncodeError):
        JsonlParser().push("\ud800")


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"mode": "loose"}, ValueError, "`mode` must be one of 'lenient', 'strict', not 'loose'"),
        ({"mode": None}, TypeError, "`mode` must be a str, not NoneType"),
        ({"release": "soon"}, ValueError, "`release` must be one of 'confirmed', 'on_balance', 'at_finish', not"),
        ({"items": "a"}, ValueError, "`items`: not a JSON Pointer"),
        ({"items": "/a", "mode": "strict"}, ValueError, "`items` needs mode='lenient'"),
        ({"depth": -1}, ValueError, "`depth` must not be negative"),
        ({"depth": 1025}, ValueError, "`depth` must be at most 1024"),
        ({"depth": True}, TypeError, "`depth` must be an int, not bool"),
        ({"pattern_steps": -1}, ValueError, "`pattern_steps` must not be negative"),
        (
            {"pattern_steps": 1, "schema": tokenline.SchemaValidator({})},
            ValueError,
            r"`pattern_steps` has no effect on a compiled SchemaValidator: give it to SchemaValidator\(\)",
        ),
        ({"line_bytes": "1"}, TypeError, "`line_bytes` must be an int, not str"),
        ({"schema": {"type": "strin"}}, ValueError, '`schema`: /type: "strin" is not one of'),
        ({"schema": '{"type":'}, tokenline.SchemaError, "`schema`: "),
        ({"schema": b"\xff"}, ValueError, "`schema` is not UTF-8"),
        ({"schema": {"type": {1}}}, TypeError, "`schema` is not JSON"),
        ({"schema": 7}, TypeError, "`schema` must be a JSON Schema or a type, not int"),
        ({"model": 7}, TypeError, "`model` must be a type; a JSON Schema is the `schema`, not int"),
        ({"tools": []}, TypeError, "unexpected keyword argument 'tools'"),
        ({"strict": True}, TypeError, r"JsonlParser\(\) got an unexpected keyword argument 'strict'"),
    ],
)
def test_errors_of_usage_name_the_argument(settings: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        JsonlParser(**settings)


def test_errors_of_usage_of_functions() -> None:
    with pytest.raises(ValueError, match="`provider` must be one of 'openai-chat', .*, not 'openai'"):
        tokenline.responses([], "openai")  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="`stream` must be an iterable of bytes or str, not int"):
        tokenline.records(5)
    with pytest.raises(TypeError, match="`stream` must yield bytes or str, not int"):
        list(tokenline.records([5]))
    with pytest.raises(TypeError, match="`stream` must yield .* dict; name the `provider` to read the events of its SDK"):
        list(tokenline.tool_calls([{"type": "ping"}]))
    for function in (tokenline.records, tokenline.arecords):
        with pytest.raises(TypeError, match="`stream` is a coroutine: await it first"):
            function(asyncio.sleep(0))
    for provider in (5, None):
        with pytest.raises(TypeError, match="`provider` must be a str, not"):
            tokenline.responses([], provider)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="`chunk` must be bytes, str or a buffer of bytes, not int"):
        JsonlParser().push(5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="`call_format` must be one of 'auto', .*, not 'morse'"):
        tokenline.tool_calls([], call_format="morse")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="`tools` must be a ToolSet, JSON, or a list of tools, not int"):
        tokenline.tool_calls([], tools=5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"`tools\[1\]` must be a dict, a model or a function, not int"):
        tokenline.ToolSet([{"name": "a"}, 5])  # type: ignore[list-item]
    with pytest.raises(tokenline.SchemaError, match="`tools`: "):
        tokenline.ToolSet([{"parameters": {}}])
    with pytest.raises(TypeError, match="unexpected keyword argument 'foo'"):
        tokenline.records([], foo=1)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"text_as": "text", "schema": {}}, "`schema` has no effect with text_as='text'"),
        ({"text_as": "text", "items": "/a"}, "`items` has no effect with text_as='text'"),
        ({"text_as": "native_calls", "schema": {}}, "`schema` has no effect with text_as='native_calls'"),
        ({"text_as": "native_calls", "call_format": "auto"}, "`call_format` needs text_as='tool_calls'"),
        ({"text_as": "text", "model": dict}, "`model` needs text_as='records'"),
        ({"tools": "[]", "model": dict}, "`model` needs text_as='records'"),
        ({"text_as": "records", "call_format": "hermes"}, "`call_format` needs text_as='tool_calls'"),
        ({"mode": "strict", "call_format": "hermes"}, "`call_format` needs mode='lenient'"),
    ],
)
def test_options_that_contradict_each_other(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tokenline.responses([], "openai-chat", **options)


def test_a_limit_of_violations() -> None:
    validator = tokenline.SchemaValidator({"additionalProperties": False, "required": ["b"]})
    assert [len(validator.validate('{"a":1}', at_most=limit)) for limit in (0, 1, 5)] == [0, 1, 2]
    with pytest.raises(ValueError, match="`at_most` must not be negative"):
        validator.validate("{}", at_most=-1)


def test_the_types_of_the_package_cannot_be_subscripted_wrongly() -> None:
    assert Record[int] is not None
    assert JsonlParser[int] is not None
    with pytest.raises(TypeError):
        ToolCall[int]  # type: ignore[misc]
