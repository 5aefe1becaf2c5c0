//! Loops of a model: the same bytes, or the same whole records or calls, over and over.
//!
//! Only exact copies count, never shapes: rows of one shape are the normal case of a stream of records.
//!
//! The rules are in the documentation of [`RepetitionLimits`].

use std::fmt;

use crate::Span;

mod detector;
mod guard;
mod kind;
mod limits;
mod records;
mod search;

pub use detector::RepetitionDetector;
pub use guard::RepetitionGuard;
pub use limits::{RepetitionLimit, RepetitionLimits};
pub use records::RecordRepetitionDetector;

/// The part of a response that repeats itself: a channel of bytes, or whole records or calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Repeated {
    /// The text between records and calls, and that of an open one.
    Text,
    /// The model's reasoning.
    Reasoning,
    /// The arguments of one tool call.
    Arguments,
    /// Whole records.
    Records,
    /// Whole tool calls.
    ToolCalls,
}

impl Repeated {
    /// The name used in messages: `text`, `reasoning`, `arguments`, `records` or `tool calls`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Reasoning => "reasoning",
            Self::Arguments => "arguments",
            Self::Records => "records",
            Self::ToolCalls => "tool calls",
        }
    }
}

/// A loop: a period, and the copies of it up to the byte or the record that reached the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repetition {
    /// The part of the response that repeats itself.
    pub of: Repeated,
    /// All copies, in bytes of the channel. Of records and calls, the channel is all of them without what is between
    /// them.
    pub span: Span,
    /// The length of one copy, in bytes.
    pub period: u64,
    /// The records or calls in one copy; 0 if the copies are not made of whole ones.
    pub items: u32,
    /// The complete copies in the span. A part of one may stand before them.
    pub copies: u64,
}

/// Describes the loop, without the input: `the text repeats 23 bytes 22 times`.
impl fmt::Display for Repetition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { of, period, items, copies, .. } = self;
        match (of, items) {
            (Repeated::Arguments, _) => write!(f, "the arguments repeat {period} bytes {copies} times"),
            (Repeated::Text | Repeated::Reasoning, _) => {
                write!(f, "the {} repeats {period} bytes {copies} times", of.as_str())
            }
            (Repeated::Records, 1) => write!(f, "the same record {copies} times"),
            (Repeated::ToolCalls, 1) => write!(f, "the same tool call {copies} times"),
            (Repeated::Records | Repeated::ToolCalls, _) => {
                write!(f, "the same {items} {} {copies} times", of.as_str())
            }
        }
    }
}
