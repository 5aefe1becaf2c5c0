//! The Arrow kernel of tokenline: a column of language model output in, columns of records, tool calls and rejects out.
//!
//! [`ExtractOptions`] say what the texts are and what to look for; an [`Extractor`] reads arrays, one batch at a time.
//! Its [type](Extractor::data_type) is known before any data, for engines that plan. A fault in a text is a reject in
//! the output; an [`ExtractError`] is about the options, the array, or the size of the batch.
//!
//! ```
//! use arrow_array::{StringArray, cast::AsArray};
//! use tokenline_arrow::{ExtractOptions, Extractor};
//!
//! let extractor = Extractor::new(ExtractOptions::new())?;
//! let rows = extractor.extract(&StringArray::from(vec!["Sure:\n{\"city\":\"Oslo\"}\n{\"city\":"]))?;
//! let records = rows.column_by_name("records").unwrap().as_list::<i32>().value(0);
//! let json = records.as_struct().column_by_name("json").unwrap().as_string::<i32>();
//! assert_eq!(json.value(0), r#"{"city":"Oslo"}"#);
//! let rejects = rows.column_by_name("rejects").unwrap().as_list::<i32>().value(0);
//! let codes = rejects.as_struct().column_by_name("code").unwrap().as_string::<i32>();
//! assert_eq!(codes.value(0), "truncated");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Guarantees
//!
//! - **The program's records.** Records, tool calls and rejects of a row are those of `tokenline parse` for its text.
//! - **Deterministic.** A row's output does not depend on the other rows, the batch, or the kind of array.
//! - **Private.** Rejects have places, codes and messages, never values of the input.
//! - **Bounded.** Memory is that of the output, and one open record within its [limits](ExtractOptions::limits).
//! - **Contained.** A panic becomes an [`ExtractError::Panicked`].
//!
//! # Typed columns
//!
//! With [`Columns::Typed`] the schema gives the columns: objects with properties are structs, arrays lists, date-times
//! timestamps in UTC, dates days. What has no column of its own, such as maps, tuples and alternatives, is JSON text. With
//! [`Columns::Fields`] the fields of an Arrow schema are the columns, decimals among them. The crate's README has both tables.
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

/// Runs the README's example as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
