"""Asking for what was rejected, beside an asynchronous stream."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections import deque
from collections.abc import AsyncIterator, Awaitable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tokenline._exceptions import RejectedError
from tokenline._sources import aclose
from tokenline._tokenline import Question

if TYPE_CHECKING:
    from tokenline._tokenline import Machinery
    from tokenline._types import Reask

_T = TypeVar("_T")

MAX_IN_FLIGHT = 4
"""The most answers that are awaited at a time."""
MAX_WAITING = 1024
"""The most questions that wait, before no more of the source is read."""


class Asking(Generic[_T]):
    """The questions of a machine, and their answers."""

    def __init__(self, function: Reask, machine: Machinery[_T]) -> None:
        self._function = function
        self._machine = machine
        self._waiting: deque[Question] = deque()
        self._awaited: list[tuple[Question, asyncio.Future[str | None]]] = []
        self._answered: deque[_T] = deque()

    @property
    def is_idle(self) -> bool:
        return not (self._waiting or self._awaited or self._answered)

    @property
    def is_full(self) -> bool:
        return len(self._waiting) >= MAX_WAITING

    def add(self, question: Question) -> None:
        self._waiting.append(question)

    def has_answer(self) -> bool:
        """Takes an answer that is there, and asks on."""
        while not self._answered:
            if len(self._awaited) < MAX_IN_FLIGHT and self._waiting:
                self._ask(self._waiting.popleft())
                continue
            done = [at for at, (_, answer) in enumerate(self._awaited) if answer.done()]
            if not done:
                return False
            # What is there comes before an exception.
            at = next((at for at in done if not _has_failed(self._awaited[at][1])), done[0])
            question, answer = self._awaited.pop(at)
            with self._kept(question):
                if answer.cancelled():
                    raise RuntimeError("`reask` was cancelled")
                text = answer.result()
            self._answer(question, text)
        return True

    def take(self) -> _T:
        """What takes the place of a reject."""
        return self._answered.popleft()

    def _ask(self, question: Question) -> None:
        with self._kept(question):
            answer = self._function(question.reject)
            if inspect.isawaitable(answer):
                self._awaited.append((question, _started(answer)))
                return
        self._answer(question, answer)

    def _answer(self, question: Question, text: str | None) -> None:
        try:
            values = self._machine.answer(question, text)
        except RejectedError:
            # It has been counted.
            raise
        except BaseException:
            self._waiting.appendleft(question)
            raise
        for value in values:
            if isinstance(value, Question):
                self._waiting.appendleft(value)
            else:
                self._answered.append(value)

    @contextlib.contextmanager
    def _kept(self, question: Question) -> Any:
        """Keeps a question that fails, so that it counts once the stream is closed."""
        try:
            yield
        except (StopIteration, StopAsyncIteration) as error:
            self._waiting.appendleft(question)
            # They would end the stream.
            raise RuntimeError(f"`reask` raised {type(error).__name__}") from error
        except BaseException:
            self._waiting.appendleft(question)
            raise

    async def wait(self, *others: asyncio.Future[Any]) -> None:
        """Waits for an answer, or for one of the others."""
        awaited: list[asyncio.Future[Any]] = [*others, *(answer for _, answer in self._awaited)]
        await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)

    async def close(self) -> None:
        """Ends what is awaited. Its rejects are final."""
        try:
            self.cancel()
            if self._awaited:
                await asyncio.gather(*(answer for _, answer in self._awaited), return_exceptions=True)
        finally:
            questions = [*(question for question, _ in self._awaited), *self._waiting]
            self._awaited.clear()
            self._waiting.clear()
            for question in questions:
                with contextlib.suppress(RejectedError):
                    self._machine.answer(question, None)
            self._answered.clear()

    def cancel(self) -> None:
        for _, answer in self._awaited:
            answer.cancel()


class Pump:
    """Reads a source in a task of its own, a chunk at a time: scopes in the source begin and end in one task."""

    def __init__(self, source: AsyncIterator[Any]) -> None:
        self._source = source
        self._wanted = asyncio.Event()
        self._chunk: asyncio.Future[tuple[bool, Any]] | None = None
        self._has_begun = False
        self._is_closed = False
        self._task = _started(self._run())

    def read(self) -> asyncio.Future[tuple[bool, Any]]:
        """Whether there is a chunk, and the chunk."""
        if self._chunk is None:
            self._chunk = asyncio.get_running_loop().create_future()
            if self._task.done():
                self._set(RuntimeError("the source was closed, or was read in another event loop"))
            self._wanted.set()
        return self._chunk

    def taken(self) -> None:
        """The chunk was taken: the next read is of the next one."""
        self._chunk = None

    async def _run(self) -> None:
        self._has_begun = True
        try:
            while not self._is_closed:
                try:
                    await self._wanted.wait()
                except asyncio.CancelledError:
                    # A scope of the source has ended while nobody reads.
                    if self._is_closed:
                        raise
                    continue
                self._wanted.clear()
                try:
                    read = (True, await self._source.__anext__())
                except StopAsyncIteration:
                    self._set((False, None))
                    return
                except asyncio.CancelledError as error:
                    if self._is_closed:
                        raise
                    self._set(error)
                except StopIteration as error:
                    self._set(RuntimeError("the source raised StopIteration"), cause=error)
                except Exception as error:
                    self._set(error)
                    return
                except BaseException as error:
                    self._set(error)
                    raise
                else:
                    self._set(read)
        finally:
            if self._chunk is not None:
                self._chunk.cancel()
            await aclose(self._source)

    def _set(self, read: tuple[bool, Any] | BaseException, cause: BaseException | None = None) -> None:
        chunk = self._chunk
        if chunk is None or chunk.done():
            return
        if isinstance(read, BaseException):
            read.__cause__ = cause or read.__cause__
            chunk.set_exception(read)
            # It is raised where the chunk is taken, if it is.
            chunk.exception()
        else:
            chunk.set_result(read)

    async def close(self) -> None:
        """Ends the read, and closes the source in the task that reads it."""
        self.cancel()
        await asyncio.wait([self._task])
        if not self._has_begun:
            await aclose(self._source)
        elif not self._task.cancelled() and (error := self._task.exception()) is not None:
            raise error

    def cancel(self) -> None:
        self._is_closed = True
        self._task.cancel()


def _has_failed(answer: asyncio.Future[Any]) -> bool:
    return answer.cancelled() or answer.exception() is not None


def _started(awaitable: Awaitable[_T]) -> asyncio.Future[_T]:
    try:
        future = asyncio.ensure_future(awaitable)
    except RuntimeError:
        # There is no event loop of asyncio.
        if inspect.iscoroutine(awaitable):
            awaitable.close()
        raise
    # Its exception is raised where it is taken, if it is.
    future.add_done_callback(lambda done: done.cancelled() or done.exception())
    return future
