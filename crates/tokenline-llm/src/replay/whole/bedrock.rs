//! The whole body of a stream of Bedrock's `converse-stream`: that of `converse`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use tokenline_core::Limits;

use crate::providers::EventStreamDecoder;

/// The events of binary messages, each with its name. `None` if one is damaged.
pub(super) fn events(recording: &[u8]) -> Option<Vec<(String, Value)>> {
    let mut messages = EventStreamDecoder::new(&Limits::DEFAULT);
    let (mut events, mut rest) = (Vec::new(), recording);
    while !rest.is_empty() {
        let (consumed, message) = messages.decode(rest);
        if let Some(message) = message {
            let event = message.event.ok()?;
            events.push((event.name.to_owned(), serde_json::from_slice(&event.data).ok()?));
        }
        rest = &rest[consumed..];
    }
    Some(events)
}

/// Adds up the blocks of the message.
pub(super) fn body(events: Vec<(String, Value)>) -> Option<Value> {
    let mut body = json!({"output": {"message": {"role": "assistant"}}});
    let mut blocks: BTreeMap<u64, Block> = BTreeMap::new();
    for (name, mut event) in events {
        let index = event.get("contentBlockIndex").and_then(Value::as_u64).unwrap_or_default();
        match &*name {
            "messageStart" | "contentBlockStop" => {}
            "contentBlockStart" => {
                if let Some(Value::Object(call)) = event.pointer_mut("/start/toolUse").map(Value::take) {
                    blocks.insert(index, Block::Call(call, String::new()));
                }
            }
            "contentBlockDelta" => {
                let delta = event.get("delta")?.as_object()?;
                let (kind, part) = delta.iter().next()?;
                let block = blocks.entry(index);
                match (&**kind, part) {
                    ("text", Value::String(part)) => {
                        let Block::Text(text) = block.or_insert_with(|| Block::Text(String::new())) else {
                            return None;
                        };
                        text.push_str(part);
                    }
                    ("toolUse", part) => {
                        let Block::Call(_, input) = blocks.get_mut(&index)? else { return None };
                        input.push_str(part.get("input")?.as_str()?);
                    }
                    ("reasoningContent", Value::Object(members)) => {
                        let Block::Reasoning(known) = block.or_insert_with(|| Block::Reasoning(Map::new()))
                        else {
                            return None;
                        };
                        for (name, part) in members {
                            let text = known.entry(name.clone()).or_insert_with(|| "".into());
                            *text = (text.as_str()?.to_owned() + part.as_str()?).into();
                        }
                    }
                    _ => return None,
                }
            }
            "messageStop" | "metadata" => {
                for (name, value) in event.as_object_mut()? {
                    body[name] = value.take();
                }
            }
            // An exception.
            _ => return None,
        }
    }
    body.get("stopReason")?;
    let blocks: Option<Vec<Value>> = blocks.into_values().map(Block::into_json).collect();
    body["output"]["message"]["content"] = blocks?.into();
    Some(body)
}

/// A block of the message so far.
enum Block {
    Text(String),
    /// The members of a call, and the text of its input.
    Call(Map<String, Value>, String),
    Reasoning(Map<String, Value>),
}

impl Block {
    fn into_json(self) -> Option<Value> {
        Some(match self {
            Self::Text(text) => json!({"text": text}),
            Self::Call(mut call, input) => {
                let input = if input.is_empty() { json!({}) } else { serde_json::from_str(&input).ok()? };
                call.insert("input".to_owned(), input);
                json!({"toolUse": call})
            }
            Self::Reasoning(mut members) => match members.remove("redactedContent") {
                Some(data) => json!({"reasoningContent": {"redactedContent": data}}),
                None => json!({"reasoningContent": {"reasoningText": members}}),
            },
        })
    }
}
