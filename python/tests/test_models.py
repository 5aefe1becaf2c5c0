"""Types that pydantic reads, wherever a type is accepted."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import datetime
import decimal
import enum
import gc
import json
import pickle
import signal
import subprocess
import sys
import uuid
import weakref
import zoneinfo
from collections.abc import Callable
from typing import Annotated, Any, Literal, NewType, Union

import pydantic
import pytest
from pydantic_core import PydanticCustomError
from support import events

import tokenline
from tokenline import JsonlParser, Live, Record, Reject, ResponseParser, SchemaValidator, ToolSet, _models, records


class Kind(enum.Enum):
    GENE = "gene"
    CELL = "cell"


class Definition(pydantic.BaseModel):
    kind: Literal["definition"] = "definition"
    entity: str = pydantic.Field(alias="entityName")
    weight: decimal.Decimal | None = None
    when: datetime.datetime | None = None
    of: Kind = Kind.GENE
    tags: tuple[str, ...] = ()


class Relation(pydantic.BaseModel):
    kind: Literal["relation"]
    subject: str
    count: int = pydantic.Field(ge=0)

    @pydantic.field_validator("subject")
    @classmethod
    def known(cls, subject: str) -> str:
        if subject == "secret":
            raise ValueError(f"unknown subject {subject}")
        return subject


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


def test_records_come_out_as_instances() -> None:
    text = (
        '{"entityName":"DNA","weight":"0.10","when":"2024-05-01T10:00:00","of":"cell","tags":["a"]}\n'
        '{"entity":"RNA"}\n{"entityName":"x","when":"soon"}\n{"entityName":"last"}'
    )
    stream = records(text, model=Definition)
    first, last = stream
    assert first == Definition(
        entityName="DNA",
        weight=decimal.Decimal("0.10"),
        when=datetime.datetime(2024, 5, 1, 10),
        of=Kind.CELL,
        tags=("a",),
    )
    assert last.entity == "last"
    assert [(reject.code, reject.line, reject.column, reject.instance_path) for reject in stream.report.rejects] == [
        ("schema_violation", 2, 1, ""),
        ("schema_violation", 3, 26, "/when"),
    ]
    assert stream.report.rejects[1].message.startswith("does not fit the model: Input should be a valid datetime")


def test_strict_models_read_json_as_pydantic_does() -> None:
    class Strict(pydantic.BaseModel, strict=True):
        when: datetime.date
        of: Kind
        tags: set[str]

    (value,) = records('{"when":"2024-05-01","of":"gene","tags":["a"]}', model=Strict)
    assert value == Strict(when=datetime.date(2024, 5, 1), of=Kind.GENE, tags={"a"})


def test_unions_and_other_types() -> None:
    Either = Annotated[Union[Definition, Relation], pydantic.Field(discriminator="kind")]  # noqa: N806
    text = '{"kind":"relation","subject":"a","count":1}\n{"kind":"definition","entityName":"b"}\n{"kind":"relation","subject":"a","count":-1}'
    stream = records(text, model=Either)
    assert [type(value) for value in stream] == [Relation, Definition]
    assert stream.report.rejects[0].instance_path == "/count"
    assert list(records('{"x":1}', model=Point)) == [Point(1)]
    assert list(records('{"x":1}', model=dict[str, int])) == [{"x": 1}]


def test_validators_of_the_model_may_not_leak_values() -> None:
    (rejected,) = events(['{"kind":"relation","subject":"secret","count":1}'], model=Relation)
    assert isinstance(rejected, Reject)
    assert (rejected.message, rejected.instance_path) == ("rejected by a validator of the model", "/subject")
    assert "secret" not in str(rejected)

    class Scores(pydantic.BaseModel):
        scores: dict[str, datetime.date]

    (rejected,) = events(['{"scores":{"ada@example.com":"2024-99-01"}}'], model=Scores)
    assert rejected.instance_path == "/scores/*"


def test_an_error_of_the_model_is_raised() -> None:
    class Bad(pydantic.BaseModel):
        a: int

        @pydantic.field_validator("a")
        @classmethod
        def fail(cls, a: int) -> int:
            raise RuntimeError("a bug")

    parser = JsonlParser(model=Bad)
    parser.push('{"a":1}\n{"a":2}\n')
    with pytest.raises(RuntimeError, match="a bug"):
        next(parser)


def test_a_schema_of_the_users_own_comes_first() -> None:
    stream = records('{"entityName":"dna"}\n{"entityName":"DNA"}', {"properties": {"entityName": {"pattern": "^[A-Z]"}}}, Definition)
    assert [value.entity for value in stream] == ["DNA"]


def test_models_as_schemas() -> None:
    assert list(records('{"entityName":"a"}\n{"a":1}', Definition)) == [{"entityName": "a"}]
    validator = SchemaValidator(Definition)
    assert validator.is_valid(b'{"entityName":"a"}')
    found = validator.validate('{\n "entityName":1,"of":"x"}')
    places = [(reject.line, reject.column, reject.instance_path) for reject in found]
    assert places == [(2, 15, "/entityName"), (2, 22, "/of")]
    assert str(found[0]) == "2:15: schema_violation: expected type string, found a number (at /entityName)"
    assert [reject.code for reject in validator.validate("{")] == ["malformed_json"]
    assert [reject.code for reject in validator.validate(b'{"a":"\xff"}')] == ["invalid_utf8"]


def test_names_that_a_json_schema_cannot_express() -> None:
    class Paths(pydantic.BaseModel):
        first: int = pydantic.Field(validation_alias=pydantic.AliasPath("numbers", 0))
        name: str = pydantic.Field(validation_alias=pydantic.AliasChoices("name", "title"))

    stream = records('{"numbers":[7],"title":"a"}\n{"numbers":[],"name":"b"}', model=Paths)
    assert [(value.first, value.name) for value in stream] == [(7, "a")]
    assert [reject.code for reject in stream.report.rejects] == ["schema_violation"]

    class ByName(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(populate_by_name=True)
        config: int = pydantic.Field(alias="the-config")

    class Outer(pydantic.BaseModel):
        default: list[ByName]

    (outer,) = records('{"default":[{"config":1},{"the-config":2}]}', model=Outer)
    assert [item.config for item in outer.default] == [1, 2]


def test_a_choice_that_a_function_makes_is_pydantics() -> None:
    class A(pydantic.BaseModel):
        kind: str
        x: int = 0

    class B(pydantic.BaseModel):
        kind: str
        y: int = 0

    tagged = Annotated[A, pydantic.Tag("a")] | Annotated[B, pydantic.Tag("b")]
    either = Annotated[tagged, pydantic.Discriminator(lambda value: value["kind"])]
    stream = records('{"kind":"b","y":1}\n{"kind":"secret"}', model=either)
    assert list(stream) == [B(kind="b", y=1)]
    assert [reject.message for reject in stream.report.rejects] == ["does not fit the model"]


def test_messages_never_have_values() -> None:
    def custom(value: str) -> str:
        raise PydanticCustomError("oops", "bad {value}", {"value": value})

    types = [zoneinfo.ZoneInfo, pydantic.ImportString, pydantic.ByteSize, uuid.UUID, Annotated[str, pydantic.AfterValidator(custom)]]
    for of in types:
        (rejected,) = events(['{"x":"hunter2.foo"}'], model=pydantic.create_model("M", x=(of, ...)))
        assert isinstance(rejected, Reject)
        assert rejected.code == "schema_violation"
        assert not any(part in str(rejected) for part in ("hunter", "foo", "'h'")), rejected


def test_a_model_without_a_schema_of_its_own() -> None:
    class Look(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(regex_engine="python-re")
        s: str = pydantic.Field(pattern="^(?!x).*$")
        call: Callable[[], int] | None = None

    with pytest.raises(TypeError, match="`model` has no JSON Schema"):
        records("", model=Look)
    assert list(records('{"s":"a"}\n{"s":"xa"}', schema=True, model=Look)) == [Look(s="a")]


def test_new_types_are_types() -> None:
    point = NewType("point", Point)
    assert list(records('{"x":1}', model=point)) == [Point(1)]
    schema: Any = point
    assert SchemaValidator(schema).is_valid('{"x":1}')


def test_types_that_cannot_be_resolved() -> None:
    class Undefined(pydantic.BaseModel):
        x: "Nope"  # type: ignore[name-defined]  # noqa: F821

    def tool(x: "Nope") -> None:  # type: ignore[name-defined]  # noqa: F821
        pass

    class Loop(pydantic.RootModel[Union[int, "Loop"]]):
        pass

    with pytest.raises(TypeError, match="`model`"):
        records("", model=Undefined)
    with pytest.raises(TypeError, match=r"`tools\[0\]` is not a function that pydantic reads"):
        ToolSet([tool])
    with pytest.raises(TypeError, match="`model` must be a type whose JSON is an object"):
        records("", model=Loop)


def test_an_interrupt_while_a_record_is_built_loses_nothing() -> None:
    interrupts: list[int] = []

    class Interrupted(pydantic.BaseModel):
        a: int

        @pydantic.field_validator("a")
        @classmethod
        def interrupt(cls, a: int) -> int:
            if a == 2 and not interrupts:
                interrupts.append(a)
                signal.raise_signal(signal.SIGINT)
            return a

    text = '{"a":1}\n{"a":2}\n{"a":3}\n'

    stream = records(text, model=Interrupted)
    found = [next(stream).a]
    with pytest.raises(KeyboardInterrupt):
        next(stream)
    assert found + [value.a for value in stream] == [1, 2, 3]
    assert (stream.report.records, stream.report.complete) == (3, True)

    body = json.dumps({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]})
    parser: Any = ResponseParser("openai-chat", model=Interrupted)
    parser.push(f"data: {body}\n\n")
    interrupts.clear()
    seen: list[Any] = []
    for _ in range(2):
        try:
            for event in parser:
                if isinstance(event, Record):
                    seen.append(event.value.a)
        except KeyboardInterrupt:
            seen.append("interrupted")
    assert seen == [1, "interrupted", 2, 3]

    live: Any = Live(model=Interrupted)
    interrupts.clear()
    with pytest.raises(KeyboardInterrupt):
        live.push(text)
    live.finish()
    assert [event.value.a for event in live] == [1, 2, 3]


def test_an_interrupt_while_an_event_is_read_loses_nothing() -> None:
    class Event:
        def __init__(self, number: int) -> None:
            self.number, self.reads = number, 0

        def model_dump_json(self, **_: Any) -> str:
            self.reads += 1
            if self.number == 1 and self.reads == 1:
                signal.raise_signal(signal.SIGINT)
            choice = {"index": 0, "delta": {"content": f'{{"a":{self.number}}}\n'}, "finish_reason": None}
            return json.dumps({"choices": [choice]})

    stream = tokenline.responses([Event(number) for number in range(3)], "openai-chat")
    found = []
    for _ in range(2):
        try:
            for event in stream:
                if isinstance(event, Record):
                    found.append(event.value["a"])
        except KeyboardInterrupt:
            found.append("interrupted")
    assert found == [0, "interrupted", 1, 2]


def test_the_schema_of_a_model_forbids_what_pydantic_would_convert_unless_it_is_replaced() -> None:
    class Words(pydantic.BaseModel):
        words: list[str]

        @pydantic.field_validator("words", mode="before")
        @classmethod
        def split(cls, words: Any) -> Any:
            return words.split() if isinstance(words, str) else words

    text = '{"words":"a b"}'
    assert list(records(text, model=Words)) == []
    assert list(records(text, schema=True, model=Words)) == [Words(words=["a", "b"])]


@pytest.mark.parametrize("model", [int, list[int], Kind, None | int, pydantic.RootModel[list[str]], Literal["a", 1]])
def test_a_model_that_no_record_fits_is_an_error(model: Any) -> None:
    with pytest.raises(TypeError, match="`model` must be a type whose JSON is an object, as records are, not "):
        records("", model=model)


@pytest.mark.parametrize("model", [Any, dict, Union[int, Relation], pydantic.RootModel[dict[str, int]]])
def test_models_that_are_objects_at_times(model: Any) -> None:
    assert list(records("", model=model)) == []


def test_a_type_adapter_is_a_type() -> None:
    adapter = pydantic.TypeAdapter(dict[str, int])
    assert list(records('{"a":1}\n{"a":"x"}', model=adapter)) == [{"a": 1}]
    assert list(records('{"a":1}\n{"a":"x"}', adapter)) == [{"a": 1}]


def test_a_model_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    for name in ("model_of", "schema_of"):
        compile_type = getattr(_models, name)

        def count(*arguments: Any, of: Any = compile_type) -> Any:
            compiled.append(of.__name__)
            return of(*arguments)

        monkeypatch.setattr(_models, name, count)

    class Atom(pydantic.BaseModel):
        number: int

    class Ion(Atom):
        charge: int

    adapter = pydantic.TypeAdapter(Union[Atom, Ion])
    ways: list[Callable[[], Any]] = [
        lambda: list(records('{"number":1}\n{"number":"x"}', model=Atom)),
        lambda: JsonlParser(model=Atom),
        lambda: ResponseParser("openai-chat", model=Atom),
    ]
    for way in ways * 3:
        way()
    assert compiled == ["model_of"]
    for _ in range(3):
        assert [value.number for value in records('{"number":1}\n{"number":"x"}', {}, Atom)] == [1]
        assert [value.charge for value in records('{"number":1}\n{"number":2,"charge":3}', model=Ion)] == [3]
        assert len(list(records('{"number":1}', model=adapter))) == 1
        assert SchemaValidator(Atom).is_valid('{"number":1}')
    assert compiled == ["model_of"] * 4 + ["schema_of"]
    # Limits are compiled in.
    records("", model=Atom, pattern_steps=7)
    assert len(compiled) == 6


def test_a_model_that_is_rebuilt_is_compiled_again() -> None:
    class Inner(pydantic.BaseModel):
        a: int

    class Outer(pydantic.BaseModel):
        inner: Inner

    texts = '{"inner":{"a":1}}\n{"inner":{"a":1,"b":"x"}}\n{"inner":{"b":"y"}}'

    def read() -> tuple[list[Any], int, int]:
        values = [value.model_dump() for value in records(texts, model=Outer)]
        return values, len(list(records(texts, Outer))), sum(map(SchemaValidator(Outer).is_valid, texts.splitlines()))

    assert read() == read() == ([{"inner": {"a": 1}}, {"inner": {"a": 1}}], 2, 2)
    Inner.__annotations__ = {"b": str}
    del Inner.model_fields["a"]
    Inner.model_fields["b"] = pydantic.fields.FieldInfo(annotation=str)
    Inner.model_rebuild(force=True)
    # pydantic itself builds the outer model with the inner one as it was.
    assert read() == ([{"inner": {"a": 1}}, {"inner": {"a": 1}}], 2, 2)
    Outer.model_rebuild(force=True)
    assert read() == read() == ([{"inner": {"b": "x"}}, {"inner": {"b": "y"}}], 2, 2)


def test_a_schema_that_is_changed_is_compiled_again() -> None:
    schema: dict[str, Any] = {"properties": {"a": {"type": "integer"}}}
    texts = '{"a":1}\n{"a":"x"}'
    for _ in range(2):
        assert list(records(texts, schema)) == [{"a": 1}]
    schema["properties"]["a"]["type"] = "string"
    for _ in range(2):
        assert list(records(texts, schema)) == [{"a": "x"}]


def test_types_without_a_schema_of_their_own_are_read_each_time() -> None:
    @dataclasses.dataclass
    class Plain:
        a: int

    assert len(list(records('{"a":1}\n{"a":"x"}', model=Plain))) == 1
    Plain.__annotations__["a"] = Plain.__dataclass_fields__["a"].type = str
    assert [str(value.a) for value in records('{"a":1}\n{"a":"x"}', model=Plain)] == ["x"]


def test_types_are_not_kept() -> None:
    def use() -> weakref.ref[Any]:
        of: Any = pydantic.create_model("Of", a=(int, ...))
        values: Any = records('{"a":1}', model=of)
        assert [value.a for value in values] == [1]
        assert [value for value in records('{"a":1}', of)] == [{"a": 1}]
        return weakref.ref(of)

    types = [use() for _ in range(5)]
    gc.collect()
    assert all(of() is None for of in types)


def test_a_type_is_pickled_without_what_is_compiled() -> None:
    list(records('{"x":1}', model=Relation))
    cache = vars(Relation)["__tokenline_cache__"]
    assert pickle.loads(pickle.dumps(cache)) is None
    Relation.__tokenline_cache__ = None  # type: ignore[attr-defined]
    assert len(list(records('{"kind":"relation","subject":"a","count":1}', model=Relation))) == 1


def test_parsers_of_one_type_are_collected() -> None:
    class Held(pydantic.BaseModel):
        a: int

    parsers = [JsonlParser(model=Held) for _ in range(100)]
    gc.collect()
    del parsers[:99]
    gc.collect()
    parsers[0].push('{"a":1}\n')
    assert [event.value.a for event in parsers[0] if isinstance(event, Record)] == [1]
    assert len(list(records('{"a":1}', model=Held))) == 1


def test_threads_share_what_is_compiled() -> None:
    def read(number: int) -> int:
        of = types[number % len(types)]
        return len(list(records(f'{{"a":{number}}}\n{{"a":"x"}}', model=of)))

    types = [pydantic.create_model("Of", a=(int, ...)) for _ in range(50)]
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        assert set(threads.map(read, range(2000))) == {1}


def test_tools_of_models_and_functions() -> None:
    class Weather(pydantic.BaseModel):
        """The weather of a city."""

        city: str

    def now(zone: str = "UTC") -> str:
        """The time."""
        return zone

    tools = ToolSet([Weather, now, {"name": "ls", "parameters": {"type": "object"}}])
    assert tools.names == ["Weather", "now", "ls"]
    assert [tool.get("description") for tool in tools.definitions] == ["The weather of a city.", "The time.", None]
    assert tools.validate_call("Weather", {"city": "Oslo"}) is None
    assert "missing required member `city`" in str(tools.validate_call("Weather", "{}"))
    assert "unknown_tool" in str(tools.validate_call("rm", {}))
    assert ("now" in tools, "rm" in tools, 7 in tools, len(tools)) == (True, False, False, 3)
    (call,) = tokenline.tool_calls('{"name":"now","arguments":{"zone":"CET"}}\n{"name":"now","arguments":{"zone":1}}', tools=[now])
    assert call.parameters == {"zone": "CET"}


def test_coercion() -> None:
    tools = ToolSet([{"name": "f", "parameters": {"properties": {"n": {"type": "integer"}}}}], coerce=True)
    (call,) = tokenline.tool_calls('{"name":"f","arguments":{"n":"3"}}', tools=tools)
    assert call.parameters == {"n": 3}


def test_types_that_pydantic_does_not_read() -> None:
    class Plain:
        pass

    for argument in ("schema", "model"):
        with pytest.raises(TypeError, match=f"`{argument}` is not a type that pydantic reads"):
            JsonlParser(**{argument: Plain})  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="`model` has no JSON Schema"):
        JsonlParser(model=_no_schema())


def _no_schema() -> Any:
    import collections.abc

    return pydantic.create_model("M", f=(collections.abc.Callable[[], int], ...))


def test_pydantic_is_needed_for_types_only() -> None:
    program = """
import sys
sys.modules["pydantic"] = None
import tokenline
assert list(tokenline.records('{"a":1}', {"type": "object"})) == [{"a": 1}]
for argument in ("schema", "model"):
    try:
        tokenline.JsonlParser(**{argument: int})
    except TypeError as error:
        assert f"`{argument}` is a type" in str(error) and "pip install pydantic" in str(error), error
    else:
        raise AssertionError
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_instances_are_typed() -> None:
    parser: JsonlParser[Point] = JsonlParser(model=Point)
    parser.push('{"x":1}\n')
    for event in parser:
        if isinstance(event, Record):
            point: Point = event.value
            assert point.x == 1
