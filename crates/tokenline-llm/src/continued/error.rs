//! Why a continued list of records failed.

use std::error::Error;
use std::fmt;

use super::ContinuationError;
use crate::ResponseError;
use crate::client::ClientError;

/// Why a list of records ended before it was complete.
#[derive(Debug)]
#[non_exhaustive]
pub enum ContinuedError {
    /// A request had no response: it could not be sent, or the provider returned an error.
    Client(ClientError),
    /// A response ended for a reason that another request does not change: a provider error, a content filter, or too many
    /// rejects.
    Response(Box<ResponseError<ClientError>>),
    /// The list could not be continued.
    Continuation(ContinuationError),
}

impl fmt::Display for ContinuedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client(error) => error.fmt(f),
            Self::Response(error) => error.fmt(f),
            Self::Continuation(error) => error.fmt(f),
        }
    }
}

impl Error for ContinuedError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Client(error) => error.source(),
            Self::Response(error) => error.source(),
            Self::Continuation(error) => error.source(),
        }
    }
}
