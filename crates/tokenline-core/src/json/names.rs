//! Detects repeated names of an object while it is parsed.
//!
//! In a small object, the hash of each new name is compared with those before it. An object with more than
//! [`SMALL`] members is checked once, by sorting, when it closes. So the work stays within n log n whatever
//! names or hash collisions an adversary chooses.

use super::tape::{DecodedNames, ESCAPED, Node, after, decoded_name};

/// Up to this many members, each new name is compared with all before it.
pub(crate) const SMALL: u32 = 32;

/// A hash of a name's bytes, independent of their position.
#[inline(always)]
pub(crate) fn hash(bytes: &[u8], start: usize, end: usize) -> u32 {
    let mut at = start;
    let mut state = (end - start) as u64;
    while end - at > 8 {
        let mixed = state ^ word(bytes, at, 8);
        // A product's bits depend only on lower bits, so the high bits are folded down first.
        state = (mixed ^ (mixed >> 29)).wrapping_mul(MIX);
        at += 8;
    }
    ((state ^ word(bytes, at, end - at)).wrapping_mul(MIX) >> 32) as u32
}

/// Odd, so that the product is different for every word.
const MIX: u64 = 0x9E37_79B9_7F4A_7C15;

/// `len` bytes (at most 8) as a number: the last byte highest, zeros below the first.
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

/// Sorts members, each a [`hash`] of its name and an index: by hashes, names and indices.
pub(super) fn sort_by_name<'n>(members: &mut [(u32, u32)], name: &dyn Fn(u32) -> &'n [u8]) {
    members.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| name(a.1).cmp(name(b.1))).then(a.1.cmp(&b.1)));
}

/// The names of a document while the parser fills the tape.
#[derive(Clone, Copy)]
pub(crate) struct Names<'a> {
    pub(crate) nodes: &'a [Node],
    pub(crate) decoded: &'a Option<Box<DecodedNames>>,
    pub(crate) bytes: &'a [u8],
}

impl<'a> Names<'a> {
    /// Whether the open object at `object` has a member with the name at `last` before that name. Called on
    /// equal hashes, so it compares the names themselves.
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

    /// The first name node that repeats a name in the object at `object`, whose members end at `end`. Sorts
    /// the names.
    #[cold]
    pub(crate) fn find_repeated(self, object: u32, end: u32, scratch: &mut Vec<(u32, u32)>) -> Option<u32> {
        scratch.clear();
        let mut member = object + 1;
        while member < end {
            let name = self.name(member);
            scratch.push((hash(name, 0, name.len()), member));
            member = after(self.nodes, member + 1);
        }
        sort_by_name(scratch, &|member| self.name(member));
        scratch
            .windows(2)
            .filter(|pair| pair[0].0 == pair[1].0 && self.name(pair[0].1) == self.name(pair[1].1))
            .map(|pair| pair[1].1)
            .min()
    }

    fn name(self, index: u32) -> &'a [u8] {
        let node = self.nodes[index as usize];
        if node.has(ESCAPED) {
            decoded_name(self.decoded, node).as_bytes()
        } else {
            &self.bytes[node.range()]
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::hash;

    #[test]
    fn a_hash_is_of_the_name_wherever_it_stands() {
        let text = b"conversation_identifier!";
        for start in 0..8 {
            for end in start..=start + 16 {
                // With other bytes around it, and without.
                assert_eq!(hash(text, start, end), hash(&text[start..end], 0, end - start), "{start}..{end}");
            }
        }
    }

    /// Colliding names cost time, so similar names must not collide.
    #[test]
    fn names_that_differ_in_two_places_differ() {
        for len in 2..=30 {
            let (mut names, mut hashes) = (0, HashSet::new());
            for one in 0..len - 1 {
                for other in one + 1..len {
                    for (a, b) in (b'b'..=b'z').flat_map(|a| (b'b'..=b'z').map(move |b| (a, b))) {
                        let mut name = vec![b'a'; len];
                        (name[one], name[other]) = (a, b);
                        hashes.insert(hash(&name, 0, len));
                        names += 1;
                    }
                }
            }
            assert!(names - hashes.len() <= names / 1000, "{} of {names} names of {len} bytes", hashes.len());
        }
    }
}
