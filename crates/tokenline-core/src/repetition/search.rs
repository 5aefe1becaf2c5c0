//! Search for an earlier copy of the end of a buffer.

/// The positions, counted back from the end, of the bytes that are compared first. They are far apart, so that rows of
/// one shape differ in one of them, and within the shortest tail, 128 bytes.
const PROBES: [usize; 4] = [1, 19, 53, 111];

/// Earlier ends that are compared at once.
const BLOCK: usize = 128;

/// Most bytes to compare with the bytes of copies, as a multiple of the tail. Then follows a search that is linear for any
/// input, but slow to begin.
const MAX_COMPARED: usize = 8;

/// The bytes that a comparison counts for, however early it ends.
const COMPARISON: usize = 32;

/// The smallest distance above `above` and up to `tail` at which the last `tail` bytes of the buffer have a copy.
///
/// In ordinary text, it compares four bytes for each distance, many distances at once.
pub(super) fn distance_of_copy(buffer: &[u8], above: usize, tail: usize) -> Option<usize> {
    let end = buffer.len();
    let suffix = buffer.get(end.checked_sub(tail)?..)?;
    // The ends of copies, from `first` on and before `last`.
    let first = tail.max(end.saturating_sub(tail));
    let mut last = end.saturating_sub(above);
    let mut probes = PROBES;
    let mut expected = probes.map(|probe| buffer[end - probe]);
    let mut failures = 0;
    let mut compared = 0;
    while last > first {
        let block = first.max(last.saturating_sub(BLOCK));
        if last - block == BLOCK && !has_match(buffer, block, probes, expected) {
            last = block;
            continue;
        }
        let matches =
            |at: &usize| probes.iter().zip(expected).all(|(probe, byte)| buffer[at - probe] == byte);
        let Some(at) = (block..last).rev().find(matches) else {
            last = block;
            continue;
        };
        let equal = common_suffix(&buffer[at - tail..at], suffix);
        if equal == tail {
            return Some(end - at);
        }
        last = at;
        // Copies at other distances must have this byte, too. In a long run it is the first byte that is not of the run.
        probes[failures % probes.len()] = equal + 1;
        expected[failures % probes.len()] = buffer[end - equal - 1];
        failures += 1;
        compared += equal + COMPARISON;
        if compared > MAX_COMPARED * tail {
            let start = memchr::memmem::rfind(&buffer[first - tail..last - 1], suffix)?;
            return Some(end - (first + start));
        }
    }
    None
}

/// Whether one of the ends from `block` on has the expected bytes before it. Compiles to vector code.
fn has_match(buffer: &[u8], block: usize, probes: [usize; 4], expected: [u8; 4]) -> bool {
    let bytes: [&[u8; BLOCK]; 4] = probes.map(|probe| {
        let bytes = &buffer[block - probe..][..BLOCK];
        bytes.try_into().expect("a block of bytes")
    });
    let [first, second, third, fourth] = bytes;
    let mut found = 0;
    for (((first, second), third), fourth) in first.iter().zip(second).zip(third).zip(fourth) {
        let differs =
            (first ^ expected[0]) | (second ^ expected[1]) | (third ^ expected[2]) | (fourth ^ expected[3]);
        found |= u8::from(differs == 0);
    }
    found != 0
}

/// Bytes that are compared at once.
const LANE: usize = 32;

/// The length of the longest common beginning.
pub(super) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let equal = a.chunks_exact(LANE).zip(b.chunks_exact(LANE)).take_while(|(a, b)| a == b).count() * LANE;
    equal + a[equal..].iter().zip(&b[equal..]).take_while(|(a, b)| a == b).count()
}

/// The length of the longest common end.
pub(super) fn common_suffix(a: &[u8], b: &[u8]) -> usize {
    let equal = a.rchunks_exact(LANE).zip(b.rchunks_exact(LANE)).take_while(|(a, b)| a == b).count() * LANE;
    let (a, b) = (&a[..a.len() - equal], &b[..b.len() - equal]);
    equal + a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
}
