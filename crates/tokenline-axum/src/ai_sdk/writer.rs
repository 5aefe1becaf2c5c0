//! The chunks of a message, written from the events of its responses. No I/O.

use std::any::Any;
use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use tokenline::json::Raw;
use tokenline::llm::request::{AssistantPart, Message};
use tokenline::{Diagnostic, Origin, RejectedCall, ResponseEvent, ToolCall};

use super::calls::{CallIds, MissingCall};
use super::{DataPart, UiChunk, UiFinishReason};
use crate::data_loss::DataLoss;

/// Writes the events of one or more responses as the chunks of one message. Does no I/O.
///
/// The chunks are well-formed whatever the events are: each part that starts ends, deltas stay between, calls end with
/// their input or an error, and `start` and `finish` enclose everything.
///
/// | event | chunks |
/// |---|---|
/// | text, reasoning | `text-*`, `reasoning-*`; a part ends where another begins. White space alone makes no part |
/// | refusal | a text part of its own |
/// | tool call begins, arguments | `tool-input-start`, `tool-input-delta` |
/// | tool call | `tool-input-available` |
/// | rejected call | `tool-input-error`, with the reason the model receives; none for a call without a name |
/// | record | a part `data-record` |
/// | finish reason | the `finishReason` of `finish`: that of the last response |
/// | failure of the provider, incomplete response | `error`, once the parts are closed |
/// | other rejects, notes, usage, growing records | none; see the parser's report |
///
/// Only the first choice is written. Its parser needs the settings of [`chat_parser`](super::chat_parser).
///
/// ```
/// use tokenline::json::Raw;
/// use tokenline::{Options, Provider, ResponseParser};
/// use tokenline_axum::ai_sdk::{ChunkWriter, chat_parser};
///
/// let mut parser = chat_parser(ResponseParser::<Raw>::new(Provider::OpenAiChat, Options::lenient()));
/// let mut writer = ChunkWriter::new();
/// parser.push("data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\n");
/// parser.finish();
/// while let Some(event) = parser.next_event() {
///     writer.push(&event);
/// }
/// writer.finish();
/// let chunks: Vec<_> = std::iter::from_fn(|| writer.next_chunk()).map(|chunk| chunk.to_json()).collect();
/// assert_eq!(chunks, [
///     r#"{"type":"start"}"#,
///     r#"{"type":"start-step"}"#,
///     r#"{"type":"text-start","id":"text-1"}"#,
///     r#"{"type":"text-delta","id":"text-1","delta":"Hi"}"#,
///     r#"{"type":"text-end","id":"text-1"}"#,
///     r#"{"type":"finish-step"}"#,
///     r#"{"type":"finish","finishReason":"stop"}"#,
/// ]);
/// ```
#[derive(Default)]
pub struct ChunkWriter {
    chunks: VecDeque<UiChunk>,
    message_id: Option<String>,
    metadata: Option<Raw>,
    error_text: Option<ErrorText>,
    stage: Stage,
    step_is_open: bool,
    /// The part that gets text.
    open: Option<OpenPart>,
    /// The number of parts so far.
    parts: u64,
    calls: CallIds,
    reason: Option<UiFinishReason>,
    /// The text of the error that ends the message.
    failure: Option<String>,
}

/// Makes the text of an `error` chunk.
type ErrorText = Arc<dyn Fn(&(dyn Error + 'static)) -> String + Send + Sync>;

/// The text of an `error` chunk by default, as in the AI SDK: the error may contain what is not for the page.
const MASKED_ERROR: &str = "An error occurred.";

/// The name of the data part that holds a step's message for the next request; see [`ChunkWriter::keep_message`].
pub(super) const KEPT_MESSAGE: &str = "tokenline-message";

/// White space that a part may start with, in bytes. More of it starts the part.
const MAX_SPACE: usize = 1024;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Before,
    Started,
    Finished,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text { block: u64 },
    Reasoning,
    Refusal,
}

struct OpenPart {
    kind: Kind,
    /// `None` until there is more than white space.
    id: Option<String>,
    space: String,
}

impl ChunkWriter {
    /// A writer at the start of a message.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the id of the message. Without it, the page makes one up. To continue the last message of the page, do not
    /// set it, or set its id.
    #[must_use]
    pub fn with_message_id(self, id: impl Into<String>) -> Self {
        Self { message_id: Some(id.into()), ..self }
    }

    /// Sets the metadata of the message.
    #[must_use]
    pub fn with_metadata(self, metadata: Raw) -> Self {
        Self { metadata: Some(metadata), ..self }
    }

    /// Sets the texts of errors. By default the page only learns that there was one. The closure is also the place to
    /// log an error.
    ///
    /// ```
    /// # use tokenline_axum::ai_sdk::ChunkWriter;
    /// let writer = ChunkWriter::new().with_error_text(|error| format!("The model failed: {error}"));
    /// ```
    #[must_use]
    pub fn with_error_text(
        self,
        text: impl Fn(&(dyn Error + 'static)) -> String + Send + Sync + 'static,
    ) -> Self {
        Self { error_text: Some(Arc::new(text)), ..self }
    }

    /// The next chunk, if one is ready.
    pub fn next_chunk(&mut self) -> Option<UiChunk> {
        self.chunks.pop_front()
    }

    pub(super) fn has_chunks(&self) -> bool {
        !self.chunks.is_empty()
    }

    /// Drops what is written, and ignores what follows: nobody reads it.
    pub(super) fn discard(&mut self) {
        self.stage = Stage::Finished;
        self.chunks.clear();
    }
}

// What is written.
impl ChunkWriter {
    /// Writes an event of the current response. Opens a step if none is open.
    pub fn push<T: Serialize + 'static>(&mut self, event: &ResponseEvent<T>) {
        match event {
            ResponseEvent::Text { choice: 0, block, text } => self.text(Kind::Text { block: *block }, text),
            ResponseEvent::Reasoning { choice: 0, text, .. } if !text.is_empty() => {
                self.text(Kind::Reasoning, text);
            }
            ResponseEvent::Refusal { choice: 0, text } => self.text(Kind::Refusal, text),
            ResponseEvent::ToolCallBegan { choice: 0, number, call_id, name } => {
                self.begin_call(*number, call_id.as_deref(), name);
            }
            ResponseEvent::ToolCallArguments { choice: 0, number, text } => self.arguments(*number, text),
            ResponseEvent::ToolCall { choice: 0, call, record, .. } => {
                self.end_call(call, record.is_some());
            }
            ResponseEvent::RejectedCall { choice: 0, call, .. } => {
                self.reject_call(call);
            }
            ResponseEvent::Record { choice: 0, record, .. } => match to_raw(&record.value) {
                Ok(data) => {
                    self.open_step();
                    self.close_part();
                    self.send(UiChunk::Data(DataPart::new("record", data)));
                }
                Err(error) => self.fail(&error),
            },
            ResponseEvent::Finish { choice: 0, reason } => {
                self.open_step();
                self.close_part();
                self.reason = Some(reason.into());
            }
            event => {
                if let Some(diagnostic) = failure(event) {
                    self.open_step();
                    self.set_failure(diagnostic);
                }
            }
        }
    }

    /// Writes the output of a tool: of a call in this message, or in the message that it continues.
    pub fn tool_output(&mut self, call: &ToolCall, output: Raw) {
        let tool_call_id = self.calls.shown_id(call);
        self.send(UiChunk::ToolOutputAvailable { tool_call_id, output, preliminary: false });
    }

    /// Writes the error of a tool.
    pub fn tool_error(&mut self, call: &ToolCall, error_text: impl Into<String>) {
        let (tool_call_id, error_text) = (self.calls.shown_id(call), error_text.into());
        self.send(UiChunk::ToolOutputError { tool_call_id, error_text });
    }

    /// Writes any other chunk as it is, such as a [`DataPart`] or a source.
    pub fn send(&mut self, chunk: UiChunk) {
        if self.stage == Stage::Finished {
            return;
        }
        self.start();
        self.chunks.push_back(chunk);
    }

    /// Keeps the message of the response for the next request, if the parts that the page shows do not say everything:
    /// the provider attached data to it, such as signatures and encrypted reasoning, or the model wrote calls in its
    /// text.
    ///
    /// The page returns the message as a part `data-tokenline-message`, and
    /// [`UseChatRequest::to_messages`](super::UseChatRequest::to_messages) puts it in the place of the step's parts.
    /// Call this method after the last event of a response.
    pub fn keep_message(&mut self, message: &Message) {
        let Message::Assistant(parts) = message else { return };
        if !self.calls.has_text_calls() && parts.iter().all(|part| part.opaque().is_none()) {
            return;
        }
        let mut parts = parts.clone();
        for part in &mut parts {
            if let AssistantPart::ToolCall { call, .. } = part {
                call.call_id = Some(self.calls.shown_id(call));
            }
        }
        let parts = serde_json::to_value(parts).expect("the parts of a message are strings");
        self.send(UiChunk::Data(DataPart::new(KEPT_MESSAGE, parts.into())));
    }
}

// Where it begins and ends.
impl ChunkWriter {
    /// Begins the next step, and ends the one before. A step is a response of the model, with the outputs of its tools.
    pub fn start_step(&mut self) {
        self.end_step();
        self.open_step();
    }

    /// Ends the response of the current step: closes its parts and calls. The outputs of its tools may follow.
    pub fn end_response(&mut self) {
        self.close_part();
        for call in self.calls.take_open() {
            let (input, error_text) =
                (Raw::from(serde_json::Value::Null), "the call is incomplete".to_owned());
            let MissingCall { tool_call_id, tool_name } = call;
            self.send(UiChunk::ToolInputError { tool_call_id, tool_name, input, dynamic: false, error_text });
        }
    }

    /// Notes that the message ends with an error. [`finish`](Self::finish) writes it. The first error counts.
    pub fn fail(&mut self, error: &(dyn Error + 'static)) {
        self.set_failure(error);
    }

    /// Ends the message.
    pub fn finish(&mut self) {
        if self.stage == Stage::Finished {
            return;
        }
        self.start();
        self.end_response();
        if let Some(error_text) = self.failure.take() {
            self.reason = Some(UiFinishReason::Error);
            self.send(UiChunk::Error { error_text });
        }
        self.end_step();
        self.send(UiChunk::Finish { finish_reason: self.reason, message_metadata: None });
        self.stage = Stage::Finished;
    }

    fn start(&mut self) {
        if self.stage == Stage::Before {
            self.stage = Stage::Started;
            let (message_id, message_metadata) = (self.message_id.take(), self.metadata.take());
            self.chunks.push_back(UiChunk::Start { message_id, message_metadata });
        }
    }

    fn open_step(&mut self) {
        if !self.step_is_open && self.stage != Stage::Finished {
            self.step_is_open = true;
            self.calls.start_step();
            self.send(UiChunk::StartStep);
        }
    }

    fn end_step(&mut self) {
        if self.step_is_open {
            self.end_response();
            self.step_is_open = false;
            self.send(UiChunk::FinishStep);
        }
    }

    fn set_failure(&mut self, error: &(dyn Error + 'static)) {
        if self.failure.is_none() {
            let text = self.error_text.as_ref().map_or_else(|| MASKED_ERROR.to_owned(), |text| text(error));
            self.failure = Some(text);
        }
    }
}

// Parts of text.
impl ChunkWriter {
    fn text(&mut self, kind: Kind, text: &str) {
        self.open_step();
        if self.open.as_ref().is_none_or(|open| open.kind != kind) {
            self.close_part();
        }
        let open = self.open.get_or_insert_with(|| OpenPart { kind, id: None, space: String::new() });
        let is_reasoning = kind == Kind::Reasoning;
        let (id, delta) = match &open.id {
            Some(id) => (id.clone(), text.to_owned()),
            None => {
                open.space.push_str(text);
                if text.trim().is_empty() && open.space.len() < MAX_SPACE {
                    return;
                }
                self.parts += 1;
                let id = format!("{}-{}", if is_reasoning { "reasoning" } else { "text" }, self.parts);
                open.id = Some(id.clone());
                let text = std::mem::take(&mut open.space);
                let start = id.clone();
                self.send(if is_reasoning {
                    UiChunk::ReasoningStart { id: start }
                } else {
                    UiChunk::TextStart { id: start }
                });
                (id, text)
            }
        };
        self.send(if is_reasoning {
            UiChunk::ReasoningDelta { id, delta }
        } else {
            UiChunk::TextDelta { id, delta }
        });
    }

    fn close_part(&mut self) {
        if let Some(OpenPart { kind, id: Some(id), .. }) = self.open.take() {
            self.send(match kind {
                Kind::Reasoning => UiChunk::ReasoningEnd { id },
                Kind::Text { .. } | Kind::Refusal => UiChunk::TextEnd { id },
            });
        }
    }
}

// Tool calls.
impl ChunkWriter {
    fn begin_call(&mut self, number: u64, call_id: Option<&str>, name: &str) {
        self.open_step();
        self.close_part();
        let tool_call_id = self.calls.begin(number, call_id, name);
        self.send(UiChunk::ToolInputStart { tool_call_id, tool_name: name.to_owned(), dynamic: false });
    }

    fn arguments(&mut self, number: u64, text: &str) {
        if let Some(tool_call_id) = self.calls.open_id(number) {
            self.send(UiChunk::ToolInputDelta { tool_call_id, input_text_delta: text.to_owned() });
        }
    }

    /// Writes a complete call. Returns the id to know it by.
    pub(super) fn end_call(&mut self, call: &ToolCall, is_in_text: bool) -> String {
        self.open_step();
        self.close_part();
        let tool_call_id = self.calls.end(call.call_id.as_deref(), is_in_text);
        let (tool_name, input) = (call.name.clone(), call.parameters.clone());
        let id = tool_call_id.clone();
        self.send(UiChunk::ToolInputAvailable { tool_call_id, tool_name, input, dynamic: false });
        id
    }

    /// Writes a rejected call. Returns what the model must be told.
    pub(super) fn reject_call(&mut self, call: &RejectedCall) -> Option<Message> {
        self.open_step();
        let is_in_text = call.diagnostic.origin != Origin::Arguments;
        let tool_name = call.name.clone()?;
        self.close_part();
        let tool_call_id = self.calls.end(call.call_id.as_deref(), is_in_text);
        let error_text = format!("not run: {}", call.diagnostic.message);
        let input = Raw::new(&call.received).unwrap_or_else(|_| Raw::from(serde_json::json!(call.received)));
        let told = if is_in_text {
            Some(text_call_result(&tool_name, &error_text))
        } else {
            Message::rejected(call).map(|(_, message)| message)
        };
        self.send(UiChunk::ToolInputError { tool_call_id, tool_name, input, dynamic: false, error_text });
        told
    }

    /// The result of a call as a message for the model.
    pub(super) fn result(&self, call: &ToolCall, content: String, is_error: bool) -> Message {
        if self.calls.is_in_text(call) {
            text_call_result(&call.name, &content)
        } else if is_error {
            Message::tool_error(call, content)
        } else {
            Message::tool_result(call, content)
        }
    }
}

/// The result of a call that the model wrote in its text. The provider knows nothing of the call, so the user reports
/// the result.
pub(super) fn text_call_result(tool: &str, content: &str) -> Message {
    Message::user(format!("Result of the tool {tool}:\n{content}"))
}

/// The diagnostic of an event after which the message cannot be complete: the provider failed, the response ended too
/// early, or a part of it could not be read.
pub(super) fn failure<T>(event: &ResponseEvent<T>) -> Option<&Diagnostic> {
    match event {
        ResponseEvent::Rejected { choice: None | Some(0), diagnostic, .. } => {
            Some(diagnostic).filter(|its| DataLoss::is_failure(its))
        }
        _ => None,
    }
}

/// A value as JSON: raw JSON as it is.
fn to_raw<T: Serialize + 'static>(value: &T) -> Result<Raw, serde_json::Error> {
    if let Some(raw) = (value as &dyn Any).downcast_ref::<Raw>() {
        return Ok(raw.clone());
    }
    let json = serde_json::to_string(value)?;
    Raw::new(&json).map_err(serde::ser::Error::custom)
}

impl fmt::Debug for ChunkWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChunkWriter")
            .field("stage", &self.stage)
            .field("chunks", &self.chunks.len())
            .finish_non_exhaustive()
    }
}
