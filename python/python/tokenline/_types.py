"""The types of arguments and events."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable, Sequence
from typing import Any, Literal, Optional, Protocol, TypeAlias, TypedDict, TypeVar, Union

from tokenline._tokenline import (
    Finish,
    Note,
    Reasoning,
    Record,
    Refusal,
    Reject,
    RejectedCall,
    SchemaValidator,
    Text,
    ToolCall,
    ToolSet,
    Usage,
)

_T = TypeVar("_T")

Chunk: TypeAlias = Union[str, bytes, bytearray, memoryview]
JsonText: TypeAlias = Union[str, bytes]


class Adapter(Protocol):
    """`pydantic.TypeAdapter`, which need not be installed."""

    @property
    def core_schema(self) -> Any: ...


# A dict, JSON text, a bool, a validator, or a type that pydantic reads.
Schema: TypeAlias = Union[dict[str, Any], JsonText, bool, SchemaValidator, type[Any], Adapter]
Tools: TypeAlias = Union[ToolSet, JsonText, Sequence[Union[dict[str, Any], type[Any], Callable[..., Any]]]]
CallFormat: TypeAlias = Literal[
    "auto", "jsonl", "single_json", "hermes", "mistral", "function_tag", "pythonic"
]
Mode: TypeAlias = Literal["lenient", "strict"]
Release: TypeAlias = Literal["confirmed", "on_balance", "at_finish"]
TextAs: TypeAlias = Literal["records", "tool_calls", "records_and_tool_calls", "native_calls", "text"]
# An iterable of chunks, or one of the objects that `_sources` knows.
Source: TypeAlias = Union[Iterable[Any], Chunk, Any]
AsyncSource: TypeAlias = Union[AsyncIterable[Any], Source]
ParserEvent: TypeAlias = Union[Record[_T], Reject, Note]
ResponseEvent: TypeAlias = Union[
    Record[_T], ToolCall, Reject, RejectedCall, Text, Reasoning, Refusal, Finish, Usage, Note
]


class ParserOptions(TypedDict, total=False):
    """The keyword arguments of all streams."""

    mode: Mode
    """`lenient` (the default) or `strict`: each line is one object."""
    release: Release
    """When a record is released: `confirmed` (the default), `on_balance` or `at_finish`."""
    line_bytes: int
    """The longest line or open record: 8 MiB by default."""
    depth: int
    """The deepest nesting, in containers: 127 by default, at most 1,024."""
    pattern_steps: int
    """The most steps of the search for a pattern with look-around or a back-reference: 1,000,000 by default.

    A record with a text that takes more is a reject. A `SchemaValidator` and a `ToolSet` have a limit of their own.
    """
    diagnostics: int
    """How many rejects and notes the report keeps: 1,000 by default."""


class RecordOptions(ParserOptions, total=False):
    """The keyword arguments of `records` and `arecords`."""

    strict: bool
    """Raise `RejectedError` at the first reject."""
    items: Optional[str]
    """A JSON Pointer to the array whose elements are the records."""


class ResponseOptions(ParserOptions, total=False):
    """The keyword arguments of `responses` and `aresponses`."""

    schema: Optional[Schema]
    """The schema of the records; with `tools` or a `call_format`, of the objects in the text that are calls."""
    items: Optional[str]
    """A JSON Pointer to the array whose elements are the records."""
    tools: Optional[Tools]
    """Tool definitions, against which calls are validated."""
    call_format: Optional[CallFormat]
    """The format of tool calls to look for in the text."""
    text_as: Optional[TextAs]
    """The kind of items to read in the text: by default records, or tool calls with `tools` or a `call_format`.

    `records_and_tool_calls` reads both: an object is a call between the markers of a syntax, or with the name of a
    defined tool and arguments; every other one is a record, to which alone `schema` and `model` apply.
    `native_calls` is for tools that were sent with the request: no call is taken out of the text, so that what a
    text quotes starts no tool; a call of a defined tool in it is a note, `call_in_text`. `text` reads nothing.
    """
    sse_line_bytes: int
    """The longest line of server-sent events: 16 MiB by default."""
    sse_event_bytes: int
    """The most data of a server-sent event: 16 MiB by default."""


class CallOptions(ParserOptions, total=False):
    """The keyword arguments of `tool_calls` and `atool_calls`."""

    call_format: CallFormat
    """The format of calls in text: `auto` by default."""
    strict: bool
    """Raise `RejectedError` at the first reject."""
