//! Rules that decoded records must pass, and the types they are read into.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::adapter::{CountAs, RejectBuffer, SourceEnd};
use crate::json::Value;
use crate::{
    Code, CompletedBy, Diagnostic, Event, LentEvent, OpenValidation, Record, RecordDecoder, Rejected,
    ToolCall, ValidateCall,
};

/// Turns borrowed records into owned ones of `T`.
pub(super) struct Rules<T> {
    /// Boxed: most drivers have none.
    pub(super) validation: Option<Box<OpenValidation>>,
    pub(super) tools: Option<Arc<dyn ValidateCall + Send + Sync>>,
    target: Target<T>,
    queue: Option<Box<Queue<T>>>,
}

/// Events not yielded yet: a record may hold several calls. Boxed: most drivers have none.
struct Queue<T> {
    events: VecDeque<Event<T>>,
}

type Read<T> = Result<Record<T>, Box<Diagnostic>>;

/// Reads the first call, and queues the others.
type ReadCalls<T> = fn(&mut Rules<T>, &Record<Value<'_>>, SourceEnd) -> Option<Read<T>>;

/// The type that records are read into. Function pointers, so that a driver of calls need not name the type
/// of its records.
enum Target<T> {
    Records(fn(&Record<Value<'_>>) -> Read<T>),
    ToolCalls(ReadCalls<T>),
}

/// What to do with an event of the decoder.
pub(super) enum HookOutcome<T> {
    /// Yield it.
    Event(Event<T>),
    /// Yield the reject; its text was not kept.
    Rejected(Diagnostic),
    /// Ask a hook for a replacement at this place.
    Ask(Box<(Rejected, Record<()>)>),
    /// Yield nothing: a list without calls.
    Nothing,
}

impl<T: DeserializeOwned> Rules<T> {
    /// No rules but those of the type.
    pub(super) fn records() -> Self {
        let target = Target::Records(|record| record.deserialize());
        Self { validation: None, tools: None, target, queue: None }
    }
}

impl Rules<ToolCall> {
    /// Reads the calls of a record: returns the first, and queues the others.
    fn read_calls(&mut self, record: &Record<Value<'_>>, end: SourceEnd) -> Option<Read<ToolCall>> {
        let tools = self.tools.as_deref().map(|tools| tools as &dyn ValidateCall);
        let mut calls = ToolCall::all_from_record(record, tools).map(|call| {
            let call = call.map_err(|call| Box::new(call.diagnostic))?;
            if end == SourceEnd::Failed && record.completion == CompletedBy::EndOfInput {
                return Err(unconfirmed(record));
            }
            Ok(record.map(|_| call))
        });
        let first = calls.next();
        for call in calls {
            push(&mut self.queue, event(call));
        }
        first
    }
}

#[cold]
fn unconfirmed(record: &Record<Value<'_>>) -> Box<Diagnostic> {
    let message =
        "the tool call is balanced, but the source failed before there was evidence that it is complete";
    Box::new(Diagnostic::new(Code::Unsealed, record.line, record.span, record.column, message))
}

fn push<T>(queue: &mut Option<Box<Queue<T>>>, event: Event<T>) {
    let queue = queue.get_or_insert_with(|| Box::new(Queue { events: VecDeque::new() }));
    queue.events.push_back(event);
}

#[inline]
fn event<T>(read: Read<T>) -> Event<T> {
    match read {
        Ok(record) => Event::Record(record),
        Err(diagnostic) => Event::from_diagnostic(*diagnostic),
    }
}

impl<T> Rules<T> {
    /// The same rules for tool calls.
    pub(super) fn tool_calls(self) -> Rules<ToolCall> {
        let Self { validation, tools, .. } = self;
        let target = Target::ToolCalls(Rules::<ToolCall>::read_calls);
        Rules { validation, tools, target, queue: None }
    }

    pub(super) fn yields_calls(&self) -> bool {
        matches!(self.target, Target::ToolCalls(_))
    }

    /// Queues an event, to be yielded before anything else is read.
    pub(super) fn push_queued(&mut self, event: Event<T>) {
        push(&mut self.queue, event);
    }

    /// The next event that is not yielded yet.
    #[inline]
    pub(super) fn pop_queued(&mut self) -> Option<Event<T>> {
        self.queue.as_mut()?.events.pop_front()
    }

    fn has_queued(&self) -> bool {
        self.queue.as_ref().is_some_and(|queue| !queue.events.is_empty())
    }

    fn clear_queued(&mut self) {
        if let Some(queue) = &mut self.queue {
            queue.events.clear();
        }
    }

    /// Forgets the open record and what is queued.
    pub(super) fn reset(&mut self) {
        self.clear_queued();
        if let Some(validation) = &mut self.validation {
            validation.reset();
        }
    }

    /// Validates what is new in the open record.
    #[inline]
    pub(super) fn read_on(&mut self, decoder: &mut RecordDecoder) {
        if let Some(validation) = &mut self.validation {
            validation.read_on(decoder);
        }
    }

    /// Applies the rules to an event, and makes it owned. With a buffer, rejects become questions to a hook.
    #[inline]
    pub(super) fn read(
        &mut self,
        lent: LentEvent<'_>,
        end: SourceEnd,
        buffer: Option<&mut RejectBuffer>,
    ) -> HookOutcome<T> {
        let record = match lent {
            Event::Record(record) => record,
            Event::Rejected(diagnostic) => return HookOutcome::Rejected(diagnostic),
            Event::Note(diagnostic) => return HookOutcome::Event(Event::Note(diagnostic)),
            other => unreachable!("the decoder yields it only with an option that is off: {other:?}"),
        };
        let read = self.read_record(&record, end);
        if let Some(buffer) = buffer {
            buffer.release(record.span);
            // A replacement would replace all of the record's calls, so only a single call is repairable.
            if let Some(Err(diagnostic)) = &read
                && diagnostic.code.is_repairable()
                && !self.has_queued()
            {
                let rejected = Rejected::new(record.value.raw(), (**diagnostic).clone());
                return HookOutcome::Ask(Box::new((rejected, record.map(|_| ()))));
            }
        }
        read.map_or(HookOutcome::Nothing, |read| HookOutcome::Event(event(read)))
    }

    /// Reads a replacement. `None` if it breaks a rule, or is not one record.
    pub(super) fn read_one(&mut self, record: &Record<Value<'_>>) -> Option<Record<T>> {
        // A replacement is complete by itself, however the source ended.
        let read = self.read_record(record, SourceEnd::Clean);
        let is_one = !self.has_queued();
        self.clear_queued();
        read.filter(|_| is_one)?.ok()
    }

    #[inline]
    fn read_record(&mut self, record: &Record<Value<'_>>, end: SourceEnd) -> Option<Read<T>> {
        if let Some(validation) = &mut self.validation
            && let Err(diagnostic) = validation.finish(record)
        {
            return Some(Err(diagnostic));
        }
        match self.target {
            Target::Records(read) => Some(read(record)),
            Target::ToolCalls(read) => read(self, record, end),
        }
    }

    #[inline]
    pub(super) fn count_as<'a>(&self, event: &'a Event<T>) -> CountAs<'a> {
        match event.count_as() {
            CountAs::Record(recovered) if self.yields_calls() => CountAs::ToolCall(recovered),
            count_as => count_as,
        }
    }
}
