"""The asynchronous stream."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tokenline._sources import aclose
from tokenline._tokenline import Machinery, Question, Report

if TYPE_CHECKING:
    from tokenline._asking import Asking, Pump
    from tokenline._types import Reask

_T = TypeVar("_T")

_NOTHING = object()


class AsyncStream(Generic[_T]):
    """An asynchronous iterator over what a source's bytes hold. See :class:`Stream`."""

    def __init__(self, machine: Machinery[_T], source: AsyncIterator[Any], reask: Reask | None = None) -> None:
        self._machine = machine
        self._source: AsyncIterator[Any] | None = source
        self._failure: Exception | None = None
        self._is_reading = False
        self._was_interrupted = False
        self._is_over = False
        self._asking: Asking[_T] | None = None
        self._pump: Pump | None = None
        if reask is not None:
            # It needs asyncio, which the rest does not.
            from tokenline._asking import Asking

            self._asking = Asking(reask, machine)

    @property
    def report(self) -> Report:
        """The counts and the first rejects so far."""
        return self._machine.report

    def _repr_html_(self) -> str:
        from tokenline._html import stream

        return stream(self)

    def __aiter__(self) -> AsyncStream[_T]:
        return self

    async def __anext__(self) -> _T:
        self._check_alone()
        while not self._is_over:
            try:
                if self._asking is not None and self._asking.has_answer():
                    return self._asking.take()
                for value in self._machine:
                    if not isinstance(value, Question):
                        return value
                    if self._asking is not None:
                        self._asking.add(value)
                if self._asking is not None and self._asking.has_answer():
                    continue
                if self._source is not None and not (self._asking and self._asking.is_full):
                    await self._read(self._source)
                elif self._asking is None or self._asking.is_idle:
                    break
                else:
                    await self._wait(self._asking)
            except Exception:
                # A reject of a strict stream, or an item that is not a chunk.
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
        self._is_reading = True
        try:
            chunk = await source.__anext__() if self._asking is None else await self._read_beside(source, self._asking)
        except StopAsyncIteration:
            self._source = None
            # A generator is over after an interrupt, whatever it still had.
            is_cut = self._was_interrupted and not self._machine.is_terminated()
            self._machine.finish(failed=is_cut)
            if is_cut:
                self._failure = RuntimeError("the source ended when it was interrupted: the rest of it is missing")
        except Exception as error:
            self._source = None
            is_whole = self._machine.is_terminated()
            self._machine.finish(failed=not is_whole)
            # A source that fails after the end of what it sent loses nothing.
            self._failure = None if is_whole else error
        except BaseException:
            # A read beside questions goes on.
            self._was_interrupted = self._asking is None
            raise
        else:
            self._was_interrupted = False
            if chunk is not _NOTHING:
                self._machine.push(chunk)
        finally:
            self._is_reading = False

    async def _read_beside(self, source: AsyncIterator[Any], asking: Asking[_T]) -> Any:
        """The next chunk, unless an answer comes first."""
        if self._pump is None:
            from tokenline._asking import Pump

            self._pump = Pump(source)
        chunk = self._pump.read()
        await asking.wait(chunk)
        if not chunk.done():
            return _NOTHING
        self._pump.taken()
        is_chunk, read = chunk.result()
        if not is_chunk:
            raise StopAsyncIteration
        return read

    async def _wait(self, asking: Asking[_T]) -> None:
        self._is_reading = True
        try:
            await asking.wait()
        finally:
            self._is_reading = False

    def _check_alone(self) -> None:
        if self._is_reading:
            raise RuntimeError("another task is reading this stream")

    async def _end(self, source: AsyncIterator[Any], *, failed: bool) -> None:
        self._source = None
        self._machine.finish(failed=failed)
        await self._close_source(source)

    async def _close_source(self, source: AsyncIterator[Any]) -> None:
        if self._pump is None:
            await aclose(source)
        else:
            await self._pump.close()
            self._pump = None

    async def aclose(self) -> None:
        """Ends here, and closes the source: a response's connection closes."""
        self._check_alone()
        self._is_over, self._failure = True, None
        source, self._source = self._source, None
        try:
            if self._asking is not None:
                await self._asking.close()
        finally:
            if source is not None:
                await self._close_source(source)
            elif self._pump is not None:
                # An earlier close was cancelled.
                await self._pump.close()
                self._pump = None

    def __del__(self) -> None:
        # Nobody takes what is still awaited.
        for awaited in (self._asking, self._pump):
            if awaited is not None:
                with contextlib.suppress(RuntimeError):
                    awaited.cancel()

    async def __aenter__(self) -> AsyncStream[_T]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

