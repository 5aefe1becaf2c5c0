//! Lines to parsed JSON, nothing validated.

mod simdjson;

use std::hint::black_box;

use serde::de::{DeserializeOwned, IgnoredAny};
use simd_json::{Buffers, INPUT_PADDING, Tape};

use super::{Contender, Group, Run, Unit, timed_pass, tokenline};
use crate::corpora::Corpus;

/// The peers parse complete lines, found by memchr. Their names say what they build.
pub const CONTENDERS: &[Contender] = &[
    Contender { name: "serde_json `Value`", prepare: serde_json::<serde_json::Value> },
    Contender { name: "serde_json `IgnoredAny`", prepare: serde_json::<IgnoredAny> },
    Contender { name: "sonic-rs `Value`", prepare: sonic_rs },
    Contender { name: "simd-json tape, reused, with its copy", prepare: simd_json },
    Contender { name: "tokenline tape", prepare: tokenline::tape },
    Contender { name: "tokenline tape, everything converted", prepare: tokenline::converted },
    Contender { name: "tokenline records, 64 KiB chunks, framing included", prepare: tokenline::records },
    Contender { name: SIMDJSON, prepare: simdjson::parse_many },
];

const SIMDJSON: &str = "simdjson `parse_many`, DOM (C++)";

/// The group over corpora of `bytes` bytes.
#[must_use]
pub fn group(bytes: usize) -> Group {
    Group {
        name: "parse",
        title: "lines to parsed JSON, nothing validated",
        unit: Unit::MegabytesPerSecond,
        contenders: if simdjson::is_built() { CONTENDERS } else { without_simdjson() },
        corpora: Corpus::all(bytes),
    }
}

/// It is the last.
fn without_simdjson() -> &'static [Contender] {
    let (last, others) = CONTENDERS.split_last().expect("contenders");
    assert_eq!(last.name, SIMDJSON);
    others
}

/// `T` is `Value`, or `IgnoredAny`, which checks everything and builds nothing. UTF-8 is checked per line, which is faster
/// than per string, as `from_slice` does.
fn serde_json<T: DeserializeOwned>(corpus: &Corpus) -> Run<'_> {
    timed_pass(corpus, || {
        lines(&corpus.bytes)
            .filter(|line| {
                let line = str::from_utf8(line).expect("lines of UTF-8");
                black_box(serde_json::from_str::<T>(line)).is_ok()
            })
            .count()
    })
}

/// Uses the instructions that the compiler may use; the crate's README recommends `-C target-cpu=native`.
fn sonic_rs(corpus: &Corpus) -> Run<'_> {
    timed_pass(corpus, || {
        lines(&corpus.bytes)
            .filter(|line| black_box(sonic_rs::from_slice::<sonic_rs::Value>(line)).is_ok())
            .count()
    })
}

/// Unescapes in place, so each line is copied first, into a padded buffer, which saves simd-json its own copy. Buffers and
/// tape are reused.
fn simd_json(corpus: &Corpus) -> Run<'_> {
    let mut buffers = Buffers::new(0);
    let mut tape = Tape::null();
    let mut copy = Vec::new();
    timed_pass(corpus, move || {
        lines(&corpus.bytes)
            .filter(|line| {
                copy.clear();
                copy.extend_from_slice(line);
                copy.extend_from_slice(&[0; INPUT_PADDING]);
                let mut filled = std::mem::replace(&mut tape, Tape(Vec::new())).reset();
                let result = simd_json::fill_tape_padded(&mut copy, line.len(), &mut buffers, &mut filled);
                tape = black_box(filled).reset();
                result.is_ok()
            })
            .count()
    })
}

/// The lines of `text`, each without its line feed.
pub(super) fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut start = 0;
    memchr::memchr_iter(b'\n', text).map(move |end| {
        let line = &text[start..end];
        start = end + 1;
        line
    })
}
