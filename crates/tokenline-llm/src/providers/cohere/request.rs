//! Cohere chat, version 2: <https://docs.cohere.com/reference/chat-stream>.

use tokenline_core::{ToolCall, ToolDefinition};

use crate::Provider;
use crate::providers::openai_chat::request::{function, user_content, with_reasoning};
use crate::request::json::Object;
use crate::request::turns::id;
use crate::request::{ChatRequest, Message, RequestError, ResponseFormat, ToolChoice};

pub(crate) fn body(request: &ChatRequest) -> Result<Object, RequestError> {
    let messages = request.sent_messages().map(message).collect::<Result<Vec<_>, _>>()?;
    Ok(Object::new()
        .with("model", &request.model)
        .with("messages", messages)
        .with_any("tools", allowed(request)?.map(tool).collect::<Vec<_>>())
        .with_some("tool_choice", tool_choice(request.effective_tool_choice()))
        .with_some("response_format", response_format(&request.response_format))
        .with_some("max_tokens", request.max_tokens)
        .with_some("temperature", request.temperature)
        .with_some("p", request.top_p)
        .with_any("stop_sequences", request.stop.iter().collect::<Vec<_>>())
        .with_some("seed", request.seed)
        .with("stream", request.stream))
}

fn message((index, message): (usize, &Message)) -> Result<Object, RequestError> {
    let object = |role: &str| Object::new().with("role", role);
    Ok(match message {
        Message::System(text) => object("system").with("content", text),
        Message::User(parts) => object("user").with("content", user_content(Provider::Cohere, index, parts)?),
        Message::Assistant(parts) => {
            let calls =
                message.tool_calls().map(|call| tool_call(index, call)).collect::<Result<Vec<_>, _>>()?;
            let assistant = object("assistant").with_any("content", &*message.text());
            with_reasoning(Provider::Cohere, assistant, parts).with_any("tool_calls", calls)
        }
        Message::Tool(result) => {
            let id = id(index, "the result of a tool", result.call_id.as_ref())?;
            object("tool").with("tool_call_id", id).with("content", &result.content)
        }
    })
}

fn tool_call(index: usize, call: &ToolCall) -> Result<Object, RequestError> {
    let function = Object::new().with("name", &call.name).with("arguments", call.parameters.as_str());
    let id = id(index, "a tool call", call.call_id.as_ref())?;
    Ok(Object::new().with("id", id).with("type", "function").with("function", function))
}

pub(crate) fn tool(tool: &ToolDefinition) -> Object {
    Object::new().with("type", "function").with("function", function(tool))
}

/// The tools that may be called. If a certain one is required, only that one: the API cannot name it.
fn allowed(request: &ChatRequest) -> Result<impl Iterator<Item = &ToolDefinition>, RequestError> {
    let only = match request.effective_tool_choice() {
        ToolChoice::Tool(name) => Some(name),
        ToolChoice::Auto | ToolChoice::None | ToolChoice::Required => None,
    };
    let is_allowed = move |tool: &&ToolDefinition| only.is_none_or(|name| tool.name == *name);
    if only.is_some() && !request.tools.iter().any(|tool| is_allowed(&tool)) {
        return Err(RequestError::Setting("the required tool is not defined in the tools of the request"));
    }
    Ok(request.tools.iter().filter(is_allowed))
}

fn tool_choice(choice: &ToolChoice) -> Option<&'static str> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some("NONE"),
        ToolChoice::Required | ToolChoice::Tool(_) => Some("REQUIRED"),
    }
}

fn response_format(format: &ResponseFormat) -> Option<Object> {
    let json = Object::new().with("type", "json_object");
    match format {
        ResponseFormat::Text => None,
        ResponseFormat::Json => Some(json),
        ResponseFormat::JsonSchema(format) => Some(json.with("json_schema", &format.schema)),
    }
}
