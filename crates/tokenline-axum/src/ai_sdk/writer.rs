//! The chunks of a message, written from the events of its responses. No I/O.

mod chunks;
mod tools;

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use tokenline::json::Raw;
use tokenline::llm::writer::{CallIds, StepRules, Steps};
use tokenline::{Diagnostic, ResponseEvent};

use super::{UiChunk, UiFinishReason};
use crate::DataLoss;
use chunks::Chunks;
pub(crate) use tools::error_text;
pub(super) use tools::{KEPT_MESSAGE, call_result, rejected_message, text_call_result};

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
pub struct ChunkWriter {
    steps: Steps,
    chunks: Chunks,
    error_texts: ErrorTexts,
    reason: Option<UiFinishReason>,
    /// The text of the error that ends the message.
    failure: Option<String>,
}

impl Default for ChunkWriter {
    fn default() -> Self {
        Self {
            steps: Steps::new(rules(), CallIds::with_synthetic()),
            chunks: Chunks::default(),
            error_texts: ErrorTexts::default(),
            reason: None,
            failure: None,
        }
    }
}

/// The rules of the protocol.
fn rules() -> StepRules {
    let mut rules = StepRules::default();
    rules.is_interleaved = true;
    rules.has_whole_calls = true;
    rules.shows_rejects = true;
    rules
}

/// Makes the texts of `error` chunks.
#[derive(Clone, Default)]
pub(super) struct ErrorTexts(Option<Arc<ErrorText>>);

type ErrorText = dyn Fn(&(dyn Error + 'static)) -> String + Send + Sync;

/// The text of an `error` chunk by default, as in the AI SDK: the error may contain what is not for the page.
const MASKED_ERROR: &str = "An error occurred.";

impl ChunkWriter {
    /// A writer at the start of a message.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the id of the message. Without it, the page makes one up. To continue the last message of the page, do not
    /// set it, or set its id.
    #[must_use]
    pub fn with_message_id(mut self, id: impl Into<String>) -> Self {
        self.chunks.message_id = Some(id.into());
        self
    }

    /// Sets the metadata of the message.
    #[must_use]
    pub fn with_metadata(mut self, metadata: Raw) -> Self {
        self.chunks.metadata = Some(metadata);
        self
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
        self.chunks.next()
    }

    pub(super) fn has_chunks(&self) -> bool {
        self.chunks.has_any()
    }

    /// Drops what is written, and ignores what follows: nobody reads it.
    pub(super) fn discard(&mut self) {
        self.chunks.discard();
    }
}

// What is written.
impl ChunkWriter {
    /// Writes an event of the current response. Opens a step if none is open.
    pub fn push<T: Serialize + 'static>(&mut self, event: &ResponseEvent<T>) {
        match event {
            ResponseEvent::Finish { choice: 0, reason } => {
                self.chunks.open_step();
                self.reason = Some(reason.into());
            }
            event => match failure(event) {
                Some(diagnostic) => {
                    self.chunks.open_step();
                    self.fail(diagnostic);
                }
                None => {
                    self.steps.push(event, &mut self.chunks);
                    // A record that cannot be serialized.
                    if let Some(failure) = self.steps.failure().cloned() {
                        self.fail(&failure);
                    }
                }
            },
        }
    }

    /// Writes any other chunk as it is, such as a [`DataPart`](super::DataPart) or a source.
    pub fn send(&mut self, chunk: UiChunk) {
        self.chunks.send(chunk);
    }
}

// Where it begins and ends.
impl ChunkWriter {
    /// Begins the next step, and ends the one before. A step is a response of the model, with the outputs of its tools.
    pub fn start_step(&mut self) {
        self.end_step();
        self.steps.next_response();
        self.chunks.open_step();
    }

    /// Ends the response of the current step: closes its parts and calls. The outputs of its tools may follow.
    pub fn end_response(&mut self) {
        self.steps.close(&mut self.chunks);
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
        if self.chunks.is_finished() {
            return;
        }
        self.end_response();
        if let Some(error_text) = self.failure.take() {
            self.reason = Some(UiFinishReason::Error);
            self.send(UiChunk::Error { error_text });
        }
        self.end_step();
        self.chunks.finish(self.reason);
    }

    fn end_step(&mut self) {
        if self.chunks.has_step() {
            self.end_response();
            self.chunks.end_step();
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

impl ErrorTexts {
    pub(super) fn text(&self, error: &(dyn Error + 'static)) -> String {
        self.0.as_ref().map_or_else(|| MASKED_ERROR.to_owned(), |text| text(error))
    }
}

impl fmt::Debug for ChunkWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChunkWriter").field("chunks", &self.chunks).finish_non_exhaustive()
    }
}
