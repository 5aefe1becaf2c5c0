//! The record that was cut off, as far as it came.

use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};
use tokenline_continuation::{Document, Join, MergeOptions, MergeReport, Status};

/// The beginning of a record, with the parser that has read it: what is added is read once, however long it is by
/// then.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenRecord(Document);

/// Most bytes of its end that a response is asked to begin with.
const LONGEST_OVERLAP: usize = 200;
/// A record that is shorter is not gone on with inside.
const SHORTEST: usize = 64;

impl OpenRecord {
    pub(super) fn of(text: &str) -> Self {
        Self(Document::of(text))
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

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// All of it, and nothing is left.
    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.0).into_text()
    }

    /// What a response that is to go on inside it is asked to begin with: at most half of it, so that short responses
    /// get on as well. `None` if it is too short for that.
    pub(super) fn overlap(&self, quote_bytes: usize) -> Option<&str> {
        let overlap = self.0.overlap(LONGEST_OVERLAP.min(quote_bytes).min(self.len() / 2));
        (self.len() >= SHORTEST && overlap.len() >= SHORTEST / 4).then_some(overlap)
    }

    /// What there is of it, within so many bytes, with marks for what is left out.
    pub(super) fn outline(&self, bytes: usize) -> std::borrow::Cow<'_, str> {
        self.0.outline(bytes)
    }

    /// Adds what follows it, up to its end: where in the text that is, if it is there.
    pub(super) fn push(&mut self, text: &str) -> Option<usize> {
        self.0.push_value(text)
    }

    /// Whether what was added is no JSON.
    pub(super) fn is_malformed(&self) -> bool {
        !matches!(self.0.status(), Status::Open | Status::Complete)
    }

    pub(super) fn is_whole(&self) -> bool {
        self.0.status() == Status::Complete
    }

    /// Joins a fragment, if there is one way to do so.
    pub(super) fn merge(&mut self, fragment: &str, options: &MergeOptions) -> MergeReport {
        self.0.merge(fragment, options)
    }

    /// Says that it ends with what the response begins with: what stood behind it, such as the end of a fence, goes.
    pub(super) fn go_on(&mut self, overlap: &str) -> bool {
        let requested_overlap = Some(overlap.len());
        let join = self.0.merge(overlap, &MergeOptions { requested_overlap, ..MergeOptions::default() }).join;
        join == Join::Exact
    }

    /// Whether the text may follow it, with nothing repeated: where it ends in the text, if it does.
    pub(super) fn takes(&self, text: &str) -> Option<Option<usize>> {
        let mut both = Self::of(self.text());
        let end = both.push(text);
        (!both.is_malformed()).then_some(end)
    }

    /// Takes back what was added behind that length.
    pub(super) fn truncate(&mut self, len: usize) {
        *self = Self::of(self.text().get(..len).unwrap_or_default());
    }
}

impl PartialEq for OpenRecord {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Serialize for OpenRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.text())
    }
}

impl<'de> Deserialize<'de> for OpenRecord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self::of(&text))
    }
}
