//! Why a stream of continued answers ended early.

use std::error::Error;
use std::fmt;

use super::ContinuationError;
use crate::AnswerError;
use crate::client::ClientError;

/// Why a stream of records that are continued ended before the answer did.
#[derive(Debug)]
#[non_exhaustive]
pub enum ContinuedError {
    /// A request had no answer: it could not be sent, or was refused.
    Client(ClientError),
    /// An answer ended in a way that asking again does not mend: the provider failed, a filter cut in, or more
    /// was rejected than is allowed.
    Answer(Box<AnswerError<ClientError>>),
    /// It is not continued any further.
    Continuation(ContinuationError),
}

impl fmt::Display for ContinuedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client(error) => error.fmt(f),
            Self::Answer(error) => error.fmt(f),
            Self::Continuation(error) => error.fmt(f),
        }
    }
}

impl Error for ContinuedError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Client(error) => error.source(),
            Self::Answer(error) => error.source(),
            Self::Continuation(error) => error.source(),
        }
    }
}
