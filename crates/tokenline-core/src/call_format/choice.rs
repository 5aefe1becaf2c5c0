//! The choice of a tool call format.

use std::fmt;
use std::sync::Arc;

use super::syntax::is_same_name;
use super::{CallDetector, CallSyntax, ToolCallFormat};

/// The format of the tool calls in a text.
///
/// ```
/// use tokenline_core::CallFormat;
///
/// let format = CallFormat::from_name("hermes").unwrap();
/// assert_eq!(format.as_str(), "hermes");
/// let format = CallFormat::from_name("qwen3").unwrap();
/// assert_eq!((format.as_str(), format.family()), ("hermes", "qwen3"));
/// assert_eq!(CallFormat::from_name("Qwen/Qwen3"), Some(format));
/// assert!(CallFormat::from_name("morse").is_none());
/// assert_eq!(CallFormat::default().as_str(), "auto");
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum CallFormat {
    /// Detects the format from the first complete call; see [`CallDetector`](crate::call_format::CallDetector).
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
    /// The syntaxes of a name or model family; see [`CallSyntax`](crate::call_format::CallSyntax).
    Syntaxes {
        /// The name that was asked for, as the table writes it; see [`family`](Self::family).
        family: Arc<str>,
        /// The syntaxes.
        rows: Vec<Arc<CallSyntax>>,
    },
    /// Only the caller's own format; see [`custom`](Self::custom).
    Custom(Arc<dyn ToolCallFormat>),
}

/// Shared formats.
pub(super) type Formats = Vec<Arc<dyn ToolCallFormat>>;

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

    /// The built-in format with this name, or of this model family, such as `hermes` or `qwen3-coder`. ASCII case,
    /// white space around the name and an owner before it do not matter: `Qwen/Qwen3-Coder` is `qwen3-coder`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::BUILT_IN.iter().find(|format| is_same_name(format.as_str(), name)).cloned().or_else(|| {
            let rows: Vec<_> = CallSyntax::named(name).cloned().collect();
            let family = rows.first()?.spelling(name)?.into();
            Some(Self::Syntaxes { family, rows })
        })
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
            Self::Syntaxes { rows, .. } => rows.first().map_or("", |row| &row.name),
            Self::Custom(format) => format.name(),
        }
    }

    /// The name or model family by which it was looked up, such as `qwen3-coder`: models that write calls alike may
    /// be given tools in different ways. Otherwise, the name.
    #[must_use]
    pub fn family(&self) -> &str {
        match self {
            Self::Syntaxes { family, .. } => family,
            _ => self.as_str(),
        }
    }

    /// Whether its calls may be plain JSON objects: strict mode, in which each line is one, reads no others.
    #[must_use]
    pub fn reads_plain_json(&self) -> bool {
        match self {
            Self::Auto | Self::Jsonl | Self::SingleJson => true,
            Self::Syntaxes { rows, .. } => rows.iter().any(|row| row.plain),
            _ => false,
        }
    }

    /// The detector that finds calls of this format in text.
    #[must_use]
    pub fn detector(&self) -> CallDetector {
        CallDetector::new(self)
    }

    /// The formats to look for, without those of plain JSON objects; then those that remove markup, from the
    /// index on.
    pub(super) fn readers(&self) -> (Formats, usize) {
        let rows: Vec<&Arc<CallSyntax>> = match self {
            Self::Jsonl | Self::SingleJson => Vec::new(),
            Self::Custom(format) => return (vec![Arc::clone(format)], 1),
            Self::Syntaxes { rows, .. } => rows.iter().collect(),
            Self::Auto => CallSyntax::built_in().iter().collect(),
            Self::Hermes | Self::Mistral | Self::FunctionTag | Self::Pythonic => {
                CallSyntax::named(self.as_str()).collect()
            }
        };
        let mut formats: Formats = rows.iter().flat_map(|row| row.formats()).collect();
        let first_markup = formats.len();
        formats.extend(rows.iter().filter_map(|row| row.markup_format()));
        (formats, first_markup)
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

impl From<CallSyntax> for CallFormat {
    fn from(syntax: CallSyntax) -> Self {
        Self::Syntaxes { family: syntax.name.as_str().into(), rows: vec![Arc::new(syntax)] }
    }
}

impl PartialEq for CallFormat {
    /// Two of the caller's own formats are equal if they are the same object.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Custom(format), Self::Custom(other)) => Arc::ptr_eq(format, other),
            (Self::Syntaxes { family, rows }, Self::Syntaxes { family: other, rows: others }) => {
                family == other && rows == others
            }
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

impl Eq for CallFormat {}
