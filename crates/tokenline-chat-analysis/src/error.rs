//! Why an answer is none.

use std::error::Error;
use std::fmt;

use tokenline_core::Diagnostic;

/// Why an answer does not pass. Messages tell places and rules, never the texts of the
/// answer. A path names the members that lead to the place.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CheckError {
    /// There is no JSON object in it.
    NoObject(Received),
    /// It was cut off: its end is missing.
    Truncated {
        /// Where.
        diagnostic: Box<Diagnostic>,
        /// What was there until then.
        received: Received,
    },
    /// It is not JSON, or too much of it: nested too deeply, or larger than a record may be.
    Malformed(Box<Diagnostic>),
    /// There is more than one object, or the object is part of something else: an array, a list.
    NotOneObject(Box<Diagnostic>),
    /// It breaks the schema: the place, and the rule.
    Invalid(Box<Diagnostic>),
    /// The response has nothing but white space.
    Blank(Box<Diagnostic>),
    /// It is larger than any answer that passes: more than 8 MiB, which were not read on.
    TooLarge(Received),
}

/// What was there of an answer that did not come whole.
///
/// Nothing of it is shown by [`Debug`](fmt::Debug) but how much it is.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Received {
    /// All of the text.
    pub text: String,
    /// What of it the user may have been shown: the response, as far as it came.
    pub response: String,
}

impl CheckError {
    /// The finding, if it is about a place.
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

    /// JSON Pointer to the value that breaks a rule.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        self.diagnostic()?.instance_path.as_deref()
    }

    /// What was there, if the answer did not come whole.
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
            Self::NoObject(_) => f.write_str("the answer holds no JSON object"),
            Self::Blank(its) => {
                write!(f, "{}:{}: {} (at /response)", its.line, its.column, its.message)
            }
            Self::NotOneObject(its) => write!(f, "{}:{}: {}", its.line, its.column, its.message),
            Self::Truncated { diagnostic, .. } | Self::Malformed(diagnostic) | Self::Invalid(diagnostic) => {
                diagnostic.fmt(f)
            }
            Self::TooLarge(_) => f.write_str("the answer is larger than any that passes"),
        }
    }
}

impl Error for CheckError {}

impl fmt::Debug for Received {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Received({} bytes, {} of the response)", self.text.len(), self.response.len())
    }
}

/// Why a streamed answer did not come, or does not pass.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AnalysisError<E> {
    /// The source failed, or says that what it gave is not whole: a connection that broke, a token limit.
    Source {
        /// What it says.
        error: E,
        /// What was there until then.
        received: Received,
    },
    /// The answer does not pass.
    Check(CheckError),
}

impl<E> AnalysisError<E> {
    /// What was there, if the answer did not come whole.
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
            Self::Source { error, .. } => write!(f, "the answer did not come whole: {error}"),
            Self::Check(error) => error.fmt(f),
        }
    }
}

impl<E: Error + 'static> Error for AnalysisError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            // Its own message is in this one.
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
