//! The counts of a stream, and the early end that follows from them.

use crate::adapter::{CountAs, StopAfter};
use crate::{EarlyEnd, Limits, Reasks, Recovered, Recovery, Report, TooManyRejected};

/// The [`Report`] of a stream, and the [`StopAfter`](crate::adapter::StopAfter) that ends the stream early.
///
/// For authors of stream adapters: count each event as it is yielded, and stop once
/// [`is_over`](Self::is_over).
#[derive(Clone, Debug)]
pub struct Tally {
    /// Boxed: most streams have no quota.
    quota: Option<Box<StopAfter>>,
    report: Report,
    too_many: Option<Box<TooManyRejected>>,
}

impl Tally {
    /// An empty tally without quotas.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self { quota: None, report: Report::new(limits), too_many: None }
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
        self.quota.as_deref().copied().unwrap_or_default()
    }

    /// Whether an event can end the stream early.
    #[must_use]
    pub fn has_quota(&self) -> bool {
        self.quota.is_some()
    }

    /// Changes the quotas for deliveries and rejects. With `max_records: Some(0)` the stream is over at once.
    pub fn set_quota(&mut self, set: impl FnOnce(&mut StopAfter)) {
        let mut quota = self.quota();
        set(&mut quota);
        self.quota = (quota != StopAfter::default()).then(|| Box::new(quota));
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
                    && let Some(quota) = &self.quota
                    && let Some(error) = quota.exceeded_by(diagnostic, &self.report)
                {
                    self.too_many = Some(Box::new(error));
                    self.report.set_ended_by(EarlyEnd::ErrorBudget);
                }
            }
            CountAs::Usage(_) | CountAs::Finish(_) | CountAs::Other => {}
        }
    }

    #[inline]
    fn delivered(&mut self, recovered: Recovered) {
        if recovered.contains(Recovery::Repaired) || recovered.contains(Recovery::SyntaxRepaired) {
            self.report.count_repaired(recovered);
        }
        if recovered.contains(Recovery::Reasked) {
            self.report.count_reasks(Reasks { delivered: 1, ..Reasks::default() });
        }
        self.end_if_full();
    }

    fn end_if_full(&mut self) {
        if self.quota.as_ref().is_some_and(|quota| quota.is_full(&self.report)) {
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
        self.too_many.as_deref()
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
