"""Typed objects and tool calls from a language model's byte stream, the moment each is complete."""

from tokenline._async import AsyncStream
from tokenline._exceptions import RejectedError, SchemaError, TokenlineError
from tokenline._records import arecords, records
from tokenline._responses import aresponses, atool_calls, responses, tool_calls
from tokenline._tokenline import (
    PROVIDERS,
    Finish,
    JsonlParser,
    Live,

    Note,
    Reasoning,
    Record,
    Refusal,
    Reject,
    RejectedCall,
    Report,
    ResponseParser,
    SchemaValidator,
    Stream,
    Text,
    ToolCall,
    ToolSet,
    Usage,
    __version__,
)

__all__ = [
    "PROVIDERS",
    "AsyncStream",
    "Finish",
    "JsonlParser",
    "Live",
    "Note",
    "Reasoning",
    "Record",
    "Refusal",
    "Reject",
    "RejectedCall",
    "RejectedError",
    "Report",
    "ResponseParser",
    "SchemaError",
    "SchemaValidator",
    "Stream",
    "Text",
    "TokenlineError",
    "ToolCall",
    "ToolSet",
    "Usage",
    "__version__",
    "arecords",
    "aresponses",
    "atool_calls",
    "records",
    "responses",
    "tool_calls",
]
