//! Words for a person, on standard error.

use std::fmt::{Display, Write as _};
use std::io::Write as _;

/// Writes one line. Control characters, which may come from the input, are written as escapes; and
/// if nobody listens, the data still goes its way.
pub(crate) fn log(line: impl Display) {
    let mut text = printable(&line.to_string(), &['\t']);
    text.push('\n');
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// The text with escapes in place of control characters, but for these.
pub(crate) fn printable(text: &str, kept: &[char]) -> String {
    let mut printable = String::new();
    for character in text.chars() {
        match character {
            character if kept.contains(&character) => printable.push(character),
            // Of those that change the direction of writing, too, a line may be made to say something else.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                let _ = write!(printable, "{}", character.escape_unicode());
            }
            _ if character.is_control() => {
                let _ = write!(printable, "{}", character.escape_default());
            }
            _ => printable.push(character),
        }
    }
    printable
}
