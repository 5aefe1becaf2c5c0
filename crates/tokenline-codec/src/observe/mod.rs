//! Observability of streams: counters for [`metrics`](https://docs.rs/metrics), spans and events for
//! [`tracing`](https://docs.rs/tracing).
//!
//! ```console
//! $ cargo add tokenline --features tracing,metrics
//! ```
//!
//! Each feature works on its own, and there is nothing else to turn on: every stream reports to the recorder
//! and the subscriber that the program installs. Without the features nothing is counted, no clock is read,
//! and neither crate is a dependency.
//!
//! Only the innermost stream is observed, [`JsonlStreamParser`](crate::JsonlStreamParser) or
//! `tokenline-llm`'s `ResponseStream`, once, whichever adaptors wrap it. Sans-IO machines and
//! [`JsonlCodec`](crate::JsonlCodec) are not. The counts are those of the stream's
//! [`Report`](tokenline_core::Report).
//!
//! # Metrics
//!
//! | name | kind | unit | labels | counts |
//! |---|---|---|---|---|
//! | `tokenline_bytes_total` | counter | bytes | `source` | bytes read from the source |
//! | `tokenline_events_total` | counter | events | `source` | all events: records, calls, rejects, notes; for a response also fragments of text, ends, usage |
//! | `tokenline_records_total` | counter | records | `source` | records delivered |
//! | `tokenline_tool_calls_total` | counter | tool calls | `source` | tool calls delivered |
//! | `tokenline_rejected_total` | counter | diagnostics | `source`, `code` | rejects; notes, such as prose, do not count |
//! | `tokenline_streams_total` | counter | streams | `source`, `outcome` | streams that ended, or were dropped |
//! | `tokenline_time_to_first_record_seconds` | histogram | seconds | `source` | from the stream's creation to the first record or call, if there is one |
//! | `tokenline_time_to_first_chunk_seconds` | histogram | seconds | `source` | from a model request to the first chunk of its response |
//! | `tokenline_time_per_chunk_seconds` | histogram | seconds | `source` | from the chunk before to each later chunk of a model's response; one chunk may bring several tokens |
//!
//! | label | value |
//! |---|---|
//! | `source` | `text`, or the provider as in the program's `--from`: `openai-chat` |
//! | `code` | the [code](tokenline_core::Code) of the diagnostic: `malformed_json` |
//! | `outcome` | `complete`: the source ended normally. `incomplete`: it ended without the provider's terminator, or after its error. `failed`: the source failed. `dropped`: the consumer dropped the stream, a [`StopOnReject`](crate::StopOnReject) stream met a reject, or a quota was reached |
//!
//! With the feature `metrics`, `describe_metrics` registers units and descriptions with the recorder.
//!
#![cfg_attr(feature = "metrics", doc = "```")]
#![cfg_attr(not(feature = "metrics"), doc = "```ignore")]
//! use metrics_util::debugging::DebuggingRecorder;
//! use tokenline_codec::{JsonlStreamParser, observe};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // In production an exporter, such as metrics-exporter-prometheus.
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
//! All have the target `tokenline`. A stream is a span, a child of the one it was created in. The span is
//! entered while the stream is polled, so that it contains the events of its source. At level `info`, only
//! failures of complete streams are logged.
//!
//! | level | what | fields |
//! |---|---|---|
//! | debug | span `tokenline.stream` | `source`; at its end `outcome`, `bytes`, `events`, `records`, `tool_calls`, `rejected` |
//! | debug | span `chat`, of a model's response | the same, and the attributes of OpenTelemetry's [semantic conventions](https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/): `otel.name`, `gen_ai.operation.name`, `gen_ai.provider.name`, `gen_ai.request.model`, `gen_ai.request.max_tokens`, `gen_ai.request.temperature`, `gen_ai.request.top_p`, `gen_ai.request.seed`, `gen_ai.request.stream`, `server.address`, `server.port`; as they arrive `gen_ai.usage.input_tokens`, `gen_ai.usage.output_tokens`, `gen_ai.usage.cache_read.input_tokens`, `gen_ai.response.finish_reasons` (the [reasons](https://docs.rs/tokenline-llm) as this library names them), `gen_ai.response.time_to_first_chunk` in seconds, `error.type`; of the request only with `LlmClient` |
//! | debug | `first record`, or call | `elapsed_ms` |
//! | debug | `rejected` | `code`, `origin`, `line`, `column`, `start`, `end`, `schema_path` if a schema's rule was broken |
//! | debug | `ended` | `outcome` and the counts, as the span |
//! | warn | `request repeated`, by a client before a response begins | `kind`, `status`, `wait_ms` |
//! | warn | `provider error`, `stream incomplete`, `source failed` | `source`, `code` if it is a diagnostic |
//!
//! ```text
//! DEBUG tokenline.stream{source="text"}: tokenline: first record elapsed_ms=0.061
//! DEBUG tokenline.stream{source="text"}: tokenline: rejected code="malformed_json" origin="text" line=2 column=6 start=8 end=17
//! DEBUG tokenline.stream{source="text"}: tokenline: ended outcome="complete" bytes=18 events=2 records=1 tool_calls=0 rejected=1
//! ```
//!
//! # Never a value
//!
//! Labels, spans and events contain nothing of the input: no value, text, argument, or name of a member or
//! tool, and no message of a diagnostic or an error. These are only in the stream's items and its report.

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
