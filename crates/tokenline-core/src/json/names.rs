//! Repeated names of an object, noticed while it is parsed.
//!
//! A small object compares the hash of each new name with those before it. An object with more than
//! [`SMALL`] members is checked once, when it closes, by sorting: so the work stays within n log n
//! whatever names, and whatever hash collisions, an adversary chooses.

use super::tape::{DecodedNames, ESCAPED, Node, after};

/// Members up to which each new name is compared with all before it.
pub(crate) const SMALL: u32 = 32;

/// A hash of a name's bytes, independent of where they stand.
#[inline(always)]
pub(crate) fn hash(bytes: &[u8], start: usize, end: usize) -> u32 {
    let mut at = start;
    let mut state = (end - start) as u64;
    while end - at > 8 {
        state = (state ^ word(bytes, at, 8)).wrapping_mul(MIX).rotate_left(32);
        at += 8;
    }
    ((state ^ word(bytes, at, end - at)).wrapping_mul(MIX) >> 32) as u32
}

/// Odd, so that no two words come to the same.
const MIX: u64 = 0x9E37_79B9_7F4A_7C15;

/// `len` bytes (at most 8) as a number; which byte stands where does not matter.
#[inline(always)]
fn word(bytes: &[u8], at: usize, len: usize) -> u64 {
    if len > 0
        && let Some(block) = bytes.get(at..at + 8)
        && let Ok(block) = <[u8; 8]>::try_from(block)
    {
        return u64::from_le_bytes(block) << (8 * (8 - len));
    }
    let mut word = 0;
    for &byte in &bytes[at..at + len] {
        word = (word >> 8) | (u64::from(byte) << 56);
    }
    word
}

/// The names of one document, as the parser sees them while it fills the tape.
#[derive(Clone, Copy)]
pub(crate) struct Names<'a> {
    pub(crate) nodes: &'a [Node],
    pub(crate) decoded: &'a DecodedNames,
    pub(crate) bytes: &'a [u8],
}

impl<'a> Names<'a> {
    /// Whether a member before the name at `last` of the open object at `object` has that name
    /// too. A hash collision brings us here, so the names themselves are compared.
    #[cold]
    pub(crate) fn is_repeated(self, object: u32, last: u32) -> bool {
        let name = self.name(last);
        let mut member = object + 1;
        while member < last {
            if self.name(member) == name {
                return true;
            }
            member = after(self.nodes, member + 1);
        }
        false
    }

    /// The first name node that repeats a name in the object at `object`, whose members end at
    /// `end`; found by sorting.
    #[cold]
    pub(crate) fn find_repeated(self, object: u32, end: u32, scratch: &mut Vec<(u32, u32)>) -> Option<u32> {
        scratch.clear();
        let mut member = object + 1;
        while member < end {
            let name = self.name(member);
            scratch.push((hash(name, 0, name.len()), member));
            member = after(self.nodes, member + 1);
        }
        scratch.sort_unstable_by(|a, b| {
            a.0.cmp(&b.0).then_with(|| self.name(a.1).cmp(self.name(b.1))).then(a.1.cmp(&b.1))
        });
        scratch
            .windows(2)
            .filter(|pair| pair[0].0 == pair[1].0 && self.name(pair[0].1) == self.name(pair[1].1))
            .map(|pair| pair[1].1)
            .min()
    }

    fn name(self, index: u32) -> &'a [u8] {
        let node = self.nodes[index as usize];
        if node.has(ESCAPED) { self.decoded.name(node.link).as_bytes() } else { &self.bytes[node.range()] }
    }
}

#[cfg(test)]
mod tests {
    use super::hash;

    #[test]
    fn a_hash_tells_names_apart_wherever_they_stand() {
        let text = b"conversation_identifier!";
        let mut seen = std::collections::HashSet::new();
        for start in 0..8 {
            for end in start..=start + 16 {
                let name = &text[start..end];
                // With other bytes around it, and with none.
                assert_eq!(hash(text, start, end), hash(name, 0, name.len()), "{start}..{end}");
                seen.insert((name, hash(text, start, end)));
            }
        }
        let hashes: std::collections::HashSet<_> = seen.iter().map(|(_, hash)| hash).collect();
        assert_eq!(hashes.len(), seen.len(), "names that pass for others cost time");
    }
}
