//! Configurations: the sources of prompts.

mod error;
mod file;
mod flat;
mod reader;
mod toml;

pub use error::{ConfigError, ConfigErrorKind, Place, Within};
pub use file::Format;
pub(crate) use file::{load, parse};
pub(crate) use flat::flat;
pub(crate) use reader::fault;

use crate::prompt::Compiled;
use crate::terms::Terms;

/// A valid configuration.
#[derive(Debug)]
pub(crate) struct Config {
    /// The template of the system prompt, if there is one.
    pub(crate) system: Option<String>,
    pub(crate) terms: Terms,
    /// By id, in the order of the configuration.
    pub(crate) prompts: Vec<(String, Compiled)>,
}

impl Default for Config {
    fn default() -> Self {
        Self { system: None, terms: Terms::none(), prompts: Vec::new() }
    }
}
