//! Ollama `/api/chat`: <https://github.com/ollama/ollama/blob/main/docs/api.md>.

use tokenline_core::ToolCall;

use crate::Provider;
use crate::providers::{RequestApi, openai_chat};
use crate::request::json::{Node, Object};
use crate::request::{CalledTools, ChatRequest, Message, RequestError, ResponseFormat, Source, UserPart};

pub(super) fn body(request: &ChatRequest) -> Result<Object, RequestError> {
    let called = CalledTools::of(request);
    let messages = request.sent_messages();
    let messages =
        messages.map(|(index, sent)| message(&called, index, sent)).collect::<Result<Vec<_>, _>>()?;
    let options = Object::new()
        .with_some("num_predict", request.max_tokens)
        .with_some("temperature", request.temperature)
        .with_some("top_p", request.top_p)
        .with_any("stop", request.stop.iter().collect::<Vec<_>>())
        .with_some("seed", request.seed);
    Ok(Object::new()
        .with("model", &request.model)
        .with("messages", messages)
        .with_any("tools", openai_chat::Api.tools(&request.tools))
        .with_some("format", format(&request.response_format))
        .with_any("options", options)
        .with("stream", request.stream))
}

/// Calls and results have no ids here: a result names its tool.
fn message<'r>(called: &CalledTools<'r>, index: usize, message: &'r Message) -> Result<Object, RequestError> {
    let object = |role, content: &String| Object::new().with("role", role).with("content", content);
    Ok(match message {
        Message::System(text) => object("system", text),
        Message::User(parts) => {
            let mut images = Vec::new();
            for part in parts {
                match part {
                    UserPart::Text(_) => {}
                    UserPart::Image(Source::Base64 { data, .. }) => images.push(data),
                    _ => return Err(part.unsupported(Provider::Ollama, index)),
                }
            }
            object("user", &message.text().into_owned()).with_any("images", images)
        }
        Message::Assistant(_) => object("assistant", &message.text().into_owned())
            .with_any("tool_calls", message.tool_calls().map(tool_call).collect::<Vec<_>>()),
        Message::Tool(result) => {
            object("tool", &result.content).with("tool_name", called.name(index, result)?)
        }
    })
}

fn tool_call(call: &ToolCall) -> Object {
    let function = Object::new().with("name", &call.name).with("arguments", &call.parameters);
    Object::new().with("function", function)
}

fn format(format: &ResponseFormat) -> Option<Node> {
    match format {
        ResponseFormat::Text => None,
        ResponseFormat::Json => Some(Node::from("json")),
        ResponseFormat::JsonSchema(format) => Some(Node::from(&format.schema)),
    }
}
