//! OpenAI chat completions, and servers that implement the same API: <https://platform.openai.com/docs/api-reference/chat>.

mod api;
pub(super) mod request;
mod stream;

pub(super) use api::Api;
pub(super) use stream::Reader;
