//! Records out of a stream of byte chunks.

mod budget;
mod error;
mod hooks;
mod infallible;
mod items;
mod parser;
mod reporting;
mod strict;

pub use error::{SourceError, StreamError, StrictError};
pub use infallible::Infallible;
pub use items::{Items, Records, ToolCalls, Values};
pub use parser::JsonlStreamParser;
pub use reporting::Reporting;
pub use strict::Strict;
