//! A set of names known when the schema is compiled: a name is found with one probe of a table.

use std::collections::HashMap;

use tokenline_core::json::{KnownString, Value};

/// Names, each with a value.
#[derive(Clone)]
pub(super) struct Names<T> {
    entries: Box<[Entry<T>]>,
    index: Index,
}

/// The positions of names.
#[derive(Clone)]
struct Index {
    /// A table without collisions: the slot of a name has the number of its entry, or that of another name. Empty if
    /// no such table was found.
    slots: Box<[u32]>,
    factor: u64,
    shift: u32,
    /// The positions of all names, if there is no table. Its hashes have random keys.
    positions: HashMap<Box<str>, usize>,
}

#[derive(Clone)]
pub(super) struct Entry<T> {
    head: u64,
    tail: u64,
    pub(super) name: KnownString,
    pub(super) value: T,
}

impl<T> Entry<T> {
    #[inline(always)]
    fn is(&self, name: &[u8], (head, tail): (u64, u64)) -> bool {
        self.head == head
            && self.tail == tail
            && self.name.as_str().len() == name.len()
            && (name.len() <= SHORT || self.name.as_str().as_bytes() == name)
    }
}

/// How many factors are tried for each size of the table.
const FACTORS: u64 = 64;
/// Most slots for each name.
const MOST_SLOTS: usize = 16;
/// Up to this many names a perfect table is searched for.
const PERFECT: usize = 256;
/// Odd, with bits everywhere: the golden ratio.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
/// Names up to this long are their head and tail.
const SHORT: usize = 16;
/// So many names are compared one by one in less time than a probe takes.
const FEW: usize = 8;

impl<T: Copy> Names<T> {
    /// Of equal names, the first counts.
    pub(super) fn new<'n>(names: impl IntoIterator<Item = (&'n str, T)>) -> Self {
        let (mut entries, mut positions) = (Vec::new(), HashMap::new());
        for (name, value) in names {
            if *positions.entry(name).or_insert(entries.len()) == entries.len() {
                let (head, tail) = ends(name.as_bytes());
                entries.push(Entry { head, tail, name: KnownString::new(name), value });
            }
        }
        Self { entries: entries.into(), index: Index::new(&positions) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn entries(&self) -> &[Entry<T>] {
        &self.entries
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.entries.iter_mut().map(|entry| &mut entry.value)
    }

    /// The value of a name.
    #[inline(always)]
    pub(super) fn get(&self, name: &[u8]) -> Option<&T> {
        Some(self.find(name)?.1)
    }

    /// The value of a name that is a string of a document.
    #[inline(always)]
    pub(super) fn find_value(&self, string: Value<'_>) -> Option<&T> {
        if self.entries.len() <= FEW {
            return Some(&string.find_in(&self.entries, |entry| &entry.name)?.value);
        }
        self.get(string.as_str()?.as_bytes())
    }

    /// The position and the value of a name.
    #[inline(always)]
    pub(super) fn find(&self, name: &[u8]) -> Option<(usize, &T)> {
        let ends = ends(name);
        let Index { slots, factor, shift, .. } = &self.index;
        let at = match slots.get(slot(ends, name.len(), *factor, *shift)) {
            Some(slot) => *slot as usize,
            None => self.index.position(name)?,
        };
        let entry = self.entries.get(at)?;
        entry.is(name, ends).then_some((at, &entry.value))
    }

    pub(super) fn value_mut(&mut self, name: &[u8]) -> Option<&mut T> {
        let at = self.find(name)?.0;
        Some(&mut self.entries[at].value)
    }
}

impl Index {
    fn new(names: &HashMap<&str, usize>) -> Self {
        let (slots, factor, shift) = perfect(names).unwrap_or_default();
        let mut positions = HashMap::new();
        if slots.is_empty() {
            for (name, at) in names {
                positions.insert(Box::from(*name), *at);
            }
        }
        Self { slots, factor, shift, positions }
    }

    #[cold]
    fn position(&self, name: &[u8]) -> Option<usize> {
        self.positions.get(str::from_utf8(name).ok()?).copied()
    }
}

/// A table in which every name has a slot of its own.
fn perfect(names: &HashMap<&str, usize>) -> Option<(Box<[u32]>, u64, u32)> {
    if names.len() > PERFECT {
        return None;
    }
    let smallest = names.len().next_power_of_two().max(2);
    let mut size = smallest;
    while size <= smallest * MOST_SLOTS {
        let shift = u64::BITS - size.trailing_zeros();
        for trial in 0..FACTORS {
            let factor = GOLDEN.wrapping_mul(2 * trial + 1);
            // Beyond the entries: no entry.
            let mut slots = vec![u32::MAX; size].into_boxed_slice();
            let is_free = |(name, at): (&&str, &usize)| {
                let slot = &mut slots[slot(ends(name.as_bytes()), name.len(), factor, shift)];
                std::mem::replace(slot, *at as u32) == u32::MAX
            };
            if names.iter().all(is_free) {
                return Some((slots, factor, shift));
            }
        }
        size *= 2;
    }
    None
}

#[inline(always)]
fn slot((head, tail): (u64, u64), len: usize, factor: u64, shift: u32) -> usize {
    let mixed = head ^ tail.rotate_left(29) ^ (len as u64).wrapping_mul(GOLDEN);
    ((mixed ^ (mixed >> 32)).wrapping_mul(factor) >> shift) as usize
}

/// The first and the last bytes of a name, which overlap in short ones. With the length they are the whole of
/// a name up to [`SHORT`] bytes.
#[inline(always)]
fn ends(name: &[u8]) -> (u64, u64) {
    if let (Some(head), Some(tail)) = (name.first_chunk(), name.last_chunk()) {
        (u64::from_le_bytes(*head), u64::from_le_bytes(*tail))
    } else if let (Some(head), Some(tail)) = (name.first_chunk(), name.last_chunk()) {
        (u32::from_le_bytes(*head).into(), u32::from_le_bytes(*tail).into())
    } else if let (Some(&first), Some(&last)) = (name.first(), name.last()) {
        (u64::from_le_bytes([first, name[name.len() / 2], last, 0, 0, 0, 0, 0]), 0)
    } else {
        (0, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(names: &[String]) -> bool {
        let table = Names::new(names.iter().enumerate().map(|(at, name)| (name.as_str(), at)));
        for (at, name) in names.iter().enumerate() {
            assert_eq!(table.get(name.as_bytes()), Some(&at), "{name}");
            for other in [format!("{name}x"), format!("x{name}"), name.replacen('a', "b", 1)] {
                let expected = names.iter().position(|name| *name == other);
                assert_eq!(table.get(other.as_bytes()).copied(), expected, "{other}");
            }
        }
        !table.index.slots.is_empty()
    }

    #[test]
    fn names_of_any_length_are_found() {
        for len in 0..40 {
            assert!(check(&["a".repeat(len)]), "{len}");
        }
        assert!(check(&(0..40).map(|len| "a".repeat(len)).collect::<Vec<_>>()));
        assert!(check(&["", "id", "type", "name", "arguments", "conversation_id"].map(str::to_owned)));
    }

    #[test]
    fn alike_names_are_told_apart() {
        // The same ends and lengths: no table is without collisions.
        let middle: Vec<_> = (10..40).map(|at| format!("aaaaaaaa{at}aaaaaaaa")).collect();
        assert!(!check(&middle));
        let many: Vec<_> = (0..5000).map(|at| format!("name{at}")).collect();
        assert!(!check(&many));
    }

    #[test]
    fn usual_names_have_a_perfect_table() {
        for count in [1, 2, 5, 10, 20, 50, 100] {
            assert!(check(&(0..count).map(|at| format!("member_{at}")).collect::<Vec<_>>()), "{count}");
        }
    }

    #[test]
    fn no_names_are_found_in_no_names() {
        let none: Names<()> = Names::new([]);
        assert!(none.is_empty() && none.get(b"").is_none() && none.get(b"a").is_none());
    }
}
