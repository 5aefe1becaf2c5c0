//! Streams of records as axum responses, request bodies as validated records, and the AI SDK's protocols.
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod ai_sdk;
mod headers;
pub mod sse;
mod stream_body;
