//! The endpoint, the end of a stream, complete responses, and the body of a request.

use tokenline_core::ToolDefinition;
use tokenline_core::json::Value;

use super::request;
use crate::providers::api::{
    Endpoint, KeyHeader, ModelList, ProviderApi, ProviderInfo, RequestApi, StreamEnd,
};
use crate::request::history::{HistoryRules, NameRules};
use crate::request::{ChatRequest, Object, RequestError};
use crate::wire::Framing;

/// The API.
pub(in crate::providers) struct Api;

const INFO: ProviderInfo = ProviderInfo {
    name: "gemini",
    gen_ai_name: "gcp.gemini",
    title: "Gemini streamGenerateContent, with alt=sse or without",
    endpoint: Endpoint {
        base_url: "https://generativelanguage.googleapis.com",
        base_url_variable: "GOOGLE_GEMINI_BASE_URL",
        path: "/v1beta/models/*:streamGenerateContent",
        has_free_version: false,
        query: Some(("alt", "sse")),
        key_variables: &["GOOGLE_API_KEY", "GEMINI_API_KEY"],
        key_header: KeyHeader::Named("x-goog-api-key"),
        headers: &[],
        models: Some(ModelList {
            query: Some(("pageSize", "1000")),
            list: "models",
            name: "name",
            ..ModelList::openai(2)
        }),
    },
    framing: Framing::EventsOrArray,
    stream_end: StreamEnd { name: "a `finishReason`", needs_terminator: false, is_final: false },
    ends_items: false,
    repeats_texts: false,
    markers: &[&["\"candidates\":", "\"parts\":"], &["\"candidates\":", "\"usageMetadata\":"]],
    unsupported: &[],
    history: HistoryRules {
        refuses_white_space: false,
        names: Some(NameRules::GEMINI),
        has_plain_ids: false,
        has_inline_system: false,
        marks_errors: true,
    },
};

impl ProviderApi for Api {
    fn info(&self) -> &'static ProviderInfo {
        &INFO
    }

    fn has_body(&self, body: Value<'_>) -> bool {
        let body = body.as_array().and_then(|chunks| chunks.iter().next()).unwrap_or(body);
        // Code Assist wraps responses.
        let inner = body.get("response").filter(|inner| inner.as_object().is_some()).unwrap_or(body);
        ["candidates", "parts", "promptFeedback"].iter().any(|name| inner.get(name).is_some())
    }
}

impl RequestApi for Api {
    fn tools(&self, tools: &[ToolDefinition]) -> Vec<Object> {
        request::tools(tools)
    }

    fn request_body(&self, request: &ChatRequest) -> Result<Object, RequestError> {
        request::body(request)
    }
}
