//! Errors of responses.

use std::error::Error;
use std::fmt;

use tokenline_core::Diagnostic;

/// The reason a response was rejected. Messages name positions and rules, never the response's texts; paths contain
/// member names.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CheckError {
    /// The text contains no JSON object.
    NoObject(Received),
    /// The response was cut off.
    Truncated {
        /// The position of the cut.
        diagnostic: Box<Diagnostic>,
        /// The text received until then.
        received: Received,
    },
    /// The text is not JSON, or exceeds a limit: nesting or record size.
    Malformed(Box<Diagnostic>),
    /// There are several objects, or the object is inside other JSON, such as an array.
    NotOneObject(Box<Diagnostic>),
    /// The object violates the schema: position and rule.
    Invalid(Box<Diagnostic>),
    /// The `response` text is blank.
    Blank(Box<Diagnostic>),
    /// The response exceeds 8 MiB, far more than any valid one. The rest was not read.
    TooLarge(Received),
}

/// The received part of an incomplete response.
///
/// [`Debug`](fmt::Debug) only shows its size.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Received {
    /// The complete received text.
    pub text: String,
    /// The part that may have been shown to the user: the `response` text received so far.
    pub response: String,
}

impl CheckError {
    /// The diagnostic, if the error has a position.
    #[must_use]
    pub fn diagnostic(&self) -> Option<&Diagnostic> {
        match self {
            Self::Truncated { diagnostic, .. }
            | Self::Malformed(diagnostic)
            | Self::NotOneObject(diagnostic)
            | Self::Invalid(diagnostic)
            | Self::Blank(diagnostic) => Some(diagnostic),
            Self::NoObject(_) | Self::TooLarge(_) => None,
        }
    }

    /// JSON Pointer to the value that violates a rule.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        self.diagnostic()?.instance_path.as_deref()
    }

    /// The received part, if the response is incomplete.
    #[must_use]
    pub fn received(&self) -> Option<&Received> {
        match self {
            Self::NoObject(received) | Self::TooLarge(received) | Self::Truncated { received, .. } => {
                Some(received)
            }
            _ => None,
        }
    }
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoObject(_) => f.write_str("the response contains no JSON object"),
            Self::Blank(diagnostic) => {
                write!(f, "{}:{}: {} (at /response)", diagnostic.line, diagnostic.column, diagnostic.message)
            }
            Self::NotOneObject(diagnostic) => {
                write!(f, "{}:{}: {}", diagnostic.line, diagnostic.column, diagnostic.message)
            }
            Self::Truncated { diagnostic, .. } | Self::Malformed(diagnostic) | Self::Invalid(diagnostic) => {
                diagnostic.fmt(f)
            }
            Self::TooLarge(_) => f.write_str("the response exceeds the limit of 8 MiB"),
        }
    }
}

impl Error for CheckError {}

impl fmt::Debug for Received {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Received({} bytes, {} of the response)", self.text.len(), self.response.len())
    }
}

/// The reason a streamed response failed or was rejected.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AnalysisError<E> {
    /// The source failed, or reports an incomplete text: a broken connection, the token limit.
    Source {
        /// The error of the source.
        error: E,
        /// The text received until then.
        received: Received,
    },
    /// The response was rejected.
    Check(CheckError),
}

impl<E> AnalysisError<E> {
    /// The received part, if the response is incomplete.
    #[must_use]
    pub fn received(&self) -> Option<&Received> {
        match self {
            Self::Source { received, .. } => Some(received),
            Self::Check(error) => error.received(),
        }
    }
}

impl<E: fmt::Display> fmt::Display for AnalysisError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source { error, .. } => write!(f, "the response is incomplete: {error}"),
            Self::Check(error) => error.fmt(f),
        }
    }
}

impl<E: Error + 'static> Error for AnalysisError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            // The message above already includes the error's own.
            Self::Source { error, .. } => error.source(),
            Self::Check(error) => error.source(),
        }
    }
}

impl<E> From<CheckError> for AnalysisError<E> {
    fn from(error: CheckError) -> Self {
        Self::Check(error)
    }
}
