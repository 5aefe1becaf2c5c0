"""The names in the types of the package are those that there are."""

from __future__ import annotations

import inspect
from typing import Any, get_args, get_type_hints

import pytest

import tokenline
from tokenline import PROVIDERS, Provider, _types
from tokenline._tokenline import NAMES


@pytest.mark.parametrize("name", NAMES)
def test_types_list_all_names(name: str) -> None:
    assert get_args(getattr(_types, name)) == NAMES[name]


def test_all_types_of_names_are_compared() -> None:
    listed = {name for name, of in vars(_types).items() if str(of).startswith("typing.Literal[")}
    assert listed == set(NAMES)
    assert PROVIDERS == get_args(Provider)


def test_each_name_is_accepted() -> None:
    for mode in NAMES["Mode"]:
        tokenline.JsonlParser(mode=mode)  # type: ignore[call-overload]
    for release in NAMES["Release"]:
        tokenline.JsonlParser(release=release)  # type: ignore[call-overload]
    for provider in NAMES["Provider"]:
        for text_as in NAMES["TextAs"]:
            tokenline.ResponseParser(provider, text_as=text_as)  # type: ignore[call-overload]
    for call_format in NAMES["CallFormat"]:
        tokenline.tool_calls("", call_format=call_format)  # type: ignore[arg-type]
    for code in NAMES["Code"]:
        severity = tokenline.Reject(code, 1, 1, 0, 1, "").severity  # type: ignore[arg-type]
        assert severity in NAMES["Severity"]
    for completion in NAMES["Completion"]:
        record: tokenline.Record[Any] = tokenline.Record({}, 1, 0, 2, completion, NAMES["Recovery"])  # type: ignore[arg-type]
        assert record.recovered == NAMES["Recovery"]
    for origin in NAMES["Origin"]:
        assert tokenline.Note("prose", 1, 1, 0, 1, "", origin=origin).origin == origin  # type: ignore[arg-type]


@pytest.mark.parametrize("function", ["responses", "aresponses", "tool_calls", "atool_calls"])
def test_providers_are_typed(function: str) -> None:
    annotation: Any = inspect.signature(getattr(tokenline, function)).parameters["provider"].annotation
    assert annotation.startswith("Provider")
    assert get_type_hints(_types.RecordOptions)["provider"] == (Provider | None)
