//! White space, closing fences, and the ends of texts.

use tokenline_core::json::Expected;

/// White space between two tokens.
pub(crate) const SPACE: [char; 4] = [' ', '\t', '\r', '\n'];

pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// How many bytes are not white space.
pub(crate) fn count_non_space(text: &str) -> usize {
    text.bytes().filter(|&byte| !is_space(byte)).count()
}

pub(crate) fn trim_end(text: &str) -> &str {
    text.trim_end_matches(SPACE)
}

pub(crate) fn trim_start(text: &str) -> &str {
    text.trim_start_matches(SPACE)
}

/// The last `bytes` bytes of the text, or up to 3 fewer: it begins with a whole character.
pub(crate) fn tail(text: &str, bytes: usize) -> &str {
    let mut from = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    &text[from..]
}

/// The first `bytes` bytes of the text, or up to 3 fewer: it ends with a whole character.
pub(crate) fn head(text: &str, bytes: usize) -> &str {
    let mut to = bytes.min(text.len());
    while !text.is_char_boundary(to) {
        to -= 1;
    }
    &text[..to]
}

pub(crate) fn is_in_string(expected: Expected) -> bool {
    matches!(
        expected,
        Expected::StringCharacter | Expected::Escape | Expected::HexDigit | Expected::LowSurrogate
    )
}

/// The longest line that closes a fence, in bytes, with the white space before it.
const MAX_FENCE_LINE: usize = 64;

/// Where truncated JSON ends, if its closing fence follows: three back quotes or tildes on a line of their own at `fault`, the
/// first byte that is not JSON, or the beginning of such a line at the end of the text. A string cannot contain a raw line feed,
/// so the fence is never part of one.
pub(crate) fn before_fence(text: &str, fault: usize, in_string: bool) -> Option<usize> {
    let rest = head(&text[fault..], MAX_FENCE_LINE);
    let line = rest.trim_start_matches(SPACE);
    let before = text[..fault + rest.len() - line.len()].trim_end_matches([' ', '\t']);
    let line = line.split_inclusive('\n').next().unwrap_or_default();
    let has_ended = fault + rest.len() == text.len() || line.ends_with('\n');
    let is_closed_by = |marker: char| {
        let count = line.len() - line.trim_start_matches(marker).len();
        count == line.len() || (count >= 3 && trim_start(&line[count..]).is_empty())
    };
    let is_fence = is_closed_by('`') || is_closed_by('~');
    let is_line = line.is_empty() || before.is_empty() || before.ends_with('\n');
    let end = if in_string { fault } else { trim_end(&text[..fault]).len() };
    (is_line && is_fence && has_ended).then_some(end)
}
