//! Helpers for the providers' JSON.

use std::borrow::Cow;

use tokenline_core::json::{Parser, SyntaxError, Value};

use super::api::Sink;
use crate::delta::{Delta, OpaqueTarget};

/// The error message in a JSON body that is not a stream, and the error's code.
#[cfg(any(feature = "client", feature = "reqwest-eventsource"))]
pub(crate) fn error_of_body(body: &str) -> Option<(String, Option<String>)> {
    error_of_object(body.trim_start_matches('\u{feff}'), false)
}

/// The error message in a JSON document outside the events of a stream, and the error's code. `is_named`: it is the error itself.
pub(crate) fn error_of_object(object: &str, is_named: bool) -> Option<(String, Option<String>)> {
    let mut json = Parser::new();
    let body = json.parse(object.trim()).ok()?;
    // Gemini's endpoint wraps it in an array.
    let body = match body.as_array() {
        Some(bodies) => bodies.into_iter().next()?,
        None => body,
    };
    let has = |name, error| body.get(name).and_then(Value::as_str).is_some_and(|value| value == error);
    let is_whole = is_named || has("object", "error") || has("type", "error");
    let error = body.get("error").filter(|error| is_error(*error));
    let error = error.or_else(|| is_whole.then_some(body))?;
    Some((error_message(error).into_owned(), error_code(error).map(Cow::into_owned)))
}

/// The message of an error in an object that is not a part of a response, as frameworks and gateways send it: FastAPI's
/// `detail`, `errors`, and a message beside a code of failure.
pub(super) fn bare_error(object: Value<'_>) -> Option<Cow<'_, str>> {
    // Reports of progress.
    if object.get("object").is_some() || object.get("usage").is_some() {
        return None;
    }
    let is_failure = |name: &str| object.get(name).is_some_and(|code| !is_empty(code) && !is_success(code));
    let has_failed = ["code", "status", "status_code", "error_code"].into_iter().any(is_failure);
    let error = ["detail", "errors", "error_msg", "message", "msg"].into_iter().find_map(|name| {
        let error = object.get(name).filter(|error| !is_empty(*error))?;
        let first = error.as_array().and_then(|errors| errors.into_iter().next()).unwrap_or(error);
        let is_own = matches!(name, "detail" | "errors") && object.as_object()?.len() == 1;
        let is_message = first.as_str().is_some() || error.as_array().is_some();
        (is_message && (is_own || has_failed)).then_some(first)
    })?;
    Some(error_message(error.get("msg").unwrap_or(error)))
}

/// MiniMax reports its errors beside the choices, with a code that is not 0.
pub(super) fn base_resp_error(status: Value<'_>) -> Option<Cow<'_, str>> {
    as_u64(status.get("status_code")?).filter(|code| *code != 0)?;
    Some(status.get("status_msg").map_or(Cow::Borrowed("no message"), error_message))
}

/// Whether a code says that all is well, or how far it is.
fn is_success(code: Value<'_>) -> bool {
    match code.as_str() {
        Some(code) => {
            matches!(
                code.to_ascii_lowercase().as_str(),
                "ok" | "success" | "queued" | "pending" | "processing" | "running" | "in_progress"
            ) || code.parse().is_ok_and(|code: u64| matches!(code, 0 | 200..=299))
        }
        None => as_u64(code).is_none_or(|code| matches!(code, 0 | 200..=299)),
    }
}

/// The arguments of a tool with text input: an object with that text.
pub(super) fn custom_input(input: &str) -> String {
    format!(r#"{{"input":{}}}"#, serde_json::to_string(input).expect("a string is JSON"))
}

/// Emits a member that only the provider can read, as an object with this member only; unless it is empty.
pub(super) fn opaque(target: OpaqueTarget, parent: Value<'_>, member: &str, sink: &mut Sink<'_>) {
    if let Some(value) = parent.get(member).filter(|value| !is_null_or_empty(*value)) {
        let data = format!(r#"{{"{member}":{}}}"#, value.raw());
        sink(Delta::Opaque { choice: 0, target, data: data.into() });
    }
}

/// The text of a string that later events may continue. If its event has split surrogate pairs, emits the halves at the
/// ends of the text first.
#[inline]
pub(super) fn read_text<'a>(value: Value<'a>, sink: &mut Sink<'_>) -> Option<Cow<'a, str>> {
    if let Some(lone) = value.lone_surrogates() {
        sink(Delta::LoneSurrogates(lone));
    }
    value.as_str()
}

/// Reports data that is not an object. An event named `error` need not be JSON; others are unknown.
///
/// # Errors
///
/// If the data is not JSON. It may be a damaged part of the response, unless it is a comment or one word, with which
/// servers keep a connection open.
pub(super) fn non_object(
    json: &mut Parser,
    event: &str,
    data: &str,
    sink: &mut Sink<'_>,
) -> Result<(), SyntaxError> {
    let value = json.parse(data);
    if event == "error" {
        let message = value.ok().and_then(Value::as_str).unwrap_or(data.into());
        sink(Delta::Error { message, code: None });
        return Ok(());
    }
    let first = value.ok().and_then(Value::as_array).and_then(|array| array.into_iter().next());
    // Gemini's endpoint wraps an error in an array, and so do its gateways.
    if let Some(error) = first.and_then(|first| first.get("error")) {
        sink(error_delta(error));
        return Ok(());
    }
    let name = match value {
        Ok(value) => value.kind().as_str(),
        Err(_) if is_idle(data) => "text",
        Err(error) => return Err(error),
    };
    sink(Delta::Unknown { parent: "data", name: name.into() });
    Ok(())
}

/// Whether the data only keeps the connection open: `: comment`, `ping`, `[keep-alive]`.
fn is_idle(data: &str) -> bool {
    let word = data.strip_prefix('[').and_then(|data| data.strip_suffix(']')).unwrap_or(data);
    let is_word = || word.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    data.starts_with(':') || (word.len() <= 32 && is_word())
}

/// Counts an event with a name other than `message`, the default, and `error`.
pub(super) fn unknown_event(name: &str, sink: &mut Sink<'_>) {
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

/// The provider's error, which is a text or an object.
pub(crate) fn error_delta<'v>(error: Value<'v>) -> Delta<'v> {
    Delta::Error { message: error_message(error), code: error_code(error) }
}

/// The code of an error, or else its type. A number, which is a status, comes last.
pub(crate) fn error_code<'v>(error: Value<'v>) -> Option<Cow<'v, str>> {
    let member =
        |name| error.get(name).and_then(Value::as_str).filter(|code| !matches!(&**code, "" | "error"));
    let number = || error.get("code").and_then(as_u64).map(|code| code.to_string().into());
    ["code", "type", "status"].into_iter().find_map(member).or_else(number)
}

/// The text of a string; for any other value except `null`, such as arguments sent as an object, its JSON.
pub(crate) fn text_of(value: Value<'_>) -> Option<Cow<'_, str>> {
    match value.as_str() {
        Some(text) => Some(text),
        None => (!value.is_null()).then(|| value.to_single_line()),
    }
}

/// A count or an index. Some servers send indexes as strings.
pub(super) fn as_u64(value: Value<'_>) -> Option<u64> {
    match value.as_number() {
        Some(number) => number.as_u64(),
        None => value.as_str()?.parse().ok(),
    }
}

/// Whether it is empty: `null`, or an empty text.
pub(super) fn is_null_or_empty(value: Value<'_>) -> bool {
    value.is_null() || value.as_str().is_some_and(|text| text.is_empty())
}

/// Counts a member of an unexpected type, unless it is `null`.
pub(super) fn unknown(parent: &'static str, name: &str, value: Value<'_>, sink: &mut Sink<'_>) {
    if !value.is_null() {
        sink(Delta::Unknown { parent, name: format!("{name}: {}", value.kind().as_str()).into() });
    }
}

/// Takes a member with a part of the response, of an unexpected type, for a loss; if it is empty (`[]` is PHP's `{}`), it
/// is only counted.
#[cold]
pub(super) fn unreadable(parent: &'static str, name: &str, value: Value<'_>, sink: &mut Sink<'_>) {
    if is_empty(value) {
        return unknown(parent, name, value, sink);
    }
    sink(Delta::Unreadable { parent, name: name.into(), kind: value.kind() });
}

/// Whether a member `error` says that something failed: some servers send it empty, or with empty members.
pub(super) fn is_error(value: Value<'_>) -> bool {
    let says_nothing = |value: Value<'_>| is_empty(value) || as_u64(value) == Some(0);
    !says_nothing(value)
        && !value.as_object().is_some_and(|error| error.into_iter().all(|(_, value)| says_nothing(value)))
}

/// Whether it says nothing: `null`, `false`, or empty in its type.
pub(super) fn is_empty(value: Value<'_>) -> bool {
    is_null_or_empty(value)
        || value.as_bool() == Some(false)
        || value.as_array().is_some_and(tokenline_core::json::Array::is_empty)
        || value.as_object().is_some_and(tokenline_core::json::Object::is_empty)
}
