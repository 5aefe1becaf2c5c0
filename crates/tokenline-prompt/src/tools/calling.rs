//! Ways of calling tools, and the choice between them by client.

use std::fmt;
use std::hash::{Hash, Hasher};

use tokenline_core::CallFormat;

/// The way a model is given tools and calls them.
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
    /// The provider's function calling: tools in a member of the request, calls in members of the response.
    FunctionCalling,
    /// Calls written into the text, in this format; the prompt describes the tools.
    Text(CallFormat),
}

impl ToolCalling {
    /// Looks up a way by its name: `function_calling`, or that of a built-in format or model family, spelled as for
    /// [`CallFormat::from_name`].
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        if name.trim().eq_ignore_ascii_case(Self::FunctionCalling.as_str()) {
            return Some(Self::FunctionCalling);
        }
        CallFormat::from_name(name).map(Self::Text)
    }

    /// The name: `function_calling`, or that of the format, such as `jsonl`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::FunctionCalling => "function_calling",
            Self::Text(format) => format.as_str(),
        }
    }

    /// The format to look for in the text. A model with native calls may still write some.
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

/// A client that knows whether its model supports function calling. Implemented for closures.
pub trait FunctionCallingSupport {
    /// Whether requests can have tools and responses can have calls.
    fn supports_function_calling(&self) -> bool;
}

impl<F: Fn() -> bool> FunctionCallingSupport for F {
    fn supports_function_calling(&self) -> bool {
        self()
    }
}

/// The way to call tools through this client: function calling if supported, else JSON Lines.
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
    if client.supports_function_calling() {
        ToolCalling::FunctionCalling
    } else {
        ToolCalling::Text(CallFormat::Jsonl)
    }
}
