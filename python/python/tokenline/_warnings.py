"""Warnings about sources, at the line of the caller."""

from __future__ import annotations

import os
import sys
import warnings

_PACKAGE = os.path.dirname(__file__) + os.sep
_LONGEST_PATH = 4096


class SourceWarning(UserWarning):
    """A source is not what it was passed as, so that little or nothing of it can be read.

    The message says what the source looks like, and what to pass instead. There is at most one for each stream.
    """


def warn(message: str) -> None:
    """Warns at the innermost line outside the package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    # The first level is this function.
    warnings.warn(message, SourceWarning, stacklevel=level + 1)


def warn_of_name(stream: str | bytes) -> bool:
    """Warns of one chunk that is the name of a file or an address, not a text. Returns whether it is."""
    if len(stream) > _LONGEST_PATH:
        return False
    name = os.fsdecode(stream)
    if "{" in name or "\n" in name:
        return False
    if name.startswith(("http://", "https://")) and " " not in name:
        warn("`stream` is an address, and is read as text: pass the HTTP response, such as that of httpx.stream()")
        return True
    if _is_file(name):
        warn("`stream` is the name of a file, and is read as text: pass the open file, as with open(path, 'rb')")
        return True
    return False


def _is_file(name: str) -> bool:
    try:
        return os.path.isfile(name)
    except ValueError:
        return False
