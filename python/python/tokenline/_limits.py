"""The limits, where none are given: those of the Rust crate."""

from typing import Final

LINE_BYTES: Final = 8 * 1024 * 1024
"""Longest line or open record."""
DEPTH: Final = 127
"""Deepest nesting, in containers."""
SSE_BYTES: Final = 16 * 1024 * 1024
"""Longest line, and most data of an event, of server-sent events."""
DIAGNOSTICS: Final = 1000
"""Most rejects and notes that a report keeps."""
