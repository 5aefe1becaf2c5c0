//! A Gemini interaction: <https://ai.google.dev/gemini-api/docs/interactions>.

use tokenline_core::{ToolCall, ToolDefinition};

use crate::Provider;
use crate::providers::openai_chat::request::function;
use crate::request::json::{Node, Object};
use crate::request::turns::id;
use crate::request::{
    AssistantPart, CalledTools, ChatRequest, Message, RequestError, ResponseFormat, Source, ToolChoice,
    ToolResult, UserPart,
};

pub(crate) fn body(request: &ChatRequest) -> Result<Object, RequestError> {
    let mut steps = Vec::new();
    let called = CalledTools::of(request);
    for turn in request.turns(Provider::GeminiInteractions)? {
        for (index, message) in turn.messages {
            push_steps(&called, index, message, &mut steps)?;
        }
    }
    Ok(Object::new()
        .with("model", &request.model)
        .with_some("system_instruction", request.instructions(Provider::GeminiInteractions).as_ref())
        .with("input", steps)
        .with_any("tools", request.tools.iter().map(tool).collect::<Vec<_>>())
        .with_some("response_format", response_format(&request.response_format))
        .with_any("generation_config", generation_config(request))
        // The request contains the conversation, so the provider need not store it.
        .with("store", false)
        .with("stream", request.stream))
}

/// A text is one step, as is each call and each result.
fn push_steps<'r>(
    called: &CalledTools<'r>,
    index: usize,
    message: &'r Message,
    steps: &mut Vec<Object>,
) -> Result<(), RequestError> {
    match message {
        Message::System(text) => steps.push(text_step("user_input", text)),
        Message::User(parts) => {
            let content: Vec<_> = parts.iter().map(user_content).collect();
            steps.push(Object::new().with("type", "user_input").with("content", content));
        }
        Message::Assistant(parts) => {
            for part in parts {
                let opaque = part.opaque_of(Provider::GeminiInteractions);
                match part {
                    AssistantPart::Text { text, .. } => steps.push(text_step("model_output", text)),
                    AssistantPart::Reasoning { text, .. } => {
                        let summary: Vec<_> =
                            (!text.is_empty()).then(|| text_content(text)).into_iter().collect();
                        let step = Object::new().with("type", "thought").with_any("summary", summary);
                        steps.extend(opaque.map(|_| step.with_members_of(opaque)));
                    }
                    AssistantPart::ToolCall { call, .. } => {
                        steps.push(call_step(index, call)?.with_members_of(opaque));
                    }
                }
            }
        }
        Message::Tool(result) => steps.push(result_step(called, index, result)?),
    }
    Ok(())
}

fn user_content(part: &UserPart) -> Object {
    let (kind, source) = match part {
        UserPart::Text(text) => return text_content(text),
        UserPart::Image(source) => ("image", source),
        UserPart::Document { source, .. } => ("document", source),
    };
    let content = Object::new().with("type", kind);
    match source {
        Source::Url(url) => content.with("uri", url),
        Source::Base64 { media_type, data } => content.with("mime_type", media_type).with("data", data),
    }
}

fn text_step(kind: &str, text: &str) -> Object {
    Object::new().with("type", kind).with("content", vec![text_content(text)])
}

fn text_content(text: &str) -> Object {
    Object::new().with("type", "text").with("text", text)
}

fn call_step(index: usize, call: &ToolCall) -> Result<Object, RequestError> {
    Ok(Object::new()
        .with("type", "function_call")
        .with("id", id(index, "a tool call", call.call_id.as_ref())?)
        .with("name", &call.name)
        .with("arguments", &call.parameters))
}

fn result_step<'r>(
    called: &CalledTools<'r>,
    index: usize,
    result: &'r ToolResult,
) -> Result<Object, RequestError> {
    Ok(Object::new()
        .with("type", "function_result")
        .with("call_id", id(index, "the result of a tool", result.call_id.as_ref())?)
        .with("name", called.name(index, result)?)
        .with("result", vec![text_content(&result.content)])
        .with_some("is_error", result.is_error.then_some(true)))
}

pub(crate) fn tool(tool: &ToolDefinition) -> Object {
    let kind = Object::new().with("type", "function");
    function(tool).into_iter().fold(kind, |object, (name, node)| object.with(&name, node))
}

fn response_format(format: &ResponseFormat) -> Option<Object> {
    let json = Object::new().with("type", "text").with("mime_type", "application/json");
    match format {
        ResponseFormat::Text => None,
        ResponseFormat::Json => Some(json),
        ResponseFormat::JsonSchema(format) => Some(json.with("schema", &format.schema)),
    }
}

fn generation_config(request: &ChatRequest) -> Object {
    Object::new()
        .with_some("max_output_tokens", request.max_tokens)
        .with_some("temperature", request.temperature)
        .with_some("top_p", request.top_p)
        .with_any("stop_sequences", request.stop.iter().collect::<Vec<_>>())
        .with_some("seed", request.seed)
        .with_some("tool_choice", tool_choice(request.effective_tool_choice()))
}

fn tool_choice(choice: &ToolChoice) -> Option<Node> {
    Some(match choice {
        ToolChoice::Auto => return None,
        ToolChoice::None => Node::from("none"),
        ToolChoice::Required => Node::from("any"),
        ToolChoice::Tool(name) => {
            let allowed = Object::new().with("mode", "any").with("tools", vec![name]);
            Object::new().with("allowed_tools", allowed).into()
        }
    })
}
