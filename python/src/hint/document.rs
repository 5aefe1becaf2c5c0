//! JSON that is no record: complete responses, errors, and the objects of a provider.

use std::cell::RefCell;

use tokenline_core::json::{Kind, Parser, Value};
use tokenline_llm::Provider;

use super::message::Hint;

/// The first members of complete responses and of errors.
#[rustfmt::skip]
pub(super) const IN_BODIES: &[&[u8]] = &[
    b"candidates", b"choices", b"code", b"content", b"created", b"created_at", b"done", b"error", b"finish_reason", b"id",
    b"message", b"metrics", b"model", b"modelVersion", b"object", b"output", b"request_id", b"responseId", b"role",
    b"service_tier", b"status", b"stopReason", b"stop_reason", b"system_fingerprint", b"type", b"usage", b"usageMetadata",
];
/// The first members of the objects in arrays, which Gemini sends.
pub(super) const IN_ARRAYS: &[&[u8]] =
    &[b"candidates", b"error", b"modelVersion", b"promptFeedback", b"responseId", b"usageMetadata"];

/// Whether the first event has JSON as its data.
pub(super) fn has_json_event(beginning: &[u8]) -> bool {
    for line in beginning.split(|byte| *byte == b'\n') {
        let line = line.trim_ascii_start();
        if let Some(data) = line.strip_prefix(b"data:") {
            return matches!(data.trim_ascii_start().first(), Some(b'{' | b'['));
        }
        let is_field = [&b"event:"[..], b"id:", b"retry:", b":"].iter().any(|name| line.starts_with(name));
        if !is_field && !line.is_empty() {
            return false;
        }
    }
    false
}

/// Whether the first member of an object, or of the first object of an array, has one of these names.
pub(super) fn may_begin_with(beginning: &[u8], names: &[&[u8]]) -> bool {
    let text = beginning.trim_ascii_start();
    let text = text.strip_prefix(b"[").unwrap_or(text).trim_ascii_start();
    let name = text.strip_prefix(b"{").unwrap_or(text).trim_ascii_start();
    let Some(name) = name.strip_prefix(b"\"") else { return name.is_empty() };
    match name.iter().position(|byte| *byte == b'"') {
        Some(end) => names.contains(&&name[..end]),
        None => names.iter().any(|known| known.starts_with(name)),
    }
}

/// Whether an object that begins here also ends here.
pub(super) fn has_object(beginning: &[u8]) -> bool {
    let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
    for byte in beginning.trim_ascii_start() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            b'{' if !in_string => depth += 1,
            b'}' if !in_string => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

/// The hint about a source that is one JSON document.
pub(super) fn document(text: &[u8]) -> Option<Hint> {
    let text = std::str::from_utf8(text).ok()?;
    thread_local! {
        static PARSER: RefCell<Parser> = RefCell::new(Parser::new());
    }
    PARSER.with_borrow_mut(|parser| {
        let value = parser.parse(text.trim_ascii()).ok()?;
        // Gemini sends an array.
        let value = value.as_array().and_then(|elements| elements.iter().next()).unwrap_or(value);
        if is_error(value) { Some(Hint::ErrorBody) } else { body(value).map(Hint::Body) }
    })
}

/// Whether it is the error that a provider sends in place of a response, and nothing else.
pub(super) fn is_error(value: Value<'_>) -> bool {
    const BESIDE: &[&str] = &["error", "type", "status", "code", "request_id", "message", "success"];
    let has = |value: Value<'_>, name: &str| value.get(name).is_some();
    let Some(members) = value.as_object() else { return false };
    if has_text(value, "object", "error") {
        // Of vLLM and of its like.
        return has(value, "message") && has(value, "type");
    }
    let is_alone = members.into_iter().all(|(name, _)| BESIDE.contains(&name));
    let Some(error) = value.get("error").filter(|error| error.kind() == Kind::Object) else { return false };
    let is_described = ["type", "code", "status", "param"].into_iter().any(|name| has(error, name));
    is_alone && is_described && error.get("message").is_some_and(|message| message.kind() == Kind::String)
}

/// The provider of a complete response, by the members that only responses have.
pub(super) fn body(value: Value<'_>) -> Option<Provider> {
    let has = |names: &[&str]| names.iter().all(|name| value.get(name).is_some());
    let has_any = |names: &[&str]| names.iter().any(|name| value.get(name).is_some());
    let choice = || value.get("choices")?.as_array()?.iter().next();
    let is_object = |name: &str| value.get(name).is_some_and(|member| member.kind() == Kind::Object);
    if choice().is_some_and(|choice| choice.get("message").is_some())
        && has_any(&["model", "object", "usage"])
    {
        Some(Provider::OpenAiChat)
    } else if has_text(value, "object", "response") && has(&["output"]) {
        Some(Provider::OpenAiResponses)
    } else if has_text(value, "type", "message") && has(&["role", "content", "stop_reason"]) {
        Some(Provider::Anthropic)
    } else if has(&["candidates"]) && has_any(&["usageMetadata", "modelVersion", "responseId"]) {
        Some(Provider::Gemini)
    } else if has_text(value, "object", "interaction") && has(&["status"]) {
        Some(Provider::GeminiInteractions)
    } else if is_object("message") && has(&["finish_reason", "id"]) {
        Some(Provider::Cohere)
    } else if value.pointer("/output/message").is_some() && has(&["stopReason"]) {
        Some(Provider::Bedrock)
    } else if has(&["model", "created_at", "done"]) && has_any(&["message", "response"]) {
        Some(Provider::Ollama)
    } else {
        None
    }
}

pub(super) fn has_text(value: Value<'_>, name: &str, text: &str) -> bool {
    value.get(name).and_then(Value::as_str).as_deref() == Some(text)
}
