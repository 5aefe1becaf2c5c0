//! A resumable, validating JSON parser that fills a reusable tape, and the ways to read it.
//!
//! [`Parser`] reads a growing document, each byte once. [`Value`] borrows from the parsed document: strings
//! from the text unless they have escapes, and numbers as literals. Any type that implements `Deserialize` is
//! read directly from the tape.
//!
//! ```
//! use serde::Deserialize;
//! use tokenline_core::json::Parser;
//!
//! #[derive(Deserialize)]
//! struct Definition<'a> {
//!     entity: &'a str,
//!     weight: f64,
//! }
//!
//! let mut parser = Parser::new();
//! let value = parser.parse(r#"{"entity":"DNA","weight":0.90}"#)?;
//! assert_eq!(value.get("weight").unwrap().raw(), "0.90");
//! let definition: Definition<'_> = value.deserialize()?;
//! assert_eq!((definition.entity, definition.weight), ("DNA", 0.9));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod containers;
mod de;
mod delta;
pub(crate) mod error;
mod kind_set;
mod known_string;
mod names;
mod number;
pub(crate) mod parser;
pub(crate) mod pointer;
mod raw;
mod raw_str;
mod same;
mod scan;
#[cfg(feature = "schemars")]
mod schema_of;
mod shown;
mod tape;
mod unescape;
mod value;
pub(crate) mod write;

pub use containers::{Array, Elements, Members, Object};
pub use de::DeserializeError;
pub use delta::{Change, Key, OwnedChange, OwnedDelta, OwnedKey, ValueDelta};
pub use error::{Expected, SyntaxError, UnexpectedToken};
pub use kind_set::KindSet;
pub use known_string::KnownString;
pub use number::Number;
pub use parser::{Cut, OpenContainer, OpenToken, Parser, Step};
pub use pointer::InvalidPointer;
pub use raw::Raw;
pub use raw_str::RawStr;
#[cfg(feature = "schemars")]
pub(crate) use schema_of::schema_of;
pub use shown::Shown;
pub use unescape::LoneSurrogates;
pub(crate) use unescape::unescape;
pub use value::{Kind, Value, View};
