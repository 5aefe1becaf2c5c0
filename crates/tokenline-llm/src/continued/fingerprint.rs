//! Records told apart by 128 bits, the same in every process.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};
use siphasher::sip128::SipHasher13;

/// The fingerprint of a record, or of a sequence of them. Not for security: who wants two records that collide finds
/// them, and fools only the answer that holds them.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Fingerprint(u128);

/// What it is made with stands in checkpoints: never to be changed.
fn hash(bytes: &[u8]) -> u128 {
    SipHasher13::new_with_keys(0, 0).hash(bytes).as_u128()
}

impl Fingerprint {
    /// Of a record's [canonical](squeeze) text.
    pub(super) fn of(text: &str) -> Self {
        Self(hash(text.as_bytes()))
    }

    /// Of the sequence that this one stands for, and one record more.
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

/// JSON, or the beginning of it, without the white space between its tokens: what a model that writes something again
/// is free to change.
pub(super) fn squeeze(text: &str) -> String {
    let mut all = String::with_capacity(text.len());
    all.extend(squeezed(text));
    all
}

/// The same, character for character.
pub(super) fn squeezed(text: &str) -> impl Iterator<Item = char> + '_ {
    let (mut in_string, mut is_escaped) = (false, false);
    text.chars().filter(move |&char| {
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

/// Whether a text breaks off inside a string or a name.
pub(super) fn ends_in_string(text: &str) -> bool {
    let (mut in_string, mut is_escaped) = (false, false);
    for byte in text.bytes() {
        let is_quote = byte == b'"' && !is_escaped;
        is_escaped = in_string && byte == b'\\' && !is_escaped;
        in_string ^= is_quote;
    }
    in_string
}

/// Whether one text begins as the other one, white space between tokens apart.
pub(super) fn begins_as(long: &str, short: &str) -> bool {
    let mut long = squeezed(long);
    squeezed(short).all(|char| long.next() == Some(char))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_stays_the_same_from_one_version_to_the_next() {
        // A checkpoint that an older version wrote is still good.
        let one = Fingerprint::of("{\"a\":1}");
        assert_eq!(
            serde_json::to_string(&one).expect("it is a text"),
            "\"99c82172967f342fb2c9f7ec5a9c7f7e\""
        );
        assert_eq!(
            serde_json::to_string(&one.then(one)).expect("it is a text"),
            "\"3a82f35763105e7223a926595fa9507b\""
        );
        assert_eq!(
            serde_json::from_str::<Fingerprint>("\"99c82172967f342fb2c9f7ec5a9c7f7e\"").expect("its own"),
            one
        );
        for wrong in ["\"\"", "\"+0000000000000000000000000000000\"", "1"] {
            assert!(serde_json::from_str::<Fingerprint>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn white_space_counts_in_strings_only() {
        assert_eq!(squeeze("{ \"a b\" : [1,\n 2], \"\\\" c\":\t\"x"), "{\"a b\":[1,2],\"\\\" c\":\"x");
    }
}
