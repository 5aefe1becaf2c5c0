//! Gemini `generateContent`, of the Gemini API and of Vertex AI: <https://ai.google.dev/api/generate-content>.

 mod request;
mod stream;

pub use stream::GeminiDecoder;

use tokenline_core::ToolDefinition;
use tokenline_core::json::{Value};

use crate::providers::{Endpoint, KeyHeader, ProviderApi, StreamEnd};
use crate::request::{ChatRequest, Object, RequestError};
use crate::wire::Framing;

/// The API, as its reference describes it.
pub(super) struct Api;

const ENDPOINT: Endpoint = Endpoint {
    base_url: "https://generativelanguage.googleapis.com",
    base_url_variable: "GOOGLE_GEMINI_BASE_URL",
    path: "/v1beta/models/*:streamGenerateContent",
    has_free_version: false,
    query: Some(("alt", "sse")),
    key_variables: &["GOOGLE_API_KEY", "GEMINI_API_KEY"],
    key_header: KeyHeader::Named("x-goog-api-key"),
    headers: &[],
};

impl ProviderApi for Api {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn gen_ai_name(&self) -> &'static str {
        "gcp.gemini"
    }

    fn title(&self) -> &'static str {
        "Gemini streamGenerateContent, with alt=sse or without"
    }

    fn endpoint(&self) -> &'static Endpoint {
        &ENDPOINT
    }

    fn framing(&self) -> Framing {
        Framing::EventsOrArray
    }

    fn stream_end(&self) -> StreamEnd {
        StreamEnd { name: "a `finishReason`", needs_terminator: false, is_final: false }
    }

    fn marks(&self) -> &'static [&'static [&'static str]] {
        &[&["\"candidates\":", "\"parts\":"], &["\"candidates\":", "\"usageMetadata\":"]]
    }

    fn has_body(&self, body: Value<'_>) -> bool {
        let body = body.as_array().and_then(|chunks| chunks.iter().next()).unwrap_or(body);
        // Code Assist has an envelope around the same.
        let inner = body.get("response").filter(|inner| inner.as_object().is_some()).unwrap_or(body);
        ["candidates", "parts", "promptFeedback"].iter().any(|name| inner.get(name).is_some())
    }

    fn tools(&self, tools: &[ToolDefinition]) -> Vec<Object> {
        request::tools(tools)
    }

    fn request_body(&self, request: &ChatRequest) -> Result<Object, RequestError> {
        request::body(request)
    }
}
