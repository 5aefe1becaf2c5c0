//! Cohere chat, version 2: <https://docs.cohere.com/reference/chat-stream>.

mod api;
pub(crate) mod request;
mod stream;

pub(super) use api::Api;
pub(super) use stream::Reader;
