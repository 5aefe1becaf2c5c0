//! Finds the openers of several formats in a text.

use std::sync::Arc;

use super::scan::{MAX_NAME, is_name};
use super::{Opener, ToolCallFormat};

/// The openers of several formats, searched for together.
#[derive(Clone, Debug, Default)]
pub struct Openers {
    /// The texts, longest first, each with the index of its format.
    texts: Vec<(String, usize)>,
    /// Formats whose calls begin with a name at the start of a line, and what follows the name.
    names: Vec<(usize, &'static str)>,
    /// The first bytes of the texts, and the newline if lines matter.
    first: Vec<u8>,
}

/// The result of [`Openers::find`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenerMatch {
    /// No opener.
    None,
    /// The text ends in what may become an opener.
    Partial {
        /// Its offset.
        at: usize,
    },
    /// One or more openers; [`Openers::formats_at`] lists their formats.
    At {
        /// Its offset.
        at: usize,
    },
}

impl Openers {
    /// The openers of these formats, identified by their indices.
    #[must_use]
    pub fn new<'f>(formats: impl IntoIterator<Item = (usize, &'f Arc<dyn ToolCallFormat>)>) -> Self {
        let mut openers = Self::default();
        for (index, format) in formats {
            for opener in format.openers() {
                match opener {
                    Opener::Text(text) if text.is_empty() => {}
                    Opener::Text(text) => openers.texts.push((text.into_owned(), index)),
                    Opener::NameAtLineStart => openers.names.push((index, "(")),
                    Opener::NameAboveObject => openers.names.push((index, "\n{")),
                }
            }
        }
        // Stable: formats keep their order.
        openers.texts.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        openers.first = openers.texts.iter().map(|(text, _)| text.as_bytes()[0]).collect();
        if !openers.names.is_empty() {
            openers.first.push(b'\n');
        }
        openers.first.sort_unstable();
        openers.first.dedup();
        openers
    }

    /// Whether there are no openers.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// Whether an opener may begin with this byte. `is_line_start`: only white space stands before it on its
    /// line.
    pub(crate) fn may_begin(&self, byte: u8, is_line_start: bool) -> bool {
        (byte != b'\n' && self.first.contains(&byte))
            || (is_line_start && !self.names.is_empty() && is_name(byte))
    }

    /// Finds the first opener in `text` from `from` on. `is_line_start`: only white space stands before
    /// `from` on its line. `is_end`: no more text follows.
    ///
    /// Examines every byte once if the next call begins where this one [stopped](OpenerMatch): at the end of
    /// the text, or at the match.
    #[must_use]
    pub fn find(&self, text: &str, from: usize, mut is_line_start: bool, is_end: bool) -> OpenerMatch {
        let bytes = text.as_bytes();
        let mut at = from;
        loop {
            if is_line_start && !self.names.is_empty() {
                let blanks = bytes[at..].iter().take_while(|byte| matches!(byte, b' ' | b'\t'));
                let name = at + blanks.count();
                let mut is_open = false;
                for (_, next) in &self.names {
                    match name_before(&bytes[name..], next) {
                        Some(true) => return OpenerMatch::At { at: name },
                        Some(false) => {}
                        None => is_open = true,
                    }
                }
                if is_open && !is_end {
                    return OpenerMatch::Partial { at: name };
                }
            }
            let Some(found) = self.next_first(&bytes[at..]) else { return OpenerMatch::None };
            at += found;
            is_line_start = bytes[at] == b'\n';
            if !is_line_start {
                let rest = &bytes[at..];
                let mut is_found = false;
                for (opener, _) in &self.texts {
                    is_found |= rest.starts_with(opener.as_bytes());
                    if rest.len() < opener.len() && opener.as_bytes().starts_with(rest) && !is_end {
                        return OpenerMatch::Partial { at };
                    }
                }
                if is_found {
                    return OpenerMatch::At { at };
                }
            }
            at += 1;
        }
    }

    /// The formats with an opener at the start of `rest`, the text from a [match](OpenerMatch::At) on, in the
    /// order in which to try them. A format may occur twice.
    pub fn formats_at(&self, rest: &str, is_line_start: bool) -> impl Iterator<Item = usize> {
        let texts = self.texts.iter().filter(move |(text, _)| rest.starts_with(text.as_str()));
        let names = self.names.iter().filter(move |(_, next)| {
            is_line_start && name_before(rest.as_bytes(), next) == Some(true)
        });
        texts.map(|(_, index)| *index).chain(names.map(|(index, _)| *index))
    }

    /// The opener that a text begins with, up to its first word: `<function` of `<function=f>`. Empty for a
    /// bracket alone.
    pub(crate) fn word_at(&self, rest: &str) -> String {
        let mut texts = self.texts.iter().map(|(text, _)| text.as_str());
        word(texts.find(|text| rest.starts_with(text)).unwrap_or_default()).to_owned()
    }

    /// Whether an opener with this first word begins here. `None` if more text is needed.
    pub(crate) fn begins_with(&self, rest: &str, of: &str) -> Option<bool> {
        let mut texts = self.texts.iter().map(|(text, _)| text.as_str()).filter(|text| word(text) == of);
        if texts.clone().any(|text| rest.starts_with(text)) {
            return Some(true);
        }
        if texts.any(|text| text.starts_with(rest)) { None } else { Some(false) }
    }

    /// The next byte that may begin an opener.
    fn next_first(&self, bytes: &[u8]) -> Option<usize> {
        match *self.first {
            [] => None,
            [one] => memchr::memchr(one, bytes),
            [one, two] => memchr::memchr2(one, two, bytes),
            [one, two, three] => memchr::memchr3(one, two, three, bytes),
            _ => bytes.iter().position(|byte| self.first.contains(byte)),
        }
    }
}

/// The opener up to its first word.
fn word(opener: &str) -> &str {
    let punctuation =
        opener.len() - opener.trim_start_matches(|char: char| char.is_ascii_punctuation()).len();
    let is_word = |char: char| char.is_alphanumeric() || char == '_';
    let len = opener[punctuation..].find(|char| !is_word(char)).unwrap_or(opener.len() - punctuation);
    if len == 0 { "" } else { &opener[..punctuation + len] }
}

/// Whether a name stands here, and this after it; `None` if more text is needed.
fn name_before(bytes: &[u8], next: &str) -> Option<bool> {
    if !bytes.first().is_none_or(|first| *first == b'_' || first.is_ascii_alphabetic() || !first.is_ascii()) {
        return Some(false);
    }
    let len = bytes.iter().take(MAX_NAME + 1).take_while(|byte| is_name(**byte)).count();
    // A blank line may continue; there is nothing to hold back yet.
    if len == 0 || len > MAX_NAME {
        return Some(false);
    }
    let rest = &bytes[len..];
    if rest.starts_with(next.as_bytes()) {
        return Some(true);
    }
    if next.as_bytes().starts_with(rest) { None } else { Some(false) }
}
