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
        state = mix(state ^ word(bytes, at, 8));
        at += 8;
    }
    state = mix(state ^ word(bytes, at, end - at));
    (state ^ (state >> 32)) as u32
}

#[inline(always)]
fn mix(word: u64) -> u64 {
    (word ^ (word >> 29)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// `len` bytes (at most 8) as a little-endian number.
#[inline(always)]
fn word(bytes: &[u8], at: usize, len: usize) -> u64 {
    if let Some(block) = bytes.get(at..at + 8)
        && let Ok(block) = <[u8; 8]>::try_from(block)
    {
        let word = u64::from_le_bytes(block);
        return if len == 8 { word } else { word & ((1 << (8 * len)) - 1) };
    }
    let mut word = 0;
    for (shift, &byte) in bytes[at..at + len].iter().enumerate() {
        word |= u64::from(byte) << (8 * shift);
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
