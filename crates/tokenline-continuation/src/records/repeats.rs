//! What a response repeats.

use super::ContinuationFailure::{self, Ambiguous, Diverged};
use super::fingerprint::Fingerprint;
use super::progress::Progress;

/// The records at the beginning of a response, compared with those that were delivered.
#[derive(Debug)]
pub(super) struct Repeats {
    anchor: Vec<Fingerprint>,
    is_anchor: bool,
    pub(super) is_restart: bool,
    seen: u64,
    chain: Fingerprint,
}

impl Repeats {
    pub(super) fn new(progress: &Progress, anchor: usize) -> Self {
        Self {
            anchor: progress.anchor_fingerprints(anchor),
            is_anchor: true,
            is_restart: true,
            seen: 0,
            chain: Fingerprint::default(),
        }
    }

    /// One record more. Whether what is repeated is decided, and all that follows is new.
    pub(super) fn push(
        &mut self,
        record: Fingerprint,
        progress: &Progress,
    ) -> Result<bool, ContinuationFailure> {
        let at = self.seen as usize;
        self.seen += 1;
        self.chain = self.chain.then(record);
        self.is_anchor &= self.anchor.get(at) == Some(&record);
        self.is_restart &= progress.head.get(at).is_none_or(|head| *head == record);
        let is_all = self.seen == progress.records;
        match (self.is_anchor && self.seen as usize == self.anchor.len(), self.is_restart) {
            // The list begins as it ends.
            (true, true) if !is_all => Err(Ambiguous),
            (true, _) => Ok(true),
            (false, true) if is_all => (self.chain == progress.chain).then_some(true).ok_or(Diverged),
            (false, is_restart) if is_restart || self.is_anchor => Ok(false),
            (false, _) => Err(Diverged),
        }
    }
}
