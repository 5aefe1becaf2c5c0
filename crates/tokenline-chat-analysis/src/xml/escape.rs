//! Escapes text for XML.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

/// The error for a character that XML 1.0 cannot represent, such as U+0000.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidXmlCharacter {
    /// JSON Pointer to the text with the character.
    pub path: String,
    /// The number of characters before it in that text.
    pub index: usize,
    /// The character.
    pub character: char,
}

impl fmt::Display for InvalidXmlCharacter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, index, character } = self;
        write!(
            f,
            "XML cannot represent the character U+{:04X}, character {} ",
            u32::from(*character),
            index + 1
        )?;
        write!(f, "of the text (at {path})")
    }
}

impl Error for InvalidXmlCharacter {}

/// The context of a text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Context {
    Element,
    Attribute,
}

/// Escapes markup, and white space that XML parsers would change.
pub(super) fn escape<'t>(
    text: &'t str,
    context: Context,
    path: &str,
) -> Result<Cow<'t, str>, InvalidXmlCharacter> {
    if let Some((at, character)) = find_not_xml(text) {
        let index = text[..at].chars().count();
        return Err(InvalidXmlCharacter { path: path.to_owned(), index, character });
    }
    let mut escaped = String::new();
    let mut done = 0;
    for (at, byte) in text.bytes().enumerate() {
        // All escaped characters sort below `?`.
        if byte > b'>' {
            continue;
        }
        let reference = match byte {
            b'<' => "&lt;",
            b'>' => "&gt;",
            b'&' => "&amp;",
            b'\r' => "&#13;",
            b'"' if context == Context::Attribute => "&quot;",
            b'\n' if context == Context::Attribute => "&#10;",
            b'\t' if context == Context::Attribute => "&#9;",
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

/// The first character that XML 1.0 cannot represent, with its byte offset.
pub(super) fn find_not_xml(text: &str) -> Option<(usize, char)> {
    // Control characters, and the first byte of U+FFFE and U+FFFF. Most texts have none.
    let is_rare = |byte| (byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r')) || byte == 0xEF;
    if !text.bytes().fold(false, |found, byte| found | is_rare(byte)) {
        return None;
    }
    text.char_indices().find(|(_, char)| !is_xml(*char))
}

/// Whether XML 1.0 can represent a character: its production `Char`.
pub(super) fn is_xml(char: char) -> bool {
    matches!(char, '\t' | '\n' | '\r' | '\u{20}'..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..)
}
