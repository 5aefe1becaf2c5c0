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

/// The body that `useChat` posts: the conversation, and what the page adds to it.
///
/// As the argument of a handler it reads the body itself, up to axum's `DefaultBodyLimit` (2 MB), and answers 400 or
/// 413 if it cannot. [`to_messages`](Self::to_messages) converts the conversation.
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
    /// What the page asks for.
    #[serde(default)]
    pub trigger: Trigger,
    /// The id of the message to write again, or of the edited message.
    #[serde(default)]
    pub message_id: Option<String>,
    /// Any other members: what the page sends in `body`.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// What the page asks for.
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
    /// A part of another type, such as a source.
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

/// The members of a part of any type.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "a part of a message: an object with a type")]
struct Form {
    #[serde(rename = "type")]
    kind: String,
    id: Option<String>,
    text: Option<String>,
    tool_name: Option<String>,
    tool_call_id: Option<String>,
    state: Option<String>,
    #[serde(default)]
    input: Option<Raw>,
    #[serde(default)]
    raw_input: Option<Raw>,
    // An output may be null.
    #[serde(default, deserialize_with = "some")]
    output: Option<Raw>,
    error_text: Option<String>,
    provider_executed: Option<bool>,
    approval: Option<Approval>,
    url: Option<String>,
    media_type: Option<String>,
    filename: Option<String>,
    #[serde(default, deserialize_with = "some")]
    data: Option<Raw>,
}

#[derive(Deserialize)]
struct Approval {
    reason: Option<String>,
}

fn some<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Raw>, D::Error> {
    <Raw as Deserialize>::deserialize(deserializer).map(Some)
}

impl Form {
    fn into_part(self) -> Result<UiPart, String> {
        let missing = |member: &str| format!("a part `{}` has no `{member}`", self.kind);
        if let Some(name) = self.kind.strip_prefix("data-") {
            let data = self.data.ok_or_else(|| missing("data"))?;
            let part = DataPart::new(name, data);
            return Ok(UiPart::Data(DataPart { id: self.id, ..part }));
        }
        match &*self.kind {
            "text" => self.text.ok_or_else(|| missing("text")).map(UiPart::Text),
            "reasoning" => self.text.ok_or_else(|| missing("text")).map(UiPart::Reasoning),
            "step-start" => Ok(UiPart::StepStart),
            "file" => Ok(UiPart::File {
                url: self.url.ok_or_else(|| missing("url"))?,
                media_type: self.media_type.ok_or_else(|| missing("mediaType"))?,
                filename: self.filename,
            }),
            "dynamic-tool" => {
                let name = self.tool_name.clone().ok_or_else(|| missing("toolName"))?;
                self.into_tool(name).map(UiPart::Tool)
            }
            kind => match kind.strip_prefix("tool-").map(str::to_owned) {
                Some(name) => self.into_tool(name).map(UiPart::Tool),
                None => Ok(UiPart::Other(self.kind)),
            },
        }
    }

    fn into_tool(self, tool_name: String) -> Result<ToolPart, String> {
        let missing = |member: &str| format!("a part `{}` has no `{member}`", self.kind);
        if tool_name.is_empty() {
            return Err(missing("toolName"));
        }
        let state = match self.state.as_deref().ok_or_else(|| missing("state"))? {
            "input-streaming" => ToolState::InputStreaming,
            "input-available" | "approval-requested" | "approval-responded" => ToolState::InputAvailable,
            "output-available" => ToolState::Output(self.output.ok_or_else(|| missing("output"))?),
            "output-error" => ToolState::Error(self.error_text.ok_or_else(|| missing("errorText"))?),
            "output-denied" => ToolState::Denied(self.approval.and_then(|approval| approval.reason)),
            _ => return Err(format!("a part `{}` has an unknown `state`", self.kind)),
        };
        Ok(ToolPart {
            tool_call_id: self
                .tool_call_id
                .filter(|id| !id.is_empty())
                .ok_or_else(|| missing("toolCallId"))?,
            input: self.input.or(self.raw_input),
            provider_executed: self.provider_executed == Some(true),
            state,
            tool_name,
        })
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
        let body = Bytes::from_request(request, state).await;
        let body =
            body.map_err(|rejection| UseChatRejection { kind: Kind::Unread(rejection.into_response()) })?;
        serde_json::from_slice(&body).map_err(|error| UseChatRejection { kind: Kind::Json(error) })
    }
}

/// A request whose body is not what `useChat` posts. As a response, 400 with the reason; 413 if it is too long.
#[derive(Debug)]
pub struct UseChatRejection {
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Unread(Response),
    Json(serde_json::Error),
}

impl fmt::Display for UseChatRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Unread(response) => write!(f, "the body cannot be read: {}", response.status()),
            Kind::Json(error) => write!(f, "the body is not a request of useChat: {error}"),
        }
    }
}

impl std::error::Error for UseChatRejection {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            Kind::Unread(_) => None,
            Kind::Json(error) => Some(error),
        }
    }
}

impl IntoResponse for UseChatRejection {
    fn into_response(self) -> Response {
        let text = self.to_string();
        match self.kind {
            Kind::Unread(response) => response,
            Kind::Json(_) => (StatusCode::BAD_REQUEST, text).into_response(),
        }
    }
}
