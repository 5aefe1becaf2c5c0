//! The chunks of a UI message stream.

use serde::Serialize;
use serde::ser::Serializer;
use tokenline::json::Raw;
use tokenline::llm;

use crate::verbatim::{verbatim, verbatim_if_some};

/// A chunk of a UI message stream: one event of the body that `useChat` reads.
///
/// The members are those of `uiMessageChunkSchema` in the npm package `ai`, version 7.0.173. Left out: `custom`,
/// `reasoning-file`, `tool-approval-request` and `-response`, `tool-output-denied`, `steering-message` and
/// `reset-step`, which a server needs only for features that tokenline does not have.
///
/// ```
/// use tokenline_axum::ai_sdk::UiChunk;
///
/// let chunk = UiChunk::TextDelta { id: "text-1".to_owned(), delta: "Hi".to_owned() };
/// assert_eq!(chunk.to_json(), r#"{"type":"text-delta","id":"text-1","delta":"Hi"}"#);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum UiChunk {
    /// The message begins.
    Start {
        /// The id of the message; without it, the page makes one up.
        #[serde(skip_serializing_if = "Option::is_none")]
        message_id: Option<String>,
        /// The metadata of the message.
        #[serde(skip_serializing_if = "Option::is_none", serialize_with = "verbatim_if_some")]
        message_metadata: Option<Raw>,
    },
    /// A step begins: one response of the model, with the outputs of its tools.
    StartStep,
    /// A text part begins.
    TextStart {
        /// The id of the part.
        id: String,
    },
    /// More of a text part.
    TextDelta {
        /// The id of the part.
        id: String,
        /// The next piece.
        delta: String,
    },
    /// A text part is complete.
    TextEnd {
        /// The id of the part.
        id: String,
    },
    /// A reasoning part begins.
    ReasoningStart {
        /// The id of the part.
        id: String,
    },
    /// More of a reasoning part.
    ReasoningDelta {
        /// The id of the part.
        id: String,
        /// The next piece.
        delta: String,
    },
    /// A reasoning part is complete.
    ReasoningEnd {
        /// The id of the part.
        id: String,
    },
    /// A tool call begins.
    ToolInputStart {
        /// The id of the call.
        tool_call_id: String,
        /// The tool's name.
        tool_name: String,
        /// Whether the page does not know the tool's type: its part is a `dynamic-tool`.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        dynamic: bool,
    },
    /// More arguments of a tool call.
    ToolInputDelta {
        /// The id of the call.
        tool_call_id: String,
        /// The next piece of their JSON text.
        input_text_delta: String,
    },
    /// A tool call is complete.
    ToolInputAvailable {
        /// The id of the call.
        tool_call_id: String,
        /// The tool's name.
        tool_name: String,
        /// The arguments.
        #[serde(serialize_with = "verbatim")]
        input: Raw,
        /// As for [`ToolInputStart`](Self::ToolInputStart).
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        dynamic: bool,
    },
    /// A tool call was rejected. The page shows it as a call that failed.
    ToolInputError {
        /// The id of the call.
        tool_call_id: String,
        /// The tool's name.
        tool_name: String,
        /// The arguments as received: JSON, or a string if they are not JSON.
        #[serde(serialize_with = "verbatim")]
        input: Raw,
        /// As for [`ToolInputStart`](Self::ToolInputStart).
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        dynamic: bool,
        /// The reason.
        error_text: String,
    },
    /// The output of a tool.
    ToolOutputAvailable {
        /// The id of the call.
        tool_call_id: String,
        /// The output.
        #[serde(serialize_with = "verbatim")]
        output: Raw,
        /// Whether another output will replace it.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        preliminary: bool,
    },
    /// A tool failed.
    ToolOutputError {
        /// The id of the call.
        tool_call_id: String,
        /// The reason.
        error_text: String,
    },
    /// A source on the web.
    SourceUrl {
        /// The id of the source.
        source_id: String,
        /// Its URL.
        url: String,
        /// Its title.
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<String>,
    },
    /// A document as a source.
    SourceDocument {
        /// The id of the source.
        source_id: String,
        /// The media type of the document.
        media_type: String,
        /// Its title.
        title: String,
        /// Its file name.
        #[serde(skip_serializing_if = "Option::is_none")]
        filename: Option<String>,
    },
    /// A file, such as an image that the model made.
    File {
        /// Its URL, which may be a `data:` URL.
        url: String,
        /// Its media type.
        media_type: String,
    },
    /// Changes the metadata of the message: objects are merged.
    MessageMetadata {
        /// The metadata.
        #[serde(serialize_with = "verbatim")]
        message_metadata: Raw,
    },
    /// The response failed. `useChat` reads no further and sets its `error`.
    Error {
        /// The text of the error, for people.
        error_text: String,
    },
    /// The response was aborted. The page itself aborts by closing the connection.
    Abort {
        /// The reason.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A step is complete.
    FinishStep,
    /// The message is complete.
    Finish {
        /// Why the last response of the model ended.
        #[serde(skip_serializing_if = "Option::is_none")]
        finish_reason: Option<UiFinishReason>,
        /// Changes the metadata of the message.
        #[serde(skip_serializing_if = "Option::is_none", serialize_with = "verbatim_if_some")]
        message_metadata: Option<Raw>,
    },
    /// Data of the application: `data-NAME`.
    #[serde(untagged)]
    Data(DataPart),
}

/// Data of the application, as a part of a message: `{"type":"data-NAME","id","data"}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct DataPart {
    /// The name, without `data-`.
    #[serde(rename = "type", serialize_with = "with_prefix")]
    pub name: String,
    /// The id. A later part with the same name and id replaces the data in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The data.
    #[serde(serialize_with = "verbatim")]
    pub data: Raw,
    /// Whether the page only passes it to `onData`, without keeping it in the message.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub transient: bool,
}

/// Why a message ended, in the words of the AI SDK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum UiFinishReason {
    /// The model finished.
    Stop,
    /// The response reached the token limit.
    Length,
    /// A content filter cut the response off, or the model refused.
    ContentFilter,
    /// The model calls tools.
    ToolCalls,
    /// The response failed.
    Error,
    /// The response was interrupted.
    Interrupted,
    /// Another reason.
    Other,
}

impl UiChunk {
    /// The chunk as JSON, on one line. Arguments, outputs and data have the literals they were given with.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a chunk consists of strings and valid JSON")
    }
}

impl DataPart {
    /// A part with this name, without `data-`.
    pub fn new(name: impl Into<String>, data: Raw) -> Self {
        Self { name: name.into(), id: None, data, transient: false }
    }

    /// Sets the id.
    #[must_use]
    pub fn with_id(self, id: impl Into<String>) -> Self {
        Self { id: Some(id.into()), ..self }
    }

    /// Does not keep the part in the message.
    #[must_use]
    pub fn transient(self) -> Self {
        Self { transient: true, ..self }
    }
}

impl From<DataPart> for UiChunk {
    fn from(part: DataPart) -> Self {
        Self::Data(part)
    }
}

impl From<&llm::FinishReason> for UiFinishReason {
    fn from(reason: &llm::FinishReason) -> Self {
        match reason {
            llm::FinishReason::Stop => Self::Stop,
            llm::FinishReason::ToolCalls => Self::ToolCalls,
            llm::FinishReason::Length => Self::Length,
            llm::FinishReason::ContentFilter => Self::ContentFilter,
            llm::FinishReason::MalformedCall | llm::FinishReason::Error => Self::Error,
            _ => Self::Other,
        }
    }
}

/// The prefix of the type of a data part.
const DATA: &str = "data-";

fn with_prefix<S: Serializer>(name: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{DATA}{name}"))
}
