//! Repetition of whole records or calls.

use std::hash::BuildHasher;
use std::hash::Hasher;
use std::hash::RandomState;

use super::{Repeated, Repetition, RepetitionLimit, RepetitionLimits};
use crate::Span;

/// Finds equal records or calls in a row, or in a cycle.
///
/// Two are taken for equal if they have the same length and the same hash: 64-bit SipHash with a random key, so that
/// nobody can make up collisions. Different ones are taken for a loop only if 64 collide.
///
/// ```
/// use tokenline_core::adapter::RecordRepetitionDetector;
/// use tokenline_core::{Repeated, RepetitionLimits};
///
/// let mut detector = RecordRepetitionDetector::new(Repeated::ToolCalls, &RepetitionLimits::default());
/// let path = "a".repeat(200);
/// let found = (1..).find_map(|count| Some((count, detector.push(&["read_file", &path])?)));
/// let (count, repetition) = found.expect("a loop");
/// assert_eq!((count, repetition.to_string().as_str()), (64, "the same tool call 64 times"));
/// ```
///
/// It takes constant time for a byte and for a record, and less than 2 KiB of memory.
#[derive(Clone, Debug)]
pub struct RecordRepetitionDetector {
    of: Repeated,
    limit: RepetitionLimit,
    key: RandomState,
    /// The number of records.
    count: u64,
    /// The bytes of all records.
    bytes: u64,
    /// The last records, each at its number modulo the length.
    last: [Item; RecordRepetitionDetector::MAX_CYCLE],
    /// For each length of a cycle, less one, the number of the first record of the run.
    starts: [u64; RecordRepetitionDetector::MAX_CYCLE],
    /// For each length of a cycle, less one, the bytes before the run.
    offsets: [u64; RecordRepetitionDetector::MAX_CYCLE],
    has_found: bool,
}

/// A record or a call.
#[derive(Clone, Copy, Debug, Default)]
struct Item {
    hash: u64,
    len: u64,
    /// The bytes of all records before it.
    offset: u64,
}

impl RecordRepetitionDetector {
    /// Longest cycle that is found, in records or calls.
    pub const MAX_CYCLE: usize = 32;

    /// A detector for records or calls.
    #[must_use]
    pub fn new(of: Repeated, limits: &RepetitionLimits) -> Self {
        Self {
            of,
            limit: limits.records,
            key: RandomState::new(),
            count: 0,
            bytes: 0,
            last: [Item::default(); Self::MAX_CYCLE],
            starts: [0; Self::MAX_CYCLE],
            offsets: [0; Self::MAX_CYCLE],
            has_found: false,
        }
    }

    /// Takes the next record, or the next call in two parts, its name and its arguments. Returns the loop once, if this reaches the
    /// limit. Later records are not read.
    pub fn push(&mut self, parts: &[impl AsRef<[u8]>]) -> Option<Repetition> {
        if self.has_found {
            return None;
        }
        let mut hasher = self.key.build_hasher();
        let mut len = 0;
        for part in parts.iter().map(AsRef::as_ref) {
            hasher.write_usize(part.len());
            hasher.write(part);
            len += part.len() as u64;
        }
        let item = Item { hash: hasher.finish(), len, offset: self.bytes };
        let number = self.count;
        self.count += 1;
        self.bytes += len;
        let found = (1..=Self::MAX_CYCLE as u64).find_map(|cycle| self.extend(cycle, number, item));
        self.last[Self::slot(number)] = item;
        self.has_found = found.is_some();
        found
    }

    /// Extends the run of cycles of this length, or starts it again.
    fn extend(&mut self, cycle: u64, number: u64, item: Item) -> Option<Repetition> {
        let before = self.last[Self::slot(number.checked_sub(cycle)?)];
        let index = cycle as usize - 1;
        if (before.hash, before.len) != (item.hash, item.len) {
            // The run may begin with the record after the one that differs.
            let first = number + 1 - cycle;
            self.starts[index] = first;
            self.offsets[index] = if cycle == 1 { item.offset } else { self.last[Self::slot(first)].offset };
            return None;
        }
        let copies = (self.count - self.starts[index]) / cycle;
        let span = Span::new(self.offsets[index], self.bytes);
        let period = self.bytes - before.offset - before.len;
        let is_loop = copies >= self.limit.copies.max(RepetitionLimit::MIN_COPIES)
            && span.len() >= self.limit.bytes.max(RepetitionLimit::MIN_BYTES);
        is_loop.then_some(Repetition { of: self.of, span, period, items: cycle as u32, copies })
    }

    fn slot(number: u64) -> usize {
        (number % Self::MAX_CYCLE as u64) as usize
    }
}
