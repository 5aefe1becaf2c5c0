//! The chunks of a message, and the steps that they are written from.

use std::collections::VecDeque;
use std::fmt;

use tokenline::json::Raw;
use tokenline::llm::writer::{PartKind, Step, StepWriter};

use super::tools::error_text;
use crate::ai_sdk::{DataPart, UiChunk, UiFinishReason};

/// The chunks that are not taken yet.
#[derive(Default)]
pub(super) struct Chunks {
    queue: VecDeque<UiChunk>,
    pub(super) message_id: Option<String>,
    pub(super) metadata: Option<Raw>,
    stage: Stage,
    has_step: bool,
    /// The number of parts so far.
    parts: u64,
    /// The ids of the calls of the response that have started, by their index.
    calls: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Before,
    Started,
    Finished,
}

impl Chunks {
    pub(super) fn next(&mut self) -> Option<UiChunk> {
        self.queue.pop_front()
    }

    pub(super) fn has_any(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Drops what is written, and ignores what follows.
    pub(super) fn discard(&mut self) {
        self.stage = Stage::Finished;
        self.queue.clear();
    }

    pub(super) fn is_finished(&self) -> bool {
        self.stage == Stage::Finished
    }

    pub(super) fn has_step(&self) -> bool {
        self.has_step
    }

    pub(super) fn send(&mut self, chunk: UiChunk) {
        if !self.is_finished() {
            self.start();
            self.queue.push_back(chunk);
        }
    }

    pub(super) fn open_step(&mut self) {
        if !self.has_step && !self.is_finished() {
            self.has_step = true;
            self.calls.clear();
            self.send(UiChunk::StartStep);
        }
    }

    pub(super) fn end_step(&mut self) {
        self.has_step = false;
        self.send(UiChunk::FinishStep);
    }

    /// Ends the message.
    pub(super) fn finish(&mut self, finish_reason: Option<UiFinishReason>) {
        self.send(UiChunk::Finish { finish_reason, message_metadata: None });
        self.stage = Stage::Finished;
    }

    fn start(&mut self) {
        if self.stage == Stage::Before {
            self.stage = Stage::Started;
            let (message_id, message_metadata) = (self.message_id.take(), self.metadata.take());
            self.queue.push_back(UiChunk::Start { message_id, message_metadata });
        }
    }

    /// The id of the latest part.
    fn part(&self, kind: PartKind) -> String {
        let kind = if kind == PartKind::Reasoning { "reasoning" } else { "text" };
        format!("{kind}-{}", self.parts)
    }
}

impl StepWriter for Chunks {
    fn write(&mut self, _: u64, step: Step<'_>) {
        let is_reasoning = |kind| kind == PartKind::Reasoning;
        match step {
            Step::Start => self.open_step(),
            Step::PartStart(kind) => {
                self.parts += 1;
                let id = self.part(kind);
                self.send(match is_reasoning(kind) {
                    true => UiChunk::ReasoningStart { id },
                    false => UiChunk::TextStart { id },
                });
            }
            Step::PartDelta(kind, delta) => {
                let (id, delta) = (self.part(kind), delta.to_owned());
                self.send(match is_reasoning(kind) {
                    true => UiChunk::ReasoningDelta { id, delta },
                    false => UiChunk::TextDelta { id, delta },
                });
            }
            Step::PartEnd(kind) => {
                let id = self.part(kind);
                self.send(match is_reasoning(kind) {
                    true => UiChunk::ReasoningEnd { id },
                    false => UiChunk::TextEnd { id },
                });
            }
            Step::Record(record) => self.send(UiChunk::Data(DataPart::new("record", record.clone()))),
            Step::CallStart { index, id, name } => {
                self.calls.resize(index as usize + 1, String::new());
                id.clone_into(&mut self.calls[index as usize]);
                let (tool_call_id, tool_name) = (id.to_owned(), name.to_owned());
                self.send(UiChunk::ToolInputStart { tool_call_id, tool_name, dynamic: false });
            }
            Step::CallArguments { index, text } => {
                if let Some(tool_call_id) = self.calls.get(index as usize).cloned() {
                    self.send(UiChunk::ToolInputDelta { tool_call_id, input_text_delta: text.to_owned() });
                }
            }
            Step::CallEnd { id, name, arguments, .. } => {
                let (tool_call_id, tool_name, input) = (id.to_owned(), name.to_owned(), arguments.clone());
                self.send(UiChunk::ToolInputAvailable { tool_call_id, tool_name, input, dynamic: false });
            }
            Step::CallRejected { id, name, call } => {
                let input =
                    Raw::new(&call.received).unwrap_or_else(|_| Raw::from(serde_json::json!(call.received)));
                self.reject(id, name, input, error_text(call));
            }
            Step::CallDiscarded { id, name, reason } => {
                self.reject(id, name, Raw::from(serde_json::Value::Null), reason.to_owned());
            }
            // What only providers read is in the kept message; the ends are those of the message.
            _ => {}
        }
    }
}

impl Chunks {
    fn reject(&mut self, id: &str, name: &str, input: Raw, error_text: String) {
        let (tool_call_id, tool_name) = (id.to_owned(), name.to_owned());
        self.send(UiChunk::ToolInputError { tool_call_id, tool_name, input, dynamic: false, error_text });
    }
}

impl fmt::Debug for Chunks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chunks").field("stage", &self.stage).field("len", &self.queue.len()).finish()
    }
}
