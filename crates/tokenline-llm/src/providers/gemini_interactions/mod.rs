//! Gemini's Interactions API: <https://ai.google.dev/gemini-api/docs/interactions>.

mod api;
pub(crate) mod request;
mod stream;

pub(super) use api::Api;
pub(super) use stream::Reader;
