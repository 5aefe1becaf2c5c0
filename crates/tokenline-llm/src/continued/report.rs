//! What became of a continued answer.

use tokenline_core::Report;

use super::RecordContinuation;

/// What became of an answer and its continuations so far. Counts of records and rejects are those of this stream; requests,
/// failures and skipped records are those of the [machine](super::ContinuedRecords::machine).
#[derive(Clone, Copy, Debug)]
pub struct ContinuationReport<'a> {
    pub(super) findings: &'a Report,
    pub(super) machine: &'a RecordContinuation,
    pub(super) output_tokens: Option<u64>,
}

impl<'a> ContinuationReport<'a> {
    /// Records delivered.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.findings.records()
    }

    /// Rejects: what was malformed, or was not what was asked for. A cut is none.
    #[must_use]
    pub fn rejected(&self) -> u64 {
        self.findings.rejected()
    }

    /// All that was found in the texts; its places are those of single responses.
    #[must_use]
    pub fn findings(&self) -> &'a Report {
        self.findings
    }

    /// Requests made, those before a [checkpoint](super::Checkpoint) included.
    #[must_use]
    pub fn requests(&self) -> u32 {
        self.machine.requests()
    }

    /// Continuations that brought nothing.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.machine.failures()
    }

    /// Records that responses repeated, and that were left out.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.machine.skipped()
    }

    /// Tokens written in the answers of this stream, if the provider tells.
    #[must_use]
    pub fn output_tokens(&self) -> Option<u64> {
        self.output_tokens
    }

    /// Whether the answer came to its end.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.findings.is_complete()
    }
}
