//! The options and the result of a merge.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::error::ContinuationFailure;

/// Options of a merge. The fields are public: construct it with `..MergeOptions::default()`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MergeOptions {
    /// The length of the requested overlap in bytes, if one was requested: that of the
    /// [`overlap_context`](crate::Contexts::overlap_context). A fragment that begins with exactly that is joined after it.
    pub requested_overlap: Option<usize>,
    /// A merge with less confidence fails, unless it adds nothing. The default, [`Confidence::Likely`], accepts every
    /// merge.
    pub min_confidence: Confidence,
}

/// How a fragment was joined to its base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// It began with the requested overlap; or, if none was requested, with an end of the base.
    Exact,
    /// It began with an end of the base, but not with the requested overlap.
    Partial,
    /// It repeated nothing, and continues the base as valid JSON.
    NoOverlap,
    /// It started over, and repeated the whole document.
    Restarted,
    /// It began with an end of the base, with different white space.
    WhitespaceDiffers,
    /// It was not joined. The base is unchanged.
    Failed(ContinuationFailure),
}

impl Join {
    /// The name: `exact`, `partial`, `none_but_grammatical`, `restarted`, `respaced` or `failed`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Partial => "partial",
            Self::NoOverlap => "none_but_grammatical",
            Self::Restarted => "restarted",
            Self::WhitespaceDiffers => "respaced",
            Self::Failed(_) => "failed",
        }
    }

    /// Why it was not joined, if it was not.
    #[must_use]
    pub const fn failure(self) -> Option<ContinuationFailure> {
        match self {
            Self::Failed(failure) => Some(failure),
            _ => None,
        }
    }
}

impl fmt::Display for Join {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How certain it is that the fragment was joined at the right position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// There is only one way to join the fragment that gives valid JSON. This is not proof: a fragment that begins
    /// elsewhere in the document may fit as well.
    #[default]
    Likely,
    /// The fragment began with the requested overlap or with all of the document, or the document was empty.
    Certain,
}

impl Confidence {
    /// The name: `certain` or `likely`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Certain => "certain",
            Self::Likely => "likely",
        }
    }
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The result of merging a fragment into a [`Document`](crate::Document).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergeReport {
    /// How the fragment was joined.
    pub join: Join,
    /// How many bytes of the base the fragment repeated: after a restart, all of them.
    pub overlap: usize,
    /// The confidence of the join. [`Confidence::Certain`] for a failure.
    pub confidence: Confidence,
    /// How many bytes were appended to the document.
    pub added: usize,
    /// The position in the fragment up to which it belongs to the document. 0 if it was not joined.
    pub end: usize,
    /// Whether anything but white space between tokens was appended.
    pub has_progress: bool,
}

impl MergeReport {
    pub(crate) fn failed(failure: ContinuationFailure) -> Self {
        let join = Join::Failed(failure);
        Self { join, overlap: 0, confidence: Confidence::Certain, added: 0, end: 0, has_progress: false }
    }

    /// Whether the fragment repeated any of the base. It may be joined without an overlap.
    #[must_use]
    pub fn has_overlap(&self) -> bool {
        self.overlap > 0
    }
}

/// The result of merging two texts. It serializes as an object of these members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Merge {
    /// The merged text; if it failed, the base.
    pub merged: String,
    /// Whether the fragment repeated any of the base. It may be joined without an overlap.
    pub has_overlap: bool,
    /// How the fragment was joined.
    pub join: Join,
    /// How many bytes of the base the fragment repeated.
    pub overlap: usize,
    /// The confidence of the join.
    pub confidence: Confidence,
}

impl Serialize for Join {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl Serialize for Confidence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
