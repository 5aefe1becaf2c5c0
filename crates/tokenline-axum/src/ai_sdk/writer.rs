//! The chunks of a message, written from the events of its responses. No I/O.

mod parts;
mod tools;

use std::any::Any;
use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use tokenline::json::Raw;
use tokenline::{Diagnostic, ResponseEvent};

use super::calls::{CallIds, CallPlace};
use super::{DataPart, UiChunk, UiFinishReason};
use crate::data_loss::DataLoss;
use parts::{Kind, OpenPart};
pub(super) use tools::{KEPT_MESSAGE, call_result, text_call_result};

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
/// Only the first choice is written. Its parser needs the settings of [`chat_options`](super::chat_options).
///
/// ```
/// use tokenline::json::Raw;
/// use tokenline::{Options, Provider, ResponseParser};
/// use tokenline_axum::ai_sdk::{ChunkWriter, chat_options};
///
/// let mut parser = ResponseParser::<Raw>::new(Provider::OpenAiChat, chat_options(Options::lenient().into()));
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
    error_texts: ErrorTexts,
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

/// Makes the texts of `error` chunks.
#[derive(Clone, Default)]
pub(super) struct ErrorTexts(Option<Arc<ErrorText>>);

type ErrorText = dyn Fn(&(dyn Error + 'static)) -> String + Send + Sync;

/// The text of an `error` chunk by default, as in the AI SDK: the error may contain what is not for the page.
const MASKED_ERROR: &str = "An error occurred.";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Before,
    Started,
    Finished,
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

    /// Sets the text of the `error` chunk. By default it is the same for all errors. The closure can also log the error.
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
        Self { error_texts: ErrorTexts(Some(Arc::new(text))), ..self }
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
            ResponseEvent::ToolCallDiscarded { choice: 0, number } => self.discard_call(*number),
            ResponseEvent::ToolCall { choice: 0, number, call, record, .. } => {
                let place = CallPlace { number: *number, is_in_text: record.is_some() };
                self.end_call(place, call);
            }
            ResponseEvent::RejectedCall { choice: 0, number, call, .. } => {
                self.reject_call(*number, call);
            }
            ResponseEvent::Record { choice: 0, record, .. } => match to_raw(&record.value) {
                Ok(data) => self.record(data),
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
                    self.fail(diagnostic);
                }
            }
        }
    }

    /// Writes a record.
    pub(super) fn record(&mut self, data: Raw) {
        self.open_step();
        self.close_part();
        self.send(UiChunk::Data(DataPart::new("record", data)));
    }

    /// Writes any other chunk as it is, such as a [`DataPart`] or a source.
    pub fn send(&mut self, chunk: UiChunk) {
        if self.stage == Stage::Finished {
            return;
        }
        self.start();
        self.chunks.push_back(chunk);
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
        self.close_calls();
    }

    /// Notes that the message ends with an error. [`finish`](Self::finish) writes it. The first error counts.
    pub fn fail(&mut self, error: &(dyn Error + 'static)) {
        if self.failure.is_none() {
            self.failure = Some(self.error_texts.text(error));
        }
    }

    /// Like [`fail`](Self::fail), with the text of the error.
    pub(super) fn fail_with(&mut self, text: String) {
        self.failure.get_or_insert(text);
    }

    /// The function that makes the text of an error, if there is no error yet. It may be called elsewhere.
    pub(super) fn error_texts(&self) -> Option<ErrorTexts> {
        self.failure.is_none().then(|| self.error_texts.clone())
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
}

/// The diagnostic of an event after which the message cannot be complete: the provider failed, the response ended too
/// early, or a part of it could not be read.
pub(super) fn failure<T>(event: &ResponseEvent<T>) -> Option<&Diagnostic> {
    match event {
        ResponseEvent::Rejected { choice: None | Some(0), diagnostic, .. } => {
            Some(diagnostic).filter(|diagnostic| DataLoss::is_failure(diagnostic))
        }
        _ => None,
    }
}

/// A value as JSON: raw JSON as it is.
pub(super) fn to_raw<T: Serialize + 'static>(value: &T) -> Result<Raw, serde_json::Error> {
    if let Some(raw) = (value as &dyn Any).downcast_ref::<Raw>() {
        return Ok(raw.clone());
    }
    let json = serde_json::to_string(value)?;
    Raw::new(&json).map_err(serde::ser::Error::custom)
}

impl ErrorTexts {
    pub(super) fn text(&self, error: &(dyn Error + 'static)) -> String {
        self.0.as_ref().map_or_else(|| MASKED_ERROR.to_owned(), |text| text(error))
    }
}

impl fmt::Debug for ChunkWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChunkWriter")
            .field("stage", &self.stage)
            .field("chunks", &self.chunks.len())
            .finish_non_exhaustive()
    }
}
