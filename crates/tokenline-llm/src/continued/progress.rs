//! What is kept of the answer so far.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::fingerprint::Fingerprint;

/// Records of the beginning, and of the end, that are remembered.
const REMEMBERED: usize = 8;

/// What is kept of the answer so far: never more than its ends, and the open record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Progress {
    /// Records delivered.
    pub(super) records: u64,
    /// The first of them.
    pub(super) head: Vec<Fingerprint>,
    /// The last of them, oldest first.
    pub(super) tail: VecDeque<TailRecord>,
    /// All of them, in order.
    pub(super) chain: Fingerprint,
    /// The beginning of the record that was cut off.
    pub(super) open: String,
    pub(super) form: Form,
    /// The first member of the object around the records.
    pub(super) wrapper: Option<Fingerprint>,
    /// Requests made.
    pub(super) requests: u32,
    pub(super) output_tokens: u64,
    /// Bytes of text up to the end of the last record, without what was repeated.
    pub(super) offset: u64,
    pub(super) is_done: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct TailRecord {
    pub(super) fingerprint: Fingerprint,
    /// On one line, as long as there is room for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
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
        if self.head.len() < REMEMBERED {
            self.head.push(fingerprint);
        }
        if self.tail.len() == REMEMBERED {
            self.tail.pop_front();
        }
        self.tail.push_back(TailRecord { fingerprint, text: Some(text) });
        let mut room = quote_bytes;
        for record in self.tail.iter_mut().rev() {
            // No gaps: what is older than one that has no room has none either.
            room = record.text.as_ref().and_then(|text| room.checked_sub(text.len())).unwrap_or_else(|| {
                record.text = None;
                0
            });
        }
    }

    /// The last records that there was room for, oldest first, one a line.
    pub(super) fn quoted(&self) -> Vec<&str> {
        self.tail.iter().filter_map(|record| record.text.as_deref()).collect()
    }

    /// Bytes of text that are kept.
    pub(super) fn held_bytes(&self) -> usize {
        self.open.len() + self.quoted().iter().map(|text| text.len()).sum::<usize>()
    }
}
