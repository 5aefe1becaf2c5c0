//! What may fail about an answer as a whole.

use std::error::Error;
use std::fmt;

use tokenline_core::Diagnostic;

/// Why an answer is not whole. What was complete before was delivered before.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnswerError<E> {
    /// The source of the bytes failed: a connection that broke.
    Source(E),
    /// The provider sent an error inside the stream: `data: {"error":{"message":"overloaded"}}`.
    Provider(Box<Diagnostic>),
    /// The source ended as if that were all, but the provider had not: a silent close.
    Incomplete(Box<Diagnostic>),
}

impl<E> fmt::Display for AnswerError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(_) => f.write_str("the source of the answer failed"),
            Self::Provider(diagnostic) => write!(f, "the provider failed: {}", diagnostic.message),
            Self::Incomplete(diagnostic) => write!(f, "the answer is incomplete: {}", diagnostic.message),
        }
    }
}

impl<E: Error + 'static> Error for AnswerError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Source(error) => Some(error),
            Self::Provider(diagnostic) | Self::Incomplete(diagnostic) => Some(&**diagnostic),
        }
    }
}
