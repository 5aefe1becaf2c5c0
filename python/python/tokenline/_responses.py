"""The events of responses, and tool calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

from tokenline._async import AsyncStream
from tokenline._limits import DEPTH, DIAGNOSTICS, LINE_BYTES, SSE_BYTES
from tokenline._sdk import converter
from tokenline._sources import aiterate, iterate
from tokenline._tokenline import Machinery, Stream

if TYPE_CHECKING:
    from tokenline._tokenline import ToolCall
    from tokenline._types import AsyncSource, CallFormat, Mode, Release, ResponseEvent, Schema, Source, TextAs, Tools

_M = TypeVar("_M")


@overload
def responses(
    stream: Source,
    provider: str,
    *,
    schema: Schema | None = None,
    model: None = None,
    tools: Tools | None = None,
    call_format: CallFormat | None = None,
    text_as: TextAs | None = None,
    mode: Mode = "lenient",
    items: str | None = None,
    release: Release = "confirmed",
    line_bytes: int = LINE_BYTES,
    depth: int = DEPTH,
    sse_line_bytes: int = SSE_BYTES,
    sse_event_bytes: int = SSE_BYTES,
    diagnostics: int = DIAGNOSTICS,
) -> Stream[ResponseEvent[dict[str, Any]]]: ...
@overload
def responses(
    stream: Source,
    provider: str,
    *,
    schema: Schema | None = None,
    model: type[_M],
    tools: Tools | None = None,
    call_format: CallFormat | None = None,
    text_as: TextAs | None = None,
    mode: Mode = "lenient",
    items: str | None = None,
    release: Release = "confirmed",
    line_bytes: int = LINE_BYTES,
    depth: int = DEPTH,
    sse_line_bytes: int = SSE_BYTES,
    sse_event_bytes: int = SSE_BYTES,
    diagnostics: int = DIAGNOSTICS,
) -> Stream[ResponseEvent[_M]]: ...
@overload
def responses(
    stream: Source,
    provider: str,
    *,
    schema: Schema | None = None,
    model: Any,
    tools: Tools | None = None,
    call_format: CallFormat | None = None,
    text_as: TextAs | None = None,
    mode: Mode = "lenient",
    items: str | None = None,
    release: Release = "confirmed",
    line_bytes: int = LINE_BYTES,
    depth: int = DEPTH,
    sse_line_bytes: int = SSE_BYTES,
    sse_event_bytes: int = SSE_BYTES,
    diagnostics: int = DIAGNOSTICS,
) -> Stream[ResponseEvent[Any]]: ...
def responses(
    stream: Source,
    provider: str,
    *,
    schema: Schema | None = None,
    model: Any = None,
    tools: Tools | None = None,
    call_format: CallFormat | None = None,
    text_as: TextAs | None = None,
    mode: Mode = "lenient",
    items: str | None = None,
    release: Release = "confirmed",
    line_bytes: int = LINE_BYTES,
    depth: int = DEPTH,
    sse_line_bytes: int = SSE_BYTES,
    sse_event_bytes: int = SSE_BYTES,
    diagnostics: int = DIAGNOSTICS,
) -> Stream[ResponseEvent[Any]]:
    """Yields the events of a provider's response: records, tool calls, rejects, text, reasoning, usage, ...

    ``stream`` yields the bytes of the HTTP body (httpx, requests, the SDKs' ``with_streaming_response``), or the
    event objects of the provider's SDK. ``provider`` is one of ``PROVIDERS``. The text is read as records; with
    ``tools`` or a ``call_format``, as tool calls; ``text_as`` chooses. Native tool calls are always read, and
    validated against ``tools``. The other arguments are those of ``JsonlParser``.
    """
    settings = {
        "schema": schema,
        "model": model,
        "tools": tools,
        "call_format": call_format,
        "text_as": text_as,
        "mode": mode,
        "items": items,
        "release": release,
        "line_bytes": line_bytes,
        "depth": depth,
        "sse_line_bytes": sse_line_bytes,
        "sse_event_bytes": sse_event_bytes,
        "diagnostics": diagnostics,
    }
    convert = converter(provider)
    return Stream("responses", iterate(stream), provider, convert, settings)


@overload
def aresponses(
    stream: AsyncSource,
    provider: str,
    *,
    schema: Schema | None = None,
    model: None = None,
    tools: Tools | None = None,
    call_format: CallFormat | None = None,
    text_as: TextAs | None = None,
    mode: Mode = "lenient",
    items: str | None = None,
    release: Release = "confirmed",
    line_bytes: int = LINE_BYTES,
    depth: int = DEPTH,
    sse_line_bytes: int = SSE_BYTES,
    sse_event_bytes: int = SSE_BYTES,
    diagnostics: int = DIAGNOSTICS,
) -> AsyncStream[ResponseEvent[dict[str, Any]]]: ...
@overload
def aresponses(
    stream: AsyncSource,
    provider: str,
    *,
    schema: Schema | None = None,
    model: type[_M],
    tools: Tools | None = None,
    call_format: CallFormat | None = None,
    text_as: TextAs | None = None,
    mode: Mode = "lenient",
    items: str | None = None,
    release: Release = "confirmed",
    line_bytes: int = LINE_BYTES,
    depth: int = DEPTH,
    sse_line_bytes: int = SSE_BYTES,
    sse_event_bytes: int = SSE_BYTES,
    diagnostics: int = DIAGNOSTICS,
) -> AsyncStream[ResponseEvent[_M]]: ...
@overload
def aresponses(
    stream: AsyncSource,
    provider: str,
    *,
    schema: Schema | None = None,
    model: Any,
    tools: Tools | None = None,
    call_format: CallFormat | None = None,
    text_as: TextAs | None = None,
    mode: Mode = "lenient",
    items: str | None = None,
    release: Release = "confirmed",
    line_bytes: int = LINE_BYTES,
    depth: int = DEPTH,
    sse_line_bytes: int = SSE_BYTES,
    sse_event_bytes: int = SSE_BYTES,
    diagnostics: int = DIAGNOSTICS,
) -> AsyncStream[ResponseEvent[Any]]: ...
def aresponses(
    stream: AsyncSource,
    provider: str,
    *,
    schema: Schema | None = None,
    model: Any = None,
    tools: Tools | None = None,
    call_format: CallFormat | None = None,
    text_as: TextAs | None = None,
    mode: Mode = "lenient",
    items: str | None = None,
    release: Release = "confirmed",
    line_bytes: int = LINE_BYTES,
    depth: int = DEPTH,
    sse_line_bytes: int = SSE_BYTES,
    sse_event_bytes: int = SSE_BYTES,
    diagnostics: int = DIAGNOSTICS,
) -> AsyncStream[ResponseEvent[Any]]:
    """``responses`` for asynchronous sources. Closing it closes the source."""
    settings = {
        "schema": schema,
        "model": model,
        "tools": tools,
        "call_format": call_format,
        "text_as": text_as,
        "mode": mode,
        "items": items,
        "release": release,
        "line_bytes": line_bytes,
        "depth": depth,
        "sse_line_bytes": sse_line_bytes,
        "sse_event_bytes": sse_event_bytes,
        "diagnostics": diagnostics,
    }
    convert = converter(provider)
    machine: Machinery[ResponseEvent[Any]] = Machinery("responses", provider, convert, settings)
    return AsyncStream(machine, aiterate(stream))


def tool_calls(
    stream: Source,
    provider: str | None = None,
    tools: Tools | None = None,
    *,
    call_format: CallFormat = "auto",
    strict: bool = False,
    mode: Mode = "lenient",
    release: Release = "confirmed",
    line_bytes: int = LINE_BYTES,
    depth: int = DEPTH,
    diagnostics: int = DIAGNOSTICS,
) -> Stream[ToolCall]:
    """Yields the tool calls of a response, or of a text if there is no ``provider``.

    Calls that are malformed, truncated, or against the definitions in ``tools`` are counted in ``.report``; with
    ``strict`` the first raises ``RejectedError``.

    >>> [(call.name, call.parameters) for call in tool_calls('[now(zone="UTC")]')]
    [('now', {'zone': 'UTC'})]
    """
    settings = {
        "tools": tools,
        "call_format": call_format,
        "strict": strict,
        "mode": mode,
        "release": release,
        "line_bytes": line_bytes,
        "depth": depth,
        "diagnostics": diagnostics,
    }
    convert = None if provider is None else converter(provider)
    return Stream("tool_calls", iterate(stream), provider, convert, settings)


def atool_calls(
    stream: AsyncSource,
    provider: str | None = None,
    tools: Tools | None = None,
    *,
    call_format: CallFormat = "auto",
    strict: bool = False,
    mode: Mode = "lenient",
    release: Release = "confirmed",
    line_bytes: int = LINE_BYTES,
    depth: int = DEPTH,
    diagnostics: int = DIAGNOSTICS,
) -> AsyncStream[ToolCall]:
    """``tool_calls`` for asynchronous sources. Closing it closes the source."""
    settings = {
        "tools": tools,
        "call_format": call_format,
        "strict": strict,
        "mode": mode,
        "release": release,
        "line_bytes": line_bytes,
        "depth": depth,
        "diagnostics": diagnostics,
    }
    convert = None if provider is None else converter(provider)
    machine: Machinery[ToolCall] = Machinery("tool_calls", provider, convert, settings)
    return AsyncStream(machine, aiterate(stream))
