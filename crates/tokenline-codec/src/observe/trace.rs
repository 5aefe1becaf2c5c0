//! A stream's span, and the events in it.
//!
//! A log is read by more people than the data it is about, and kept for longer. So of a finding only
//! the code and the place are told, never its message: a provider's own words are in one, and what
//! those quote is not ours to know. Nor its path in the record, which is made of names that the model
//! wrote; the path in the schema is the caller's own. An error of the source is not told either: an
//! HTTP client's names the URL, and with it keys.

use std::time::Duration;

use tokenline_core::{Code, Diagnostic};
use tracing::field::Empty;
use tracing::{Span, debug, debug_span, span, warn};

use super::outcome::Outcome;

/// The span of a stream, and what it is to say at its end.
pub(super) struct Trace {
    source: &'static str,
    span: Span,
    counts: Counts,
}

#[derive(Default)]
pub(super) struct Counts {
    pub(super) bytes: u64,
    pub(super) events: u64,
    pub(super) records: u64,
    pub(super) tool_calls: u64,
    pub(super) rejected: u64,
}

/// The same, inside the span.
pub(super) struct Entered<'a> {
    source: &'static str,
    span: &'a Span,
    _inside: span::Entered<'a>,
    counts: &'a mut Counts,
}

impl Trace {
    pub(super) fn new(source: &'static str) -> Self {
        let span = debug_span!(
            target: "tokenline",
            "tokenline.stream",
            source,
            outcome = Empty,
            bytes = Empty,
            events = Empty,
            records = Empty,
            tool_calls = Empty,
            rejected = Empty,
        );
        Self { source, span, counts: Counts::default() }
    }

    pub(super) fn enter(&mut self) -> Entered<'_> {
        let Self { source, span, counts } = self;
        Entered { source, _inside: span.enter(), span, counts }
    }
}

impl Entered<'_> {
    pub(super) fn counts(&mut self, count: impl FnOnce(&mut Counts)) {
        count(self.counts);
    }

    pub(super) fn first(&self, elapsed: Duration) {
        debug!(target: "tokenline", elapsed_ms = elapsed.as_secs_f64() * 1e3, "first record");
    }

    pub(super) fn rejected(&self, diagnostic: &Diagnostic) {
        let (source, code) = (self.source, diagnostic.code.as_str());
        match diagnostic.code {
            // With the source, because the span is not shown where only warnings are.
            Code::ProviderError => warn!(target: "tokenline", source, code, "provider error"),
            Code::StreamIncomplete => warn!(target: "tokenline", source, code, "stream incomplete"),
            _ => debug!(
                target: "tokenline",
                code,
                origin = diagnostic.origin.as_str(),
                line = diagnostic.line,
                column = diagnostic.column,
                start = diagnostic.span.start,
                end = diagnostic.span.end,
                schema_path = diagnostic.schema_path.as_deref(),
                "rejected"
            ),
        }
    }

    pub(super) fn source_failed(&self) {
        warn!(target: "tokenline", source = self.source, "source failed");
    }

    pub(super) fn ended(&self, outcome: Outcome) {
        let outcome = outcome.as_str();
        let Counts { bytes, events, records, tool_calls, rejected } = *self.counts;
        debug!(target: "tokenline", outcome, bytes, events, records, tool_calls, rejected, "ended");
        self.span.record("outcome", outcome);
        self.span.record("bytes", bytes);
        self.span.record("events", events);
        self.span.record("records", records);
        self.span.record("tool_calls", tool_calls);
        self.span.record("rejected", rejected);
    }
}
