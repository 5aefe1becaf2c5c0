//! Why a continued list or document failed.

use std::error::Error;
use std::fmt;

use tokenline_core::Diagnostic;

use super::ContinuationError;
use crate::ResponseError;
use crate::client::ClientError;

/// Why a continued list or document ended before it was complete. What arrived is kept by the stream or document.
#[derive(Debug)]
#[non_exhaustive]
pub enum ContinuedError {
    /// A request had no response: it could not be sent, or the provider returned an error.
    Client(ClientError),
    /// A response ended for a reason that another request does not change: a provider error, a content filter, or too many
    /// rejects.
    Response(Box<ResponseError<ClientError>>),
    /// The list or document could not be continued.
    Continuation(ContinuationError),
    /// The complete document breaks a rule of a validator, or does not fit its type.
    Invalid(Box<Diagnostic>),
}

impl fmt::Display for ContinuedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client(error) => error.fmt(f),
            Self::Response(error) => error.fmt(f),
            Self::Continuation(error) => error.fmt(f),
            Self::Invalid(diagnostic) => write!(f, "the document is invalid: {diagnostic}"),
        }
    }
}

impl Error for ContinuedError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Client(error) => error.source(),
            Self::Response(error) => error.source(),
            Self::Continuation(error) => error.source(),
            Self::Invalid(_) => None,
        }
    }
}
