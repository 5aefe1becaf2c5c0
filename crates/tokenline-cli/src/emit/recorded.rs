//! Output of other threads, to be written and counted in order.

use std::io::{self, Write};
use std::mem;

use tokenline::adapter::CountAs;
use tokenline::{Code, Diagnostic, Limits, Origin, Recovered, Severity};

use super::sink::Sink;
use super::{Emitter, Part};
use crate::excerpt::Excerpt;
use crate::failure::Failure;

/// Keeps output and counts for [`Emitter::replay`](super::Emitter::replay).
///
/// A line may yield millions of events, so that each takes little memory beside its output.
#[derive(Clone)]
pub(crate) struct Recorded {
    out: Vec<u8>,
    /// The length of `out` before the output of these events.
    start: usize,
    events: RecordedEvents,
    /// Diagnostics of the line so far that may be shown.
    kept: u64,
    kept_errors: u64,
    has_reject_file: bool,
}

/// Events, each with the position at which its output begins.
pub(crate) type RecordedEvents = Vec<(usize, RecordedEvent)>;

#[derive(Clone)]
pub(crate) enum RecordedEvent {
    Record(Recovered),
    ToolCall(Recovered),
    Diagnostic(Box<RecordedDiagnostic>),
    /// A diagnostic after so many others that it is only counted.
    Counted(Code, Origin),
    /// The output is a line of the reject file.
    Reject,
    Refusal(Box<str>),
    Text,
    Other,
}

/// The arguments of [`Sink::diagnostic`].
#[derive(Clone)]
pub(crate) struct RecordedDiagnostic {
    pub(super) diagnostic: Diagnostic,
    pub(super) part: Option<Part>,
    pub(super) excerpt: Option<Excerpt>,
}

impl Recorded {
    pub(crate) fn new(has_reject_file: bool) -> Self {
        Self { out: Vec::new(), start: 0, events: Vec::new(), kept: 0, kept_errors: 0, has_reject_file }
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
        (self.sink.kept, self.sink.kept_errors) = (0, 0);
    }

    /// Returns the output and the events.
    pub(crate) fn end(&mut self, out: &mut Vec<u8>) -> RecordedEvents {
        mem::swap(&mut self.sink.out, out);
        // Lines of a file are alike.
        let next = Vec::with_capacity(self.sink.events.len().min(MAX_EXPECTED));
        mem::replace(&mut self.sink.events, next)
    }
}

/// Events of a line for which there is room at once, if the line before had as many.
const MAX_EXPECTED: usize = 256;

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

    fn count_text(&mut self) {
        self.push(RecordedEvent::Text);
    }

    fn shows_rejects(&self) -> bool {
        self.kept_errors < Limits::DEFAULT.diagnostics as u64
    }

    fn diagnostic(
        &mut self,
        diagnostic: &Diagnostic,
        part: Option<&Part>,
        excerpt: Option<Excerpt>,
        reject: Option<String>,
    ) -> Result<(), Failure> {
        if let Some(line) = reject {
            self.push(RecordedEvent::Reject);
            self.out.extend_from_slice(line.as_bytes());
        }
        // More are neither shown nor in the report.
        let max = Limits::DEFAULT.diagnostics as u64;
        let is_error = diagnostic.severity() != Severity::Info;
        if self.kept > max && (!is_error || self.kept_errors > max) {
            self.push(RecordedEvent::Counted(diagnostic.code, diagnostic.origin));
            return Ok(());
        }
        self.kept += 1;
        self.kept_errors += u64::from(is_error);
        let (diagnostic, part) = (diagnostic.clone(), part.cloned());
        let recorded = RecordedDiagnostic { diagnostic, part, excerpt };
        self.push(RecordedEvent::Diagnostic(Box::new(recorded)));
        Ok(())
    }

    fn refusal(&mut self, text: &str) {
        self.push(RecordedEvent::Refusal(text.into()));
    }

    /// Quotas apply when the events are replayed.
    fn is_done(&self) -> bool {
        false
    }

    fn has_reject_file(&self) -> bool {
        self.has_reject_file
    }

    fn failed(&mut self, error: io::Error) -> Failure {
        Failure::output(error)
    }
}
