"""Warnings about sources that are not what they are passed as, and the errors about what is no source."""

from __future__ import annotations

import asyncio
import bz2
import gzip
import json
import lzma
import time
import warnings
import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pydantic
import pytest
from support import FIXTURES, MESSY, TEXTS, cut, provider_of

import tokenline
from tokenline import PROVIDERS, SourceWarning, arecords, aresponses, records, responses, tool_calls

CHAT = (
    b'data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"{\\"a\\":1}\\n"}}]}\n\n'
    b'data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
    b"data: [DONE]\n\n"
)
UNKNOWN = b"event: piece\nid: 7\ndata: " + b'{"piece":"Once upon a time"}' + b"\n\n" + b": still there\n\n" * 10
COMPLETION = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": '{"a":1}\n'}, "finish_reason": "stop"}],
}
ANTHROPIC = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "content": [{"type": "text", "text": '{"a":1}'}],
    "stop_reason": "end_turn",
}
ERROR = {"error": {"message": "Incorrect API key provided", "type": "invalid_request_error", "code": "invalid_api_key"}}
OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}, "request_id": "r"}
GEMINI = [{"candidates": [{"content": {"parts": [{"text": '{"a":1}\n'}]}}], "usageMetadata": {}}]
OLLAMA = b'{"model":"m","created_at":"2026-01-01","message":{"role":"assistant","content":"{}"},"done":false}\n' * 3
HTML = b"\n<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head></html>\n"
TEXT = b'{"a": 1}\n' * 50

ODD: dict[str, tuple[bytes, str]] = {
    "chat": (CHAT, "looks like a response of openai-chat, and is read as text: pass provider='openai-chat'"),
    "unknown": (UNKNOWN, "a provider's event stream, and is read as text: pass its `provider`"),
    "gzip": (gzip.compress(TEXT), "compressed with gzip"),
    "bzip2": (bz2.compress(TEXT), "compressed with bzip2"),
    "bzip2, fast": (bz2.compress(TEXT, 1), "compressed with bzip2"),
    "xz": (lzma.compress(TEXT), "compressed with xz"),
    "zlib": (zlib.compress(TEXT), "compressed with zlib"),
    "zstd": (b"\x28\xb5\x2f\xfd\x04\x58\x99\x00", "compressed with zstd"),
    "pzstd": (b"\x50\x2a\x4d\x18\x04\x00\x00\x00", "compressed with zstd"),
    "zip": (b"PK\x03\x04\x14\x00", "compressed with zip"),
    "utf-16": (TEXT.decode().encode("utf-16"), "is UTF-16"),
    "completion": (json.dumps(COMPLETION, indent=2).encode(), "looks like a complete response of openai-chat"),
    "compact completion": (json.dumps(COMPLETION).encode() + b"\n", "looks like a complete response of openai-chat"),
    "message": (json.dumps(ANTHROPIC).encode(), "looks like a complete response of anthropic"),
    "error": (json.dumps(ERROR, indent=4).encode(), "looks like the error of a provider"),
    "overloaded": (json.dumps(OVERLOADED).encode(), "looks like the error of a provider"),
    "vllm": (b'{"object":"error","message":"no such model","type":"NotFoundError","code":404}', "the error of a provider"),
    "gemini": (json.dumps(GEMINI, indent=2).encode(), "looks like a response of gemini"),
    "gemini error": (json.dumps([{"error": {"code": 400, "message": "bad", "status": "INVALID"}}]).encode(), "the error"),
    "ollama": (OLLAMA, "looks like a response of ollama"),
    "html": (HTML, "an HTML page"),
    "byte order mark": (b"\xef\xbb\xbf" + CHAT, "looks like a response of openai-chat"),
}


def warned(read: Callable[[], Any]) -> list[str]:
    """The messages of the warnings, each at a line of this file."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        read()
    assert all(warning.category is SourceWarning and warning.filename == __file__ for warning in found), found
    return [str(warning.message) for warning in found]


async def chunks_of(chunks: Iterable[bytes]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


async def all_of(stream: tokenline.AsyncStream[Any]) -> list[Any]:
    return [value async for value in stream]


@pytest.mark.parametrize("name", ODD)
def test_odd_sources_however_they_are_cut(name: str) -> None:
    body, expected = ODD[name]
    [message] = warned(lambda: list(records(body)))
    assert expected in message
    assert not any(value in message for value in ("Incorrect", "Overloaded", "502", "Once upon"))
    sizes = range(1, 40) if len(body) < 600 else (1, 2, 3, 7, 64)
    for size in sizes:
        assert warned(lambda: list(records(cut(body, size)))) == [message]
    for at in range(1, min(len(body), 700)):
        assert warned(lambda: list(records(iter((body[:at], b"", body[at:]))))) == [message]


@pytest.mark.parametrize("name", ODD)
def test_odd_sources_of_asynchronous_streams_and_of_calls(name: str) -> None:
    body, expected = ODD[name]
    for size in (1, 50, 100_000):
        [message] = warned(lambda: asyncio.run(all_of(arecords(chunks_of(cut(body, size))))))
        assert expected in message
    assert warned(lambda: list(tool_calls(body))) == [message]
    assert warned(lambda: list(records(body, stop_on_repetition=True))) == [message]


def test_the_warning_is_at_the_line_that_reads() -> None:
    stream = records(CHAT)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        line = test_the_warning_is_at_the_line_that_reads.__code__.co_firstlineno + 5
        list(stream)
    assert [(warning.filename, warning.lineno) for warning in found] == [(__file__, line)]


def test_a_warning_may_be_an_error() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(SourceWarning, match="openai-chat"):
            list(records(CHAT))
        with pytest.raises(SourceWarning, match="gzip"):
            asyncio.run(all_of(arecords(chunks_of([ODD["gzip"][0]]))))


def test_nothing_is_read_ahead_and_nothing_waits() -> None:
    """The warning comes with the first event of a stream that has no end."""
    taken = 0

    def endless() -> Iterator[bytes]:
        nonlocal taken
        while True:
            taken += 1
            yield CHAT.split(b"\n\n")[0] + b"\n\n"

    stream = records(endless())
    with pytest.warns(SourceWarning, match="openai-chat"):
        assert next(stream)["object"] == "chat.completion.chunk"
    assert taken == 1
    assert warned(lambda: [next(stream) for _ in range(10)]) == []
    # The first record comes from the first chunk, whatever the source could still be.
    for first in (b'{"id":1}\n', b'[{"error":1},', b'{"model":"m"}\n\n'):
        asked = 0

        def one(first: bytes = first) -> Iterator[bytes]:
            nonlocal asked
            asked += 1
            yield first
            pytest.fail("the next chunk was asked for")

        assert len(next(records(one(), release="on_balance"))) == 1
        assert asked == 1


def test_a_source_that_fails_is_not_warned_of() -> None:
    def failing() -> Iterator[bytes]:
        yield json.dumps(ERROR).encode()
        raise OSError("reset")

    def read() -> None:
        with pytest.raises(OSError, match="reset"):
            list(records(failing()))

    assert warned(read) == []


@pytest.mark.parametrize(
    "text",
    [
        '{"id":1,"model":"T","choices":["red","blue"]}',
        '{"role":"user","content":"hi"}',
        '{"error":"no invoice in this text"}',
        '{"error":{"message":"late","type":"delay"},"order":7}',
        '{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"x"}}',
        '{"message":"hello","status":"sent"}',
        '{"type":"message","content":[]}',
        '{"output":[],"status":"done"}',
        json.dumps(COMPLETION) + "\n" + json.dumps(COMPLETION) + "\n",
        json.dumps(ERROR) + "\n" + json.dumps(ERROR),
        '[{"id":1},{"id":2}]',
        '[{"candidates":["Ann"]}]',
        "data: the next lines\nid: none\n",
        "data: everything about it\n" * 200,
        "Please see data.json\n",
        ": a list\n{\"a\":1}\n",
        "event: the party\n{\"a\":1}\n",
        "id: 7\nname: Ann\n",
        "P\n", "PK\n", "x", "BZh is bzip2's signature", "<htm", "<html5 is HTML> {\"a\":1}\n", "<think>\n</think>{\"a\":1}",
        "[1] is a citation",
        "é", "\x1f", "\0",
        'The chunk was {"object":"chat.completion.chunk"} there\n',
        '{"text":"data: {\\"object\\":\\"chat.completion.chunk\\",\\"choices\\":[{}]}"}\n',
        MESSY,
        "",
        " \n\t",
    ],
)  # fmt: skip
def test_ordinary_texts_are_not_warned_of(text: str) -> None:
    body = text.encode()
    for size in (1, 2, 5, 100_000):
        assert warned(lambda: list(records(cut(body, size)))) == []
    assert warned(lambda: list(records(text))) == []
    assert warned(lambda: asyncio.run(all_of(arecords(text)))) == []


@pytest.mark.parametrize("path", sorted(path for path in TEXTS.rglob("*") if path.is_file()), ids=lambda path: path.name)
def test_texts_of_models_are_not_warned_of(path: Path) -> None:
    assert warned(lambda: list(records([path.read_bytes()]))) == []


def framed(lines: bytes) -> bytes:
    """Messages of an Amazon event stream, from the lines of a fixture: `event NAME JSON`."""
    messages = b""
    for line in lines.splitlines():
        kind, name, payload = (line.split(b" ", 2) + [b"{}"])[:3]
        headers = b""
        for header, value in ((":message-type", kind), (f":{kind.decode()}-type", name)):
            headers += bytes([len(header)]) + header.encode() + b"\x07" + len(value).to_bytes(2, "big") + value
        prelude = (16 + len(headers) + len(payload)).to_bytes(4, "big") + len(headers).to_bytes(4, "big")
        message = prelude + zlib.crc32(prelude).to_bytes(4, "big") + headers + payload
        messages += message + zlib.crc32(message).to_bytes(4, "big")
    return messages


def body_of(path: Path) -> bytes:
    body = path.read_bytes()
    return framed(body) if path.suffix == ".messages" else body


RECORDINGS = sorted(
    path
    for path in FIXTURES.rglob("*")
    if path.suffix in {".sse", ".messages", ".jsonl", ".json"}
    and "requests" not in path.parts
    and not path.name.startswith("corrupt-")
)
FAILED = "the provider reported an error, and nothing was delivered: `report.rejects` of the stream has it"


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_recordings_are_what_they_seem(path: Path) -> None:
    provider, body = provider_of(path), body_of(path)
    for part in (body, body[: len(body) // 2], body[:300], body[:40]):
        assert warned(lambda: list(responses(part, provider))) == []
        stream = records(part, provider=provider)
        found = warned(lambda: list(stream))
        report = stream.report
        has_failed = "provider_error" in report.by_code and report.records + report.tool_calls == 0
        assert found == [FAILED] * has_failed


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_recordings_without_their_provider(path: Path) -> None:
    body = body_of(path)
    found = warned(lambda: list(records([body])))
    assert len(found) <= 1
    if path.suffix == ".messages" and path.name == "records.messages":
        assert "looks like a response of bedrock" in found[0]
    for size in (1, 100):
        assert warned(lambda: list(records(cut(body, size)))) == found


def test_the_response_of_another_provider() -> None:
    [message] = warned(lambda: list(responses(CHAT, "anthropic")))
    assert message == "`stream` looks like a response of openai-chat: pass provider='openai-chat'"
    assert warned(lambda: list(records(cut(CHAT, 1), provider="anthropic"))) == [message]
    assert warned(lambda: asyncio.run(all_of(aresponses(chunks_of([CHAT]), "anthropic")))) == [message]
    assert warned(lambda: list(responses(CHAT, "openai-chat"))) == []
    [message] = warned(lambda: list(records(gzip.compress(CHAT), provider="openai-chat")))
    assert "compressed with gzip" in message
    assert "HTML" in warned(lambda: list(records(HTML, provider="openai-chat")))[0]


def test_an_error_in_place_of_a_response() -> None:
    body = json.dumps(ERROR)
    stream = records(body, provider="openai-chat")
    [message] = warned(lambda: list(stream))
    assert message.startswith("the provider reported an error, and nothing was delivered")
    assert [reject.code for reject in stream.report.rejects] == ["provider_error"]
    # It is an event of the response.
    assert warned(lambda: list(responses(body, "openai-chat"))) == []
    assert list(records(json.dumps(COMPLETION), provider="openai-chat")) == [{"a": 1}]


def test_a_text_that_is_passed_as_a_response() -> None:
    message = "`stream` is not a response of gemini, and nothing in it was read: leave out `provider` to read a text"
    for size in (1, 4, 100):
        assert warned(lambda: list(records(cut(b'Sure:\n{"a":1}\n', size), provider="gemini"))) == [message]
    assert warned(lambda: asyncio.run(all_of(arecords(chunks_of([b"upstream timed out"]), provider="gemini")))) == [message]
    assert warned(lambda: list(tool_calls("[now()]", "gemini"))) == [message]
    # It has an event for that.
    assert warned(lambda: list(responses("Sure", "gemini"))) == []
    assert warned(lambda: list(records("", provider="gemini"))) == []


def test_names_of_files_and_addresses(tmp_path: Path) -> None:
    path = tmp_path / "invoices.jsonl"
    path.write_bytes(TEXT)
    for name in (str(path), bytes(path)):
        [message] = warned(lambda: list(records(name)))
        assert message.startswith("`stream` is the name of a file, and is read as text: pass the open file")
        assert "invoices" not in message
        assert len(warned(lambda: asyncio.run(all_of(arecords(name))))) == 1
        assert len(warned(lambda: list(responses(name, "openai-chat")))) == 1
    assert "an address" in warned(lambda: list(records("https://example.com/v1/invoices")))[0]
    for text in (str(path) + " ", str(tmp_path / "none.jsonl"), str(path) + "\n", "a\0b", "x" * 5000, str(tmp_path)):
        assert warned(lambda: list(records(text))) == []
    with path.open("rb") as file:
        assert len(list(records(file))) == 50
    for chunks in ([str(path)], iter([str(path)])):
        assert warned(lambda: list(records(chunks))) == []


def test_one_warning_for_a_name_that_is_passed_as_a_response(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(TEXT)
    named: list[tuple[str | bytes, str]] = [
        (str(path), "the name of a file"),
        (bytes(path), "the name of a file"),
        ("https://example.com/v1/invoices", "an address"),
    ]
    for name, expected in named:
        [message] = warned(lambda: list(records(name, provider="openai-chat")))
        assert expected in message
        assert warned(lambda: asyncio.run(all_of(arecords(name, provider="openai-chat")))) == [message]
        assert warned(lambda: list(tool_calls(name, "anthropic"))) == [message]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(SourceWarning, match=expected):
                records(name, provider="openai-chat")


@pytest.mark.parametrize("provider", PROVIDERS)
def test_json_that_is_passed_as_a_response(provider: Any) -> None:
    message = f"`stream` is not a response of {provider}, and nothing in it was read: leave out `provider` to read a text"
    for text in (
        '{"a":1}\n{"a":2}\n', '{"a":1}', '{"a":1', '{"id":1}\n{"id":2}\n', '{"id":"x","model":"m"}', "{}",
        '[{"a":1},{"a":2}]', '[\n  {"a":1}', '{"a":1}\n' * 20_000, '{"a":"}\\"","b":{}}\nand more',
    ):  # fmt: skip
        sizes = (1, 5, 100_000) if len(text) < 1000 else (1000, 1_000_000)
        for size in sizes:
            assert warned(lambda: list(records(cut(text.encode(), size), provider=provider))) == [message]
        assert warned(lambda: asyncio.run(all_of(arecords(text, provider=provider)))) == [message]
        # They have an event for that.
        assert warned(lambda: list(responses(text, provider))) == []
    # Each may be the beginning of a response.
    for text in ('{"id":"chatcmpl', '{"message"', "{", " ", '{"candidates":[', '[{"candidates":[', "[", "data: {"):
        assert warned(lambda: list(records(text, provider=provider))) == []


def test_events_that_are_no_response() -> None:
    assert "not a response of openai-chat" in warned(lambda: list(records('data: {"a":1}\n\n', provider="openai-chat")))[0]
    for provider, event in (
        ("anthropic", b'event: ping\ndata: {"type": "ping"}\n\n'),
        ("openai-chat", b": keep-alive\n\n"),
        ("openai-chat", b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n'),
    ):
        assert warned(lambda: list(records(event, provider=provider))) == []  # type: ignore[call-overload]
    # A response that waits for its end.
    body = json.dumps({"id": "resp_1", "object": "response", "status": "queued", "output": []})
    assert warned(lambda: list(records(body, provider="openai-responses"))) == []


def test_the_complete_response_of_another_provider() -> None:
    for indent in (None, 2):
        body = json.dumps(COMPLETION | {"model": "m" * 5000}, indent=indent).encode()
        [message] = warned(lambda: list(records(cut(body, 100), provider="anthropic")))
        assert message == "`stream` looks like a response of openai-chat: pass provider='openai-chat'"


CHUNK = {"id": "x", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "{}"}}]}
START = {"type": "message_start", "message": {"role": "assistant", "content": [], "usage": {"input_tokens": 1}}}
DELTA = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": '{"a":1}'}}
CREATED = {"response": {"id": "r", "instructions": "x" * 5000}, "type": "response.created"}


@pytest.mark.parametrize(
    ("events", "provider", "expected"),
    [
        ([CHUNK], "anthropic", "looks like a response of openai-chat: pass provider='openai-chat'"),
        ([CHUNK] * 100, "ollama", "looks like a response of openai-chat: pass"),
        ([CHUNK], "openai-responses", "looks like a response of openai-chat: pass"),
        ([START, DELTA], "openai-chat", "looks like a response of anthropic: pass"),
        ([START, DELTA], "gemini", "looks like a response of anthropic: pass"),
        ([DELTA], "openai-chat", "has no events of openai-chat, and nothing in it was read: pass the `provider` whose"),
        ([CREATED], "openai-chat", "looks like a response of openai-responses: pass"),
        ([CREATED], "anthropic", "looks like a response of openai-responses: pass"),
        ([CREATED], "ollama", "looks like a response of openai-responses: pass"),
        ([{"a": 1}], "openai-chat", "has no events of openai-chat"),
        ([{"a": 1}], "ollama", "has no events of ollama"),
    ],
)
def test_events_of_another_sdk(events: list[Any], provider: Any, expected: str) -> None:
    class Event(pydantic.BaseModel, extra="allow"): ...

    async def aevents() -> AsyncIterator[Any]:
        for event in events:
            yield event

    [message] = warned(lambda: list(records(events, provider=provider)))
    assert expected in message
    assert warned(lambda: list(records([Event(**event) for event in events], provider=provider))) == [message]
    assert warned(lambda: asyncio.run(all_of(arecords(aevents(), provider=provider)))) == [message]
    assert warned(lambda: list(tool_calls(events, provider))) == [message]


def test_events_of_the_right_sdk_are_not_warned_of() -> None:
    from openai.types.chat import ChatCompletionChunk

    chunk = ChatCompletionChunk.model_validate({**CHUNK, "created": 1, "model": "m"})
    assert warned(lambda: list(records([chunk], provider="openai-chat"))) == []
    assert len(warned(lambda: list(records([chunk], provider="anthropic")))) == 1
    helper = [{"type": "chunk", "chunk": CHUNK}, {"type": "content.delta", "delta": "{}"}]
    assert warned(lambda: list(records(helper, provider="openai-chat"))) == []
    assert warned(lambda: list(records([START, DELTA], provider="anthropic"))) == []
    assert warned(lambda: list(records([START], provider="anthropic"))) == []
    assert warned(lambda: list(records([CREATED], provider="openai-responses"))) == []
    assert warned(lambda: list(records([], provider="openai-chat"))) == []


class Er(pydantic.BaseModel):
    message: str
    code: str


class Log(pydantic.BaseModel):
    error: Er


class Piece(pydantic.BaseModel):
    model: str
    created_at: str
    done: bool


class Other(pydantic.BaseModel):
    name: str


def test_records_that_fit_what_the_caller_asks_for_are_not_warned_of() -> None:
    line = '{"error":{"message":"disk full","code":"E1"}}'
    schema: Any = {"type": "object", "required": ["error"]}
    refused: Any = {"type": "object", "required": ["name"]}
    assert len(warned(lambda: list(records(line)))) == 1
    assert warned(lambda: list(records(line, model=Log))) == []
    assert warned(lambda: list(records(line, schema))) == []
    assert warned(lambda: asyncio.run(all_of(arecords(line, model=Log)))) == []
    assert len(warned(lambda: list(records(line, model=Other)))) == 1
    assert len(warned(lambda: list(records(line, refused)))) == 1
    for size in (1, 50, 10_000):
        assert warned(lambda: list(records(cut(OLLAMA, size), model=Piece))) == []
        [message] = warned(lambda: list(records(cut(OLLAMA, size), model=Other)))
        assert "looks like a response of ollama" in message
        [message] = warned(lambda: list(records(cut(CHAT, size), model=Other)))
        assert "looks like a response of openai-chat" in message
        assert warned(lambda: asyncio.run(all_of(arecords(chunks_of(cut(CHAT, size)), model=Other)))) == [message]

    def strict() -> None:
        with pytest.raises(tokenline.RejectedError):
            list(records(CHAT, model=Other, strict=True))

    assert len(warned(strict)) == 1
    # It comes with the first reject, not at the end.
    chunks = iter([CHAT, CHAT, b'{"name":"Ann"}\n', CHAT])
    stream = records(chunks, model=Other)
    with pytest.warns(SourceWarning, match="openai-chat"):
        assert next(stream).name == "Ann"
    assert len(list(chunks)) == 1


@pytest.mark.parametrize("opening", ['{"id":"', '{"id":1,\n"x":"', "{" + " " * 200 + '"id":"'])
def test_the_cost_of_small_chunks_is_linear(opening: str) -> None:
    def seconds(size: int) -> float:
        chunks = list(cut((opening + "x" * size + '"}').encode(), 1))
        assert len(chunks) > size
        best = float("inf")
        for _ in range(5):
            start = time.perf_counter()
            list(records(chunks))
            best = min(best, time.perf_counter() - start)
        return best

    assert seconds(60_000) < 10 * seconds(15_000)


class Response(pydantic.BaseModel):
    content: str


class Managed:
    def __enter__(self) -> Any: ...
    def __exit__(self, *exception: object) -> None: ...


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (Response, "`stream` is the type test_sources.Response: pass the response that the client returns"),
        (Response(content="x"), r"`stream` is one test_sources.Response, not a stream: ask for a stream \(stream=True\)"),
        ({"choices": []}, "`stream` is one dict, not a stream: pass a complete response as its JSON text"),
        (Path("a.jsonl"), r"`stream` is a path \(PosixPath\): pass the open file, as with open\(path, 'rb'\)"),
        (Managed(), r"`stream` is a context manager \(test_sources.Managed\): pass what `with ... as response` yields"),
    ],
)
def test_what_is_no_source(source: Any, message: str) -> None:
    for read in (records, arecords, tool_calls, lambda stream: responses(stream, "openai-chat")):
        with pytest.raises(TypeError, match=message):
            read(source)


def test_complete_responses_of_the_sdks() -> None:
    from anthropic.types import Message
    from openai.types.chat import ChatCompletion

    completion = ChatCompletion.model_validate(COMPLETION)
    with pytest.raises(TypeError, match=r"`stream` is one openai\.types\.chat\.chat_completion\.ChatCompletion, not a stream"):
        responses(completion, "openai-chat")
    with pytest.raises(TypeError, match=r"`stream` is the type openai\.types\.chat\.chat_completion\.ChatCompletion"):
        responses(ChatCompletion, "openai-chat")
    # What the message says works.
    assert list(records(completion.model_dump_json(), provider="openai-chat")) == [{"a": 1}]
    message = Message.model_validate({**ANTHROPIC, "model": "m", "usage": {"input_tokens": 1, "output_tokens": 1}})
    with pytest.raises(TypeError, match=r"`stream` is one anthropic\.types\.message\.Message"):
        aresponses(message, "anthropic")
    assert list(records(message.model_dump_json(), provider="anthropic")) == [{"a": 1}]


def test_an_interrupt_in_a_warning_loses_and_repeats_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    chunks = [b'data: {"choices":[{"n":1}]}\n', b'{"n":2}\n', b'{"n":3}\n']
    stream = records(list(chunks))
    with monkeypatch.context() as patched:
        patched.setattr(warnings, "warn", interrupt)
        with pytest.raises(KeyboardInterrupt):
            next(stream)
    assert [value.get("n") for value in stream] == [None, 2, 3]

    async def read() -> list[Any]:
        stream = arecords(list(chunks))
        with monkeypatch.context() as patched:
            patched.setattr(warnings, "warn", interrupt)
            with pytest.raises(KeyboardInterrupt):
                await stream.__anext__()
        return await all_of(stream)

    assert [value.get("n") for value in asyncio.run(read())] == [None, 2, 3]


def test_a_part_of_a_source_is_not_judged() -> None:
    body = [json.dumps(ERROR).encode() + b"\n", b'{"a":1}\n']
    stream = records(body, max_records=1)
    assert warned(lambda: list(stream)) == []
    assert stream.report.ended_by == "max_records"
