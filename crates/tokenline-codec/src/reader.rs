//! What becomes of a lent record: held against the rules, and read into what is yielded.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use tokenline_core::json::Value;
use tokenline_core::{
    Code, Completion, Diagnostic, Event, LentEvent, Record, Report, ToolCall, Validate, ValidateCall,
};

use crate::observe::Metered;

/// Turns lent records into owned ones of `T`.
pub(crate) struct Reader<T> {
    validator: Option<Arc<dyn Validate + Send + Sync>>,
    tools: Option<Arc<dyn ValidateCall + Send + Sync>>,
    read: ReadRecord<T>,
    reads: Reads,
    /// What else came of the last record: one may hold several calls.
    more: VecDeque<Event<T>>,
}

/// What records are read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reads {
    Records,
    ToolCalls,
}

/// What a record is read as, or why it is rejected. Of several, the first.
type Read<T> = Option<Result<Record<T>, Box<Diagnostic>>>;
type ReadRecord<T> = fn(&mut Reader<T>, &Record<Value<'_>>, End) -> Read<T>;

/// How the input ended, if it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It goes on, or it ended by itself.
    Clean,
    /// The source failed: what came last may be cut.
    Failed,
}

impl<T: DeserializeOwned> Reader<T> {
    /// Deserializes.
    pub(crate) fn typed() -> Self {
        Self {
            validator: None,
            tools: None,
            read: |_, record, _| Some(record.deserialize()),
            reads: Reads::Records,
            more: VecDeque::new(),
        }
    }
}

impl Reader<ToolCall> {
    /// Reads tool calls, under the rules of another reader.
    pub(crate) fn tool_calls<T>(of: Reader<T>) -> Self {
        let (read, reads, more) =
            (Self::read_calls as ReadRecord<ToolCall>, Reads::ToolCalls, VecDeque::new());
        Self { validator: of.validator, tools: of.tools, read, reads, more }
    }

    fn read_calls(&mut self, record: &Record<Value<'_>>, end: End) -> Read<ToolCall> {
        let tools = self.tools.as_deref().map(|tools| tools as &dyn ValidateCall);
        let mut calls = ToolCall::all_from_record(record, tools).map(|call| {
            let call = call.map_err(|call| Box::new(call.diagnostic))?;
            if end == End::Failed && record.completion == Completion::EndOfInput {
                let message =
                    "the tool call is balanced, but the source failed before it was known to be whole";
                return Err(Box::new(Diagnostic::new(
                    Code::Unsealed,
                    record.line,
                    record.span,
                    record.column,
                    message,
                )));
            }
            Ok(record.map(|_| call))
        });
        let first = calls.next();
        self.more.extend(calls.map(event));
        first
    }
}

fn event<T>(read: Result<Record<T>, Box<Diagnostic>>) -> Event<T> {
    match read {
        Ok(record) => Event::Record(record),
        Err(diagnostic) => Event::from_diagnostic(*diagnostic),
    }
}

impl<T> Reader<T> {
    pub(crate) fn set_tools(&mut self, tools: impl ValidateCall + Send + Sync + 'static) {
        self.tools = Some(Arc::new(tools));
    }

    pub(crate) fn tools(&self) -> Option<Arc<dyn ValidateCall + Send + Sync>> {
        self.tools.clone()
    }

    pub(crate) fn set_validator(&mut self, validator: impl Validate + Send + Sync + 'static) {
        self.validator = Some(Arc::new(validator));
    }

    /// The event as it is yielded; none of a record that is a list of no calls. There may be
    /// [more](Self::more).
    pub(crate) fn read(&mut self, lent: LentEvent<'_>, end: End) -> Option<Event<T>> {
        match lent {
            Event::Record(record) => self.read_record(&record, end).map(event),
            Event::Rejected(diagnostic) | Event::Note(diagnostic) => Some(Event::from_diagnostic(diagnostic)),
            other => unreachable!("an event that this crate does not know: {other:?}"),
        }
    }

    /// As [`read`](Self::read), of a record.
    pub(crate) fn read_record(&mut self, record: &Record<Value<'_>>, end: End) -> Read<T> {
        if let Some(validator) = &self.validator
            && let Err(diagnostic) = record.validate(validator)
        {
            return Some(Err(diagnostic));
        }
        (self.read)(self, record, end)
    }

    /// What else came of the event that was read last.
    #[inline]
    pub(crate) fn more(&mut self) -> Option<Event<T>> {
        self.more.pop_front()
    }

    /// Whether the event that was read last came to one thing.
    pub(crate) fn is_single(&self) -> bool {
        self.more.is_empty()
    }

    /// Counts a delivered item.
    pub(crate) fn count(&self, report: &mut Report, meter: &mut Metered<'_>) {
        match self.reads {
            Reads::Records => {
                report.count_record();
                meter.record();
            }
            Reads::ToolCalls => {
                report.count_tool_call();
                meter.tool_call();
            }
        }
    }
}
