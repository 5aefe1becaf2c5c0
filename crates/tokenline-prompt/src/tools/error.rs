//! Errors of tool prompts.

use std::error::Error;
use std::fmt;

use super::families;

/// The reason a tool prompt could not be written.
#[derive(Debug)]
#[non_exhaustive]
pub enum ToolPromptError {
    /// There is neither a built-in template for this format, such as `cwm`, nor one of your own.
    NoTemplate {
        /// The name of the format.
        format: String,
    },
    /// The template does not use the tools: `Call a tool, please.`
    NoTools {
        /// The name of the template's format.
        format: String,
    },
    /// The format has no text for results, such as `jsonl`: they belong in messages.
    NoResults {
        /// The name of the format, or `function_calling`.
        format: String,
    },
    /// A result has no name, or its call no id, and the template needs it. The source has the line.
    UnknownCall {
        /// The name of the template's format.
        format: String,
        /// The error of the template engine.
        source: minijinja::Error,
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
                let names: Vec<_> = families::all_names().collect();
                let names = names.join(", ");
                write!(
                    f,
                    "there is no built-in tool prompt for the format `{format}`: write your own, or use one of \
                     auto, jsonl, single_json, {names}"
                )
            }
            Self::NoTools { format } => write!(
                f,
                "the tool prompt for `{format}` does not use the tools: add `{{{{ tool_descriptions }}}}` or `tools`"
            ),
            Self::NoResults { format } => {
                write!(
                    f,
                    "results have a text only for a model family, such as `qwen3-coder`; with `{format}`, send each in a \
                 message of the request"
                )
            }
            Self::UnknownCall { format, .. } => write!(
                f,
                "a result lacks the tool's name or the call's id, which the chat template of `{format}` needs, and no \
                 earlier call tells it"
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
            Self::NoTemplate { .. } | Self::NoTools { .. } | Self::NoResults { .. } => None,
            Self::UnknownCall { source, .. } | Self::Template { source, .. } => Some(source),
        }
    }
}
