"""The types of arguments and events."""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Sequence
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
# The names of the codes and modes that there are, as `tokenline explain` describes them.
Code: TypeAlias = Literal[
    "prose",
    "call_in_text",
    "malformed_json",
    "truncated",
    "not_an_object",
    "trailing_data",
    "late_fragment",
    "duplicate_key",
    "invalid_utf8",
    "line_too_long",
    "too_deep",
    "record_too_large",
    "schema_violation",
    "missing_field",
    "unknown_tool",
    "invalid_parameters",
    "unsealed",
    "provider_error",
    "stream_incomplete",
    "stray_lines",
    "calls_missing",
    "content_filter",
    "refused",
    "token_limit",
    "repetition",
]
Completion: TypeAlias = Literal[
    "newline",
    "next_item",
    "array_element",
    "text",
    "item_stop",
    "finish_reason",
    "terminator",
    "end_of_input",
    "balanced",
]
EditKind: TypeAlias = Literal[
    "trailing_comma",
    "surplus_closer",
    "comment",
    "control_character",
    "curly_quotes",
    "python_literal",
    "bare_name",
    "single_quotes",
    "mismatched_closer",
    "missing_comma",
    "invalid_escape",
    "missing_closer",
]
EndedBy: TypeAlias = Literal["max_records", "error_budget", "repetition"]
Origin: TypeAlias = Literal["text", "arguments", "wire"]
Provider: TypeAlias = Literal[
    "openai-chat",
    "openai-responses",
    "anthropic",
    "gemini",
    "gemini-interactions",
    "cohere",
    "bedrock",
    "ollama",
]
Recovery: TypeAlias = Literal[
    "fence",
    "think",
    "prose",
    "list_marker",
    "same_line",
    "comma",
    "array_element",
    "item",
    "several_lines",
    "call_format",
    "call_end_missing",
    "parameters_typed",
    "repaired",
    "syntax_repaired",
    "reasked",
    "think_unclosed",
]
Severity: TypeAlias = Literal["info", "warning", "error"]
Mode: TypeAlias = Literal["lenient", "strict"]
Release: TypeAlias = Literal["confirmed", "on_balance", "at_finish"]
TextAs: TypeAlias = Literal["records", "tool_calls", "records_and_tool_calls", "native_calls", "text"]
# An iterable of chunks, or one of the objects that `_sources` knows.
Source: TypeAlias = Union[Iterable[Any], Chunk, Any]
AsyncSource: TypeAlias = Union[AsyncIterable[Any], Source]
# The function is given a `Reject` where records are read, and a `RejectedCall` for a tool call.
Reask: TypeAlias = Callable[[Any], Union[str, None, Awaitable[Optional[str]]]]
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
    in_reasoning: bool
    """The text begins inside the model's reasoning, as the prompts of many models have it: only `</think>` ends it."""
    all_violations: bool
    """Rejects have all rules of the schema that they break, in `further`: at most 100. By default they have the first.

    What only pydantic finds wrong (formats, validators) is looked for in records that fit the schema.
    """
    show_names: bool
    """Messages and paths show all names of members. By default, a name that the schema does not have is `*`."""
    pattern_steps: int
    """The most steps of the search for a pattern with look-around or a back-reference: 1,000,000 by default.

    A record with a text that takes more is a reject. A `SchemaValidator` and a `ToolSet` have a limit of their own.
    """
    diagnostics: int
    """How many rejects and notes the report keeps: 1,000 by default."""


class StreamOptions(ParserOptions, total=False):
    """The keyword arguments of all streams over a source."""

    show_values: bool
    """Rejects have the text that was rejected, also in the report, and pydantic's own words, which may quote values.

    By default they quote nothing of the input.
    """
    reask: Optional[Reask]
    """A function that asks the model again for what was rejected: a reject in, the text of the new response out.

    `None` leaves the reject as it is. `records` and its like wait for the function and deliver in the original order;
    `arecords` and its like also take an asynchronous function, and deliver what comes of it while they read on, in tasks of
    asyncio: up to 4 answers are awaited at a time, and a read that is cancelled goes on until the stream is closed. The
    record or call may stand in a fence or in a sentence, and has to pass the same rules; for a rejected call the arguments
    alone will do. It is marked `reasked`, and has the place of the original. The same text is asked for once, and none of
    more than 64 KiB. An exception of the function ends the stream.
    """
    reask_attempts: int
    """The most responses for each reject: 1 by default. It ends early if the same comes again."""
    repair_syntax: bool
    """Repair malformed records and calls, where one kind of edit of a closed list is the only one that makes them JSON."""
    max_records: int
    """End the stream after so many records or tool calls, and close the source: `ended_by` is `max_records` then."""
    error_budget: int
    """End the stream with `TooManyRejectedError` once more than so many were rejected."""
    stop_on_repetition: bool
    """End a text that repeats itself, with the note `repetition`, and close the source."""


class RecordOptions(StreamOptions, total=False):
    """The keyword arguments of `records` and `arecords`."""

    provider: Optional[Provider]
    """The provider whose response it is: one of `PROVIDERS`. By default it is a text."""

    strict: bool
    """Raise `RejectedError` at the first reject."""
    items: Optional[str]
    """A JSON Pointer to the array whose elements are the records."""


class ResponseOptions(StreamOptions, total=False):
    """The keyword arguments of `responses` and `aresponses`."""

    schema: Optional[Schema]
    """The schema of the records; with `tools` or a `call_format`, of the objects in the text that are calls."""
    items: Optional[str]
    """A JSON Pointer to the array whose elements are the records."""
    tools: Optional[Tools]
    """Tool definitions, against whose JSON Schemas calls are validated. The validators of models do not run."""
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


class CallOptions(StreamOptions, total=False):
    """The keyword arguments of `tool_calls` and `atool_calls`."""

    call_format: CallFormat
    """The format of calls in text: `auto` by default."""
    strict: bool
    """Raise `RejectedError` at the first reject."""
