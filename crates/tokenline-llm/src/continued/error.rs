//! Why an answer is not continued any further.

use std::error::Error;
use std::fmt;

#[cfg(feature = "client")]
use crate::ResponseError;
#[cfg(feature = "client")]
use crate::client::ClientError;

/// Why an answer that is not whole is not continued any further. What was delivered until then stands, and a
/// [checkpoint](super::Checkpoint) has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ContinuationError {
    /// As many continuations in a row as are allowed brought nothing new.
    NoProgress {
        /// How many.
        failures: u32,
        /// What was wrong with the last one.
        last: ContinuationFailure,
    },
    /// As many requests as are allowed were made.
    TooManyRequests {
        /// How many.
        requests: u32,
    },
    /// As many tokens as are allowed were written.
    TooManyTokens {
        /// How many.
        tokens: u64,
    },
    /// The record that is open is longer than [a record may be](tokenline_core::Limits::line_bytes).
    RecordTooLarge {
        /// How long a record may be, in bytes.
        limit: usize,
    },
    /// The connection broke, and [that](super::ContinuationOptions::after_breaks) is not to be continued.
    Broken,
}

/// Why a continuation brought nothing. Nothing of it was delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ContinuationFailure {
    /// There was nothing new in it: only what had been delivered, or no record at all.
    Nothing,
    /// The answer began again from its beginning, and had not come to what was new when it ended. If that was for a
    /// token limit, a higher one helps.
    StartedOver,
    /// It began again, or repeated something, in other words than before; or before the record that was cut off stood
    /// something else that could not be read; or it went on inside that record with what is no JSON there.
    Diverged,
    /// It can be read in several ways, and nobody can tell which.
    Ambiguous,
}

impl fmt::Display for ContinuationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoProgress { failures, last } => {
                write!(f, "{failures} continuations in a row brought nothing new; the last one {last}")
            }
            Self::TooManyRequests { requests } => {
                write!(f, "the answer is not whole after {requests} requests, and no more are allowed")
            }
            Self::TooManyTokens { tokens } => {
                write!(f, "the answer is not whole after {tokens} tokens, and no more are allowed")
            }
            Self::RecordTooLarge { limit } => {
                write!(f, "the record that was cut off is longer than {limit} bytes, and no record may be")
            }
            Self::Broken => f.write_str("the connection broke within the answer"),
        }
    }
}

impl fmt::Display for ContinuationFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing => "had no new record",
            Self::StartedOver => {
                "started the answer over, and was cut before it came to anything new (a higher token limit may help)"
            }
            Self::Diverged => "repeated the answer in other words, or went on with something else",
            Self::Ambiguous => "can be read in several ways",
        })
    }
}

impl Error for ContinuationError {}

/// Why a stream of records that are continued ended before the answer did.
#[cfg(feature = "client")]
#[derive(Debug)]
#[non_exhaustive]
pub enum ContinuedError {
    /// A request had no answer: it could not be sent, or was refused.
    Client(ClientError),
    /// An answer ended in a way that asking again does not mend: the provider failed, a filter cut in, or more
    /// was rejected than is allowed.
    Answer(Box<ResponseError<ClientError>>),
    /// It is not continued any further.
    Continuation(ContinuationError),
}

#[cfg(feature = "client")]
impl fmt::Display for ContinuedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client(error) => error.fmt(f),
            Self::Answer(error) => error.fmt(f),
            Self::Continuation(error) => error.fmt(f),
        }
    }
}

#[cfg(feature = "client")]
impl Error for ContinuedError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Client(error) => error.source(),
            Self::Answer(error) => error.source(),
            Self::Continuation(error) => error.source(),
        }
    }
}
