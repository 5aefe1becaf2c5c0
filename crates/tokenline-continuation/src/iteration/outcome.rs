//! The outcome of each response, and of an iteration.

use std::fmt;

use tokenline_core::json::SyntaxError;

use crate::merge::{MergeFailure, MergeReport};

/// The decision after a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Send the next request.
    Continue(Progress),
    /// The document is available: complete, or its complete part.
    Finished(Finished),
    /// There is no document, and no further request is made.
    Failed(IterationError),
}

/// The effect of a response that did not end the iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The first part of the document.
    Began,
    /// A continuation of the document.
    Merged(MergeReport),
    /// No effect: the next request is the same.
    Retry(StepFailure),
}

/// The document, and how the iteration ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The JSON text, as the model wrote it: numbers, escapes and the order of members are untouched, prose
    /// and fences are left out.
    pub document: String,
    /// How the iteration ended.
    pub finish: Finish,
}

/// How an iteration with a document ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The model finished it.
    Complete,
    /// The document is the complete part: too many responses in a row failed, the last one for this reason.
    AfterFailures(StepFailure),
    /// The document is the complete part: the maximum number of requests was reached.
    AfterTooManyRequests,
    /// The document is the complete part before a response that could exceed
    /// [`max_bytes`](super::IterationOptions::max_bytes).
    TooLarge,
}

impl Finish {
    /// Whether the document is complete.
    #[must_use]
    pub const fn is_complete(self) -> bool {
        matches!(self, Self::Complete)
    }
}

/// Why a response was not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StepFailure {
    /// A first response without a JSON value, or without a complete part: `tru`.
    NoJson,
    /// A first response that is malformed before its end.
    Malformed(SyntaxError),
    /// A continuation that could not be merged.
    Merge(MergeFailure),
    /// A continuation that added nothing, or only white space.
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

/// Why an iteration ended without a document: no response had a complete part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IterationError {
    /// Too many responses in a row failed; the last failure.
    Failures(StepFailure),
    /// The maximum number of requests was reached.
    TooManyRequests,
    /// A response was larger than [`max_bytes`](super::IterationOptions::max_bytes), or would have made the document so.
    TooLarge,
}

impl fmt::Display for IterationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Failures(_) => {
                "too many responses in a row were unusable, and no part of the document is complete"
            }
            Self::TooManyRequests => {
                "the maximum number of requests was made, and no part of the document is complete"
            }
            Self::TooLarge => {
                "a response was larger than a document may be, and no part of the document is complete"
            }
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
