//! What streams show of themselves while they run: counters for [`metrics`](https://docs.rs/metrics),
//! spans and events for [`tracing`](https://docs.rs/tracing).
//!
//! ```console
//! $ cargo add tokenline --features tracing,metrics
//! ```
//!
//! Each feature stands alone, and there is nothing else to turn on: what the program installs as its
//! recorder and as its subscriber is told of every stream. Without the features nothing is counted, no
//! clock is read, and neither crate is depended on.
//!
//! What is seen is the stream at the bottom, [`JsonlStreamParser`](crate::JsonlStreamParser) or
//! `tokenline-llm`'s `ResponseStream`, once, whichever adaptors it is read through. Machines without I/O,
//! and [`JsonlCodec`](crate::JsonlCodec), are not seen. The counts are those of the stream's
//! [`Report`](tokenline_core::Report).
//!
//! # Metrics
//!
//! | name | kind | unit | labels | counts |
//! |---|---|---|---|---|
//! | `tokenline_bytes_total` | counter | bytes | `source` | what was read from the source |
//! | `tokenline_events_total` | counter | events | `source` | what the stream came to: records, calls, rejects, notes; of an answer also fragments of text, ends, usage |
//! | `tokenline_records_total` | counter | records | `source` | records delivered |
//! | `tokenline_tool_calls_total` | counter | tool calls | `source` | tool calls delivered |
//! | `tokenline_rejected_total` | counter | findings | `source`, `code` | what was not delivered; notes, such as prose, are none of it |
//! | `tokenline_streams_total` | counter | streams | `source`, `outcome` | streams that ended, or were dropped |
//! | `tokenline_time_to_first_record_seconds` | histogram | seconds | `source` | from the stream's creation to the first record or call, if there is one |
//!
//! | label | value |
//! |---|---|
//! | `source` | `text`, or the provider as the program's `--from` has it: `openai-chat` |
//! | `code` | the [code](tokenline_core::Code) of the finding: `malformed_json` |
//! | `outcome` | `complete`: the source came to its own end. `incomplete`: it ended, but the provider had not, or had sent an error. `failed`: the source failed. `dropped`: the consumer wanted no more; it dropped the stream, or the stream is [`StopOnReject`](crate::StopOnReject) and met a reject, or it had delivered or rejected as much as it was to |
//!
//! With the feature `metrics`, `describe_metrics` gives the recorder units and descriptions.
//!
#![cfg_attr(feature = "metrics", doc = "```")]
#![cfg_attr(not(feature = "metrics"), doc = "```ignore")]
//! use futures_util::StreamExt;
//! use metrics_util::debugging::DebuggingRecorder;
//! use tokenline_codec::{JsonlStreamParser, observe};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // In real life an exporter, such as metrics-exporter-prometheus.
//! let recorder = DebuggingRecorder::new();
//! let snapshotter = recorder.snapshotter();
//! recorder.install()?;
//! observe::describe_metrics();
//!
//! let body = futures_util::stream::iter(["{\"a\":1}\n{\"a\":NaN}\n"].map(Ok::<_, std::io::Error>));
//! let mut values = JsonlStreamParser::<_, serde_json::Value>::new(body).values().infallible();
//! while values.next().await.is_some() {}
//!
//! let mut lines = Vec::new();
//! for (key, _unit, _description, value) in snapshotter.snapshot().into_vec() {
//!     lines.push(format!("{} {value:?}", key.key()));
//! }
//! assert!(lines.contains(&"Key(tokenline_records_total, [source = text]) Counter(1)".to_owned()));
//! # Ok(())
//! # }
//! ```
//!
//! # Spans and events
//!
//! All have the target `tokenline`. A stream is a span, a child of the one it was created in, and is
//! entered while it is polled, so that what its source tells is told inside it. An application at
//! `info` is told only what went wrong with a stream as a whole.
//!
//! | level | what | fields |
//! |---|---|---|
//! | debug | span `tokenline.stream` | `source`; at its end `outcome`, `bytes`, `events`, `records`, `tool_calls`, `rejected` |
//! | debug | span `chat`, of a model's response | the same, and the attributes of OpenTelemetry's [semantic conventions](https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/): `otel.name`, `gen_ai.operation.name`, `gen_ai.provider.name`, `gen_ai.request.model`, `gen_ai.request.max_tokens`, `gen_ai.request.temperature`, `gen_ai.request.top_p`, `gen_ai.request.seed`, `server.address`, `server.port`; as they come `gen_ai.usage.input_tokens`, `gen_ai.usage.output_tokens`, `gen_ai.usage.cache_read.input_tokens`, `gen_ai.response.finish_reasons` (the [reasons](https://docs.rs/tokenline-llm) as this library names them), `error.type`; of the request only if a client sent it |
//! | debug | `first record`, or call | `elapsed_ms` |
//! | debug | `rejected` | `code`, `origin`, `line`, `column`, `start`, `end`, `schema_path` if a schema's rule was broken |
//! | debug | `ended` | `outcome` and the counts, as the span |
//! | warn | `request repeated`, of a client before an answer begins | `kind`, `status`, `wait_ms` |
//! | warn | `provider error`, `stream incomplete`, `source failed` | `source`, `code` if it is a finding |
//!
//! ```text
//! DEBUG tokenline.stream{source="text"}: tokenline: first record elapsed_ms=0.061
//! DEBUG tokenline.stream{source="text"}: tokenline: rejected code="malformed_json" origin="text" line=2 column=6 start=8 end=17
//! DEBUG tokenline.stream{source="text"}: tokenline: ended outcome="complete" bytes=18 events=2 records=1 tool_calls=0 rejected=1
//! ```
//!
//! # Never a value
//!
//! Nothing of the input is in a label, a span or an event: no value, no text, no argument, no name of a
//! member or of a tool, and no message, neither of a finding nor of an error. They are in the
//! stream's items and in its report, for who may see them.

#[cfg(feature = "metrics")]
mod counters;
#[cfg(any(feature = "metrics", feature = "tracing"))]
mod meter;
mod model_request;
#[cfg(not(any(feature = "metrics", feature = "tracing")))]
mod off;
#[cfg(any(feature = "metrics", feature = "tracing"))]
mod outcome;
#[cfg(feature = "tracing")]
mod trace;

#[cfg(feature = "metrics")]
pub use counters::describe_metrics;
#[cfg(any(feature = "metrics", feature = "tracing"))]
#[doc(hidden)]
pub use meter::{Meter, Metered, Start};
#[doc(hidden)]
pub use model_request::ModelRequest;
#[cfg(not(any(feature = "metrics", feature = "tracing")))]
#[doc(hidden)]
pub use off::{Meter, Metered, Start};
