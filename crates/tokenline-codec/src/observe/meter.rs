//! Observes a stream: counts it, and traces it.

use std::fmt;
use std::time::{Duration, Instant};

use tokenline_core::adapter::CountAs;
use tokenline_core::{Code, Diagnostic, EarlyEnd, Report, Severity};

use super::ModelRequest;
#[cfg(feature = "metrics")]
use super::counters::Counters;
use super::outcome::Outcome;
#[cfg(feature = "tracing")]
use super::trace::{Entered, Trace};

/// When a stream began, or the request for it.
#[derive(Clone, Copy, Debug)]
pub struct Start(Instant);

impl Start {
    /// The current time.
    #[must_use]
    pub fn now() -> Self {
        Self(Instant::now())
    }

    fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

/// Counts and traces one stream. It moves along when the stream is wrapped in another, and is closed when it
/// is dropped, unless it was closed before, so a stream is counted once however it ends.
///
/// For the streams of this workspace; users see only what it counts.
pub struct Meter {
    state: State,
    #[cfg(feature = "metrics")]
    counters: Counters,
    #[cfg(feature = "tracing")]
    trace: Trace,
}

struct State {
    start: Start,
    /// When the last chunk of a model's response came, or none yet; `None` for other sources.
    last_chunk: Option<Option<Instant>>,
    has_delivered: bool,
    /// The outcome if the stream ends here.
    outcome: Outcome,
    /// Whether the consumer wants no more, and only takes what is left.
    is_given_up: bool,
    is_closed: bool,
}

impl State {
    fn new(start: Start) -> Self {
        let outcome = Outcome::Dropped;
        Self { start, last_chunk: None, has_delivered: false, outcome, is_given_up: false, is_closed: false }
    }

    fn settle(&mut self, outcome: Outcome) {
        // A failure of the source stands, even if earlier input is evaluated after it.
        if self.outcome != Outcome::Failed {
            self.outcome = outcome;
        }
    }
}

/// A [`Meter`] inside its span. Do not hold it across an `await`.
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

    /// For a model's response.
    #[cfg_attr(
        not(feature = "tracing"),
        allow(unused_variables, reason = "metrics do not include the request")
    )]
    #[must_use]
    pub fn of_model(source: &'static str, start: Start, request: &ModelRequest) -> Self {
        Self {
            state: State { last_chunk: Some(None), ..State::new(start) },
            #[cfg(feature = "metrics")]
            counters: Counters::new(source),
            #[cfg(feature = "tracing")]
            trace: Trace::of_model(source, request),
        }
    }

    /// Enters the span until the returned guard is dropped.
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
    /// Counts bytes from the source.
    pub fn chunk(&mut self, chunk: &impl AsRef<[u8]>) {
        let bytes = chunk.as_ref().len() as u64;
        #[cfg(feature = "metrics")]
        self.counters.bytes.increment(bytes);
        #[cfg(feature = "tracing")]
        self.trace.counts(|counts| counts.bytes += bytes);
        if let Some(last) = &mut self.state.last_chunk {
            let now = Instant::now();
            match last.replace(now) {
                None => self.first_chunk(now - self.state.start.0),
                Some(last) => self.later_chunk(now - last),
            }
        }
    }

    fn first_chunk(&self, elapsed: Duration) {
        #[cfg(feature = "metrics")]
        self.counters.time_to_first_chunk.record(elapsed.as_secs_f64());
        #[cfg(feature = "tracing")]
        self.trace.first_chunk(elapsed);
    }

    #[cfg_attr(not(feature = "metrics"), expect(unused_variables, reason = "only a metric"))]
    fn later_chunk(&self, elapsed: Duration) {
        #[cfg(feature = "metrics")]
        self.counters.time_per_chunk.record(elapsed.as_secs_f64());
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
        if diagnostic.severity() != Severity::Error {
            return;
        }
        if matches!(diagnostic.code, Code::ProviderError | Code::StreamIncomplete) {
            // The consumer may treat this as an error and drop the stream now.
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

    /// Records that the source failed.
    pub fn source_failed(&mut self) {
        self.state.settle(Outcome::Failed);
        #[cfg(feature = "tracing")]
        self.trace.source_failed();
    }

    /// Records that the consumer dropped the source. It may still take what was complete.
    pub fn gave_up(&mut self) {
        self.state.is_given_up = true;
    }

    /// Ends the stream with this report: at the end of its source, or at a quota.
    pub fn end(&mut self, report: &Report) {
        if self.state.is_closed {
            return;
        }
        if report.is_complete() {
            self.state.settle(Outcome::Complete);
        } else if !self.state.is_given_up && report.ended_by().is_none_or(|why| why == EarlyEnd::Repetition) {
            self.state.settle(Outcome::Incomplete);
        }
        // The one diagnostic that is not an event: if the source failed, it is only in the response's report.
        let is_broken = self.state.outcome == Outcome::Failed || self.state.is_given_up;
        if is_broken && report.by_code().contains_key(&Code::StreamIncomplete) {
            self.rejected(Code::StreamIncomplete);
        }
        self.close();
    }

    /// Closes the stream with the outcome so far; by default, the consumer wanted no more.
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
