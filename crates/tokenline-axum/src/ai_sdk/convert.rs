//! From the messages of the page to those of a request to a model.

use std::collections::{HashMap, HashSet};
use std::fmt;

use axum_core::response::{IntoResponse, Response};
use http::StatusCode;
use tokenline::adapter::SYNTHETIC_ID_PREFIX;
use tokenline::json::Raw;
use tokenline::llm::request::{AssistantPart, Message, Source, UserPart};
use tokenline::{CompletedBy, ToolCall};

use super::message::{ToolPart, ToolState, UiMessage, UiPart, UiRole, UseChatRequest};
use super::writer::{KEPT_MESSAGE, text_call_result};

/// A message of the page that cannot be sent to a model. As a response, 400 with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidMessage {
    /// The index of the message.
    pub index: usize,
    /// The reason.
    pub kind: InvalidMessageKind,
}

/// Why a message of the page cannot be sent to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidMessageKind {
    /// It is a system message. Only the server may set the system prompt: whoever sends the request could override it.
    SystemMessage,
    /// A file of the last message is neither an image nor a document, or its URL is neither `http(s):` nor `data:` in
    /// base64.
    UnsupportedFile,
    /// Two tool calls have the same id.
    RepeatedCallId,
    /// The part `data-tokenline-message` is not as the server wrote it.
    KeptMessage,
}

/// The result of a call that has none: the user stopped the response before the tool had run.
const NO_RESULT: &str = "not run: the response was stopped";

/// Takes the place of a file in an earlier message that cannot be sent. The page keeps posting that message, so an error
/// would end the chat.
const OMITTED_FILE: &str = "[a file of an unsupported type was omitted here]";

impl UseChatRequest {
    /// The conversation as messages of a request.
    ///
    /// | part | becomes |
    /// |---|---|
    /// | user: text | text |
    /// | user: file | an image or a document (`application/pdf`, `text/*`), from a `data:` or `http(s):` URL. Another file is an error in the last message, a short note in an earlier one |
    /// | assistant: text, reasoning | the same. Providers do not take reasoning back without their own data |
    /// | assistant: tool call | a tool call, and a message with its output: a string as it is, else JSON |
    /// | failed, rejected or denied call | the call, and its error |
    /// | call without a result | the call, and an error: the user stopped the response before the tool had run |
    /// | call with incomplete arguments, or run by the provider | ignored |
    /// | `data-tokenline-message` | replaces the parts of its step; see [`ChunkWriter::keep_message`](super::ChunkWriter::keep_message) |
    /// | sources, other data, other files, unknown types | ignored |
    ///
    /// A step of an assistant message becomes a message of its own, with the results of its calls after it. Messages
    /// without anything to send are left out. An id that starts with `synthetic_` is not sent to providers that did not
    /// give it.
    ///
    /// The page is not trusted: it can claim any conversation, also outputs of tools that never ran. A kept message is
    /// worth as much as the parts beside it.
    ///
    /// # Errors
    ///
    /// See [`InvalidMessageKind`].
    pub fn to_messages(&self) -> Result<Vec<Message>, InvalidMessage> {
        let mut messages = Vec::new();
        for (index, message) in self.messages.iter().enumerate() {
            let is_last = index + 1 == self.messages.len();
            message.add_to(&mut messages, is_last).map_err(|kind| InvalidMessage { index, kind })?;
        }
        Ok(messages)
    }
}

impl UiMessage {
    fn add_to(&self, messages: &mut Vec<Message>, is_last: bool) -> Result<(), InvalidMessageKind> {
        match self.role {
            UiRole::System => Err(InvalidMessageKind::SystemMessage),
            UiRole::User => {
                let parts = self.parts.iter().filter_map(|part| match part {
                    UiPart::Text(text) => Some(Ok(UserPart::Text(text.clone()))),
                    UiPart::File { url, media_type, filename } => {
                        let file = file(url, media_type, filename.as_deref());
                        Some(if is_last {
                            file
                        } else {
                            Ok(file.unwrap_or_else(|_| UserPart::from(OMITTED_FILE)))
                        })
                    }
                    _ => None,
                });
                let parts = parts.collect::<Result<Vec<_>, _>>()?;
                if !parts.is_empty() {
                    messages.push(Message::User(parts));
                }
                Ok(())
            }
            UiRole::Assistant => {
                let mut ids = HashSet::new();
                let calls = self.parts.iter().filter_map(|part| match part {
                    UiPart::Tool(tool) => Some(&*tool.tool_call_id),
                    _ => None,
                });
                if !calls.into_iter().all(|id| ids.insert(id)) {
                    return Err(InvalidMessageKind::RepeatedCallId);
                }
                let mut sent = HashSet::new();
                self.parts
                    .split(|part| matches!(part, UiPart::StepStart))
                    .try_for_each(|parts| add_step(parts, messages, &mut sent))
            }
        }
    }
}

fn file(url: &str, media_type: &str, name: Option<&str>) -> Result<UserPart, InvalidMessageKind> {
    let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme).to_ascii_lowercase();
    let (source, media_type) = match &*scheme {
        "http" | "https" => (Source::Url(url.to_owned()), media_type),
        "data" => {
            let inline = url["data:".len()..].split_once(";base64,");
            let (media_type, data) = inline.ok_or(InvalidMessageKind::UnsupportedFile)?;
            (Source::base64(media_type, data), media_type)
        }
        _ => return Err(InvalidMessageKind::UnsupportedFile),
    };
    match media_type.split_once('/') {
        Some(("image", _)) => Ok(UserPart::Image(source)),
        Some(("text", _)) | Some(("application", "pdf")) => {
            Ok(UserPart::Document { name: name.map(str::to_owned), source })
        }
        _ => Err(InvalidMessageKind::UnsupportedFile),
    }
}

/// Adds a step of an assistant message, and the results of its calls. `sent` has the ids of the message's calls so far.
fn add_step(
    parts: &[UiPart],
    messages: &mut Vec<Message>,
    sent: &mut HashSet<String>,
) -> Result<(), InvalidMessageKind> {
    let kept = parts.iter().find_map(|part| match part {
        UiPart::Data(part) if part.name == KEPT_MESSAGE => Some(&part.data),
        _ => None,
    });
    let tools = parts.iter().filter_map(complete_call);
    let (said, results) = match kept {
        Some(kept) => {
            let said: Vec<AssistantPart> = kept.deserialize().map_err(|_| InvalidMessageKind::KeptMessage)?;
            let results = results_of(&said, tools);
            (said, results)
        }
        None => {
            let said = parts.iter().filter_map(said).collect();
            (said, tools.map(|tool| result(tool, &call(tool))).collect())
        }
    };
    let ids = said.iter().filter_map(|part| match part {
        AssistantPart::ToolCall { call, .. } => call.call_id.clone(),
        _ => None,
    });
    // A kept message has ids of its own.
    if !ids.into_iter().all(|id| sent.insert(id)) {
        return Err(InvalidMessageKind::RepeatedCallId);
    }
    if !said.is_empty() {
        messages.push(Message::Assistant(said));
        messages.extend::<Vec<_>>(results);
    }
    Ok(())
}

/// The content of a part of an assistant message, without results.
fn said(part: &UiPart) -> Option<AssistantPart> {
    match part {
        UiPart::Text(text) if !text.trim().is_empty() => Some(AssistantPart::text(text)),
        UiPart::Reasoning(text) if !text.is_empty() => {
            Some(AssistantPart::Reasoning { text: text.clone(), opaque: None })
        }
        part => complete_call(part).map(|tool| AssistantPart::tool_call(call(tool))),
    }
}

/// A call whose arguments arrived, and whose result the next request has to bring.
fn complete_call(part: &UiPart) -> Option<&ToolPart> {
    match part {
        UiPart::Tool(tool) if !tool.provider_executed && tool.state != ToolState::InputStreaming => {
            Some(tool)
        }
        _ => None,
    }
}

fn call(tool: &ToolPart) -> ToolCall {
    // The input of a rejected call may be anything.
    let input = tool.input.clone().filter(|input| input.as_str().starts_with('{'));
    let parameters = input.unwrap_or_else(|| Raw::from(serde_json::json!({})));
    let mut call = ToolCall::new(&tool.tool_name, parameters, CompletedBy::ItemStop);
    call.is_synthetic_id = tool.tool_call_id.starts_with(SYNTHETIC_ID_PREFIX);
    call.call_id = Some(tool.tool_call_id.clone());
    call
}

/// The result of a call, for the model.
fn result(tool: &ToolPart, call: &ToolCall) -> Message {
    match content(tool) {
        Ok(content) => Message::tool_result(call, content),
        Err(content) => Message::tool_error(call, content),
    }
}

/// An output for the model: a string as it is, anything else as JSON.
pub(super) fn content_of(output: &Raw) -> String {
    output.deserialize().unwrap_or_else(|_| output.as_str().to_owned())
}

fn content(tool: &ToolPart) -> Result<String, String> {
    match &tool.state {
        ToolState::Output(output) => Ok(content_of(output)),
        ToolState::Error(error) => Err(error.clone()),
        ToolState::Denied(reason) => {
            Err(reason.clone().unwrap_or_else(|| "not run: the user denied it".to_owned()))
        }
        ToolState::InputStreaming | ToolState::InputAvailable => Err(NO_RESULT.to_owned()),
    }
}

/// The results of the calls in a kept message: one for each native call, then those of the calls in its text.
fn results_of<'a>(said: &[AssistantPart], tools: impl Iterator<Item = &'a ToolPart>) -> Vec<Message> {
    let mut in_text: Vec<&ToolPart> = tools.collect();
    let by_id: HashMap<&str, &ToolPart> = in_text.iter().map(|tool| (&*tool.tool_call_id, *tool)).collect();
    let calls = said.iter().filter_map(|part| match part {
        AssistantPart::ToolCall { call, .. } => Some((call, call.call_id.as_deref()?)),
        _ => None,
    });
    let native: HashMap<&str, &ToolCall> = calls.clone().map(|(call, id)| (id, call)).collect();
    let results = calls.map(|(call, id)| match by_id.get(id) {
        Some(tool) => result(tool, call),
        None => Message::tool_error(call, NO_RESULT),
    });
    let mut results: Vec<Message> = results.collect();
    in_text.retain(|tool| !native.contains_key(&*tool.tool_call_id));
    results.extend(
        in_text
            .iter()
            .map(|tool| text_call_result(&tool.tool_name, &content(tool).unwrap_or_else(|error| error))),
    );
    results
}

impl fmt::Display for InvalidMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = match self.kind {
            InvalidMessageKind::SystemMessage => "is a system message, which only the server may write",
            InvalidMessageKind::UnsupportedFile => {
                "has a file that cannot be sent; send an image, a PDF or a text by http(s): or as a data: URL in base64"
            }
            InvalidMessageKind::RepeatedCallId => "has two tool calls with the same id",
            InvalidMessageKind::KeptMessage => {
                "has a part `data-tokenline-message` that is not as the server wrote it"
            }
        };
        write!(f, "message {} {reason}", self.index)
    }
}

impl std::error::Error for InvalidMessage {}

impl IntoResponse for InvalidMessage {
    fn into_response(self) -> Response {
        (StatusCode::BAD_REQUEST, self.to_string()).into_response()
    }
}
