//! OpenAI chat completions: <https://platform.openai.com/docs/api-reference/chat/create>.

use tokenline_core::json::Raw;
use tokenline_core::{ToolCall, ToolDefinition};

use crate::Provider;
use crate::request::json::{Node, Object};
use crate::request::strict::Strict;
use crate::request::turns::id;
use crate::request::{
    AssistantPart, ChatRequest, JsonFormat, Message, RequestError, ResponseFormat, Source, ToolChoice,
    UserPart,
};
use crate::response::joined;

pub(super) fn body(request: &ChatRequest) -> Result<Object, RequestError> {
    let messages = request.sent_messages().map(message).collect::<Result<Vec<_>, _>>()?;
    let usage = (request.include_usage && request.stream).then(|| Object::new().with("include_usage", true));
    Ok(Object::new()
        .with("model", &request.model)
        .with("messages", messages)
        .with_any("tools", request.tools.iter().map(tool).collect::<Vec<_>>())
        .with_some("tool_choice", tool_choice(request.effective_tool_choice()))
        .with_some("response_format", response_format(&request.response_format))
        .with_some("max_tokens", request.max_tokens)
        .with_some("temperature", request.temperature)
        .with_some("top_p", request.top_p)
        .with_any("stop", request.stop.iter().collect::<Vec<_>>())
        .with_some("seed", request.seed)
        .with("stream", request.stream)
        .with_some("stream_options", usage))
}

fn message((index, message): (usize, &Message)) -> Result<Object, RequestError> {
    let object = |role, content| Object::new().with("role", role).with("content", content);
    Ok(match message {
        Message::System(text) => object("system", Node::from(text)),
        Message::User(parts) => object("user", user_content(Provider::OpenAiChat, index, parts)?),
        Message::Assistant(parts) => {
            let text = message.text();
            let calls =
                message.tool_calls().map(|call| tool_call(index, call)).collect::<Result<Vec<_>, _>>()?;
            let is_silent = text.is_empty() && !calls.is_empty();
            let content = if is_silent { Node::from(serde_json::Value::Null) } else { Node::from(&*text) };
            let assistant = object("assistant", content);
            with_reasoning(Provider::OpenAiChat, assistant, parts).with_any("tool_calls", calls)
        }
        Message::Tool(result) => {
            let id = id(index, "the result of a tool", result.call_id.as_ref())?;
            object("tool", Node::from(&result.content)).with("tool_call_id", id)
        }
    })
}

/// Adds the members in which the server sent reasoning and expects it back. What several parts have in one member is
/// joined.
pub(in crate::providers) fn with_reasoning(
    provider: Provider,
    message: Object,
    parts: &[AssistantPart],
) -> Object {
    let mut texts: Vec<(String, String)> = Vec::new();
    let mut data: Option<Raw> = None;
    for part in parts {
        let (AssistantPart::Reasoning { text, .. }, Some(more)) = (part, part.opaque_of(provider)) else {
            continue;
        };
        match more.deserialize::<String>() {
            // DeepSeek, Kimi and Cohere expect the text itself, under its original name.
            Ok(name) => match texts.iter_mut().find(|(known, _)| *known == name) {
                Some((_, all)) => all.push_str(text),
                None => texts.push((name, text.clone())),
            },
            Err(_) => data = Some(data.map_or_else(|| more.clone(), |data| joined(&data, more.clone()))),
        }
    }
    let message = texts.iter().fold(message, |message, (name, text)| message.with(name, text));
    message.with_members_of(data.as_ref())
}

/// A plain text, which every server accepts, or parts.
pub(in crate::providers) fn user_content(
    provider: Provider,
    index: usize,
    parts: &[UserPart],
) -> Result<Node, RequestError> {
    if let [UserPart::Text(text)] = parts {
        return Ok(Node::from(text));
    }
    let kind = |kind: &str| Object::new().with("type", kind);
    let parts = parts.iter().map(|part| match part {
        UserPart::Text(text) => Ok(kind("text").with("text", text)),
        UserPart::Image(source) => {
            Ok(kind("image_url").with("image_url", Object::new().with("url", source.to_url().as_str())))
        }
        UserPart::Document { name, source: source @ Source::Base64 { .. } }
            if provider == Provider::OpenAiChat =>
        {
            let file = Object::new().with("filename", name.as_deref().unwrap_or("document"));
            Ok(kind("file").with("file", file.with("file_data", source.to_url().as_str())))
        }
        UserPart::Document { .. } => Err(part.unsupported(provider, index)),
    });
    Ok(Node::from(parts.collect::<Result<Vec<_>, _>>()?))
}

fn tool_call(index: usize, call: &ToolCall) -> Result<Object, RequestError> {
    let function = Object::new().with("name", &call.name).with("arguments", call.parameters.as_str());
    let id = id(index, "a tool call", call.call_id.as_ref())?;
    Ok(Object::new().with("id", id).with("type", "function").with("function", function))
}

pub(super) fn tool(tool: &ToolDefinition) -> Object {
    let (function, is_strict) = Strict::OpenAi.parameters(tool, header(tool), "parameters");
    let function = if is_strict { function.with("strict", true) } else { function };
    Object::new().with("type", "function").with("function", function)
}

/// A tool's name, description and parameters.
pub(in crate::providers) fn function(tool: &ToolDefinition) -> Object {
    header(tool).with("parameters", &tool.parameters)
}

/// A tool's name and description.
pub(in crate::providers) fn header(tool: &ToolDefinition) -> Object {
    Object::new().with("name", &tool.name).with_some("description", tool.description.as_ref())
}

fn tool_choice(choice: &ToolChoice) -> Option<Node> {
    Some(match choice {
        ToolChoice::Auto => return None,
        ToolChoice::None => Node::from("none"),
        ToolChoice::Required => Node::from("required"),
        ToolChoice::Tool(name) => {
            let function = Object::new().with("name", name);
            Object::new().with("type", "function").with("function", function).into()
        }
    })
}

fn response_format(format: &ResponseFormat) -> Option<Object> {
    match format {
        ResponseFormat::Text => None,
        ResponseFormat::Json => Some(Object::new().with("type", "json_object")),
        ResponseFormat::JsonSchema(format) => {
            Some(Object::new().with("type", "json_schema").with("json_schema", schema(format)))
        }
    }
}

/// Name, schema and strictness, as in the Responses.
pub(in crate::providers) fn schema(format: &JsonFormat) -> Object {
    let strict = format.strict_schema(Strict::OpenAi);
    let is_strict = strict.is_some();
    let schema = strict.map_or_else(|| Node::from(&format.schema), Node::from);
    Object::new().with("name", &format.name).with("schema", schema).with("strict", is_strict)
}
