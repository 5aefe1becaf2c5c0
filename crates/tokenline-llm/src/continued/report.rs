//! The report of a continued response.

use tokenline_core::Report;

use super::RecordContinuation;

/// The report of a response and its continuations so far. Counts of records and rejects are those of this stream; requests,
/// failures and skipped records are those of the [machine](super::ContinuedRecords::machine).
#[derive(Clone, Copy, Debug)]
pub struct ContinuationReport<'a> {
    pub(super) report: &'a Report,
    pub(super) machine: &'a RecordContinuation,
    pub(super) output_tokens: Option<u64>,
}

impl<'a> ContinuationReport<'a> {
    /// Records delivered.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.report.records()
    }

    /// Rejected records. A truncated one does not count.
    #[must_use]
    pub fn rejected(&self) -> u64 {
        self.report.rejected()
    }

    /// The counts and diagnostics of all responses; positions are those in single responses.
    #[must_use]
    pub fn report(&self) -> &'a Report {
        self.report
    }

    /// Requests made, those before a [checkpoint](super::Checkpoint) included.
    #[must_use]
    pub fn requests(&self) -> u32 {
        self.machine.requests()
    }

    /// Continuations that added nothing.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.machine.failures()
    }

    /// Records that responses repeated. They were not delivered again.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.machine.skipped()
    }

    /// Output tokens of the responses of this stream, if the provider reports them.
    #[must_use]
    pub fn output_tokens(&self) -> Option<u64> {
        self.output_tokens
    }

    /// Whether the list is complete.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.report.is_complete()
    }
}
