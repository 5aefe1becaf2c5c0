//! Streams of records as axum responses, request bodies as validated records, and the AI SDK's protocols.
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod ai_sdk;
mod headers;
mod json_lines;
mod records;
mod rejection;
pub mod sse;
mod stream_body;

pub use json_lines::{
    JsonLines, JsonLinesError, JsonLinesItems, JsonLinesRecords, JsonLinesRejection, JsonLinesValues,
};
pub use records::{
    Entry, IntoEntry, PlainValue, PlainValues, RecordsFormat, RecordsFormatRejection, RecordsResponse,
};
