"""Streams over sources: values of records, events of responses, tool calls."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from tokenline._sdk import converter
from tokenline._sources import aiterate, iterate
from tokenline._tokenline import Machinery, Report, Stream

if TYPE_CHECKING:
    from tokenline._tokenline import ToolCall
    from tokenline._types import AsyncSource, CallFormat, Mode, Release, ResponseEvent, Schema, Source, TextAs, Tools

_T = TypeVar("_T")
_M = TypeVar("_M")

_LINE_BYTES = 8 * 1024 * 1024
_SSE_BYTES = 16 * 1024 * 1024
_DEPTH = 127
_DIAGNOSTICS = 1000


class AsyncStream(Generic[_T]):
    """An asynchronous iterator over what a source's bytes hold. See :class:`Stream`."""

    def __init__(self, machine: Machinery[_T], source: AsyncIterator[Any]) -> None:
        self._machine = machine
        self._source: AsyncIterator[Any] | None = source
        self._failure: Exception | None = None
        self._is_over = False

    @property
    def report(self) -> Report:
        """The counts and the first rejects so far."""
        return self._machine.report

    def __aiter__(self) -> AsyncStream[_T]:
        return self

    async def __anext__(self) -> _T:
        while not self._is_over:
            try:
                for value in self._machine:
                    return value
                if self._source is None:
                    break
                await self._read(self._source)
            except Exception:
                # A reject of a strict stream, or a chunk that is none.
                await self.aclose()
                raise
        self._is_over = True
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        raise StopAsyncIteration

    async def _read(self, source: AsyncIterator[Any]) -> None:
        if self._machine.expects_nothing():
            await self._end(source, failed=False)
            return
        try:
            chunk = await source.__anext__()
        except StopAsyncIteration:
            self._source = None
            self._machine.finish(failed=False)
        except Exception as error:
            self._source = None
            is_whole = self._machine.is_terminated()
            self._machine.finish(failed=not is_whole)
            # A source that fails after the end of what it sent loses nothing.
            self._failure = None if is_whole else error
        else:
            self._machine.push(chunk)

    async def _end(self, source: AsyncIterator[Any], *, failed: bool) -> None:
        self._source = None
        self._machine.finish(failed=failed)
        await _aclose(source)

    async def aclose(self) -> None:
        """Ends here, and closes the source: a response's connection closes."""
        self._is_over, self._failure = True, None
        source, self._source = self._source, None
        if source is not None:
            await _aclose(source)

    async def __aenter__(self) -> AsyncStream[_T]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()


async def _aclose(source: AsyncIterator[Any]) -> None:
    aclose = getattr(source, "aclose", None)
    if aclose is not None:
        await aclose()


@overload
def records(
    stream: Source,
    schema: Schema | None = None,
    model: None = None,
    *,
    strict: bool = False,
    mode: Mode = "lenient",
    items: str | None = None,
    release: Release = "confirmed",
    line_bytes: int = _LINE_BYTES,
    depth: int = _DEPTH,
    diagnostics: int = _DIAGNOSTICS,
) -> Stream[dict[str, Any]]: ...
@overload
def records(
    stream: Source,
    schema: Schema | None = None,
    model: type[_M] = ...,
    *,
    strict: bool = False,
    mode: Mode = "lenient",
    items: str | None = None,
    release: Release = "confirmed",
    line_bytes: int = _LINE_BYTES,
    depth: int = _DEPTH,
    diagnostics: int = _DIAGNOSTICS,
) -> Stream[_M]: ...
@overload
def records(
    stream: Source,
    schema: Schema | None = None,
    model: Any = ...,
    *,
    strict: bool = False,
    mode: Mode = "lenient",
    items: str | None = None,
    release: Release = "confirmed",
    line_bytes: int = _LINE_BYTES,
    depth: int = _DEPTH,
    diagnostics: int = _DIAGNOSTICS,
) -> Stream[Any]: ...
def records(
    stream: Source,
    schema: Schema | None = None,
    model: Any = None,
    *,
    strict: bool = False,
    mode: Mode = "lenient",
    items: str | None = None,
    release: Release = "confirmed",
    line_bytes: int = _LINE_BYTES,
    depth: int = _DEPTH,
    diagnostics: int = _DIAGNOSTICS,
) -> Stream[Any]:
    """Yields the values of the records in a text: dicts, or instances of ``model``.

    ``stream`` is an iterable of bytes or str: a file, an HTTP response of httpx, requests or urllib, a list of chunks,
    or one chunk. Rejects are counted in ``.report`` of the iterator; with ``strict`` the first raises
    ``RejectedError``. The other arguments are those of ``JsonlParser``.

    >>> stream = records(['{"a": 1}\\n{"a"', ': NaN}\\n{"a": 3}'])
    >>> list(stream), [str(reject) for reject in stream.report.rejects]
    ([{'a': 1}, {'a': 3}], ['2:7: malformed_json: expected a value, found a letter'])
    """
    settings = {
        "schema": schema,
        "model": model,
        "strict": strict,
        "mode": mode,
        "items": items,
        "release": release,
        "line_bytes": line_bytes,
        "depth": depth,
        "diagnostics": diagnostics,
    }
    return Stream("records", iterate(stream), None, None, settings)


@overload
def arecords(
    stream: AsyncSource,
    schema: Schema | None = None,
    model: None = None,
    *,
    strict: bool = False,
    mode: Mode = "lenient",
    items: str | None = None,
    release: Release = "confirmed",
    line_bytes: int = _LINE_BYTES,
    depth: int = _DEPTH,
    diagnostics: int = _DIAGNOSTICS,
) -> AsyncStream[dict[str, Any]]: ...
@overload
def arecords(
    stream: AsyncSource,
    schema: Schema | None = None,
    model: type[_M] = ...,
    *,
    strict: bool = False,
    mode: Mode = "lenient",
    items: str | None = None,
    release: Release = "confirmed",
    line_bytes: int = _LINE_BYTES,
    depth: int = _DEPTH,
    diagnostics: int = _DIAGNOSTICS,
) -> AsyncStream[_M]: ...
@overload
def arecords(
    stream: AsyncSource,
    schema: Schema | None = None,
    model: Any = ...,
    *,
    strict: bool = False,
    mode: Mode = "lenient",
    items: str | None = None,
    release: Release = "confirmed",
    line_bytes: int = _LINE_BYTES,
    depth: int = _DEPTH,
    diagnostics: int = _DIAGNOSTICS,
) -> AsyncStream[Any]: ...
def arecords(
    stream: AsyncSource,
    schema: Schema | None = None,
    model: Any = None,
    *,
    strict: bool = False,
    mode: Mode = "lenient",
    items: str | None = None,
    release: Release = "confirmed",
    line_bytes: int = _LINE_BYTES,
    depth: int = _DEPTH,
    diagnostics: int = _DIAGNOSTICS,
) -> AsyncStream[Any]:
    """``records`` for asynchronous sources, such as an httpx or aiohttp response; others are read as well.

    Closing it (``aclose``, or the end of an ``async with`` block) closes the source.
    """
    settings = {
        "schema": schema,
        "model": model,
        "strict": strict,
        "mode": mode,
        "items": items,
        "release": release,
        "line_bytes": line_bytes,
        "depth": depth,
        "diagnostics": diagnostics,
    }
    machine: Machinery[Any] = Machinery("records", None, None, settings)
    return AsyncStream(machine, aiterate(stream))


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
    line_bytes: int = _LINE_BYTES,
    depth: int = _DEPTH,
    sse_line_bytes: int = _SSE_BYTES,
    sse_event_bytes: int = _SSE_BYTES,
    diagnostics: int = _DIAGNOSTICS,
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
    line_bytes: int = _LINE_BYTES,
    depth: int = _DEPTH,
    sse_line_bytes: int = _SSE_BYTES,
    sse_event_bytes: int = _SSE_BYTES,
    diagnostics: int = _DIAGNOSTICS,
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
    line_bytes: int = _LINE_BYTES,
    depth: int = _DEPTH,
    sse_line_bytes: int = _SSE_BYTES,
    sse_event_bytes: int = _SSE_BYTES,
    diagnostics: int = _DIAGNOSTICS,
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
    line_bytes: int = _LINE_BYTES,
    depth: int = _DEPTH,
    sse_line_bytes: int = _SSE_BYTES,
    sse_event_bytes: int = _SSE_BYTES,
    diagnostics: int = _DIAGNOSTICS,
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
    line_bytes: int = _LINE_BYTES,
    depth: int = _DEPTH,
    sse_line_bytes: int = _SSE_BYTES,
    sse_event_bytes: int = _SSE_BYTES,
    diagnostics: int = _DIAGNOSTICS,
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
    line_bytes: int = _LINE_BYTES,
    depth: int = _DEPTH,
    sse_line_bytes: int = _SSE_BYTES,
    sse_event_bytes: int = _SSE_BYTES,
    diagnostics: int = _DIAGNOSTICS,
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
    line_bytes: int = _LINE_BYTES,
    depth: int = _DEPTH,
    sse_line_bytes: int = _SSE_BYTES,
    sse_event_bytes: int = _SSE_BYTES,
    diagnostics: int = _DIAGNOSTICS,
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
    line_bytes: int = _LINE_BYTES,
    depth: int = _DEPTH,
    sse_line_bytes: int = _SSE_BYTES,
    sse_event_bytes: int = _SSE_BYTES,
    diagnostics: int = _DIAGNOSTICS,
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
    line_bytes: int = _LINE_BYTES,
    depth: int = _DEPTH,
    diagnostics: int = _DIAGNOSTICS,
) -> Stream[ToolCall]:
    """Yields the tool calls of a response, or of a text if there is no ``provider``.

    Calls that are malformed, truncated, or against the definitions in ``tools`` are counted in ``.report``; with
    ``strict`` the first raises ``RejectedError``.

    >>> [(call.name, call.parameters) for call in tool_calls("<tool_call>{\"name\":\"now\",\"arguments\":{}}</tool_call>")]
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
    line_bytes: int = _LINE_BYTES,
    depth: int = _DEPTH,
    diagnostics: int = _DIAGNOSTICS,
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
