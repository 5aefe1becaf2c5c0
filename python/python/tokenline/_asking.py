"""Asking for what was rejected, beside an asynchronous stream."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections import deque
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tokenline._exceptions import RejectedError
from tokenline._tokenline import Question

if TYPE_CHECKING:
    from tokenline._tokenline import Machinery
    from tokenline._types import Reask

_T = TypeVar("_T")

MAX_IN_FLIGHT = 4
"""The most functions of the user's that are awaited at a time."""
MAX_WAITING = 1024
"""The most questions that wait, before no more of the source is read."""


class Asking(Generic[_T]):
    """The questions of a machine, and the read that goes on beside them."""

    def __init__(self, function: Reask, machine: Machinery[_T]) -> None:
        self._function = function
        self._machine = machine
        self._waiting: deque[Question] = deque()
        self._asked: dict[asyncio.Future[str | None], Question] = {}
        self._reading: asyncio.Future[tuple[bool, Any]] | None = None
        self._answered: deque[_T] = deque()

    @property
    def is_idle(self) -> bool:
        return not (self._waiting or self._asked or self._answered)

    @property
    def is_full(self) -> bool:
        return len(self._waiting) >= MAX_WAITING

    @property
    def is_reading(self) -> bool:
        return self._reading is not None

    def add(self, question: Question) -> None:
        self._waiting.append(question)

    def has_answer(self) -> bool:
        """Takes the answers that are there, and asks on."""
        for answer in [answer for answer in self._asked if answer.done()]:
            question = self._asked.pop(answer)
            try:
                text = answer.result()
            except BaseException:
                self._waiting.appendleft(question)
                raise
            self._answer(question, text)
        while self._waiting and len(self._asked) < MAX_IN_FLIGHT:
            self._ask(self._waiting[0])
        return bool(self._answered)

    def take(self) -> _T:
        """What takes the place of a reject."""
        return self._answered.popleft()

    def _ask(self, question: Question) -> None:
        answer = self._function(question.reject)
        self._waiting.popleft()
        if inspect.isawaitable(answer):
            self._asked[asyncio.ensure_future(answer)] = question
        else:
            self._answer(question, answer)

    def _answer(self, question: Question, text: str | None) -> None:
        for value in self._machine.answer(question, text):
            if isinstance(value, Question):
                self._waiting.appendleft(value)
            else:
                self._answered.append(value)

    async def wait(self) -> None:
        """Waits for an answer."""
        if self._asked:
            await asyncio.wait(self._asked, return_when=asyncio.FIRST_COMPLETED)

    async def read(self, source: AsyncIterator[Any]) -> tuple[bool, Any] | None:
        """Reads on in the source, and waits for an answer: whether there is a chunk, and the chunk."""
        if self._reading is None:
            self._reading = asyncio.ensure_future(_next(source))
        awaited: list[asyncio.Future[Any]] = [self._reading, *self._asked]
        await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
        if not self._reading.done():
            return None
        reading, self._reading = self._reading, None
        return reading.result()

    async def close(self) -> None:
        """Ends what is awaited. Its rejects are final."""
        open_questions = [*self._asked.values(), *self._waiting]
        awaited = [future for future in (*self._asked, self._reading) if future is not None]
        self._asked, self._reading = {}, None
        self._waiting.clear()
        for future in awaited:
            future.cancel()
        await asyncio.gather(*awaited, return_exceptions=True)
        for question in open_questions:
            with contextlib.suppress(RejectedError):
                self._machine.answer(question, None)
        self._answered.clear()


async def _next(source: AsyncIterator[Any]) -> tuple[bool, Any]:
    try:
        return True, await source.__anext__()
    except StopAsyncIteration:
        return False, None
