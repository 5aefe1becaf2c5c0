"""Partial instances of models: what there is of a record, and of the arguments of a call."""

from __future__ import annotations

import copy
import dataclasses
import datetime
import enum
import gc
import json
import pickle
import subprocess
import sys
import time
import warnings
import weakref
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal, NewType, Optional, Union

import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field
from support import cut
from typing_extensions import NotRequired, TypedDict

import tokenline
from tokenline import Live, Record, Reject, ResponseParser, _partial

Cents = NewType("Cents", int)


class Currency(enum.Enum):
    EUR = "EUR"
    NOK = "NOK"


class Card(BaseModel):
    kind: Literal["card"]
    last: str


class Cash(BaseModel):
    kind: Literal["cash"]


class Line(BaseModel):
    text: str
    price: Decimal = Decimal(1)
    cents: Optional[Cents] = None


class Invoice(BaseModel):
    """An invoice."""

    number: Annotated[str, Field(min_length=1)]
    issued: datetime.date
    currency: Currency = Currency.EUR
    lines: list[Line]
    notes: dict[str, list[str]] = {}
    payment: Union[Card, Cash, None] = Field(default=None, discriminator="kind")
    corrects: Optional[Invoice] = None
    total: float = 0.0
    seen_by: set[str] = set()

    @property
    def title(self) -> str:
        return self.number.upper()


DOCUMENT = json.dumps(
    {
        "number": "A-ø17",
        "issued": "2026-11-30",
        "currency": "NOK",
        "lines": [{"text": "paper", "price": "2.50"}, {"text": 'pe"n', "cents": 12}, {"text": ""}],
        "notes": {"late": ["one", "two\n"], "none": []},
        "payment": {"kind": "card", "last": "4242"},
        "corrects": {"number": "A-16", "issued": "2026-10-01", "lines": [], "total": 1},
        "total": 7,
        "seen_by": ["Ann", "Bo"],
    },
    ensure_ascii=False,
)
WHOLE = Invoice.model_validate_json(DOCUMENT)


def partials(document: str, model: Any, size: int) -> list[Any]:
    """The states of the open record, copied."""
    live: Live[Any] = Live(model=model)
    states = []
    for chunk in cut(document.encode(), size):
        live.push(chunk)
        states.append(copy.deepcopy(live.value))
    return states


def check(part: Any, whole: Any) -> None:
    """Each member is missing, or is, or grows to be, that of the whole."""
    if isinstance(whole, BaseModel):
        assert isinstance(part, type(whole))
        for name in type(whole).model_fields:
            value = getattr(part, name)
            if name in part.model_fields_set:
                check(value, getattr(whole, name))
            else:
                assert value is None
    elif isinstance(whole, list):
        assert len(part) <= len(whole)
        for element, other in zip(part, whole):
            check(element, other)
    elif isinstance(whole, dict):
        assert list(part) == list(whole)[: len(part)]
        for name, value in part.items():
            check(value, whole[name])
    elif isinstance(whole, str):
        assert isinstance(part, str)
        assert whole.startswith(part)
    else:
        assert part == whole
        assert type(part) is type(whole)


@settings(deadline=None)
@given(st.integers(1, 60))
def test_every_state_is_a_part_of_the_record(size: int) -> None:
    states = [state for state in partials(DOCUMENT, Invoice, size) if state is not None]
    for state in states:
        check(state, WHOLE)
    last = states[-1]
    assert last.model_fields_set == WHOLE.model_fields_set
    # Defaults are all that it lacks.
    assert last.model_dump(exclude_unset=True) == WHOLE.model_dump(exclude_unset=True)
    assert last.model_dump_json(exclude_unset=True) == WHOLE.model_dump_json(exclude_unset=True)
    counts = [len(state.model_fields_set) for state in states]
    assert counts == sorted(counts)


def test_it_grows_in_place_and_ends_as_an_instance() -> None:
    live = Live(model=Invoice)
    assert live.value is None
    live.push('{"number":"a-1')
    invoice = live.value
    assert invoice is not None
    assert isinstance(invoice, Invoice)
    assert (type(invoice).__name__, type(invoice).__module__) == ("PartialInvoice", __name__)
    assert (invoice.number, invoice.title, invoice.model_fields_set) == ("a-1", "A-1", {"number"})
    # A default is no evidence: the model may still write something else.
    assert invoice.currency is None
    live.push('7","issued":"2026-1')
    assert invoice.issued is None
    live.push('1-30","lines":[{"text":"pap')
    lines = invoice.lines
    assert (invoice.issued, lines[0].text, lines[0].price) == (datetime.date(2026, 11, 30), "pap", None)
    line = lines[0]
    live.push('er","price":2')
    assert line.price is None
    live.push(".5}]")
    assert live.value is invoice
    assert invoice.lines is lines
    assert lines[0] is line
    assert line.price == Decimal("2.5")
    live.push("}\n")
    [record] = list(live)
    assert isinstance(record, Record)
    assert type(record.value) is Invoice
    assert record.value.lines == [Line(text="paper", price=Decimal("2.5"))]
    assert live.value is None


def test_null_is_a_value_and_missing_is_none() -> None:
    live = Live(model=Invoice)
    live.push('{"corrects":null,"payment":null,"lines":[{"cents":null,"x":1')
    assert live.value is not None
    assert live.value.model_fields_set == {"corrects", "payment", "lines"}
    assert live.value.lines[0].model_fields_set == {"cents"}
    assert "total" not in live.value.model_dump(exclude_unset=True)


def test_what_does_not_fit_is_not_shown() -> None:
    live = Live(model=Invoice)
    text = '{"number":{"a":["x"]},"issued":"soon","currency":"USD","lines":{"a":{"b":1}},"notes":[[1]],"total":"7","extra":[{"a":1}]'
    live.push(text)
    assert live.value is not None
    # Only a type checker of pydantic's would take "7" for a number: it fits the member, if not the schema.
    assert live.value.model_fields_set == {"total"}
    live.push(',"seen_by":["a"]')
    assert live.value.seen_by == {"a"}
    live.push("}\n")
    [reject] = list(live)
    assert isinstance(reject, Reject)
    assert live.value is None


class Aliased(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True, populate_by_name=True)

    full_name: str = Field(alias="fullName")
    born: int = Field(validation_alias=pydantic.AliasChoices("born", "birthYear"), serialization_alias="b", default=0)
    _secret: list[int] = pydantic.PrivateAttr(default_factory=lambda: [1])


def test_aliases_extra_members_and_private_attributes() -> None:
    live = Live(model=Aliased)
    live.push('{"fullName":"Ann","birthYear":1815,"hobby":{"kind":"ches')
    value = live.value
    assert value is not None
    assert (value.full_name, value.born, value._secret) == ("Ann", 1815, [1])
    assert value.model_extra == {"hobby": {"kind": "ches"}}
    assert value.model_dump(by_alias=True) == {"fullName": "Ann", "b": 1815, "hobby": {"kind": "ches"}}
    live.push('s"},"full_name":"B')
    assert (value.full_name, value.hobby) == ("B", {"kind": "chess"})  # type: ignore[attr-defined]


@dataclasses.dataclass
class Stop:
    name: str
    at: datetime.time
    tags: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Route:
    stops: list[Stop]
    line: int = 0

    def __post_init__(self) -> None:
        assert self.stops


@dataclasses.dataclass(slots=True)
class Slotted:
    a: str
    b: int


@pydantic.dataclasses.dataclass
class Checked:
    a: str
    b: Optional[Checked] = None


class Trip(TypedDict):
    """A trip."""

    start: datetime.date
    route: Route
    note: NotRequired[str]


def test_dataclasses_and_typed_dicts() -> None:
    live: Live[Any] = Live(model=Trip)
    live.push('{"route":{"stops":[{"name":"Osl')
    value: Any = live.value
    assert set(value) == {"route"}
    assert isinstance(value["route"], Route)
    assert repr(value["route"].stops) == "[PartialStop(name='Osl', at=None, tags=None)]"
    assert value["route"].line is None
    live.push('o","at":"09:30"}],"line":1},"start":"2026-01-01","note":"late')
    assert value["start"] == datetime.date(2026, 1, 1)
    assert value["route"].stops[0].at == datetime.time(9, 30)
    assert value["note"] == "late"
    live.push('"}\n')
    [record] = list(live)
    assert isinstance(record, Record)
    assert record.value == value | {"route": Route([Stop("Oslo", datetime.time(9, 30))], 1)}
    slotted = Live(model=Slotted)
    slotted.push('{"a":"x","b":1')
    assert repr(slotted.value) == "PartialSlotted(a='x', b=None)"
    checked = Live(model=Checked)
    checked.push('{"a":"x","b":{"a":"y')
    assert checked.value is not None
    assert checked.value.b is not None
    assert (checked.value.b.a, checked.value.b.b) == ("y", None)


def test_unions_adapters_and_dicts() -> None:
    union: Live[Any] = Live(model=Union[Card, Cash])
    union.push('{"kind":"card","last":"4')
    assert union.value == {"kind": "card", "last": "4"}
    adapter: Live[Any] = Live(model=pydantic.TypeAdapter(Line))
    adapter.push('{"text":"pa')
    assert isinstance(adapter.value, Line)
    annotated: Live[Any] = Live(model=Annotated[Line, Field(description="a line")])
    annotated.push('{"text":"pa')
    assert isinstance(annotated.value, Line)
    mapping: Live[Any] = Live(model=dict[str, Line])
    mapping.push('{"a":{"text":"pa')
    assert mapping.value is not None
    assert isinstance(mapping.value["a"], Line)


class Shelves(BaseModel):
    lines: Sequence[Line]
    by_name: Mapping[str, Line]
    by_number: dict[int, Line]
    pair: tuple[str, int]


def test_other_containers() -> None:
    live: Live[Any] = Live(model=Shelves)
    live.push('{"lines":[{"text":"a')
    value: Any = live.value
    assert value.lines[0].text == "a"
    live.push('"}],"by_name":{"x":{"text":"b')
    assert value.by_name["x"].text == "b"
    # Of other names and of tuples, the types are those of the complete value.
    live.push('"}},"by_number":{"1":{"text":"c')
    assert value.by_number is None
    live.push('"}},"pair":["d",1')
    assert value.by_number == {1: Line(text="c")}
    assert value.pair is None
    live.push("]")
    assert value.pair == ("d", 1)


def test_an_alias_that_refers_to_itself() -> None:
    class Nested:
        @property
        def __value__(self) -> Any:
            return list[self]  # type: ignore[valid-type]

    assert _partial._Planner().nodes_of(Nested()) == [("list", 0)]


def test_a_validator_around_the_type_leaves_the_dict() -> None:
    live: Live[Any] = Live(model=Annotated[Line, pydantic.BeforeValidator(lambda value: value)], schema=True)
    live.push('{"text":"pa')
    assert live.value == {"text": "pa"}


class Picky(BaseModel):
    """Its code would fail on what is missing."""

    a: str
    b: int = 0

    @pydantic.model_validator(mode="after")
    def is_short(self) -> Picky:
        assert len(self.a) < 5
        return self

    @pydantic.field_validator("a")
    @classmethod
    def upper(cls, a: str) -> str:
        return a.upper()

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def size(self) -> int:
        return len(self.a)

    def model_post_init(self, context: Any) -> None:
        assert self.a


def test_validators_run_on_the_complete_record_only() -> None:
    live = Live(model=Picky)
    live.push('{"b":1,')
    value: Any = live.value
    assert (value.a, value.b) == (None, 1)
    assert "PartialPicky" in live._repr_html_()
    live.push('"a":"long')
    assert value.a == "long"
    live.push("er")
    assert value.a == "longer"
    live.push('"}\n{"a":"abc"}\n')
    reject, record = list(live)
    assert isinstance(reject, Reject)
    assert isinstance(record, Record)
    assert record.value.a == "ABC"


def test_init_subclass_is_not_called() -> None:
    class Registered(BaseModel):
        a: str
        b: int

        def __init_subclass__(cls, key: int, **kwargs: Any) -> None:
            raise AssertionError("not to be extended")

        @classmethod
        def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
            raise AssertionError("not to be extended")

    live = Live(model=Registered)
    live.push('{"a":"x","b":1')
    value: Any = live.value
    assert isinstance(value, Registered)
    assert repr(value) == "PartialRegistered(a='x', b=None)"


def test_a_class_whose_instances_have_another_layout() -> None:
    class Sealed(BaseModel):
        __slots__ = ("kept",)
        a: str
        b: int

    live = Live(model=Sealed)
    live.push('{"a":"x","b":1')
    value: Any = live.value
    assert type(value) is Sealed
    assert [value.a, value.b] == ["x", None]


@pytest.mark.filterwarnings("ignore:Field name:UserWarning")
def test_a_field_that_shadows_is_warned_of_once() -> None:
    class Shadows(BaseModel):
        json: str  # type: ignore[assignment]
        copy: str  # type: ignore[assignment]
        dict: str  # type: ignore[assignment]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        live = Live(model=Shadows)
        live.push('{"json":"x","dict":"y')
    value: Any = live.value
    assert (value.json, value.copy, value.dict) == ("x", None, "y")
    assert value.model_dump() == {"json": "x", "copy": None, "dict": "y"}


class Part(pydantic.BaseModel):
    """Its code is for complete instances."""

    a: str
    b: str = Field(repr=False)

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def both(self) -> str:
        return self.a + self.b

    @pydantic.field_serializer("b")
    def upper(self, b: str) -> str:
        return b.upper()

    @pydantic.model_serializer(mode="wrap")
    def all(self, handler: Any) -> Any:
        return {**handler(self), "length": len(self.b)}

    def __repr__(self) -> str:
        return self.a + self.b

    def __str__(self) -> str:
        return self.a + self.b

    def model_dump(self, **kwargs: Any) -> dict[str, Any]:
        return {**super().model_dump(**kwargs), "both": self.a + self.b}

    def greet(self) -> str:
        return f"Hello {self.a}"


@pydantic.dataclasses.dataclass
class DataPart:
    a: str
    b: str = Field(alias="B")

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def both(self) -> str:
        return self.a + self.b

    @pydantic.field_serializer("b")
    def upper(self, b: str) -> str:
        return b.upper()

    def __repr__(self) -> str:
        return self.a + self.b


class Parts(pydantic.BaseModel):
    parts: list[Part]
    data: list[DataPart]


def test_serializers_and_computed_fields_are_of_complete_instances() -> None:
    live = Live(model=Parts)
    live.push('{"parts":[{"a":"x')
    value: Any = live.value
    [part] = value.parts
    assert (repr(part), str(part)) == ("PartialPart(a='x')", "a='x'")
    assert part.greet() == "Hello x"
    with pytest.raises(TypeError):
        _ = part.both
    assert value.model_dump() == {"parts": [{"a": "x", "b": None}], "data": None}
    assert value.model_dump_json() == '{"parts":[{"a":"x","b":null}],"data":null}'
    live.push('","b":"y"}],"data":[{"a":"x')
    assert isinstance(value.data[0], DataPart)
    assert (repr(value.data), str(value.data[0])) == ("[PartialDataPart(a='x', b=None)]",) + ("PartialDataPart(a='x', b=None)",)
    assert value.model_dump()["data"] == [{"a": "x", "b": None}]
    assert value.model_dump(by_alias=True)["data"] == [{"a": "x", "B": None}]
    assert json.loads(value.model_dump_json())["data"] == [{"a": "x", "b": None}]
    assert "PartialParts" in live._repr_html_()
    live.push('","B":"y"}]}\n')
    [record] = list(live)
    assert isinstance(record, Record)
    assert record.value.model_dump()["data"] == [{"a": "x", "b": "Y", "both": "xy"}]
    assert record.value.parts[0].model_dump() == {"a": "x", "b": "Y", "both": "xy", "length": 1}


@pydantic.dataclasses.dataclass
class AliasedData:
    text: str = Field(alias="AA")
    other: Annotated[str, Field(validation_alias=pydantic.AliasChoices("BB", "CC"))] = ""


@dataclasses.dataclass
class AliasedPlain:
    text: Annotated[str, Field(alias="AA")]
    inner: Optional[AliasedPlain] = None


class AliasedDict(TypedDict):
    __pydantic_config__ = ConfigDict(alias_generator=str.upper)  # type: ignore[misc]

    text: Annotated[str, Field(alias="AA")]
    plain: NotRequired[str]


def test_aliases_of_dataclasses_and_dicts() -> None:
    data: Live[Any] = Live(model=AliasedData)
    data.push('{"AA":"x","CC":"y')
    assert repr(data.value) == "PartialAliasedData(text='x', other='y')"
    plain: Live[Any] = Live(model=AliasedPlain)
    plain.push('{"AA":"x","inner":{"text":"no","AA":"y')
    assert repr(plain.value) == (
        "PartialAliasedPlain(text='x', inner=PartialAliasedPlain(text='y', inner=None))"
    )
    typed: Live[Any] = Live(model=AliasedDict)
    typed.push('{"AA":"x","PLAIN":"y')
    assert typed.value == {"text": "x", "plain": "y"}


def test_aliases_of_arguments() -> None:
    def send(to: Annotated[str, Field(alias="TO")], text: str = Field("", alias="TEXT"), plain: str = "") -> None: ...

    plan = _partial._Planner().nodes_of_function(send)
    assert {name: attribute for name, (attribute, _) in plan[0][2].items()} == {"TO": "to", "TEXT": "text", "plain": "plain"}


def test_an_interrupt_of_a_conversion_is_raised() -> None:
    def stop(value: Any) -> Any:
        raise KeyboardInterrupt

    class Slow(BaseModel):
        a: Annotated[int, pydantic.BeforeValidator(stop)]
        b: str

    live = Live(model=Slow, schema=True)
    with pytest.raises(KeyboardInterrupt):
        live.push('{"a":1,"b":"x')
    live.push("y")
    assert live.value is not None
    assert live.value.b == "xy"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_instance_that_cannot_be_made_is_not_shown(error: type[BaseException]) -> None:
    failing = True

    def default() -> int:
        if failing:
            raise error
        return 1

    class Inner(BaseModel):
        a: str
        _secret: int = pydantic.PrivateAttr(default_factory=default)

    class Outer(BaseModel):
        inner: Inner
        b: list[str]

    live = Live(model=Outer)
    if error is KeyboardInterrupt:
        with pytest.raises(KeyboardInterrupt):
            live.push('{"inner":{"a":"x')
    else:
        live.push('{"inner":{"a":"x')
    failing = False
    live.push('y"},"b":["z"')
    assert live.value is not None
    assert [live.value.inner, live.value.b] == [None, ["z"]]
    live.push("]}\n")
    [record] = list(live)
    assert isinstance(record, Record)
    assert record.value == Outer(inner=Inner(a="xy"), b=["z"])


def test_a_model_that_is_built_anew() -> None:
    class Late(BaseModel):
        a: str

    live = Live(model=Late)
    live.push('{"a":"x')
    first = type(live.value)
    Late.model_fields["a"].annotation = list[str]
    Late.model_rebuild(force=True)
    live = Live(model=Late)
    live.push('{"a":["x')
    assert type(live.value) is not first
    value: Any = live.value
    assert value.a == ["x"]


def test_the_partial_class_is_made_once_and_freed_with_its_model() -> None:
    def used() -> weakref.ref[Any]:
        # The caches of `typing` would keep it alive in an `Optional`.
        class Once(BaseModel):
            a: str
            b: int

        kinds = set()
        for _ in range(3):
            live = Live(model=Once)
            live.push('{"a":"x","b":1,')
            assert live.value is not None
            kinds.add(type(live.value))
        assert len(kinds) == 1
        return weakref.ref(Once)

    model = used()
    for _ in range(3):
        gc.collect()
    assert model() is None


def test_a_chunk_costs_the_same_at_any_size() -> None:
    class Book(BaseModel):
        pages: list[Line]

    def cost(size: int) -> float:
        best = float("inf")
        for _ in range(5):
            live = Live(model=Book)
            live.push('{"pages":[' + '{"text":"x","price":"1.5"},' * size)
            start = time.perf_counter()
            for _ in range(300):
                live.push('{"text":"y","pr')
                live.push('ice":"2.5"},')
            best = min(best, time.perf_counter() - start)
            assert live.value is not None
            assert len(live.value.pages) == size + 300
        return best / 300

    # To build 20,000 lines anew would take a thousand times as long.
    assert cost(20_000) < 20 * cost(20)


# The arguments of calls.


def deltas(*pieces: str) -> list[bytes]:
    calls = [{"index": 0, "id": "c1", "function": {"name": "Invoice", "arguments": ""}}]
    calls += [{"index": 0, "function": {"arguments": piece}} for piece in pieces]
    events = [{"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]} for call in calls]
    events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    return [b"data: " + json.dumps(event).encode() + b"\n\n" for event in events] + [b"data: [DONE]\n\n"]


def test_the_arguments_of_a_call() -> None:
    parser = ResponseParser("openai-chat", tools=[Invoice], call_updates=True)
    assert not parser.open_calls
    seen: list[Any] = []
    for chunk in deltas('{"num', 'ber":"a-1', '7","issued":"2026-11-30","lines":[{"text":"pa', 'per"}]}'):
        parser.push(chunk)
        events = list(parser)
        seen += events
        for call in parser.open_calls:
            assert (call.name, call.call_id, call.choice, call.number) == ("Invoice", "c1", 0, 1)
            seen.append(copy.deepcopy(call.parameters))
    begun, empty, number, first, lines, *rest = seen
    assert begun is None
    assert isinstance(empty, Invoice)
    assert not empty.model_fields_set
    assert number.number == "a-1"
    assert first.issued == datetime.date(2026, 11, 30)
    assert first.lines[0].text == "pa"
    assert lines.lines[0].text == "paper"
    [done] = [event for event in rest if isinstance(event, tokenline.ToolCall)]
    assert done.parameters["number"] == "a-17"
    assert parser.open_calls == ()
    parser.finish()
    assert [type(event).__name__ for event in parser] in ([], ["Finish"])


def test_a_tool_set_has_the_same_open_calls() -> None:
    def note(text: str, on: datetime.date) -> None: ...

    definition = {"name": "other", "parameters": {"type": "object"}}
    tools = tokenline.ToolSet([Invoice, note, definition])
    assert set(_partial.plans_of(tools)) == {"Invoice", "note"}
    assert _partial.plans_of(tokenline.ToolSet(tools)).keys() == {"Invoice", "note"}
    assert _partial.plans_of(tokenline.ToolSet([definition])) == {}
    assert _partial.plans_of(tokenline.ToolSet(json.dumps([definition]))) == {}
    parser = ResponseParser("openai-chat", tools=tools, call_updates=True)
    for chunk in deltas('{"number":"a-1","lines":[{"text":"pa')[:2]:
        parser.push(chunk)
        assert list(parser) == []
    [call] = parser.open_calls
    assert repr(call.parameters.lines) == "[PartialLine(text='pa', price=None, cents=None)]"


def test_tools_without_pydantic() -> None:
    code = """
import sys
sys.modules["pydantic"] = sys.modules["typing_extensions"] = None
import tokenline
tools = tokenline.ToolSet([{"name": "a", "parameters": {}}])
print(tools, tokenline.ResponseParser("openai-chat", tools=tools, call_updates=True).open_calls)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert ran.stdout == "ToolSet(a) ()\n"


def test_the_arguments_of_other_tools() -> None:
    def transfer(to: str, on: datetime.date, cents: Cents = Cents(0)) -> None: ...

    definition = {"name": "note", "parameters": {"type": "object"}}
    parser = ResponseParser("openai-chat", tools=[transfer, definition], call_updates=True)
    for name, arguments in (("transfer", '{"on":"2026-01-02","to":"Bo'), ("note", '{"on":"2026-01-02'), ("odd", '{"a":[1')):
        call = {"index": len(parser.open_calls), "id": name, "function": {"name": name, "arguments": arguments}}
        parser.push(b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}).encode() + b"\n\n")
        assert list(parser) == []
    assert [(call.name, call.parameters) for call in parser.open_calls] == [
        ("transfer", {"on": datetime.date(2026, 1, 2), "to": "Bo"}),
        ("note", {"on": "2026-01-02"}),
        ("odd", {"a": []}),
    ]
    parser.finish()
    assert {event.name for event in parser if isinstance(event, tokenline.RejectedCall)} == {"transfer", "note", "odd"}
    assert parser.open_calls == ()


def test_calls_in_a_text() -> None:
    parser = ResponseParser("openai-chat", tools=[Line], call_updates=True)
    text = '[Line(text="paper", price="2.5'
    event = {"choices": [{"index": 0, "delta": {"content": text}}]}
    parser.push(b"data: " + json.dumps(event).encode() + b"\n\n")
    list(parser)
    [call] = parser.open_calls
    assert isinstance(call.parameters, Line)
    assert call.parameters.text == "paper"
    assert repr(call).startswith("OpenCall(name='Line', parameters=PartialLine(text='paper'")


def test_open_calls_are_shown_on_request() -> None:
    with pytest.raises(ValueError, match="`open_calls` needs call_updates=True"):
        _ = ResponseParser("openai-chat").open_calls


def test_events_are_the_same_with_updates() -> None:
    body = b"".join(deltas('{"number":"x","issued":"2026-11-30",', '"lines":[]}'))
    found = []
    for updates in (False, True):
        parser = ResponseParser("openai-chat", tools=[Invoice], call_updates=updates)
        parser.push(body)
        parser.finish()
        found.append([repr(event) for event in parser])
    assert found[0] == found[1]


def test_a_partial_instance_is_an_ordinary_object() -> None:
    live = Live(model=Line)
    live.push('{"text":"pa')
    assert live.value is not None
    kept = live.value.model_copy(deep=True)
    live.push("per")
    assert (kept.text, live.value.text) == ("pa", "paper")
    assert kept == kept.model_copy()
    assert pickle.loads(pickle.dumps(kept.model_dump())) == kept.model_dump()
