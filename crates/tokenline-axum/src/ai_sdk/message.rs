//! The messages that `useChat` posts.

use std::fmt;

use axum_core::extract::{FromRequest, Request};
use axum_core::response::{IntoResponse, Response};
use bytes::Bytes;
use http::StatusCode;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use tokenline::json::Raw;

use super::DataPart;
use crate::headers::has_content_type;

/// The body that `useChat` posts: the conversation, and what the page adds to it.
///
/// As the argument of a handler it reads the body itself, up to axum's `DefaultBodyLimit` (2 MB);
/// [`UseChatRejection`] says when it cannot. [`to_messages`](Self::to_messages) converts the conversation.
///
/// The `content-type` must be `application/json`. A browser sends that to another origin only if the server allows it
/// with CORS, so no other page can start a paid response with the user's cookies.
///
/// The members are those that `DefaultChatTransport` in the npm package `ai`, version 7.0.173, sends by default.
///
/// ```
/// use tokenline::llm::request::Message;
/// use tokenline_axum::ai_sdk::UseChatRequest;
///
/// let posted: UseChatRequest = serde_json::from_str(r#"{
///     "id": "chat-1", "trigger": "submit-message", "model": "small",
///     "messages": [{"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Hi"}]}]
/// }"#)?;
/// assert_eq!(posted.extra["model"], "small");
/// assert_eq!(posted.to_messages()?, [Message::user("Hi")]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UseChatRequest {
    /// The id of the chat.
    #[serde(default)]
    pub id: Option<String>,
    /// The conversation.
    pub messages: Vec<UiMessage>,
    /// The reason for the request.
    #[serde(default)]
    pub trigger: Trigger,
    /// The id of the message to write again, or of the edited message.
    #[serde(default)]
    pub message_id: Option<String>,
    /// Any other members: what the page sends in `body`.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The reason for the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Trigger {
    /// A response to the last message.
    #[default]
    SubmitMessage,
    /// Another response instead of the last one, which the conversation no longer contains.
    RegenerateMessage,
}

/// A message of the page: the AI SDK's `UIMessage`.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct UiMessage {
    /// Its id.
    #[serde(default)]
    pub id: String,
    /// Who wrote it.
    pub role: UiRole,
    /// Its metadata.
    #[serde(default)]
    pub metadata: Option<Raw>,
    /// Its parts, in order.
    pub parts: Vec<UiPart>,
}

/// Who wrote a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum UiRole {
    /// The page, on behalf of the application.
    System,
    /// The user.
    User,
    /// The model.
    Assistant,
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UiPart {
    /// Text.
    Text(String),
    /// Reasoning.
    Reasoning(String),
    /// A tool call, with its output.
    Tool(ToolPart),
    /// A file, such as an image.
    File {
        /// Its URL; a `data:` URL for a file that the user attached.
        url: String,
        /// Its media type.
        media_type: String,
        /// Its name.
        filename: Option<String>,
    },
    /// Data of the application.
    Data(DataPart),
    /// A step begins.
    StepStart,
    /// A part of another type, such as a source, or data without `data`.
    Other(String),
}

/// A tool call of a message, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolPart {
    /// The tool's name.
    pub tool_name: String,
    /// The id of the call.
    pub tool_call_id: String,
    /// The arguments, if they arrived.
    pub input: Option<Raw>,
    /// The state of the call.
    pub state: ToolState,
    /// Whether the provider ran the tool.
    pub provider_executed: bool,
}

/// The state of a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolState {
    /// Its arguments are incomplete.
    InputStreaming,
    /// It is complete, and has no result.
    InputAvailable,
    /// Its output.
    Output(Raw),
    /// Why it failed or was rejected.
    Error(String),
    /// The user denied it, for this reason.
    Denied(Option<String>),
}

/// A part of any type. Its type decides which members it must have.
#[derive(Deserialize)]
#[serde(expecting = "a part of a message: an object with a type")]
struct Form {
    #[serde(rename = "type")]
    kind: String,
    #[serde(flatten)]
    members: Map<String, Value>,
}

impl Form {
    fn into_part(mut self) -> Result<UiPart, String> {
        match &*self.kind {
            "text" => self.required("text").map(UiPart::Text),
            "reasoning" => self.required("text").map(UiPart::Reasoning),
            "step-start" => Ok(UiPart::StepStart),
            "file" => Ok(UiPart::File {
                url: self.required("url")?,
                media_type: self.required("mediaType")?,
                filename: self.string("filename")?,
            }),
            "dynamic-tool" => {
                let name = self.required("toolName")?;
                self.into_tool(name).map(UiPart::Tool)
            }
            kind => {
                if let Some(name) = kind.strip_prefix("tool-").map(str::to_owned) {
                    return self.into_tool(name).map(UiPart::Tool);
                }
                let name = kind.strip_prefix("data-").map(str::to_owned);
                Ok(match name.zip(self.members.remove("data")) {
                    Some((name, data)) => {
                        let id = self.members.get("id").and_then(Value::as_str).map(str::to_owned);
                        UiPart::Data(DataPart { id, ..DataPart::new(name, data.into()) })
                    }
                    None => UiPart::Other(self.kind),
                })
            }
        }
    }

    fn into_tool(mut self, tool_name: String) -> Result<ToolPart, String> {
        if tool_name.is_empty() {
            return Err(self.missing("toolName"));
        }
        let state = match &*self.required("state")? {
            "input-streaming" => ToolState::InputStreaming,
            "input-available" | "approval-requested" | "approval-responded" => ToolState::InputAvailable,
            // An output may be null.
            "output-available" => match self.members.remove("output") {
                Some(output) => ToolState::Output(output.into()),
                None => return Err(self.missing("output")),
            },
            "output-error" => ToolState::Error(self.required("errorText")?),
            "output-denied" => {
                let approval = self.members.get("approval").unwrap_or(&Value::Null);
                ToolState::Denied(approval["reason"].as_str().map(str::to_owned))
            }
            _ => return Err(format!("a part `{}` has an unknown `state`", self.kind)),
        };
        let tool_call_id = self.required("toolCallId")?;
        if tool_call_id.is_empty() {
            return Err(self.missing("toolCallId"));
        }
        let mut input = |member| self.members.remove(member).filter(|input| !input.is_null());
        let input = input("input").or_else(|| input("rawInput")).map(Raw::from);
        let provider_executed = self.members.get("providerExecuted") == Some(&Value::Bool(true));
        Ok(ToolPart { tool_name, tool_call_id, input, state, provider_executed })
    }

    fn string(&mut self, member: &str) -> Result<Option<String>, String> {
        match self.members.remove(member) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(format!("a part `{}` has a `{member}` that is not a string", self.kind)),
        }
    }

    fn required(&mut self, member: &str) -> Result<String, String> {
        self.string(member)?.ok_or_else(|| self.missing(member))
    }

    fn missing(&self, member: &str) -> String {
        format!("a part `{}` has no `{member}`", self.kind)
    }
}

impl<'de> Deserialize<'de> for UiPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Form::deserialize(deserializer)?.into_part().map_err(serde::de::Error::custom)
    }
}

impl<S: Send + Sync> FromRequest<S> for UseChatRequest {
    type Rejection = UseChatRejection;

    async fn from_request(request: Request, state: &S) -> Result<Self, UseChatRejection> {
        if !has_content_type(request.headers(), &["application/json"]) {
            return Err(UseChatRejection { kind: Kind::ContentType });
        }
        let body = Bytes::from_request(request, state).await;
        let body =
            body.map_err(|rejection| UseChatRejection { kind: Kind::Unread(rejection.into_response()) })?;
        serde_json::from_slice(&body).map_err(|error| UseChatRejection { kind: Kind::Json(error) })
    }
}

/// A request whose body is not what `useChat` posts. As a response, 400 with the reason; 415 if its `content-type` is not
/// `application/json`, 413 if it is too long.
#[derive(Debug)]
pub struct UseChatRejection {
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    ContentType,
    Unread(Response),
    Json(serde_json::Error),
}

impl fmt::Display for UseChatRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::ContentType => f.write_str("the body must be JSON: send `content-type: application/json`"),
            Kind::Unread(response) => write!(f, "the body cannot be read: {}", response.status()),
            Kind::Json(error) => write!(f, "the body is not a request of useChat: {error}"),
        }
    }
}

impl std::error::Error for UseChatRejection {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            Kind::ContentType | Kind::Unread(_) => None,
            Kind::Json(error) => Some(error),
        }
    }
}

impl IntoResponse for UseChatRejection {
    fn into_response(self) -> Response {
        let text = self.to_string();
        match self.kind {
            Kind::ContentType => (StatusCode::UNSUPPORTED_MEDIA_TYPE, text).into_response(),
            Kind::Unread(response) => response,
            Kind::Json(_) => (StatusCode::BAD_REQUEST, text).into_response(),
        }
    }
}
