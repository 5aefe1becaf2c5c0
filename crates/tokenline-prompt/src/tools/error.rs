//! Why a prompt could not be written.

use std::error::Error;
use std::fmt;

/// Why there is no prompt.
#[derive(Debug)]
#[non_exhaustive]
pub enum ToolPromptError {
    /// There is no built-in prompt for calls of this format, such as `hermes`, and none was given.
    NoTemplate {
        /// The name of the format.
        format: String,
    },
    /// The template would say nothing of the tools: `Call a tool, please.`
    NoTools {
        /// The name of the format that the template is for.
        format: String,
    },
    /// The template is malformed or cannot be rendered: `{{ tool_descriptions }`. The source tells the line.
    Template {
        /// The name of the format that the template is for.
        format: String,
        /// What the template engine says.
        source: minijinja::Error,
    },
}

impl fmt::Display for ToolPromptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTemplate { format } => {
                write!(
                    f,
                    "there is no built-in tool prompt for the format `{format}`: give a template for it"
                )
            }
            Self::NoTools { format } => write!(
                f,
                "the tool prompt for `{format}` says nothing of the tools: it has neither `{{{{ tool_descriptions }}}}` nor `tools`"
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
