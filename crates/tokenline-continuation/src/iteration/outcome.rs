//! What a response leads to.

use std::fmt;

use tokenline_core::json::SyntaxError;

use crate::merge::{MergeFailure, MergeReport};

/// What to do after a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Send the next request.
    Continue(Progress),
    /// The document is there.
    Finished(Finished),
    /// There is none, and no more is tried.
    Failed(IterationError),
}

/// What a response brought that did not end it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The first part of the document.
    Began,
    /// More of it.
    Merged(MergeReport),
    /// Nothing: the next request asks for the same again.
    Retry(StepFailure),
}

/// The document, and how it came about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The JSON text, as the model wrote it: numbers, escapes and the order of members are untouched, prose
    /// and fences are left out.
    pub document: String,
    /// How.
    pub finish: Finish,
}

/// How an iteration came to its document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The model finished it.
    Complete,
    /// It is what was whole when too many responses in a row failed. The last failure.
    AfterFailures(StepFailure),
    /// It is what was whole when the bound on requests was reached.
    AfterTooManyRequests,
    /// It is what was whole before a response that could make it larger than
    /// [`max_bytes`](super::IterationOptions::max_bytes).
    TooLarge,
}

impl Finish {
    /// Whether all of the document is there.
    #[must_use]
    pub const fn is_complete(self) -> bool {
        matches!(self, Self::Complete)
    }
}

/// Why a response was of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StepFailure {
    /// A first response in which no JSON value begins, or one without anything whole: `tru`.
    NoJson,
    /// A first response that is malformed before its end.
    Malformed(SyntaxError),
    /// A continuation that could not be merged.
    Merge(MergeFailure),
    /// A continuation that added nothing, or white space.
    NoProgress,
}

impl fmt::Display for StepFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoJson => f.write_str("the response holds no JSON value"),
            Self::Malformed(_) => f.write_str("the response is malformed before its end"),
            Self::Merge(_) => f.write_str("the response could not be merged"),
            Self::NoProgress => f.write_str("the response added nothing to the document"),
        }
    }
}

impl std::error::Error for StepFailure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Malformed(error) => Some(error),
            Self::Merge(failure) => Some(failure),
            Self::NoJson | Self::NoProgress => None,
        }
    }
}

/// Why an iteration ended without a document: nothing of it was ever whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IterationError {
    /// Too many responses in a row failed; the last failure.
    Failures(StepFailure),
    /// The bound on requests was reached.
    TooManyRequests,
    /// A response was larger than [`max_bytes`](super::IterationOptions::max_bytes), or would have made the document so.
    TooLarge,
}

impl fmt::Display for IterationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Failures(_) => "too many responses in a row were of no use, and nothing is whole yet",
            Self::TooManyRequests => "too many requests were made, and nothing is whole yet",
            Self::TooLarge => "a response was larger than a document may be, and nothing is whole yet",
        })
    }
}

impl std::error::Error for IterationError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Failures(failure) => Some(failure),
            Self::TooManyRequests | Self::TooLarge => None,
        }
    }
}
