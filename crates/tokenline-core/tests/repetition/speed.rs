//! The work for a byte is bounded, also for texts made to be slow.
#![allow(clippy::disallowed_types, reason = "a measurement")]

use std::hint::black_box;
use std::time::Instant;

use tokenline_core::adapter::RepetitionDetector;
use tokenline_core::{Repeated, RepetitionLimit, RepetitionLimits};

use crate::random::Random;

/// Nanoseconds for a byte, the best of some runs. No limit is reached.
fn nanoseconds(text: &[u8], chunk: usize) -> f64 {
    let never = RepetitionLimit::new(4, u64::MAX);
    let limits = RepetitionLimits {
        text: never,
        rows: never,
        without_words: never,
        white_space: never,
        ..RepetitionLimits::DEFAULT
    };
    let runs = (0..3).map(|_| {
        let mut detector = RepetitionDetector::new(Repeated::Text, &limits);
        let start = Instant::now();
        for chunk in text.chunks(chunk) {
            assert!(black_box(&mut detector).push(chunk).is_none());
        }
        start.elapsed().as_nanos() as f64 / text.len() as f64
    });
    runs.fold(f64::INFINITY, f64::min)
}

/// Texts with many copies of their end nearby.
fn hostile(len: usize) -> Vec<(String, Vec<u8>)> {
    let random = &mut Random::new(7);
    let cycle = |period: &[u8]| period.iter().copied().cycle().take(len).collect::<Vec<u8>>();
    let mut texts = vec![("one byte".to_owned(), cycle(b"a")), ("two bytes".to_owned(), cycle(b"ab"))];
    // A different byte each so often: no run is long enough, or a long one ends.
    for every in [28, 60, 127, 130, 250, 500, 1000, 3000, 8000] {
        let mut text = cycle(b"a");
        text.iter_mut().step_by(every).for_each(|byte| *byte = b'b');
        texts.push((format!("one byte, another each {every}"), text.clone()));
        text.iter_mut().step_by(every).for_each(|byte| *byte = b'b' + random.below(20) as u8);
        texts.push((format!("one byte, a random one each {every}"), text));
        let mut text = cycle(b"a");
        let mut at = 0;
        while at < len {
            text[at] = b'b';
            at += every / 2 + random.below(every);
        }
        texts.push((format!("one byte, another about each {every}"), text));
    }
    // Periods of periods of periods.
    let mut nested = b"ab".to_vec();
    while nested.len() < 8000 {
        nested = [nested.repeat(3), b"c".to_vec()].concat();
    }
    texts.push(("nested".to_owned(), cycle(&nested)));
    // Fibonacci's word: squares end everywhere.
    let (mut short, mut long) = (b"a".to_vec(), b"ab".to_vec());
    while long.len() < len {
        let next = [long.clone(), short].concat();
        (short, long) = (long, next);
    }
    long.truncate(len);
    texts.push(("Fibonacci".to_owned(), long));
    texts.push(("two random bytes".to_owned(), (0..len).map(|_| b'a' + random.below(2) as u8).collect()));
    texts
}

/// With a search that reads all of its window for each copy, these take hundreds of times as long.
#[test]
fn hostile_texts_take_linear_time() {
    for (name, text) in hostile(1 << 18) {
        let time = nanoseconds(&text, 4096);
        assert!(time < 2_000.0, "{name}: {time} ns a byte");
    }
}

#[test]
#[ignore = "a measurement: cargo test --release -p tokenline-core --test repetition -- --ignored --nocapture speed"]
fn measure() {
    let source = include_str!("../../src/driver.rs").repeat(40);
    let mut number = 0;
    let rows: String = std::iter::repeat_with(|| {
        number += 1;
        format!(
            "{{\"id\": {number}, \"entity\": \"DNA {}\", \"definition\": \"a molecule\"}}\n",
            number * 7919 % 1000
        )
    })
    .take(12_000)
    .collect();
    let random = &mut Random::new(3);
    let base64: Vec<u8> = (0..1 << 20)
        .map(|_| *random.pick(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"))
        .collect();
    let words: Vec<&str> = include_str!("../../../../docs/words.md").split(' ').collect();
    let prose: String = (0..150_000).flat_map(|_| [*random.pick(&words), " "]).collect();
    let ordinary = [
        ("prose", prose.as_bytes()),
        ("source code", source.as_bytes()),
        ("rows of one shape", rows.as_bytes()),
        ("base64", &base64),
    ];
    for (name, text) in ordinary {
        for chunk in [4, 64, 65_536] {
            println!(
                "{:7.2} ns a byte, chunks of {chunk}: {name}, {} bytes",
                nanoseconds(text, chunk),
                text.len()
            );
        }
    }
    for (name, text) in hostile(1 << 20) {
        println!("{:7.2} ns a byte: {name}", nanoseconds(&text, 4096));
    }
}
