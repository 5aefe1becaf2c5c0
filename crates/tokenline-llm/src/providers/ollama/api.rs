//! The endpoint, the end of a stream, complete responses, and the body of a request.

use tokenline_core::ToolDefinition;
use tokenline_core::json::{Kind, Value};

use super::request;
use crate::providers::api::{
    Endpoint, KeyHeader, ModelList, ProviderApi, ProviderInfo, RequestApi, Setting, StreamEnd,
};
use crate::providers::openai_chat;
use crate::request::history::HistoryRules;
use crate::request::{ChatRequest, Object, RequestError};
use crate::wire::Framing;

/// The API.
pub(in crate::providers) struct Api;

const INFO: ProviderInfo = ProviderInfo {
    name: "ollama",
    gen_ai_name: "ollama",
    title: "Ollama /api/chat",
    endpoint: Endpoint {
        base_url: "http://localhost:11434",
        base_url_variable: "OLLAMA_HOST",
        path: "/api/chat",
        has_free_version: false,
        query: None,
        key_variables: &["OLLAMA_API_KEY"],
        key_header: KeyHeader::Bearer,
        headers: &[],
        models: Some(ModelList { replaced: 1, path: &["tags"], query: None, list: "models", name: "name" }),
    },
    framing: Framing::Lines,
    stream_end: StreamEnd { name: "`done: true`", needs_terminator: true, is_final: true },
    ends_items: false,
    repeats_texts: false,
    markers: &[&["\"model\":", "\"created_at\":", "\"done\":"]],
    unsupported: &[Setting::ToolChoice],
    history: HistoryRules {
        refuses_white_space: false,
        names: None,
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
        let is_done = body.get("done").is_some();
        (is_done && body.get("response").is_some())
            || body.get("message").is_some_and(|message| message.kind() == Kind::Object)
    }
}

impl RequestApi for Api {
    fn tools(&self, tools: &[ToolDefinition]) -> Vec<Object> {
        openai_chat::Api.tools(tools)
    }

    fn request_body(&self, request: &ChatRequest) -> Result<Object, RequestError> {
        request::body(request)
    }

    #[cfg(feature = "client")]
    fn complete_base_url(&self, base_url: &str) -> String {
        format!("http://{}", with_port(base_url))
    }
}

/// Completes `OLLAMA_HOST`, which is often only a host or a port.
#[cfg(feature = "client")]
fn with_port(host: &str) -> String {
    let (authority, path) = host.split_at(host.find('/').unwrap_or(host.len()));
    let (address, port) = match authority.rsplit_once(':') {
        // The last part of an IPv6 address is not a port: `[::1]`.
        Some((address, port)) if !port.ends_with(']') => (address, port),
        _ => (authority, ""),
    };
    let address = if address.is_empty() && !port.is_empty() { "127.0.0.1" } else { address };
    format!("{address}:{}{path}", if port.is_empty() { "11434" } else { port })
}
