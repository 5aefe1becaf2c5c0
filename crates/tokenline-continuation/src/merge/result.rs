//! What came of a merge.

use std::fmt;

use serde::{Serialize, Serializer};

/// What a merge may be told. The fields are public: construct it with `..MergeOptions::default()`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MergeOptions {
    /// How many bytes of overlap the fragment was asked to begin with, if it was: the size of the
    /// [`overlap_context`](crate::Contexts::overlap_context) that was asked for. A fragment that begins with
    /// exactly that is joined there.
    pub requested_overlap: Option<usize>,
    /// A merge with less confidence fails, unless it adds nothing. The default, [`Confidence::Likely`], accepts every
    /// merge.
    pub min_confidence: Confidence,
}

/// How a fragment was joined to its base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// It began with the requested overlap; or, if none was requested, with a tail of the base.
    Exact,
    /// It began with a tail of the base, but not the one that was requested.
    Partial,
    /// It repeated nothing, and is JSON where the base ends.
    NoOverlap,
    /// It began again, with all of the document.
    Restarted,
    /// It began with a tail of the base, but with other white space.
    WhitespaceDiffers,
    /// It was not joined. The base is as it was.
    Failed(MergeFailure),
}

impl Join {
    /// Its name: `exact`, `partial`, `none_but_grammatical`, `restarted`, `respaced` or `failed`.
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
    pub const fn failure(self) -> Option<MergeFailure> {
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

/// Why a fragment was not joined to its base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MergeFailure {
    /// The base is whole: `[1]` and `,2]`.
    BaseComplete,
    /// The base is no JSON: `[1,}` and `2]`.
    BaseMalformed,
    /// The fragment begins as the base does, or with the name of a container that is open, but does not repeat all
    /// of the base: `{"id":17,"a":1,` and `{"id":17,"b":1}`.
    StartedOver,
    /// However it is joined, the text is no JSON: `[1,` and `:2]`.
    NoSeam,
    /// There are several seams: `[1,1` and `,1]`. Requested overlap would tell which is meant.
    Ambiguous,
    /// There is one seam, but it is less sure than was asked for.
    Unproven,
}

impl fmt::Display for MergeFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BaseComplete => "the document is complete already",
            Self::BaseMalformed => "what there is of the document is no JSON",
            Self::StartedOver => "the fragment begins again, but does not repeat all of the document",
            Self::Ambiguous => "the fragment continues the document in several ways: request an overlap",
            Self::Unproven => "the fragment does not prove where it continues the document",
            Self::NoSeam => "the fragment does not continue the document, wherever it is joined",
        })
    }
}

impl std::error::Error for MergeFailure {}

/// How sure it is that the merged text is what was meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// It is the only way to join the fragment that gives JSON. That proves nothing: a fragment that begins elsewhere in the
    /// document may fit as well.
    #[default]
    Likely,
    /// The fragment began with the requested overlap or with all of the document, or the document was empty.
    Certain,
}

impl Confidence {
    /// Its name: `certain` or `likely`.
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

/// What came of merging a fragment into a [`Document`](crate::Document).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergeReport {
    /// How it was joined.
    pub join: Join,
    /// How many bytes of the base the fragment repeated. Of a restart that is the base.
    pub overlap: usize,
    /// How sure that is. Of a failure it is [`Confidence::Certain`].
    pub confidence: Confidence,
    /// How many bytes were appended to the document.
    pub added: usize,
    /// Where in the fragment the document ends, or what there is of it. 0 if it was not joined.
    pub end: usize,
    /// Whether anything but white space between tokens was appended.
    pub has_progress: bool,
}

impl MergeReport {
    pub(crate) fn failed(failure: MergeFailure) -> Self {
        let join = Join::Failed(failure);
        Self { join, overlap: 0, confidence: Confidence::Certain, added: 0, end: 0, has_progress: false }
    }

    /// Whether the fragment repeated any of the base. It may well be joined without.
    #[must_use]
    pub fn has_overlap(&self) -> bool {
        self.overlap > 0
    }
}

/// What came of merging two texts. It serializes as an object of these members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Merge {
    /// The merged text; if it failed, the base.
    pub merged: String,
    /// Whether the fragment repeated any of the base. It may well be joined without.
    pub has_overlap: bool,
    /// How the fragment was joined.
    pub join: Join,
    /// How many bytes of the base the fragment repeated.
    pub overlap: usize,
    /// How sure that is.
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
