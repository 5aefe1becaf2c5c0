//! The endpoint, the end of a stream, complete responses, and the body of a request.

use tokenline_core::ToolDefinition;
use tokenline_core::json::Value;

use super::request;
use crate::providers::api::{Endpoint, KeyHeader, ProviderApi, ProviderInfo, RequestApi, Setting, StreamEnd};
use crate::request::history::{HistoryRules, NameRules};
use crate::request::{ChatRequest, Object, RequestError};
use crate::wire::Framing;

/// The API.
pub(in crate::providers) struct Api;

const INFO: ProviderInfo = ProviderInfo {
    name: "bedrock",
    gen_ai_name: "aws.bedrock",
    title: "Amazon Bedrock ConverseStream",
    endpoint: Endpoint {
        base_url: "https://bedrock-runtime.us-east-1.amazonaws.com",
        base_url_variable: "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
        path: "/model/*/converse-stream",
        has_free_version: false,
        query: None,
        key_variables: &["AWS_BEARER_TOKEN_BEDROCK"],
        key_header: KeyHeader::Bearer,
        headers: &[],
        models: None,
    },
    framing: Framing::Messages,
    // The metadata may follow the stop reason, or be missing.
    stream_end: StreamEnd { name: "`messageStop`", needs_terminator: false, is_final: true },
    ends_items: false,
    repeats_texts: false,
    markers: &[&[":event-type", "messageStart"]],
    unsupported: &[Setting::Seed, Setting::JsonFormat],
    history: HistoryRules {
        refuses_white_space: true,
        names: Some(NameRules::PLAIN),
        has_plain_ids: true,
        has_inline_system: false,
        marks_errors: true,
    },
};

impl ProviderApi for Api {
    fn info(&self) -> &'static ProviderInfo {
        &INFO
    }

    fn has_body(&self, body: Value<'_>) -> bool {
        const BLOCKS: [&str; 4] = ["text", "toolUse", "reasoningContent", "citationsContent"];
        let is_block = |block: Value<'_>| {
            block.get("type").is_none() && BLOCKS.into_iter().any(|name| block.get(name).is_some())
        };
        let content = body.get("content").filter(|_| body.get("role").is_some());
        let has_block = |content: Value<'_>| {
            content.as_array().and_then(|blocks| blocks.into_iter().next().map(is_block))
        };
        body.pointer("/output/message").is_some() || content.and_then(has_block).unwrap_or(false)
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
