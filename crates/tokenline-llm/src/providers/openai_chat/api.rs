//! The endpoint, the end of a stream, complete responses, and the body of a request.

use tokenline_core::ToolDefinition;
use tokenline_core::json::{Kind, Value};

use super::{received, request, response};
use crate::providers::api::{
    ClientApi, Endpoint, KeyHeader, ModelList, ProviderApi, ProviderInfo, RequestApi, StreamEnd,
};
use crate::request::history::{HistoryRules, NameRules};
use crate::request::received::{Member, Read, Reading};
use crate::request::{ChatRequest, Object, RequestError};
use crate::wire::Framing;
use crate::writer::{Failure, ResponseHead, WireWriter, append_event};

/// The API.
pub(in crate::providers) struct Api;

const INFO: ProviderInfo = ProviderInfo {
    name: "openai-chat",
    gen_ai_name: "openai",
    title: "OpenAI chat completions, or a server that implements the same API",
    endpoint: Endpoint {
        base_url: "https://api.openai.com/v1",
        base_url_variable: "OPENAI_BASE_URL",
        path: "/v1/chat/completions",
        has_free_version: true,
        query: None,
        key_variables: &["OPENAI_API_KEY"],
        key_header: KeyHeader::Bearer,
        headers: &[],
        models: Some(ModelList::openai(2)),
    },
    framing: Framing::Events,
    stream_end: StreamEnd { name: "a finish reason or `[DONE]`", needs_terminator: false, is_final: true },
    ends_items: false,
    repeats_texts: false,
    markers: &[&["\"chat.completion.chunk\""], &["data:", "\"choices\":["]],
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
        let has = |name, kind| body.get(name).is_some_and(|value| value.kind() == kind);
        let is_message = || {
            let Some(content) = body.get("content").filter(|_| has("role", Kind::String)) else {
                return false;
            };
            // Bedrock's blocks have no type.
            let first = content.as_array().and_then(|parts| parts.iter().next());
            let is_bedrock = first.is_some_and(|part| part.get("type").is_none());
            !(has("type", Kind::String) || has_tool_use(content) || is_bedrock)
        };
        has("choices", Kind::Array) || has("tool_calls", Kind::Array) || is_message()
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
        response::error_body(failure)
    }

    fn append_error(&self, out: &mut Vec<u8>, failure: &Failure) {
        append_event(out, None, &response::error_body(failure));
    }
}

impl RequestApi for Api {
    fn tools(&self, tools: &[ToolDefinition]) -> Vec<Object> {
        tools.iter().map(request::tool).collect()
    }

    fn request_body(&self, request: &ChatRequest) -> Result<Object, RequestError> {
        request::body(request)
    }

    #[cfg(feature = "client")]
    fn adapt_to_host(&self, body: &mut Object, host: &str) {
        // OpenAI's newer models reject the old name; most compatible servers know no other.
        if is_openai(host) {
            body.rename("max_tokens", "max_completion_tokens");
        }
    }
}

#[cfg(feature = "client")]
fn is_openai(host: &str) -> bool {
    ["openai.com", "openai.azure.com"]
        .iter()
        .any(|domain| host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
}

/// Whether content has an Anthropic block.
fn has_tool_use(content: Value<'_>) -> bool {
    let is_tool_use =
        |block: Value<'_>| block.get("type").and_then(Value::as_str).as_deref() == Some("tool_use");
    content.as_array().is_some_and(|blocks| blocks.iter().any(is_tool_use))
}
