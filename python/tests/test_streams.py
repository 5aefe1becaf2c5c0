"""Streams over sources: values, rejects, failures of the source, closing; with and without asyncio."""

from __future__ import annotations

import array
import asyncio
import ctypes
import io
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from support import FIXTURES, MESSY, cut, events

import tokenline
from tokenline import JsonlParser, RejectedError, arecords, aresponses, atool_calls, records, responses, tool_calls

TEXT = '{"a":1}\n{"a":x}\nprose\n{"a":2}'
VALUES = [{"a": 1}, {"a": 2}]


class SourceError(Exception):
    pass


class Source:
    """Chunks, then perhaps an exception; remembers whether it was closed."""

    def __init__(self, *chunks: Any, error: BaseException | None = None) -> None:
        self.chunks, self.error = list(chunks), error
        self.reads, self.is_closed = 0, False

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        self.reads += 1
        if self.chunks:
            return self.chunks.pop(0)
        if self.error is not None:
            raise self.error
        raise StopIteration

    def close(self) -> None:
        self.is_closed = True


class AsyncSource(Source):
    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        await asyncio.sleep(0)
        try:
            return self.__next__()
        except StopIteration:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        self.is_closed = True

    __iter__ = None  # type: ignore[assignment]


def test_values_and_report() -> None:
    for source in (TEXT, TEXT.encode(), [TEXT], list(TEXT), io.BytesIO(TEXT.encode()), io.StringIO(TEXT)):
        stream = records(source)
        assert list(stream) == VALUES
        report = stream.report
        assert (report.records, report.rejected, report.notes, report.complete) == (2, 1, 1, True)
        assert report.by_code == {"malformed_json": 1, "prose": 1}
        assert [str(reject) for reject in report.rejects] == ["2:6: malformed_json: expected a value, found a letter"]
        assert [note.code for note in report.kept_notes] == ["prose"]
        assert report.to_dict()["records"] == 2
        assert repr(report) == "Report(records=2, tool_calls=0, rejected=1, notes=1, complete=True)"
        assert next(stream, None) is None


class Str(str):
    def __iter__(self) -> Iterator[str]:
        raise AssertionError("a text is one chunk")


@pytest.mark.parametrize("text", [TEXT, TEXT.encode(), bytearray(TEXT.encode()), memoryview(TEXT.encode()), Str(TEXT)])
def test_a_text_is_one_chunk(text: Any) -> None:
    stream = records(text)
    assert not stream.report.complete
    assert next(stream) == VALUES[0]
    assert (stream.report.records, stream.report.complete) == (1, False)
    assert list(stream) == VALUES[1:]
    assert (stream.report.records, stream.report.rejected, stream.report.complete) == (2, 1, True)
    with records(text) as stream:
        assert next(stream) == VALUES[0]
    assert list(stream) == [] and not stream.report.complete


def test_a_text_that_is_not_utf_8_raises_once() -> None:
    stream = records('{"a":"\ud800"}')
    with pytest.raises(UnicodeEncodeError):
        next(stream)
    assert list(stream) == []


def test_a_stream_knows_nothing_of_those_before_it() -> None:
    ways: list[dict[str, Any]] = [{}, {"items": "/items"}, {"mode": "strict"}, {"line_bytes": 40}, {"diagnostics": 1}]
    texts = [TEXT, '{"a":1}\n{"a":"b', "```json\n", '{"items":[{"a":1}', "\ufeff", "", '{"a":"' + "x" * 100_000 + '"}', "<think>"]
    expected: dict[tuple[int, str], Any] = {}
    for _ in range(3):
        for number, way in enumerate(ways):
            for text in texts:
                stream = records([text, "\n"], **way)
                found = [value for value in stream], stream.report.to_json()
                assert expected.setdefault((number, text), found) == found
                # Left in the middle of the text.
                for left in (records([text, text], **way), records(text, **way)):
                    next(left, None)


def test_reports_have_all_notes_whenever_they_are_read() -> None:
    text = 'prose\n\n{"a":1}\n{"a":x}\n' * 50
    late: JsonlParser[Any] = JsonlParser(diagnostics=7)
    often: JsonlParser[Any] = JsonlParser(diagnostics=7)
    streams = [records(text, diagnostics=7), records(text, diagnostics=7)]
    for parser in (late, often):
        parser.push(text)
        parser.finish()
    for number, _ in enumerate(often, 1):
        report = often.report
        assert report.records + report.rejected + report.notes == number
    for _ in streams[0]:
        assert streams[0].report.records <= 50
    found = [len(list(late)), len(list(streams[1]))]
    assert found == [150, 50]
    reports = [parser.report for parser in (late, often)] + [stream.report for stream in streams]
    assert len({report.to_json() for report in reports}) == 1 and late.report.dropped == 93
    late.reset()
    assert late.report.notes == late.report.dropped == 0


def test_strict_raises_at_the_first_reject_and_closes_the_source() -> None:
    source = Source(TEXT)
    stream = records(source, strict=True)
    assert next(stream) == {"a": 1}
    with pytest.raises(RejectedError, match="2:6: malformed_json") as caught:
        next(stream)
    error = caught.value
    assert (error.code, error.line, error.column, error.start, error.end) == ("malformed_json", 2, 6, 8, 15)
    assert isinstance(error, tokenline.TokenlineError)
    assert error.reject == stream.report.rejects[0]
    assert source.is_closed
    assert list(stream) == []


def test_a_source_that_fails_raises_once_after_what_was_complete() -> None:
    error = SourceError("broken pipe")
    stream = records(Source('{"a":1}\n{"a":2}\n{"a"', error=error))
    assert next(stream) == {"a": 1}
    assert next(stream) == {"a": 2}
    with pytest.raises(SourceError) as caught:
        next(stream)
    assert caught.value is error
    assert list(stream) == []
    assert (stream.report.records, stream.report.complete) == (2, False)


def test_an_interrupt_does_not_end_the_stream() -> None:
    source = Source('{"a":1}\n{"a":', error=KeyboardInterrupt())
    stream = records(source)
    assert next(stream) == {"a": 1}
    with pytest.raises(KeyboardInterrupt):
        next(stream)
    source.chunks = ["2}\n"]
    assert next(stream) == {"a": 2}


def test_a_generator_that_an_interrupt_ended_is_not_complete() -> None:
    def chunks() -> Iterator[str]:
        yield '{"a":1}\n'
        raise KeyboardInterrupt

    stream = records(chunks())
    assert next(stream) == {"a": 1}
    with pytest.raises(KeyboardInterrupt):
        next(stream)
    with pytest.raises(RuntimeError, match="the source ended when it was interrupted"):
        next(stream)
    assert list(stream) == []
    assert (stream.report.records, stream.report.complete) == (1, False)


def test_a_reject_is_raised_though_the_source_cannot_be_closed() -> None:
    class Source:
        def __iter__(self) -> Iterator[str]:
            return self

        def __next__(self) -> str:
            return '{"b":}\n'

        def close(self) -> None:
            raise OSError("the disk is full")

    with pytest.raises(RejectedError) as caught:
        next(records(Source(), strict=True))
    assert isinstance(caught.value.__context__, OSError)


def test_only_buffers_of_bytes_are_chunks() -> None:
    for chunk in (memoryview(b"{}\n"), bytearray(b"{}\n"), array.array("B", b"{}\n"), (ctypes.c_ubyte * 3)(*b"{}\n")):
        assert list(records([chunk])) == [{}]
    for other in (array.array("i", [1]), array.array("d", [1.0]), (ctypes.c_int * 1)(1)):
        with pytest.raises(TypeError, match="bytes or str, not"):
            list(records([other]))
    view = memoryview(b"{}\n")
    view.release()
    with pytest.raises(ValueError, match="released memoryview"):
        list(records([view]))


def test_a_source_is_read_only_as_far_as_needed() -> None:
    source = Source('{"a":1}\n', '{"a":2}\n', '{"a":3}\n')
    with records(source) as stream:
        assert next(stream) == {"a": 1}
        assert source.reads == 1
    assert source.is_closed
    assert list(stream) == []


def test_of_http_responses() -> None:
    response = httpx.Response(200, content=TEXT.encode())
    assert list(records(response)) == VALUES

    class Requests:
        def iter_content(self, chunk_size: int | None) -> Iterator[bytes]:
            assert chunk_size is None
            yield from cut(TEXT.encode(), 5)

    assert list(records(Requests())) == VALUES


def test_an_asynchronous_source_needs_the_other_function() -> None:
    with pytest.raises(TypeError, match="`stream` is asynchronous .*: use the function whose name begins with `a`"):
        records(AsyncSource(TEXT))


async def values(stream: AsyncIterator[Any]) -> list[Any]:
    return [value async for value in stream]


async def test_asynchronous_streams() -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for chunk in cut(TEXT.encode(), 3):
            yield chunk

    class Aiohttp:
        class content:  # noqa: N801
            iter_any = staticmethod(chunks)

    response = httpx.Response(200, content=chunks())
    for source in (AsyncSource(TEXT), chunks(), Aiohttp(), response, TEXT, [TEXT], io.StringIO(TEXT)):
        stream = arecords(source)
        assert await values(stream) == VALUES
        assert stream.report.records == 2
        assert await values(stream) == []


async def test_an_asynchronous_source_that_fails() -> None:
    error = SourceError("broken pipe")
    stream = arecords(AsyncSource('{"a":1}\n{"a":2}\n{"a"', error=error))
    found = []
    with pytest.raises(SourceError) as caught:
        async for value in stream:
            found.append(value)
    assert caught.value is error
    assert found == VALUES
    assert await values(stream) == []


async def test_closing_closes_the_source() -> None:
    source = AsyncSource('{"a":1}\n', '{"a":2}\n')
    async with arecords(source) as stream:
        assert await anext(stream) == {"a": 1}
    assert source.is_closed
    assert source.reads == 1

    source = AsyncSource(TEXT)
    with pytest.raises(RejectedError):
        await values(arecords(source, strict=True))
    assert source.is_closed

    is_closed = False

    def chunks() -> Iterator[str]:
        nonlocal is_closed
        try:
            yield '{"a":1}\n'
            yield '{"a":2}\n'
        finally:
            is_closed = True

    stream = arecords(chunks())
    assert await anext(stream) == {"a": 1}
    await stream.aclose()
    assert is_closed


async def test_a_cancelled_task_can_go_on() -> None:
    gate = asyncio.Event()

    class Waiting:
        waits = 0

        def __aiter__(self) -> AsyncIterator[str]:
            return self

        async def __anext__(self) -> str:
            self.waits += 1
            if self.waits == 1:
                return '{"a":1}\n'
            await gate.wait()
            if self.waits == 4:
                raise StopAsyncIteration
            return '{"a":2}\n'

    stream = arecords(Waiting())
    assert await anext(stream) == {"a": 1}
    task = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    gate.set()
    assert await anext(stream) == {"a": 2}
    assert await values(stream) == []


async def test_a_generator_that_a_cancellation_ended_is_not_complete() -> None:
    async def chunks() -> AsyncIterator[str]:
        yield '{"a":1}\n'
        await asyncio.sleep(60)
        yield '{"a":2}\n'

    stream = arecords(chunks())
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(values(stream), 0.01)
    with pytest.raises(RuntimeError, match="the source ended when it was interrupted"):
        await anext(stream)
    assert await values(stream) == []
    assert (stream.report.records, stream.report.complete) == (1, False)


async def test_two_tasks_cannot_read_one_stream() -> None:
    async def chunks() -> AsyncIterator[str]:
        for number in range(4):
            await asyncio.sleep(0.001)
            yield f'{{"a":{number}}}\n'

    stream = arecords(chunks())
    first = asyncio.ensure_future(values(stream))
    await asyncio.sleep(0)
    for use in (lambda: anext(stream), stream.aclose):
        with pytest.raises(RuntimeError, match="another task is reading this stream"):
            await use()
    assert await first == [{"a": number} for number in range(4)]


BODY = (FIXTURES / "anthropic" / "parallel-tools.sse").read_bytes()


async def test_responses_and_calls() -> None:
    whole = list(responses(BODY, "anthropic"))
    assert await values(aresponses(AsyncSource(*cut(BODY, 100)), "anthropic")) == whole
    calls = [event for event in whole if isinstance(event, tokenline.ToolCall)]
    assert len(calls) == 2
    stream = tool_calls(cut(BODY, 7), "anthropic")
    assert list(stream) == calls
    assert (stream.report.tool_calls, stream.report.complete) == (2, True)
    assert await values(atool_calls(AsyncSource(BODY), "anthropic")) == calls
    with pytest.raises(RejectedError, match="unknown_tool"):
        list(tool_calls(BODY, "anthropic", tools=[{"name": "other"}], strict=True))
    assert [type(event).__name__ for event in responses(BODY, "anthropic", tools=[{"name": "other"}])].count(
        "RejectedCall"
    ) == 2


def test_a_source_that_fails_after_the_end_of_the_response_loses_nothing() -> None:
    source = Source(BODY, error=SourceError("reset"))
    assert list(responses(source, "anthropic")) == list(responses(BODY, "anthropic"))
    # After [DONE], nothing can follow.
    chat = (FIXTURES / "openai-chat" / "definitions.sse").read_bytes()
    source = Source(chat, error=SourceError("reset"))
    assert list(responses(source, "openai-chat")) == list(responses(chat, "openai-chat"))
    assert source.reads == 1
    cut_off = Source(BODY[:-200], error=SourceError("reset"))
    with pytest.raises(SourceError):
        list(responses(cut_off, "anthropic"))


def test_calls_in_text() -> None:
    text = 'I look it up.\n[weather(city="Paris", days=3)]\n[weather(town="Paris")]\n'
    tools = [{"name": "weather", "parameters": {"required": ["city"]}}]
    stream = tool_calls(text, tools=tools)
    (call,) = stream
    assert (call.name, call.parameters, call.line, call.completion) == ("weather", {"city": "Paris", "days": 3}, 2, "text")
    assert call.raw_parameters == '{"city":"Paris","days":3}'
    assert call.recovered == ("call_format",)
    assert stream.report.by_code["invalid_parameters"] == 1
    (only,) = tool_calls('{"name":"f","parameters":{}}', call_format="jsonl")
    assert repr(only) == "ToolCall(name='f', parameters={}, call_id=None)"


def test_threads_share_a_parser() -> None:
    lines, workers = 2000, 8
    parser: JsonlParser[dict[str, Any]] = JsonlParser()
    found: list[list[Any]] = [[] for _ in range(workers)]
    start = threading.Barrier(workers)

    def work(worker: int) -> None:
        start.wait()
        for line in range(lines):
            parser.push(f'{{"worker":{worker},"line":{line}}}\n')
            found[worker].extend(parser)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    parser.finish()
    values = [event.value for events in [*found, list(parser)] for event in events]
    assert len(values) == lines * workers
    assert {(value["worker"], value["line"]) for value in values} == {
        (worker, line) for worker in range(workers) for line in range(lines)
    }


def test_threads_share_a_stream_and_a_validator() -> None:
    count = 5000
    stream = records((f'{{"n":{n}}}\n' for n in range(count)), {"properties": {"n": {"type": "integer"}}})
    validator = tokenline.SchemaValidator({"properties": {"n": {"type": "string"}}})
    big = '{"n":"' + "x" * 200_000 + '"}'

    def take(_: int) -> list[int]:
        assert validator.is_valid(big)
        return [value["n"] for value in stream]

    with ThreadPoolExecutor(4) as pool:
        numbers = sorted(number for taken in pool.map(take, range(4)) for number in taken)
    assert numbers == list(range(count))


def test_others_run_while_long_stretches_are_read() -> None:
    text = '{"a":["' + '","'.join(["x" * 50] * 400_000) + '"]}\n'
    validator = tokenline.SchemaValidator({"properties": {"a": {"items": {"pattern": "^x+$"}}}})
    schema = {"properties": {"a": {"maxItems": 1}}}
    parser: JsonlParser[Any] = JsonlParser(schema=schema, line_bytes=1 << 30)

    def parse() -> None:
        parser.push(text)
        (rejected,) = parser
        assert isinstance(rejected, tokenline.Reject)
        assert rejected.code == "schema_violation"

    for work in (lambda: validator.is_valid(text), parse):
        turns = 0
        is_over = threading.Event()

        def count() -> None:
            nonlocal turns
            while not is_over.wait(0.001):
                turns += 1

        other = threading.Thread(target=count)
        other.start()
        try:
            work()
        finally:
            is_over.set()
            other.join()
        # Each takes 20 ms and more; with the GIL held, there is no turn but the first.
        assert turns >= 4


def test_use_of_a_stream_by_its_own_source_is_an_error() -> None:
    def chunks() -> Iterator[str]:
        yield '{"a":1}\n'
        next(stream)

    stream: Any = records(chunks())
    assert next(stream) == {"a": 1}
    with pytest.raises(RuntimeError, match="already in use by this thread"):
        next(stream)


def test_events_do_not_depend_on_threads() -> None:
    expected = events([MESSY])
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: events(cut(MESSY.encode(), 3)), range(40)):
            assert found == expected
