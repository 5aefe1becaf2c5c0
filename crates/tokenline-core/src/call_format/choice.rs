//! The choice of a tool call format.

use std::fmt;
use std::sync::Arc;

use super::function_tag::FunctionTag;
use super::hermes::Hermes;
use super::mistral::Mistral;
use super::pythonic::{Pythonic, PythonicLine};
use super::{CallDetector, ToolCallFormat};

/// The format of the tool calls in a text.
///
/// ```
/// use tokenline_core::CallFormat;
///
/// let format = CallFormat::from_name("hermes").unwrap();
/// assert_eq!(format.as_str(), "hermes");
/// assert!(CallFormat::from_name("morse").is_none());
/// assert_eq!(CallFormat::default().as_str(), "auto");
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum CallFormat {
    /// The format of the first complete call; see [`CallDetector`](crate::call_format::CallDetector).
    #[default]
    Auto,
    /// JSON objects, one or more: JSON Lines.
    Jsonl,
    /// A JSON object, which may hold several calls as its `tool_calls`.
    SingleJson,
    /// JSON objects between `<tool_call>` and `</tool_call>`.
    Hermes,
    /// Calls after `[TOOL_CALLS]`, in the forms of Mistral's tokenizers.
    Mistral,
    /// `<function=name>`, with JSON or with tags for the parameters.
    FunctionTag,
    /// A Python list of calls, or one call that takes a line.
    Pythonic,
    /// Only the caller's own format; see [`custom`](Self::custom).
    Custom(Arc<dyn ToolCallFormat>),
}

impl CallFormat {
    /// The built-in formats, in the order of the documentation.
    pub const BUILT_IN: &'static [Self] = &[
        Self::Auto,
        Self::Jsonl,
        Self::SingleJson,
        Self::Hermes,
        Self::Mistral,
        Self::FunctionTag,
        Self::Pythonic,
    ];

    /// The caller's own format, and no other. See [`ToolCallFormat`](crate::call_format::ToolCallFormat) for
    /// an example.
    pub fn custom(format: impl ToolCallFormat + 'static) -> Self {
        Self::Custom(Arc::new(format))
    }

    /// The built-in format with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::BUILT_IN.iter().find(|format| format.as_str() == name).cloned()
    }

    /// The name, such as `function_tag`; for the caller's own format, [its
    /// name](crate::call_format::ToolCallFormat::name).
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Auto => "auto",
            Self::Jsonl => "jsonl",
            Self::SingleJson => "single_json",
            Self::Hermes => "hermes",
            Self::Mistral => "mistral",
            Self::FunctionTag => "function_tag",
            Self::Pythonic => "pythonic",
            Self::Custom(format) => format.name(),
        }
    }

    /// Whether its calls may be plain JSON objects: strict mode, in which each line is one, reads no others.
    #[must_use]
    pub fn reads_plain_json(&self) -> bool {
        matches!(self, Self::Auto | Self::Jsonl | Self::SingleJson)
    }

    /// The detector that finds calls of this format in text.
    #[must_use]
    pub fn detector(&self) -> CallDetector {
        CallDetector::new(self)
    }

    /// The formats to look for, without those of plain JSON objects.
    pub(super) fn readers(&self) -> Vec<Arc<dyn ToolCallFormat>> {
        match self {
            Self::Jsonl | Self::SingleJson => Vec::new(),
            Self::Hermes => vec![Arc::new(Hermes)],
            Self::Mistral => vec![Arc::new(Mistral)],
            Self::FunctionTag => vec![Arc::new(FunctionTag)],
            Self::Pythonic => vec![Arc::new(Pythonic), Arc::new(PythonicLine)],
            Self::Custom(format) => vec![Arc::clone(format)],
            Self::Auto => {
                let formats = [Self::Hermes, Self::Mistral, Self::FunctionTag, Self::Pythonic];
                formats.iter().flat_map(Self::readers).collect()
            }
        }
    }
}

impl fmt::Display for CallFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<Arc<dyn ToolCallFormat>> for CallFormat {
    fn from(format: Arc<dyn ToolCallFormat>) -> Self {
        Self::Custom(format)
    }
}

impl PartialEq for CallFormat {
    /// Two of the caller's own formats are equal if they are the same object.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Custom(format), Self::Custom(other)) => Arc::ptr_eq(format, other),
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

impl Eq for CallFormat {}
