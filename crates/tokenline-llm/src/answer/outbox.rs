//! Where the events of an answer wait, and where its records become what the caller asked for.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use tokenline_core::json::Value;
use tokenline_core::{Code, Completion, Diagnostic, Event, Record, ToolCall, Validate, ValidateCall};

use super::{AnswerEvent, TextAs};

pub(super) struct Outbox<T> {
    pub(super) text_as: TextAs,
    pub(super) tools: Option<Arc<dyn ValidateCall + Send + Sync>>,
    pub(super) validator: Option<Box<dyn Validate + Send + Sync>>,
    pub(super) events: VecDeque<AnswerEvent<T>>,
}

/// Events for which room is kept once they are taken.
const KEEP: usize = 64;

impl<T> Outbox<T> {
    pub(super) fn finding(&mut self, choice: Option<u64>, diagnostic: Diagnostic) {
        self.events.push_back(AnswerEvent::from_diagnostic(choice, diagnostic));
    }

    pub(super) fn native_call(&mut self, choice: u64, outcome: Result<ToolCall, Box<Diagnostic>>) {
        match outcome {
            Ok(call) => self.events.push_back(AnswerEvent::ToolCall { choice, call, record: None }),
            Err(diagnostic) => self.finding(Some(choice), *diagnostic),
        }
    }

    pub(super) fn take(&mut self) -> Option<AnswerEvent<T>> {
        let event = self.events.pop_front();
        if self.events.is_empty() {
            // One large chunk must not pin memory.
            self.events.shrink_to(KEEP);
        }
        event
    }
}

impl<T: DeserializeOwned> Outbox<T> {
    /// What a choice's text yields.
    pub(super) fn text_event(&mut self, choice: u64, event: Event<Value<'_>>) {
        let read = match event {
            Event::Record(record) => self.read(choice, &record),
            Event::Rejected(diagnostic) | Event::Note(diagnostic) => {
                Ok(AnswerEvent::from_diagnostic(Some(choice), diagnostic))
            }
            other => unreachable!("a record decoder does not yield it unasked: {other:?}"),
        };
        let event = read.unwrap_or_else(|diagnostic| AnswerEvent::from_diagnostic(Some(choice), *diagnostic));
        self.events.push_back(event);
    }

    fn read(&self, choice: u64, record: &Record<Value<'_>>) -> Result<AnswerEvent<T>, Box<Diagnostic>> {
        if let Some(validator) = &self.validator {
            record.validate(&**validator)?;
        }
        if self.text_as != TextAs::ToolCalls {
            return Ok(AnswerEvent::Record { choice, record: record.deserialize()? });
        }
        let tools = self.tools.as_deref().map(|tools| tools as &dyn ValidateCall);
        let call = ToolCall::from_record(record, tools)?;
        // A clean end seals with the evidence it is; this is any other.
        if record.completion == Completion::EndOfInput {
            let message = "the tool call is balanced, but the answer ended without proof that it is whole";
            let (line, span, column) = (record.line, record.span, record.column);
            return Err(Box::new(Diagnostic::new(Code::Unsealed, line, span, column, message)));
        }
        Ok(AnswerEvent::ToolCall { choice, call, record: Some(record.map(|_| ())) })
    }
}
