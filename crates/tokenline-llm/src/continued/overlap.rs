//! What the head of a further response repeats of what was delivered.

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
    /// Records seen.
    seen: u64,
    /// Repeats that may be going on: the place in the tail at which each is.
    candidates: Vec<usize>,
    /// The whole answer may be going on from its beginning: what that comes to so far.
    restart: Option<Fingerprint>,
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
    Diverged,
}

impl Overlap {
    pub(super) fn new(progress: &Progress) -> Self {
        Self {
            tail: progress.tail.iter().map(|record| record.fingerprint).collect(),
            head: progress.head.clone(),
            delivered: progress.records,
            chain: progress.chain,
            seen: 0,
            candidates: Vec::new(),
            restart: None,
            completed: None,
        }
    }

    pub(super) fn feed(&mut self, record: Fingerprint) -> Verdict {
        self.seen += 1;
        if self.seen == 1 { self.begin(record) } else { self.go_on(record) }
    }

    fn begin(&mut self, record: Fingerprint) -> Verdict {
        let Some((last, earlier)) = self.tail.split_last() else { return Verdict::Decided(0) };
        if *last == record {
            // That is what was asked for, and of many equal records the only reading that keeps their number.
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
            return Verdict::Diverged;
        }
        match (self.completed, self.candidates.is_empty(), self.restart) {
            (Some(repeated), true, None) => Verdict::Decided(repeated),
            // The beginning is like the end, all of it that is remembered.
            (Some(_), _, Some(_)) if self.seen >= self.head.len() as u64 => Verdict::Diverged,
            (Some(_), ..) | (None, false, _) => Verdict::Hold,
            (None, true, None) => Verdict::Diverged,
            (None, true, Some(chain)) if self.seen == self.delivered => match chain == self.chain {
                true => Verdict::Decided(self.seen),
                false => Verdict::Diverged,
            },
            (None, true, Some(_)) => Verdict::Skip,
        }
    }

    /// The response is over.
    pub(super) fn finish(&self) -> Option<u64> {
        self.completed.or((self.seen == 0).then_some(0))
    }
}
