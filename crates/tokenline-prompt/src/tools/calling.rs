//! How a model calls tools, and which way is found from what its client can do.

use std::fmt;
use std::hash::{Hash, Hasher};

use tokenline_core::CallFormat;

/// How a model is told of tools and calls them.
///
/// ```
/// use tokenline_core::CallFormat;
/// use tokenline_prompt::tools::ToolCalling;
///
/// assert_eq!(ToolCalling::from_name("jsonl"), Some(ToolCalling::Text(CallFormat::Jsonl)));
/// assert_eq!(ToolCalling::FunctionCalling.as_str(), "function_calling");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolCalling {
    /// By the provider's own function calling: tools in a member of the request, calls in members of the
    /// response.
    FunctionCalling,
    /// By writing calls into the text, in this format; tools are described in the prompt.
    Text(CallFormat),
}

impl ToolCalling {
    /// The way of this name: `function_calling`, or that of a built-in [`CallFormat`].
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "function_calling" => Some(Self::FunctionCalling),
            _ => CallFormat::from_name(name).map(Self::Text),
        }
    }

    /// The name: `function_calling`, or that of the format, such as `jsonl`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::FunctionCalling => "function_calling",
            Self::Text(format) => format.as_str(),
        }
    }

    /// The format to look for in a model's text. A model that has native calls may still write some.
    pub(super) fn text_format(&self) -> CallFormat {
        match self {
            Self::FunctionCalling => CallFormat::Auto,
            Self::Text(format) => format.clone(),
        }
    }
}

impl fmt::Display for ToolCalling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Hash for ToolCalling {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl From<CallFormat> for ToolCalling {
    fn from(format: CallFormat) -> Self {
        Self::Text(format)
    }
}

/// Says whether a model, behind whichever client, can call functions by itself. A closure will do.
pub trait FunctionCallingSupport {
    /// Whether the request may have tools, and the response has the calls.
    fn supports_function_calling(&self) -> bool;
}

impl<F: Fn() -> bool> FunctionCallingSupport for F {
    fn supports_function_calling(&self) -> bool {
        self()
    }
}

/// How tools are called through this client: by function calling if it can, else as JSON Lines.
///
/// ```
/// use tokenline_prompt::tools::{FunctionCallingSupport, tool_calling_support};
///
/// struct Completions;
/// impl FunctionCallingSupport for Completions {
///     fn supports_function_calling(&self) -> bool {
///         false
///     }
/// }
/// assert_eq!(tool_calling_support(&Completions).as_str(), "jsonl");
/// assert_eq!(tool_calling_support(&|| true).as_str(), "function_calling");
/// ```
#[must_use]
pub fn tool_calling_support(client: &(impl FunctionCallingSupport + ?Sized)) -> ToolCalling {
    match client.supports_function_calling() {
        true => ToolCalling::FunctionCalling,
        false => ToolCalling::Text(CallFormat::Jsonl),
    }
}
