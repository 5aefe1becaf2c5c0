//! The resource: the response as the first events, the last one, and a whole body have it.

use tokenline_core::json::Value;

use crate::delta::{FinishReason, Usage};
use crate::request::json::{Node, Object};
use crate::writer::{Failure, ResponseHead};

/// Where the response stands.
pub(super) enum Status<'a> {
    InProgress,
    Completed,
    /// It was cut off, for a reason in the words of the API.
    Incomplete(&'a str),
    Failed(&'a Failure),
}

impl<'a> Status<'a> {
    pub(super) fn of(reason: Option<&'a FinishReason>) -> Self {
        match reason {
            None | Some(FinishReason::Stop | FinishReason::ToolCalls) => Self::Completed,
            Some(FinishReason::Length | FinishReason::Repetition) => Self::Incomplete("max_output_tokens"),
            Some(reason) => Self::Incomplete(reason.as_str()),
        }
    }

    pub(super) fn as_str(&self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Incomplete(_) => "incomplete",
            Self::Failed(_) => "failed",
        }
    }
}

/// The members that repeat the request, and their values if it does not have them: JSON.
const REQUEST_MEMBERS: [(&str, &str); 19] = [
    ("background", "false"),
    ("frequency_penalty", "0.0"),
    ("instructions", "null"),
    ("max_output_tokens", "null"),
    ("max_tool_calls", "null"),
    ("metadata", "{}"),
    ("parallel_tool_calls", "true"),
    ("presence_penalty", "0.0"),
    ("previous_response_id", "null"),
    ("prompt_cache_key", "null"),
    ("reasoning", "null"),
    ("safety_identifier", "null"),
    ("service_tier", "\"default\""),
    ("store", "false"),
    ("temperature", "1.0"),
    ("text", r#"{"format":{"type":"text"}}"#),
    ("tool_choice", "\"auto\""),
    ("tools", "[]"),
    ("top_p", "1.0"),
];

/// The resource.
pub(super) fn of(
    head: &ResponseHead,
    status: &Status<'_>,
    output: Vec<Node>,
    usage: Option<&Usage>,
) -> Object {
    let null = || Node::from(serde_json::Value::Null);
    let incomplete = match status {
        Status::Incomplete(reason) => Object::new().with("reason", *reason).into(),
        _ => null(),
    };
    let failed = match status {
        Status::Failed(failure) => {
            Object::new().with("code", error_code(failure)).with("message", &failure.message).into()
        }
        _ => null(),
    };
    let resource = Object::new()
        .with("id", &format!("resp_{}", head.id))
        .with("object", "response")
        .with("created_at", head.created)
        // The library has no clock.
        .with("completed_at", null())
        .with("status", status.as_str())
        .with("incomplete_details", incomplete)
        .with("error", failed)
        .with("model", &head.model)
        .with("output", output)
        .with("usage", usage.map_or_else(null, |usage| usage_object(*usage).into()))
        .with("top_logprobs", 0u64)
        .with("truncation", "disabled");
    REQUEST_MEMBERS.iter().fold(resource, |resource, (name, default)| {
        let given =
            head.request_members.iter().find(|(member, value)| member == name && value.as_str() != "null");
        let given = given.and_then(|(_, value)| value.with_value(|value| repeated(name, value)));
        resource.with(name, given.unwrap_or_else(|| Node::Text((*default).to_owned())))
    })
}

/// A member of the request as the resource repeats it: with all the members that it must have. `None` if it is not as
/// the request must have it.
fn repeated(name: &str, value: Value<'_>) -> Option<Node> {
    Some(match name {
        "tools" => {
            let is_function =
                |tool: &Value<'_>| tool.get("type").and_then(Value::as_str).as_deref() == Some("function");
            let tools = value.as_array()?.into_iter().filter(is_function);
            let tools = tools.map(|tool| completed(tool, &["description", "parameters", "strict"]));
            Node::from(tools.collect::<Option<Vec<_>>>()?)
        }
        "reasoning" => completed(value, &["effort", "summary"])?.into(),
        "text" => {
            let format = value.get("format").filter(|format| !format.is_null());
            let format = match format {
                Some(format) if format.get("schema").is_some() => {
                    let format = completed(format, &["description"])?;
                    if format.has("strict") { format } else { format.with("strict", false) }
                }
                Some(format) => completed(format, &[])?,
                None => Object::new().with("type", "text"),
            };
            let mut text = completed(value, &[])?;
            text.set("format", format);
            text.into()
        }
        _ => Node::Text(value.raw().to_owned()),
    })
}

/// An object with null for the members that it lacks.
fn completed(value: Value<'_>, members: &[&str]) -> Option<Object> {
    let given = value.as_object()?.into_iter();
    let object = given
        .fold(Object::new(), |object, (name, value)| object.with(name, Node::Text(value.raw().to_owned())));
    let missing = members.iter().filter(|name| value.get(name).is_none());
    Some(missing.fold(object, |object, name| object.with(name, Node::Text("null".to_owned()))))
}

fn usage_object(usage: Usage) -> Object {
    let (input, output) = (usage.input_tokens.unwrap_or(0), usage.output_tokens.unwrap_or(0));
    let details = |name, tokens: Option<u64>| Object::new().with(name, tokens.unwrap_or(0));
    Object::new()
        .with("input_tokens", input)
        .with("input_tokens_details", details("cached_tokens", usage.cached_input_tokens))
        .with("output_tokens", output)
        .with("output_tokens_details", details("reasoning_tokens", usage.reasoning_tokens))
        .with("total_tokens", usage.total_tokens.unwrap_or(input.saturating_add(output)))
}

/// The members of an error's event, but for its type. OpenAI has them in the event, other servers in its member `error`:
/// clients read either.
pub(super) fn error(failure: &Failure) -> Object {
    let error = Object::new()
        .with("code", error_code(failure))
        .with("message", &failure.message)
        .with("param", serde_json::Value::Null);
    let of_type = match failure.status {
        429 => "rate_limit_exceeded",
        400..500 => "invalid_request_error",
        _ => "server_error",
    };
    error.clone().with("error", error.with("type", of_type))
}

fn error_code(failure: &Failure) -> &str {
    let code = match failure.status {
        401 => "invalid_api_key",
        402 => "insufficient_quota",
        404 => "model_not_found",
        429 => "rate_limit_exceeded",
        400..500 => "invalid_request",
        _ => "server_error",
    };
    failure.openai_code().unwrap_or(code)
}
