//! The events of a response, and the mode of reading its text.

use tokenline_core::adapter::CountAs;
use tokenline_core::json::{OwnedDelta, Raw, Value};
use tokenline_core::{Code, Diagnostic, OpenRecord, Record, RejectedCall, Severity, ToolCall};

use crate::{FinishReason, Usage};

/// How the text of a response is read. Native tool calls are read in any mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextMode {
    /// As records: JSON Lines.
    #[default]
    Records,
    /// As tool calls, in JSON Lines or any other [syntax](tokenline_core::call_format), in addition to native calls.
    ToolCalls,
    /// As both: calls between the markers of a [syntax](tokenline_core::call_format), and without them JSON objects with the
    /// name of a defined [tool](crate::ResponseOptions::tools) and a member for its arguments; every other object is a
    /// record. Validators are for records only, tools for calls.
    RecordsAndToolCalls,
    /// As text: calls are native. A call of a defined tool in the text is a [note](Code::CallInText), and stays text.
    /// Without [tools](crate::ResponseOptions::tools) the same as [`Text`](Self::Text).
    NativeCalls,
    /// As plain text, without looking for records or calls.
    Text,
}

impl TextMode {
    /// Whether calls in the text are delivered.
    pub(super) fn reads_calls(self) -> bool {
        matches!(self, Self::ToolCalls | Self::RecordsAndToolCalls)
    }
}

/// An event of a response.
///
/// `choice` is the number of the choice, if several were requested; the first is 0. `block` is the provider's number of
/// the part of a choice: Anthropic's content blocks, the output items of OpenAI's Responses; 0 for providers without
/// blocks. Each block has a text of its own, and positions are relative to it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResponseEvent<T> {
    /// A complete record in a text. Its position is relative to that text.
    Record {
        /// The choice.
        choice: u64,
        /// The block.
        block: u64,
        /// The record.
        record: Record<T>,
    },
    /// The open record of a text has grown. Only with [`Options::partials`](tokenline_core::Options::partials). One event
    /// ends it: the [`Record`](Self::Record), the [`Rejected`](Self::Rejected) that spans it, a
    /// [`PartialDiscarded`](Self::PartialDiscarded), or the [`ToolCall`](Self::ToolCall) or
    /// [`RejectedCall`](Self::RejectedCall) in the text that it became. With
    /// [`call_updates`](crate::ResponseOptions::call_updates), a call does not grow as a record.
    Partial {
        /// The choice.
        choice: u64,
        /// The block.
        block: u64,
        /// The step by which it grows, and where the record starts in the text.
        delta: OpenRecord<OwnedDelta>,
    },
    /// The end of a growing record that is none: it is text, or with [`call_updates`](crate::ResponseOptions::call_updates) a
    /// call.
    PartialDiscarded {
        /// The choice.
        choice: u64,
        /// The block.
        block: u64,
    },
    /// The open record of a text will be rejected: what is complete of it breaks a rule. It may still turn out to be
    /// text. At most once for a record, after a [`Partial`](Self::Partial).
    Invalid {
        /// The choice.
        choice: u64,
        /// The block.
        block: u64,
        /// The reason. Its span starts where the record does, and ends where the record did then.
        diagnostic: Diagnostic,
    },
    /// A complete tool call.
    ToolCall {
        /// The choice.
        choice: u64,
        /// Its number in the choice, as in [`ToolCallBegan`](Self::ToolCallBegan); `None` for a call in a text, unless
        /// updates [are requested](crate::ResponseOptions::call_updates).
        number: Option<u64>,
        /// The block of the text that contains it; 0 for a native call.
        block: u64,
        /// The call.
        call: ToolCall,
        /// The record in the text that contains it; `None` for a native call.
        record: Option<Record<()>>,
    },
    /// A tool call begins: its name is known. Only [on request](crate::ResponseOptions::call_updates). The event
    /// that ends it has the same number: a [`ToolCall`](Self::ToolCall), a [`RejectedCall`](Self::RejectedCall), or a
    /// [`ToolCallDiscarded`](Self::ToolCallDiscarded).
    ToolCallBegan {
        /// The choice.
        choice: u64,
        /// The call's number in the choice, from 1.
        number: u64,
        /// Its id, if it is known.
        call_id: Option<String>,
        /// The tool's name.
        name: String,
    },
    /// More arguments of a tool call. Only [on request](crate::ResponseOptions::call_updates).
    ToolCallArguments {
        /// The choice.
        choice: u64,
        /// The call's number in the choice, from 1.
        number: u64,
        /// The next piece of their JSON text. In a text, it is canonical JSON in whichever syntax they are written,
        /// with the types of the tool's parameters. If they change at the end, for example because a parameter is
        /// repeated, those of the [`ToolCall`](Self::ToolCall) count.
        text: String,
    },
    /// The text that began as a call is not one: it is text, or the next reject. Only [on
    /// request](crate::ResponseOptions::call_updates).
    ToolCallDiscarded {
        /// The choice.
        choice: u64,
        /// Its number in the choice.
        number: u64,
    },
    /// A rejected tool call: the reason, and what an agent needs to report it to the model.
    RejectedCall {
        /// The choice.
        choice: u64,
        /// As for [`ToolCall`](Self::ToolCall).
        number: Option<u64>,
        /// As for [`ToolCall`](Self::ToolCall).
        block: u64,
        /// The call.
        call: Box<RejectedCall>,
    },
    /// A rejected record or another error.
    Rejected {
        /// The choice, if the error belongs to one.
        choice: Option<u64>,
        /// The block.
        block: u64,
        /// The reason. Its [origin](Diagnostic::origin) says what its position refers to.
        diagnostic: Diagnostic,
    },
    /// Information, not a reject.
    Note {
        /// The choice, if the note belongs to one.
        choice: Option<u64>,
        /// The block.
        block: u64,
        /// The note.
        diagnostic: Diagnostic,
    },
    /// Text as it arrives, before it is read: also that of records and calls. Only [on
    /// request](crate::ResponseOptions::text_deltas).
    TextDelta {
        /// The choice.
        choice: u64,
        /// The block.
        block: u64,
        /// The offset of the piece in its text, in bytes. 0 begins a text, also another one of the same block.
        start: u64,
        /// The next piece of text.
        text: String,
    },
    /// Text outside records and calls, as it arrives. Only [on
    /// request](crate::ResponseOptions::text_and_reasoning).
    Text {
        /// The choice.
        choice: u64,
        /// The block.
        block: u64,
        /// The next piece of text.
        text: String,
    },
    /// Reasoning as it arrives. Only [on request](crate::ResponseOptions::text_and_reasoning).
    Reasoning {
        /// The choice.
        choice: u64,
        /// The next piece of reasoning; empty beside opaque data.
        text: String,
        /// Data the provider attached to the preceding reasoning, text or call, for the next request: JSON as received.
        /// [`ResponseParser::message`](super::ResponseParser::message) puts it in its place.
        opaque: Option<Raw>,
    },
    /// The model's refusal.
    Refusal {
        /// The choice.
        choice: u64,
        /// The next piece of the refusal.
        text: String,
    },
    /// A choice has ended.
    Finish {
        /// The choice.
        choice: u64,
        /// The reason.
        reason: FinishReason,
    },
    /// The tokens so far; repeated when they change.
    Usage(Usage),
}

/// An event of a response that is complete: see [`BatchLine::lend_events`](crate::batch::BatchLine::lend_events).
#[derive(Debug)]
#[non_exhaustive]
pub enum LentResponseEvent<'a> {
    /// A record that is lent: a view of the response's text.
    Record {
        /// The choice.
        choice: u64,
        /// The block.
        block: u64,
        /// The record.
        record: &'a Record<Value<'a>>,
    },
    /// Another event, or a record that cannot be lent: such as one at the end of a text without a line feed, and all if
    /// records are repaired or counted, or if calls are looked for in the text.
    Event(ResponseEvent<Raw>),
}

impl<T> ResponseEvent<T> {
    /// The diagnostic of a reject or a note.
    #[must_use]
    pub fn diagnostic(&self) -> Option<&Diagnostic> {
        match self {
            Self::RejectedCall { call, .. } => Some(&call.diagnostic),
            Self::Rejected { diagnostic, .. } | Self::Note { diagnostic, .. } => Some(diagnostic),
            Self::Record { .. }
            | Self::ToolCall { .. }
            | Self::Partial { .. }
            | Self::PartialDiscarded { .. }
            | Self::Invalid { .. }
            | Self::ToolCallBegan { .. }
            | Self::ToolCallArguments { .. }
            | Self::ToolCallDiscarded { .. }
            | Self::TextDelta { .. }
            | Self::Text { .. }
            | Self::Reasoning { .. }
            | Self::Refusal { .. }
            | Self::Finish { .. }
            | Self::Usage(_) => None,
        }
    }

    pub(crate) fn diagnostic_mut(&mut self) -> Option<&mut Diagnostic> {
        match self {
            Self::RejectedCall { call, .. } => Some(&mut call.diagnostic),
            Self::Rejected { diagnostic, .. }
            | Self::Note { diagnostic, .. }
            | Self::Invalid { diagnostic, .. } => Some(diagnostic),
            _ => None,
        }
    }

    /// The category for counting.
    #[inline]
    pub(crate) fn count_as(&self) -> CountAs<'_> {
        match self {
            Self::Record { record, .. } => CountAs::Record(record.recovered),
            Self::ToolCall { call, .. } => CountAs::ToolCall(call.recovered),
            Self::Usage(usage) => {
                CountAs::Usage([usage.input_tokens, usage.output_tokens, usage.cached_input_tokens])
            }
            // An unknown reason could be any text.
            Self::Finish { reason: FinishReason::Other(_), .. } => CountAs::Finish("other"),
            Self::Finish { reason, .. } => CountAs::Finish(reason.as_str()),
            event => event.diagnostic().map_or(CountAs::Other, CountAs::Diagnostic),
        }
    }

    /// Whether the event reports that the end cut something off.
    pub(super) fn reports_truncation(&self) -> bool {
        let is_cut = |its: &Diagnostic| matches!(its.code, Code::Truncated | Code::Unsealed);
        self.diagnostic().is_some_and(is_cut)
    }

    /// The event for a diagnostic.
    pub(crate) fn from_diagnostic(choice: Option<u64>, block: u64, diagnostic: Diagnostic) -> Self {
        match diagnostic.severity() {
            Severity::Info | Severity::Warning => Self::Note { choice, block, diagnostic },
            _ => Self::Rejected { choice, block, diagnostic },
        }
    }
}
