//! Typed records and tool calls from any byte stream, each as soon as it is complete.
//!
//! This crate connects the sans-IO decoder of [`tokenline_core`] to async Rust, in two ways:
//!
//! - [`JsonlStreamParser`], a pull-based [`Stream`](futures_core::Stream) over any stream of byte chunks: an
//!   HTTP body, a channel, a file. Its adaptors yield [`Records`], [`Values`], [`ToolCalls`], or [`TextEvents`]: everything in the text.
//! - [`JsonlCodec`], a [`tokio_util::codec`] `Decoder` and `Encoder`, for framed `AsyncRead` and
//!   `AsyncWrite`.
//!
//! For the wire formats of providers (server-sent events and their deltas), use `tokenline-llm`; for text
//! that is in memory, [`tokenline_core::JsonlParser`] is enough. This crate does no I/O, spawns no tasks and
//! needs no runtime.
//!
//! ```
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
//! // As a model might write it, in the chunks of a network.
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
//! An invalid line is an item, never an error: it affects only itself, and a [repair
//! hook](JsonlStreamParser::with_repair) may replace it. `Err` is for the source, and for too many rejects.
//! The events do not depend on how the source splits its chunks.
//!
//! A [`JsonlStreamParser`] passes through these states:
//!
//! ```text
//!             chunk                    source ended or failed
//!   Reading ---------> Decoding    Reading ------------------> Ending
//!      ^                  |                                       |
//!      +---- used up -----+                    nothing is left    v
//!                                  (None, or the error once) -> Ended
//! ```
//!
//! It goes to *Ended* early with the last of [a maximum of records](JsonlStreamParser::with_max_records), or
//! with an error when it exceeds its [error budget](JsonlStreamParser::with_error_budget).
//!
//! It polls its source only while *Reading*, that is, when it has no event ready. After the source's end or
//! error it drops the source and never polls it again. A poll is the loop in the documentation of
//! [`Driver`](tokenline_core::adapter::Driver), except that after a few hundred KiB without an event it wakes
//! itself and returns `Pending`, so that other tasks can run.
//!
//! So an error of the source comes after everything that was complete before it. A record that was balanced
//! at that point is delivered as [`end_of_input`](tokenline_core::CompletedBy::EndOfInput). A tool call is
//! rejected as [`unsealed`](tokenline_core::Code::Unsealed), because its arguments may be truncated, and an
//! open record as [`truncated`](tokenline_core::Code::Truncated).
//!
//! Everything is cancel-safe: dropping a `next()` future loses no data. Dropping a stream drops its source,
//! which closes the connection.
#![forbid(unsafe_code)]
#![allow(clippy::should_implement_trait, reason = "`next` of a stream is that of `StreamExt`")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod codec;
pub mod observe;
mod stream;

pub use codec::{JsonlCodec, TextCodec};
#[doc(hidden)]
pub use stream::{AsyncRepair, Pump};
pub use stream::{
    ClonedPartials, EventStream, Items, JsonlStreamParser, Next, Partials, Records, Reporting, SourceError,
    StopOnError, StopOnReject, StopOnRejectError, StreamError, TextEvents, ToolCalls, Values,
};

/// Runs the README's example as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
