//! Language model providers for tokenline: turns the bytes of a streamed response into records and tool calls.
//!
//! [`ResponseParser`] is the push parser, without I/O; [`ResponseStream`] wraps it around any stream of bytes, such as
//! the body of an HTTP response. Both read a response's text as records or as tool calls, and its native tool calls,
//! for every [`Provider`]:
//!
//! | provider | body |
//! |---|---|
//! | OpenAI chat completions, and compatible servers | server-sent events |
//! | OpenAI Responses | server-sent events |
//! | Anthropic messages | server-sent events |
//! | Gemini `streamGenerateContent` | server-sent events, or a JSON array |
//! | Gemini Interactions | server-sent events |
//! | Cohere v2 `/v2/chat` | server-sent events |
//! | Amazon Bedrock ConverseStream | messages of an Amazon event stream |
//! | Ollama `/api/chat` | JSON Lines |
//!
//! [`EventDecoder`](providers::EventDecoder) decodes single events, whatever the transport.
//!
//! Responses that were not streamed are supported too, and so are the result files of [batches](batch).
//!
//! ```
//! use tokenline_core::Options;
//! use tokenline_llm::{ResponseEvent, ResponseParser, Provider};
//!
//! #[derive(serde::Deserialize)]
//! struct Definition {
//!     entity: String,
//! }
//!
//! let mut parser = ResponseParser::<Definition>::new(Provider::OpenAiChat, Options::lenient());
//! let mut entities = Vec::new();
//! # let body = [
//! #     "data: {\"choices\":[{\"delta\":{\"content\":\"{\\\"entity\\\":\\\"DNA\\\"}\\n\"}}]}\n\n",
//! #     "data: [DONE]\n\n",
//! # ];
//! for chunk in body {
//!     parser.push(chunk.as_bytes());
//!     while let Some(event) = parser.next_event() {
//!         match event {
//!             ResponseEvent::Record { record, .. } => entities.push(record.value.entity),
//!             ResponseEvent::Rejected { diagnostic, .. } => eprintln!("{diagnostic}"),
//!             _ => {}
//!         }
//!     }
//! }
//! parser.finish();
//! assert_eq!(entities, ["DNA"]);
//! ```
//!
//! The bytes may come from any HTTP client; [`request`] writes the body of a request. With the feature `client`, the
//! module of that name also sends it: one call from a prompt to a stream. Nothing here changes what a model wrote or
//! releases what may be truncated, unless you opt in, for example with a [repair hook](ResponseOptions::repair).
//!
//! With the feature `replay`, the module of that name serves recorded model streams over real HTTP: for tests, for the
//! program's `demo` and `replay`, and wherever a deterministic model is needed. With the feature `reqwest-eventsource`,
//! the module `event_source` reads responses received through that crate.
#![forbid(unsafe_code)]
#![allow(clippy::should_implement_trait, reason = "`next` of a stream is that of `StreamExt`")]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(all(
    target_family = "wasm",
    any(feature = "client", feature = "replay", feature = "reqwest-eventsource")
))]
compile_error!(
    "the features `client`, `replay` and `reqwest-eventsource` do not build for WebAssembly: they need sockets. \
     Use the feature `llm`, send the request with the host's HTTP client, and give the bytes to `ResponseStream`"
);

pub mod batch;
#[cfg(all(feature = "client", not(target_family = "wasm")))]
pub mod client;
#[cfg(all(feature = "client", not(target_family = "wasm")))]
mod continued;
mod delta;
#[cfg(all(feature = "reqwest-eventsource", not(target_family = "wasm")))]
pub mod event_source;
pub mod providers;
#[cfg(all(feature = "client", not(target_family = "wasm")))]
mod reask;
#[cfg(all(feature = "replay", not(target_family = "wasm")))]
pub mod replay;
pub mod request;
mod response;
#[cfg(any(feature = "client", feature = "reqwest-eventsource"))]
mod retry_after;
mod secrets;
mod stream;
mod unknown;
mod wire;
pub mod writer;

pub use delta::{Delta, FinishReason, OpaqueTarget, Usage};
pub use providers::Provider;
pub use response::{DataLoss, LentResponseEvent, ResponseEvent, ResponseOptions, ResponseParser, TextMode};
pub use stream::{ResponseError, ResponseRecords, ResponseStream, ResponseToolCalls, TextPieces};
pub use tokenline_codec::Items;
#[doc(no_inline)]
pub use tokenline_continuation::{
    Checkpoint, ContinuationError, ContinuationFailure, ContinuationMessages, ContinuationOptions,
    ContinuationStep, Document, DocumentContinuation, RecordContinuation, ResponseEnd,
};
pub use unknown::Unknown;
