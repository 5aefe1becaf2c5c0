"""Event objects of the providers' SDKs, turned back into the provider's wire format."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tokenline._sources import type_name

# Events that the SDKs' helpers add to those of the wire.
_ANTHROPIC_HELPERS = frozenset({"text", "thinking", "citation", "signature", "input_json", "compaction"})
_PROVIDERS = ("openai-chat", "openai-responses", "anthropic", "gemini", "gemini-interactions", "cohere", "ollama")


def converter(provider: str | None) -> Callable[[Any], bytes]:
    """The function that turns the provider's event objects into bytes of its wire format."""
    if provider is None:
        return _refuse
    if provider == "openai-chat":
        return _chat
    if provider == "ollama":
        return lambda event: _json(event, provider) + b"\n"
    if provider == "anthropic":
        return _anthropic
    if provider in _PROVIDERS:
        return lambda event: _named(event, provider)
    return lambda event: _fail(event, provider)


def _refuse(event: Any) -> bytes:
    message = f"`stream` must yield bytes or str, not {_name(event)}"
    if isinstance(event, dict) or hasattr(event, "model_dump_json"):
        message += "; name the `provider` to read the events of its SDK"
    raise TypeError(message)


def _chat(event: Any) -> bytes:
    kind = _member(event, "type")
    # `client.chat.completions.stream()` wraps each chunk of the wire, and adds events of its own.
    if kind == "chunk":
        event = _member(event, "chunk")
    elif isinstance(kind, str) and _member(event, "choices") is None:
        return b""
    return b"data: " + _json(event, "openai-chat") + b"\n\n"


def _anthropic(event: Any) -> bytes:
    if _member(event, "type") in _ANTHROPIC_HELPERS:
        return b""
    return _named(event, "anthropic")


def _named(event: Any, provider: str) -> bytes:
    data = _json(event, provider)
    kind = _member(event, "type")
    name = b"" if not isinstance(kind, str) else b"event: " + kind.encode() + b"\n"
    return name + b"data: " + data + b"\n\n"


def _member(event: Any, name: str) -> Any:
    return event.get(name) if isinstance(event, dict) else getattr(event, name, None)


def _json(event: Any, provider: str) -> bytes:
    if isinstance(event, dict):
        try:
            return json.dumps(event, separators=(",", ":"), default=_dump).encode()
        except (TypeError, ValueError) as error:
            raise TypeError(f"`stream` has an event that is not JSON: {error}") from error
    dump = getattr(event, "model_dump_json", None)
    if dump is None:
        return _fail(event, provider)
    # Members absent on the wire stay absent. Gemini's SDK has Python's names of members, and the wire's as aliases.
    text: str = dump(exclude_unset=True, by_alias=True, warnings=False)
    return text.encode()


def _dump(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    if dump is None:
        raise TypeError(f"{type(value).__qualname__} is not JSON")
    return dump(mode="json", exclude_unset=True, by_alias=True, warnings=False)


def _fail(event: Any, provider: str) -> bytes:
    if provider in _PROVIDERS:
        expected = f"bytes, str, or event objects of {provider} (dicts or pydantic models)"
    else:
        expected = f"the raw bytes of {provider}: event objects are not read for it"
    raise TypeError(f"`stream` must yield {expected}, not {_name(event)}")


def _name(event: Any) -> str:
    return type_name(type(event))
