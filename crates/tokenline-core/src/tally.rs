//! The counts of a stream, and the early end that follows from them.

use crate::adapter::{CountAs, StopAfter};
use crate::{EarlyEnd, Limits, Recovered, Recovery, Report, TooManyRejected};

/// The [`Report`] of a stream, and the [`StopAfter`](crate::adapter::StopAfter) that ends the stream early.
///
/// For authors of stream adapters: count each event as it is yielded, and stop once
/// [`is_over`](Self::is_over).
#[derive(Clone, Debug)]
pub struct Tally {
    quota: StopAfter,
    report: Report,
    too_many: Option<TooManyRejected>,
}

impl Tally {
    /// An empty tally without quotas.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self { quota: StopAfter::default(), report: Report::new(limits), too_many: None }
    }

    /// Starts over with an empty report. Keeps the quotas.
    pub fn reset(&mut self, limits: &Limits) {
        self.report = Report::new(limits);
        self.too_many = None;
        self.end_if_full();
    }

    /// The quotas for deliveries and rejects.
    #[must_use]
    pub fn quota(&self) -> StopAfter {
        self.quota
    }

    /// Changes the quotas for deliveries and rejects. With `max_records: Some(0)` the stream is over at once.
    pub fn set_quota(&mut self, set: impl FnOnce(&mut StopAfter)) {
        set(&mut self.quota);
        self.end_if_full();
    }

    /// Counts an event.
    #[inline]
    pub fn count(&mut self, event: CountAs<'_>) {
        match event {
            CountAs::Record(recovered) => {
                self.report.count_record();
                self.delivered(recovered);
            }
            CountAs::ToolCall(recovered) => {
                self.report.count_tool_call();
                self.delivered(recovered);
            }
            CountAs::Diagnostic(diagnostic) => {
                self.report.note(diagnostic);
                if self.too_many.is_none()
                    && let Some(error) = self.quota.exceeded_by(diagnostic, &self.report)
                {
                    self.too_many = Some(error);
                    self.report.set_ended_by(EarlyEnd::ErrorBudget);
                }
            }
            CountAs::Usage(_) | CountAs::Finish(_) | CountAs::Other => {}
        }
    }

    #[inline]
    fn delivered(&mut self, recovered: Recovered) {
        if recovered.contains(Recovery::Repaired) {
            self.report.count_repaired();
        }
        self.end_if_full();
    }

    fn end_if_full(&mut self) {
        if self.quota.is_full(&self.report) {
            self.report.set_ended_by(EarlyEnd::MaxRecords);
        }
    }

    /// Whether a quota has been reached, so that the stream ends here.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.report.ended_by().is_some()
    }

    /// The error to end the stream with, if the error budget was exceeded.
    #[must_use]
    pub fn too_many_rejected(&self) -> Option<&TooManyRejected> {
        self.too_many.as_ref()
    }

    /// The counts and diagnostics so far.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// The report, to add what the events do not say.
    pub fn report_mut(&mut self) -> &mut Report {
        &mut self.report
    }
}
