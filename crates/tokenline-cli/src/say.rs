//! Words for a person, on standard error.

use std::fmt::{Display, Write as _};
use std::io::Write as _;

/// Writes one line. Control characters, which may come from the input, are written as escapes; and
/// if nobody listens, the data still goes its way.
pub(crate) fn say(line: impl Display) {
    let mut text = String::new();
    for character in line.to_string().chars() {
        match character {
            '\t' => text.push(character),
            // Of those that change the direction of writing, too, a line may be made to say something else.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                let _ = write!(text, "{}", character.escape_unicode());
            }
            _ if character.is_control() => {
                let _ = write!(text, "{}", character.escape_default());
            }
            _ => text.push(character),
        }
    }
    text.push('\n');
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}
