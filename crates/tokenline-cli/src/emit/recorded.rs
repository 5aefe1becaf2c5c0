//! Output of other threads, to be written and counted in order.

use std::io::{self, Write};
use std::mem;

use tokenline::adapter::CountAs;
use tokenline::{Diagnostic, Recovered};

use super::Emitter;
use super::sink::Sink;
use crate::failure::Failure;

/// Keeps output and counts for [`Emitter::replay`](super::Emitter::replay).
#[derive(Clone)]
pub(crate) struct Recorded {
    out: Vec<u8>,
    /// The length of `out` before the output of these events.
    start: usize,
    events: RecordedEvents,
    has_reject_file: bool,
}

/// Events, each with the position at which its output begins.
pub(crate) type RecordedEvents = Vec<(usize, RecordedEvent)>;

#[derive(Clone)]
pub(crate) enum RecordedEvent {
    Record(Recovered),
    ToolCall(Recovered),
    Diagnostic(Box<RecordedDiagnostic>),
    Refusal(String),
    Other,
}

/// What [`Sink::diagnostic`] takes.
#[derive(Clone)]
pub(crate) struct RecordedDiagnostic {
    pub(super) diagnostic: Diagnostic,
    pub(super) part: String,
    pub(super) reject: Option<String>,
}

impl Recorded {
    pub(crate) fn new(has_reject_file: bool) -> Self {
        Self { out: Vec::new(), start: 0, events: Vec::new(), has_reject_file }
    }

    fn push(&mut self, event: RecordedEvent) {
        self.events.push((self.out.len() - self.start, event));
    }
}

impl Emitter<Recorded> {
    /// Begins to append output to `out`.
    pub(crate) fn begin(&mut self, out: &mut Vec<u8>) {
        mem::swap(&mut self.sink.out, out);
        self.sink.start = self.sink.out.len();
    }

    /// Returns the output and the events.
    pub(crate) fn end(&mut self, out: &mut Vec<u8>) -> RecordedEvents {
        mem::swap(&mut self.sink.out, out);
        mem::take(&mut self.sink.events)
    }
}

impl Sink for Recorded {
    fn out(&mut self) -> &mut impl Write {
        &mut self.out
    }

    fn count(&mut self, event: CountAs<'_>) {
        self.push(match event {
            CountAs::Record(recovered) => RecordedEvent::Record(recovered),
            CountAs::ToolCall(recovered) => RecordedEvent::ToolCall(recovered),
            _ => RecordedEvent::Other,
        });
    }

    fn diagnostic(
        &mut self,
        diagnostic: &Diagnostic,
        part: &str,
        reject: Option<String>,
    ) -> Result<(), Failure> {
        let (diagnostic, part) = (diagnostic.clone(), part.to_owned());
        self.push(RecordedEvent::Diagnostic(Box::new(RecordedDiagnostic { diagnostic, part, reject })));
        Ok(())
    }

    fn refusal(&mut self, text: &str) {
        self.push(RecordedEvent::Refusal(text.to_owned()));
    }

    /// Quotas apply when the events are replayed.
    fn is_done(&self) -> bool {
        false
    }

    fn has_reject_file(&self) -> bool {
        self.has_reject_file
    }

    fn failed(&self, error: io::Error) -> Failure {
        Failure::output(error)
    }
}
