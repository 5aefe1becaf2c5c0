//! Records told apart by 128 bits, the same in every process.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};

/// The fingerprint of a record, or of a sequence of them. Not for security: who wants two records that collide finds
/// them, and fools only the answer that holds them.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Fingerprint(u128);

/// Written into checkpoints with what it made: never to be changed.
const SEED: u64 = 0x746f_6b65_6e6c_696e;

impl Fingerprint {
    /// Of a record's [canonical](squeeze) text.
    pub(super) fn of(text: &str) -> Self {
        Self(murmur(text.as_bytes()))
    }

    /// Of the sequence that this one stands for, and one record more.
    #[must_use]
    pub(super) fn then(self, next: Self) -> Self {
        let mut both = [0; 32];
        both[..16].copy_from_slice(&self.0.to_le_bytes());
        both[16..].copy_from_slice(&next.0.to_le_bytes());
        Self(murmur(&both))
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

/// MurmurHash3, x64, 128 bits.
fn murmur(bytes: &[u8]) -> u128 {
    const C1: u64 = 0x87c3_7b91_1142_53d5;
    const C2: u64 = 0x4cf5_ad43_2745_937f;
    let k1 = |word: u64| word.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2);
    let k2 = |word: u64| word.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1);
    let (mut h1, mut h2) = (SEED, SEED);
    let mut blocks = bytes.chunks_exact(16);
    for block in &mut blocks {
        let (first, second) = words(block);
        h1 = (h1 ^ k1(first)).rotate_left(27).wrapping_add(h2).wrapping_mul(5).wrapping_add(0x52dc_e729);
        h2 = (h2 ^ k2(second)).rotate_left(31).wrapping_add(h1).wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    let (first, second) = words(blocks.remainder());
    h2 ^= k2(second);
    h1 ^= k1(first);
    h1 ^= bytes.len() as u64;
    h2 ^= bytes.len() as u64;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    (h1, h2) = (mix(h1), mix(h2));
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    (u128::from(h1) << 64) | u128::from(h2)
}

/// Up to 16 bytes, the missing ones as zeros.
fn words(bytes: &[u8]) -> (u64, u64) {
    let mut block = [0; 16];
    block[..bytes.len()].copy_from_slice(bytes);
    let both = u128::from_le_bytes(block);
    (both as u64, (both >> 64) as u64)
}

fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    word = (word ^ (word >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    word ^ (word >> 33)
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
        let of = |text| format!("{:?}", Fingerprint::of(text));
        assert_eq!(of(""), format!("{:?}", Fingerprint::of("")));
        assert_ne!(of("{\"a\":1}"), of("{\"a\":2}"));
        let json = serde_json::to_string(&Fingerprint::of("{\"a\":1}")).expect("it is a text");
        assert_eq!(json.len(), 34);
        assert_eq!(
            serde_json::from_str::<Fingerprint>(&json).expect("its own"),
            Fingerprint::of("{\"a\":1}")
        );
    }

    #[test]
    fn white_space_counts_in_strings_only() {
        assert_eq!(squeeze("{ \"a b\" : [1,\n 2], \"\\\" c\":\t\"x"), "{\"a b\":[1,2],\"\\\" c\":\"x");
    }
}
