//! Converts Gemini's own schema form to JSON Schema.

use tokenline_core::json::{Raw, Value};

use crate::order::in_order;

const TYPES: [&str; 6] = ["STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT"];

/// The schema as JSON Schema, if it is in Gemini's form: types in capitals, and `nullable`.
pub(crate) fn to_json_schema(schema: Value<'_>) -> Option<Raw> {
    let mut edits = Vec::new();
    gather(schema, &mut edits);
    if edits.is_empty() {
        return None;
    }
    let text = schema.document();
    let mut changed = String::with_capacity(text.len());
    let mut at = schema.range().start;
    for (range, replacement) in in_order(&edits, |(range, _)| range.start) {
        changed.push_str(&text[at..range.start]);
        changed.push_str(replacement);
        at = range.end;
    }
    changed.push_str(&text[at..schema.range().end]);
    Raw::new(&changed).ok()
}

fn gather(value: Value<'_>, edits: &mut Vec<(std::ops::Range<usize>, String)>) {
    if let Some(kind) = value.get("type")
        && let Some(name) = kind.as_str().filter(|name| TYPES.contains(&&**name))
    {
        let name = name.to_ascii_lowercase();
        let is_nullable = value.get("nullable").and_then(Value::as_bool) == Some(true);
        let replacement = if is_nullable { format!(r#"["{name}","null"]"#) } else { format!(r#""{name}""#) };
        edits.push((kind.range(), replacement));
    }
    for (_, member) in value.as_object().into_iter().flatten() {
        gather(member, edits);
    }
    for element in value.as_array().into_iter().flatten() {
        gather(element, edits);
    }
}
