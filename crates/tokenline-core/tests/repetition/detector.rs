//! The detector reaches the limit at the byte where the definition says it is reached.

use tokenline_core::adapter::RepetitionDetector;
use tokenline_core::{Repeated, Repetition, RepetitionLimit, RepetitionLimits};

use crate::random::Random;

/// The same limit, whatever the content.
fn limits(limit: RepetitionLimit) -> RepetitionLimits {
    RepetitionLimits {
        text: limit,
        rows: limit,
        without_words: limit,
        white_space: limit,
        ..RepetitionLimits::DEFAULT
    }
}

/// The first byte at which the end of the text has a period with enough copies: the end and the start of the run, and the
/// period. By definition, with a counter for each period.
fn first_loop(text: &[u8], copies: usize, bytes: usize) -> Option<(usize, usize, usize)> {
    let max_period = RepetitionDetector::MAX_PERIOD.min(text.len() / copies);
    // For each period, less one, the start of its run.
    let mut starts = vec![0; max_period];
    for (at, byte) in text.iter().enumerate() {
        for (index, start) in starts[..max_period.min(at)].iter_mut().enumerate() {
            let period = index + 1;
            if text[at - period] != *byte {
                *start = at + 1 - period;
            }
        }
        let is_loop = |period: &usize| at + 1 - starts[period - 1] >= bytes.max(copies * period);
        if let Some(period) = (1..=max_period).find(is_loop) {
            return Some((at + 1, starts[period - 1], period));
        }
    }
    None
}

fn found_in(text: &[u8], chunks: impl Iterator<Item = usize>, limit: RepetitionLimit) -> Option<Repetition> {
    let mut detector = RepetitionDetector::new(Repeated::Text, &limits(limit));
    let mut rest = text;
    for len in chunks {
        let (chunk, after) = rest.split_at(len.min(rest.len()));
        rest = after;
        if let Some(found) = detector.push(chunk) {
            assert!(detector.push("x").is_none(), "it is returned once");
            return Some(found);
        }
        if rest.is_empty() {
            break;
        }
    }
    None
}

/// Compares the loop that is found with the definition, and returns whether there is one.
#[track_caller]
fn compare(text: &[u8], random: &mut Random, limit: RepetitionLimit) -> bool {
    let expected = first_loop(text, limit.copies as usize, limit.bytes as usize);
    let largest = *random.pick(&[1, 5, 100, 300, 5000]);
    let mut sizes = Random::new(random.below(1 << 30) as u64);
    for by_chunks in [false, true] {
        let chunks = std::iter::repeat_with(|| if by_chunks { 1 + sizes.below(largest) } else { usize::MAX });
        let found = found_in(text, chunks, limit);
        let seen =
            found.map(|found| (found.span.end as usize, found.span.start as usize, found.period as usize));
        assert_eq!(seen, expected, "chunks of up to {largest}, {}", text.escape_ascii());
        if let Some(found) = found {
            assert_eq!(found.copies, found.span.len() / found.period);
        }
    }
    expected.is_some()
}

fn cases(default: usize) -> usize {
    let set = std::env::var("TOKENLINE_CASES").ok().and_then(|count| count.parse().ok());
    set.unwrap_or(default)
}

fn letters(random: &mut Random, len: usize, letters: usize) -> Vec<u8> {
    (0..len).map(|_| b'a' + random.below(letters) as u8).collect()
}

/// A part of a text: random, or copies of a random period, which may be nested, end within a copy, or have an error.
fn part(random: &mut Random, depth: usize) -> Vec<u8> {
    let alphabet = *random.pick(&[1, 2, 3, 26]);
    let len = *random.pick(&[1, 2, 7, 60, 127, 128, 129, 200, 256, 257, 511, 520, 700]);
    let len = 1 + random.below(len);
    if depth == 0 || random.once_in(3) {
        return letters(random, len, alphabet);
    }
    let parts = 1 + random.below(3);
    let period: Vec<u8> = (0..parts).flat_map(|_| part(random, depth - 1)).collect();
    let copies = *random.pick(&[2, 3, 4, 5, 6, 40, 600]);
    let mut bytes: Vec<u8> = period.iter().copied().cycle().take((period.len() * copies).min(6000)).collect();
    bytes.truncate(bytes.len() - random.below(period.len().min(bytes.len())));
    if random.once_in(3) {
        let at = random.below(bytes.len());
        bytes[at] = b'!';
    }
    bytes
}

#[test]
fn random_parts_are_loops_by_the_definition() {
    let count = cases(150);
    let mut loops = 0;
    for seed in 0..count {
        let random = &mut Random::new(seed as u64);
        let parts = 1 + random.below(3);
        let mut text: Vec<u8> = (0..parts).flat_map(|_| part(random, 2)).collect();
        text.truncate(8000);
        let limit = *random.pick(&[(4, 512), (4, 512), (4, 2000), (9, 700)]);
        loops += usize::from(compare(&text, random, RepetitionLimit::new(limit.0, limit.1)));
    }
    assert!(loops > count / 4 && loops < count / 4 * 3, "{loops} loops of {count}");
}

/// Each length of a period around the ends of the levels, after each prefix of several lengths.
#[test]
fn every_period_is_found_before_its_fifth_copy() {
    let limit = RepetitionLimit::new(4, 512);
    let edges = (0..7).flat_map(|level| (-1..=1).map(move |more| (128_i32 << level) + more));
    let random = &mut Random::new(1);
    for period in edges.chain([1, 2, 3, 50, 100, 170, 171, 764, 1528, 3000, 5000, 6145]) {
        let period = period as usize;
        for _ in 0..8 {
            let prefix = random.below(20_000);
            let copy = letters(random, period, 26);
            let mut text = letters(random, prefix, 26);
            // Prevents a run that begins in the prefix.
            text.push(b'!');
            text.extend(copy.iter().cycle().take(5 * period.max(200)));
            let chunk = 1 + random.below(3000);
            let found = found_in(&text, std::iter::repeat(chunk), limit);
            if period > RepetitionDetector::MAX_PERIOD {
                assert_eq!(found, None);
                continue;
            }
            let found = found.unwrap_or_else(|| panic!("period {period} after {prefix} bytes"));
            assert_eq!((found.period, found.span.start), (period as u64, prefix as u64 + 1));
            assert_eq!(found.span.len(), (4 * period as u64).max(512));
        }
    }
}

#[test]
fn smaller_limits_are_the_smallest() {
    let text = [b"before ".as_slice(), &b"again ".repeat(100)].concat();
    let found = found_in(&text, std::iter::repeat(1), RepetitionLimit::new(1, 1)).expect("a loop");
    assert_eq!(found.span.len(), RepetitionLimit::MIN_BYTES);
}

#[test]
fn a_reset_detector_begins_again() {
    let mut detector = RepetitionLimits::default().detector(Repeated::Reasoning);
    let half = "and again ".repeat(40);
    assert!(detector.push(&half).is_none());
    detector.reset();
    assert!(detector.push(&half).is_none());
    let found = detector.push(&half).expect("a loop");
    assert_eq!((found.span.start, found.span.end, found.period), (0, 512, 10));
    detector.reset();
    assert!(detector.push(&half).is_none());
    assert!(detector.push(&half).is_some());
}

#[test]
fn what_is_between_two_texts_separates_them() {
    let sentence = "And this is the next record:\n";
    let mut detector = RepetitionLimits::default().detector(Repeated::Text);
    for _ in 0..400 {
        assert_eq!(detector.push(sentence), None);
        detector.separate();
    }
    let found = (0..100).find_map(|_| detector.push(sentence)).expect("a loop");
    let start = 400 * sentence.len() as u64;
    assert_eq!((found.span.start, found.span.end, found.period), (start, start + 512, sentence.len() as u64));
}

/// Bytes that matter to the kind of a period, in text that need not be UTF-8.
#[test]
fn any_bytes_are_read() {
    let parts: [&[u8]; 22] = [
        b"\\",
        b"\\u",
        b"\\u4e2d",
        b"\\n",
        b"\"",
        b"\":",
        b"\"}",
        b"|",
        b"\n",
        b"\r\n",
        b" ",
        b"\t",
        b",",
        b"0",
        b"A",
        b"a",
        b"ab",
        b"</",
        "\u{4e2d}".as_bytes(),
        "\u{1f600}".as_bytes(),
        b"\xe4",
        b"\xff",
    ];
    for seed in 0..cases(150) {
        let random = &mut Random::new(seed as u64);
        let period: Vec<u8> = (0..1 + random.below(9)).flat_map(|_| *random.pick(&parts)).copied().collect();
        let before = letters(random, 300, 26);
        let text = [before, period.repeat(64 + 8192 / period.len())].concat();
        for of in [Repeated::Text, Repeated::Reasoning, Repeated::Arguments] {
            let found = crate::find(of, &text).expect("a loop");
            assert!(found.copies >= 4 && found.span.len() >= 512, "{found:?}");
            assert!((period.len() as u64).is_multiple_of(found.period), "{found:?}");
        }
    }
}
