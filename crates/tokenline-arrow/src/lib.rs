//! The Arrow kernel of tokenline: a column of language model output in, columns of records, tool calls and rejects out.
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod error;
mod extractor;
mod input;
mod options;
mod output;
mod reader;
mod type_text;
mod typed;

pub use error::ExtractError;
pub use extractor::Extractor;
pub use options::{Columns, ExtractOptions, Format};
