"""The values of the records in a text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

from tokenline._async import AsyncStream
from tokenline._sdk import converter
from tokenline._sources import aiterate, iterate
from tokenline._tokenline import Machinery, Stream

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from tokenline._types import AsyncSource, RecordOptions, Schema, Source

_M = TypeVar("_M")

_CONVERT = converter(None)


@overload
def records(
    stream: Source, schema: Schema | None = None, model: None = None, **options: Unpack[RecordOptions]
) -> Stream[dict[str, Any]]: ...
@overload
def records(
    stream: Source,
    schema: Schema | None = None,
    model: type[_M] = ...,  # pyright: ignore[reportInvalidTypeVarUse]
    **options: Unpack[RecordOptions],
) -> Stream[_M]: ...
@overload
def records(
    stream: Source, schema: Schema | None = None, model: Any = ..., **options: Unpack[RecordOptions]
) -> Stream[Any]: ...
def records(
    stream: Source, schema: Schema | None = None, model: Any = None, **options: Unpack[RecordOptions]
) -> Stream[Any]:
    """Yields the values of the records in a text: dicts, or instances of ``model``.

    ``stream`` is an iterable of bytes or str: a file, an HTTP response of httpx, requests or urllib, a list of chunks,
    or one chunk. With ``provider``, one of ``PROVIDERS``, it is a provider's response, as for ``responses``, and the
    records are those in its text. Rejects are counted in ``.report`` of the iterator; with ``strict=True`` the first raises
    ``RejectedError``.

    Options, described in ``tokenline._types.RecordOptions``: provider, items, strict,
    mode, release, in_reasoning, all_violations, show_names, show_values, reask, reask_attempts, repair_syntax,
    max_records, error_budget, stop_on_repetition, line_bytes, depth, pattern_steps, diagnostics.

    >>> stream = records(['{"a": 1}\\n{"a"', ': NaN}\\n{"a": 3}'])
    >>> list(stream), [str(reject) for reject in stream.report.rejects]
    ([{'a': 1}, {'a': 3}], ['2:7: malformed_json: expected a value, found a letter'])
    """
    provider = options.pop("provider", None)
    settings: dict[str, Any] = {**options}
    if schema is not None:
        settings["schema"] = schema
    if model is not None:
        settings["model"] = model
    convert = _CONVERT if provider is None else converter(provider)
    return Stream("records", iterate(stream), provider, convert, settings)


@overload
def arecords(
    stream: AsyncSource, schema: Schema | None = None, model: None = None, **options: Unpack[RecordOptions]
) -> AsyncStream[dict[str, Any]]: ...
@overload
def arecords(
    stream: AsyncSource,
    schema: Schema | None = None,
    model: type[_M] = ...,  # pyright: ignore[reportInvalidTypeVarUse]
    **options: Unpack[RecordOptions],
) -> AsyncStream[_M]: ...
@overload
def arecords(
    stream: AsyncSource, schema: Schema | None = None, model: Any = ..., **options: Unpack[RecordOptions]
) -> AsyncStream[Any]: ...
def arecords(
    stream: AsyncSource, schema: Schema | None = None, model: Any = None, **options: Unpack[RecordOptions]
) -> AsyncStream[Any]:
    """``records`` for asynchronous sources, such as an httpx or aiohttp response; others are read as well.

    Closing it (``aclose``, or the end of an ``async with`` block) closes the source.

    Options, described in ``tokenline._types.RecordOptions``: provider, items, strict,
    mode, release, in_reasoning, all_violations, show_names, show_values, reask, reask_attempts, repair_syntax,
    max_records, error_budget, stop_on_repetition, line_bytes, depth, pattern_steps, diagnostics.
    """
    provider = options.pop("provider", None)
    settings = {"schema": schema, "model": model, **options}
    machine: Machinery[Any] = Machinery("records", provider, converter(provider), settings)
    return AsyncStream(machine, aiterate(stream, machine), options.get("reask"))
