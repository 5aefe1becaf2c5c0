// Its examples need the feature `client`; the text is there in any case.
#![cfg_attr(any(not(doctest), feature = "client"), doc = include_str!("../README.md"))]
#![forbid(unsafe_code)]

pub use tokenline_core::*;

#[cfg(feature = "codec")]
pub use tokenline_codec::{
    Infallible, Items, JsonlCodec, JsonlStreamParser, Records, Reporting, SourceError, StreamError, Strict,
    StrictError, ToolCalls, Values, observe,
};

#[cfg(feature = "llm")]
pub use tokenline_llm as llm;
#[cfg(feature = "schema")]
pub use tokenline_schema as schema;

#[cfg(all(feature = "codec", feature = "schema"))]
mod validated;
#[cfg(all(feature = "codec", feature = "schema"))]
pub use validated::Validated;
