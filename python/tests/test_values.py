"""The Python values of records."""

from __future__ import annotations

import json
from typing import Any

import pydantic
import pytest
import tokenline
from hypothesis import given
from hypothesis import strategies as st
from support import events

from tokenline import JsonlParser, Record, Reject
from tokenline.arrow import extract


def value(text: str, **settings: Any) -> Any:
    (record,) = events([text], **settings)
    assert isinstance(record, Record), record
    assert record.raw == text
    return record.value


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=10,
)


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), JSON), st.booleans())
def test_values_are_those_of_json_loads(members: dict[str, Any], ascii: bool) -> None:
    text = json.dumps(members, ensure_ascii=ascii)
    assert repr(value(text)) == repr(json.loads(text))


@pytest.mark.parametrize(
    "literal",
    [
        "0",
        "-0",
        "-0.0",
        "18446744073709551615",
        "18446744073709551616",
        "-9223372036854775808",
        "-9223372036854775809",
        "1" * 4300,
        "-" + "9" * 4300,
        "1e400",
        "-1e400",
        "1e-400",
        "5e-324",
        "2.2250738585072011e-308",
        "9007199254740993.0",
        "123456789012345678901234567890.5",
        "0.1e1",
        "1E+2",
    ],
)
def test_numbers_are_those_of_json_loads(literal: str) -> None:
    expected = json.loads(literal)
    found = value(f'{{"a":{literal}}}')["a"]
    assert type(found) is type(expected)
    assert found == expected
    if isinstance(found, float):
        assert repr(found) == repr(expected)


def test_an_integer_beyond_pythons_limit_is_a_reject() -> None:
    text = '{"a":[1,' + "1" * 4301 + ']}\n{"a":1}\n'
    rejected, record = events([text])
    assert (rejected.code, rejected.line, rejected.column) == ("schema_violation", 1, 9)
    assert record.value == {"a": 1}


def test_of_repeated_names_the_last_counts_at_the_place_of_the_first() -> None:
    text = '{"a":1,"b":2,"a":{"c":[3]}}'
    assert list(value(text).items()) == list(json.loads(text).items())
    (rejected,) = events([text], schema={})
    assert rejected.code == "duplicate_key"


def test_half_a_surrogate_pair_is_malformed() -> None:
    # Unlike json.loads, which makes a str that cannot be encoded.
    (rejected,) = events([r'{"a":"\ud83d"}'])
    assert (type(rejected), rejected.code) == (Reject, "malformed_json")
    assert value(r'{"a":"\ud83d\ude00"}') == {"a": "😀"}


def test_names_are_shared_between_records() -> None:
    first, second = events(['{"entity_name":1}\n{"entity_name":2}\n'])
    (a,), (b,) = first.value, second.value
    assert a is b


def test_many_and_long_names() -> None:
    members = {f"name {index} {'x' * (index % 90)}": index for index in range(5000)}
    assert value(json.dumps(members)) == members


def test_deep_values() -> None:
    text = '{"a":' * 1023 + "[" + "]" + "}" * 1023
    found = value(text, depth=1024)
    for _ in range(1023):
        found = found["a"]
    assert found == []
    (rejected,) = events([text])
    assert rejected.code == "too_deep"


def test_limits() -> None:
    (rejected, record) = events(['{"a":"' + "x" * 100 + '"}\n{"a":1}\n'], line_bytes=64)
    assert rejected.code == "line_too_long"
    assert record.value == {"a": 1}
    parser = JsonlParser(diagnostics=1)
    parser.push('{"x":x}\n{"y":y}\n')
    assert len(list(parser)) == 2
    assert (parser.report.rejected, len(parser.report.rejects), parser.report.dropped) == (2, 1, 1)


# Backtracks, because of the look-ahead and the back-reference.
PATTERN = r"^(a|aa)+(?!b)\1$"


class Tool(pydantic.BaseModel):
    a: str = pydantic.Field(json_schema_extra={"pattern": PATTERN})


def test_the_steps_of_patterns() -> None:
    """Wherever a schema or tools are compiled, and in every order of the arguments."""
    schema = {"properties": {"a": {"pattern": PATTERN}}}
    tools = [{"name": "t", "parameters": schema}]
    record = '{"a":"' + "a" * 16 + 'b"}\n'
    call = '{"name":"t","parameters":' + record.strip() + "}\n"

    def of_records(**settings: Any) -> str:
        (rejected,) = events([record], **settings)
        return str(rejected)

    def of_calls(**settings: Any) -> str:
        with tokenline.tool_calls(call, **settings) as stream:
            assert list(stream) == []
        (rejected,) = stream.report.rejects
        return str(rejected)

    def of_columns(**settings: Any) -> str:
        pa = pytest.importorskip("pyarrow")
        (row,) = pa.array(extract(pa.array([record]), **settings)).to_pylist()
        (rejected,) = row["rejects"]
        return str(rejected["message"])

    def of_validator(**settings: Any) -> str:
        (violation,) = tokenline.SchemaValidator(schema, **settings).validate(record)
        return str(violation)

    def of_tool_set(**settings: Any) -> str:
        return str(tokenline.ToolSet(tools, **settings).validate_call("t", record))

    with pytest.raises(ValueError, match="`pattern_steps` has no effect on a compiled SchemaValidator"):
        tokenline.JsonlParser(schema=tokenline.SchemaValidator(schema), pattern_steps=50)
    with pytest.raises(ValueError, match="`pattern_steps` has no effect on a compiled ToolSet"):
        tokenline.ResponseParser("openai-chat", tools=tokenline.ToolSet(tools), pattern_steps=50)
    cases: list[tuple[Any, dict[str, Any]]] = [
        (of_records, {"schema": schema}),
        (of_records, {"model": Tool}),
        (of_calls, {"tools": tools}),
        (of_validator, {}),
        (of_tool_set, {}),
        (of_columns, {"schema": schema}),
    ]
    for function, arguments in cases:
        assert "does not match the pattern" in function(**arguments), function
        for settings in [{**arguments, "pattern_steps": 50}, {"pattern_steps": 50, **arguments}]:
            assert "could not be matched within 50 steps" in function(**settings), function
