//! A configuration that was read.

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
