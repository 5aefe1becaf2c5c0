//! Gemini's Interactions API: <https://ai.google.dev/gemini-api/docs/interactions>.

pub(crate) mod request;
mod stream;

pub use stream::GeminiInteractionsDecoder;

use tokenline_core::json::Value;

use crate::providers::{KeyHeader, Setting};
use crate::wire::Framing;

/// The name, for people and options.
pub(crate) const NAME: &str = "gemini-interactions";
/// The API in a few words, for help texts.
pub(crate) const TITLE: &str = "Gemini Interactions";
/// The provider's own address.
pub(crate) const BASE_URL: &str = "https://generativelanguage.googleapis.com";
/// The variable with another address, as Google's own tools name it.
pub(crate) const BASE_URL_VARIABLE: &str = "GOOGLE_GEMINI_BASE_URL";
/// The path behind the base URL.
pub(crate) const PATH: &str = "/v1beta/interactions";
/// A query parameter, unless the base URL sets it.
pub(crate) const QUERY: Option<(&str, &str)> = Some(("alt", "sse"));
/// The variables with the API key, as Google's own tools name them.
pub(crate) const KEY_VARIABLES: &[&str] = &["GOOGLE_API_KEY", "GEMINI_API_KEY"];
/// The header that carries the API key.
pub(crate) const KEY_HEADER: KeyHeader = KeyHeader::Named("x-goog-api-key");
/// How a stream is framed.
pub(crate) const FRAMING: Framing = Framing::Events;
/// What proves that a stream is complete.
pub(crate) const ENDS_WITH: &str = "`interaction.completed`";
/// Whether only the terminal event proves it. The status is a part of that event.
pub(crate) const NEEDS_TERMINATOR: bool = true;
/// Whether nothing follows the terminal event: servers may append `[DONE]`.
pub(crate) const IS_FINAL: bool = false;
/// What the beginning of a stream holds.
pub(crate) const MARKS: &[&[&str]] = &[&["\"interaction.created\""]];
/// Request settings that the API does not have.
pub(crate) const UNSUPPORTED: &[Setting] = &[];

/// Whether this is a response that was not streamed.
pub(crate) fn has_body(body: Value<'_>) -> bool {
    let is_interaction = body.get("object").and_then(Value::as_str).as_deref() == Some("interaction");
    let has_list = ["steps", "outputs"].into_iter().filter_map(|name| body.get(name)?.as_array()).count() > 0;
    is_interaction || (has_list && body.get("status").is_some())
}
