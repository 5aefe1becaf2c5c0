//! Keeps messages short.

use tokenline_core::adapter::char_start;

/// How many items a message lists.
const LISTED: usize = 10;
/// How many bytes of one item a message shows.
const SHOWN: usize = 64;

/// A list that names only the first few items.
pub(crate) fn list(items: &mut dyn ExactSizeIterator<Item = String>) -> String {
    let more = items.len().saturating_sub(LISTED);
    let mut text = items.take(LISTED).collect::<Vec<_>>().join(", ");
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    text
}

/// Appends a text as a JSON string, with the shortest escapes.
pub(crate) fn push_json_string(json: &mut String, text: &str) {
    json.push('"');
    for character in text.chars() {
        let escape = match character {
            '"' => '"',
            '\\' => '\\',
            '\u{8}' => 'b',
            '\t' => 't',
            '\n' => 'n',
            '\u{c}' => 'f',
            '\r' => 'r',
            '\0'..' ' => {
                json.push_str("\\u00");
                json.extend(
                    [4, 0].map(|shift| char::from(b"0123456789abcdef"[character as usize >> shift & 15])),
                );
                continue;
            }
            _ => {
                json.push(character);
                continue;
            }
        };
        json.extend(['\\', escape]);
    }
    json.push('"');
}

/// A text as a JSON string.
pub(crate) fn json_string(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + 2);
    push_json_string(&mut json, text);
    json
}

/// A text in quotes, with its special characters escaped.
#[cfg(feature = "jsonschema")]
pub(crate) fn debug(text: &str) -> String {
    format!("{text:?}")
}

/// The same without tables of Unicode.
#[cfg(not(feature = "jsonschema"))]
pub(crate) fn debug(text: &str) -> String {
    json_string(text)
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
