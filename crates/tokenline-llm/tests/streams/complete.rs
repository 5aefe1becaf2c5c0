//! Complete responses assembled from recorded streams yield the same as the streams, at every cut.

use serde_json::{Map, Value, json};
use tokenline_llm::{Provider, ResponseEvent, TextMode, Usage};

use crate::common::{Seen, at_every_cut, event_stream, parser_of};
use crate::recorded::{body, folder, provider};

/// Appends a text to a member, or sets any other value.
fn grow(object: &mut Map<String, Value>, name: &str, more: &Value) {
    match (object.get_mut(name), more) {
        (Some(Value::String(text)), Value::String(more)) => text.push_str(more),
        (Some(Value::Array(all)), Value::Array(more)) => all.extend(more.iter().cloned()),
        (Some(Value::Object(all)), Value::Object(more)) => {
            for (name, more) in more {
                grow(all, name, more);
            }
        }
        (_, Value::Null) => {}
        _ => {
            object.insert(name.to_owned(), more.clone());
        }
    }
}

fn grow_all(object: &mut Value, more: &Value) {
    let object = object.as_object_mut().expect("an object");
    for (name, more) in more.as_object().into_iter().flatten() {
        grow(object, name, more);
    }
}

/// The element with this index, inserted if missing.
fn at<'a>(array: &'a mut Value, index: &Value) -> &'a mut Value {
    let index = usize::try_from(index.as_u64().unwrap_or(0)).expect("a small index");
    let array = array.as_array_mut().expect("an array");
    while array.len() <= index {
        array.push(json!({}));
    }
    &mut array[index]
}

/// Fragments of arguments as one value.
fn read(arguments: &Value) -> Value {
    match arguments.as_str() {
        Some("") => json!({}),
        Some(text) => serde_json::from_str(text).expect("whole arguments"),
        None => arguments.clone(),
    }
}

fn anthropic(events: &[Value]) -> Value {
    let mut message = json!({});
    for event in events {
        match event["type"].as_str() {
            Some("message_start") => message = event["message"].clone(),
            Some("content_block_start") => {
                *at(&mut message["content"], &event["index"]) = event["content_block"].clone();
            }
            Some("content_block_delta") => {
                let block = at(&mut message["content"], &event["index"]);
                for (name, more) in event["delta"].as_object().expect("a delta") {
                    let block = block.as_object_mut().expect("a block");
                    match name.as_str() {
                        "type" => {}
                        "partial_json" => grow(block, "partial", more),
                        name => grow(block, name, more),
                    }
                }
            }
            Some("message_delta") => {
                grow_all(&mut message, &event["delta"]);
                for (name, more) in event["usage"].as_object().into_iter().flatten() {
                    message["usage"][name] = more.clone();
                }
            }
            _ => {}
        }
    }
    for block in message["content"].as_array_mut().expect("blocks") {
        if let Some(partial) = block.as_object_mut().and_then(|block| block.remove("partial")) {
            block["input"] = read(&partial);
        }
    }
    message
}

fn openai_chat(events: &[Value]) -> Value {
    let mut whole = json!({"object": "chat.completion"});
    let mut message = json!({});
    let mut calls = json!([]);
    for event in events {
        if event["usage"].is_object() {
            whole["usage"] = event["usage"].clone();
        }
        let Some(choice) = event["choices"].get(0) else { continue };
        for (name, more) in choice["delta"].as_object().into_iter().flatten() {
            match name.as_str() {
                "role" => message["role"] = json!("assistant"),
                "tool_calls" => {
                    for more in more.as_array().into_iter().flatten() {
                        let call = at(&mut calls, &more["index"]);
                        for (name, more) in more.as_object().expect("a call") {
                            match (name.as_str(), call.as_object_mut().expect("a call")) {
                                ("index", _) => {}
                                ("id" | "type", call) if call.contains_key(name) => {}
                                (_, call) => grow(call, name, more),
                            }
                        }
                    }
                }
                name => grow(message.as_object_mut().expect("a message"), name, more),
            }
        }
        if choice["finish_reason"].is_string() {
            whole["finish"] = choice["finish_reason"].clone();
        }
    }
    if calls.as_array().is_some_and(|calls| !calls.is_empty()) {
        message["tool_calls"] = calls;
    }
    let finish = whole["finish"].take();
    whole["choices"] = json!([{"index": 0, "message": message, "finish_reason": finish}]);
    whole
}

fn gemini(events: &[Value]) -> Value {
    let mut whole = json!({});
    let mut parts = Vec::new();
    for event in events {
        let candidate = &event["candidates"][0];
        parts.extend(candidate["content"]["parts"].as_array().into_iter().flatten().cloned());
        if candidate["finishReason"].is_string() {
            whole["reason"] = candidate["finishReason"].clone();
        }
        if event["usageMetadata"].is_object() {
            whole["usageMetadata"] = event["usageMetadata"].clone();
        }
    }
    let reason = whole["reason"].take();
    let content = json!({"role": "model", "parts": parts});
    whole["candidates"] = json!([{"index": 0, "content": content, "finishReason": reason}]);
    whole
}

fn bedrock(events: &[Value]) -> Value {
    let mut whole = json!({});
    let mut content = json!([]);
    for event in events {
        if let Some(start) = event.get("contentBlockStart") {
            grow_all(at(&mut content, &start["contentBlockIndex"]), &start["start"]);
        } else if let Some(delta) = event.get("contentBlockDelta") {
            let block = at(&mut content, &delta["contentBlockIndex"]);
            match delta["delta"].get("reasoningContent") {
                Some(more) => grow_all(block, &json!({"reasoningContent": {"reasoningText": more}})),
                None => grow_all(block, &delta["delta"]),
            }
        } else if let Some(stop) = event.get("messageStop") {
            whole["stopReason"] = stop["stopReason"].clone();
        } else if let Some(metadata) = event.get("metadata") {
            whole["usage"] = metadata["usage"].clone();
        }
    }
    for block in content.as_array_mut().expect("blocks") {
        if let Some(call) = block.get_mut("toolUse") {
            call["input"] = call.get("input").map_or_else(|| json!({}), read);
        }
    }
    whole["output"] = json!({"message": {"role": "assistant", "content": content}});
    whole
}

/// An event of Bedrock's, recorded under its name.
fn message(event: &Value) -> Vec<u8> {
    let (name, payload) = event.as_object().and_then(|event| event.iter().next()).expect("an event");
    event_stream::event(name, &payload.to_string())
}

fn cohere(events: &[Value]) -> Value {
    let mut whole = json!({});
    let mut message = json!({"role": "assistant", "content": [], "tool_calls": []});
    for event in events {
        let more = &event["delta"]["message"];
        match event["type"].as_str() {
            Some("content-start" | "content-delta") => {
                grow_all(at(&mut message["content"], &event["index"]), &more["content"]);
            }
            Some("tool-call-start" | "tool-call-delta") => {
                grow_all(at(&mut message["tool_calls"], &event["index"]), &more["tool_calls"]);
            }
            Some("tool-plan-delta") => grow_all(&mut message, more),
            Some("message-end") => {
                whole["finish_reason"] = event["delta"]["finish_reason"].clone();
                whole["usage"] = event["delta"]["usage"].clone();
            }
            _ => {}
        }
    }
    whole["message"] = message;
    whole
}

fn gemini_interactions(events: &[Value]) -> Value {
    let mut steps = json!([]);
    let mut whole = json!({});
    for event in events {
        match event["event_type"].as_str() {
            Some("step.start") => *at(&mut steps, &event["index"]) = event["step"].clone(),
            Some("step.delta") => {
                let step = at(&mut steps, &event["index"]);
                let delta = &event["delta"];
                match delta["type"].as_str() {
                    Some("text") => {
                        let content = json!([{"type": "text", "text": delta["text"]}]);
                        grow_all(step, &json!({"content": content}));
                    }
                    Some("arguments_delta") => {
                        if step["arguments"].is_object() {
                            step["arguments"] = json!("");
                        }
                        grow_all(step, &json!({"arguments": delta["arguments"]}));
                    }
                    _ => {
                        let mut delta = delta.clone();
                        delta.as_object_mut().expect("a delta").remove("type");
                        grow_all(step, &delta);
                    }
                }
            }
            Some("interaction.completed") => whole = event["interaction"].clone(),
            _ => {}
        }
    }
    for step in steps.as_array_mut().expect("steps") {
        if step["arguments"].is_string() {
            step["arguments"] = read(&step["arguments"]);
        }
    }
    whole["steps"] = steps;
    whole
}

/// The content of a response, streamed or not.
#[derive(Debug, PartialEq)]
struct Sum {
    text: String,
    reasoning: String,
    calls: Vec<(String, Value)>,
    finish: Vec<String>,
    usage: Option<Usage>,
}

fn sum(seen: &Seen) -> Sum {
    let mut sum = Sum {
        text: String::new(),
        reasoning: String::new(),
        calls: Vec::new(),
        finish: Vec::new(),
        usage: None,
    };
    for event in &seen.events {
        match event {
            ResponseEvent::Text { text, .. } => sum.text += text,
            ResponseEvent::Reasoning { text, .. } => sum.reasoning += text,
            ResponseEvent::ToolCall { call, .. } => {
                sum.calls.push((call.name.clone(), call.parameters.to_value().expect("JSON")));
            }
            ResponseEvent::Finish { reason, .. } => sum.finish.push(reason.to_string()),
            ResponseEvent::Usage(usage) => sum.usage = Some(*usage),
            _ => {}
        }
    }
    sum
}

#[test]
#[ignore = "needs the folder of recordings, TOKENLINE_RECORDINGS"]
fn a_complete_response_yields_the_same_as_its_stream() {
    let mut files = Vec::new();
    for folder in [folder(), folder().join("more")] {
        files.extend(
            std::fs::read_dir(folder)
                .expect("the folder is there")
                .map(|entry| entry.expect("an entry").path()),
        );
    }
    files.sort();
    let mut compared = 0;
    for file in files {
        let name = file.file_name().and_then(|name| name.to_str()).expect("UTF-8");
        let Some(name) = name.strip_suffix(".txt") else { continue };
        // Partial arguments have no form in a complete response.
        if name == "gemini.stream-tool-call-arguments" {
            continue;
        }
        let provider = provider(name);
        let payloads = std::fs::read_to_string(&file).expect("it can be read");
        let events: Vec<Value> =
            payloads.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let whole = match provider {
            Provider::Anthropic => anthropic(&events),
            Provider::OpenAiChat => openai_chat(&events),
            // Its last event contains the response.
            Provider::OpenAiResponses => match events.iter().rev().find_map(|event| event.get("response")) {
                Some(response) if response["output"].get(0).is_some() => response.clone(),
                _ => continue,
            },
            Provider::Gemini => gemini(&events),
            Provider::Bedrock => bedrock(&events),
            Provider::Cohere => cohere(&events),
            Provider::GeminiInteractions => gemini_interactions(&events),
            other => panic!("{other:?}"),
        };
        let wire = match provider {
            Provider::Bedrock => events.iter().flat_map(message).collect(),
            _ => body(provider, &payloads),
        };
        let streamed = sum(&at_every_cut(parser_of(provider, TextMode::Text), &wire));
        let whole = whole.to_string();
        let seen = at_every_cut(parser_of(provider, TextMode::Text), whole.as_bytes());
        assert!(seen.is_complete, "{name}: {whole}");
        assert_eq!(sum(&seen), streamed, "{name}: {whole}");
        compared += 1;
    }
    assert!(compared >= 25, "{compared}");
}
