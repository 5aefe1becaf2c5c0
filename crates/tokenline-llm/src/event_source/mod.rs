//! An answer that comes over the crate [`reqwest_eventsource`] 0.6: an [`EventSource`] as a body.
//!
//! An `EventSource` is made for feeds that go on for ever. Where one ends or breaks it asks again, and the POST for a
//! model's answer is paid for each time. [`EventSourceBody`] puts it behind an [`ResponseStream`](crate::ResponseStream),
//! which reads records, tool calls and text from it as from any other body:
//!
//! ```
//! # mod reqwest { pub use reqwest_0_12::*; }
//! use futures_util::StreamExt;
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
//!     Ok(()) // only if the provider came to its own end
//! }
//! ```
//!
//! `ResponseStream::new(body, parser).records()` yields the same records, and knows more about how each one ended.
//!
//! This is for programs that have an `EventSource` already. Any other is served better by the response's own bytes,
//! `response.bytes_stream()`, which the decoder of this project reads: it has none of the faults below, and needs no
//! particular HTTP client.
//!
//! # What it guards against
//!
//! | `EventSource` by itself | here |
//! |---|---|
//! | sends the request again after the end, a connection that failed, bytes that are not UTF-8; without limit, whatever `max_retries` says | one request; at the first error the source is dropped, and what comes after is `None` |
//! | says `StreamEnded` at every end, a good one or a silent close | the end of the body; whether the answer is whole is for the parser to tell by the provider's own terminator, and `stream_incomplete` if it is not |
//! | a status other than 200, or another content type, as an error with the response in it, unread | [an error](EventSourceError) with the server's message, of which at most 64 KiB are waited for, and no longer than three seconds |
//! | errors that show the URL, with the key that may be in it | none does |
//! | a stream that begins with a byte order mark: a panic, as it cuts the mark in two | an error, where panics unwind; built with `panic = "abort"` the program ends |
//!
//! What cannot be mended from outside, as it happens to the bytes before they come here:
//!
//! - After a byte that is not UTF-8 nothing comes any more, and that there was one is told only when the server
//!   closes: [`EventSourceError::NotUtf8`].
//! - An event without its blank line at the end of the stream is dropped. Where that is the terminator, the answer
//!   counts as incomplete.
//! - A line that comes in pieces is read again from its start with each piece, and none is too long: the time for one
//!   is quadratic, and the memory is the server's to choose.
//!
//! # What comes over an event source
//!
//! Server-sent events only: OpenAI chat completions and Responses, Anthropic, and Gemini if asked with `alt=sse`.
//! Ollama's lines and Gemini's JSON array do not; they are refused for their content type.

mod body;
mod error;
mod failure;

pub use body::EventSourceBody;
pub use error::EventSourceError;

#[cfg(doc)]
use reqwest_eventsource::EventSource;
