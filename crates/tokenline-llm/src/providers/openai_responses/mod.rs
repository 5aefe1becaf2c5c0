//! OpenAI Responses, and servers that implement the same API: <https://platform.openai.com/docs/api-reference/responses>.

mod api;
mod received;
mod request;
mod response;
mod stream;

pub(super) use api::Api;
pub(super) use stream::Reader;
