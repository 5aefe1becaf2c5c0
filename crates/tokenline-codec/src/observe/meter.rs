//! What each stream holds to be seen by.

use std::fmt;
use std::time::{Duration, Instant};

use tokenline_core::adapter::CountAs;
use tokenline_core::{Code, Diagnostic, Report, Severity};

use super::ModelRequest;
#[cfg(feature = "metrics")]
use super::counters::Counters;
use super::outcome::Outcome;
#[cfg(feature = "tracing")]
use super::trace::{Entered, Trace};

/// When a stream began, or the request that it answers.
#[derive(Clone, Copy, Debug)]
pub struct Start(Instant);

impl Start {
    /// Now.
    #[must_use]
    pub fn now() -> Self {
        Self(Instant::now())
    }

    fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

/// Counts one stream, and tells of it. It moves with the stream when that becomes another, and is
/// closed when it is dropped, if it was not before: so a stream is counted once, however it ends.
///
/// For the streams of this workspace; what users see of it is what it counts.
pub struct Meter {
    state: State,
    #[cfg(feature = "metrics")]
    counters: Counters,
    #[cfg(feature = "tracing")]
    trace: Trace,
}

struct State {
    start: Start,
    has_delivered: bool,
    /// What it is if it ends here.
    outcome: Outcome,
    /// The consumer wanted no more, and takes what is left.
    is_given_up: bool,
    is_closed: bool,
}

impl State {
    fn new(start: Start) -> Self {
        let outcome = Outcome::Dropped;
        Self { start, has_delivered: false, outcome, is_given_up: false, is_closed: false }
    }

    fn settle(&mut self, outcome: Outcome) {
        // What was read before the source failed may be found out after it.
        if self.outcome != Outcome::Failed {
            self.outcome = outcome;
        }
    }
}

/// A [`Meter`] inside its span. Not to be held across an `await`.
pub struct Metered<'a> {
    state: &'a mut State,
    #[cfg(feature = "metrics")]
    counters: &'a mut Counters,
    #[cfg(feature = "tracing")]
    trace: Entered<'a>,
}

impl Meter {
    /// For a stream of this source: `text`, or the name of a provider.
    #[must_use]
    pub fn new(source: &'static str, start: Start) -> Self {
        Self {
            state: State::new(start),
            #[cfg(feature = "metrics")]
            counters: Counters::new(source),
            #[cfg(feature = "tracing")]
            trace: Trace::new(source),
        }
    }

    /// For the response of a model.
    #[cfg_attr(
        not(feature = "tracing"),
        allow(unused_variables, reason = "metrics do not tell of the request")
    )]
    #[must_use]
    pub fn of_model(source: &'static str, start: Start, request: &ModelRequest) -> Self {
        Self {
            state: State::new(start),
            #[cfg(feature = "metrics")]
            counters: Counters::new(source),
            #[cfg(feature = "tracing")]
            trace: Trace::of_model(source, request),
        }
    }

    /// Enters the span, until what is returned is dropped.
    pub fn enter(&mut self) -> Metered<'_> {
        Metered {
            state: &mut self.state,
            #[cfg(feature = "metrics")]
            counters: &mut self.counters,
            #[cfg(feature = "tracing")]
            trace: self.trace.enter(),
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.enter().close();
    }
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meter").finish_non_exhaustive()
    }
}

impl Metered<'_> {
    /// The source gave this.
    pub fn chunk(&mut self, chunk: &impl AsRef<[u8]>) {
        let bytes = chunk.as_ref().len() as u64;
        #[cfg(feature = "metrics")]
        self.counters.bytes.increment(bytes);
        #[cfg(feature = "tracing")]
        self.trace.counts(|counts| counts.bytes += bytes);
    }

    /// Counts an event of the stream.
    pub fn count(&mut self, event: CountAs<'_>) {
        #[cfg(feature = "metrics")]
        self.counters.events.increment(1);
        #[cfg(feature = "tracing")]
        self.trace.counts(|counts| counts.events += 1);
        match event {
            CountAs::Record(_) => self.record(),
            CountAs::ToolCall(_) => self.tool_call(),
            CountAs::Diagnostic(diagnostic) => self.diagnostic(diagnostic),
            #[cfg(feature = "tracing")]
            CountAs::Usage(tokens) => self.trace.usage(tokens),
            #[cfg(feature = "tracing")]
            CountAs::Finish(reason) => self.trace.finish(reason),
            _ => {}
        }
    }

    fn record(&mut self) {
        #[cfg(feature = "metrics")]
        self.counters.records.increment(1);
        #[cfg(feature = "tracing")]
        self.trace.counts(|counts| counts.records += 1);
        self.delivered();
    }

    fn tool_call(&mut self) {
        #[cfg(feature = "metrics")]
        self.counters.tool_calls.increment(1);
        #[cfg(feature = "tracing")]
        self.trace.counts(|counts| counts.tool_calls += 1);
        self.delivered();
    }

    fn delivered(&mut self) {
        if !self.state.has_delivered {
            self.state.has_delivered = true;
            let elapsed = self.state.start.elapsed();
            #[cfg(feature = "metrics")]
            self.counters.first(elapsed);
            #[cfg(feature = "tracing")]
            self.trace.first(elapsed);
        }
    }

    fn diagnostic(&mut self, diagnostic: &Diagnostic) {
        if diagnostic.severity() == Severity::Info {
            return;
        }
        if matches!(diagnostic.code, Code::ProviderError | Code::StreamIncomplete) {
            // Who takes this for an error may well drop the stream now.
            self.state.settle(Outcome::Incomplete);
        }
        self.rejected(diagnostic.code);
        #[cfg(feature = "tracing")]
        self.trace.rejected(diagnostic);
    }

    #[cfg_attr(not(feature = "metrics"), expect(unused_variables, reason = "there is no counter for it"))]
    fn rejected(&mut self, code: Code) {
        #[cfg(feature = "metrics")]
        self.counters.rejected(code);
        #[cfg(feature = "tracing")]
        self.trace.counts(|counts| counts.rejected += 1);
    }

    /// The source failed.
    pub fn source_failed(&mut self) {
        self.state.settle(Outcome::Failed);
        #[cfg(feature = "tracing")]
        self.trace.source_failed();
    }

    /// The consumer let go of the source, and may still take what was complete.
    pub fn gave_up(&mut self) {
        self.state.is_given_up = true;
    }

    /// The stream has ended with this report: because its source has, or because of a quota.
    pub fn end(&mut self, report: &Report) {
        if self.state.is_closed {
            return;
        }
        if report.is_complete() {
            self.state.settle(Outcome::Complete);
        } else if !self.state.is_given_up && report.ended_by().is_none() {
            self.state.settle(Outcome::Incomplete);
        }
        // The one finding that is no event: where the source failed, an answer leaves it to the report.
        let is_broken = self.state.outcome == Outcome::Failed || self.state.is_given_up;
        if is_broken && report.by_code().contains_key(&Code::StreamIncomplete) {
            self.rejected(Code::StreamIncomplete);
        }
        self.close();
    }

    /// The stream has ended, because no more of it is wanted if nothing else was told.
    pub fn close(&mut self) {
        if !self.state.is_closed {
            self.state.is_closed = true;
            let outcome = self.state.outcome;
            #[cfg(feature = "metrics")]
            self.counters.ended(outcome);
            #[cfg(feature = "tracing")]
            self.trace.ended(outcome);
        }
    }
}

impl fmt::Debug for Metered<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metered").finish_non_exhaustive()
    }
}
