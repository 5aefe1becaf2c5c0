//! Joining a fragment to the document that it continues.
//!
//! A join point is a position in the fragment from which it may continue the document: after the overlap with the
//! document's end, or at its beginning if there is no overlap. A join point fits if the parser, in its state at the
//! document's end, can read the fragment from there.

mod join_points;
mod result;
mod stand_in;

use crate::document::{Document, Status};
use crate::error::ContinuationFailure;
use crate::text::is_space;

pub use result::{Confidence, Join, Merge, MergeOptions, MergeReport};

/// Merges a fragment with the base that it continues.
///
/// Fences and prose around both are left out. Takes time in proportion to both; to merge many fragments
/// one after the other, keep a [`Document`].
///
/// ```
/// use tokenline_continuation::{Confidence, Join, MergeOptions, merge};
///
/// let fragment = "```json\n{\"rows\":[{\"id\":1},{\"id\":2},{\"id\":3}]}\n```";
/// let merged = merge(r#"{"rows":[{"id":1},{"id":2},{"i"#, fragment, &MergeOptions::default());
/// assert_eq!(merged.merged, r#"{"rows":[{"id":1},{"id":2},{"id":3}]}"#);
/// assert_eq!((merged.join, merged.confidence), (Join::Restarted, Confidence::Certain));
///
/// // How much of this is repeated cannot be known, unless it was requested.
/// let failed = merge("[1,1,1,1", ",1,1,1]", &MergeOptions::default());
/// assert_eq!((failed.join.as_str(), failed.merged.as_str()), ("failed", "[1,1,1,1"));
/// let options = MergeOptions { requested_overlap: Some(6), ..MergeOptions::default() };
/// assert_eq!(merge("[1,1,1,1", ",1,1,1]", &options).merged, "[1,1,1,1]");
/// ```
#[must_use]
pub fn merge(base: &str, fragment: &str, options: &MergeOptions) -> Merge {
    let mut document = Document::of(base);
    let report = document.merge(fragment, options);
    let MergeReport { join, overlap, confidence, .. } = report;
    let merged = match join {
        Join::Failed(_) => base.to_owned(),
        _ => document.into_text(),
    };
    Merge { merged, has_overlap: report.has_overlap(), join, overlap, confidence }
}

impl Document {
    /// Merges a fragment that continues the document. If it fails, the document is unchanged.
    ///
    /// Takes time in proportion to the fragment and to how deep the document is nested at its cut, not to the document's
    /// length. If the cut is inside a string or number, its bytes may be read once more. If no JSON has begun, the fragment
    /// becomes the document, provided JSON begins in it.
    ///
    /// ```
    /// use tokenline_continuation::{Document, MergeOptions};
    ///
    /// let mut document = Document::of(r#"{"text":"It was the best of ti"#);
    /// let overlap = document.overlap(10).len();
    /// let options = MergeOptions { requested_overlap: Some(overlap), ..MergeOptions::default() };
    /// let report = document.merge("best of times\"}", &options);
    /// assert_eq!((report.join.as_str(), report.overlap), ("exact", 10));
    /// assert_eq!(document.text(), r#"{"text":"It was the best of times"}"#);
    /// ```
    pub fn merge(&mut self, fragment: &str, options: &MergeOptions) -> MergeReport {
        match self.status() {
            Status::Empty => return self.begin(fragment),
            Status::Malformed(_) => return MergeReport::failed(ContinuationFailure::BaseMalformed),
            Status::Open | Status::Complete => {}
        }
        let Some(cut) = self.cut() else { return MergeReport::failed(ContinuationFailure::BaseComplete) };
        let found = join_points::find(self, cut, fragment, options.requested_overlap.unwrap_or(0));
        let join_points::MergePlan { range, overlap, join, confidence } = match found {
            Ok(found) => found,
            Err(failure) => return MergeReport::failed(failure),
        };
        let new = &fragment[range.clone()];
        let has_progress = !(new.is_empty() || cut.token.is_none() && new.bytes().all(is_space));
        if has_progress && confidence < options.min_confidence {
            return MergeReport::failed(ContinuationFailure::Unproven);
        }
        if has_progress {
            self.commit();
            self.push(new);
        }
        let added = if has_progress { new.len() } else { 0 };
        MergeReport { join, overlap, confidence, added, end: range.end, has_progress }
    }

    /// The JSON text, possibly truncated, without the prose and fences around it.
    #[must_use]
    pub fn into_text(self) -> String {
        if self.start == 0 && self.text().len() == self.raw.len() { self.raw } else { self.text().to_owned() }
    }

    fn begin(&mut self, fragment: &str) -> MergeReport {
        let before = self.raw.len();
        self.push(fragment);
        let failure = match self.status() {
            Status::Empty => Some(ContinuationFailure::NoJson),
            Status::Malformed(fault) => Some(ContinuationFailure::Malformed(fault)),
            Status::Open | Status::Complete => None,
        };
        if let Some(failure) = failure {
            let raw = self.raw[..before].to_owned();
            *self = Self::of(&raw);
            return MergeReport::failed(failure);
        }
        let (join, confidence) = (Join::NoOverlap, Confidence::Certain);
        let added = self.text().len();
        let end = (self.start + added).saturating_sub(before);
        MergeReport { join, overlap: 0, confidence, added, end, has_progress: true }
    }
}
