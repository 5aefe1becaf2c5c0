//! Configurations: the sources of prompts.

mod contents;
mod error;
mod file;
mod flat;
mod reader;
mod toml;

pub(crate) use contents::Config;
pub use error::{ConfigError, ConfigErrorKind, Place, Within};
pub use file::Format;
pub(crate) use file::{load, parse};
pub(crate) use flat::flat;
pub(crate) use reader::fault;
