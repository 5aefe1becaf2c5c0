"""Typed objects and tool calls from a language model's byte stream, the moment each is complete."""

from tokenline._async import AsyncStream
from tokenline._exceptions import RejectedError, SchemaError, TokenlineError, TooManyRejectedError
from tokenline._records import arecords, records
from tokenline._responses import aresponses, atool_calls, responses, tool_calls
from tokenline._tokenline import (
    PROVIDERS,
    Finish,
    JsonlParser,
    Live,
    Note,
    OpenCall,
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
from tokenline._types import Code, Provider
from tokenline._warnings import SourceWarning

__all__ = [
    "PROVIDERS",
    "AsyncStream",
    "Code",
    "Finish",
    "JsonlParser",
    "Live",
    "Note",
    "OpenCall",
    "Provider",
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
    "SourceWarning",
    "Stream",
    "Text",
    "TokenlineError",
    "TooManyRejectedError",
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
