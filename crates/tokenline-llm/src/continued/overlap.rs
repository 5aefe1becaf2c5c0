//! What the head of a further response repeats of what was delivered.

use super::error::ContinuationFailure;
use super::fingerprint::Fingerprint;
use super::progress::Progress;

/// Tells the records that a response repeats from those that are new.
#[derive(Debug)]
pub(super) struct Overlap {
    /// The last records delivered, oldest first.
    tail: Vec<Fingerprint>,
    head: Vec<Fingerprint>,
    delivered: u64,
    chain: Fingerprint,
    /// Records that it was asked to repeat.
    asked: u64,
    /// Records seen.
    seen: u64,
    /// Repeats that may be going on: the place in the tail at which each is.
    candidates: Vec<usize>,
    /// The whole answer may be going on from its beginning: what that comes to so far.
    restart: Option<Fingerprint>,
    /// It began with a record that is both the first and the last: it may repeat the last one, or start over.
    is_twofold: bool,
    /// The shortest repeat that is over, in records.
    completed: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// More records have to be seen. This one is to be kept.
    Hold,
    /// More have to be seen, and none of those that were are new.
    Skip,
    /// So many of the records so far are repeats, and what follows is new.
    Decided(u64),
    /// It repeats something else than was delivered, or nobody can tell how much.
    Failed(ContinuationFailure),
}

impl Overlap {
    pub(super) fn new(progress: &Progress) -> Self {
        Self {
            tail: progress.tail.iter().map(|record| record.fingerprint).collect(),
            head: progress.head.clone(),
            delivered: progress.records,
            chain: progress.chain,
            asked: progress.anchor() as u64,
            seen: 0,
            candidates: Vec::new(),
            restart: None,
            is_twofold: false,
            completed: None,
        }
    }

    pub(super) fn feed(&mut self, record: Fingerprint) -> Verdict {
        self.seen += 1;
        match (self.seen, self.is_twofold) {
            (1, _) => self.begin(record),
            (_, true) => self.tell_apart(record),
            (_, false) => self.go_on(record),
        }
    }

    /// Whether any record was seen.
    pub(super) fn has_begun(&self) -> bool {
        self.seen > 0
    }

    fn begin(&mut self, record: Fingerprint) -> Verdict {
        let Some((last, earlier)) = self.tail.split_last() else { return Verdict::Decided(0) };
        if *last == record {
            let is_varied = self.head.iter().any(|head| *head != record);
            if self.head.first() == Some(&record) && is_varied {
                self.restart = Some(Fingerprint::default().then(record));
                self.is_twofold = true;
                return Verdict::Hold;
            }
            // Of many equal records that is the only reading that keeps their number.
            return Verdict::Decided(1);
        }
        let places = earlier.iter().enumerate().filter(|(_, earlier)| **earlier == record);
        self.candidates = places.map(|(at, _)| at + 1).collect();
        // A shorter answer is in the tail from its beginning.
        if self.delivered > self.tail.len() as u64 && self.head.first() == Some(&record) {
            self.restart = Some(Fingerprint::default().then(record));
        }
        match (self.candidates.is_empty(), self.restart) {
            (true, None) => Verdict::Decided(0),
            (true, Some(_)) => Verdict::Skip,
            (false, _) => Verdict::Hold,
        }
    }

    /// It starts over if it goes on as the beginning does, all of it that is remembered, and repeats the last record
    /// if not.
    fn tell_apart(&mut self, record: Fingerprint) -> Verdict {
        if self.head.get(self.seen as usize - 1) != Some(&record) {
            return Verdict::Decided(1);
        }
        self.restart = self.restart.map(|chain| chain.then(record));
        if self.seen < self.head.len() as u64 {
            return Verdict::Hold;
        }
        // What comes round would go on like the beginning in any case.
        let comes_round = (2..=self.tail.len().min(self.head.len()))
            .any(|len| len as u64 != self.delivered && self.tail.ends_with(&self.head[..len]));
        if comes_round {
            return Verdict::Failed(ContinuationFailure::Ambiguous);
        }
        self.is_twofold = false;
        if self.seen == self.delivered { Verdict::Decided(self.seen) } else { Verdict::Skip }
    }

    fn go_on(&mut self, record: Fingerprint) -> Verdict {
        let mut is_completed = false;
        self.candidates.retain_mut(|at| {
            let goes_on = self.tail[*at] == record;
            *at += 1;
            is_completed |= goes_on && *at == self.tail.len();
            goes_on && *at < self.tail.len()
        });
        if let Some(chain) = self.restart {
            let is_known = self.head.get(self.seen as usize - 1).is_none_or(|head| *head == record);
            self.restart = is_known.then(|| chain.then(record));
        }
        if is_completed && self.completed.replace(self.seen).is_some() {
            return Verdict::Failed(ContinuationFailure::Ambiguous);
        }
        if is_completed && self.seen == self.asked {
            return Verdict::Decided(self.asked);
        }
        match (self.completed, self.candidates.is_empty(), self.restart) {
            (Some(repeated), true, None) => Verdict::Decided(repeated),
            // The beginning is like the end, all of it that is remembered.
            (Some(_), _, Some(_)) if self.seen >= self.head.len() as u64 => {
                Verdict::Failed(ContinuationFailure::Ambiguous)
            }
            (Some(_), ..) | (None, false, _) => Verdict::Hold,
            (None, true, None) => Verdict::Failed(ContinuationFailure::Diverged),
            (None, true, Some(chain)) if self.seen == self.delivered => match chain == self.chain {
                true => Verdict::Decided(self.seen),
                false => Verdict::Failed(ContinuationFailure::Diverged),
            },
            (None, true, Some(_)) => Verdict::Skip,
        }
    }

    /// The response is over: how much of it is repeated.
    pub(super) fn finish(&self, is_cut: bool) -> Result<u64, ContinuationFailure> {
        // An answer that comes to its end is not shorter than what was delivered of it.
        let is_last = self.is_twofold && (self.seen == 1 || !is_cut);
        let started_over = self.restart.is_some()
            || (self.delivered == self.tail.len() as u64
                && self.candidates.iter().any(|at| *at as u64 == self.seen));
        match self.completed.or((self.seen == 0).then_some(0)).or(is_last.then_some(1)) {
            Some(records) => Ok(records),
            None if self.is_twofold => Err(ContinuationFailure::Ambiguous),
            None if started_over => Err(ContinuationFailure::StartedOver),
            None => Err(ContinuationFailure::Nothing),
        }
    }
}
