//! White space, code fences, think blocks, and the ends of texts.

use tokenline_core::adapter::THINK_TAGS;
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

/// Where truncated JSON ends, if its closing fence follows: three back quotes on a line of their own at `fault`, the first
/// byte that is not JSON, or the beginning of such a line at the end of the text. A string cannot contain a raw line feed,
/// so the fence is never part of one.
pub(crate) fn before_fence(text: &str, fault: usize, in_string: bool) -> Option<usize> {
    let rest = head(&text[fault..], MAX_FENCE_LINE);
    let line = rest.trim_start_matches(SPACE);
    let before = text[..fault + rest.len() - line.len()].trim_end_matches([' ', '\t']);
    let line = line.split_inclusive('\n').next().unwrap_or_default();
    let has_ended = fault + rest.len() == text.len() || line.ends_with('\n');
    let quotes = line.len() - line.trim_start_matches('`').len();
    let is_fence =
        quotes == line.len() || (quotes >= 3 && line.trim_matches(['`', ' ', '\t', '\r', '\n']).is_empty());
    let is_line = line.is_empty() || before.is_empty() || before.ends_with('\n');
    let end = if in_string { fault } else { trim_end(&text[..fault]).len() };
    (is_line && is_fence && has_ended).then_some(end)
}

/// The position after the think block that the text begins with, or 0 without one; `None` while the block is open.
pub(crate) fn after_think_block(text: &str) -> Option<usize> {
    match closing_think_tag(text.trim_ascii_start()) {
        Some(closer) => Some(text.find(closer)? + closer.len()),
        None => Some(0),
    }
}

/// The closing tag of the think block that the text begins with.
pub(crate) fn closing_think_tag(text: &str) -> Option<&'static str> {
    THINK_TAGS.into_iter().find(|(opener, _)| text.starts_with(opener)).map(|(_, closer)| closer)
}

/// The position after the opening line of a code fence, if the text begins with one. The line has at most one word.
pub(crate) fn after_fence(text: &str) -> Option<usize> {
    let (word, rest) = text.strip_prefix("```")?.split_once('\n')?;
    word.trim_end().chars().all(char::is_alphanumeric).then_some(text.len() - rest.len())
}
