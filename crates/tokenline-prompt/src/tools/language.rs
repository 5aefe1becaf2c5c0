//! The languages of the built-in prompts.

use tokenline_core::CallFormat;

/// The language of tool prompts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Language {
    /// English.
    #[default]
    English,
    /// Simplified Chinese.
    Chinese,
}

impl Language {
    /// Looks up a language by its code: `en` or `zh`.
    #[must_use]
    pub fn from_code(code: &str) -> Option<Self> {
        [Self::English, Self::Chinese].into_iter().find(|language| language.code() == code)
    }

    /// The ISO 639 code: `en` or `zh`.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh",
        }
    }

    /// The built-in template for calls of this format, with `{{ tool_descriptions }}` in place of the tools. There is
    /// one for `jsonl`, also used for `auto`, and one for `single_json`.
    #[must_use]
    pub const fn template(self, format: &CallFormat) -> Option<&'static str> {
        match (format, self) {
            (CallFormat::Jsonl | CallFormat::Auto, Self::English) => {
                Some(include_str!("templates/jsonl.en.txt"))
            }
            (CallFormat::Jsonl | CallFormat::Auto, Self::Chinese) => {
                Some(include_str!("templates/jsonl.zh.txt"))
            }
            (CallFormat::SingleJson, Self::English) => Some(include_str!("templates/single_json.en.txt")),
            (CallFormat::SingleJson, Self::Chinese) => Some(include_str!("templates/single_json.zh.txt")),
            _ => None,
        }
    }

    /// The labels before a tool's description and its parameters.
    pub(super) const fn labels(self) -> (&'static str, &'static str) {
        match self {
            Self::English => (": ", "parameters: "),
            Self::Chinese => ("：", "参数："),
        }
    }
}
