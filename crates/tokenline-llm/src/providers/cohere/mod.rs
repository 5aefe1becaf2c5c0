//! Cohere chat, version 2: <https://docs.cohere.com/reference/chat-stream>.

pub(crate) mod request;
mod stream;

pub use stream::CohereDecoder;

use tokenline_core::json::{Kind, Value};

use crate::providers::{KeyHeader, Setting};
use crate::wire::Framing;

/// The name, for people and options.
pub(crate) const NAME: &str = "cohere";
/// The API in a few words, for help texts.
pub(crate) const TITLE: &str = "Cohere v2 chat";
/// The provider's own address.
pub(crate) const BASE_URL: &str = "https://api.cohere.com";
/// The variable with another address, as Cohere's own clients name it.
pub(crate) const BASE_URL_VARIABLE: &str = "CO_API_URL";
/// The path behind the base URL.
pub(crate) const PATH: &str = "/v2/chat";
/// The variables with the API key: that of Cohere's own clients, and that of most others.
pub(crate) const KEY_VARIABLES: &[&str] = &["CO_API_KEY", "COHERE_API_KEY"];
/// The header that carries the API key.
pub(crate) const KEY_HEADER: KeyHeader = KeyHeader::Bearer;
/// How a stream is framed.
pub(crate) const FRAMING: Framing = Framing::Events;
/// What proves that a stream is complete.
pub(crate) const ENDS_WITH: &str = "`message-end`";
/// Whether only the terminal event proves it. The finish reason is a part of that event.
pub(crate) const NEEDS_TERMINATOR: bool = true;
/// Whether nothing follows the terminal event: newer servers append `[DONE]`.
pub(crate) const IS_FINAL: bool = false;
/// What the beginning of a stream holds.
pub(crate) const MARKS: &[&[&str]] = &[&["\"message-start\""]];
/// Request settings that the API does not have.
pub(crate) const UNSUPPORTED: &[Setting] = &[];

/// Whether this is a response that was not streamed, or the message in one.
pub(crate) fn has_body(body: Value<'_>) -> bool {
    let has_message = body.get("message").is_some_and(|message| message.kind() == Kind::Object);
    (has_message && body.get("finish_reason").is_some()) || body.get("tool_plan").is_some()
}
