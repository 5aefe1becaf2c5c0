//! OpenAI chat completions, and servers that implement the same API: <https://platform.openai.com/docs/api-reference/chat>.

mod api;
mod received;
pub(super) mod request;
pub(super) mod response;
mod stream;

pub(super) use api::Api;
pub(super) use stream::Reader;
