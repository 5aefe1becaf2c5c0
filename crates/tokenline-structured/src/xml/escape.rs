//! Text as XML spells it.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

/// An answer has a character that XML 1.0 has no way to write, such as U+0000.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NoXmlCharacter {
    /// JSON Pointer to the text that it is in.
    pub path: String,
    /// How many characters of that text stand before it.
    pub index: usize,
    /// The character.
    pub character: char,
}

impl fmt::Display for NoXmlCharacter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, index, character } = self;
        write!(f, "XML cannot hold the character U+{:04X}, character {} ", u32::from(*character), index + 1)?;
        write!(f, "of the text (at {path})")
    }
}

impl Error for NoXmlCharacter {}

/// What is allowed to stand around a text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Within {
    Element,
    Attribute,
}

/// The text with references in place of markup, and of white space that reading XML would change.
pub(super) fn escape<'t>(text: &'t str, within: Within, path: &str) -> Result<Cow<'t, str>, NoXmlCharacter> {
    let mut escaped = String::new();
    let mut done = 0;
    for (at, char) in text.char_indices() {
        let reference = match char {
            '<' => "&lt;",
            '>' => "&gt;",
            '&' => "&amp;",
            '\r' => "&#13;",
            '"' if within == Within::Attribute => "&quot;",
            '\n' if within == Within::Attribute => "&#10;",
            '\t' if within == Within::Attribute => "&#9;",
            char if is_xml(char) => continue,
            character => {
                let index = text[..at].chars().count();
                return Err(NoXmlCharacter { path: path.to_owned(), index, character });
            }
        };
        escaped.push_str(&text[done..at]);
        escaped.push_str(reference);
        done = at + 1;
    }
    if done == 0 {
        return Ok(Cow::Borrowed(text));
    }
    escaped.push_str(&text[done..]);
    Ok(Cow::Owned(escaped))
}

/// Whether XML 1.0 can hold a character: its production `Char`.
pub(super) fn is_xml(char: char) -> bool {
    matches!(char, '\t' | '\n' | '\r' | '\u{20}'..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..)
}
