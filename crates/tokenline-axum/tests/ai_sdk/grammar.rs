//! The grammar of a chunk stream, checked as the page does: `processUIMessageStream` in the npm package `ai` throws
//! where this panics. It knows nothing of the writer.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

#[derive(Clone, Debug, PartialEq)]
enum Call {
    Streaming(String),
    Available,
    Failed,
    Done,
}

/// Checks the chunks of one message.
pub(crate) fn check(chunks: &[Value], of: &str) {
    let text = |chunk: &Value, member: &str| {
        chunk[member].as_str().unwrap_or_else(|| panic!("{of}: no {member}: {chunk}")).to_owned()
    };
    let (mut open, mut parts) = (HashSet::new(), HashSet::new());
    let mut calls: HashMap<String, Call> = HashMap::new();
    let (mut is_in_step, mut has_error) = (false, false);
    for (at, chunk) in chunks.iter().enumerate() {
        let kind = text(chunk, "type");
        let is_ok = match &*kind {
            "start" => at == 0,
            "start-step" => !std::mem::replace(&mut is_in_step, true),
            "finish-step" => std::mem::replace(&mut is_in_step, false) && open.is_empty(),
            "text-start" | "reasoning-start" => {
                let id = text(chunk, "id");
                is_in_step && open.is_empty() && open.insert(id.clone()) && parts.insert(id)
            }
            "text-delta" | "reasoning-delta" => {
                open.contains(&text(chunk, "id")) && !text(chunk, "delta").is_empty()
            }
            "text-end" | "reasoning-end" => open.remove(&text(chunk, "id")),
            "tool-input-start" => {
                let state = Call::Streaming(String::new());
                is_in_step && open.is_empty() && calls.insert(text(chunk, "toolCallId"), state).is_none()
            }
            "tool-input-delta" => match calls.get_mut(&text(chunk, "toolCallId")) {
                Some(Call::Streaming(input)) => {
                    input.push_str(&text(chunk, "inputTextDelta"));
                    true
                }
                _ => false,
            },
            "tool-input-available" => {
                assert!(chunk["input"].is_object() && !text(chunk, "toolName").is_empty(), "{of}: {chunk}");
                match calls.insert(text(chunk, "toolCallId"), Call::Available) {
                    // What was seen growing is what the call has.
                    Some(Call::Streaming(input)) if !input.is_empty() => {
                        let input: Value = serde_json::from_str(&input).expect("complete arguments");
                        assert_eq!(input, chunk["input"], "{of}");
                        true
                    }
                    before => matches!(before, None | Some(Call::Streaming(_))),
                }
            }
            "tool-input-error" => {
                assert!(
                    !text(chunk, "errorText").is_empty() && chunk.get("input").is_some(),
                    "{of}: {chunk}"
                );
                let before = calls.insert(text(chunk, "toolCallId"), Call::Failed);
                matches!(before, None | Some(Call::Streaming(_)))
            }
            "tool-output-available" | "tool-output-error" => {
                calls.insert(text(chunk, "toolCallId"), Call::Done) == Some(Call::Available)
            }
            // Nothing but the ends may follow: the page stops here.
            "error" => {
                let rest = chunks[at + 1..]
                    .iter()
                    .all(|chunk| chunk["type"].as_str().is_some_and(|kind| kind.starts_with("finish")));
                !std::mem::replace(&mut has_error, true) && open.is_empty() && rest
            }
            "finish" => {
                let reason = chunk.get("finishReason").and_then(Value::as_str);
                at + 1 == chunks.len() && !is_in_step && (!has_error || reason == Some("error"))
            }
            kind => kind.starts_with("data-") && chunk.get("data").is_some(),
        };
        assert!(is_ok, "{of}: {chunk} at {at} of {}", serde_json::json!(chunks));
    }
    assert!(chunks.last().is_some_and(|last| last["type"] == "finish"), "{of}");
    let is_open = |call: &&Call| matches!(call, Call::Streaming(_));
    assert!(open.is_empty() && !calls.values().any(|call| is_open(&call)), "{of}");
}
