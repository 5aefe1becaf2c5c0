//! What is kept of the answer so far.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::error::ContinuationFailure;
use super::fingerprint::{Fingerprint, begins_as};
use super::open::OpenRecord;
use super::shape::Shape;

/// Records of the beginning, and of the end, that are remembered.
const REMEMBERED: usize = 8;

/// A record that is shorter, in bytes, is asked for once more before it is gone on with inside.
const LONG: usize = 1024;

/// What is kept of the answer so far: never more than its ends, and the open record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Progress {
    /// Records delivered.
    pub(super) records: u64,
    /// The first of them.
    pub(super) head: Vec<Fingerprint>,
    /// How the very first begins.
    #[serde(default)]
    pub(super) beginning: String,
    /// The last of them, oldest first.
    pub(super) tail: VecDeque<TailRecord>,
    /// All of them, in order.
    pub(super) chain: Fingerprint,
    /// The beginning of the record that was cut off.
    pub(super) open: OpenRecord,
    pub(super) form: Form,
    /// The first member of the object around the records.
    pub(super) wrapper: Option<Fingerprint>,
    /// Requests made.
    pub(super) requests: u32,
    pub(super) output_tokens: u64,
    /// Bytes of text up to the end of the last record, without what was repeated.
    pub(super) offset: u64,
    pub(super) is_done: bool,
    /// Bytes of the longest response.
    #[serde(default)]
    pub(super) longest: u64,
    /// Whether the open record was written again, and cut again.
    #[serde(default)]
    pub(super) is_cut_again: bool,
    /// How the records look.
    #[serde(default)]
    pub(super) shape: Shape,
    /// What was wrong with the last continuation.
    #[serde(skip)]
    pub(super) failure: Option<ContinuationFailure>,
}

/// So much is kept of the beginning of a record, in bytes.
const BEGINNING: usize = 256;

fn beginning(text: &str) -> &str {
    let end = (0..=BEGINNING.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct TailRecord {
    pub(super) fingerprint: Fingerprint,
    /// On one line, as long as there is room for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
    /// The beginning of that where there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) beginning: String,
    /// Its first member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) first: Option<Fingerprint>,
}

/// How the records stand in the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Form {
    #[default]
    Lines,
    /// They are elements of one array.
    Elements,
}

impl Progress {
    /// A record goes out. The text is canonical.
    pub(super) fn deliver(&mut self, text: String, fingerprint: Fingerprint, quote_bytes: usize) {
        self.records += 1;
        self.chain = self.chain.then(fingerprint);
        if self.head.is_empty() {
            beginning(&text).clone_into(&mut self.beginning);
        }
        if self.head.len() < REMEMBERED {
            self.head.push(fingerprint);
        }
        if self.tail.len() == REMEMBERED {
            self.tail.pop_front();
        }
        let first = self.shape.deliver(&text, self.tail.iter().filter_map(|record| record.first));
        let first = first.map(|first| first.member);
        self.tail.push_back(TailRecord { fingerprint, text: Some(text), beginning: String::new(), first });
        let mut room = quote_bytes;
        for record in self.tail.iter_mut().rev() {
            // No gaps: what is older than one that has no room has none either.
            match record.text.as_ref().map(|text| room.checked_sub(text.len())) {
                Some(Some(left)) => room = left,
                Some(None) => {
                    beginning(&record.text.take().unwrap_or_default()).clone_into(&mut record.beginning);
                    room = 0;
                }
                None => room = 0,
            }
        }
    }

    /// Whether what this is the beginning of may be a record that was delivered, as far as those are remembered.
    pub(super) fn may_be_known(&self, open: &str) -> bool {
        let tail = self.tail.iter().map(|record| record.text.as_deref().unwrap_or(&record.beginning));
        let mut known = tail.chain((self.records > 0).then_some(&*self.beginning));
        known.any(|known| begins_as(known, open) || begins_as(open, known))
    }

    /// The last records that there was room for, oldest first, one a line.
    pub(super) fn quoted(&self) -> Vec<&str> {
        self.tail.iter().filter_map(|record| record.text.as_deref()).collect()
    }

    /// So many of the last records the next response is asked to begin with: one; more where that is the first one, too,
    /// so that a response that starts over is told from one that does as it was asked; none that would leave little
    /// room for what is new.
    pub(super) fn anchor(&self) -> usize {
        let mut room = (self.longest as usize / 2).max(LONG / 4);
        let fits = |text: &&str| {
            room = room.saturating_sub(text.len());
            room > 0
        };
        let quoted = self.quoted().into_iter().rev().take_while(fits).count();
        let first = self.head.first();
        let is_first =
            |back: usize| self.tail.iter().rev().nth(back - 1).map(|last| &last.fingerprint) == first;
        (1..=quoted).find(|back| !is_first(*back)).unwrap_or(quoted.min(1))
    }

    /// What the next response is asked to begin with, if it is to go on inside the open record: where that was cut
    /// again when it was written again, or is about as long as what a response brings.
    pub(super) fn inside(&self, quote_bytes: usize) -> Option<&str> {
        let is_long = self.open.len() >= LONG && 2 * self.open.len() as u64 >= self.longest;
        self.open.overlap(quote_bytes).filter(|_| is_long || self.is_cut_again)
    }

    /// Bytes of text that are kept.
    pub(super) fn held_bytes(&self) -> usize {
        let beginnings = self.tail.iter().map(|record| record.beginning.len()).sum::<usize>();
        self.beginning.len()
            + beginnings
            + self.open.len()
            + self.quoted().iter().map(|text| text.len()).sum::<usize>()
    }
}
