//! What may fail about an answer as a whole.

use std::error::Error;
use std::fmt;

use tokenline_codec::StreamError;
use tokenline_core::{Diagnostic, TooManyRejected};

use crate::FinishReason;

/// Why an answer is not whole. What was complete before was delivered before.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResponseError<E> {
    /// The source of the bytes failed: a connection that broke.
    Source(E),
    /// The provider sent an error inside the stream: `data: {"error":{"message":"overloaded"}}`.
    Provider(Box<Diagnostic>),
    /// The source ended as if that were all, but the provider had not: a silent close. Of the
    /// [text](super::ResponseStream::text), also that a part of it could not be read.
    Incomplete(Box<Diagnostic>),
    /// The provider came to its end, but for a reason that does not prove the
    /// [text](super::ResponseStream::text) to be whole: `length`, `content_filter`. Only of that: a
    /// record or a call says for itself whether it is whole.
    Truncated(FinishReason),
    /// More was rejected than the [error budget](crate::ResponseParser::with_error_budget) allows.
    TooManyRejected(TooManyRejected),
}

impl<E> fmt::Display for ResponseError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(_) => f.write_str("the source of the answer failed"),
            Self::Provider(diagnostic) => write!(f, "the provider failed: {}", diagnostic.message),
            Self::Incomplete(diagnostic) => write!(f, "the answer is incomplete: {}", diagnostic.message),
            Self::Truncated(reason) => {
                write!(f, "the answer may not be whole: the provider ended it with `{reason}`")
            }
            Self::TooManyRejected(error) => error.fmt(f),
        }
    }
}

impl<E> From<StreamError<E>> for ResponseError<E> {
    fn from(error: StreamError<E>) -> Self {
        match error {
            StreamError::TooManyRejected(error) => Self::TooManyRejected(error),
            StreamError::Source(error) => Self::Source(error.into_inner()),
            _ => unreachable!("a stream fails for no other reason"),
        }
    }
}

impl<E: Error + 'static> Error for ResponseError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Source(error) => Some(error),
            Self::Provider(diagnostic) | Self::Incomplete(diagnostic) => Some(&**diagnostic),
            Self::Truncated(_) => None,
            Self::TooManyRejected(error) => error.source(),
        }
    }
}
