"""Sources of a stream: an iterable of chunks, a response of an HTTP client, or one chunk."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import Any, TypeVar

_T = TypeVar("_T")

_CHUNK = (bytes, bytearray, memoryview, str)


def iterate(stream: Any) -> Any:
    """The chunks of a stream that can be read without awaiting: an iterator, or the one chunk itself."""
    if type(stream) is str or type(stream) is bytes:
        return stream
    if isinstance(stream, _CHUNK):
        return iter((stream,))
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


def aiterate(stream: Any) -> AsyncIterator[Any]:
    """The chunks of any stream, asynchronous or not."""
    if isinstance(stream, _CHUNK):
        return _awaited(iter((stream,)))
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


def _not_iterable(expected: str, stream: Any) -> TypeError:
    if inspect.iscoroutine(stream):
        stream.close()
        return TypeError("`stream` is a coroutine: await it first")
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
