//! Keeps messages short.

use tokenline_core::adapter::char_start;

/// How many items a message lists.
const LISTED: usize = 10;
/// How many bytes of one item a message shows.
const SHOWN: usize = 64;

/// A list that names only the first few items.
pub(crate) fn list(items: impl ExactSizeIterator<Item = String>) -> String {
    let more = items.len().saturating_sub(LISTED);
    let mut text = items.take(LISTED).collect::<Vec<_>>().join(", ");
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    text
}

/// A name in backticks, shortened if it is long.
pub(crate) fn quoted(name: &str) -> String {
    format!("`{}`", shorten(name.to_owned()))
}

/// A text, shortened if it is long.
pub(crate) fn shorten(text: String) -> String {
    shorten_to(text, SHOWN)
}

/// A text, shortened if it is longer than `limit` bytes.
pub(crate) fn shorten_to(mut text: String, limit: usize) -> String {
    if text.len() > limit {
        text.truncate(char_start(&text, limit));
        text.push('…');
    }
    text
}
