//! Server-sent events: the wire format of most streamed model responses.
//!
//! [`SseDecoder`] follows the algorithm of the [WHATWG HTML standard, section 9.2.6][spec], and is sans-IO:
//! it takes bytes as the transport splits them, and returns each event as soon as its blank line has arrived.
//! How the input is split does not change the events.
//!
//! It is not an `EventSource`: it opens no connection, and reconnecting with
//! [`last_event_id`](SseDecoder::last_event_id) and [`retry`](SseDecoder::retry) is left to the caller.
//!
//! ```
//! use tokenline_core::Limits;
//! use tokenline_core::sse::{SseDecoded, SseDecoder, SseItem};
//!
//! let mut decoder = SseDecoder::new(Limits::default());
//! let mut texts = Vec::new();
//! for chunk in ["data: {\"a\":1}\n", "\n: keep-alive\n\nevent: ping\nda", "ta: {}\r\n\r\ndata: [DO"] {
//!     let mut rest = chunk.as_bytes();
//!     while let SseDecoded { consumed, item: Some(item) } = decoder.decode(rest) {
//!         rest = &rest[consumed..];
//!         match item {
//!             SseItem::Event(event) => texts.push(format!("{}: {}", event.event, event.data)),
//!             SseItem::Incomplete(event) => eprintln!("{}", event.truncated()),
//!             SseItem::Rejected(diagnostic) => eprintln!("{diagnostic}"),
//!         }
//!     }
//! }
//! assert_eq!(texts, ["message: {\"a\":1}", "ping: {}"]);
//!
//! // The stream ended inside an event. The standard discards it; here the caller decides.
//! let Some(SseItem::Incomplete(event)) = decoder.finish() else { unreachable!() };
//! assert_eq!(event.data, "[DO");
//! assert_eq!(event.truncated().code.as_str(), "truncated");
//! ```
//!
//! [spec]: https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation

mod block;
mod decoder;
mod event;
mod line;

pub use decoder::{SseDecoder, StrayObject, StrayPlace};
pub use event::{SseDecoded, SseEvent, SseItem};
