//! The whole body that a recorded stream would have been, for requests that do not ask for a stream.

mod bedrock;
mod gemini;

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::{Map, Value, json};
use tokenline_core::Limits;
use tokenline_core::json::Raw;
use tokenline_core::sse::{SseDecoder, SseEvent, SseItem};

use crate::{FinishReason, Provider, ResponseEvent, ResponseOptions, ResponseParser, TextMode};

/// The whole body of a recorded stream. `None` if the recording is not a complete stream of this provider, or if it has
/// something that the body cannot have: the body must be read as the stream is.
pub(super) fn whole_body(provider: Provider, recording: &[u8]) -> Option<Bytes> {
    let body = match provider {
        Provider::OpenAiChat => openai_chat(events(recording, "type")?)?,
        Provider::OpenAiResponses => openai_responses(events(recording, "type")?)?,
        Provider::Anthropic => anthropic(events(recording, "type")?)?,
        Provider::Cohere => cohere(events(recording, "type")?)?,
        Provider::GeminiInteractions => gemini_interactions(events(recording, "event_type")?)?,
        Provider::Ollama => ollama(lines(recording))?,
        Provider::Gemini => gemini::body(events(recording, "type")?)?,
        Provider::Bedrock => bedrock::body(bedrock::events(recording)?)?,
    };
    let body = Bytes::from(body.to_string());
    let parser = Content::parser(provider);
    (Content::of(parser.whole_body(), &body) == Content::of(Content::parser(provider), recording))
        .then_some(body)
}

/// The content of a response.
#[derive(Default, PartialEq)]
struct Content {
    /// The text and the reasoning of each choice.
    texts: BTreeMap<u64, [String; 2]>,
    /// The choice, the name and the arguments.
    calls: Vec<(u64, String, Value)>,
    reasons: Vec<(u64, FinishReason)>,
    is_complete: bool,
}

impl Content {
    fn parser(provider: Provider) -> ResponseParser<Raw> {
        let options = ResponseOptions::default().text_as(TextMode::Text).text_and_reasoning();
        ResponseParser::new(provider, options)
    }

    fn of(mut parser: ResponseParser<Raw>, response: &[u8]) -> Self {
        parser.push(response);
        parser.finish();
        let mut content = Self::default();
        while let Some(event) = parser.next_event() {
            match event {
                ResponseEvent::Text { choice, text, .. } => {
                    content.texts.entry(choice).or_default()[0].push_str(&text);
                }
                ResponseEvent::Reasoning { choice, text, .. } => {
                    content.texts.entry(choice).or_default()[1].push_str(&text);
                }
                ResponseEvent::ToolCall { choice, call, .. } => {
                    let arguments = call.parameters.to_value().unwrap_or_default();
                    content.calls.push((choice, call.name, arguments));
                }
                ResponseEvent::Finish { choice, reason } => content.reasons.push((choice, reason)),
                _ => {}
            }
        }
        // A body has the calls of one choice after the other.
        content.calls.sort_by_key(|(choice, ..)| *choice);
        content.reasons.sort_by_key(|(choice, _)| *choice);
        content.is_complete = parser.is_complete();
        content
    }
}

/// The data of server-sent events; `None` if that is not JSON, but for the terminator. Some servers leave out the member with the event's type.
fn events(recording: &[u8], type_member: &str) -> Option<Vec<Value>> {
    let mut events = Vec::new();
    let mut is_json = true;
    let mut add = |event: SseEvent<'_>| {
        let Ok(mut data) = serde_json::from_str::<Value>(event.data) else {
            is_json &= event.data.trim() == "[DONE]";
            return;
        };
        if let Some(data) = data.as_object_mut()
            && event.event != "message"
        {
            data.entry(type_member).or_insert_with(|| event.event.into());
        }
        events.push(data);
    };
    let mut decoder = SseDecoder::new(Limits::DEFAULT);
    let mut rest = recording;
    while !rest.is_empty() {
        let decoded = decoder.decode(rest);
        if let Some(SseItem::Event(event)) = decoded.item {
            add(event);
        }
        let consumed = decoded.consumed;
        rest = &rest[consumed..];
    }
    if let Some(SseItem::Event(event) | SseItem::Incomplete(event)) = decoder.finish() {
        add(event);
    }
    is_json.then_some(events)
}

fn lines(recording: &[u8]) -> Vec<Value> {
    recording.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

/// Removes a member that is an object.
fn take_object(from: &mut Value, name: &str) -> Option<Map<String, Value>> {
    match from.get_mut(name)?.take() {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

/// Members that a delta replaces rather than continues.
const REPLACED: [&str; 6] = ["role", "type", "id", "name", "index", "finish_reason"];

/// Adds a delta to what there is: strings are continued, objects are merged, and so are elements of arrays that have the
/// same `index`.
fn accumulate(target: &mut Value, delta: Value) {
    match (target, delta) {
        (Value::Object(target), Value::Object(delta)) => {
            for (name, delta) in delta {
                match target.get_mut(&name) {
                    // Nothing new.
                    Some(_) if delta.is_null() => {}
                    Some(Value::String(_)) if REPLACED.contains(&&*name) && delta == "" => {}
                    Some(value) if !value.is_null() && !REPLACED.contains(&&*name) => {
                        accumulate(value, delta);
                    }
                    _ => {
                        let mut value = if delta.is_array() { json!([]) } else { Value::Null };
                        accumulate(&mut value, delta);
                        target.insert(name, value);
                    }
                }
            }
        }
        (Value::String(text), Value::String(delta)) => text.push_str(&delta),
        (Value::Array(elements), Value::Array(deltas)) => {
            for delta in deltas {
                let index = delta.get("index").filter(|index| index.is_u64());
                let same = index.and_then(|index| {
                    elements.iter_mut().find(|element: &&mut Value| element.get("index") == Some(index))
                });
                match same {
                    Some(element) => accumulate(element, delta),
                    None => elements.push(delta),
                }
            }
        }
        (_, Value::Null) => {}
        (target, delta) => *target = delta,
    }
}

fn openai_chat(chunks: Vec<Value>) -> Option<Value> {
    let mut body = json!({"object": "chat.completion"});
    let mut choices: BTreeMap<u64, Value> = BTreeMap::new();
    let (mut is_stream, mut usage) = (false, None);
    for mut chunk in chunks {
        let Value::Array(deltas) = chunk.get_mut("choices")?.take() else { return None };
        is_stream = true;
        for mut choice in deltas {
            if !choice.is_object() {
                return None;
            }
            let index = choice.get("index").and_then(Value::as_u64).unwrap_or_default();
            let delta = choice.get_mut("delta").map(Value::take).unwrap_or_default();
            let known = choices.entry(index).or_insert_with(|| {
                json!({"index": index, "message": {"role": "assistant", "content": null}, "finish_reason": null})
            });
            accumulate(&mut known["message"], delta);
            if let Some(choice) = choice.as_object_mut() {
                choice.remove("delta");
            }
            accumulate(known, choice);
        }
        let members = chunk.as_object_mut()?;
        usage = members.remove("usage").filter(|usage| !usage.is_null()).or(usage);
        members.retain(|name, _| name != "choices" && name != "object");
        let known = body.as_object_mut()?;
        for (name, value) in std::mem::take(members) {
            known.entry(name).or_insert(value);
        }
    }
    if !choices.values().all(|choice| choice["finish_reason"].is_string()) {
        return None;
    }
    for choice in choices.values_mut() {
        let message = choice.get_mut("message");
        let calls = message.and_then(|message| message.get_mut("tool_calls")?.as_array_mut());
        for call in calls.into_iter().flatten() {
            if let Some(call) = call.as_object_mut() {
                call.remove("index");
            }
        }
    }
    body["choices"] = choices.into_values().collect();
    if let Some(usage) = usage {
        body["usage"] = usage;
    }
    is_stream.then_some(body)
}

/// The last event has the whole response. A recording of two responses has no whole body.
fn openai_responses(events: Vec<Value>) -> Option<Value> {
    let is_last = |event: &Value| {
        let name = event.get("type").and_then(Value::as_str);
        matches!(name, Some("response.completed" | "response.incomplete" | "response.failed"))
    };
    let mut ends = events.into_iter().filter(is_last);
    let mut last = ends.next().filter(|_| ends.next().is_none())?;
    let response = last.get_mut("response")?.take();
    response.get("output")?.as_array()?;
    Some(response)
}

fn anthropic(events: Vec<Value>) -> Option<Value> {
    let (mut message, mut has_ended) = (None, false);
    let mut blocks: BTreeMap<u64, Value> = BTreeMap::new();
    let mut inputs: BTreeMap<u64, String> = BTreeMap::new();
    for mut event in events {
        let index = event.get("index").and_then(Value::as_u64).unwrap_or_default();
        match event.get("type").and_then(Value::as_str)? {
            // A second message is not part of the body.
            "message_start" if message.is_some() => return None,
            "message_start" => {
                let mut start = take_object(&mut event, "message")?;
                if let Some(Value::Array(content)) = start.remove("content") {
                    blocks.extend((0..).zip(content));
                }
                message = Some(start);
            }
            "content_block_start" => {
                blocks.insert(index, take_object(&mut event, "content_block")?.into());
            }
            "content_block_delta" => {
                let mut delta = take_object(&mut event, "delta")?;
                if let Some(Value::String(part)) = delta.get("partial_json") {
                    inputs.entry(index).or_default().push_str(part);
                    continue;
                }
                delta.remove("type");
                if let Some(citation) = delta.remove("citation") {
                    delta.insert("citations".to_owned(), json!([citation]));
                }
                accumulate(blocks.get_mut(&index)?, Value::Object(delta));
            }
            "message_delta" => {
                let message = message.as_mut()?;
                message.extend(take_object(&mut event, "delta").unwrap_or_default());
                if let (Some(Value::Object(known)), Some(usage)) =
                    (message.get_mut("usage"), take_object(&mut event, "usage"))
                {
                    known.extend(usage);
                }
            }
            "message_stop" => has_ended = true,
            "error" => return None,
            _ => {}
        }
    }
    for (index, input) in inputs.into_iter().filter(|(_, input)| !input.is_empty()) {
        let block = blocks.get_mut(&index)?.as_object_mut()?;
        block.insert("input".to_owned(), serde_json::from_str(&input).ok()?);
    }
    let mut message = message.filter(|_| has_ended)?;
    message.insert("content".to_owned(), blocks.into_values().collect());
    Some(Value::Object(message))
}

fn cohere(events: Vec<Value>) -> Option<Value> {
    let mut body = json!({});
    let mut message = json!({"role": "assistant"});
    let (mut content, mut calls) = (BTreeMap::new(), BTreeMap::new());
    for mut event in events {
        let index = event.get("index").and_then(Value::as_u64).unwrap_or_default();
        let name = event.get("type").and_then(Value::as_str)?.to_owned();
        let mut delta = event.get_mut("delta").map(Value::take).unwrap_or_default();
        let part = |delta: &mut Value, member: &str| Some(delta.get_mut("message")?.get_mut(member)?.take());
        match &*name {
            "message-start" => body["id"] = event.get_mut("id").map(Value::take).unwrap_or_default(),
            "content-start" | "content-delta" => {
                let part = part(&mut delta, "content")?;
                accumulate(content.entry(index).or_insert_with(|| json!({})), part);
            }
            "tool-call-start" | "tool-call-delta" => {
                let part = part(&mut delta, "tool_calls")?;
                accumulate(calls.entry(index).or_insert_with(|| json!({})), part);
            }
            "tool-plan-delta" => {
                let part = json!({"tool_plan": part(&mut delta, "tool_plan")?});
                accumulate(&mut message, part);
            }
            "citation-start" => {
                let part = json!({"citations": [part(&mut delta, "citations")?]});
                accumulate(&mut message, part);
            }
            "message-end" => {
                for (name, value) in delta.as_object_mut()? {
                    body[name] = value.take();
                }
            }
            _ => {}
        }
    }
    body.get("finish_reason")?;
    if !content.is_empty() {
        message["content"] = content.into_values().collect();
    }
    if !calls.is_empty() {
        message["tool_calls"] = calls.into_values().collect();
    }
    body["message"] = message;
    Some(body)
}

/// The last event has the interaction; its steps may have come before.
fn gemini_interactions(events: Vec<Value>) -> Option<Value> {
    let mut interaction = None;
    let mut steps: BTreeMap<u64, Value> = BTreeMap::new();
    let mut arguments: BTreeMap<u64, String> = BTreeMap::new();
    for mut event in events {
        let index = event.get("index").and_then(Value::as_u64).unwrap_or_default();
        match event.get("event_type").and_then(Value::as_str)? {
            "step.start" => {
                steps.insert(index, event.get_mut("step")?.take());
            }
            "step.delta" => {
                let delta = event.get_mut("delta")?.take();
                match delta.get("type").and_then(Value::as_str)? {
                    "arguments_delta" => {
                        arguments.entry(index).or_default().push_str(delta.get("arguments")?.as_str()?);
                    }
                    "text" => accumulate(steps.get_mut(&index)?, json!({"content": [in_one(delta)]})),
                    "thought_summary" => {
                        let part = delta.get("content")?.clone();
                        accumulate(steps.get_mut(&index)?, json!({"summary": [in_one(part)]}));
                    }
                    _ => {
                        let mut delta = delta;
                        delta.as_object_mut()?.remove("type");
                        accumulate(steps.get_mut(&index)?, delta);
                    }
                }
            }
            "error" => return None,
            name if name.starts_with("interaction.") => {
                interaction = take_object(&mut event, "interaction").or(interaction);
            }
            _ => {}
        }
    }
    for (index, arguments) in arguments {
        let step = steps.get_mut(&index)?.as_object_mut()?;
        step.insert("arguments".to_owned(), serde_json::from_str(&arguments).ok()?);
    }
    for step in steps.values_mut() {
        for name in ["content", "summary"] {
            for part in step.get_mut(name).and_then(Value::as_array_mut).into_iter().flatten() {
                part.as_object_mut()?.remove("index");
            }
        }
    }
    let mut interaction =
        interaction.filter(|last: &Map<String, Value>| last.get("status") != Some(&"in_progress".into()))?;
    if !interaction.contains_key("steps") {
        interaction.insert("steps".to_owned(), steps.into_values().collect());
    }
    Some(Value::Object(interaction))
}

/// A part that continues the one before.
fn in_one(mut part: Value) -> Value {
    if let Some(part) = part.as_object_mut() {
        part.insert("index".to_owned(), 0.into());
    }
    part
}

fn ollama(mut parts: Vec<Value>) -> Option<Value> {
    let mut last = parts.pop().filter(|last| last.get("done") == Some(&Value::Bool(true)))?;
    let mut message = json!({"role": "assistant", "content": ""});
    parts.push(json!({"message": last.get_mut("message").map(Value::take).unwrap_or_default()}));
    for mut part in parts {
        accumulate(&mut message, part.get_mut("message")?.take());
    }
    last.as_object_mut()?.insert("message".to_owned(), message);
    Some(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(provider: Provider, events: &[&str]) -> Option<Value> {
        let recording: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        whole_body(provider, recording.as_bytes()).map(|body| serde_json::from_slice(&body).expect("JSON"))
    }

    #[test]
    fn a_null_takes_nothing_away() {
        let chunks = [
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{"}}]}}]}"#,
            r#"{"choices":[{"delta":{"role":null,"tool_calls":[{"index":0,"id":null,"function":{"name":null,"arguments":"}"}}]},"finish_reason":"stop"}]}"#,
            r#"{"choices":[{"delta":{},"finish_reason":null}]}"#,
        ];
        let body = whole(Provider::OpenAiChat, &chunks).expect("a whole body");
        let choice = &body["choices"][0];
        let call = json!({"id": "c", "function": {"name": "f", "arguments": "{}"}});
        assert_eq!(choice["message"], json!({"role": "assistant", "content": null, "tool_calls": [call]}));
        assert_eq!(choice["finish_reason"], "stop");
    }

    #[test]
    fn what_is_no_complete_stream_has_no_whole_body() {
        let start = r#"{"type":"message_start","message":{"content":[]}}"#;
        let block = r#"{"type":"content_block_start","index":0,"content_block":1}"#;
        let json = r#"{"type":"content_block_delta","index":0,"delta":{"partial_json":"{}"}}"#;
        let stop = r#"{"type":"message_stop"}"#;
        let end = r#"{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}"#;
        let chat: [&[&str]; 5] = [
            &[r#"{"choices":[{"delta":{"content":"half"}}]}"#],
            &[r#"{"choices":[1]}"#, end],
            &[r#"{"choices":[{"delta":1}]}"#],
            &[end, "{\"choices\":["],
            &["{}"],
        ];
        for events in chat {
            assert_eq!(whole(Provider::OpenAiChat, events), None, "{events:?}");
        }
        assert!(whole(Provider::OpenAiChat, &[end, "[DONE]"]).is_some());
        let anthropic: [&[&str]; 3] = [&[start], &[start, block, json, stop], &[stop]];
        for events in anthropic {
            assert_eq!(whole(Provider::Anthropic, events), None, "{events:?}");
        }
        assert!(whole(Provider::Anthropic, &[start, stop]).is_some());
        let step = r#"{"event_type":"step.start","index":0,"step":1}"#;
        let delta =
            r#"{"event_type":"step.delta","index":0,"delta":{"type":"arguments_delta","arguments":"{}"}}"#;
        assert_eq!(whole(Provider::GeminiInteractions, &[step, delta]), None);
    }
}
