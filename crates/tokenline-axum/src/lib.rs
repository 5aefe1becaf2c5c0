//! Typed records over HTTP, with axum: responses that stream a model's records while it writes them, and request bodies
//! that are validated line by line as they arrive.
//!
//! - [`RecordsResponse`] sends any stream of records as NDJSON or server-sent events; [`RecordsFormat`] is the extractor
//!   that chooses between them.
//! - [`JsonLines`] is an extractor: the lines of a request's body, checked against the JSON Schema of their type.
//! - [`sse`] has server-sent events for anything else.
//! - [`ai_sdk`] speaks the protocols of the AI SDK's front ends, [`ag_ui`] writes the events of AG-UI.
#![cfg_attr(
    feature = "gateway",
    doc = "- [`gateway`] gives clients of OpenAI's and Anthropic's APIs native tool calls from any model."
)]
//!
//! It depends on `axum-core` 0.5, as axum 0.8 does. It is not an HTTP server, and it does not store what a model wrote: an
//! interrupted response cannot be resumed.
//!
//! ```
//! use axum::response::IntoResponse;
//! use axum::{Router, routing::post};
//! use schemars::JsonSchema;
//! use serde::{Deserialize, Serialize};
//! use tokenline_axum::{JsonLines, RecordsFormat, RecordsResponse};
//! # use axum::{body, extract::{FromRequest, Request}};
//!
//! #[derive(Deserialize, JsonSchema, Serialize)]
//! struct Measurement {
//!     sensor: String,
//!     #[schemars(range(min = -273.15))]
//!     celsius: f64,
//! }
//!
//! /// Returns the good lines as they arrive. As server-sent events, also the rejects.
//! async fn check(format: RecordsFormat, lines: JsonLines<Measurement>) -> impl IntoResponse {
//!     RecordsResponse::new(format, lines)
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let router = Router::new().route("/", post(check));
//! # let _: Router = router;
//! # let request = Request::builder().header("content-type", "application/x-ndjson")
//! #     .body(body::Body::from("{\"sensor\":\"a\",\"celsius\":20.5}\n{\"sensor\":\"b\",\"celsius\":-300}\n"))?;
//! # let lines = JsonLines::from_request(request, &()).await?;
//! # let response = check(RecordsFormat::Sse, lines).await.into_response();
//! # let text = body::to_bytes(response.into_body(), 10_000).await?;
//! # let text = std::str::from_utf8(&text)?;
//! // POST with the lines `{"sensor":"a","celsius":20.5}` and `{"sensor":"b","celsius":-300}`:
//! let expected = r#"id: 0
//!
//! id: 1
//! event: record
//! data: {"sensor":"a","celsius":20.5}
//!
//! id: 2
//! event: rejected
//! data: {"code":"schema_violation","line":2,"start":30,"end":59,"column":25,"instance_path":"/celsius","schema_path":"/properties/celsius/minimum","message":"less than the minimum -273.15"}
//!
//! id: 3
//! event: done
//! data: {"records":1,"rejected":1}
//!
//! "#;
//! assert_eq!(text, expected);
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod ag_ui;
pub mod ai_sdk;
#[cfg(feature = "gateway")]
pub mod gateway;
mod headers;
mod json_line;
mod json_lines;
mod records;
mod rejection;
pub mod sse;
mod stream_body;
mod verbatim;

pub use json_lines::{
    JsonLines, JsonLinesError, JsonLinesItems, JsonLinesRecords, JsonLinesRejection, JsonLinesValues,
};
pub use records::{
    Entry, IntoEntry, PlainValue, PlainValues, RecordsFormat, RecordsFormatRejection, RecordsResponse,
};
#[doc(no_inline)]
pub use tokenline::llm::DataLoss;

/// Runs the README's example as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
