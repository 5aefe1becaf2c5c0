//! Why an answer is not continued any further.

use std::error::Error;
use std::fmt;

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
    /// The connection broke, and [that](super::Continuation::after_breaks) is not to be continued.
    Broken,
}

/// Why a continuation brought nothing. Nothing of it was delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ContinuationFailure {
    /// There was nothing new in it: only what had been delivered, or no record at all.
    Nothing,
    /// It began again, or repeated something, in other words than before; or before the record that was cut off stood
    /// something else that could not be read.
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
            Self::Broken => f.write_str("the connection broke within the answer"),
        }
    }
}

impl fmt::Display for ContinuationFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing => "had no new record",
            Self::Diverged => "repeated the answer in other words",
            Self::Ambiguous => "can be read in several ways",
        })
    }
}

impl Error for ContinuationError {}
