//! A stream worker on NATS JetStream: chunks of model responses in, validated records and rejects out, each exactly once
//! and in order.
//!
//! | subject | messages |
//! |---|---|
//! | `chunks.<source>` | the chunks of a response's text, or of its body as the provider sent it. The last one is empty, or has the header [`Tokenline-End`](headers::END) |
//! | `records.<source>` | the records or tool calls, a line of JSON each; after the last one an empty message with the header [`Tokenline-End`](headers::END) |
//! | `rejects.<source>` | the rejects, a JSON object each with code, line, span, message and paths, without values of the input |
//!
//! A source is one response; its id is any number of subject tokens, and is used for one response only. The prefixes,
//! the format and the parser are [options](WorkerOptions), the [headers] are described in their module.
//!
//! ```no_run
//! use tokenline::{Provider, SchemaValidator};
//! use tokenline_nats::{Format, Worker, WorkerOptions, async_nats};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let schema: SchemaValidator = r#"{"required":["entity"]}"#.parse()?;
//! let options = WorkerOptions::new("glossary-7").format(Format::Provider(Provider::OpenAiChat)).schema(schema);
//! let client = async_nats::connect("nats://127.0.0.1:4222").await?;
//! Worker::new(client, options).await?.run().await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Guarantees
//!
//! However often workers are killed, the server is restarted, or several workers get the chunks of one source, the
//! messages on each output subject are byte for byte those of one worker that nothing disturbed:
//!
//! - **The output says how far it is.** Each message has the run id and its number on its subject. A worker without the
//!   source's decoder reads the source again from its first chunk, and leaves out what is stored. So does a worker that
//!   may have missed chunks because another one got them.
//! - **The server checks the order.** Each message is published with the sequence of the subject's last message
//!   (`Nats-Expected-Last-Subject-Sequence`), or with the id of the one before it in a batch
//!   (`Nats-Expected-Last-Msg-Id`). Of several workers one stores it; the others look what is stored, and go on. This
//!   does not depend on the stream's duplicate window.
//! - **Acknowledged means stored.** A chunk is acknowledged once the server has confirmed all outputs up to it. Outputs
//!   are sent in batches of up to 512 messages, then confirmed.
//! - **Bounded.** While outputs cannot be stored, no more than [`max_ack_pending`](WorkerOptions::max_ack_pending)
//!   chunks are delivered, and at most 512 outputs, or 1 MiB and one more, wait for each subject of a source. Of more
//!   than [`max_sources`](WorkerOptions::max_sources) sources, those that were silent longest are forgotten until their
//!   next chunk. A line or record beyond the parser's limits is a reject, and so is one that the server would refuse
//!   for its length.
//! - **Patient.** Lost connections, servers that restart and full streams are warnings through `tracing`, and tried again
//!   after 25 ms to 2 s. What needs a person is an [`Error`] that says what to do.
//! - **Separate.** A source that cannot be continued, because its subjects hold other output or messages were removed, is
//!   [reported](WorkerOptions::on_source_failed) and set aside: nothing more of it is stored, and its chunks are
//!   terminated. Other sources go on.
//!
//! # What the streams must keep
//!
//! All three need the retention policy `limits`; they may be one stream. The chunks of a source must be kept until it
//! has ended, and the last message of each output subject as long as its chunks may be delivered again. A worker does
//! not start if `max_msgs` or `max_bytes` would remove messages (with the discard policy `new` they only hold
//! producers and workers back), if `max_msgs_per_subject` would remove chunks, or if `max_age` would remove outputs
//! before chunks. Let the `max_age` of chunks be longer than any source takes. To start over after a purge, choose
//! another run id. Without replicas and `sync_interval: always`, a server that loses power may lose messages that it
//! confirmed; no client can repair that.
//!
//! # Non-goals
//!
//! Sources without an end: a worker reads them as long as chunks arrive, but after a restart it reads all chunks again.
//! Make each response a source of its own. There is no other transport, no scheduling of sources, and no state outside
//! the streams.
//!
//! For TLS and credentials, depend on `async-nats` with its features (`ring`, `nkeys`, ...), and connect with its
//! `ConnectOptions`.
#![forbid(unsafe_code)]

mod chunks;
mod continuity;
mod decoder;
mod error;
pub mod headers;
mod holder;
mod lane;
mod options;
mod setup;
mod shared;
mod source;
mod worker;

pub use async_nats;
pub use error::Error;
pub use options::{Format, WorkerOptions};
pub use worker::{Counts, Worker};

/// Runs the README's example as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
