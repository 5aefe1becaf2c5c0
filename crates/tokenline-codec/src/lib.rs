//! Typed records and tool calls out of any byte stream, the moment each one is complete.
//!
//! This crate joins the sans-IO decoder of [`tokenline_core`] to the async world, in two ways:
//!
//! - [`JsonlStreamParser`], a pull-based [`Stream`](futures_core::Stream) over any stream of byte
//!   chunks: an HTTP body, a channel, a file. Its adaptors yield [`Records`], [`Values`] or
//!   [`ToolCalls`].
//! - [`JsonlCodec`], a [`tokio_util::codec`] `Decoder` and `Encoder`, for what already speaks in
//!   frames over `AsyncRead` and `AsyncWrite`.
//!
//! It is not for the wire formats of providers (server-sent events and the deltas in them), which
//! are decoded a crate above, and not for text that is at hand as a whole, for which
//! [`tokenline_core::JsonlParser`] is enough. It does no I/O, starts no task and needs no runtime.
//!
//! ```
//! use futures_util::StreamExt;
//! use serde::Deserialize;
//! use tokenline_codec::JsonlStreamParser;
//!
//! #[derive(Deserialize)]
//! struct Definition {
//!     entity: String,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // As a model might write it, and as a network might cut it.
//! let pieces = ["Sure!\n```json\n{\"entity\":\"D", "NA\"}\n{\"entity\":NaN}\n{\"ent", "ity\":\"RNA\"}\n```"];
//! let body = futures_util::stream::iter(pieces.map(Ok::<_, std::io::Error>));
//!
//! let mut records = JsonlStreamParser::<_, Definition>::new(body).records();
//! let mut seen = Vec::new();
//! while let Some(record) = records.next().await {
//!     let record = record?;
//!     seen.push((record.line, record.value.entity));
//! }
//! assert_eq!(seen, [(3, "DNA".to_owned()), (5, "RNA".to_owned())]);
//!
//! let report = records.report();
//! assert_eq!(report.rejected(), 1);
//! assert_eq!(report.diagnostics()[1].to_string(), "4:11: malformed_json: expected a value, found a letter");
//! # Ok(())
//! # }
//! ```
//!
//! # The contract
//!
//! A bad line is an item, never an error: it harms only itself, and a
//! [repair hook](JsonlStreamParser::with_repair) may give it a second chance. `Err` is for the source,
//! and for more rejects than are allowed. Whatever the source's chunks, the events are the same.
//!
//! [`JsonlStreamParser`] goes through these states:
//!
//! ```text
//!             chunk                    source ended or failed
//!   Reading ---------> Decoding    Reading ------------------> Ending
//!      ^                  |                                       |
//!      +---- used up -----+                    nothing is left    v
//!                                  (None, or the error once) -> Ended
//! ```
//!
//! It may be told to go to *Ended* before: with the last of
//! [so many records](JsonlStreamParser::with_max_records), or with an error at
//! [one reject too many](JsonlStreamParser::with_error_budget).
//!
//! It polls its source only while *Reading*, that is when it has no event ready, and never again
//! after the source's end or error, at which it drops the source. One poll is the loop on the page of
//! [`Driver`](tokenline_core::adapter::Driver), but that a poll which has gone through a few hundred KiB without an
//! event wakes itself and returns `Pending`, so that other tasks get their turn.
//!
//! So an error of the source comes after everything that was complete before it. A record that
//! was balanced at that point is delivered as
//! [`end_of_input`](tokenline_core::CompletedBy::EndOfInput); a tool call is not, because its
//! arguments may have been cut: it is rejected as [`unsealed`](tokenline_core::Code::Unsealed). An
//! open record is rejected as [`truncated`](tokenline_core::Code::Truncated).
//!
//! Everything is cancel-safe: dropping a `next()` future loses nothing. Dropping a stream drops its
//! source, which closes the connection.
#![forbid(unsafe_code)]

mod codec;
pub mod observe;
mod stream;

pub use codec::JsonlCodec;
#[doc(hidden)]
pub use stream::Pump;
pub use stream::{
    ClonedPartials, EventStream, Items, JsonlStreamParser, Partials, Records, Reporting, SourceError,
    StopOnError, StopOnReject, StopOnRejectError, StreamError, ToolCalls, Values,
};
