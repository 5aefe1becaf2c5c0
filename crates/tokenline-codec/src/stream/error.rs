//! Errors: of the source, and in strict streams of a record.

use std::error::Error;
use std::fmt;

use tokenline_core::{Diagnostic, TooManyRejected};

/// The source of a stream failed. Everything that was complete before has been delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceError<E> {
    offset: u64,
    source: E,
}

impl<E> SourceError<E> {
    pub(super) fn new(offset: u64, source: E) -> Self {
        Self { offset, source }
    }

    /// How many bytes the source had yielded when it failed.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The source's own error.
    #[must_use]
    pub fn inner(&self) -> &E {
        &self.source
    }

    /// The source's own error.
    #[must_use]
    pub fn into_inner(self) -> E {
        self.source
    }
}

/// Names the source's own error.
impl<E: fmt::Display> fmt::Display for SourceError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the source failed after {} bytes: {}", self.offset, self.source)
    }
}

impl<E: Error + 'static> Error for SourceError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        // The error itself is named above.
        self.source.source()
    }
}

/// Why a stream stopped. Everything that was complete before has been delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamError<E> {
    /// The source failed.
    Source(SourceError<E>),
    /// The stream exceeded its [error budget](crate::JsonlStreamParser::with_error_budget).
    TooManyRejected(TooManyRejected),
}

impl<E> StreamError<E> {
    /// The source's own error, if it is one.
    #[must_use]
    pub fn into_source(self) -> Option<E> {
        match self {
            Self::Source(error) => Some(error.into_inner()),
            Self::TooManyRejected(_) => None,
        }
    }
}

impl<E: fmt::Display> fmt::Display for StreamError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(error) => error.fmt(f),
            Self::TooManyRejected(error) => error.fmt(f),
        }
    }
}

impl<E: Error + 'static> Error for StreamError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Source(error) => error.source(),
            Self::TooManyRejected(error) => error.source(),
        }
    }
}

impl<E> From<SourceError<E>> for StreamError<E> {
    fn from(error: SourceError<E>) -> Self {
        Self::Source(error)
    }
}

/// Why a [`StopOnReject`](crate::StopOnReject) stream stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopOnRejectError<E> {
    /// Something was rejected: a line such as `{"a":NaN}`.
    Rejected(Box<Diagnostic>),
    /// The source failed.
    Source(SourceError<E>),
}

impl<E: fmt::Display> fmt::Display for StopOnRejectError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rejected(diagnostic) => diagnostic.fmt(f),
            Self::Source(error) => error.fmt(f),
        }
    }
}

impl<E: Error + 'static> Error for StopOnRejectError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Rejected(diagnostic) => diagnostic.source(),
            Self::Source(error) => error.source(),
        }
    }
}

impl<E> From<SourceError<E>> for StopOnRejectError<E> {
    fn from(error: SourceError<E>) -> Self {
        Self::Source(error)
    }
}
