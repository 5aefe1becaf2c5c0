"""The clients of PyPI. Usage: clients.py PLAN

PLAN is JSON with the proxies, families and faults, as `check.mjs` makes it. Writes a line of JSON per case: what the
client saw, or threw, which `check.mjs` judges. Open Responses' models are checked here.
"""

import json
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anthropic
import httpx
import openai
import openresponses_types
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_openai import ChatOpenAI

CONVERSATION = json.loads(Path(__file__).with_name("conversation.json").read_text())
QUESTION, TOOL, RESULT = (CONVERSATION[name] for name in ("question", "tool", "result"))
KEY = "none"
USER = {"role": "user", "content": QUESTION}
CHAT_TOOL = {"type": "function", "function": TOOL}
USAGE = {"stream_options": {"include_usage": True}}


def options(max_retries):
    return {"api_key": KEY} if max_retries is None else {"api_key": KEY, "max_retries": max_retries}


# OpenAI chat completions


def chat_whole(client, body):
    return client.chat.completions.create(**body)


def chat_stream(client, body):
    # As programs without the helper do it: they index, and append.
    message = {"role": "", "content": "", "tool_calls": []}
    reason, usage = None, None
    for chunk in client.chat.completions.create(stream=True, **USAGE, **body):
        usage = chunk.usage or usage
        if not chunk.choices:
            continue
        choice = chunk.choices[0]
        message["role"] += choice.delta.role or ""
        message["content"] += choice.delta.content or ""
        for part in choice.delta.tool_calls or []:
            if part.index == len(message["tool_calls"]):
                empty = {"name": "", "arguments": ""}
                message["tool_calls"].append({"id": "", "type": "", "function": empty})
            call = message["tool_calls"][part.index]
            call["id"] += part.id or ""
            call["type"] += part.type or ""
            call["function"]["name"] += part.function.name or ""
            call["function"]["arguments"] += part.function.arguments or ""
        reason = choice.finish_reason or reason
    if not message["tool_calls"]:
        del message["tool_calls"]
    choice = {"index": 0, "message": message, "finish_reason": reason}
    return openai.types.chat.ChatCompletion.model_validate(
        {"id": "", "object": "chat.completion", "created": 0, "model": "", "choices": [choice], "usage": usage}
    )


def chat_helper(client, body):
    with client.chat.completions.stream(**USAGE, **body) as stream:
        for _ in stream:
            pass
        return stream.get_final_completion()


def chat_turns(client, model, ask):
    messages = [USER]
    body = {"model": model, "messages": messages, "tools": [CHAT_TOOL]}
    first = ask(client, body)
    message = first.choices[0].message
    calls = message.tool_calls or []
    messages.append(message.model_dump(exclude_none=True, include={"role", "content", "tool_calls"}))
    messages += [{"role": "tool", "tool_call_id": call.id, "content": RESULT} for call in calls]
    second = ask(client, body)
    return {
        "calls": [{"name": it.function.name, "arguments": json.loads(it.function.arguments)} for it in calls],
        "preface": message.content,
        "reasons": [turn.choices[0].finish_reason for turn in (first, second)],
        "usages": [[turn.usage.prompt_tokens, turn.usage.completion_tokens] for turn in (first, second)],
        "text": second.choices[0].message.content,
    }


# OpenAI Responses


def responses_whole(client, body):
    return client.responses.create(**body)


def responses_stream(client, body):
    # As Codex does it: items from `output_item.done`, the end from `response.completed`.
    items, last = [], None
    for number, event in enumerate(client.responses.create(stream=True, **body)):
        assert event.sequence_number == number, event
        if event.type == "response.output_item.done":
            items.append(event.item)
        elif event.type == "response.failed":
            raise openai.APIError(event.response.error.message, httpx.Request("POST", "http://x"), body=None)
        elif event.type == "response.completed":
            last = event.response
    last.output = items
    return last


def responses_helper(client, body):
    with client.responses.stream(**body) as stream:
        for _ in stream:
            pass
        return stream.get_final_response()


def responses_turns(client, model, ask):
    items = [USER]
    body = {"model": model, "input": items, "tools": [{"type": "function", "strict": True, **TOOL}], "store": False}
    first = ask(client, body)
    calls = [item for item in first.output if item.type == "function_call"]
    items += [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in first.output]
    items += [{"type": "function_call_output", "call_id": it.call_id, "output": RESULT} for it in calls]
    second = ask(client, body)
    return {
        "calls": [{"name": it.name, "arguments": json.loads(it.arguments)} for it in calls],
        "preface": first.output_text,
        "reasons": [first.status, second.status],
        "usages": [[turn.usage.input_tokens, turn.usage.output_tokens] for turn in (first, second)],
        "text": second.output_text,
    }


# Anthropic messages


def anthropic_whole(client, body):
    return client.messages.create(**body)


def anthropic_stream(client, body):
    message, arguments = None, {}
    for event in client.messages.create(stream=True, **body):
        match event.type:
            case "message_start":
                message = event.message
            case "content_block_start":
                assert event.index == len(message.content), event
                message.content.append(event.content_block)
            case "content_block_delta":
                block, delta = message.content[event.index], event.delta
                match delta.type:
                    case "text_delta":
                        block.text += delta.text
                    case "thinking_delta":
                        block.thinking += delta.thinking
                    case "signature_delta":
                        block.signature = delta.signature
                    case "input_json_delta":
                        arguments[event.index] = arguments.get(event.index, "") + delta.partial_json
            case "message_delta":
                message.stop_reason = event.delta.stop_reason
                message.usage.output_tokens = event.usage.output_tokens
                message.usage.input_tokens = event.usage.input_tokens or message.usage.input_tokens
    for index, text in arguments.items():
        message.content[index].input = json.loads(text or "{}")
    return message


def anthropic_helper(client, body):
    with client.messages.stream(**body) as stream:
        return stream.get_final_message()


def anthropic_turns(client, model, ask):
    messages = [USER]
    tool = {"name": TOOL["name"], "description": TOOL["description"], "input_schema": TOOL["parameters"]}
    body = {"model": model, "max_tokens": 1000, "messages": messages, "tools": [tool]}
    first = ask(client, body)
    calls = [block for block in first.content if block.type == "tool_use"]
    content = [block.model_dump(include=set(type(block).model_fields), exclude_none=True) for block in first.content]
    messages.append(
        {"role": "assistant", "content": [{k: v for k, v in it.items() if k != "parsed_output"} for it in content]}
    )
    results = [{"type": "tool_result", "tool_use_id": call.id, "content": RESULT} for call in calls]
    messages.append({"role": "user", "content": results})
    second = ask(client, body)
    return {
        "calls": [{"name": call.name, "arguments": call.input} for call in calls],
        "preface": "".join(block.text for block in first.content if block.type == "text"),
        "reasons": [first.stop_reason, second.stop_reason],
        "usages": [[turn.usage.input_tokens, turn.usage.output_tokens] for turn in (first, second)],
        "text": "".join(block.text for block in second.content if block.type == "text"),
    }


# LangChain


def langchain_whole(model, messages):
    return model.invoke(messages)


def langchain_stream(model, messages):
    message = None
    for chunk in model.stream(messages):
        message = chunk if message is None else message + chunk
    return message


def langchain_turns(plain, _, ask):
    model = plain.bind_tools([CHAT_TOOL])
    messages = [HumanMessage(QUESTION)]
    first = ask(model, messages)
    messages.append(first)
    messages += [ToolMessage(RESULT, tool_call_id=call["id"]) for call in first.tool_calls]
    second = ask(model, messages)
    reasons = [
        turn.response_metadata.get("finish_reason", turn.response_metadata.get("status")) for turn in (first, second)
    ]
    return {
        "calls": [{"name": call["name"], "arguments": call["args"]} for call in first.tool_calls],
        "preface": str(first.text),
        "reasons": reasons,
        "usages": [
            [turn.usage_metadata[name] for name in ("input_tokens", "output_tokens")] for turn in (first, second)
        ],
        "text": str(second.text),
    }


def of_openai(url, _, max_retries):
    return openai.OpenAI(base_url=f"{url}/v1", **options(max_retries))


def of_anthropic(url, _, max_retries):
    return anthropic.Anthropic(base_url=url, **options(max_retries))


def of_langchain(is_responses):
    def connect(url, model, max_retries):
        return ChatOpenAI(
            base_url=f"{url}/v1", model=model, use_responses_api=is_responses, stream_usage=True, **options(max_retries)
        )

    return connect


# The body of a request that fails.
CHAT = lambda model: {"model": model, "messages": [USER]}  # noqa: E731
ITEMS = lambda model: {"model": model, "input": QUESTION}  # noqa: E731
MESSAGES = lambda model: {"model": model, "max_tokens": 1000, "messages": [USER]}  # noqa: E731
PROMPT = lambda _: [HumanMessage(QUESTION)]  # noqa: E731

# name, wire, connect, turns, body of a failure, modes
CLIENTS = [
    ("openai chat", "chat", of_openai, chat_turns, CHAT, (chat_whole, chat_stream, chat_helper)),
    (
        "openai responses",
        "responses",
        of_openai,
        responses_turns,
        ITEMS,
        (responses_whole, responses_stream, responses_helper),
    ),
    (
        "anthropic",
        "anthropic",
        of_anthropic,
        anthropic_turns,
        MESSAGES,
        (anthropic_whole, anthropic_stream, anthropic_helper),
    ),
    ("langchain chat", "chat", of_langchain(False), langchain_turns, PROMPT, (langchain_whole, langchain_stream)),
    (
        "langchain responses",
        "responses",
        of_langchain(True),
        langchain_turns,
        PROMPT,
        (langchain_whole, langchain_stream),
    ),
]


def described(error):
    response = getattr(error, "response", None)
    return {
        "classes": [it.__name__ for it in type(error).__mro__],
        "status": getattr(error, "status_code", None),
        "retryAfter": response.headers.get("retry-after") if response is not None else None,
        "message": str(error),
    }


# Open Responses


def types_of_events():
    """The model of each event by its type: the package has no union of them."""
    for name, model in vars(openresponses_types).items():
        if name.endswith("StreamingEvent"):
            [kind] = model.model_fields["type"].annotation
            yield kind.value, model


EVENTS = dict(types_of_events())


TYPED = {"type": "function", "strict": False, **TOOL}
# Members of requests that the response repeats, with all the members that a response must have.
ECHOES = {
    "a tool with a name only": {"tools": [{"type": "function", "name": TOOL["name"]}]},
    "a tool without strict": {"tools": [{"type": "function", **TOOL}]},
    "a tool without description": {
        "tools": [{"type": "function", "name": TOOL["name"], "parameters": TOOL["parameters"]}]
    },
    "a custom tool": {"tools": [TYPED, {"type": "custom", "name": "apply_patch"}]},
    "a tool choice": {"tools": [TYPED], "tool_choice": {"type": "function", "name": TOOL["name"]}},
    "reasoning with effort": {"reasoning": {"effort": "low"}},
    "reasoning with summary": {"reasoning": {"summary": "auto"}},
    "text with verbosity": {"text": {"verbosity": "low"}},
    "text with schema": {"text": {"format": {"type": "json_schema", "name": "x", "schema": {"type": "object"}}}},
    "parameters": {
        **{"temperature": 0.5, "top_p": 0.9, "max_output_tokens": 100, "max_tool_calls": 3, "top_logprobs": 2},
        **{"metadata": {"a": "b"}, "prompt_cache_key": "k", "safety_identifier": "s", "service_tier": "auto"},
        **{"instructions": "Hi", "store": False, "parallel_tool_calls": False, "truncation": "auto", "user": "u"},
    },
    "nulls": dict.fromkeys(("temperature", "top_p", "metadata", "tools", "tool_choice", "text", "reasoning", "store")),
}


def turn(has_result):
    items = [{"type": "message", **USER}]
    if has_result:
        call = {"call_id": "call_1", "name": TOOL["name"], "arguments": json.dumps(CONVERSATION["arguments"])}
        items.append({"type": "function_call", **call})
        items.append({"type": "function_call_output", "call_id": "call_1", "output": RESULT})
    return {"input": items, "tools": [TYPED]}


def without_schema(data):
    """The resource in an event or a body, without its schema: the models accept only null there."""
    resource = data.get("response", data)
    if resource.get("object") == "response" and "schema" in (resource["text"] or {}).get("format", {}):
        resource["text"]["format"]["schema"] = None
    return data


def check_types(url, body):
    """Checks every event of a streamed response, or a whole one."""
    response = httpx.post(f"{url}/v1/responses", json=body).raise_for_status()
    if not body["stream"]:
        openresponses_types.ResponseResource.model_validate(without_schema(response.json()))
        return
    blocks = [block for block in response.text.split("\n\n") if block and not block.startswith(":")]
    for block in blocks:
        name, _, data = re.fullmatch(r"event: (.*)(\n)data: (.*)", block).groups()
        assert json.loads(data)["type"] == name, block
        EVENTS[name].model_validate(without_schema(json.loads(data)))
    assert name == "response.completed", name


def tasks(plan):
    """Every case, as a function that returns its line."""
    for name, wire, connect, turns, body, modes in CLIENTS:
        for ask in modes:
            mode = ask.__name__.rpartition("_")[2]
            client = {"wire": wire, "isStream": mode != "whole", "isPython": True}
            for kind, family in plan["whole" if mode == "whole" else "streamed"]:
                yield conversation, (plan["urls"][kind], f"{name} {mode}", client, kind, family, connect, turns, ask)
            for kind in plan["faulty"][wire]:
                cases = [(fault, 0) for fault in plan["faults"]] + [(fault, None) for fault in plan["begun"]]
                for fault, retries in cases:
                    if fault == "error-event" and not client["isStream"] and kind not in plan["read"]:
                        continue  # only a stream has events
                    yield failure, (
                        plan["urls"][kind],
                        f"{name} {mode}",
                        client,
                        kind,
                        fault,
                        retries,
                        connect,
                        body,
                        ask,
                    )
    for is_streamed in (True, False):
        mode = "stream" if is_streamed else "whole"
        for kind, family in plan["streamed" if is_streamed else "whole"]:
            common = {"model": model_of(family, kind, "types"), "stream": is_streamed}
            bodies = [{**common, **turn(has_result)} for has_result in (False, True)]
            yield types, (plan["urls"][kind], f"{family} of {kind}, {mode}", *bodies)
        for name, members in ECHOES.items():
            body = {"model": model_of("hermes", "echoes"), "input": QUESTION, "stream": is_streamed, **members}
            yield types, (plan["urls"]["openai-chat"], f"{name}, {mode}", body)


def model_of(first, *names):
    return f"{first}@{re.sub('[ ,]+', '-', '/'.join(('py', *names)))}"


def conversation(url, name, client, kind, family, connect, turns, ask):
    model = model_of(family, kind, name)
    line = {"name": f"{name}: {family} of {kind}", "client": client, "family": family, "kind": kind, "model": model}
    return {**line, "seen": turns(connect(url, model, 0), model, ask)}


def failure(url, name, client, kind, fault, retries, connect, body, ask):
    shown = "default" if retries is None else "no"
    model = model_of(fault, kind, name, shown)
    thrown = None
    try:
        ask(connect(url, model, retries), body(model))
    except Exception as error:
        thrown = described(error)
    line = {"name": f"{name}: {fault} of {kind}, {shown} retries", "client": client, "model": model}
    return {**line, "fault": fault, "kind": kind, "retries": shown, "thrown": thrown}


def types(url, name, *bodies):
    for body in bodies:
        check_types(url, body)
    return {"name": f"openresponses-types: {name}"}


def attempt(task):
    run, parameters = task
    try:
        return run(*parameters)
    except Exception as error:
        names = [it for it in parameters[1:] if isinstance(it, str)]
        return {"name": f"{run.__name__}: {', '.join(names)}", "problem": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    with ThreadPoolExecutor(8) as pool:
        for line in pool.map(attempt, tasks(json.loads(sys.argv[1]))):
            print(json.dumps(line), flush=True)
