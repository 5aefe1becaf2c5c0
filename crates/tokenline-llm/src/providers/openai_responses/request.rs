//! OpenAI Responses: <https://platform.openai.com/docs/api-reference/responses/create>.

use tokenline_core::ToolDefinition;

use crate::Provider;
use crate::providers::openai_chat::request::{header, schema};
use crate::request::json::{Node, Object};
use crate::request::strict::Strict;
use crate::request::turns::id;
use crate::request::{
    AssistantPart, ChatRequest, Message, RequestError, ResponseFormat, Source, ToolChoice, UserPart,
};

pub(super) fn body(request: &ChatRequest) -> Result<Object, RequestError> {
    let is_opening = |(_, message): &(usize, &Message)| matches!(message, Message::System(_));
    let mut input = Vec::new();
    for (index, message) in request.messages.iter().enumerate().skip_while(is_opening) {
        items(index, message, &mut input)?;
    }
    // Keeps requesting encrypted reasoning once the conversation has it.
    let is_encrypted = |part: &AssistantPart| {
        part.opaque_of(Provider::OpenAiResponses).is_some_and(|item| {
            item.with_value(|item| item.get("encrypted_content").is_some_and(|content| !content.is_null()))
        })
    };
    let parts = request.messages.iter().filter_map(|message| match message {
        Message::Assistant(parts) => Some(parts),
        _ => None,
    });
    let include = parts.flatten().any(is_encrypted).then(|| vec!["reasoning.encrypted_content"]);
    Ok(Object::new()
        .with("model", &request.model)
        .with_some("instructions", request.instructions(Provider::OpenAiResponses).as_ref())
        .with("input", input)
        .with_some("include", include)
        .with_any("tools", request.tools.iter().map(tool).collect::<Vec<_>>())
        .with_some("tool_choice", tool_choice(request.effective_tool_choice()))
        .with_some("text", text_format(&request.response_format))
        .with_some("max_output_tokens", request.max_tokens)
        .with_some("temperature", request.temperature)
        .with_some("top_p", request.top_p)
        .with("stream", request.stream))
}

/// A tool. By default the API treats a schema as strict, and changes it.
pub(super) fn tool(tool: &ToolDefinition) -> Object {
    let kind = Object::new().with("type", "function");
    let header = header(tool).into_iter().fold(kind, |object, (name, node)| object.with(&name, node));
    let (function, is_strict) = Strict::OpenAi.parameters(tool, header, "parameters");
    function.with("strict", is_strict)
}

fn user_part(part: &UserPart) -> Object {
    let kind = |kind: &str| Object::new().with("type", kind);
    match part {
        UserPart::Text(text) => kind("input_text").with("text", text),
        UserPart::Image(source) => kind("input_image").with("image_url", source.to_url().as_str()),
        UserPart::Document { source: Source::Url(url), .. } => kind("input_file").with("file_url", url),
        UserPart::Document { name, source } => kind("input_file")
            .with("filename", name.as_deref().unwrap_or("document"))
            .with("file_data", source.to_url().as_str()),
    }
}

/// A message is one item, and so is each call in it.
fn items(index: usize, message: &Message, input: &mut Vec<Node>) -> Result<(), RequestError> {
    // OpenAI's type is optional, but llama.cpp requires it.
    let text_item =
        |role, text: &String| Object::new().with("type", "message").with("role", role).with("content", text);
    match message {
        Message::System(text) => input.push(text_item("system", text).into()),
        Message::User(parts) => {
            let content = match &parts[..] {
                [UserPart::Text(text)] => Node::from(text),
                _ => Node::from(parts.iter().map(user_part).collect::<Vec<_>>()),
            };
            let item = Object::new().with("type", "message").with("role", "user").with("content", content);
            input.push(item.into());
        }
        Message::Assistant(parts) => {
            for part in parts {
                input.extend(match part {
                    AssistantPart::Text { text, .. } => Some(text_item("assistant", text).into()),
                    // The item as received.
                    AssistantPart::Reasoning { .. } => {
                        part.opaque_of(Provider::OpenAiResponses).map(Node::verbatim)
                    }
                    AssistantPart::ToolCall { call, .. } => {
                        let item = Object::new()
                            .with("type", "function_call")
                            .with("call_id", id(index, "a tool call", call.call_id.as_ref())?)
                            .with("name", &call.name)
                            .with("arguments", call.parameters.as_str());
                        Some(item.into())
                    }
                });
            }
        }
        Message::Tool(result) => {
            let item = Object::new()
                .with("type", "function_call_output")
                .with("call_id", id(index, "the result of a tool", result.call_id.as_ref())?)
                .with("output", &result.content);
            input.push(item.into());
        }
    }
    Ok(())
}

fn tool_choice(choice: &ToolChoice) -> Option<Node> {
    Some(match choice {
        ToolChoice::Auto => return None,
        ToolChoice::None => Node::from("none"),
        ToolChoice::Required => Node::from("required"),
        ToolChoice::Tool(name) => Object::new().with("type", "function").with("name", name).into(),
    })
}

fn text_format(format: &ResponseFormat) -> Option<Object> {
    let format = match format {
        ResponseFormat::Text => return None,
        ResponseFormat::Json => Object::new().with("type", "json_object"),
        ResponseFormat::JsonSchema(format) => {
            let kind = Object::new().with("type", "json_schema");
            schema(format).into_iter().fold(kind, |object, (name, node)| object.with(&name, node))
        }
    };
    Some(Object::new().with("format", format))
}
