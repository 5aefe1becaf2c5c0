//! Records out of a stream of byte chunks.

mod error;
mod events;
mod infallible;
mod items;
mod parser;
mod pump;
mod strict;

pub use error::{SourceError, StreamError, StrictError};
pub use events::{EventStream, Reporting};
pub use infallible::Infallible;
pub use items::{Items, Records, ToolCalls, Values};
pub use parser::JsonlStreamParser;
pub use pump::Pump;
pub use strict::Strict;
