//! Gemini `generateContent`, of the Gemini API and of Vertex AI: <https://ai.google.dev/api/generate-content>.

mod api;
mod request;
mod stream;

pub(super) use api::Api;
pub(super) use stream::Reader;
