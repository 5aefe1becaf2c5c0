//! What an answer yields, and what its text is read as.

use tokenline_core::{Code, Diagnostic, Record, Severity, ToolCall};

use crate::{FinishReason, Usage};

/// What the text of an answer is read as. Native tool calls are read in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextAs {
    /// Records: JSON Lines.
    #[default]
    Records,
    /// Tool calls written as JSON Lines, `{"name", "parameters"}`, beside the native ones.
    ToolCalls,
    /// Just text, which nothing is looked for in.
    Text,
}

/// What an answer yields.
///
/// `choice` numbers the answer's choices, where several were asked for; the first is 0.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnswerEvent<T> {
    /// A whole record of a choice's text. Its place is in that text.
    Record {
        /// The choice.
        choice: u64,
        /// The record.
        record: Record<T>,
    },
    /// A whole tool call.
    ToolCall {
        /// The choice.
        choice: u64,
        /// The call.
        call: ToolCall,
        /// The record of the choice's text that it was read from; `None` for a native call.
        record: Option<Record<()>>,
    },
    /// Something was not delivered, and why.
    Rejected {
        /// The choice, if it is about what one says: then the place is in its text, or in the
        /// arguments of the call that the message names. Otherwise in the wire's bytes.
        choice: Option<u64>,
        /// The finding.
        diagnostic: Diagnostic,
    },
    /// Information that is no reject.
    Note {
        /// As for [`Rejected`](Self::Rejected).
        choice: Option<u64>,
        /// The finding.
        diagnostic: Diagnostic,
    },
    /// Text as it came. Only if [asked for](super::AnswerParser::with_fragments).
    Text {
        /// The choice.
        choice: u64,
        /// More of its text.
        text: String,
    },
    /// Reasoning as it came. Only if [asked for](super::AnswerParser::with_fragments).
    Reasoning {
        /// The choice.
        choice: u64,
        /// More of its reasoning.
        text: String,
    },
    /// The model refuses to answer.
    Refusal {
        /// The choice.
        choice: u64,
        /// More of its refusal.
        text: String,
    },
    /// A choice has ended.
    Finish {
        /// The choice.
        choice: u64,
        /// Why.
        reason: FinishReason,
    },
    /// The tokens so far; given again when they change.
    Usage(Usage),
}

impl<T> AnswerEvent<T> {
    /// Whether it says that the end cut something off.
    pub(super) fn tells_of_a_cut(&self) -> bool {
        matches!(self, Self::Rejected { diagnostic, .. }
            if matches!(diagnostic.code, Code::Truncated | Code::Unsealed))
    }

    /// The event for a finding.
    pub(super) fn from_diagnostic(choice: Option<u64>, diagnostic: Diagnostic) -> Self {
        match diagnostic.severity() {
            Severity::Info => Self::Note { choice, diagnostic },
            _ => Self::Rejected { choice, diagnostic },
        }
    }
}
