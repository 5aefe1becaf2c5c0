//! Errors of tool prompts.

use std::error::Error;
use std::fmt;

/// The reason a tool prompt could not be written.
#[derive(Debug)]
#[non_exhaustive]
pub enum ToolPromptError {
    /// There is neither a built-in template for this format, such as `hermes`, nor one of your own.
    NoTemplate {
        /// The name of the format.
        format: String,
    },
    /// The template does not use the tools: `Call a tool, please.`
    NoTools {
        /// The name of the template's format.
        format: String,
    },
    /// The template is malformed or cannot be rendered: `{{ tool_descriptions }}`. The source has the line.
    Template {
        /// The name of the template's format.
        format: String,
        /// The error of the template engine.
        source: minijinja::Error,
    },
}

impl fmt::Display for ToolPromptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTemplate { format } => {
                write!(f, "there is no built-in tool prompt for the format `{format}`: set a template for it")
            }
            Self::NoTools { format } => write!(
                f,
                "the tool prompt for `{format}` does not use the tools: add `{{{{ tool_descriptions }}}}` or `tools`"
            ),
            Self::Template { format, source } => {
                write!(f, "the tool prompt for `{format}`")?;
                match source.line() {
                    Some(line) => write!(f, ", line {line}: {source}"),
                    None => write!(f, ": {source}"),
                }
            }
        }
    }
}

impl Error for ToolPromptError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::NoTemplate { .. } | Self::NoTools { .. } => None,
            Self::Template { source, .. } => Some(source),
        }
    }
}
