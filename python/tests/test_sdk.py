"""Event objects of the SDKs give the events of the raw bytes."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
from support import FIXTURES, provider_of

from tokenline import Reasoning, Record, Reject, RejectedCall, ToolCall, responses, tool_calls

# Fixtures with events that the SDKs do not pass on, or pass on as their own exceptions.
NOT_PASSED_ON = {
    # `[DONE]`, which is the only end of this response.
    "openai-chat/quirks/done-without-finish-reason.sse",
    # An error that is not in the form of OpenAI's.
    "openai-chat/quirks/vllm-error-object.sse",
    # The line of `[DONE]`, where the stream ends.
    "openai-responses/done-marker-alone.sse",
    # Events without a type or a name.
    "openai-responses/type-missing.sse",
    "anthropic/error-without-type.sse",
    "anthropic/event-names-missing.sse",
    "anthropic/type-missing.sse",
}
PROVIDERS = ("openai-chat", "openai-responses", "anthropic")
PATHS = [path for provider in PROVIDERS for path in sorted((FIXTURES / provider).rglob("*.sse"))]


def sdk_stream(provider: str, body: bytes) -> Any:
    """The stream of the provider's SDK, which reads this body over its own HTTP client."""
    sdk: Any = anthropic if provider == "anthropic" else openai
    client_class = sdk.DefaultHttpxClient
    # Anthropic's SDK has a fork of httpx.
    http: Any = importlib.import_module(client_class.__mro__[1].__module__.partition(".")[0])

    def respond(_: Any) -> Any:
        return http.Response(200, headers={"content-type": "text/event-stream"}, content=body)

    settings: Any = {
        "api_key": "none",
        "base_url": "http://model",
        "max_retries": 0,
        "http_client": http.Client(transport=http.MockTransport(respond)),
    }
    if provider == "anthropic":
        client = anthropic.Anthropic(**settings)
        return client.messages.create(model="m", messages=[], max_tokens=1, stream=True)
    openai_client = openai.OpenAI(**settings)
    if provider == "openai-chat":
        return openai_client.chat.completions.create(model="m", messages=[], stream=True)
    return openai_client.responses.create(model="m", input="", stream=True)


def comparable(event: Any) -> Any:
    """An event without what the SDK changes: places in the wire's bytes, and the order of members in opaque data."""
    if isinstance(event, Reject) and event.origin == "wire":
        return event.code, event.line, event.message
    if isinstance(event, RejectedCall) and event.reject.origin == "wire":
        return event.name, event.received, event.reject.code, event.reject.message
    if isinstance(event, Reasoning) and event.opaque is not None:
        return event.text, event.choice, json.loads(event.opaque)
    if isinstance(event, ToolCall):
        # A dict does not keep the white space of its text.
        return event.name, event.parameters, event.call_id, event.completion, event.choice, event.number
    return event


@pytest.mark.parametrize("path", PATHS, ids=lambda path: str(path.relative_to(FIXTURES)))
def test_sdk_objects_give_the_events_of_the_bytes(path: Path) -> None:
    provider = provider_of(path)
    body = path.read_bytes()
    raw = list(responses(body, provider))
    found = []
    sdk_error = None
    try:
        for event in responses(sdk_stream(provider, body), provider):
            found.append(event)
    except (openai.APIError, anthropic.APIError, json.JSONDecodeError) as error:
        sdk_error = error
    if sdk_error is not None:
        assert any(isinstance(event, Reject) and event.code == "provider_error" for event in raw), sdk_error
        values = [event.value for event in raw if isinstance(event, Record)]
        assert [event.value for event in found if isinstance(event, Record)] == values
    elif str(path.relative_to(FIXTURES)) in NOT_PASSED_ON:
        assert found != raw
    else:
        assert [comparable(event) for event in found] == [comparable(event) for event in raw]


@pytest.mark.parametrize(
    "path",
    [path for path in PATHS if path.parent.name in PROVIDERS] + sorted((FIXTURES / "gemini").glob("*.sse")),
    ids=lambda path: f"{path.parent.name}/{path.name}",
)
def test_dicts_give_the_events_of_the_bytes(path: Path) -> None:
    provider = provider_of(path)
    body = path.read_bytes()

    def dicts() -> Iterator[dict[str, Any]]:
        for line in body.decode().splitlines():
            if line.startswith("data:") and line != "data: [DONE]":
                yield json.loads(line.removeprefix("data:"))

    try:
        list(dicts())
    except json.JSONDecodeError:
        pytest.skip("has events that are not JSON")
    if b"[DONE]" in body or b"event: error" in body or "event-names" in path.name or "type-missing" in path.name:
        pytest.skip("has what no event object holds")
    def read(stream: Any) -> list[Any]:
        # Places in the wire's bytes are others.
        found = responses(stream, provider)
        return [comparable(event) for event in found if not (isinstance(event, Reject) and event.origin == "wire")]

    assert read(dicts()) == read(body)


def test_raw_responses_of_the_sdk() -> None:
    body = (FIXTURES / "anthropic" / "tool-use.sse").read_bytes()

    class Raw:
        def iter_bytes(self) -> Iterator[bytes]:
            yield body[:300]
            yield body[300:]

    assert list(responses(Raw(), "anthropic")) == list(responses(body, "anthropic"))
    assert len(list(tool_calls(Raw(), "anthropic"))) == 1


def test_helpers_of_the_sdks_are_unwrapped() -> None:
    body = (FIXTURES / "anthropic" / "text-then-tool.sse").read_bytes()
    sdk = list(sdk_stream("anthropic", body))
    helper = [{"type": "text", "text": "x", "snapshot": "x"}, {"type": "input_json", "partial_json": ""}]
    assert list(responses([*helper, *sdk, *helper], "anthropic")) == list(responses(body, "anthropic"))

    chat = (FIXTURES / "openai-chat" / "definitions.sse").read_bytes()
    chunks = [{"type": "chunk", "chunk": chunk} for chunk in sdk_stream("openai-chat", chat)]
    wrapped = [{"type": "content.delta", "delta": "x"}, *chunks, {"type": "content.done"}]
    assert list(responses(wrapped, "openai-chat")) == list(responses(chat, "openai-chat"))


def test_what_cannot_be_read_is_a_type_error() -> None:
    with pytest.raises(TypeError, match=r"`stream` must yield bytes, str, or event objects of gemini .*, not object"):
        list(responses([object()], "gemini"))
    with pytest.raises(TypeError, match="`stream` must yield the raw bytes of bedrock: event objects are not read for it"):
        list(responses([{"messageStart": {}}], "bedrock"))
    with pytest.raises(TypeError, match="`stream` has an event that is not JSON"):
        list(responses([{"choices": {1}}], "openai-chat"))
