//! Repetition at the end of a stream of bytes.
//!
//! The periods are divided into levels, each up to twice as long as the one before. A level looks for an earlier copy of
//! the end of the stream from time to time, more rarely the longer its periods are, but early enough to find each run
//! before its fourth copy is complete. From a copy on, the run is followed byte by byte, and its start is found by going
//! back, so that the limit is reached at the same byte wherever the run was found.
//!
//! The end that must have a copy is as long as the longest period of the level. Two periods of one level then are never
//! there at once, unless both are multiples of a shorter one (Fine and Wilf), whose own run is followed already. So one
//! run a level is enough.

use super::kind::Kind;
use super::search;
use super::{Repeated, Repetition, RepetitionLimits};
use crate::Span;

/// Longest period of the first level, in bytes: a quarter of the smallest limit.
const FIRST: usize = 128;

/// Number of levels. Each adds one search of a byte to the work for a byte, and the last one doubles the memory.
const LEVELS: usize = 7;

/// Bytes of history to keep: a run of the last level is found before it is longer.
const HISTORY: usize = RepetitionDetector::MAX_PERIOD / 2 * 5;

/// Largest size of the buffer, in bytes, a power of two. What is more than the history is room, so that the history is
/// moved rarely.
const MAX_BUFFER: usize = 32 * 1024;

/// Finds the first loop in the bytes of one channel, at the same byte for any chunks.
///
/// ```
/// use tokenline_core::{Repeated, RepetitionLimits};
///
/// let mut detector = RepetitionLimits::default().detector(Repeated::Text);
/// assert!(detector.push(b"Here is the list. ").is_none());
/// let found = (0..100).find_map(|_| detector.push(b"I will now write the list. ")).expect("a loop");
/// assert_eq!((found.period, found.copies, found.span.start), (27, 18, 7));
/// assert_eq!(found.to_string(), "the text repeats 27 bytes 18 times");
/// ```
///
/// It takes constant amortized time for a byte, for any input, and at most 32 KiB of memory, which grows with the
/// channel. [`RepetitionLimits`] has the rules.
#[derive(Clone, Debug)]
pub struct RepetitionDetector {
    of: Repeated,
    limits: RepetitionLimits,
    /// The last bytes of the channel.
    buffer: Vec<u8>,
    /// The bytes of the channel before the buffer.
    dropped: u64,
    /// The run of each level.
    runs: [Option<Run>; LEVELS],
    /// Whether there is a run: most texts have none.
    has_runs: bool,
    has_found: bool,
}

/// A periodic end of the channel.
#[derive(Clone, Copy, Debug)]
struct Run {
    period: usize,
    /// The offset of its first byte in the channel.
    start: u64,
    /// The offset in the channel at which it reaches the limit.
    limit: u64,
}

/// The periods above `above` and up to `up_to`, for which a search is due each `interval` bytes.
struct Level {
    above: usize,
    up_to: usize,
    interval: usize,
}

impl Level {
    /// The level's search finds a run of period `p` before it has `p + up_to + interval` bytes. That is less than the
    /// limit, both 4 copies and 512 bytes.
    const fn new(index: usize) -> Self {
        let up_to = FIRST << index;
        if index == 0 {
            Self { above: 0, up_to, interval: FIRST }
        } else {
            Self { above: up_to / 2, up_to, interval: up_to / 2 }
        }
    }
}

impl RepetitionDetector {
    /// Longest period that is found, in bytes.
    pub const MAX_PERIOD: usize = FIRST << (LEVELS - 1);

    /// A detector for the bytes of one channel.
    #[must_use]
    pub fn new(of: Repeated, limits: &RepetitionLimits) -> Self {
        Self {
            of,
            limits: *limits,
            buffer: Vec::new(),
            dropped: 0,
            runs: [None; LEVELS],
            has_runs: false,
            has_found: false,
        }
    }

    /// Takes the next bytes of the channel. Returns the loop once, if one of them reaches a limit: it is the last byte of
    /// the span. The bytes after it are not read, nor are those of later calls.
    pub fn push(&mut self, bytes: impl AsRef<[u8]>) -> Option<Repetition> {
        let mut bytes = bytes.as_ref();
        while !bytes.is_empty() && !self.has_found {
            // Up to the next search, wherever the chunks end.
            let up_to_search = FIRST - self.position() as usize % FIRST;
            let (part, rest) = bytes.split_at(up_to_search.min(bytes.len()));
            bytes = rest;
            self.append(part);
            if let Some(repetition) = self.follow(part.len()) {
                self.has_found = true;
                return Some(repetition);
            }
            if part.len() == up_to_search {
                self.search();
            }
        }
        None
    }

    /// Separates the bytes before from those to come: no loop has bytes of both. For a record or a call between two texts,
    /// because the same sentence before each of many records is not a loop.
    pub fn separate(&mut self) {
        self.dropped = self.position();
        self.buffer.clear();
        (self.runs, self.has_runs) = ([None; LEVELS], false);
    }

    /// Forgets everything, for the first byte of another channel of the same kind.
    pub fn reset(&mut self) {
        self.buffer.clear();
        (self.dropped, self.runs) = (0, [None; LEVELS]);
        (self.has_runs, self.has_found) = (false, false);
    }

    /// The offset in the channel of the next byte.
    fn position(&self) -> u64 {
        self.dropped + self.buffer.len() as u64
    }

    fn append(&mut self, part: &[u8]) {
        if self.buffer.len() + part.len() > MAX_BUFFER {
            let excess = self.buffer.len() - HISTORY;
            self.buffer.drain(..excess);
            self.dropped += excess as u64;
        }
        let needed = self.buffer.len() + part.len();
        if needed > self.buffer.capacity() {
            self.buffer.reserve_exact(needed.next_power_of_two() - self.buffer.len());
        }
        self.buffer.extend_from_slice(part);
    }

    /// Extends the runs by the last bytes, up to the first that reaches its limit.
    fn follow(&mut self, added: usize) -> Option<Repetition> {
        if !self.has_runs {
            return None;
        }
        self.has_runs = false;
        let mut reached: Option<Run> = None;
        let old = self.buffer.len() - added;
        for run_slot in &mut self.runs {
            let Some(run) = *run_slot else { continue };
            let new = &self.buffer[old..];
            let equal = search::common_prefix(new, &self.buffer[old - run.period..][..added]);
            let is_limit_reached = self.dropped + (old + equal) as u64 >= run.limit;
            if is_limit_reached && reached.is_none_or(|earlier| run.limit < earlier.limit) {
                reached = Some(run);
            }
            if equal < added {
                *run_slot = None;
            } else {
                self.has_runs = true;
            }
        }
        reached.map(|run| self.repetition(run))
    }

    fn repetition(&self, run: Run) -> Repetition {
        let (span, period) = (Span::new(run.start, run.limit), run.period as u64);
        Repetition { of: self.of, span, period, items: 0, copies: span.len() / period }
    }

    /// Looks for a run in each level whose search is due.
    fn search(&mut self) {
        let position = self.position();
        // The bytes that have the period of a shorter level.
        let mut periodic = 0;
        for index in 0..LEVELS {
            let Level { above, up_to, interval } = Level::new(index);
            if !position.is_multiple_of(interval as u64) {
                break;
            }
            // All periods of the level would be multiples of the shorter one.
            if self.runs[index].is_none() && periodic < up_to * 2 {
                let period = search::distance_of_copy(&self.buffer, above, up_to);
                let period = period.filter(|period| periodic < period + up_to);
                self.runs[index] = period.map(|period| self.run(period, up_to));
            }
            if let Some(run) = self.runs[index] {
                self.has_runs = true;
                periodic = periodic.max((position - run.start) as usize);
            }
        }
    }

    /// The run of a period whose last `tail` bytes have a copy.
    fn run(&self, period: usize, tail: usize) -> Run {
        let end = self.buffer.len();
        let before = end - tail;
        let more = search::common_suffix(&self.buffer[..before], &self.buffer[..before - period]);
        let start = self.dropped + (before - period - more) as u64;
        let kind = Kind::new(&self.buffer[end - 2 * period..], self.of == Repeated::Arguments);
        let limit = start.saturating_add(self.limits.of(self.of, kind).bytes_of(period as u64));
        Run { period, start, limit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buffer_stays_small() {
        for chunk in [1, 100, 127, 5000] {
            let mut detector = RepetitionLimits::default().detector(Repeated::Text);
            let text: Vec<u8> = (0_u32..40_000).flat_map(u32::to_le_bytes).collect();
            assert!(text.chunks(chunk).all(|chunk| detector.push(chunk).is_none()));
            assert!(detector.buffer.capacity() <= MAX_BUFFER, "{}", detector.buffer.capacity());
        }
    }
}
