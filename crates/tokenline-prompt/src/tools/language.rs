//! The languages of the built-in prompts.

use tokenline_core::CallFormat;

/// The language in which a model is told of tools.
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
    /// The language of this code: `en` or `zh`.
    #[must_use]
    pub fn from_code(code: &str) -> Option<Self> {
        [Self::English, Self::Chinese].into_iter().find(|language| language.code() == code)
    }

    /// Its code (ISO 639): `en` or `zh`.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh",
        }
    }

    /// The template of the prompt that asks for calls of this format, with `{{ tool_descriptions }}` where
    /// the tools stand. There is one for `jsonl`, which `auto` uses too, and one for `single_json`.
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

    /// What stands before a tool's description, and before its parameters.
    pub(super) const fn labels(self) -> (&'static str, &'static str) {
        match self {
            Self::English => (": ", "parameters: "),
            Self::Chinese => ("：", "参数："),
        }
    }
}
