//! Why a list of records ends before it is complete.

use std::error::Error;
use std::fmt;

/// Why a list of records ends before it is complete. The
/// [checkpoint](super::Checkpoint) has what was delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ContinuationError {
    /// Too many continuations in a row added nothing.
    NoProgress {
        /// How many continuations failed.
        failures: u32,
        /// Why the last one added nothing.
        last: ContinuationFailure,
    },
    /// The maximum number of requests was made.
    TooManyRequests {
        /// How many requests were made.
        requests: u32,
    },
    /// The maximum number of output tokens was reached.
    TooManyTokens {
        /// How many there were.
        tokens: u64,
    },
    /// The open record is longer than [a record may be](tokenline_core::Limits::line_bytes).
    RecordTooLarge {
        /// How long a record may be, in bytes.
        limit: usize,
    },
    /// The connection broke, and the options do not
    /// [continue after that](super::ContinuationOptions::continue_after_disconnect).
    Disconnected,
}

/// Why a continuation was dropped. Nothing of it was delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ContinuationFailure {
    /// It had nothing new: only what had been delivered, or no record at all.
    Nothing,
    /// It started over, and ended before it came to anything new. A higher token limit may help.
    StartedOver,
    /// It did not begin with the requested text, or did not continue it as JSON; or it started over with other records.
    Diverged,
    /// It can be read in two ways.
    Ambiguous,
}

impl fmt::Display for ContinuationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoProgress { failures, last } => {
                write!(f, "{failures} continuations in a row added nothing; the last one {last}")
            }
            Self::TooManyRequests { requests } => {
                write!(f, "the response is still incomplete after {requests} requests, the maximum")
            }
            Self::TooManyTokens { tokens } => {
                write!(f, "the response is still incomplete after {tokens} output tokens, the maximum")
            }
            Self::RecordTooLarge { limit } => {
                write!(f, "the truncated record is longer than {limit} bytes, the maximum")
            }
            Self::Disconnected => f.write_str("the connection broke during the response"),
        }
    }
}

impl Error for ContinuationError {}

impl fmt::Display for ContinuationFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing => "had no new record",
            Self::StartedOver => {
                "started the response over, and was cut off before anything new (a higher token limit may help)"
            }
            Self::Diverged => "did not begin with the requested text, or did not continue it",
            Self::Ambiguous => "can be merged in several ways",
        })
    }
}
