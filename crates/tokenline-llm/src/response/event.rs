//! What an answer yields, and what its text is read as.

use tokenline_core::adapter::CountAs;
use tokenline_core::json::Raw;
use tokenline_core::{Code, Diagnostic, Record, RejectedCall, Severity, ToolCall};

use crate::{FinishReason, Usage};

/// What the text of an answer is read as. Native tool calls are read in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextMode {
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
/// `choice` numbers the answer's choices, where several were asked for; the first is 0. `block`
/// numbers the parts of a choice as the provider does: Anthropic's content blocks, the output items
/// of OpenAI's Responses. Each has a text of its own, in which places are counted. It is 0 where
/// there are none.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResponseEvent<T> {
    /// A whole record of a text. Its place is in that text.
    Record {
        /// The choice.
        choice: u64,
        /// The block.
        block: u64,
        /// The record.
        record: Record<T>,
    },
    /// A whole tool call.
    ToolCall {
        /// The choice.
        choice: u64,
        /// The block of the text that it was read from; 0 for a native call.
        block: u64,
        /// The call.
        call: ToolCall,
        /// The record of the text that it was read from; `None` for a native call.
        record: Option<Record<()>>,
    },
    /// A native tool call begins. Only if [asked for](super::ResponseParser::with_call_updates). The event that ends it,
    /// a [`ToolCall`](Self::ToolCall) or a [`RejectedCall`](Self::RejectedCall), has the same id.
    ToolCallBegan {
        /// The choice.
        choice: u64,
        /// The call's number in the choice, from 1.
        number: u64,
        /// Its id.
        call_id: Option<String>,
        /// The tool's name.
        name: String,
    },
    /// The arguments of a native tool call grow. Only if [asked for](super::ResponseParser::with_call_updates).
    ToolCallArguments {
        /// The choice.
        choice: u64,
        /// The call's number in the choice, from 1.
        number: u64,
        /// More of their JSON text.
        text: String,
    },
    /// A tool call that began and was not delivered: why, and what an agent needs to say so to the
    /// model.
    RejectedCall {
        /// The choice.
        choice: u64,
        /// As for [`ToolCall`](Self::ToolCall).
        block: u64,
        /// The call.
        call: Box<RejectedCall>,
    },
    /// Something else was not delivered, and why.
    Rejected {
        /// The choice, if it is about what one says.
        choice: Option<u64>,
        /// The block.
        block: u64,
        /// The finding. Its [origin](Diagnostic::origin) tells what its place is a place in.
        diagnostic: Diagnostic,
    },
    /// Information that is no reject.
    Note {
        /// The choice, if it is about what one says.
        choice: Option<u64>,
        /// The block.
        block: u64,
        /// The finding.
        diagnostic: Diagnostic,
    },
    /// Text that is part of no record and of no call, as it comes. Only if
    /// [asked for](super::ResponseParser::with_text_and_reasoning).
    Text {
        /// The choice.
        choice: u64,
        /// The block.
        block: u64,
        /// More of its text.
        text: String,
    },
    /// Reasoning as it comes. Only if [asked for](super::ResponseParser::with_text_and_reasoning).
    Reasoning {
        /// The choice.
        choice: u64,
        /// More of its reasoning; empty beside opaque data.
        text: String,
        /// What the provider attached to the reasoning, the text or the call before, for the next request: JSON as it
        /// came. [`ResponseParser::message`](super::ResponseParser::message) puts it in its place.
        opaque: Option<Raw>,
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

impl<T> ResponseEvent<T> {
    /// The finding, if it is about something that was not delivered, or information.
    #[must_use]
    pub fn diagnostic(&self) -> Option<&Diagnostic> {
        match self {
            Self::RejectedCall { call, .. } => Some(&call.diagnostic),
            Self::Rejected { diagnostic, .. } | Self::Note { diagnostic, .. } => Some(diagnostic),
            Self::Record { .. }
            | Self::ToolCall { .. }
            | Self::ToolCallBegan { .. }
            | Self::ToolCallArguments { .. }
            | Self::Text { .. }
            | Self::Reasoning { .. }
            | Self::Refusal { .. }
            | Self::Finish { .. }
            | Self::Usage(_) => None,
        }
    }

    pub(super) fn diagnostic_mut(&mut self) -> Option<&mut Diagnostic> {
        match self {
            Self::RejectedCall { call, .. } => Some(&mut call.diagnostic),
            Self::Rejected { diagnostic, .. } | Self::Note { diagnostic, .. } => Some(diagnostic),
            _ => None,
        }
    }

    /// What the event counts as.
    #[inline]
    pub(super) fn count_as(&self) -> CountAs<'_> {
        match self {
            Self::Record { record, .. } => CountAs::Record(record.recovered),
            Self::ToolCall { call, .. } => CountAs::ToolCall(call.recovered),
            Self::Usage(usage) => {
                CountAs::Usage([usage.input_tokens, usage.output_tokens, usage.cached_input_tokens])
            }
            // A reason that is not known could be any text.
            Self::Finish { reason: FinishReason::Other(_), .. } => CountAs::Finish("other"),
            Self::Finish { reason, .. } => CountAs::Finish(reason.as_str()),
            event => event.diagnostic().map_or(CountAs::Other, CountAs::Diagnostic),
        }
    }

    /// Whether it says that the end cut something off.
    pub(super) fn tells_of_a_cut(&self) -> bool {
        let is_cut = |its: &Diagnostic| matches!(its.code, Code::Truncated | Code::Unsealed);
        self.diagnostic().is_some_and(is_cut)
    }

    /// The event for a finding.
    pub(super) fn from_diagnostic(choice: Option<u64>, block: u64, diagnostic: Diagnostic) -> Self {
        match diagnostic.severity() {
            Severity::Info => Self::Note { choice, block, diagnostic },
            _ => Self::Rejected { choice, block, diagnostic },
        }
    }
}
