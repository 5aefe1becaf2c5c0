//! What becomes of a lent record: held against the rules, and read into what is yielded.

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
}

/// What records are read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reads {
    Records,
    ToolCalls,
}

type ReadRecord<T> = fn(&Reader<T>, &Record<Value<'_>>, End) -> Result<Record<T>, Box<Diagnostic>>;

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
            read: |_, record, _| record.deserialize(),
            reads: Reads::Records,
        }
    }
}

impl Reader<ToolCall> {
    /// Reads tool calls, under the rules of another reader.
    pub(crate) fn tool_calls<T>(of: Reader<T>) -> Self {
        Self { validator: of.validator, tools: of.tools, read: Self::read_call, reads: Reads::ToolCalls }
    }

    fn read_call(&self, record: &Record<Value<'_>>, end: End) -> Result<Record<ToolCall>, Box<Diagnostic>> {
        let tools = self.tools.as_deref().map(|tools| tools as &dyn ValidateCall);
        let call = ToolCall::from_record(record, tools).map_err(|call| Box::new(call.diagnostic))?;
        if end == End::Failed && record.completion == Completion::EndOfInput {
            let message = "the tool call is balanced, but the source failed before it was known to be whole";
            return Err(Box::new(Diagnostic::new(
                Code::Unsealed,
                record.line,
                record.span,
                record.column,
                message,
            )));
        }
        Ok(record.map(|_| call))
    }
}

impl<T> Reader<T> {
    pub(crate) fn set_tools(&mut self, tools: impl ValidateCall + Send + Sync + 'static) {
        self.tools = Some(Arc::new(tools));
    }

    pub(crate) fn set_validator(&mut self, validator: impl Validate + Send + Sync + 'static) {
        self.validator = Some(Arc::new(validator));
    }

    /// The event as it is yielded.
    pub(crate) fn read(&self, event: LentEvent<'_>, end: End) -> Event<T> {
        match event {
            Event::Record(record) => match self.read_record(&record, end) {
                Ok(record) => Event::Record(record),
                Err(diagnostic) => Event::from_diagnostic(*diagnostic),
            },
            Event::Rejected(diagnostic) | Event::Note(diagnostic) => Event::from_diagnostic(diagnostic),
            other => unreachable!("an event that this crate does not know: {other:?}"),
        }
    }

    /// The record as it is yielded, or why it is rejected.
    pub(crate) fn read_record(
        &self,
        record: &Record<Value<'_>>,
        end: End,
    ) -> Result<Record<T>, Box<Diagnostic>> {
        if let Some(validator) = &self.validator {
            record.validate(validator)?;
        }
        (self.read)(self, record, end)
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
