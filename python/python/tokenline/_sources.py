"""Sources of a stream: an iterable of chunks, a response of an HTTP client, or one chunk."""

from __future__ import annotations

import inspect
import os
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from tokenline._tokenline import Machinery

_T = TypeVar("_T")

_CHUNK = (bytes, bytearray, memoryview, str)


def iterate(stream: Any) -> Any:
    """The chunks of a stream that can be read without awaiting: an iterator, or the one chunk itself."""
    if type(stream) is str or type(stream) is bytes:
        return stream
    if isinstance(stream, _CHUNK):
        return iter((stream,))
    _check(stream)
    # httpx and the raw responses of SDKs; requests.
    for name, arguments in (("iter_bytes", {}), ("iter_content", {"chunk_size": None})):
        method = getattr(stream, name, None)
        if method is not None and not inspect.iscoroutinefunction(method):
            chunks = method(**arguments)
            if isinstance(chunks, Iterable):
                return iter(chunks)
    if isinstance(stream, Iterable):
        return iter(stream)
    if hasattr(stream, "__aiter__") or hasattr(stream, "aiter_bytes"):
        name = type(stream).__qualname__
        raise TypeError(f"`stream` is asynchronous ({name}): use the function whose name begins with `a`")
    raise _not_iterable("an iterable", stream)


def aiterate(stream: Any, machine: Machinery[Any]) -> AsyncIterator[Any]:
    """The chunks of any stream, asynchronous or not, for a machine."""
    if isinstance(stream, _CHUNK):
        if isinstance(stream, (str, bytes)):
            machine.warn_of_name(stream)
        return _awaited(iter((stream,)))
    _check(stream)
    # httpx; the raw responses of SDKs, whose asynchronous `iter_bytes` has the same name as the other.
    for name in ("aiter_bytes", "iter_bytes"):
        method = getattr(stream, name, None)
        if method is not None:
            chunks = method()
            if isinstance(chunks, AsyncIterable):
                return chunks.__aiter__()
    # aiohttp.
    iter_any = getattr(getattr(stream, "content", None), "iter_any", None)
    if iter_any is not None:
        any_chunks: AsyncIterable[Any] = iter_any()
        return any_chunks.__aiter__()
    if isinstance(stream, AsyncIterable):
        return stream.__aiter__()
    if isinstance(stream, Iterable):
        return _awaited(iter(stream))
    raise _not_iterable("an (async) iterable", stream)


def _check(stream: Any) -> None:
    """Refuses what can be iterated over, but is no stream: a type, a path, a mapping, a complete response."""
    if type(stream) is list or hasattr(stream, "__next__"):
        return
    if isinstance(stream, type):
        raise TypeError(f"`stream` is the type {type_name(stream)}: pass the response that the client returns")
    if isinstance(stream, os.PathLike):
        raise TypeError(f"`stream` is a path ({type(stream).__qualname__}): pass the open file, as with open(path, 'rb')")
    if isinstance(stream, Mapping):
        name = type_name(type(stream))
        raise TypeError(f"`stream` is one {name}, not a stream: pass a complete response as its JSON text")
    if hasattr(stream, "model_dump_json"):
        name = type_name(type(stream))
        raise TypeError(
            f"`stream` is one {name}, not a stream: ask for a stream (stream=True), or pass the JSON text of a complete "
            "response, which model_dump_json() returns"
        )


def type_name(of: type[Any]) -> str:
    """The name of a type, with its module if that is not Python's own."""
    return of.__qualname__ if of.__module__ == "builtins" else f"{of.__module__}.{of.__qualname__}"


def _not_iterable(expected: str, stream: Any) -> TypeError:
    if inspect.iscoroutine(stream):
        stream.close()
        return TypeError("`stream` is a coroutine: await it first")
    for method, word in (("__enter__", "with"), ("__aenter__", "async with")):
        if hasattr(stream, method):
            name = type_name(type(stream))
            return TypeError(f"`stream` is a context manager ({name}): pass what `{word} ... as response` yields")
    return TypeError(f"`stream` must be {expected} of bytes or str, not {type(stream).__qualname__}")


async def _awaited(chunks: Iterator[_T]) -> AsyncIterator[_T]:
    try:
        for chunk in chunks:
            yield chunk
    finally:
        close = getattr(chunks, "close", None)
        if close is not None:
            close()


async def aclose(source: AsyncIterator[Any]) -> None:
    """Closes a source, if it can be closed."""
    close = getattr(source, "aclose", None)
    if close is not None:
        await close()
