//! The state of a list of records, and its checkpoint.

use std::collections::VecDeque;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::fingerprint::{Fingerprint, begins_with};
use crate::document::{Document, Status};
use crate::error::ContinuationFailure;
use crate::prompt::MIN_OVERLAP;
use crate::tokens::first_name;

/// The state of the list: its first and last records, the open record, and fingerprints. It does not grow with the list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Progress {
    /// Records delivered.
    pub(super) records: u64,
    /// The fingerprints of the first records.
    pub(super) head: Vec<Fingerprint>,
    /// The fingerprint of all records, in order.
    pub(super) chain: Fingerprint,
    /// The last records, oldest first, without white space between tokens, as far as the context allows.
    pub(super) recent: VecDeque<String>,
    /// The end of the last record, if that is too long for the context.
    tail: String,
    /// The beginning of the record that was cut off.
    pub(super) open: OpenRecord,
    /// The most bytes of the next record that have arrived, even if they were dropped.
    pub(super) reached: usize,
    pub(super) form: Form,
    /// The text before the first element, without white space between tokens.
    pub(super) opening: String,
    pub(super) requests: u32,
    pub(super) output_tokens: u64,
    /// Bytes of the response up to the end of the last record, without what was repeated.
    pub(super) offset: u64,
    pub(super) is_done: bool,
    /// Bytes of the longest response.
    pub(super) longest: u64,
    /// Whether the next request asks for an overlap, where it could ask for the anchor.
    pub(super) prefers_overlap: bool,
    /// Why the last continuation was dropped.
    #[serde(skip)]
    pub(super) failure: Option<ContinuationFailure>,
}

/// How the records are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Form {
    #[default]
    Lines,
    /// As elements of one array.
    Elements,
}

/// The text that the next response is asked to begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begin<'a> {
    /// The list, from its beginning.
    List,
    /// This many of the last records; the record that was cut off follows, written again.
    Anchor(usize),
    /// The end of the record that was cut off, or of the last one if none was.
    Overlap(&'a str),
}

/// How many records an anchor may have.
const MAX_ANCHOR: usize = 8;
/// A record of fewer bytes is always written again.
const MIN_LONG_RECORD: usize = 1024;
/// Objects that share this many leading bytes are the same object.
const MIN_IDENTITY: usize = 64;

impl Progress {
    /// Adds a delivered record: its text without white space between tokens.
    pub(super) fn deliver(&mut self, text: String, context_bytes: usize) {
        let fingerprint = Fingerprint::of(&text);
        self.records += 1;
        self.chain = self.chain.then(fingerprint);
        if self.head.len() < MAX_ANCHOR {
            self.head.push(fingerprint);
        }
        self.tail.clear();
        if text.len() > context_bytes {
            self.recent.clear();
            self.tail = crate::text::tail(&text, 2 * MAX_OVERLAP).to_owned();
            return;
        }
        self.recent.push_back(text);
        while self.recent.len() > MAX_ANCHOR || self.recent_bytes() > context_bytes {
            self.recent.pop_front();
        }
    }

    /// The text that the next response is asked to begin with.
    pub(super) fn begin(&self) -> Begin<'_> {
        let last = self.recent.back();
        let wants_overlap = self.prefers_overlap || !self.has_anchor();
        let overlap = match self.open.is_empty() {
            true if wants_overlap => self.end_of(last.unwrap_or(&self.tail)),
            false if wants_overlap || self.is_long(self.open.text()) => self.end_of(self.open.text()),
            _ => None,
        };
        match overlap {
            Some(overlap) => Begin::Overlap(overlap),
            None if self.records == 0 => Begin::List,
            None => Begin::Anchor(self.anchor()),
        }
    }

    /// Makes the next request ask in another way than the last one, which failed.
    pub(super) fn ask_otherwise(&mut self, failure: ContinuationFailure) {
        let is_too_short = failure == ContinuationFailure::NothingNew && self.has_anchor();
        match self.begin() {
            // The responses may be too short for the anchor.
            Begin::List | Begin::Anchor(_) if is_too_short && !self.prefers_overlap => {
                self.prefers_overlap = true;
            }
            // The model may not write the same record again. It was not delivered, so another one may replace it.
            Begin::List | Begin::Anchor(_) if (1..MIN_LONG_RECORD).contains(&self.open.len()) => {
                self.open = OpenRecord::default();
            }
            _ => self.prefers_overlap = !self.prefers_overlap,
        }
    }

    /// Whether the last record is short enough to be written again.
    fn has_anchor(&self) -> bool {
        self.records == 0 || self.recent.back().is_some_and(|last| !self.is_long(last))
    }

    /// How many of the last records are enough to prove where a response continues: they are not also the first
    /// records, and are not part of another known record.
    pub(super) fn anchor(&self) -> usize {
        let recent = &self.recent;
        let proves = |count: &usize| {
            let first = &*recent[recent.len() - count];
            let is_within = |text: &String| text.get(1..).is_some_and(|inner| inner.contains(first));
            let is_head = self.records > *count as u64 && self.is_head(*count);
            !is_head && !recent.iter().any(is_within)
        };
        (1..=recent.len()).find(proves).unwrap_or(recent.len())
    }

    /// Whether the list also begins with this many of its last records.
    fn is_head(&self, count: usize) -> bool {
        let last = self.anchor_fingerprints(count);
        self.head.get(..count).is_some_and(|head| head == last)
    }

    pub(super) fn anchor_fingerprints(&self, count: usize) -> Vec<Fingerprint> {
        self.recent.range(self.recent.len() - count..).map(|text| Fingerprint::of(text)).collect()
    }

    /// The end of a text, if it occurs nowhere else in the text or in another known record. A text that is too long to be
    /// written again need not meet this. At most half the text, and a quarter of a response, so that short responses
    /// advance.
    fn end_of<'a>(&self, text: &'a str) -> Option<&'a str> {
        let bare = |text: &str| text.split_ascii_whitespace().collect::<String>();
        let end = crate::text::tail(text, MAX_OVERLAP.min(text.len() / 2).min(self.longest as usize / 4));
        let repeated = bare(end);
        let near = crate::text::tail(text, SEARCH_WINDOW);
        let mut others = self.recent.iter().filter(|recent| **recent != text);
        let is_elsewhere = near.find(end) < Some(near.len() - end.len())
            || others.any(|other| bare(other).contains(&repeated));
        (repeated.len() >= MIN_OVERLAP && (!is_elsewhere || self.is_long(text))).then_some(end)
    }

    /// Whether a record is too long to be written again: it takes half of a response.
    fn is_long(&self, record: &str) -> bool {
        record.len() >= MIN_LONG_RECORD && 2 * record.len() as u64 >= self.longest
    }

    /// Whether a record that begins as the open one does cannot be a part of it.
    pub(super) fn is_distinct(&self, record: &str) -> bool {
        self.open.len() >= MIN_IDENTITY || !(self.recent.is_empty() || self.nests(record))
    }

    /// Whether a known record has an object within it that begins as this record does.
    fn nests(&self, record: &str) -> bool {
        let Some(name) = first_name(record) else { return true };
        let beginning = format!("{{\"{name}\"");
        let contains_it = |text: &str| text.get(1..).is_some_and(|inner| inner.contains(&beginning));
        self.recent.iter().any(|text| contains_it(text))
    }

    /// Whether `open` is a longer beginning of the open record.
    pub(super) fn is_longer(&self, open: &str) -> bool {
        open.len() > self.open.len() && begins_with(open, self.open.text())
    }

    /// Bytes of text that are kept.
    pub(super) fn held_bytes(&self) -> usize {
        self.recent_bytes() + self.tail.len() + self.open.len()
    }

    fn recent_bytes(&self) -> usize {
        self.recent.iter().map(String::len).sum()
    }
}

/// The longest overlap, in bytes.
const MAX_OVERLAP: usize = 200;
/// How much of a text is searched for its end, in bytes.
const SEARCH_WINDOW: usize = 64 * 1024;

/// The beginning of a record, with the parser that has read it.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenRecord(pub(super) Document);

impl OpenRecord {
    pub(super) fn of(text: &str) -> Self {
        let mut document = Document::of(text);
        if document.status() != Status::Open {
            // It is malformed: nothing continues it.
            return Self::default();
        }
        document.commit();
        Self(document)
    }

    pub(super) fn text(&self) -> &str {
        self.0.text()
    }

    pub(super) fn len(&self) -> usize {
        self.text().len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text().is_empty()
    }

    /// Whether this text can continue the record.
    pub(super) fn takes(&self, text: &str) -> bool {
        let mut both = Self::of(self.text()).0;
        both.push_value(text);
        matches!(both.status(), Status::Open | Status::Complete)
    }
}

impl PartialEq for OpenRecord {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Serialize for OpenRecord {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.text())
    }
}

impl<'de> Deserialize<'de> for OpenRecord {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self::of(&text))
    }
}

/// How far a list of records has come: enough to continue it in another process, with
/// [`ContinuationOptions::resume`](crate::ContinuationOptions::resume).
///
/// It has the last records and the open one, within the [context](crate::ContinuationOptions::context_bytes), and
/// fingerprints of the others. Serialize it; its members are not an interface. A checkpoint that is taken between two
/// records continues with the second.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    version: Version,
    #[serde(flatten)]
    pub(crate) progress: Progress,
}

/// The format of a checkpoint. Other versions are not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum Version {
    #[serde(rename = "2")]
    Second,
}

impl Checkpoint {
    pub(super) fn new(progress: Progress) -> Self {
        Self { version: Version::Second, progress }
    }

    /// The number of records delivered.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.progress.records
    }

    /// The number of requests made.
    #[must_use]
    pub fn requests(&self) -> u32 {
        self.progress.requests
    }

    /// The bytes of the list up to the end of the last record, without the repeated parts of responses, and without the
    /// separators in front of records that took several responses.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.progress.offset
    }

    /// Whether the list is complete.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.progress.is_done
    }
}

/// Without the text.
impl fmt::Debug for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checkpoint")
            .field("records", &self.records())
            .field("requests", &self.requests())
            .field("offset", &self.offset())
            .field("is_done", &self.is_done())
            .finish_non_exhaustive()
    }
}
