//! The endpoint, the end of a stream, complete responses, and the body of a request.

use tokenline_core::ToolDefinition;
use tokenline_core::json::{Kind, Value};

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
    name: "cohere",
    gen_ai_name: "cohere",
    title: "Cohere v2 chat",
    endpoint: Endpoint {
        base_url: "https://api.cohere.com",
        base_url_variable: "CO_API_URL",
        path: "/v2/chat",
        has_free_version: false,
        query: None,
        key_variables: &["CO_API_KEY", "COHERE_API_KEY"],
        key_header: KeyHeader::Bearer,
        headers: &[],
        models: Some(ModelList {
            replaced: 2,
            path: &["v1", "models"],
            query: Some(("page_size", "1000")),
            list: "models",
            name: "name",
        }),
    },
    framing: Framing::Events,
    // The finish reason is in this event.
    stream_end: StreamEnd { name: "`message-end`", needs_terminator: true, is_final: false },
    ends_items: true,
    repeats_texts: false,
    markers: &[&["\"message-start\""]],
    unsupported: &[],
    history: HistoryRules {
        refuses_white_space: false,
        names: Some(NameRules::PLAIN),
        has_plain_ids: false,
        has_inline_system: true,
        marks_errors: false,
    },
};

impl ProviderApi for Api {
    fn info(&self) -> &'static ProviderInfo {
        &INFO
    }

    fn has_body(&self, body: Value<'_>) -> bool {
        let has_message = body.get("message").is_some_and(|message| message.kind() == Kind::Object);
        (has_message && body.get("finish_reason").is_some()) || body.get("tool_plan").is_some()
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
