//! Fingerprints of records, the same in every process.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};
use siphasher::sip128::SipHasher13;

/// The fingerprint of a record, or of a sequence of them. Not for security.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Fingerprint(u128);

/// Checkpoints depend on it: it never changes.
fn hash(bytes: &[u8]) -> u128 {
    SipHasher13::new_with_keys(0, 0).hash(bytes).as_u128()
}

impl Fingerprint {
    /// The fingerprint of a record's text without the white space between tokens.
    pub(super) fn of(text: &str) -> Self {
        Self(hash(text.as_bytes()))
    }

    /// The fingerprint of this sequence followed by one more record.
    #[must_use]
    pub(super) fn then(self, next: Self) -> Self {
        let mut both = [0; 32];
        both[..16].copy_from_slice(&self.0.to_le_bytes());
        both[16..].copy_from_slice(&next.0.to_le_bytes());
        Self(hash(&both))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// In hexadecimal: many readers of JSON have no integers as wide.
impl Serialize for Fingerprint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:032x}", self.0))
    }
}

impl<'de> Deserialize<'de> for Fingerprint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let is_hex = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = is_hex.then(|| u128::from_str_radix(&text, 16).ok()).flatten();
        number.map(Self).ok_or_else(|| D::Error::custom("a fingerprint is 32 hexadecimal digits"))
    }
}

/// JSON, or the beginning of it, without the white space between its tokens.
pub(super) fn minify(text: &str) -> String {
    minified(text).map(|(_, char)| char).collect()
}

/// [`minify`], limited to this many bytes.
pub(super) fn minify_to(text: &str, bytes: usize) -> String {
    let mut room = bytes;
    let fits = |char: &char| match room.checked_sub(char.len_utf8()) {
        Some(left) => {
            room = left;
            true
        }
        None => false,
    };
    minified(text).map(|(_, char)| char).take_while(fits).collect()
}

/// Whether a text begins with another one, ignoring white space between tokens.
pub(super) fn begins_with(text: &str, beginning: &str) -> bool {
    end_of(text, beginning).is_some()
}

/// Where `beginning` ends in the text, ignoring white space between tokens; `None` if the text begins differently.
pub(super) fn end_of(text: &str, beginning: &str) -> Option<usize> {
    let (mut text, mut end) = (minified(text), 0);
    for (_, char) in minified(beginning) {
        let (at, _) = text.next().filter(|(_, other)| *other == char)?;
        end = at + char.len_utf8();
    }
    Some(end)
}

fn minified(text: &str) -> impl Iterator<Item = (usize, char)> + '_ {
    let (mut in_string, mut is_escaped) = (false, false);
    text.char_indices().filter(move |&(_, char)| {
        if in_string {
            in_string = is_escaped || char != '"';
            is_escaped = char == '\\' && !is_escaped;
        } else if char == '"' {
            in_string = true;
        } else {
            return !matches!(char, ' ' | '\t' | '\r' | '\n');
        }
        true
    })
}
