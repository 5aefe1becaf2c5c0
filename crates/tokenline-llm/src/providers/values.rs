//! Helpers for the providers' JSON.

use std::borrow::Cow;

use tokenline_core::json::{Number, Parser, Value};

use crate::delta::{Delta, OpaqueTarget};

/// The error message in a JSON body that is not a stream.
#[cfg(any(feature = "client", feature = "reqwest-eventsource"))]
pub(crate) fn error_of_body(body: &str) -> Option<String> {
    let mut json = Parser::new();
    let body = json.parse(body.trim_start_matches('\u{feff}').trim()).ok()?;
    // Gemini's endpoint wraps it in an array.
    let body = match body.as_array() {
        Some(bodies) => bodies.into_iter().next()?,
        None => body,
    };
    let is_error = |name, error| body.get(name).and_then(Value::as_str).is_some_and(|its| its == error);
    let error = body.get("error").filter(|error| !is_null_or_empty(*error));
    let error =
        error.or_else(|| (is_error("object", "error") || is_error("type", "error")).then_some(body))?;
    Some(error_message(error).into_owned())
}

/// The arguments of a tool with text input: an object with that text.
pub(super) fn custom_input(input: &str) -> String {
    format!(r#"{{"input":{}}}"#, serde_json::Value::from(input))
}

/// Emits a member that only the provider can read, as an object with this member only; unless it is empty.
pub(super) fn opaque(
    target: OpaqueTarget,
    parent: Value<'_>,
    member: &str,
    sink: &mut impl FnMut(Delta<'_>),
) {
    if let Some(value) = parent.get(member).filter(|value| !is_null_or_empty(*value)) {
        let data = format!(r#"{{"{member}":{}}}"#, value.raw());
        sink(Delta::Opaque { choice: 0, target, data: data.into() });
    }
}

/// The text of a string that later events may continue. If its event has split surrogate pairs, emits the halves at the
/// ends of the text first.
#[inline]
pub(super) fn read_text<'a>(value: Value<'a>, sink: &mut impl FnMut(Delta<'_>)) -> Option<Cow<'a, str>> {
    if let Some(lone) = value.lone_surrogates() {
        sink(Delta::LoneSurrogates(lone));
    }
    value.as_str()
}

/// Reports data that is not an object. An event named `error` need not be JSON; others are unknown.
pub(super) fn non_object(json: &mut Parser, event: &str, data: &str, sink: &mut impl FnMut(Delta<'_>)) {
    let value = json.parse(data).ok();
    sink(match event {
        "error" => Delta::Error { message: value.and_then(Value::as_str).unwrap_or(data.into()) },
        _ => Delta::Unknown {
            parent: "data",
            name: value.map_or("text", |value| value.kind().as_str()).into(),
        },
    });
}

/// Counts an event with a name other than `message`, the default, and `error`.
pub(super) fn unknown_event(name: &str, sink: &mut impl FnMut(Delta<'_>)) {
    if !matches!(name, "message" | "error") {
        sink(Delta::Unknown { parent: "event", name: name.into() });
    }
}

/// The message of an error, which is a text or an object.
pub(crate) fn error_message(error: Value<'_>) -> Cow<'_, str> {
    let text = |value: Value<'_>| value.as_str().filter(|text| !text.is_empty()).map(Cow::into_owned);
    let member = |name| error.get(name).and_then(text);
    let message = text(error)
        .or_else(|| member("message"))
        .or_else(|| member("type"))
        .or_else(|| member("code"))
        .or_else(|| member("status"));
    message.map_or(Cow::Borrowed("no message"), Cow::Owned)
}

/// The text of a string; for any other value except `null`, such as arguments sent as an object, its JSON.
pub(crate) fn text_of(value: Value<'_>) -> Option<Cow<'_, str>> {
    match value.as_str() {
        Some(text) => Some(text),
        None => (!value.is_null()).then(|| value.to_single_line()),
    }
}

pub(super) fn as_u64(value: Value<'_>) -> Option<u64> {
    value.as_number().and_then(Number::as_u64)
}

/// Whether it is empty: `null`, or an empty text.
pub(super) fn is_null_or_empty(value: Value<'_>) -> bool {
    value.is_null() || value.as_str().is_some_and(|text| text.is_empty())
}

/// Counts a member of an unexpected type, unless it is `null`.
pub(super) fn unknown(parent: &'static str, name: &str, value: Value<'_>, sink: &mut impl FnMut(Delta<'_>)) {
    if !value.is_null() {
        sink(Delta::Unknown { parent, name: format!("{name}: {}", value.kind().as_str()).into() });
    }
}
