//! What became of a continued answer.

use tokenline_core::adapter::Tally;
use tokenline_core::{Limits, Report};

use super::RecordContinuation;

/// What became of an answer and its continuations. Counts of records and rejects are those of this stream; requests
/// include those before a [checkpoint](super::Checkpoint).
#[derive(Clone, Debug)]
pub struct ContinuationReport {
    tally: Tally,
    requests: u32,
    failures: u64,
    skipped: u64,
    output_tokens: Option<u64>,
}

impl ContinuationReport {
    pub(super) fn new(limits: &Limits) -> Self {
        Self { tally: Tally::new(limits), requests: 0, failures: 0, skipped: 0, output_tokens: None }
    }

    pub(super) fn tally_mut(&mut self) -> &mut Tally {
        &mut self.tally
    }

    pub(super) fn count_output_tokens(&mut self, tokens: u64) {
        *self.output_tokens.get_or_insert(0) += tokens;
    }

    /// Takes over what the machine counts.
    pub(super) fn account(&mut self, machine: &RecordContinuation) {
        self.requests = machine.requests();
        self.failures = machine.failures();
        self.skipped = machine.skipped();
    }

    /// Records delivered.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.findings().records()
    }

    /// Rejects: what was malformed, or was not what was asked for. A cut is none.
    #[must_use]
    pub fn rejected(&self) -> u64 {
        self.findings().rejected()
    }

    /// All that was found in the texts; its places are those of single responses.
    #[must_use]
    pub fn findings(&self) -> &Report {
        self.tally.report()
    }

    /// Requests made.
    #[must_use]
    pub fn requests(&self) -> u32 {
        self.requests
    }

    /// Continuations that brought nothing.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.failures
    }

    /// Records that responses repeated, and that were left out.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Tokens written in the answers of this stream, if the provider tells.
    #[must_use]
    pub fn output_tokens(&self) -> Option<u64> {
        self.output_tokens
    }

    /// Whether the answer came to its end.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.findings().is_complete()
    }
}
