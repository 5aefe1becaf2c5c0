// Its examples need the features `client`, `continuation`, `conversations`, `prompt` and `chat-analysis`; the text is there in any case.
#![cfg_attr(any(not(doctest), all(feature = "client", feature = "continuation", feature = "conversations", feature = "prompt", feature = "chat-analysis")), doc = include_str!("../README.md"))]
#![forbid(unsafe_code)]

pub use tokenline_core::*;

#[cfg(feature = "codec")]
pub use tokenline_codec::{
    EventStream, Items, JsonlCodec, JsonlStreamParser, Records, Reporting, SourceError, StopOnError,
    StopOnReject, StopOnRejectError, StreamError, ToolCalls, Values, observe,
};

#[cfg(feature = "continuation")]
pub use tokenline_continuation as continuation;
#[cfg(feature = "conversations")]
pub use tokenline_conversations as conversations;
#[cfg(feature = "llm")]
pub use tokenline_llm as llm;
#[cfg(feature = "prompt")]
pub use tokenline_prompt as prompt;
#[cfg(feature = "schema")]
pub use tokenline_schema as schema;

// Built for the documentation alone.
#[cfg(all(
    any(doc, doctest),
    feature = "client",
    feature = "prompt",
    feature = "replay",
    feature = "chat-analysis"
))]
pub mod cookbook;

#[cfg(all(feature = "client", any(feature = "continuation", feature = "prompt")))]
mod answer_text;

#[cfg(all(feature = "client", feature = "prompt"))]
mod ask;
#[cfg(all(feature = "client", feature = "prompt"))]
pub use ask::Ask;

#[cfg(feature = "chat-analysis")]
#[doc(inline)]
pub use tokenline_chat_analysis as chat_analysis;

#[cfg(all(feature = "client", feature = "continuation"))]
mod ask_continued;
#[cfg(all(feature = "client", feature = "continuation"))]
pub use ask_continued::{AskContinued, AskContinuedError};

#[cfg(all(feature = "client", feature = "chat-analysis"))]
mod ask_analysis;
#[cfg(all(feature = "client", feature = "chat-analysis"))]
pub use ask_analysis::AskAnalysis;

#[cfg(all(feature = "codec", feature = "schema"))]
mod validated;
#[cfg(all(feature = "codec", feature = "schema"))]
pub use validated::Validated;
