//! The steps of a response, and the trait of the protocols that write them.

use tokenline_core::RejectedCall;
use tokenline_core::json::Raw;

use super::Failure;
use crate::{FinishReason, Usage};

/// A step of a response. [`Steps`](super::Steps) makes them from events.
///
/// Each choice starts before anything else of it; each part and each call that starts ends, and deltas stay between.
/// One part is open at a time, and ends where a call starts. The last step is [`End`](Self::End) or
/// [`Failed`](Self::Failed).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Step<'a> {
    /// The choice starts.
    Start,
    /// A part starts.
    PartStart(PartKind),
    /// The next piece of the open part.
    PartDelta(PartKind, &'a str),
    /// The open part ends.
    PartEnd(PartKind),
    /// Data that only the provider can read, for the next request: of the reasoning that is open, or that ended last.
    Opaque(&'a Raw),
    /// A record.
    Record(&'a Raw),
    /// A tool call starts.
    CallStart {
        /// Its number among the calls of the choice, from 0.
        index: u64,
        /// Its id: the model's, if no other call of the response has it.
        id: &'a str,
        /// The tool's name.
        name: &'a str,
    },
    /// The next piece of the arguments of a call.
    CallArguments {
        /// Its number among the calls of the choice, from 0.
        index: u64,
        /// The piece of JSON text.
        text: &'a str,
    },
    /// A tool call is complete.
    CallEnd {
        /// Its number among the calls of the choice, from 0.
        index: u64,
        /// Its id.
        id: &'a str,
        /// The tool's name.
        name: &'a str,
        /// Its arguments: all of them, an object.
        arguments: &'a Raw,
    },
    /// A tool call was rejected: one that grew, or one that is whole. Only if [they are shown](StepRules::shows_rejects).
    CallRejected {
        /// Its id.
        id: &'a str,
        /// The tool's name.
        name: &'a str,
        /// The call, and the reason.
        call: &'a RejectedCall,
    },
    /// A tool call that grew is none, or has no end. Only if [rejects are shown](StepRules::shows_rejects).
    CallDiscarded {
        /// Its id.
        id: &'a str,
        /// The tool's name.
        name: &'a str,
        /// Why, for people.
        reason: &'static str,
    },
    /// The choice ends.
    Finish(&'a FinishReason),
    /// The response ends.
    End(Option<&'a Usage>),
    /// The response ends with an error. Choices, parts and calls stay open.
    Failed(&'a Failure),
}

/// The kind of a part of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PartKind {
    /// Text for people.
    Text,
    /// Reasoning.
    Reasoning,
    /// The model's refusal.
    Refusal,
}

/// A protocol in which responses are written.
pub trait StepWriter {
    /// Writes a step of a choice. The steps [`End`](Step::End) and [`Failed`](Step::Failed) are of the response.
    fn write(&mut self, choice: u64, step: Step<'_>);
}

/// The rules by which events become the steps of a protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StepRules {
    /// Whether choices other than the first are written.
    pub has_choices: bool,
    /// Whether text that is only white space makes a part.
    pub keeps_white_space: bool,
    /// Whether calls, and parts beside them, may be open at the same time. If not, later events wait.
    pub is_interleaved: bool,
    /// Whether a call that did not grow has only an end.
    pub has_whole_calls: bool,
    /// Whether the client is shown rejected calls. If not, they are left out, or end the response.
    pub shows_rejects: bool,
}
