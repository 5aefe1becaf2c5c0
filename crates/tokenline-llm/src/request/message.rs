//! The messages of a conversation.

use std::borrow::Cow;

use serde::de::{Deserializer, Error};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use tokenline_core::adapter::char_start;
use tokenline_core::json::Raw;
use tokenline_core::{CompletedBy, RejectedCall, ToolCall};

use super::user::{self, PartForm};
use super::{AssistantPart, UserPart};

/// One message of a conversation.
///
/// Deserialized from the form of OpenAI's chat completions, which most tools write: `{"role", "content"}` with the
/// roles `system`, `developer`, `user`, `assistant` and `tool`; the content is a text or a list of
/// `{"type":"text","text"}`; an assistant has `tool_calls`, a tool `tool_call_id`.
///
/// ```
/// use tokenline_llm::request::Message;
///
/// let messages: Vec<Message> = serde_json::from_str(r#"[
///     {"role": "user", "content": "Weather in Paris?"},
///     {"role": "assistant", "content": null, "tool_calls": [
///         {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{\"city\":\"Paris\"}"}}
///     ]},
///     {"role": "tool", "tool_call_id": "c1", "content": "21 degrees"}
/// ]"#)?;
/// assert_eq!(messages[0], Message::user("Weather in Paris?"));
/// let call = messages[1].tool_calls().next().unwrap();
/// assert_eq!((&*call.name, call.parameters.as_str()), ("weather", r#"{"city":"Paris"}"#));
/// // Serialized in the same form, with the parts of an assistant message as `parts`.
/// let stored = serde_json::to_string(&messages)?;
/// assert_eq!(serde_json::from_str::<Vec<Message>>(&stored)?, messages);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Message {
    /// The system prompt.
    System(String),
    /// A user message.
    User(Vec<UserPart>),
    /// An assistant message. [`ResponseParser::message`](crate::ResponseParser::message) builds it from a response.
    Assistant(Vec<AssistantPart>),
    /// The result of a tool call.
    Tool(ToolResult),
}

/// The result of a tool call, for the model to read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolResult {
    /// The id of the call.
    pub call_id: Option<String>,
    /// The tool's name. If missing, it is looked up by the id in earlier messages.
    pub name: Option<String>,
    /// The result: JSON or any text.
    pub content: String,
    /// Whether the call failed.
    pub is_error: bool,
}

impl Message {
    /// A system prompt.
    pub fn system(text: impl Into<String>) -> Self {
        Self::System(text.into())
    }

    /// A user message.
    pub fn user(text: impl Into<String>) -> Self {
        Self::user_parts([text.into()])
    }

    /// A user message of several parts: texts, images, documents.
    ///
    /// ```
    /// use tokenline_llm::Provider;
    /// use tokenline_llm::request::{ChatRequest, Message, UserPart};
    ///
    /// let question = Message::user_parts([
    ///     UserPart::from("Whose logo is this?"),
    ///     UserPart::image_url("https://example.com/logo.png"),
    /// ]);
    /// let request = ChatRequest::new("claude-sonnet-4-5").message(question);
    /// let body: serde_json::Value = serde_json::from_str(&request.to_body(Provider::Anthropic)?)?;
    /// assert_eq!(body["messages"][0]["content"][1]["source"]["url"], "https://example.com/logo.png");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn user_parts(parts: impl IntoIterator<Item: Into<UserPart>>) -> Self {
        Self::User(parts.into_iter().map(Into::into).collect())
    }

    /// An assistant message: its text, and the tools it called.
    pub fn assistant(text: impl Into<String>, tool_calls: impl IntoIterator<Item = ToolCall>) -> Self {
        let text = AssistantPart::text(text);
        let text = (!text.is_empty()).then_some(text);
        Self::Assistant(
            text.into_iter().chain(tool_calls.into_iter().map(AssistantPart::tool_call)).collect(),
        )
    }

    /// The text of a message of any role: its text parts, joined.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::System(text) => text.into(),
            Self::Tool(result) => (&result.content).into(),
            Self::User(parts) => joined(parts.iter().filter_map(UserPart::as_text)),
            Self::Assistant(parts) => joined(parts.iter().filter_map(|part| match part {
                AssistantPart::Text { text, .. } => Some(text.as_str()),
                _ => None,
            })),
        }
    }

    /// The tool calls of an assistant message.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        let parts = match self {
            Self::Assistant(parts) => parts.as_slice(),
            _ => &[],
        };
        parts.iter().filter_map(|part| match part {
            AssistantPart::ToolCall { call, .. } => Some(call),
            _ => None,
        })
    }

    /// The result of a native call. The result of a call that the model wrote in its text belongs in a
    /// [user message](Self::user).
    pub fn tool_result(call: &ToolCall, content: impl Into<String>) -> Self {
        Self::result(call, content.into(), false)
    }

    /// The error of a call, so that the model can try again.
    pub fn tool_error(call: &ToolCall, content: impl Into<String>) -> Self {
        Self::result(call, content.into(), true)
    }

    /// The result of the call with this id, if the call itself is not at hand.
    pub fn tool(call_id: impl Into<String>, content: impl Into<String>) -> Self {
        let (call_id, content) = (Some(call_id.into()), content.into());
        Self::Tool(ToolResult { call_id, name: None, content, is_error: false })
    }

    /// A [rejected](crate::ResponseEvent::RejectedCall) call for the conversation, and the message that gives the model the
    /// reason: [each rule](tokenline_core::Diagnostic::for_model) that was broken, if the tools look for
    /// all (`ToolSet::all_violations`). The call goes into the [assistant message](Self::assistant), with the
    /// received parameters if they are an object; otherwise with none, and the message quotes what was received. A name that
    /// the provider refuses is changed when the request is written.
    ///
    /// `None` if the call has no name: the model cannot be sent a result.
    ///
    /// ```
    /// use tokenline_core::{Options, json::Raw};
    /// use tokenline_llm::request::Message;
    /// use tokenline_llm::{ResponseEvent, ResponseParser, Provider};
    ///
    /// let mut parser = ResponseParser::<Raw>::new(Provider::Ollama, Options::lenient());
    /// parser.push(br#"{"message":{"tool_calls":[{"function":{"name":"ls","arguments":7}}]},"done":true}"#);
    /// parser.finish();
    /// let (mut calls, mut results) = (Vec::new(), Vec::new());
    /// while let Some(event) = parser.next_event() {
    ///     if let ResponseEvent::RejectedCall { call, .. } = event
    ///         && let Some((call, why)) = Message::rejected(&call)
    ///     {
    ///         calls.push(call);
    ///         results.push(why);
    ///     }
    /// }
    /// let said = Message::assistant("", calls); // and the results after it
    /// # assert_eq!(said.tool_calls().next().unwrap().name, "ls");
    /// # assert!(matches!(&results[..], [Message::Tool(result)] if result.is_error));
    /// ```
    #[must_use]
    pub fn rejected(call: &RejectedCall) -> Option<(ToolCall, Self)> {
        let received = Raw::new(&call.received).ok().filter(|received| received.as_str().starts_with('{'));
        let mut why = format!("not run: {}", call.diagnostic.for_model());
        if received.is_none() && !call.received.is_empty() {
            // The model must see what it wrote: the call is shown without it.
            let shown = &call.received[..char_start(&call.received, MAX_RECEIVED)];
            let cut = if shown.len() < call.received.len() { ", cut off" } else { "" };
            why += &format!("\n\nReceived{cut}:\n{shown}");
        }
        let parameters = received.unwrap_or_else(|| Raw::from(serde_json::json!({})));
        // The evidence is irrelevant here: the call is only shown to the model.
        let mut shown = ToolCall::new(call.name.clone()?, parameters, CompletedBy::EndOfInput);
        (shown.call_id, shown.is_synthetic_id) = (call.call_id.clone(), call.is_synthetic_id);
        let why = Self::tool_error(&shown, why);
        Some((shown, why))
    }

    fn result(call: &ToolCall, content: String, is_error: bool) -> Self {
        let (call_id, name) = (call.call_id.clone(), Some(call.name.clone()));
        Self::Tool(ToolResult { call_id, name, content, is_error })
    }
}

/// The most of the arguments of a rejected call that is shown to the model as text, in bytes.
const MAX_RECEIVED: usize = 16 * 1024;

fn joined<'t>(mut texts: impl Iterator<Item = &'t str>) -> Cow<'t, str> {
    let first = texts.next().unwrap_or_default();
    texts.fold(first.into(), |all: Cow<'_, str>, text| all + text)
}

#[derive(Deserialize)]
#[serde(expecting = "a message: an object with a role")]
struct Form {
    role: String,
    #[serde(default)]
    content: Content,
    #[serde(default)]
    tool_calls: Option<Vec<Call>>,
    #[serde(default)]
    tool_call_id: Option<String>,
    #[serde(default, alias = "tool_name")]
    name: Option<String>,
    #[serde(default)]
    is_error: bool,
    /// Replaces `content` and `tool_calls`: the parts of an assistant message, in order.
    #[serde(default)]
    parts: Option<Vec<AssistantPart>>,
}

#[derive(Default, Deserialize)]
#[serde(untagged, expecting = "`content` must be a text or a list of parts")]
enum Content {
    #[default]
    None,
    Text(String),
    Parts(Vec<PartForm>),
}

#[derive(Deserialize)]
struct Call {
    #[serde(default)]
    id: Option<String>,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    arguments: Raw,
}

impl Content {
    fn into_text<E: Error>(self) -> Result<String, E> {
        match self {
            Self::None => Ok(String::new()),
            Self::Text(text) => Ok(text),
            Self::Parts(parts) => {
                if let Some(part) = parts.iter().find(|part| !part.kind.ends_with("text")) {
                    return Err(E::custom(format!(
                        "content of type {:?} cannot be sent, only text",
                        part.kind
                    )));
                }
                let parts = parts.into_iter().map(PartForm::into_part);
                Ok(parts.collect::<Result<Vec<_>, E>>()?.iter().filter_map(UserPart::as_text).collect())
            }
        }
    }

    fn into_user_parts<E: Error>(self) -> Result<Vec<UserPart>, E> {
        match self {
            Self::Parts(parts) => parts.into_iter().map(PartForm::into_part).collect(),
            text => Ok(vec![UserPart::Text(text.into_text()?)]),
        }
    }
}

impl Call {
    /// The arguments are either a string that holds JSON, or the JSON itself.
    fn into_tool_call<E: Error>(self) -> Result<ToolCall, E> {
        let Self { id, function: Function { name, arguments } } = self;
        let parameters = match arguments.deserialize::<String>() {
            Ok(text) if text.trim().is_empty() => Raw::from(serde_json::json!({})),
            Ok(text) => Raw::new(&text)
                .map_err(|error| E::custom(format!("the arguments of {name:?} are not JSON: {error}")))?,
            Err(_) => arguments,
        };
        if !parameters.as_str().starts_with('{') {
            return Err(E::custom(format!("the arguments of {name:?} are not an object")));
        }
        // A stored conversation has complete calls.
        let mut call = ToolCall::new(name, parameters, CompletedBy::ItemStop);
        call.call_id = id;
        Ok(call)
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let form = Form::deserialize(deserializer)?;
        if form.role == "user" {
            return form.content.into_user_parts().map(Self::User);
        }
        let text = form.content.into_text()?;
        Ok(match &*form.role {
            "system" | "developer" => Self::System(text),
            "assistant" => {
                if let Some(parts) = form.parts {
                    return Ok(Self::Assistant(parts));
                }
                let calls = form.tool_calls.unwrap_or_default().into_iter().map(Call::into_tool_call);
                Self::assistant(text, calls.collect::<Result<Vec<_>, _>>()?)
            }
            "tool" => {
                let Form { tool_call_id: call_id, name, is_error, .. } = form;
                Self::Tool(ToolResult { call_id, name, content: text, is_error })
            }
            role => return Err(D::Error::custom(format!("unknown role {role:?}"))),
        })
    }
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let role = match self {
            Self::System(_) => "system",
            Self::User(_) => "user",
            Self::Assistant(_) => "assistant",
            Self::Tool(_) => "tool",
        };
        map.serialize_entry("role", role)?;
        match self {
            Self::System(text) => map.serialize_entry("content", text)?,
            Self::User(parts) => map.serialize_entry("content", &user::Content(parts))?,
            Self::Assistant(parts) => map.serialize_entry("parts", parts)?,
            Self::Tool(result) => {
                map.serialize_entry("content", &result.content)?;
                for (member, value) in [("tool_call_id", &result.call_id), ("name", &result.name)] {
                    if let Some(value) = value {
                        map.serialize_entry(member, value)?;
                    }
                }
                if result.is_error {
                    map.serialize_entry("is_error", &true)?;
                }
            }
        }
        map.end()
    }
}
