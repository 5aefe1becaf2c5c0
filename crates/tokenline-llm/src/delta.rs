//! The common form of all providers' streams.

use std::borrow::Cow;
use std::fmt;

use tokenline_core::adapter::PartialArgument;
use tokenline_core::json::{Kind, LoneSurrogates};
use tokenline_core::{CallDelta, CompletedBy};

/// A piece of a response, from any provider: what an [`EventDecoder`](crate::providers::EventDecoder) decodes, and what a
/// [`ResponseParser`](crate::ResponseParser::push_delta) reads from another client.
///
/// A response has one or more choices, numbered from 0. A choice has one text, or several numbered blocks of text and
/// native calls: Anthropic's content blocks, the output items of OpenAI's Responses. Providers without blocks have
/// their text in block 0, and number calls by their index.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delta<'a> {
    /// A choice has started; it may be empty so far.
    Start {
        /// The choice.
        choice: u64,
    },
    /// Text of the response.
    Text {
        /// The choice.
        choice: u64,
        /// The block.
        block: u64,
        /// The next piece of text.
        text: &'a str,
    },
    /// All the text of a block, or of a part of it, which some providers repeat at its end: what has not arrived is read.
    WholeText {
        /// The choice.
        choice: u64,
        /// The block.
        block: u64,
        /// The number of the part.
        part: u64,
        /// Its text.
        text: &'a str,
    },
    /// The next texts of the block belong to another part than those before it. The first texts belong to part 0.
    TextPart {
        /// The choice.
        choice: u64,
        /// The block.
        block: u64,
        /// The number of the part.
        part: u64,
    },
    /// A block begins with the number of an earlier one: its text does not continue the earlier text.
    BlockStart {
        /// The choice.
        choice: u64,
        /// The block.
        block: u64,
    },
    /// Reasoning before the response, if the server shows it.
    Reasoning {
        /// The choice.
        choice: u64,
        /// The next piece of reasoning.
        text: &'a str,
    },
    /// Data that only the provider can read, and expects back in the next request.
    Opaque {
        /// The choice.
        choice: u64,
        /// The part it is attached to.
        target: OpaqueTarget,
        /// The data: JSON as received.
        data: Cow<'a, str>,
    },
    /// The model's refusal.
    Refusal {
        /// The choice.
        choice: u64,
        /// The next piece of the refusal.
        text: &'a str,
    },
    /// A fragment of a native tool call.
    ToolCall {
        /// The choice.
        choice: u64,
        /// The fragment; its index is its block.
        call: CallDelta<'a>,
    },
    /// A value in the arguments of a native tool call.
    PartialArgument {
        /// The choice.
        choice: u64,
        /// The block.
        block: u64,
        /// The value and its path.
        part: PartialArgument<'a>,
    },
    /// The text of the next delta starts or ends with half a character, replaced by U+FFFD; these are the halves. A
    /// U+FFFD in later texts of the same event may stand for a half too.
    LoneSurrogates(LoneSurrogates),
    /// A block has ended.
    BlockStop {
        /// The choice.
        choice: u64,
        /// The block.
        block: u64,
        /// The proof that it is complete; `None` if it was cut off.
        completion: Option<CompletedBy>,
    },
    /// The choice has ended.
    Finish {
        /// The choice.
        choice: u64,
        /// The reason.
        reason: FinishReason,
    },
    /// The response starts over, as a second one in the same stream: open blocks are incomplete, and choices that had
    /// ended are open again.
    Restart,
    /// The tokens so far, of all choices.
    Usage(Usage),
    /// The provider failed.
    Error {
        /// The provider's error message.
        message: Cow<'a, str>,
        /// The provider's code or type of the error.
        code: Option<Cow<'a, str>>,
    },
    /// The provider's own end of the stream.
    Terminator,
    /// An unknown event or member that may be part of the response.
    Unknown {
        /// The path of its parent, such as `choices[].delta`; empty at the top level.
        parent: &'static str,
        /// Its name.
        name: Cow<'a, str>,
    },
    /// A member that holds a part of the response, but not in a type that can be read, such as text that is an object.
    Unreadable {
        /// The path of its parent, as for [`Unknown`](Self::Unknown).
        parent: &'static str,
        /// Its name.
        name: Cow<'a, str>,
        /// The type found.
        kind: Kind,
    },
}

impl<'a> Delta<'a> {
    /// The next piece of the text of the first choice.
    #[must_use]
    pub fn text(text: &'a str) -> Self {
        Self::Text { choice: 0, block: 0, text }
    }

    /// The next piece of the reasoning of the first choice.
    #[must_use]
    pub fn reasoning(text: &'a str) -> Self {
        Self::Reasoning { choice: 0, text }
    }

    /// A fragment of a native tool call of the first choice.
    #[must_use]
    pub fn tool_call(call: CallDelta<'a>) -> Self {
        Self::ToolCall { choice: 0, call }
    }

    /// The end of the first choice, for a reason in [OpenAI's words](FinishReason::named), such as `stop`.
    #[must_use]
    pub fn finish(reason: &str) -> Self {
        Self::Finish { choice: 0, reason: FinishReason::named(reason) }
    }
}

/// The part that opaque data is attached to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpaqueTarget {
    /// The latest reasoning, which ends here; or reasoning without text.
    Reasoning,
    /// The current reasoning, which continues: data that arrives in pieces or with each piece of text.
    ReasoningMember,
    /// The latest text, which ends here; or an empty text.
    Text,
    /// The latest tool call.
    ToolCall,
}

/// The reason a choice ended, as the provider gives it. Some, such as Gemini and Ollama, report [`Stop`](Self::Stop)
/// even if the model calls tools.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FinishReason {
    /// The model finished, or wrote a stop sequence.
    Stop,
    /// The model finished, and calls tools.
    ToolCalls,
    /// The response reached the token limit or the context limit.
    Length,
    /// A content filter cut the response off, or the model refused.
    ContentFilter,
    /// The model wrote a tool call that the provider could not parse, so none of it was sent.
    MalformedCall,
    /// The model repeats itself: the server ended the response, or
    /// [`stop_on_repetition`](crate::ResponseOptions::stop_on_repetition) did.
    Repetition,
    /// The provider failed.
    Error,
    /// Another reason, in the provider's words, truncated to 64 characters.
    Other(Box<str>),
}

impl FinishReason {
    /// A reason in OpenAI's words: `stop`, `tool_calls`, `length`, `content_filter`. Those of the servers that are compatible
    /// with it are known as well; any other name is [`Other`](Self::Other), which proves nothing complete.
    #[must_use]
    pub fn named(name: &str) -> Self {
        match name {
            "stop" | "eos" | "eos_token" | "stop_sequence" | "end_turn" => Self::Stop,
            "tool_calls" | "function_call" | "tool_use" => Self::ToolCalls,
            "length" | "model_length" | "max_tokens" | "max_output_tokens" | "MAX_TOKENS" => Self::Length,
            "content_filter" => Self::ContentFilter,
            "error" => Self::Error,
            other => Self::other(other),
        }
    }

    /// A reason that the provider does not document. Its variant, if other providers use the name; [`Other`](Self::Other)
    /// if not.
    #[must_use]
    pub fn other(name: &str) -> Self {
        match name.to_ascii_lowercase().as_str() {
            "length" | "max_tokens" | "model_context_window_exceeded" => Self::Length,
            "content_filter" | "sensitive" | "safety" | "refusal" => Self::ContentFilter,
            "repetition" | "repetition_detected" => Self::Repetition,
            _ => Self::Other(name.chars().take(64).collect()),
        }
    }

    /// Whether the reason proves that what the model had begun is complete. A filter may cut in anywhere, and the
    /// meaning of an unknown reason is not known: neither is proof.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        match self {
            Self::Stop | Self::ToolCalls => true,
            Self::Length
            | Self::ContentFilter
            | Self::MalformedCall
            | Self::Repetition
            | Self::Error
            | Self::Other(_) => false,
        }
    }

    /// The name, such as `tool_calls`; OpenAI's name if there is one.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::ToolCalls => "tool_calls",
            Self::Length => "length",
            Self::ContentFilter => "content_filter",
            Self::MalformedCall => "malformed_call",
            Self::Repetition => "repetition",
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

/// Token counts of a response, as far as the provider reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// Tokens of the prompt.
    pub input_tokens: Option<u64>,
    /// Tokens of the response, including reasoning.
    pub output_tokens: Option<u64>,
    /// Input and output tokens together.
    pub total_tokens: Option<u64>,
    /// Input tokens read from the provider's cache.
    pub cached_input_tokens: Option<u64>,
    /// Input tokens written to the provider's cache, which may cost more.
    pub cache_creation_input_tokens: Option<u64>,
    /// Output tokens used for reasoning.
    pub reasoning_tokens: Option<u64>,
}

impl Usage {
    /// Whether any total is set, and not only details.
    pub(crate) fn has_totals(&self) -> bool {
        self.input_tokens.or(self.output_tokens).or(self.total_tokens).is_some()
    }
}
