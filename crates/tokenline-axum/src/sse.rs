//! Server-sent events: events as bytes, and a response that streams them.
//!
//! [`SseResponse`] answers a request with a stream of [`ServerSentEvent`]s, or of bytes that are already encoded. Names and ids
//! cannot break the format, headers keep proxies from buffering the response, comments keep a silent connection alive,
//! and the stream is dropped as soon as it ends, fails or loses its reader.
//!
//! ```
//! use std::convert::Infallible;
//!
//! use axum_core::response::IntoResponse;
//! use futures_util::stream;
//! use tokenline_axum::sse::{ServerSentEvent, FieldValue, SseResponse};
//!
//! const TICK: FieldValue = FieldValue::from_static("tick"); // checked at compile time
//!
//! async fn ticks() -> impl IntoResponse {
//!     let events = (1..=3_u64).map(|n| ServerSentEvent::new(n.to_string()).with_name(TICK).with_id(n));
//!     SseResponse::new(stream::iter(events.map(Ok::<_, Infallible>)))
//! }
//! # let _ = ticks;
//! ```
//!
//! The format is that of [the HTML standard](https://html.spec.whatwg.org/multipage/server-sent-events.html).

mod event;
mod response;

pub use event::{FieldValue, InvalidFieldValue, ServerSentEvent};
pub(crate) use response::KEEP_ALIVE;
pub use response::SseResponse;
