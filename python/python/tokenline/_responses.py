"""The events of responses, and tool calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

from tokenline._async import AsyncStream
from tokenline._sdk import converter
from tokenline._sources import aiterate, iterate
from tokenline._tokenline import Machinery, Stream

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from tokenline._tokenline import ToolCall
    from tokenline._types import AsyncSource, CallOptions, Provider, ResponseEvent, ResponseOptions, Source, Tools

_M = TypeVar("_M")


@overload
def responses(
    stream: Source, provider: Provider, *, model: None = None, **options: Unpack[ResponseOptions]
) -> Stream[ResponseEvent[dict[str, Any]]]: ...
@overload
def responses(
    stream: Source, provider: Provider, *, model: type[_M], **options: Unpack[ResponseOptions]
) -> Stream[ResponseEvent[_M]]: ...
@overload
def responses(
    stream: Source, provider: Provider, *, model: Any, **options: Unpack[ResponseOptions]
) -> Stream[ResponseEvent[Any]]: ...
def responses(
    stream: Source, provider: Provider, *, model: Any = None, **options: Unpack[ResponseOptions]
) -> Stream[ResponseEvent[Any]]:
    """Yields the events of a provider's response: records, tool calls, rejects, text, reasoning, usage, ...

    ``stream`` yields the bytes of the HTTP body (httpx, requests, the SDKs' ``with_streaming_response``), or the
    event objects of the provider's SDK. ``provider`` is one of ``PROVIDERS``. The text is read as records; with
    ``tools`` or a ``call_format``, as tool calls; ``text_as`` chooses: ``records_and_tool_calls`` for both in one
    text, ``native_calls`` where the tools went with the request. Native tool calls are always read, and validated
    against the JSON Schemas of ``tools``. The ``parameters`` of a call are a dict, also for a tool that is a model:
    ``Invoice.model_validate(call.parameters)`` runs the model's validators.

    Options, described in ``tokenline._types.ResponseOptions``: model, schema, items, tools, call_format, text_as,
    mode, release, in_reasoning, all_violations, show_names, show_values, reask, reask_attempts, repair_syntax,
    max_records, error_budget, stop_on_repetition, line_bytes, depth, pattern_steps, diagnostics,
    sse_line_bytes, sse_event_bytes.
    """
    return Stream("responses", iterate(stream), provider, converter(provider), {"model": model, **options})


@overload
def aresponses(
    stream: AsyncSource, provider: Provider, *, model: None = None, **options: Unpack[ResponseOptions]
) -> AsyncStream[ResponseEvent[dict[str, Any]]]: ...
@overload
def aresponses(
    stream: AsyncSource, provider: Provider, *, model: type[_M], **options: Unpack[ResponseOptions]
) -> AsyncStream[ResponseEvent[_M]]: ...
@overload
def aresponses(
    stream: AsyncSource, provider: Provider, *, model: Any, **options: Unpack[ResponseOptions]
) -> AsyncStream[ResponseEvent[Any]]: ...
def aresponses(
    stream: AsyncSource, provider: Provider, *, model: Any = None, **options: Unpack[ResponseOptions]
) -> AsyncStream[ResponseEvent[Any]]:
    """``responses`` for asynchronous sources. Closing it closes the source.

    Options, described in ``tokenline._types.ResponseOptions``: model, schema, items, tools, call_format, text_as,
    mode, release, in_reasoning, all_violations, show_names, show_values, reask, reask_attempts, repair_syntax,
    max_records, error_budget, stop_on_repetition, line_bytes, depth, pattern_steps, diagnostics,
    sse_line_bytes, sse_event_bytes.
    """
    settings = {"model": model, **options}
    machine: Machinery[ResponseEvent[Any]] = Machinery("responses", provider, converter(provider), settings)
    return AsyncStream(machine, aiterate(stream, machine), options.get("reask"))


def tool_calls(
    stream: Source, provider: Provider | None = None, tools: Tools | None = None, **options: Unpack[CallOptions]
) -> Stream[ToolCall]:
    """Yields the tool calls of a response, or of a text if there is no ``provider``.

    Calls that are malformed, truncated, or against the definitions in ``tools`` are counted in ``.report``; with
    ``strict=True`` the first raises ``RejectedError``. Calls in the text count, too, wherever it does not quote them: for
    tools that went with the request, ``responses`` with ``text_as="native_calls"`` takes native calls only.

    Calls are checked against the JSON Schema of their tool. Their ``parameters`` are dicts, also for a tool that is a
    model: ``Invoice.model_validate(call.parameters)`` makes the instance, and runs the model's validators.

    Options, described in ``tokenline._types.CallOptions``: call_format, strict,
    mode, release, in_reasoning, all_violations, show_names, show_values, reask, reask_attempts, repair_syntax,
    max_records, error_budget, stop_on_repetition, line_bytes, depth, pattern_steps, diagnostics.

    >>> [(call.name, call.parameters) for call in tool_calls('[now(zone="UTC")]')]
    [('now', {'zone': 'UTC'})]
    """
    return Stream("tool_calls", iterate(stream), provider, converter(provider), {"tools": tools, **options})


def atool_calls(
    stream: AsyncSource, provider: Provider | None = None, tools: Tools | None = None, **options: Unpack[CallOptions]
) -> AsyncStream[ToolCall]:
    """``tool_calls`` for asynchronous sources. Closing it closes the source.

    Options, described in ``tokenline._types.CallOptions``: call_format, strict,
    mode, release, in_reasoning, all_violations, show_names, show_values, reask, reask_attempts, repair_syntax,
    max_records, error_budget, stop_on_repetition, line_bytes, depth, pattern_steps, diagnostics.
    """
    settings = {"tools": tools, **options}
    machine: Machinery[ToolCall] = Machinery("tool_calls", provider, converter(provider), settings)
    return AsyncStream(machine, aiterate(stream, machine), options.get("reask"))
