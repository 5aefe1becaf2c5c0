"""The values of the records in a text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

from tokenline._async import AsyncStream
from tokenline._limits import DEPTH, DIAGNOSTICS, LINE_BYTES
from tokenline._sources import aiterate, iterate
from tokenline._tokenline import Machinery, Stream

if TYPE_CHECKING:
    from tokenline._types import AsyncSource, Mode, Release, Schema, Source

_M = TypeVar("_M")


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
    line_bytes: int = LINE_BYTES,
    depth: int = DEPTH,
    diagnostics: int = DIAGNOSTICS,
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
    line_bytes: int = LINE_BYTES,
    depth: int = DEPTH,
    diagnostics: int = DIAGNOSTICS,
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
    line_bytes: int = LINE_BYTES,
    depth: int = DEPTH,
    diagnostics: int = DIAGNOSTICS,
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
    line_bytes: int = LINE_BYTES,
    depth: int = DEPTH,
    diagnostics: int = DIAGNOSTICS,
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
    line_bytes: int = LINE_BYTES,
    depth: int = DEPTH,
    diagnostics: int = DIAGNOSTICS,
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
    line_bytes: int = LINE_BYTES,
    depth: int = DEPTH,
    diagnostics: int = DIAGNOSTICS,
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
    line_bytes: int = LINE_BYTES,
    depth: int = DEPTH,
    diagnostics: int = DIAGNOSTICS,
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
    line_bytes: int = LINE_BYTES,
    depth: int = DEPTH,
    diagnostics: int = DIAGNOSTICS,
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
