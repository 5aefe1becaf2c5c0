//! The whole body of a stream of Gemini's `streamGenerateContent`: that of `generateContent`.

use std::collections::BTreeMap;
use std::mem;

use serde_json::{Value, json};

/// Adds up the parts of each candidate; of all other members the last counts.
pub(super) fn body(chunks: Vec<Value>) -> Option<Value> {
    let mut body = json!({});
    let mut candidates: BTreeMap<u64, Value> = BTreeMap::new();
    for mut chunk in chunks {
        let members = chunk.as_object_mut()?;
        for mut candidate in members.remove("candidates").into_iter().flat_map(in_array) {
            let index = candidate.get("index").and_then(Value::as_u64).unwrap_or_default();
            let known = candidates
                .entry(index)
                .or_insert_with(|| json!({"content": {"role": "model", "parts": []}, "index": index}));
            let content = candidate.get_mut("content").map(Value::take).unwrap_or_default();
            let parts = known.pointer_mut("/content/parts")?.as_array_mut()?;
            for part in content.get("parts").cloned().into_iter().flat_map(in_array) {
                add_part(parts, part);
            }
            set_members(known, &mut candidate, &["content"])?;
        }
        set_members(&mut body, &mut chunk, &[])?;
    }
    (!candidates.is_empty()).then(|| {
        body["candidates"] = candidates.into_values().collect();
        body
    })
}

fn in_array(value: Value) -> Vec<Value> {
    match value {
        Value::Array(elements) => elements,
        _ => Vec::new(),
    }
}

/// Adds a part. Text continues the text before it.
fn add_part(parts: &mut Vec<Value>, mut part: Value) {
    let is_text = |part: &Value| {
        part.as_object().is_some_and(|members| {
            members.get("text").is_some_and(Value::is_string)
                && members.keys().all(|name| name == "text" || name == "thought")
        })
    };
    match parts.last_mut() {
        Some(last) if is_text(last) && is_text(&part) && last.get("thought") == part.get("thought") => {
            if let (Some(Value::String(text)), Value::String(more)) =
                (last.get_mut("text"), part["text"].take())
            {
                text.push_str(&more);
            }
        }
        _ => parts.push(part),
    }
}

/// Sets the members that are not null, but for those left out.
fn set_members(target: &mut Value, from: &mut Value, left_out: &[&str]) -> Option<()> {
    let target = target.as_object_mut()?;
    for (name, value) in mem::take(from.as_object_mut()?) {
        if !left_out.contains(&&*name) && !value.is_null() {
            target.insert(name, value);
        }
    }
    Some(())
}
