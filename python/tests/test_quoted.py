"""Calls that a text quotes, and calls in the text beside tools that went with the request."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from support import cut

from tokenline import Note, Record, Reject, ToolCall, responses, tool_calls
from tokenline._types import TextAs

TOOLS = [{"name": "run", "parameters": {"type": "object", "required": ["cmd"]}}]
QUOTED = [
    'Never run `[run(cmd="rm")]`, please.\n',
    '```python\nrun(cmd="rm")\n[run(cmd="rm")]\n```\n',
    'Write `<tool_call>{"name":"run","arguments":{"cmd":"rm"}}</tool_call>` to call it.\n',
    '```yaml\n{"name":"run","arguments":{"cmd":"rm"}}\n```\n',
]
MARKED = '<tool_call>{"name":"run","arguments":{"cmd":"ls"}}</tool_call>\n'
OBJECT = '{"name":"run","arguments":{"cmd":"ls"}}\n'


def events(text: str) -> bytes:
    """The response with this text of an OpenAI-compatible server."""

    def data() -> Iterator[str]:
        yield from (json.dumps({"choices": [{"index": 0, "delta": {"content": char}}]}) for char in text)
        yield json.dumps({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        yield "[DONE]"

    return "".join(f"data: {line}\n\n" for line in data()).encode()


@pytest.mark.parametrize("quoted", QUOTED)
@pytest.mark.parametrize("size", [1, 5, 1000])
def test_a_quoted_call_is_text(quoted: str, size: int) -> None:
    whole = quoted + MARKED
    stream = tool_calls(cut(whole.encode(), size), tools=TOOLS)
    assert [call.parameters for call in stream] == [{"cmd": "ls"}]
    assert stream.report.rejected == 0
    assert "call_in_text" in [note.code for note in stream.report.kept_notes]


@pytest.mark.parametrize("text", [MARKED, OBJECT])
@pytest.mark.parametrize("size", [1, 100, 100_000])
def test_with_native_calls_the_text_is_text(text: str, size: int) -> None:
    modes: list[tuple[TextAs, int, int]] = [("native_calls", 0, 1), ("tool_calls", 1, 0), ("text", 0, 0)]
    for mode, called, noted in modes:
        found = list(responses(cut(events(text), size), "openai-chat", tools=TOOLS, text_as=mode))
        calls = [event for event in found if isinstance(event, ToolCall)]
        notes = [event.code for event in found if isinstance(event, Note)]
        assert (len(calls), notes.count("call_in_text")) == (called, noted), mode


@pytest.mark.parametrize("size", [1, 100, 100_000])
def test_records_and_calls_in_one_text(size: int) -> None:
    text = MARKED + '\n{"name":"Ada","age":36}\n{"name":"Bob"}\n' + OBJECT
    read = responses(
        cut(events(text), size), "openai-chat", tools=TOOLS, schema={"required": ["age"]}, text_as="records_and_tool_calls"
    )
    found = list(read)
    assert [event.value for event in found if isinstance(event, Record)] == [{"name": "Ada", "age": 36}]
    assert len([event for event in found if isinstance(event, ToolCall)]) == 2
    assert [event.code for event in found if isinstance(event, Reject)] == ["schema_violation"]
