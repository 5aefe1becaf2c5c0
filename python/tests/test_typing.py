"""What type checkers see. The functions are checked by mypy and pyright; those of tests run as well."""

from __future__ import annotations

from typing import Any, Union

import pydantic
from typing_extensions import assert_type

import tokenline
from tokenline import (
    AsyncStream,
    Finish,
    JsonlParser,
    Live,
    Note,
    Provider,
    Reasoning,
    Record,
    Refusal,
    Reject,
    RejectedCall,
    ResponseParser,
    Stream,
    Text,
    ToolCall,
    Usage,
)

Dict = dict[str, Any]


class City(pydantic.BaseModel):
    name: str
    tags: list[str] = []


def test_values_have_the_type_of_the_model() -> None:
    assert_type(tokenline.records('{"a":1}'), Stream[Dict])
    assert_type(tokenline.records("", model=City), Stream[City])
    assert_type(tokenline.records("", None, City, provider="anthropic", show_values=True), Stream[City])
    assert_type(tokenline.arecords("", model=City), AsyncStream[City])
    assert_type(tokenline.tool_calls("", "openai-chat"), Stream[ToolCall])
    for city in tokenline.records('{"name":"Oslo"}', model=City):
        assert_type(city.name, str)


def test_events_are_one_of_their_classes() -> None:
    for event in tokenline.responses(b"", "openai-chat", model=City):
        assert_type(
            event,
            Union[Record[City], ToolCall, Reject, RejectedCall, Text, Reasoning, Refusal, Finish, Usage, Note],
        )
        match event:
            case Record(value):
                assert_type(value, City)
            case Reject(code):
                assert_type(code, tokenline.Code)
            case _:
                pass
    for parsed in JsonlParser(model=City):
        assert_type(parsed, Union[Record[City], Reject, Note])


def test_partial_instances_have_the_type_of_the_model() -> None:
    live = Live(model=City)
    assert_type(live, Live[City])
    live.push('{"name":"Os')
    if live.value is not None:
        assert_type(live.value, City)
        assert_type(live.value.name, str)
        assert_type(live.value.tags, list[str])
    assert_type(Live().value, Union[Dict, None])
    calls = ResponseParser("gemini", call_updates=True).open_calls
    assert_type(calls, tuple[tokenline.OpenCall, ...])


def test_providers_are_literals() -> None:
    provider: Provider = "cohere"
    tokenline.responses(b"", provider)
    assert_type(tokenline.PROVIDERS, tuple[Provider, ...])
    report = tokenline.records("", provider=provider).report
    assert_type(report.by_code, dict[tokenline.Code, int])
    for reject in report.rejects:
        assert_type(reject.severity == "error" and reject.code == "truncated", bool)
