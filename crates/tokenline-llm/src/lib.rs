//! Language model providers for tokenline: the bytes of a streamed answer in, records and tool calls
//! out.
//!
//! [`ResponseParser`] is the machine, sans-IO; [`ResponseStream`] puts it behind any stream of bytes,
//! such as an HTTP response's body. Both read the text of an answer as records or as tool calls,
//! and native tool calls beside it, whichever [`Provider`] it comes from:
//!
//! | provider | body |
//! |---|---|
//! | OpenAI chat completions, and servers that speak the same | server-sent events |
//! | OpenAI Responses | server-sent events |
//! | Anthropic messages | server-sent events |
//! | Gemini `streamGenerateContent` | server-sent events, or a JSON array |
//! | Gemini Interactions | server-sent events |
//! | Cohere v2 `/v2/chat` | server-sent events |
//! | Amazon Bedrock ConverseStream | messages of an Amazon event stream |
//! | Ollama `/api/chat` | JSON Lines |
//!
//! [`EventDecoder`](providers::EventDecoder) reads their events one by one, whatever brought them.
//!
//! Responses that were not streamed are read as well, and so are the result files of [batches](batch).
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
//! The bytes may come from whichever HTTP client is at hand; [`request`] writes what a provider is
//! asked. With the feature `client` the module of that name sends it: one call from a prompt to a stream.
//! Nothing here mends what a model wrote, unless it is given a [hook](ResponseParser::with_repair) that does, or releases
//! what may have been cut.
//!
//! With the feature `replay`, the module of that name serves recorded model streams over real HTTP: for tests, for the
//! program's `demo` and `replay`, and wherever a model that always says the same is wanted. With the feature
//! `reqwest-eventsource`, the module `event_source` reads answers that come over that crate.
#![forbid(unsafe_code)]

pub mod batch;
#[cfg(feature = "client")]
pub mod client;
mod continued;
mod delta;
#[cfg(feature = "reqwest-eventsource")]
pub mod event_source;
pub mod providers;
#[cfg(feature = "replay")]
pub mod replay;
pub mod request;
mod response;
#[cfg(any(feature = "client", feature = "reqwest-eventsource"))]
mod retry_after;
mod secrets;
mod stream;
mod unknown;
mod wire;

pub use continued::{
    Checkpoint, ContinuationError, ContinuationFailure, ContinuationOptions, ContinuationStep,
    RecordContinuation, ResponseEnd,
};
pub use delta::{Delta, FinishReason, OpaqueOf, Usage};
pub use providers::Provider;
pub use response::{ResponseEvent, ResponseParser, TextMode};
pub use stream::{ResponseError, ResponseRecords, ResponseStream, ResponseToolCalls, TextPieces};
pub use tokenline_codec::Items;
pub use unknown::Unknown;
