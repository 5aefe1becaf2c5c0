//! The ways in: two texts, or a document and a fragment.

use super::base::Base;
use super::check::Check;
use super::find::{STARTS_OVER, Seams, requested};
use super::noise::{beginnings, behind_prose};
use super::result::{Confidence, Join, Merge, MergeFailure, MergeOptions, MergeReport};
use super::seam::{How, Seam};
use super::weigh::{Chosen, choose};
use crate::document::{Document, Status};
use crate::text::{is_space, tail, trim_end};

/// Merges a fragment with the base that it continues.
///
/// Fences and prose around both are left out. Takes time in proportion to both; to merge many fragments
/// one after the other, keep a [`Document`].
///
/// ```
/// use tokenline_continuation::{Confidence, Join, merge};
///
/// let merged = merge(r#"{"rows":[{"id":1},{"id":2},{"i"#, r#"```json
/// {"rows":[{"id":1},{"id":2},{"id":3}]}
/// ```"#);
/// assert_eq!(merged.merged, r#"{"rows":[{"id":1},{"id":2},{"id":3}]}"#);
/// assert_eq!((merged.join, merged.confidence), (Join::Restarted, Confidence::Likely));
///
/// let failed = merge("[1,", ":2]");
/// assert_eq!((failed.join.as_str(), failed.merged.as_str()), ("failed", "[1,"));
/// ```
#[must_use]
pub fn merge(base: &str, fragment: &str) -> Merge {
    merge_with(base, fragment, &MergeOptions::default())
}

/// As [`merge`], told what was asked of the fragment.
///
/// ```
/// use tokenline_continuation::{Confidence, MergeOptions, merge_with};
///
/// let options = MergeOptions { requested_overlap: Some(4), ..MergeOptions::default() };
/// let merged = merge_with("[1,1,1,1", "1,1,1]", &options);
/// assert_eq!(merged.merged, "[1,1,1,1,1]");
/// # assert_eq!(merge_with("[1,1,1,1", ",1,1,1]", &options).merged, "[1,1,1,1,1]");
/// # assert_eq!(merge_with("[1,1,1,1", ",1,1,1]", &options).confidence, Confidence::Certain);
/// ```
#[must_use]
pub fn merge_with(base: &str, fragment: &str, options: &MergeOptions) -> Merge {
    let mut document = Document::of(base);
    let MergeReport { join, overlap, confidence, .. } = document.merge(fragment, options);
    let merged = match join {
        Join::Failed(_) => base.to_owned(),
        _ => document.into_text(),
    };
    Merge { merged, join, overlap, confidence }
}

impl Document {
    /// Merges a fragment that continues the document. If that fails the document is as it was.
    ///
    /// Takes time in proportion to the fragment and to how deep the document is nested at its cut, not to
    /// the document's length. A document in which no JSON has begun takes the fragment as it is, if JSON begins
    /// in that.
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
        self.join_or_restore(fragment, options, false)
    }

    /// The same, but what does not prove where it belongs fails, and what brings no progress is not appended.
    pub(crate) fn merge_proven(&mut self, fragment: &str, options: &MergeOptions) -> MergeReport {
        self.join_or_restore(fragment, options, true)
    }

    /// Joins, unless what follows shows that the value was prose: `see [` and then `1]`. Then nothing was joined.
    fn join_or_restore(&mut self, fragment: &str, options: &MergeOptions, only_proven: bool) -> MergeReport {
        /// What is as long as this is no bracket in a sentence.
        const MAX_PROSE: usize = 64 * 1024;
        let before = (self.text().len() <= MAX_PROSE && self.status() == Status::Open).then(|| self.clone());
        let report = self.join(fragment, options, only_proven);
        match before {
            Some(before) if self.status() != Status::Empty && self.text().starts_with(before.text()) => {
                report
            }
            Some(before) => {
                *self = before;
                MergeReport::failed(MergeFailure::NoSeam)
            }
            None => report,
        }
    }

    fn join(&mut self, fragment: &str, options: &MergeOptions, only_proven: bool) -> MergeReport {
        match self.status() {
            Status::Empty => return self.begin(fragment),
            Status::Malformed(_) => return MergeReport::failed(MergeFailure::BaseMalformed),
            Status::Open | Status::Complete => {}
        }
        let Some(base) = Base::new(self) else { return MergeReport::failed(MergeFailure::BaseComplete) };
        let requested_overlap = options.requested_overlap.filter(|&bytes| bytes > 0);
        let (chosen, is_requested) =
            match find(&base, fragment, &MergeOptions { requested_overlap, ..*options }) {
                Ok(found) => found,
                Err(failure) => return MergeReport::failed(failure),
            };
        let Chosen { seam, verdict, confidence } = chosen;
        if confidence < options.min_confidence {
            return MergeReport::failed(MergeFailure::Unsure);
        }
        let join = match seam.how {
            How::Plain if is_requested => Join::Exact,
            How::Plain if seam.overlap == 0 => Join::NoOverlap,
            How::Plain if requested_overlap.is_some() => Join::Partial,
            How::Plain => Join::Exact,
            How::WhitespaceDiffers => Join::WhitespaceDiffers,
            How::Restarted | How::Reopened => Join::Restarted,
        };
        if only_proven && !is_proven(&base, join, &seam, confidence, requested_overlap) {
            return MergeReport::failed(MergeFailure::Unsure);
        }
        let new = &fragment[seam.start..verdict.end];
        let has_progress = !(new.is_empty() || base.is_between_tokens() && new.bytes().all(is_space));
        let overlap = seam.overlap;
        if only_proven && !has_progress {
            return MergeReport { join, overlap, confidence, added: 0, end: verdict.end, has_progress };
        }
        self.drop_what_follows();
        if seam.comma {
            self.raw.push(',');
        }
        self.push(new);
        debug_assert!(!matches!(self.status(), Status::Malformed(_)), "the stand-in stands for the base");
        let added = new.len() + usize::from(seam.comma);
        MergeReport { join, overlap, confidence, added, end: verdict.end, has_progress }
    }

    /// The JSON text alone, cut where it was cut.
    #[must_use]
    pub fn into_text(self) -> String {
        if self.start == 0 && self.text().len() == self.raw.len() { self.raw } else { self.text().to_owned() }
    }

    fn begin(&mut self, fragment: &str) -> MergeReport {
        let before = self.raw.len();
        self.push(fragment);
        if let Status::Malformed(_) | Status::Empty = self.status() {
            let raw = self.raw[..before].to_owned();
            *self = Self::of(&raw);
            return MergeReport::failed(MergeFailure::NoSeam);
        }
        let added = self.text().len();
        let join = Join::NoOverlap;
        let (confidence, end) = (Confidence::Certain, fragment.len());
        MergeReport { join, overlap: 0, confidence, added, end, has_progress: true }
    }
}

/// The seam, and whether it is the requested one.
fn find(base: &Base<'_>, fragment: &str, options: &MergeOptions) -> Result<(Chosen, bool), MergeFailure> {
    let mut check = Check::new(base, options.behind);
    let requested_overlap = options.requested_overlap;
    let overlap = requested_overlap.unwrap_or(0);
    let beginnings = beginnings(fragment);
    let mut exact = |from| {
        let seam = requested(base, fragment, from, overlap)?;
        let verdict = check.seam(fragment, &seam, usize::MAX)?;
        Some((Chosen { seam, verdict, confidence: Confidence::Certain }, true))
    };
    if let Some(found) = beginnings.iter().find_map(|&from| exact(from)) {
        return Ok(found);
    }
    let mut seams = Seams::new();
    for &from in &beginnings {
        seams.find(base, fragment, from);
    }
    let is_requested = requested_overlap.is_some();
    if let Some(chosen) = choose(base, &mut check, fragment, &seams, is_requested) {
        return Ok((chosen, false));
    }
    // Behind prose, of which as little as possible is taken for JSON.
    let behind_prose = behind_prose(fragment, tail(base.text, overlap));
    let mut exact = |from| {
        let seam = requested(base, fragment, from, overlap)?;
        let verdict = check.seam(fragment, &seam, usize::MAX)?;
        Some((Chosen { seam, verdict, confidence: Confidence::Certain }, true))
    };
    if let Some(found) = behind_prose.iter().find_map(|&from| exact(from)) {
        return Ok(found);
    }
    for from in behind_prose {
        let mut seams = Seams::new();
        seams.find(base, fragment, from);
        if let Some(mut chosen) = choose(base, &mut check, fragment, &seams, is_requested) {
            // There may be more in the prose than was looked for.
            chosen.confidence = chosen.confidence.min(Confidence::Likely);
            return Ok((chosen, false));
        }
    }
    Err(if seams.agreed >= STARTS_OVER { MergeFailure::OtherDocument } else { MergeFailure::NoSeam })
}

/// Whether a fragment proves where it belongs: it begins with the overlap that was asked for, white space between tokens
/// apart; or repeats all of the document; or goes on behind its last token, where nothing else is JSON.
fn is_proven(
    base: &Base<'_>,
    join: Join,
    seam: &Seam,
    confidence: Confidence,
    requested_overlap: Option<usize>,
) -> bool {
    match join {
        Join::Exact => requested_overlap.is_some(),
        Join::WhitespaceDiffers => requested_overlap.is_some_and(|requested| seam.overlap >= requested),
        Join::Restarted => seam.how == How::Restarted && seam.overlap >= trim_end(base.text).len(),
        // What goes on with a number is never certain.
        Join::NoOverlap => confidence == Confidence::Certain && !base.is_in_string(),
        Join::Partial | Join::Failed(_) => false,
    }
}
