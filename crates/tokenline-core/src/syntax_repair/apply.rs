//! Edits with their replacements: how they are applied, and the proof that they keep what the text says.

use std::ops::Range;

use super::Edit;
use super::EditKind;
use crate::Span;
use crate::json::unescape;

/// An edit with its replacement.
#[derive(Clone, Debug)]
pub(super) struct Splice {
    pub(super) kind: EditKind,
    pub(super) range: Range<usize>,
    pub(super) replacement: String,
}

impl Splice {
    pub(super) fn new(kind: EditKind, range: Range<usize>, replacement: impl Into<String>) -> Self {
        Self { kind, range, replacement: replacement.into() }
    }

    pub(super) fn edit(&self) -> Edit {
        Edit { kind: self.kind, span: Span::new(self.range.start as u64, self.range.end as u64) }
    }

    /// Whether the edit touches only punctuation, or writes the same string, name or literal in JSON.
    fn keeps_content(&self, text: &str) -> bool {
        let (removed, added) = (&text[self.range.clone()], &self.replacement[..]);
        let is_closer = |character| matches!(character, '}' | ']');
        match self.kind {
            EditKind::TrailingComma => (removed, added) == (",", ""),
            EditKind::SurplusCloser => {
                added.is_empty()
                    && removed.chars().all(|character| is_closer(character) || is_space(character))
            }
            EditKind::Comment => added == " " && (removed.starts_with("//") || removed.starts_with("/*")),
            EditKind::ControlCharacter => unescape_around_controls(removed) == unescape(added),
            EditKind::CurlyQuotes | EditKind::SingleQuotes => between_quotes(removed)
                .zip(between_quotes(added))
                .is_some_and(|(removed, added)| without_backslashes(removed).eq(without_backslashes(added))),
            EditKind::PythonLiteral => {
                matches!((removed, added), ("True", "true") | ("False", "false") | ("None", "null"))
            }
            EditKind::BareName => between_quotes(added) == Some(removed),
            EditKind::MismatchedCloser => matches!((removed, added), ("}", "]") | ("]", "}")),
            EditKind::MissingComma => (removed, added) == ("", ","),
            EditKind::InvalidEscape => (removed, added) == ("\\'", "'"),
            EditKind::MissingCloser => removed.is_empty() && added.chars().all(is_closer),
        }
    }
}

/// Whether no string, number or literal is invented, shortened or changed.
pub(super) fn keeps_content(text: &str, splices: &[Splice]) -> bool {
    splices.iter().all(|splice| splice.keeps_content(text))
}

/// The text with the edits, which are in the order of the text.
pub(super) fn apply(text: &str, splices: &[Splice]) -> String {
    let mut repaired = String::with_capacity(text.len() + splices.len());
    let mut copied = 0;
    for Splice { range, replacement, .. } in splices {
        repaired.push_str(&text[copied..range.start]);
        repaired.push_str(replacement);
        copied = range.end;
    }
    repaired.push_str(&text[copied..]);
    repaired
}

/// Decodes the escapes between the raw control characters of a string.
fn unescape_around_controls(raw: &str) -> String {
    let parts = raw.split_inclusive(|character| character < ' ').map(|part| {
        let plain = part.trim_end_matches(|character| character < ' ');
        unescape(plain) + &part[plain.len()..]
    });
    parts.collect()
}

fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\n')
}

fn between_quotes(quoted: &str) -> Option<&str> {
    let mut characters = quoted.chars();
    characters.next()?;
    characters.next_back()?;
    Some(characters.as_str())
}

fn without_backslashes(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|character| *character != '\\')
}
