"""The exceptions of the package."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenline._tokenline import Reject
    from tokenline._types import Code


class TokenlineError(Exception):
    """The base of the package's own exceptions."""


class SchemaError(TokenlineError, ValueError):
    """A schema or a tool definition cannot be used. The message names the argument, the reason and the place."""


class TooManyRejectedError(TokenlineError):
    """A stream rejected more than its `error_budget` allows, and was ended. What came before was delivered."""

    allowed: int
    """The most rejects that were allowed."""
    reject: Reject
    """The reject that was one too many."""

    def __init__(self, allowed: int, reject: Reject) -> None:
        super().__init__(allowed, reject)
        self.allowed = allowed
        self.reject = reject

    def __str__(self) -> str:
        return f"the stream was ended: more than {self.allowed} rejected, the last of them at {self.reject}"


class RejectedError(TokenlineError):
    """A strict stream met a reject.

    The attributes are those of the reject; ``str()`` is its line, as the program prints it.
    """

    reject: Reject
    code: Code
    line: int
    column: int
    start: int
    end: int
    message: str
    instance_path: str | None
    schema_path: str | None

    def __init__(self, reject: Reject) -> None:
        super().__init__(reject)
        self.reject = reject
        self.code = reject.code
        self.line = reject.line
        self.column = reject.column
        self.start = reject.start
        self.end = reject.end
        self.message = reject.message
        self.instance_path = reject.instance_path
        self.schema_path = reject.schema_path

    def __str__(self) -> str:
        return str(self.reject)
