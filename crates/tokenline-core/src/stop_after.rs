//! When a stream is to end before its source does.

use std::error::Error;
use std::fmt;

use crate::{Code, Diagnostic, Report, Severity};

/// How much a stream delivers and rejects before it is ended; what has come of it is in its
/// [`Report`].
///
/// For authors of stream adapters; a [`Tally`](crate::adapter::Tally) keeps to it. The streams of this workspace
/// take it as `with_max_records` and `with_error_budget`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StopAfter {
    /// Most records and tool calls to deliver.
    pub max_records: Option<u64>,
    /// What counts as delivered.
    pub counted: QuotaUnit,
    /// Most rejects to live with; one more is too many.
    pub error_budget: Option<u64>,
}

/// What a [`StopAfter`](crate::adapter::StopAfter) counts as delivered.
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
    /// Whether all has been delivered that was to be.
    pub(crate) fn is_full(&self, report: &Report) -> bool {
        let Some(max_records) = self.max_records else { return false };
        let delivered = match self.counted {
            QuotaUnit::All => report.records() + report.tool_calls(),
            QuotaUnit::Records => report.records(),
            QuotaUnit::ToolCalls => report.tool_calls(),
        };
        delivered >= max_records
    }

    /// The error that a stream ends with if `last`, which is in the report already, was one reject
    /// too many.
    ///
    /// Prose is no reject. Neither is what a provider says of itself, `provider_error` and
    /// `stream_incomplete`: they are errors of their own.
    pub(crate) fn exceeded_by(&self, last: &Diagnostic, report: &Report) -> Option<TooManyRejected> {
        let allowed = self.error_budget.filter(|_| last.severity() == Severity::Error)?;
        let of = |code: Code| report.by_code().get(&code).copied().unwrap_or_default();
        let rejected = report.rejected() - of(Code::ProviderError) - of(Code::StreamIncomplete);
        (rejected > allowed).then(|| TooManyRejected { allowed, last: Box::new(last.clone()) })
    }
}

/// More was rejected than the error budget of the stream allows, and the stream was ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooManyRejected {
    allowed: u64,
    last: Box<Diagnostic>,
}

impl TooManyRejected {
    /// How many rejects were allowed.
    #[must_use]
    pub fn allowed(&self) -> u64 {
        self.allowed
    }

    /// The reject that was one too many.
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
    /// The reject that was one too many.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.last)
    }
}

/// Why a stream ended before its source did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EarlyEnd {
    /// As many records or tool calls were delivered as were asked for.
    MaxRecords,
    /// More was rejected than is allowed.
    ErrorBudget,
}

impl EarlyEnd {
    /// The name used in reports: `max_records` or `error_budget`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MaxRecords => "max_records",
            Self::ErrorBudget => "error_budget",
        }
    }
}
