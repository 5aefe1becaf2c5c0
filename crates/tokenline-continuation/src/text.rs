//! What text is, apart from JSON: white space, fences, tails.

use tokenline_core::json::Expected;

/// White space between two tokens.
pub(crate) const SPACE: [char; 4] = [' ', '\t', '\r', '\n'];

pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

pub(crate) fn trim_end(text: &str) -> &str {
    text.trim_end_matches(SPACE)
}

pub(crate) fn trim_start(text: &str) -> &str {
    text.trim_start_matches(SPACE)
}

/// The last `bytes` bytes of the text, or a few less: from the first byte of a character on.
pub(crate) fn tail(text: &str, bytes: usize) -> &str {
    let mut from = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    &text[from..]
}

/// The first `bytes` bytes of the text, or a few less.
pub(crate) fn head(text: &str, bytes: usize) -> &str {
    let mut to = bytes.min(text.len());
    while !text.is_char_boundary(to) {
        to -= 1;
    }
    &text[..to]
}

/// Whether a whole value that this follows is none, but part of something that is no JSON. Anything
/// else is prose, a fence, or the end of a line.
pub(crate) fn is_followed(byte: u8) -> bool {
    matches!(byte, b',' | b':' | b']' | b'}' | b'{' | b'[')
}

pub(crate) fn is_in_string(expected: Expected) -> bool {
    matches!(
        expected,
        Expected::StringCharacter | Expected::Escape | Expected::HexDigit | Expected::LowSurrogate
    )
}

/// What follows cut JSON: white space, and then perhaps the end of its fence. It is read as it comes, each byte
/// once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClosingFence {
    /// Where the JSON ends.
    end: usize,
    /// So far the text was looked at.
    seen: usize,
    place: Place,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Space {
        is_line_start: bool,
    },
    /// In its back quotes, of which there are fewer than three.
    Quotes(u8),
    /// Behind them, on the same line.
    Line,
    /// Behind it.
    Closed,
    /// There is none.
    Other,
}

impl ClosingFence {
    /// `fault` is the first byte that is no JSON. A raw line feed cannot be in a string, so a fence on a
    /// line of its own is never part of one.
    pub(crate) fn new(text: &str, fault: usize, in_string: bool) -> Self {
        let before = &text[..fault];
        let line = before.trim_end_matches([' ', '\t']);
        Self {
            end: if in_string { fault } else { trim_end(before).len() },
            seen: fault,
            place: Place::Space { is_line_start: line.is_empty() || line.ends_with('\n') },
        }
    }

    /// Where the JSON ends if the rest of the text is such a fence: all of it, or what has come of it.
    pub(crate) fn read(&mut self, text: &str) -> Option<usize> {
        for &byte in &text.as_bytes()[self.seen..] {
            if matches!(self.place, Place::Closed | Place::Other) {
                break;
            }
            self.place = match (self.place, byte) {
                (Place::Space { .. }, b'\n') => Place::Space { is_line_start: true },
                (Place::Space { .. }, b'\r') => Place::Space { is_line_start: false },
                (Place::Space { .. }, b' ' | b'\t') => continue,
                (Place::Space { is_line_start: true }, b'`') => Place::Quotes(1),
                (Place::Quotes(1), b'`') => Place::Quotes(2),
                (Place::Quotes(_), b'`') => Place::Line,
                (Place::Line, b'`' | b' ' | b'\t' | b'\r') => continue,
                (Place::Line, b'\n') => Place::Closed,
                // "```json" opens one.
                _ => Place::Other,
            };
        }
        self.seen = text.len();
        (!matches!(self.place, Place::Other)).then_some(self.end)
    }
}

/// The same of a text that is all there.
pub(crate) fn closing_fence(text: &str, fault: usize, in_string: bool) -> Option<usize> {
    ClosingFence::new(text, fault, in_string).read(text)
}
