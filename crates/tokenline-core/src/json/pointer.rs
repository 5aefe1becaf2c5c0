//! JSON Pointers (RFC 6901).

use std::fmt;

use super::delta::Key;

/// Appends a reference token to a pointer.
pub(crate) fn push_key(pointer: &mut String, key: Key<'_>) {
    pointer.push('/');
    match key {
        Key::Index(index) => pointer.push_str(&index.to_string()),
        Key::Name(name) => {
            let mut rest = name;
            while let Some(at) = rest.find(['~', '/']) {
                pointer.push_str(&rest[..at]);
                pointer.push_str(if rest.as_bytes()[at] == b'~' { "~0" } else { "~1" });
                rest = &rest[at + 1..];
            }
            pointer.push_str(rest);
        }
    }
}

/// The pointer after its first reference token, if that token is this key. Reads no more of the key than the
/// pointer is long.
pub(super) fn strip_key<'p>(pointer: &'p str, key: Key<'_>) -> Option<&'p str> {
    let mut rest = pointer.strip_prefix('/')?;
    match key {
        Key::Name(name) => {
            for character in name.chars() {
                rest = match character {
                    '~' => rest.strip_prefix("~0"),
                    '/' => rest.strip_prefix("~1"),
                    _ => rest.strip_prefix(character),
                }?;
            }
        }
        Key::Index(index) => {
            let end = rest.find('/').unwrap_or(rest.len());
            let (token, after) = rest.split_at(end);
            let is_canonical = token == "0" || token.starts_with(|first| matches!(first, '1'..='9'));
            if !is_canonical || token.parse() != Ok(index) {
                return None;
            }
            rest = after;
        }
    }
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// The pointer passed to [`Options::items`](crate::Options::items) is not a JSON Pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidPointer(pub(crate) ());

impl fmt::Display for InvalidPointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a JSON Pointer: it begins with `/`, as `/items` or `/data/0/rows`; a `/` within a name is `~1`, a `~` is `~0`")
    }
}

impl std::error::Error for InvalidPointer {}
