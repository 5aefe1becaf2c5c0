//! Responses received through the crate [`reqwest_eventsource`] 0.6: an [`EventSource`] as a body.
//!
//! An `EventSource` is made for endless feeds: when one ends or breaks it sends the request again, and each POST for a
//! model's response costs money. [`EventSourceBody`] makes it the source of a
//! [`ResponseStream`](crate::ResponseStream), which reads records, tool calls and text from it as from any other body:
//!
//! ```
//! use reqwest_eventsource::RequestBuilderExt;
//! use serde::Deserialize;
//! use tokenline_codec::JsonlStreamParser;
//! use tokenline_core::{Options, json::Raw};
//! use tokenline_llm::event_source::EventSourceBody;
//! use tokenline_llm::{ResponseParser, ResponseStream, Provider};
//!
//! #[derive(Deserialize)]
//! struct Definition {
//!     entity: String,
//! }
//!
//! // The request as for any client, with `"stream": true` in it.
//! async fn definitions(request: reqwest::RequestBuilder) -> Result<(), Box<dyn std::error::Error>> {
//!     let body = EventSourceBody::new(request.eventsource()?);
//!     let parser = ResponseParser::<Raw>::new(Provider::OpenAiChat, Options::lenient());
//!     let text = ResponseStream::new(body, parser).text();
//!     let mut definitions = JsonlStreamParser::<_, Definition>::new(text).values();
//!     while let Some(definition) = definitions.next().await {
//!         println!("{}", definition?.entity);
//!     }
//!     Ok(()) // only if the response is complete
//! }
//! ```
//!
//! `ResponseStream::new(body, parser).records()` yields the same records, with more details of how each one ended.
//!
//! This is for programs that already have an `EventSource`. Otherwise use the response's own bytes,
//! `response.bytes_stream()`: this crate's decoder has none of the faults below, and works with any HTTP client.
//!
//! # Problems it solves
//!
//! | `EventSource` by itself | here |
//! |---|---|
//! | sends the request again after the end, a failed connection, or invalid UTF-8; without limit, whatever `max_retries` is | one request; the first error drops the source, and everything after it is `None` |
//! | reports `StreamEnded` at every end, clean or not | the body just ends; the parser checks the provider's terminator, and reports `stream_incomplete` without it |
//! | a status other than 200, or another content type, as an error that contains the unread response | [an error](EventSourceError) with the server's message, reading at most 64 KiB for at most three seconds |
//! | shows the URL, and a key in it, in its errors | never shows the URL |
//! | panics if a stream begins with a byte order mark, which it cuts in two | an error if panics unwind; with `panic = "abort"` the program still ends |
//!
//! It cannot solve these, because they happen earlier:
//!
//! - After invalid UTF-8 no more data arrives, and the error is only reported when the server closes the connection:
//!   [`EventSourceError::NotUtf8`].
//! - An event without its blank line at the end of the stream is dropped. If it is the terminator, the response counts
//!   as incomplete.
//! - A line that arrives in chunks is scanned from its start for each chunk, and its length is not limited: the time is
//!   quadratic, and the server controls the memory.
//!
//! # Supported providers
//!
//! Those with server-sent events: OpenAI chat completions and Responses, Anthropic, and Gemini with `alt=sse`. Ollama's
//! lines and Gemini's JSON array are rejected for their content type.

mod body;
mod error;
mod failure;

pub use body::EventSourceBody;
pub use error::EventSourceError;

#[cfg(doc)]
use reqwest_eventsource::EventSource;
