//! Conditions that end a stream before its source ends.

use std::error::Error;
use std::fmt;

use crate::{Code, Diagnostic, Report, Severity};

/// How much a stream delivers and rejects before it ends early. The counts are in its [`Report`].
///
/// For authors of stream adapters; a [`Tally`](crate::adapter::Tally) enforces it. The streams of this
/// workspace set it with `with_max_records` and `with_error_budget`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StopAfter {
    /// Most records and tool calls to deliver.
    pub max_records: Option<u64>,
    /// The unit of `max_records`.
    pub counted: QuotaUnit,
    /// Most rejects to tolerate; one more ends the stream.
    pub error_budget: Option<u64>,
}

/// The unit of [`StopAfter::max_records`](crate::adapter::StopAfter).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QuotaUnit {
    /// Records and tool calls.
    #[default]
    All,
    /// Records.
    Records,
    /// Tool calls.
    ToolCalls,
}

impl StopAfter {
    /// Whether `max_records` has been reached.
    pub(crate) fn is_full(&self, report: &Report) -> bool {
        let Some(max_records) = self.max_records else { return false };
        let delivered = match self.counted {
            QuotaUnit::All => report.records() + report.tool_calls(),
            QuotaUnit::Records => report.records(),
            QuotaUnit::ToolCalls => report.tool_calls(),
        };
        delivered >= max_records
    }

    /// The error that ends the stream if `last`, already counted in the report, exceeds the error budget.
    ///
    /// Prose is not a reject, nor are `provider_error` and `stream_incomplete`: these are errors of their
    /// own.
    pub(crate) fn exceeded_by(&self, last: &Diagnostic, report: &Report) -> Option<TooManyRejected> {
        let allowed = self.error_budget.filter(|_| last.severity() == Severity::Error)?;
        let of = |code: Code| report.by_code().get(&code).copied().unwrap_or_default();
        let rejected = report.rejected() - of(Code::ProviderError) - of(Code::StreamIncomplete);
        (rejected > allowed).then(|| TooManyRejected { allowed, last: Box::new(last.clone()) })
    }
}

/// The stream rejected more than its error budget allows, and was ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooManyRejected {
    allowed: u64,
    last: Box<Diagnostic>,
}

impl TooManyRejected {
    /// How many rejects the budget allows.
    #[must_use]
    pub fn allowed(&self) -> u64 {
        self.allowed
    }

    /// The reject that exceeded the budget.
    #[must_use]
    pub fn last(&self) -> &Diagnostic {
        &self.last
    }
}

impl fmt::Display for TooManyRejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the stream was ended: more than {} rejected", self.allowed)
    }
}

impl Error for TooManyRejected {
    /// The reject that exceeded the budget.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.last)
    }
}
