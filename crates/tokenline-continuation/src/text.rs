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

/// Where JSON ends that is cut and then closed by a fence, of which the text may end in the midst, or
/// before it: then nothing but white space has come. `fault` is the first byte that is no JSON. A raw line feed
/// cannot be in a string, so a fence on a line of its own is never part of one.
pub(crate) fn closing_fence(text: &str, fault: usize, in_string: bool) -> Option<usize> {
    let rest = trim_start(&text[fault..]);
    let at = text.len() - rest.len();
    let line = text[..at].trim_end_matches([' ', '\t']);
    let is_line_start = line.is_empty() || line.ends_with('\n');
    // "```json" opens one.
    let is_fence = match rest.strip_prefix("```") {
        Some(info) => {
            info.trim_start_matches(['`', ' ', '\t', '\r']).chars().next().is_none_or(|next| next == '\n')
        }
        None => "```".starts_with(rest),
    };
    let end = if in_string { fault } else { trim_end(&text[..at]).len().min(fault) };
    (rest.is_empty() || is_fence && is_line_start).then_some(end)
}
