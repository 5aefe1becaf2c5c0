//! Ollama `/api/chat` and `/api/generate`: <https://github.com/ollama/ollama/blob/main/docs/api.md>.

mod api;
mod request;
mod stream;

pub(super) use api::Api;
pub(super) use stream::Reader;
