//! Errors of a streamed response.

use std::error::Error;
use std::fmt;

use tokenline_codec::StreamError;
use tokenline_core::{Code, Diagnostic, TooManyRejected};

use crate::{FinishReason, ResponseEvent};

/// The reason a response is incomplete. Everything complete was delivered before it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResponseError<E> {
    /// The byte source failed, for example because the connection broke.
    Source(E),
    /// The provider sent an error inside the stream: `data: {"error":{"message":"overloaded"}}`.
    Provider(Box<Diagnostic>),
    /// The source ended cleanly but the response did not: a silent close. For the [text](super::ResponseStream::text),
    /// also: a part of it was unreadable.
    Incomplete(Box<Diagnostic>),
    /// The response ended for a reason that does not prove its [text](super::ResponseStream::text) complete: `length`,
    /// `content_filter`. Only for text: records and calls carry their own evidence.
    Truncated(FinishReason),
    /// There were more rejects than the [error budget](crate::ResponseOptions::error_budget) allows.
    TooManyRejected(TooManyRejected),
}

impl<E> ResponseError<E> {
    /// The error that an event is: a provider failure or an incomplete response. Every other event is returned.
    pub(crate) fn of<T>(event: ResponseEvent<T>) -> Result<ResponseEvent<T>, Self> {
        match event {
            ResponseEvent::Rejected { diagnostic, .. } if diagnostic.code == Code::ProviderError => {
                Err(Self::Provider(Box::new(diagnostic)))
            }
            ResponseEvent::Rejected { diagnostic, .. } if diagnostic.code == Code::StreamIncomplete => {
                Err(Self::Incomplete(Box::new(diagnostic)))
            }
            event => Ok(event),
        }
    }
}

/// Names the error of the source.
impl<E: fmt::Display> fmt::Display for ResponseError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(error) => write!(f, "the source of the response failed: {error}"),
            Self::Provider(diagnostic) => write!(f, "the provider failed: {}", diagnostic.message),
            Self::Incomplete(diagnostic) => write!(f, "the response is incomplete: {}", diagnostic.message),
            Self::Truncated(reason) => {
                write!(f, "the response may be incomplete: the provider ended it with `{reason}`")
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
            // The error itself is named above.
            Self::Source(error) => error.source(),
            Self::Provider(diagnostic) | Self::Incomplete(diagnostic) => Some(&**diagnostic),
            Self::Truncated(_) => None,
            Self::TooManyRejected(error) => error.source(),
        }
    }
}
