//! Why a continuation ends before everything is complete, and why a single response is not used.

use std::error::Error;
use std::fmt;

use tokenline_core::json::SyntaxError;

/// Why a list or document ends before it is complete. What has arrived is kept: a
/// [checkpoint](crate::Checkpoint) has how far a list has come, and a [`Document`](crate::Document) its
/// [complete part](crate::Document::complete_part).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ContinuationError {
    /// Too many responses in a row added nothing.
    NoProgress {
        /// How many responses in a row failed.
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
    /// The open record is longer than [a record may be](tokenline_core::Limits::line_bytes), or a document together with its last
    /// response is longer than [allowed](crate::ContinuationOptions::max_bytes).
    TooLarge {
        /// How long it may be, in bytes.
        limit: usize,
    },
    /// The connection broke, and the options do not
    /// [continue after that](crate::ContinuationOptions::continue_after_disconnect).
    Disconnected,
}

/// Why a response was not used, or a fragment not merged. Nothing was taken from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ContinuationFailure {
    /// A first response that is not one JSON value, or of which nothing is complete: `tru`, or `12` at a limit.
    NoJson,
    /// A first response that is malformed before its end.
    Malformed(SyntaxError),
    /// The document is complete already: `[1]` and `,2]`.
    BaseComplete,
    /// The document so far is malformed: `[{"a":1},}` and `2]`.
    BaseMalformed,
    /// It starts over, and ends or differs before anything new: `{"id":17,"a":1,` and `{"id":17,"b":1}`. After a response that was
    /// cut off, a higher token limit may help.
    StartedOver,
    /// It does not begin with the requested text, or does not continue it as JSON, and there is no other place for it: `[1,`
    /// and `:2]`. Or it starts over with other records.
    Diverged,
    /// There are several ways to join it: `[1,1` and `,1]`. Request a longer overlap to tell them apart. A draft is ambiguous
    /// as well: a response in which a tag that closes a thought, or the requested overlap, comes after the JSON.
    Ambiguous,
    /// There is one way to join it, but with less [confidence](crate::Confidence) than required.
    Unproven,
    /// It has nothing new: only what has arrived already, white space, or no record at all.
    NothingNew,
}

impl fmt::Display for ContinuationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoProgress { failures: 1, last } => write!(f, "a response added nothing: {last}"),
            Self::NoProgress { failures, last } => {
                write!(f, "{failures} responses in a row added nothing; the last: {last}")
            }
            Self::TooManyRequests { requests: 1 } => {
                f.write_str("the response is still incomplete after 1 request, the maximum")
            }
            Self::TooManyRequests { requests } => {
                write!(f, "the response is still incomplete after {requests} requests, the maximum")
            }
            Self::TooManyTokens { tokens } => {
                write!(f, "the response is still incomplete after {tokens} output tokens, the maximum")
            }
            Self::TooLarge { limit } => {
                write!(f, "the truncated record or document would exceed {limit} bytes, the maximum")
            }
            Self::Disconnected => f.write_str("the connection broke during the response"),
        }
    }
}

impl Error for ContinuationError {}

impl fmt::Display for ContinuationFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed(fault) => return write!(f, "the response is malformed JSON: {fault}"),
            Self::NoJson => "the response is not one JSON value, or nothing of it is complete",
            Self::BaseComplete => "the document is complete already",
            Self::BaseMalformed => "the document so far is not JSON, or is nested too deeply",
            Self::StartedOver => {
                "the response starts over, but does not repeat everything that has arrived (a higher token limit may help)"
            }
            Self::Diverged => "the response does not continue what has arrived, wherever it is joined",
            Self::Ambiguous => "the response can be joined in several ways: a longer overlap tells them apart",
            Self::Unproven => "the response does not prove where it belongs",
            Self::NothingNew => "the response has nothing new",
        })
    }
}

impl Error for ContinuationFailure {}
