//! What the providers' streams come down to.

use std::borrow::Cow;
use std::fmt;

use tokenline_core::json::LoneSurrogates;
use tokenline_core::{CallDelta, CompletedBy, PartialArgument};

/// A piece of an answer, whichever provider it comes from.
///
/// An answer has one choice or several, told apart by their number; the first is 0. A choice has one
/// text, or several blocks one after another, texts and native calls, that are numbered: Anthropic's
/// content blocks, the output items of OpenAI's Responses. Where a provider has none, the text is
/// block 0, and a call's number is its index.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delta<'a> {
    /// A choice is there, though nothing of it may have come yet.
    Start {
        /// The choice.
        choice: u64,
    },
    /// Text of the answer itself.
    Text {
        /// The choice.
        choice: u64,
        /// The block.
        block: u64,
        /// More of its text.
        text: &'a str,
    },
    /// What the model thinks before it answers, where the server shows it.
    Reasoning {
        /// The choice.
        choice: u64,
        /// More of its reasoning.
        text: &'a str,
    },
    /// Data that only the provider can read, and wants back with the next request.
    Opaque {
        /// The choice.
        choice: u64,
        /// The part that it is attached to.
        of: OpaqueOf,
        /// The data: JSON as it came.
        data: Cow<'a, str>,
    },
    /// Why the model refuses to answer.
    Refusal {
        /// The choice.
        choice: u64,
        /// More of its refusal.
        text: &'a str,
    },
    /// A fragment of a native tool call.
    ToolCall {
        /// The choice.
        choice: u64,
        /// The fragment; its index is its block.
        call: CallDelta<'a>,
    },
    /// A value of a native tool call's arguments.
    PartialArgument {
        /// The choice.
        choice: u64,
        /// The block.
        block: u64,
        /// The value and its place.
        part: PartialArgument<'a>,
    },
    /// A character was cut in half: what the text of the next delta begins and ends with of such, where
    /// it has U+FFFD. Also in the texts that follow in the same event U+FFFD may stand for a half.
    LoneSurrogates(LoneSurrogates),
    /// A block has ended.
    BlockStop {
        /// The choice.
        choice: u64,
        /// The block.
        block: u64,
        /// What proves that it is whole; `None` if it is not, because something cut it off.
        completion: Option<CompletedBy>,
    },
    /// The choice has ended.
    Finish {
        /// The choice.
        choice: u64,
        /// Why.
        reason: FinishReason,
    },
    /// The answer begins anew, as a second one in the same stream: what is open is not whole, and what
    /// has ended has not.
    Restart,
    /// The tokens so far, of all choices.
    Usage(Usage),
    /// The provider failed.
    Error {
        /// What it says of it.
        message: Cow<'a, str>,
    },
    /// The provider's own end of the stream.
    Terminator,
    /// Something that is not known, and that could be part of the answer.
    Unknown {
        /// Where it stood, such as `choices[].delta`; empty at the top.
        parent: &'static str,
        /// Its name there.
        name: Cow<'a, str>,
    },
}

/// What opaque data is attached to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpaqueOf {
    /// The latest reasoning, which ends with it; or reasoning without text.
    Reasoning,
    /// The reasoning that goes on: data that comes in pieces, or with each piece of text.
    ReasoningMember,
    /// The latest text, which ends with it; or an empty text.
    Text,
    /// The latest tool call.
    ToolCall,
}

/// Why a choice has ended, as the provider says it: some, such as Gemini and Ollama, say
/// [`Stop`](Self::Stop) where the model calls tools.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FinishReason {
    /// The model was done, or wrote a stop sequence.
    Stop,
    /// The model was done, and calls tools.
    ToolCalls,
    /// A limit: of the tokens asked for, or of the context.
    Length,
    /// The provider cut the answer off because of what it says, or the model refused.
    ContentFilter,
    /// The model wrote a tool call that the provider could not read. Nothing of it was sent.
    MalformedCall,
    /// The provider failed.
    Error,
    /// Another reason, in the provider's words (at most 64 characters of them).
    Other(Box<str>),
}

impl FinishReason {
    /// A reason that has no name here.
    #[must_use]
    pub fn other(name: &str) -> Self {
        Self::Other(name.chars().take(64).collect())
    }

    /// Whether it proves that what the model had begun is whole. A filter cuts in anywhere, and
    /// what a reason without a name here means is not known: neither proves it.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        match self {
            Self::Stop | Self::ToolCalls => true,
            Self::Length | Self::ContentFilter | Self::MalformedCall | Self::Error | Self::Other(_) => false,
        }
    }

    /// The name, such as `tool_calls`: OpenAI's where it has one.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::ToolCalls => "tool_calls",
            Self::Length => "length",
            Self::ContentFilter => "content_filter",
            Self::MalformedCall => "malformed_call",
            Self::Error => "error",
            Self::Other(name) => name,
        }
    }
}

impl fmt::Display for FinishReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How many tokens an answer took, as far as the provider says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// Tokens read: the prompt.
    pub input_tokens: Option<u64>,
    /// Tokens written, reasoning included.
    pub output_tokens: Option<u64>,
    /// Both together.
    pub total_tokens: Option<u64>,
    /// Tokens of the input that were read from the provider's cache.
    pub cached_input_tokens: Option<u64>,
    /// Tokens of the output that were reasoning.
    pub reasoning_tokens: Option<u64>,
}

impl Usage {
    /// Whether it counts anything but details.
    pub(crate) fn has_totals(&self) -> bool {
        self.input_tokens.or(self.output_tokens).or(self.total_tokens).is_some()
    }
}
