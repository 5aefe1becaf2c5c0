//! Anthropic messages: <https://docs.anthropic.com/en/api/messages>.

use tokenline_core::ToolDefinition;

use crate::Provider;
use crate::providers::openai_chat::request::header;
use crate::request::json::{Node, Object};
use crate::request::strict::Strict;
use crate::request::turns::{Side, Turn, id};
use crate::request::{
    AssistantPart, ChatRequest, Message, RequestError, ResponseFormat, Source, ToolChoice, UserPart,
};

/// The default, because the provider requires a number. All models of recent years support it.
const MAX_TOKENS: u32 = 8192;

pub(super) fn body(request: &ChatRequest) -> Result<Object, RequestError> {
    let messages = request.turns(Provider::Anthropic)?.iter().map(message).collect::<Result<Vec<_>, _>>()?;
    Ok(Object::new()
        .with("model", &request.model)
        .with("max_tokens", request.max_tokens.unwrap_or(MAX_TOKENS))
        .with_some("system", request.instructions(Provider::Anthropic).as_ref())
        .with("messages", messages)
        .with_any("tools", request.tools.iter().map(tool).collect::<Vec<_>>())
        .with_some("tool_choice", tool_choice(request.effective_tool_choice()))
        .with_some("output_config", output_config(&request.response_format)?)
        .with_some("temperature", request.temperature)
        .with_some("top_p", request.top_p)
        .with_any("stop_sequences", request.stop.iter().collect::<Vec<_>>())
        .with("stream", request.stream))
}

pub(super) fn tool(tool: &ToolDefinition) -> Object {
    let (tool, is_strict) = Strict::Anthropic.parameters(tool, header(tool), "input_schema");
    if is_strict { tool.with("strict", true) } else { tool }
}

fn message(turn: &Turn<'_>) -> Result<Object, RequestError> {
    let mut blocks: Vec<Node> = Vec::new();
    for (index, message) in &turn.messages {
        match message {
            Message::System(text) => blocks.push(text_block(text)),
            Message::User(parts) => blocks.extend(parts.iter().map(user_block)),
            Message::Assistant(parts) => {
                for part in parts {
                    blocks.extend(assistant_block(*index, part)?);
                }
            }
            Message::Tool(result) => {
                let block = Object::new()
                    .with("type", "tool_result")
                    .with("tool_use_id", id(*index, "the result of a tool", result.call_id.as_ref())?)
                    .with_some("content", Some(&result.content).filter(|text| is_content(text)))
                    .with_some("is_error", result.is_error.then_some(true));
                blocks.push(block.into());
            }
        }
    }
    let role = match turn.side {
        Side::User => "user",
        Side::Model => "assistant",
        Side::System => "system",
    };
    Ok(Object::new().with("role", role).with("content", blocks))
}

fn assistant_block(index: usize, part: &AssistantPart) -> Result<Option<Node>, RequestError> {
    Ok(match part {
        AssistantPart::Text { text, .. } => Some(text_block(text)),
        AssistantPart::Reasoning { text, .. } => part.opaque_of(Provider::Anthropic).map(|data| {
            // Redacted thinking and compaction are complete blocks.
            if data.with_value(|data| data.get("type").is_some()) {
                return Node::verbatim(data);
            }
            Object::new().with("type", "thinking").with("thinking", text).with_members_of(Some(data)).into()
        }),
        AssistantPart::ToolCall { call, .. } => {
            let block = Object::new()
                .with("type", "tool_use")
                .with("id", id(index, "a tool call", call.call_id.as_ref())?)
                .with("name", &call.name)
                .with("input", &call.parameters);
            Some(block.into())
        }
    })
}

fn user_block(part: &UserPart) -> Node {
    let block = |kind, source: &Source| {
        let source = match source {
            Source::Url(url) => Object::new().with("type", "url").with("url", url),
            Source::Base64 { media_type, data } => {
                Object::new().with("type", "base64").with("media_type", media_type).with("data", data)
            }
        };
        Object::new().with("type", kind).with("source", source)
    };
    match part {
        UserPart::Text(text) => text_block(text),
        UserPart::Image(source) => block("image", source).into(),
        UserPart::Document { name, source } => {
            block("document", source).with_some("title", name.as_ref()).into()
        }
    }
}

fn text_block(text: &str) -> Node {
    Object::new().with("type", "text").with("text", text).into()
}

fn tool_choice(choice: &ToolChoice) -> Option<Object> {
    let kind = |kind: &str| Object::new().with("type", Node::from(kind));
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some(kind("none")),
        ToolChoice::Required => Some(kind("any")),
        ToolChoice::Tool(name) => Some(kind("tool").with("name", name)),
    }
}

fn output_config(format: &ResponseFormat) -> Result<Option<Object>, RequestError> {
    let ResponseFormat::JsonSchema(format) = format else { return Ok(None) };
    let schema = format.only_strict_schema(Strict::Anthropic, Provider::Anthropic)?;
    let format = Object::new().with("type", "json_schema").with("schema", schema);
    Ok(Some(Object::new().with("format", format)))
}

/// Whether a result has content: none is a text, white space alone is refused.
fn is_content(text: &str) -> bool {
    text.is_empty() || !Provider::Anthropic.is_blank(text)
}
