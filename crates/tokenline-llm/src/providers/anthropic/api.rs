//! The endpoint, the end of a stream, complete responses, and the body of a request.

use tokenline_core::ToolDefinition;
use tokenline_core::json::Value;

use super::{received, request, response};
use crate::providers::api::{
    ClientApi, Endpoint, KeyHeader, ModelList, ProviderApi, ProviderInfo, RequestApi, Setting, StreamEnd,
};
use crate::request::history::{HistoryRules, NameRules};
use crate::request::received::{Member, Read, Reading};
use crate::request::{ChatRequest, Object, RequestError};
use crate::wire::Framing;
use crate::writer::{Failure, ResponseHead, WireWriter, append_event};

/// The API.
pub(in crate::providers) struct Api;

const INFO: ProviderInfo = ProviderInfo {
    name: "anthropic",
    gen_ai_name: "anthropic",
    title: "Anthropic messages",
    endpoint: Endpoint {
        base_url: "https://api.anthropic.com",
        base_url_variable: "ANTHROPIC_BASE_URL",
        path: "/v1/messages",
        has_free_version: false,
        query: None,
        key_variables: &["ANTHROPIC_API_KEY"],
        key_header: KeyHeader::Named("x-api-key"),
        headers: &[("anthropic-version", "2023-06-01")],
        models: Some(ModelList { query: Some(("limit", "1000")), ..ModelList::openai(1) }),
    },
    framing: Framing::Events,
    stream_end: StreamEnd { name: "`message_stop`", needs_terminator: true, is_final: false },
    ends_items: true,
    repeats_texts: false,
    markers: &[&["\"message_start\""]],
    unsupported: &[Setting::Seed, Setting::JsonFormat],
    history: HistoryRules {
        refuses_white_space: true,
        names: Some(NameRules::PLAIN),
        has_plain_ids: true,
        has_inline_system: true,
        marks_errors: true,
    },
};

impl ProviderApi for Api {
    fn info(&self) -> &'static ProviderInfo {
        &INFO
    }

    fn has_body(&self, body: Value<'_>) -> bool {
        let is_block = |block: Value<'_>| {
            let kind = block.get("type").and_then(Value::as_str);
            matches!(kind.as_deref(), Some("tool_use" | "text" | "thinking" | "redacted_thinking"))
        };
        let blocks = body.as_array().or_else(|| body.get("content")?.as_array());
        let is_message = body.get("type").and_then(Value::as_str).as_deref() == Some("message");
        blocks.is_some_and(|blocks| is_message || blocks.iter().next().is_some_and(is_block))
    }
}

impl ClientApi for Api {
    fn read_request(&self, body: &Member<'_>) -> Read<Reading> {
        received::read(body)
    }

    fn writer(&self, head: ResponseHead, is_streamed: bool) -> Box<dyn WireWriter> {
        Box::new(response::Writer::new(head, is_streamed))
    }

    fn error_body(&self, failure: &Failure, request_id: Option<&str>) -> Object {
        response::error_body(failure, request_id)
    }

    fn append_error(&self, out: &mut Vec<u8>, failure: &Failure) {
        append_event(out, Some("error"), &response::error_body(failure, None));
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
