//! Gemini `generateContent`: <https://ai.google.dev/api/generate-content>.

use tokenline_core::json::Raw;
use tokenline_core::{ToolCall, ToolDefinition};

use crate::Provider;
use crate::request::json::{Node, Object};
use crate::request::turns::{Side, Turn};
use crate::request::{
    AssistantPart, CalledTools, ChatRequest, Message, RequestError, ResponseFormat, Source, ToolChoice,
    ToolResult, UserPart,
};

pub(super) fn body(request: &ChatRequest) -> Result<Object, RequestError> {
    let contents = request.turns(Provider::Gemini)?;
    let called = CalledTools::of(request);
    let contents = contents.iter().map(|turn| content(&called, turn)).collect::<Result<Vec<_>, _>>()?;
    let instruction = request
        .instructions(Provider::Gemini)
        .map(|text| Object::new().with("parts", vec![text_part(&text)]));
    // The path contains the model.
    Ok(Object::new()
        .with_some("systemInstruction", instruction)
        .with("contents", contents)
        .with_any("tools", tools(&request.tools))
        .with_some("toolConfig", tool_config(request.effective_tool_choice()))
        .with_any("generationConfig", generation_config(request)))
}

pub(super) fn tools(tools: &[ToolDefinition]) -> Vec<Object> {
    let functions = tools.iter().map(|tool| {
        Object::new()
            .with("name", &tool.name)
            .with_some("description", tool.description.as_ref())
            .with("parametersJsonSchema", &tool.parameters)
    });
    let functions: Vec<Object> = functions.collect();
    if functions.is_empty() {
        Vec::new()
    } else {
        vec![Object::new().with("functionDeclarations", functions)]
    }
}

fn content<'r>(called: &CalledTools<'r>, turn: &Turn<'r>) -> Result<Object, RequestError> {
    let mut parts = Vec::new();
    for (index, message) in &turn.messages {
        match message {
            Message::System(text) => parts.push(text_part(text)),
            Message::User(user_parts) => parts.extend(user_parts.iter().map(user_part)),
            Message::Assistant(own_parts) => parts.extend(own_parts.iter().filter_map(assistant_part)),
            Message::Tool(result) => {
                let name = called.name(*index, result)?;
                parts.push(function_response(name, result, called.is_synthetic(*index, result)));
            }
        }
    }
    let role = match turn.side {
        Side::User | Side::System => "user",
        Side::Model => "model",
    };
    Ok(Object::new().with("role", role).with("parts", parts))
}

/// A part of the model's message, with its signature.
fn assistant_part(part: &AssistantPart) -> Option<Object> {
    let opaque = part.opaque_of(Provider::Gemini);
    let object = match part {
        AssistantPart::Text { text, .. } => text_part(text),
        AssistantPart::Reasoning { text, .. } => opaque.map(|_| text_part(text).with("thought", true))?,
        AssistantPart::ToolCall { call, .. } => function_call(call),
    };
    Some(object.with_members_of(opaque))
}

fn user_part(part: &UserPart) -> Object {
    match part {
        UserPart::Text(text) => text_part(text),
        UserPart::Image(source) | UserPart::Document { source, .. } => match source {
            Source::Url(url) => Object::new().with("fileData", Object::new().with("fileUri", url)),
            Source::Base64 { media_type, data } => {
                let data = Object::new().with("mimeType", media_type).with("data", data);
                Object::new().with("inlineData", data)
            }
        },
    }
}

fn text_part(text: &str) -> Object {
    Object::new().with("text", text)
}

fn function_call(call: &ToolCall) -> Object {
    let call_id = call.call_id.as_ref().filter(|_| !call.is_synthetic_id);
    let function =
        Object::new().with_some("id", call_id).with("name", &call.name).with("args", &call.parameters);
    Object::new().with("functionCall", function)
}

/// The result must be an object: anything else is wrapped in the member that the provider expects.
fn function_response(name: &str, result: &ToolResult, is_synthetic_id: bool) -> Object {
    let response = match Raw::new(&result.content) {
        Ok(object) if object.as_str().starts_with('{') && !result.is_error => Node::from(&object),
        _ => {
            let member = if result.is_error { "error" } else { "output" };
            Object::new().with(member, &result.content).into()
        }
    };
    let function = Object::new()
        .with_some("id", result.call_id.as_ref().filter(|_| !is_synthetic_id))
        .with("name", name)
        .with("response", response);
    Object::new().with("functionResponse", function)
}

fn tool_config(choice: &ToolChoice) -> Option<Object> {
    let config = match choice {
        ToolChoice::Auto => return None,
        ToolChoice::None => Object::new().with("mode", "NONE"),
        ToolChoice::Required => Object::new().with("mode", "ANY"),
        ToolChoice::Tool(name) => Object::new().with("mode", "ANY").with("allowedFunctionNames", vec![name]),
    };
    Some(Object::new().with("functionCallingConfig", config))
}

fn generation_config(request: &ChatRequest) -> Object {
    let (mime_type, schema) = match &request.response_format {
        ResponseFormat::Text => (None, None),
        ResponseFormat::Json => (Some("application/json"), None),
        ResponseFormat::JsonSchema(format) => (Some("application/json"), Some(&format.schema)),
    };
    Object::new()
        .with_some("responseMimeType", mime_type)
        .with_some("responseJsonSchema", schema)
        .with_some("maxOutputTokens", request.max_tokens)
        .with_some("temperature", request.temperature)
        .with_some("topP", request.top_p)
        .with_any("stopSequences", request.stop.iter().collect::<Vec<_>>())
        .with_some("seed", request.seed)
}
