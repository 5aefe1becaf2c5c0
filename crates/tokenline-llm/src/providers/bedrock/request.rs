//! Amazon Bedrock's ConverseStream:
//! <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html>.

use tokenline_core::json::Raw;
use tokenline_core::{ToolCall, ToolDefinition};

use crate::Provider;
use crate::providers::openai_chat::request::header;
use crate::request::json::Object;
use crate::request::strict::Strict;
use crate::request::turns::{Side, Turn, id};
use crate::request::{
    AssistantPart, ChatRequest, Message, RequestError, ResponseFormat, Source, ToolChoice, ToolResult,
    UserPart,
};

/// The path contains the model, and whether the response is streamed.
pub(crate) fn body(request: &ChatRequest) -> Result<Object, RequestError> {
    let messages = request.turns(Provider::Bedrock)?.iter().map(message).collect::<Result<Vec<_>, _>>()?;
    let system =
        request.instructions(Provider::Bedrock).map(|text| vec![Object::new().with("text", text.as_str())]);
    Ok(Object::new()
        .with_some("system", system)
        .with("messages", messages)
        .with_any("toolConfig", tool_config(request)?)
        .with_any("inferenceConfig", inference_config(request))
        .with_some("outputConfig", output_config(&request.response_format)?))
}

fn message(turn: &Turn<'_>) -> Result<Object, RequestError> {
    let mut blocks = Vec::new();
    for (index, message) in &turn.messages {
        match message {
            Message::System(text) => blocks.push(text_block(text)),
            Message::User(parts) => {
                for part in parts {
                    blocks.push(user_block(*index, part)?);
                }
            }
            Message::Assistant(parts) => {
                for part in parts {
                    match part {
                        AssistantPart::Text { text, .. } => blocks.push(text_block(text)),
                        AssistantPart::Reasoning { text, .. } => {
                            blocks.extend(
                                part.opaque_of(Provider::Bedrock).map(|data| reasoning_block(text, data)),
                            );
                        }
                        AssistantPart::ToolCall { call, .. } => blocks.push(call_block(*index, call)?),
                    }
                }
            }
            Message::Tool(result) => blocks.push(result_block(*index, result)?),
        }
    }
    let role = match turn.side {
        Side::User | Side::System => "user",
        Side::Model => "assistant",
    };
    Ok(Object::new().with("role", role).with("content", blocks))
}

fn user_block(index: usize, part: &UserPart) -> Result<Object, RequestError> {
    let of = |media_type: &str, data: &String| {
        let source = Object::new().with("bytes", data);
        Object::new().with("format", format_of(media_type)).with("source", source)
    };
    match part {
        UserPart::Text(text) => Ok(text_block(text)),
        UserPart::Image(Source::Base64 { media_type, data }) => {
            Ok(Object::new().with("image", of(media_type, data)))
        }
        UserPart::Document { name, source: Source::Base64 { media_type, data } } => {
            // The API rejects other characters.
            let is_allowed = |c: char| c.is_ascii_alphanumeric() || " -()[]".contains(c);
            let name = name.as_deref().unwrap_or("document");
            let name: String = name.chars().map(|c| if is_allowed(c) { c } else { '-' }).collect();
            Ok(Object::new().with("document", of(media_type, data).with("name", &name)))
        }
        _ => Err(part.unsupported(Provider::Bedrock, index)),
    }
}

/// The provider's name for a media type.
fn format_of(media_type: &str) -> &str {
    match media_type {
        "text/plain" => "txt",
        "text/markdown" => "md",
        "application/msword" => "doc",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document" => "docx",
        "application/vnd.ms-excel" => "xls",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" => "xlsx",
        _ => media_type.rsplit('/').next().unwrap_or_default(),
    }
}

fn text_block(text: &str) -> Object {
    Object::new().with("text", text)
}

fn reasoning_block(text: &str, data: &Raw) -> Object {
    let is_redacted = data.with_value(|data| data.get("redactedContent").is_some());
    let reasoning = if is_redacted {
        Object::new().with_members_of(Some(data))
    } else {
        let signed = Object::new().with("text", text).with_members_of(Some(data));
        Object::new().with("reasoningText", signed)
    };
    Object::new().with("reasoningContent", reasoning)
}

fn call_block(index: usize, call: &ToolCall) -> Result<Object, RequestError> {
    let call = Object::new()
        .with("toolUseId", id(index, "a tool call", call.call_id.as_ref())?)
        .with("name", &call.name)
        .with("input", &call.parameters);
    Ok(Object::new().with("toolUse", call))
}

fn result_block(index: usize, result: &ToolResult) -> Result<Object, RequestError> {
    // A blank text is accepted only inside JSON.
    let content = if Provider::Bedrock.is_blank(&result.content) {
        Object::new().with("json", Object::new().with("output", &result.content))
    } else {
        text_block(&result.content)
    };
    let result = Object::new()
        .with("toolUseId", id(index, "the result of a tool", result.call_id.as_ref())?)
        .with("content", vec![content])
        .with_some("status", result.is_error.then_some("error"));
    Ok(Object::new().with("toolResult", result))
}

fn tool_config(request: &ChatRequest) -> Result<Object, RequestError> {
    Ok(Object::new()
        .with_any("tools", request.tools.iter().map(tool).collect::<Vec<_>>())
        .with_some("toolChoice", tool_choice(request.effective_tool_choice())?))
}

pub(crate) fn tool(tool: &ToolDefinition) -> Object {
    let (schema, is_strict) = Strict::Anthropic.parameters(tool, Object::new(), "json");
    let spec = header(tool).with("inputSchema", schema);
    let spec = if is_strict { spec.with("strict", true) } else { spec };
    Object::new().with("toolSpec", spec)
}

fn tool_choice(choice: &ToolChoice) -> Result<Option<Object>, RequestError> {
    Ok(match choice {
        ToolChoice::Auto => None,
        ToolChoice::None => {
            return Err(RequestError::Setting("Bedrock cannot forbid tool calls: omit the tools instead"));
        }
        ToolChoice::Required => Some(Object::new().with("any", Object::new())),
        ToolChoice::Tool(name) => Some(Object::new().with("tool", Object::new().with("name", name))),
    })
}

fn inference_config(request: &ChatRequest) -> Object {
    Object::new()
        .with_some("maxTokens", request.max_tokens)
        .with_some("temperature", request.temperature)
        .with_some("topP", request.top_p)
        .with_any("stopSequences", request.stop.iter().collect::<Vec<_>>())
}

/// The schema is a string that contains JSON.
fn output_config(format: &ResponseFormat) -> Result<Option<Object>, RequestError> {
    let ResponseFormat::JsonSchema(format) = format else { return Ok(None) };
    let schema = format.only_strict_schema(Strict::Anthropic, Provider::Bedrock)?.to_string();
    let schema = Object::new().with("name", &format.name).with("schema", schema.as_str());
    let structure = Object::new().with("jsonSchema", schema);
    let format = Object::new().with("type", "json_schema").with("structure", structure);
    Ok(Some(Object::new().with("textFormat", format)))
}
