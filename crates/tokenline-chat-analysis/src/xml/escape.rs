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
    if let Some((at, character)) = find_not_xml(text) {
        let index = text[..at].chars().count();
        return Err(NoXmlCharacter { path: path.to_owned(), index, character });
    }
    let mut escaped = String::new();
    let mut done = 0;
    for (at, byte) in text.bytes().enumerate() {
        // All that is escaped lies below `?`.
        if byte > b'>' {
            continue;
        }
        let reference = match byte {
            b'<' => "&lt;",
            b'>' => "&gt;",
            b'&' => "&amp;",
            b'\r' => "&#13;",
            b'"' if within == Within::Attribute => "&quot;",
            b'\n' if within == Within::Attribute => "&#10;",
            b'\t' if within == Within::Attribute => "&#9;",
            _ => continue,
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

/// The first character that XML 1.0 has no way to write, with its index in bytes.
pub(super) fn find_not_xml(text: &str) -> Option<(usize, char)> {
    // Control characters, and what begins as U+FFFE and U+FFFF do. Most texts have none of them.
    let is_rare = |byte| (byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r')) || byte == 0xEF;
    if !text.bytes().fold(false, |found, byte| found | is_rare(byte)) {
        return None;
    }
    text.char_indices().find(|(_, char)| !is_xml(*char))
}

/// Whether XML 1.0 can hold a character: its production `Char`.
pub(super) fn is_xml(char: char) -> bool {
    matches!(char, '\t' | '\n' | '\r' | '\u{20}'..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..)
}
