//! OpenAI chat completions: <https://platform.openai.com/docs/api-reference/chat/create>.

use tokenline_core::{ToolCall, ToolDefinition};

use crate::request::json::{Node, Object};
use crate::request::strict::Strict;
use crate::request::turns::id;
use crate::Provider;
use crate::request::{AssistantPart, ChatRequest, JsonFormat, Message, RequestError, ResponseFormat, Source, ToolChoice, UserPart};

pub(super) fn body(request: &ChatRequest) -> Result<Object, RequestError> {
    let messages = request.messages.iter().enumerate().map(message).collect::<Result<Vec<_>, _>>()?;
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
            let calls = message.tool_calls().map(|call| tool_call(index, call)).collect::<Result<Vec<_>, _>>()?;
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

/// Adds the members in which the server sent reasoning and expects it back.
pub(in crate::providers) fn with_reasoning(
    provider: Provider,
    message: Object,
    parts: &[AssistantPart],
) -> Object {
    parts.iter().fold(message, |message, part| match (part, part.opaque_of(provider)) {
        // DeepSeek, Kimi and Cohere expect the text itself, under its original name.
        (AssistantPart::Reasoning { text, .. }, Some(data)) => match data.deserialize::<String>() {
            Ok(name) => message.with(&name, text),
            Err(_) => message.with_members_of(Some(data)),
        },
        _ => message,
    })
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
    let (function, is_strict) = Strict::WithBounds.parameters(tool, header(tool), "parameters");
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
    let made_strict = format.strict_schema(Strict::WithBounds);
    let is_strict =
        format.strict.unwrap_or_else(|| format.schema.to_value().is_ok_and(|schema| is_strict(&schema)));
    let schema = made_strict.map_or_else(|| Node::from(&format.schema), Node::from);
    Object::new().with("name", &format.name).with("schema", schema).with("strict", is_strict)
}

/// Whether a schema follows the main rules of strict mode: every object lists all its members as required and allows no
/// others.
fn is_strict(schema: &serde_json::Value) -> bool {
    use serde_json::Value;
    match schema {
        Value::Array(schemas) => schemas.iter().all(is_strict),
        Value::Object(schema) => {
            let is_object =
                schema.get("type").is_some_and(|its| its == "object") || schema.contains_key("properties");
            let keeps = || {
                let required =
                    schema.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
                let properties = schema.get("properties").and_then(Value::as_object);
                let mut names = properties.into_iter().flat_map(|properties| properties.keys());
                schema.get("additionalProperties") == Some(&Value::Bool(false))
                    && names.all(|name| required.iter().any(|its| its == name))
            };
            (!is_object || keeps()) && schema.values().all(is_strict)
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn strict_schemas_are_detected() {
        let inner = json!({"type": "object", "properties": {"b": {}}, "required": ["b"], "additionalProperties": false});
        let of = |inner| json!({"type": "object", "properties": {"a": {"type": "array", "items": inner}}, "required": ["a"], "additionalProperties": false});
        assert!(super::is_strict(&of(inner.clone())));
        for broken in ["required", "additionalProperties"] {
            let mut inner = inner.clone();
            inner.as_object_mut().unwrap().remove(broken);
            assert!(!super::is_strict(&of(inner)), "{broken}");
        }
    }
}
