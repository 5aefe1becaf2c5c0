"""The extension module of ``tokenline``. Import from ``tokenline``."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, Final, Generic, TypeVar, final, overload

from typing_extensions import Self, Unpack

from tokenline._types import (
    CallFormat,
    Chunk,
    Code,
    Completion,
    EditKind,
    EndedBy,
    JsonText,
    Mode,
    Origin,
    ParserEvent,
    Provider,
    Recovery,
    Release,
    ResponseEvent,
    Schema,
    Severity,
    TextAs,
    Tools,
)
from tokenline.arrow import ExtractOptions

__all__ = [
    "NAMES",
    "PROVIDERS",
    "ConversationChecker",
    "Extracted",
    "ExtractedStream",
    "Extractor",
    "Finish",
    "JsonlParser",
    "Live",
    "Machinery",
    "Note",
    "OpenCall",
    "OutputType",
    "Plan",
    "Question",
    "Reasoning",
    "Record",
    "Refusal",
    "Reject",
    "RejectedCall",
    "Report",
    "ResponseParser",
    "SchemaValidator",
    "Stream",
    "Text",
    "ToolCall",
    "ToolSet",
    "Usage",
    "__version__",
]

_T = TypeVar("_T")
_M = TypeVar("_M")

PROVIDERS: Final[tuple[Provider, ...]]
"""The names of the providers whose responses can be read."""
NAMES: Final[dict[str, tuple[str, ...]]]
"""The names that each `Literal` of `_types` lists."""
__version__: Final[str]

@final
class Record(Generic[_T]):
    """A record: a complete JSON object of the text, with its place and the evidence that it is complete."""

    __match_args__ = ("value", "line", "start", "end", "completion")
    def __new__(
        cls,
        value: _T,
        line: int,
        start: int,
        end: int,
        completion: Completion,
        recovered: Iterable[Recovery] = ...,
        raw: str = ...,
        *,
        column: int = 1,
        choice: int = 0,
        block: int = 0,
        attempts: int = 0,
    ) -> Self: ...
    @property
    def value(self) -> _T:
        """The object: a dict, or an instance of the model."""
    @property
    def line(self) -> int:
        """The line on which it starts, counted from 1."""
    @property
    def column(self) -> int:
        """Its column on that line: bytes, from 1."""
    @property
    def start(self) -> int:
        """The offset of its opening brace, in bytes from the start of the text."""
    @property
    def end(self) -> int:
        """The offset after its closing brace."""
    @property
    def completion(self) -> Completion:
        """Why it counts as complete: ``newline``, ``next_item``, ``array_element``, ``end_of_input``, ..."""
    @property
    def recovered(self) -> tuple[Recovery, ...]:
        """The recovered deviations from strict mode: ``fence``, ``prose``, ``several_lines``, ..."""
    @property
    def raw(self) -> str:
        """Its text as written."""
    @property
    def attempts(self) -> int:
        """The answers of ``reask`` that it took; 0 if it was right at once."""
    @property
    def choice(self) -> int:
        """The choice of the response, from 0."""
    @property
    def block(self) -> int:
        """The block of the response: Anthropic's content blocks, OpenAI's output items; 0 without blocks."""
    def __eq__(self, other: object, /) -> bool: ...
    @classmethod
    def __class_getitem__(cls, key: Any) -> Any: ...

@final
class Reject:
    """Something that looked like data and was not delivered, with the reason.

    ``str()`` is the line that the program prints: ``3:6: malformed_json: expected a value, found a letter``.
    """

    __match_args__ = ("code", "line", "column", "start", "end", "message")
    def __new__(
        cls,
        code: Code,
        line: int,
        column: int,
        start: int,
        end: int,
        message: str,
        *,
        instance_path: str | None = None,
        schema_path: str | None = None,
        origin: Origin = "text",
        choice: int | None = None,
        block: int = 0,
        text: str | None = ...,
        further: Iterable[Reject] = ...,
        attempts: Iterable[str] = ...,
    ) -> Self: ...
    @property
    def code(self) -> Code:
        """The kind of problem, such as ``malformed_json``; ``tokenline explain CODE`` describes each."""
    @property
    def severity(self) -> Severity:
        """``error``."""
    @property
    def line(self) -> int:
        """The line, counted from 1."""
    @property
    def column(self) -> int:
        """The column of the fault: bytes from the line's start, from 1."""
    @property
    def start(self) -> int:
        """The offset of the first byte concerned."""
    @property
    def end(self) -> int:
        """The offset after the last byte concerned."""
    @property
    def message(self) -> str:
        """One sentence. It names positions, kinds and rules; values of the input only with ``show_values``."""
    @property
    def instance_path(self) -> str | None:
        """JSON Pointer into the record, if it is about a value inside it."""
    @property
    def schema_path(self) -> str | None:
        """JSON Pointer to the rule in the schema, if one was broken."""
    @property
    def origin(self) -> Origin:
        """The origin of the positions: ``text``, the ``arguments`` of a native tool call, or the ``wire``."""
    @property
    def choice(self) -> int | None:
        """The choice of the response, if it belongs to one."""
    @property
    def block(self) -> int:
        """The block of the response; 0 without blocks."""
    @property
    def text(self) -> str | None:
        """What was rejected, as the model wrote it, with ``show_values``, and for ``reask``; otherwise ``None``.

        It may be private.
        """
    @property
    def for_model(self) -> str:
        """The rules that it breaks, with their places, as a message for the model."""
    @property
    def further(self) -> tuple[Reject, ...]:
        """The other rules that it breaks, with ``all_violations``, and for ``reask``: at most 99."""
    @property
    def attempts(self) -> tuple[str, ...]:
        """Why each answer of ``reask`` was rejected."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Note:
    """Information that is not a reject, such as a line of prose.

    ``str()`` is the line that the program prints: ``1:1: prose: text without a record``.
    """

    __match_args__ = ("code", "line", "column", "start", "end", "message")
    def __new__(
        cls,
        code: Code,
        line: int,
        column: int,
        start: int,
        end: int,
        message: str,
        *,
        instance_path: str | None = None,
        schema_path: str | None = None,
        origin: Origin = "text",
        choice: int | None = None,
        block: int = 0,
    ) -> Self: ...
    @property
    def code(self) -> Code:
        """The kind of problem, such as ``malformed_json``; ``tokenline explain CODE`` describes each."""
    @property
    def severity(self) -> Severity:
        """``info``, or ``warning`` if something may be missing."""
    @property
    def line(self) -> int:
        """The line, counted from 1."""
    @property
    def column(self) -> int:
        """The column of the fault: bytes from the line's start, from 1."""
    @property
    def start(self) -> int:
        """The offset of the first byte concerned."""
    @property
    def end(self) -> int:
        """The offset after the last byte concerned."""
    @property
    def message(self) -> str:
        """One sentence. It names positions, kinds and rules, never values of the input."""
    @property
    def instance_path(self) -> str | None:
        """JSON Pointer into the record, if it is about a value inside it."""
    @property
    def schema_path(self) -> str | None:
        """JSON Pointer to the rule in the schema, if one was broken."""
    @property
    def origin(self) -> Origin:
        """The origin of the positions: ``text``, the ``arguments`` of a native tool call, or the ``wire``."""
    @property
    def choice(self) -> int | None:
        """The choice of the response, if it belongs to one."""
    @property
    def block(self) -> int:
        """The block of the response; 0 without blocks."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class ToolCall:
    """A tool call, always complete: there is evidence that the model finished it.

    It was checked against the JSON Schema of its tool. Calls can be compared, copied and pickled.
    """

    __match_args__ = ("name", "parameters", "call_id")
    @property
    def name(self) -> str:
        """The tool's name."""
    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters: a dict, also for a tool that is a model. ``Invoice.model_validate(call.parameters)`` makes the
        instance, and runs the model's validators.
        """
    @property
    def raw_parameters(self) -> str:
        """The parameters as the model wrote them."""
    @property
    def call_id(self) -> str | None:
        """The id from the model or the provider. A native call always has one."""
    @property
    def is_synthetic_id(self) -> bool:
        """Whether the id was made up here, because the provider does not give one."""
    @property
    def error(self) -> Any:
        """The error that the model itself reports in the call, if any."""
    @property
    def completion(self) -> Completion:
        """Why it counts as complete."""
    @property
    def recovered(self) -> tuple[Recovery, ...]:
        """The recovered deviations from strict mode."""
    @property
    def attempts(self) -> int:
        """The answers of ``reask`` that it took; 0 if it was right at once."""
    @property
    def line(self) -> int | None:
        """The line of the text on which it starts; ``None`` for a native call."""
    @property
    def column(self) -> int | None:
        """Its column on that line; ``None`` for a native call."""
    @property
    def start(self) -> int | None:
        """The offset of its first byte in the text; ``None`` for a native call."""
    @property
    def end(self) -> int | None:
        """The offset after its last byte; ``None`` for a native call."""
    @property
    def choice(self) -> int:
        """The choice of the response, from 0."""
    @property
    def block(self) -> int:
        """The block of the text that contains it; 0 for a native call."""
    @property
    def number(self) -> int | None:
        """The number of a native call in its choice, from 1; ``None`` for a call in a text."""
    def __eq__(self, other: object, /) -> bool: ...

@final
class RejectedCall:
    """A tool call that began and was not delivered: truncated, malformed, or against its tool's rules."""

    __match_args__ = ("name", "reject", "call_id")
    @property
    def name(self) -> str | None:
        """The tool's name, if it arrived."""
    @property
    def reject(self) -> Reject:
        """Why it was not delivered."""
    @property
    def call_id(self) -> str | None:
        """The call's id."""
    @property
    def is_synthetic_id(self) -> bool:
        """Whether the id was made up here."""
    @property
    def received(self) -> str:
        """The received part of the arguments, or the record of a call in a text. It may be private."""
    @property
    def for_model(self) -> str:
        """The rules that it breaks, with their places, as a message for the model."""
    @property
    def choice(self) -> int:
        """The choice of the response, from 0."""
    @property
    def block(self) -> int:
        """The block of the response."""
    @property
    def number(self) -> int | None:
        """The number of a native call in its choice, from 1."""
    def __eq__(self, other: object, /) -> bool: ...

@final
class Text:
    """Text outside records and calls, as it arrives."""

    __match_args__ = ("text", "choice", "block")
    @property
    def text(self) -> str:
        """The next piece of text."""
    @property
    def choice(self) -> int:
        """The choice of the response, from 0."""
    @property
    def block(self) -> int:
        """The block of the response."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Reasoning:
    """Reasoning as it arrives."""

    __match_args__ = ("text", "opaque", "choice")
    @property
    def text(self) -> str:
        """The next piece of reasoning; empty beside opaque data."""
    @property
    def opaque(self) -> str | None:
        """Data that the provider expects back in the next request: JSON as received."""
    @property
    def choice(self) -> int:
        """The choice of the response, from 0."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Refusal:
    """A piece of the model's refusal."""

    __match_args__ = ("text", "choice")
    @property
    def text(self) -> str:
        """The next piece of the refusal."""
    @property
    def choice(self) -> int:
        """The choice of the response, from 0."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Finish:
    """The end of a choice."""

    __match_args__ = ("reason", "choice")
    @property
    def reason(self) -> str:
        """``stop``, ``tool_calls``, ``length``, ``content_filter``, ``malformed_call``, ``error``, or the provider's word."""
    @property
    def choice(self) -> int:
        """The choice of the response, from 0."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Usage:
    """The tokens so far; repeated when they change."""

    __match_args__ = ("input_tokens", "output_tokens", "total_tokens")
    @property
    def input_tokens(self) -> int | None:
        """Tokens of the prompt."""
    @property
    def output_tokens(self) -> int | None:
        """Tokens of the response, including reasoning."""
    @property
    def total_tokens(self) -> int | None:
        """Input and output tokens together."""
    @property
    def cached_input_tokens(self) -> int | None:
        """Input tokens read from the provider's cache."""
    @property
    def cache_creation_input_tokens(self) -> int | None:
        """Input tokens written to the provider's cache, which may cost more."""
    @property
    def reasoning_tokens(self) -> int | None:
        """Output tokens used for reasoning."""
    def to_dict(self) -> dict[str, int]:
        """The known counts by name."""
    def __eq__(self, other: object, /) -> bool: ...

@final
class Report:
    """Counts of what was delivered and rejected, with the first rejects.

    Reports can be compared, copied and pickled.
    """

    @property
    def complete(self) -> bool:
        """Whether the source was read to its own end."""
    @property
    def ended_by(self) -> EndedBy | None:
        """Why the stream ended before its source."""
    @property
    def records(self) -> int:
        """Records delivered."""
    @property
    def tool_calls(self) -> int:
        """Tool calls delivered."""
    @property
    def rejected(self) -> int:
        """Rejects; prose is not one."""
    @property
    def warnings(self) -> int:
        """Notes that something may be missing, such as after a response that ended at its token limit."""
    @property
    def notes(self) -> int:
        """Other notes."""
    @property
    def repaired(self) -> int:
        """Records and tool calls that were delivered after ``repair_syntax``."""
    @property
    def repaired_by_edit(self) -> dict[EditKind, int]:
        """How many of these were repaired by each kind of edit."""
    @property
    def by_code(self) -> dict[Code, int]:
        """How many rejects and notes there were of each code."""
    @property
    def rejects(self) -> list[Reject]:
        """The rejects that were kept, in the order of the input; with ``show_values``, with their texts."""
    @property
    def kept_notes(self) -> list[Note]:
        """The notes that were kept, in the order of the input."""
    @property
    def reasked(self) -> dict[str, int]:
        """What ``reask`` was asked for: the rejects ``asked`` for, the ``requests``, and what was ``delivered`` then."""
    @property
    def dropped(self) -> int:
        """How many rejects and notes were counted, but not kept: beyond ``diagnostics``."""
    def to_dict(self) -> dict[str, Any]:
        """The report as the program writes it with ``--report-json``."""
    def to_json(self) -> str:
        """The same as JSON text."""
    def _repr_html_(self) -> str: ...
    @staticmethod
    def _restored(state: dict[str, Any]) -> Report: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class JsonlParser(Generic[_T]):
    """Parses records from text that arrives in chunks, without I/O.

    Push a chunk, iterate over its events, push the next; finish, and iterate once more. However the text is cut, the
    events are the same. A bad line harms only itself.

    >>> parser = JsonlParser()
    >>> for chunk in ['Sure:\\n{"a":', '1}\\n{"a":NaN}\\n']:
    ...     parser.push(chunk)
    ...     for event in parser:
    ...         match event:
    ...             case Record(value, line): print(line, value)
    ...             case Reject() | Note(): print(event)
    1:1: prose: text without a record
    2 {'a': 1}
    3:6: malformed_json: expected a value, found a letter

    ``mode``: ``lenient`` recovers records from what models add (fences, prose, lists, arrays, several lines); in
    ``strict`` mode each line is one object. ``schema``: records that break it are rejected. ``model``: a type that
    pydantic reads; records come out as its instances, validated by its JSON Schema and then built from their text by
    pydantic's rules for JSON. ``items``: JSON Pointer of the array whose elements are the records. ``release``:
    ``on_balance`` releases a record when its braces balance, without evidence that it is complete. ``in_reasoning``: the
    text begins inside the model's reasoning, as the prompts of many models have it. ``all_violations``: rejects have all
    rules of the schema that they break (``further``); what only pydantic finds wrong is looked for in records that fit the
    schema. ``show_names`` and ``show_values``: messages name members that the schema does not
    have, and rejects have their ``text`` and pydantic's own words; both may be private. The others are limits: the longest
    line or open record, the deepest nesting, the rejects that the report keeps.

    Any thread may use it; only one at a time reads.
    """

    @overload
    def __new__(
        cls,
        *,
        mode: Mode = "lenient",
        schema: Schema | None = None,
        model: None = None,
        items: str | None = None,
        release: Release = "confirmed",
        in_reasoning: bool = False,
        all_violations: bool = False,
        show_names: bool = False,
        show_values: bool = False,
        line_bytes: int = 8388608,
        depth: int = 127,
        pattern_steps: int = 1000000,
        diagnostics: int = 1000,
    ) -> JsonlParser[dict[str, Any]]: ...
    @overload
    def __new__(
        cls,
        *,
        mode: Mode = "lenient",
        schema: Schema | None = None,
        model: type[_M],
        items: str | None = None,
        release: Release = "confirmed",
        in_reasoning: bool = False,
        all_violations: bool = False,
        show_names: bool = False,
        show_values: bool = False,
        line_bytes: int = 8388608,
        depth: int = 127,
        pattern_steps: int = 1000000,
        diagnostics: int = 1000,
    ) -> JsonlParser[_M]: ...
    @overload
    def __new__(
        cls,
        *,
        mode: Mode = "lenient",
        schema: Schema | None = None,
        model: Any,
        items: str | None = None,
        release: Release = "confirmed",
        in_reasoning: bool = False,
        all_violations: bool = False,
        show_names: bool = False,
        show_values: bool = False,
        line_bytes: int = 8388608,
        depth: int = 127,
        pattern_steps: int = 1000000,
        diagnostics: int = 1000,
    ) -> JsonlParser[Any]: ...
    def push(self, chunk: Chunk) -> None:
        """Adds the next chunk: bytes, str, or a buffer of bytes."""
    def finish(self) -> None:
        """Ends the text. Iterate once more for the last events."""
    def reset(self) -> None:
        """Starts over with another text, with the same settings."""
    @property
    def report(self) -> Report:
        """The counts and the first rejects so far."""
    def __iter__(self) -> Self: ...
    def __next__(self) -> ParserEvent[_T]: ...
    @classmethod
    def __class_getitem__(cls, key: Any) -> Any: ...

@final
class Live(Generic[_T]):
    """Parses records, and shows the open one as an object that grows in place.

    A chunk costs the same however large the record is. Takes the arguments of ``JsonlParser`` but ``show_values``.

    >>> live = Live()
    >>> live.push('{"title": "Soup", "steps": ["Peel the on')
    >>> live.value
    {'title': 'Soup', 'steps': ['Peel the on']}
    >>> live.push('ions"]}\\n')
    >>> [event.value for event in live], live.value
    ([{'title': 'Soup', 'steps': ['Peel the onions']}], None)

    Nothing is completed by guessing: a number or a literal appears when it is complete. The open record may still be
    rejected; ``value`` is then ``None``. Without a ``model`` the event's value is the dict that has grown.

    With a ``model``, ``value`` is a partial instance: for a model of pydantic or a dataclass, an instance of a subclass of it,
    for a ``TypedDict`` a dict without the missing members. Members that have not arrived are ``None``, also those with
    defaults; ``value.model_fields_set`` has the names of those that are there. Strings, lists, dicts and nested models grow;
    any other member appears when it is complete, in its declared type. No validator of a model has run: the instance of the
    event is the one that is valid. Of a union or another type that is no class, ``value`` is the dict.

    >>> import pydantic
    >>> class Soup(pydantic.BaseModel):
    ...     title: str
    ...     servings: int
    >>> live = Live(model=Soup)
    >>> live.push('{"title": "Leek and po')
    >>> live.value
    PartialSoup(title='Leek and po', servings=None)
    >>> live.push('tato", "servings": 4}\\n')
    >>> [event.value for event in live]
    [Soup(title='Leek and potato', servings=4)]
    """

    @overload
    def __new__(
        cls,
        *,
        mode: Mode = "lenient",
        schema: Schema | None = None,
        model: None = None,
        items: str | None = None,
        release: Release = "confirmed",
        in_reasoning: bool = False,
        all_violations: bool = False,
        show_names: bool = False,
        line_bytes: int = 8388608,
        depth: int = 127,
        pattern_steps: int = 1000000,
        diagnostics: int = 1000,
    ) -> Live[dict[str, Any]]: ...
    @overload
    def __new__(
        cls,
        *,
        mode: Mode = "lenient",
        schema: Schema | None = None,
        model: type[_M],
        items: str | None = None,
        release: Release = "confirmed",
        in_reasoning: bool = False,
        all_violations: bool = False,
        show_names: bool = False,
        line_bytes: int = 8388608,
        depth: int = 127,
        pattern_steps: int = 1000000,
        diagnostics: int = 1000,
    ) -> Live[_M]: ...
    @overload
    def __new__(
        cls,
        *,
        mode: Mode = "lenient",
        schema: Schema | None = None,
        model: Any,
        items: str | None = None,
        release: Release = "confirmed",
        in_reasoning: bool = False,
        all_violations: bool = False,
        show_names: bool = False,
        line_bytes: int = 8388608,
        depth: int = 127,
        pattern_steps: int = 1000000,
        diagnostics: int = 1000,
    ) -> Live[Any]: ...
    def push(self, chunk: Chunk) -> None:
        """Adds the next chunk, and applies it to the open record."""
    def finish(self) -> None:
        """Ends the text. Iterate once more for the last events."""
    @property
    def value(self) -> _T | None:
        """The open record: the same object while it grows, ``None`` between records.

        With a ``model`` it is a partial instance; see above.
        """
    @property
    def report(self) -> Report:
        """The counts and the first rejects so far."""
    def _repr_html_(self) -> str: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> ParserEvent[_T]: ...
    @classmethod
    def __class_getitem__(cls, key: Any) -> Any: ...

@final
class OpenCall:
    """A tool call that is still being written. It may still be rejected: wait for the ``ToolCall`` to run it."""

    __match_args__ = ("name", "parameters", "call_id")
    @property
    def name(self) -> str:
        """The tool's name."""
    @property
    def parameters(self) -> Any:
        """The parameters so far, the same object while they grow; ``None`` until they begin.

        For a tool that is a model or a function, a partial instance of the model, or a dict with values of the arguments'
        types, as in ``Live``; otherwise a dict.
        """
    @property
    def call_id(self) -> str | None:
        """The id from the provider, if it has arrived."""
    @property
    def choice(self) -> int:
        """The choice of the response, from 0."""
    @property
    def number(self) -> int:
        """The number of the call in its choice, from 1."""

@final
class ResponseParser(Generic[_T]):
    """Parses a provider's response, without I/O: push the bytes of the body, iterate over the events, finish.

    Takes the arguments of ``responses``, but those for whole sources. With ``call_updates``, ``open_calls`` shows the calls
    that are still being written.
    """

    @overload
    def __new__(
        cls,
        provider: Provider,
        *,
        mode: Mode = "lenient",
        schema: Schema | None = None,
        model: None = None,
        items: str | None = None,
        release: Release = "confirmed",
        in_reasoning: bool = False,
        all_violations: bool = False,
        show_names: bool = False,
        show_values: bool = False,
        tools: Tools | None = None,
        call_format: CallFormat | None = None,
        text_as: TextAs | None = None,
        call_updates: bool = False,
        line_bytes: int = 8388608,
        depth: int = 127,
        sse_line_bytes: int = 16777216,
        sse_event_bytes: int = 16777216,
        pattern_steps: int = 1000000,
        diagnostics: int = 1000,
    ) -> ResponseParser[dict[str, Any]]: ...
    @overload
    def __new__(
        cls,
        provider: Provider,
        *,
        mode: Mode = "lenient",
        schema: Schema | None = None,
        model: type[_M],
        items: str | None = None,
        release: Release = "confirmed",
        in_reasoning: bool = False,
        all_violations: bool = False,
        show_names: bool = False,
        show_values: bool = False,
        tools: Tools | None = None,
        call_format: CallFormat | None = None,
        text_as: TextAs | None = None,
        call_updates: bool = False,
        line_bytes: int = 8388608,
        depth: int = 127,
        sse_line_bytes: int = 16777216,
        sse_event_bytes: int = 16777216,
        pattern_steps: int = 1000000,
        diagnostics: int = 1000,
    ) -> ResponseParser[_M]: ...
    @overload
    def __new__(
        cls,
        provider: Provider,
        *,
        mode: Mode = "lenient",
        schema: Schema | None = None,
        model: Any,
        items: str | None = None,
        release: Release = "confirmed",
        in_reasoning: bool = False,
        all_violations: bool = False,
        show_names: bool = False,
        show_values: bool = False,
        tools: Tools | None = None,
        call_format: CallFormat | None = None,
        text_as: TextAs | None = None,
        call_updates: bool = False,
        line_bytes: int = 8388608,
        depth: int = 127,
        sse_line_bytes: int = 16777216,
        sse_event_bytes: int = 16777216,
        pattern_steps: int = 1000000,
        diagnostics: int = 1000,
    ) -> ResponseParser[Any]: ...
    def push(self, chunk: Chunk) -> None:
        """Adds the next bytes of the body."""
    def finish(self) -> None:
        """Ends the body. Iterate once more for the last events."""
    @property
    def open_calls(self) -> tuple[OpenCall, ...]:
        """The calls that have begun, up to the event last taken, in the order in which they began. Needs ``call_updates``."""
    @property
    def report(self) -> Report:
        """The counts and the first rejects so far."""
    def __iter__(self) -> Self: ...
    def __next__(self) -> ResponseEvent[_T]: ...
    @classmethod
    def __class_getitem__(cls, key: Any) -> Any: ...

@final
class SchemaValidator:
    """Validates JSON against a JSON Schema: drafts 4, 6, 7, 2019-09 and 2020-12, without network access.

    ``schema`` is a dict, JSON text, a bool, or a type that pydantic reads. Member names that the schema does not have
    are ``*`` in paths, because they may be private; ``show_names`` shows them. A pattern with look-around or a
    back-reference is searched for in at most ``pattern_steps`` steps; a text that takes more is a violation.

    >>> validator = SchemaValidator({"required": ["name"], "properties": {"age": {"minimum": 0}}})
    >>> [str(violation) for violation in validator.validate('{"age": -1}')]
    ['1:1: schema_violation: missing required member `name`', '1:9: schema_violation: less than the minimum 0 (at /age)']
    """

    def __new__(cls, schema: Schema, *, show_names: bool = False, pattern_steps: int = 1000000) -> Self: ...
    def validate(self, text: Chunk, *, at_most: int = 100) -> list[Reject]:
        """The violations of a JSON text, in the order of their places; empty if it is valid."""
    def is_valid(self, text: Chunk) -> bool:
        """Whether a JSON text fits the schema."""
    @property
    def schema(self) -> Any:
        """The schema."""

@final
class ToolSet:
    """Tool definitions that calls are validated against.

    ``tools`` is a list of definitions (``{"name", "description", "parameters"}``, OpenAI's, Anthropic's or Gemini's
    forms), of models and of functions (by pydantic), or JSON text. ``coerce`` converts the kinds of values that do
    not fit, such as a string that holds a number. ``pattern_steps`` is that of ``SchemaValidator``. Calls are checked
    against JSON Schemas: ``Invoice.model_validate(call.parameters)`` runs the validators of a tool that is a model.
    """

    def __new__(
        cls, tools: Tools, *, coerce: bool = False, show_names: bool = False, pattern_steps: int = 1000000
    ) -> Self: ...
    @property
    def names(self) -> list[str]:
        """The names of the tools, in the order of their definitions."""
    @property
    def definitions(self) -> list[dict[str, Any]]:
        """The definitions, to be sent to a model."""
    def validate_call(self, name: str, parameters: JsonText | dict[str, Any]) -> str | None:
        """The reason why a call is not valid, or ``None``."""
    def __len__(self) -> int: ...
    def __contains__(self, name: object, /) -> bool: ...

@final
class Stream(Generic[_T]):
    """An iterator over what a source's bytes hold.

    If the source raises an exception, what was complete before it is delivered first; then the exception is raised,
    once. A ``with`` block closes the source at its end.
    """

    def __new__(
        cls,
        kind: str,
        source: Iterable[Any] | str | bytes,
        provider: str | None,
        convert: Callable[[Any], bytes],
        settings: dict[str, Any] | None,
    ) -> Self: ...
    @property
    def report(self) -> Report:
        """The counts and the first rejects so far."""
    def close(self) -> None:
        """Ends here, and closes the source if it can be closed."""
    def _repr_html_(self) -> str: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> _T: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...
    @classmethod
    def __class_getitem__(cls, key: Any) -> Any: ...

@final
class Plan:
    """How an open record becomes a partial instance of its type. See ``tokenline._partial``."""

    def __new__(cls, nodes: list[tuple[Any, ...]]) -> Self: ...

@final
class Question:
    """A rejected record or call that the user is asked for."""

    @property
    def reject(self) -> Reject | RejectedCall: ...

@final
class Machinery(Generic[_T]):
    """The machine under an asynchronous stream."""

    def __new__(
        cls,
        kind: str,
        provider: str | None,
        convert: Callable[[Any], bytes],
        settings: dict[str, Any] | None,
    ) -> Self: ...
    def push(self, chunk: Any) -> None: ...
    def warn_of_name(self, chunk: str | bytes) -> None: ...
    def finish(self, failed: bool) -> None: ...
    def answer(self, question: Question, answer: str | None) -> list[_T | Question]: ...
    def is_terminated(self) -> bool: ...
    def expects_nothing(self) -> bool: ...
    @property
    def report(self) -> Report: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> _T | Question: ...
    @classmethod
    def __class_getitem__(cls, key: Any) -> Any: ...

@final
class Extractor:
    """The kernel with its options, compiled once for many batches. Usable from several threads."""

    def __new__(cls, schema: Schema | None = None, **options: Unpack[ExtractOptions]) -> Self: ...
    def extract(self, array: Any) -> Extracted | ExtractedStream:
        """Reads an array of text or bytes at once, or a stream of these while the result is read."""

    @property
    def output_type(self) -> OutputType:
        """The type of the output."""

    @property
    def tables(self) -> dict[str, list[str]]:
        """The lists of the output, which become tables, with the names of their columns."""

    @property
    def row_columns(self) -> list[str]:
        """The columns of the output that are no lists: `status`, and those of a batch."""

    def ddl(self) -> str:
        """The output's columns as Spark's DDL."""

    def duckdb_type(self) -> str:
        """The output's type in the words of DuckDB."""

@final
class Extracted:
    """The output for an array: an Arrow array of structs, one for each row of the input.

    `requested_schema` may ask for the same type with large strings, string views or large lists.
    """

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]: ...
    def __arrow_c_schema__(self) -> Any: ...
    def __len__(self) -> int: ...

@final
class ExtractedStream:
    """The output for a stream of arrays, which is read once, an array at a time.

    `requested_schema` may ask for the same type with large strings, string views or large lists.
    """

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...
    def __arrow_c_schema__(self) -> Any: ...
    def __arrow_array__(self, type: Any = None) -> Any: ...

@final
class OutputType:
    """The type of an output, for libraries that read `__arrow_c_schema__`."""

    def __arrow_c_schema__(self) -> Any: ...

_LineError = tuple[str, str, str, str, int]

@final
class ConversationChecker:
    """Checks lines of files of conversations. `validate_conversations` counts them, and finds duplicate ids."""

    def __new__(cls, profile: str, key: bytes) -> Self: ...
    def check(
        self, lines: Sequence[bytes]
    ) -> list[tuple[_LineError | None, _LineError | None, tuple[bytes, int, bytes, int] | None]]:
        """For each line, given without its line feed, two errors or facts; nothing if it is blank.

        The second error is that of the last line of a file without a line feed, which may have been cut off.
        """
