//! Rules for strings.

use std::sync::Arc;

use tokenline_core::json::Value;

use super::format::Format;
use super::run::Run;
use crate::patterns::Pattern;

/// The rules for a string.
pub(super) struct StringRules {
    /// In characters.
    pub(super) min_length: u64,
    pub(super) max_length: u64,
    pub(super) pattern: Option<Arc<Pattern>>,
    pub(super) format: Option<Format>,
    /// The position in the plan of the validator of what the text encodes.
    pub(super) content: Option<u32>,
}

impl Default for StringRules {
    fn default() -> Self {
        Self { min_length: 0, max_length: u64::MAX, pattern: None, format: None, content: None }
    }
}

impl StringRules {
    pub(super) fn is_empty(&self) -> bool {
        self.min_length == 0 && self.max_length == u64::MAX && !self.reads_text()
    }

    /// Whether rules apply to the text, and not only to its length.
    pub(super) fn reads_text(&self) -> bool {
        self.pattern.is_some() || self.format.is_some() || self.content.is_some()
    }

    /// The validators that must still be asked about a text, by their positions in the plan.
    pub(super) fn delegates(&self) -> impl Iterator<Item = u32> {
        let format = match self.format {
            Some(Format::Delegated(at)) => Some(at),
            Some(Format::Own(_)) | None => None,
        };
        format.into_iter().chain(self.content)
    }

    /// Whether the length of a string fits.
    #[inline]
    pub(super) fn length_fits(&self, value: Value<'_>) -> bool {
        if self.min_length == 0 && self.max_length == u64::MAX {
            return true;
        }
        // A character takes at most 12 bytes (a surrogate pair in escapes), so most strings need no counting.
        let bytes = value.range().len().saturating_sub(2) as u64;
        if self.min_length <= bytes.div_ceil(12) && bytes <= self.max_length {
            return true;
        }
        let length = value.char_count().unwrap_or_default() as u64;
        (self.min_length..=self.max_length).contains(&length)
    }

    /// Whether the length of a name fits.
    pub(super) fn name_length_fits(&self, name: &str) -> bool {
        (self.min_length..=self.max_length).contains(&(name.chars().count() as u64))
    }

    /// Whether the text matches the pattern, and the format if that needs no delegate.
    pub(super) fn matches(&self, text: &str, run: &mut Run) -> bool {
        self.pattern.as_ref().is_none_or(|pattern| run.matches(pattern, text))
            && !matches!(self.format, Some(Format::Own(fits)) if !fits(text))
    }
}
