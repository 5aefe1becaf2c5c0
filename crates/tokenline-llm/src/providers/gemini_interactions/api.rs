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
    name: "gemini-interactions",
    gen_ai_name: "gcp.gemini",
    title: "Gemini Interactions",
    endpoint: Endpoint {
        base_url: "https://generativelanguage.googleapis.com",
        base_url_variable: "GOOGLE_GEMINI_BASE_URL",
        path: "/v1beta/interactions",
        has_free_version: false,
        query: Some(("alt", "sse")),
        key_variables: &["GOOGLE_API_KEY", "GEMINI_API_KEY"],
        key_header: KeyHeader::Named("x-goog-api-key"),
        headers: &[],
        models: Some(ModelList {
            query: Some(("pageSize", "1000")),
            list: "models",
            name: "name",
            ..ModelList::openai(1)
        }),
    },
    framing: Framing::Events,
    // The status is in this event.
    stream_end: StreamEnd { name: "`interaction.completed`", needs_terminator: true, is_final: false },
    ends_items: true,
    repeats_texts: true,
    markers: &[&["\"interaction.created\""]],
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
        let is_interaction = body.get("object").and_then(Value::as_str).as_deref() == Some("interaction");
        let has_list =
            ["steps", "outputs"].into_iter().filter_map(|name| body.get(name)?.as_array()).count() > 0;
        is_interaction || (has_list && body.get("status").is_some())
    }
}

impl RequestApi for Api {
    fn tools(&self, tools: &[ToolDefinition]) -> Vec<Object> {
        tools.iter().map(request::tool).collect()
    }

    fn request_body(&self, request: &ChatRequest) -> Result<Object, RequestError> {
        request::body(request)
    }
}
