//! Anthropic messages: <https://docs.anthropic.com/en/api/messages>.

mod api;
mod received;
mod request;
mod response;
mod stream;

pub(super) use api::Api;
pub(super) use stream::Reader;
