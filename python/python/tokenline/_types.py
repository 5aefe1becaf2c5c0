"""The types of arguments and events."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable, Sequence
from typing import Any, Literal, TypeAlias, TypeVar, Union

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
# A dict, JSON text, a bool, a validator, or a type that pydantic reads.
Schema: TypeAlias = Union[dict[str, Any], JsonText, bool, SchemaValidator, type[Any]]
Tools: TypeAlias = Union[ToolSet, JsonText, Sequence[Union[dict[str, Any], type[Any], Callable[..., Any]]]]
CallFormat: TypeAlias = Literal[
    "auto", "jsonl", "single_json", "hermes", "mistral", "function_tag", "pythonic"
]
Mode: TypeAlias = Literal["lenient", "strict"]
Release: TypeAlias = Literal["confirmed", "on_balance", "at_finish"]
TextAs: TypeAlias = Literal["records", "tool_calls", "text"]
# An iterable of chunks, or one of the objects that `_sources` knows.
Source: TypeAlias = Union[Iterable[Any], Chunk, Any]
AsyncSource: TypeAlias = Union[AsyncIterable[Any], Source]
ParserEvent: TypeAlias = Union[Record[_T], Reject, Note]
ResponseEvent: TypeAlias = Union[
    Record[_T], ToolCall, Reject, RejectedCall, Text, Reasoning, Refusal, Finish, Usage, Note
]
