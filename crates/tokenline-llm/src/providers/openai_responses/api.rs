//! The endpoint, the end of a stream, complete responses, and the body of a request.

use tokenline_core::ToolDefinition;
use tokenline_core::json::{Kind, Value};

use super::{received, request, response};
use crate::providers::api::{
    ClientApi, Endpoint, KeyHeader, ModelList, ProviderApi, ProviderInfo, RequestApi, Setting, StreamEnd,
};
use crate::providers::openai_chat;
use crate::request::history::{HistoryRules, NameRules};
use crate::request::received::{Member, Read, Reading};
use crate::request::{ChatRequest, Object, RequestError};
use crate::wire::Framing;
use crate::writer::{Failure, ResponseHead, WireWriter, append_event};

/// The API.
pub(in crate::providers) struct Api;

const INFO: ProviderInfo = ProviderInfo {
    name: "openai-responses",
    gen_ai_name: "openai",
    title: "OpenAI Responses",
    endpoint: Endpoint {
        base_url: "https://api.openai.com/v1",
        base_url_variable: "OPENAI_BASE_URL",
        path: "/v1/responses",
        has_free_version: true,
        query: None,
        key_variables: &["OPENAI_API_KEY"],
        key_header: KeyHeader::Bearer,
        headers: &[],
        models: Some(ModelList::openai(1)),
    },
    framing: Framing::Events,
    stream_end: StreamEnd {
        name: "`response.completed`, or another final event",
        needs_terminator: true,
        is_final: false,
    },
    ends_items: true,
    repeats_texts: true,
    markers: &[&["\"type\":\"response."], &["event: response."]],
    unsupported: &[Setting::Seed, Setting::Stop],
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
        let first = body.as_array().and_then(|items| items.iter().next());
        let kind = first.and_then(|item| item.get("type")?.as_str());
        body.get("output").is_some_and(|output| output.kind() == Kind::Array)
            || matches!(kind.as_deref(), Some("function_call" | "custom_tool_call" | "message" | "reasoning"))
    }
}

impl ClientApi for Api {
    fn read_request(&self, body: &Member<'_>) -> Read<Reading> {
        received::read(body)
    }

    fn writer(&self, head: ResponseHead, is_streamed: bool) -> Box<dyn WireWriter> {
        Box::new(response::Writer::new(head, is_streamed))
    }

    fn error_body(&self, failure: &Failure, _request_id: Option<&str>) -> Object {
        // That of chat completions.
        openai_chat::response::error_body(failure)
    }

    fn append_error(&self, out: &mut Vec<u8>, failure: &Failure) {
        append_event(out, Some("error"), &response::error_event(failure));
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
