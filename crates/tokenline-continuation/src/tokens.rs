//! Tokens of JSON text that the parser has accepted.

use memchr::memchr2;

use crate::text::is_space;

/// The position after the closing quote of the string around `at`; the end of the bytes without one.
pub(crate) fn string_end(bytes: &[u8], at: usize) -> usize {
    closing_quote(bytes, at).map_or(bytes.len(), |quote| quote + 1)
}

fn closing_quote(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

/// The name of the first member of an object, as written; `""` for an empty object.
pub(crate) fn first_name(object: &str) -> Option<&str> {
    let name = object.strip_prefix('{')?.trim_ascii_start();
    if name.starts_with('}') {
        return Some("");
    }
    let name = name.strip_prefix('"')?;
    Some(&name[..closing_quote(name.as_bytes(), 0)?])
}

/// Where the members and elements begin of each container that is open at `to`, the innermost last. Only those between
/// `from`, where a token begins, and `to`.
pub(crate) fn members(text: &str, from: usize, to: usize) -> Vec<Vec<usize>> {
    // A string that begins at `to` may be as long as the document.
    let bytes = &text.as_bytes()[..to];
    let mut levels = vec![Vec::new()];
    let mut is_member = from == 0;
    let mut at = from;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            _ if is_space(byte) => {}
            b',' => is_member = true,
            b':' => is_member = false,
            b'}' | b']' => {
                levels.pop();
                if levels.is_empty() {
                    levels.push(Vec::new());
                }
                is_member = false;
            }
            _ => {
                if let (true, Some(level)) = (is_member, levels.last_mut()) {
                    level.push(at);
                }
                is_member = matches!(byte, b'{' | b'[');
                if is_member {
                    levels.push(Vec::new());
                }
            }
        }
        at = if byte == b'"' { string_end(bytes, at + 1) } else { at + 1 };
    }
    levels
}
