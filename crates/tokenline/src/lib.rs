//! Typed objects and tool calls from a language model's byte stream, the moment each one is complete.
//!
//! # Where to start
//!
//! | | no I/O: push bytes, take events | over any byte stream |
//! |---|---|---|
//! | text (JSON Lines as models write them) | [`JsonlParser`] | [`JsonlStreamParser`] (a `Stream`), [`JsonlCodec`] (tokio-util) |
//! | text with records, tool calls and prose | [`TextParser`] | [`JsonlStreamParser::text_events`], [`TextCodec`] |
//! | a provider's wire format | [`ResponseParser`] | [`ResponseStream`] |
//!
//! Each of these types yields typed records, tool calls or all events, and a [`Report`] at the end. [`LlmClient`] sends a
//! request and returns a [`ResponseStream`]; [`RecordDecoder`] is the low-level decoder that all of them use.
//!
//! ```
//! use serde::Deserialize;
//! use tokenline::JsonlStreamParser;
//!
//! #[derive(Deserialize)]
//! struct Definition {
//!     entity: String,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // In a program: `response.bytes_stream()`. Here: text as a model writes it, split anywhere.
//! let chunks = ["Sure!\n```json\n{\"enti", "ty\":\"DNA\"}\n{\"entity\":\"RN", "A\"}\n```"];
//! let body = futures_util::stream::iter(chunks.map(Ok::<_, std::io::Error>));
//!
//! let mut definitions = JsonlStreamParser::<_, Definition>::new(body).values();
//! let mut entities = Vec::new();
//! while let Some(definition) = definitions.next().await {
//!     entities.push(definition?.entity);
//! }
//! assert_eq!(entities, ["DNA", "RNA"]);
//! # Ok(())
//! # }
//! ```
//!
//! # Guides
//!
//! [`guide::programs`] has fourteen complete programs to copy. [`guide::records`] explains what counts as a record and what is recovered. [`guide::streams`] covers limits, repair and
//! reports, [`guide::providers`] requests and responses, [`guide::clients`] the HTTP client or model crate that you already
//! have, [`guide::testing`] recorded responses and faults, [`guide::embedding`] transactions, MCP and WebAssembly. Other
//! guides cover [partial records](guide::partials),
//! [prompts](guide::prompts), [tool calls in text](guide::tools_in_text), [cut-off responses](guide::continuation),
//! [rejects that are requested again](guide::reask),
//! [chat responses with an analysis](guide::chat_analysis), [files of conversations](guide::conversations),
//! [performance](guide::performance) and [large data](guide::at_scale).
//!
//! For axum, the crate `tokenline-axum` has responses that stream records, request bodies as validated records, and the
//! AI SDK's protocols; [`guide::programs`] uses it.
//!
//! Examples on the pages of types import from the crate that defines the type: `tokenline_core::Event` is
//! `tokenline::Event`, `tokenline_llm::request` is `tokenline::llm::request`.
//!
//! # Features
//!
//! | feature | what it adds |
//! |---|---|
//! | `codec` (default) | [`JsonlStreamParser`], [`JsonlCodec`] |
//! | `derive` | `#[derive(Partial)]`: a record in its own type while the model is still writing it |
//! | `schema` | [`SchemaValidator`], [`ToolSet`], [`Validated`]: validation against JSON Schemas, also derived from Rust types |
//! | `llm` | [`ResponseStream`], [`ResponseParser`], [`ChatRequest`]: eight wire formats of providers, over any HTTP client |
//! | `client` | `llm`, and [`LlmClient`], an HTTP client based on reqwest and rustls with ring |
//! | `aws-lc` | aws-lc-rs instead of ring in the client, for post-quantum key exchange; needs a C compiler |
//! | `replay` | [`llm::replay`]: a test server that replays recorded responses |
//! | `prompt` | [`prompt`]: prompt templates, and tool calls from models without function calling |
//! | `continuation` | [`continuation`]: continues JSON documents that a token limit cut off |
//! | `conversations` | [`conversations`]: validates conversations and records in large files |
//! | `chat-analysis` | [`chat_analysis`]: JSON responses that hold a chat reply and an analysis of the chat |
//! | `reqwest-eventsource` | `llm::event_source`: responses from that crate's `EventSource` |
//! | `tracing`, `metrics` | [`observe`]: spans, events and counters for every stream, without its content |
//!
//! All but `client`, `aws-lc`, `replay` and `reqwest-eventsource` build for `wasm32-unknown-unknown`; see
//! [`guide::embedding`](guide::embedding#webassembly).
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[doc(inline)]
pub use tokenline_core::partial::{FieldState, Partial, PartialBuilder, PartialEvent, PartialText};
pub use tokenline_core::{
    CallDelta, CallFormat, CallUpdate, CheckedChunk, Chunk, Code, Coercion, CompletedBy, Decoded, Diagnostic,
    EarlyEnd, Event, Example, JsonlParser, LentEvent, Limits, Mode, OpenCall, OpenRecord, Options, Origin,
    Reads, Reasks, Record, RecordDecoder, Recovered, Recovery, Rejected, RejectedCall, Release, Repeated,
    Repetition, RepetitionLimit, RepetitionLimits, Report, Severity, Span, TextEvent, TextParser,
    TooManyRejected, ToolCall, ToolCallAssembler, ToolDefinition, Validate, ValidateCall, ValidateOpen,
    Violation,
};
#[doc(inline)]
pub use tokenline_core::{adapter, call_format, json, partial, sse, syntax_repair};
#[cfg(feature = "derive")]
pub use tokenline_derive::Partial;

#[cfg(feature = "codec")]
#[doc(inline)]
pub use tokenline_codec::observe;
#[cfg(feature = "codec")]
pub use tokenline_codec::{
    EventStream, Items, JsonlCodec, JsonlStreamParser, Partials, Records, Reporting, SourceError,
    StopOnError, StopOnReject, StopOnRejectError, StreamError, TextCodec, TextEvents, ToolCalls, Values,
};

#[cfg(feature = "schema")]
#[doc(inline)]
pub use tokenline_schema as schema;
#[cfg(feature = "schema")]
pub use tokenline_schema::{SchemaValidator, ToolSet};

#[cfg(feature = "llm")]
#[doc(inline)]
pub use tokenline_llm as llm;
#[cfg(feature = "client")]
pub use tokenline_llm::client::{ApiKey, LlmClient, ReaskOptions, extract};
#[cfg(feature = "llm")]
pub use tokenline_llm::request::{ChatRequest, Message, ResponseFormat};
#[cfg(feature = "llm")]
pub use tokenline_llm::{
    Checkpoint, Provider, ResponseEvent, ResponseOptions, ResponseParser, ResponseStream, TextMode,
};

#[cfg(feature = "chat-analysis")]
#[doc(inline)]
pub use tokenline_chat_analysis as chat_analysis;
#[cfg(feature = "continuation")]
#[doc(inline)]
pub use tokenline_continuation as continuation;
#[cfg(all(feature = "continuation", not(feature = "llm")))]
pub use tokenline_continuation::Checkpoint;
#[cfg(feature = "conversations")]
#[doc(inline)]
pub use tokenline_conversations as conversations;
#[cfg(feature = "prompt")]
#[doc(inline)]
pub use tokenline_prompt as prompt;

#[cfg(all(feature = "client", feature = "prompt"))]
mod response_text;

#[cfg(all(feature = "client", feature = "chat-analysis"))]
mod ask_analysis;
#[cfg(all(feature = "client", feature = "chat-analysis"))]
pub use ask_analysis::AskAnalysis;

#[cfg(all(feature = "client", feature = "prompt"))]
mod ask;
#[cfg(all(feature = "client", feature = "prompt"))]
pub use ask::Ask;

#[cfg(all(feature = "codec", feature = "schema"))]
mod validated;
#[cfg(all(feature = "codec", feature = "schema"))]
pub use validated::Validated;

// Documentation only: the examples need these features.
#[cfg(all(
    any(doc, doctest),
    feature = "chat-analysis",
    feature = "client",
    feature = "continuation",
    feature = "conversations",
    feature = "derive",
    feature = "prompt",
    feature = "replay"
))]
#[cfg_attr(docsrs, doc(auto_cfg = false))]
pub mod guide;

/// Runs the README's examples as tests.
#[cfg(all(doctest, feature = "client", feature = "derive", feature = "schema"))]
#[doc = include_str!("../README.md")]
struct Readme;

/// The same for the README of `tokenline-derive`, which this crate depends on.
#[cfg(all(doctest, feature = "derive"))]
#[doc = include_str!("../../tokenline-derive/README.md")]
struct DeriveReadme;
