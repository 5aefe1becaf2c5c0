//! tokenline and its peers, one module per group. The criterion benches and the table run the same contenders over the
//! same bytes.
//!
//! To add a contender, add one [`Contender`] to the `CONTENDERS` of its group.

mod naive;

pub mod chat_analysis;
pub mod continuation;
pub mod latency;
pub mod parse;
pub mod partials;
pub mod pipeline;
pub mod sse;
pub mod streams;
mod tokenline;
pub mod tokens;

use std::ops::Range;
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::corpora::Corpus;

/// The size of the corpora for complete passes, in bytes.
pub const CORPUS_BYTES: usize = 4_000_000;

/// The size of a chunk from a fast transport, in bytes.
pub const CHUNK_BYTES: usize = 64 * 1024;

/// The size of a chunk with one token of a model, in bytes.
pub const TOKEN_BYTES: usize = 4;

/// How many records a latency is at least the median of.
const MIN_RECORDS: usize = 9;

/// One way of doing what a group measures.
#[derive(Clone, Copy)]
pub struct Contender {
    /// The name in tables and benchmark ids.
    pub name: &'static str,
    /// Sets up a run for a corpus, untimed. The run can be repeated.
    pub prepare: for<'c> fn(&'c Corpus) -> Run<'c>,
}

/// Does the work once and returns the time of its measured part.
///
/// # Panics
///
/// If the number of records differs from that of the corpus: a contender must not skip any.
pub type Run<'c> = Box<dyn FnMut() -> Duration + 'c>;

/// Contenders that are compared with each other, and the corpora they are compared on.
pub struct Group {
    /// The name in tables and benchmark ids.
    pub name: &'static str,
    /// A short description of the measurement.
    pub title: &'static str,
    /// The unit of the table.
    pub unit: Unit,
    /// The contenders. The others are compared with the first.
    pub contenders: &'static [Contender],
    /// The corpora that each of them reads.
    pub corpora: Vec<Corpus>,
}

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Millions of corpus bytes per second.
    MegabytesPerSecond,
    /// Nanoseconds per chunk of [`TOKEN_BYTES`].
    NanosecondsPerToken,
    /// Nanoseconds per server-sent event.
    NanosecondsPerEvent,
    /// Microseconds per run.
    Microseconds,
}

impl Unit {
    /// The unit as printed.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Self::MegabytesPerSecond => "MB/s",
            Self::NanosecondsPerToken => "ns per chunk",
            Self::NanosecondsPerEvent => "ns per event",
            Self::Microseconds => "us",
        }
    }
}

/// Every timed group over corpora of `bytes` bytes.
#[must_use]
pub fn groups(bytes: usize) -> Vec<Group> {
    vec![
        parse::group(bytes),
        pipeline::group(bytes),
        tokens::group(bytes),
        latency::group(),
        partials::group(),
        continuation::group(),
        continuation::appended_group(),
        sse::calls(bytes),
        sse::records(bytes),
        sse::choices(bytes),
        sse::turns::records(bytes),
        sse::turns::calls(bytes),
        chat_analysis::group(),
    ]
}

/// A push parser: chunks in, validated records out.
pub trait Receiver {
    /// Parses the next chunk, `range` of `stream`, and returns the number of validated records that it completed.
    ///
    /// A range instead of bytes, so that contenders can take `&[u8]` or [`Bytes`] without a copy.
    fn receive(&mut self, stream: &Bytes, range: Range<usize>) -> usize;
}

/// A run that times `pass`, which returns its number of records.
pub fn timed_pass<'c>(corpus: &'c Corpus, mut pass: impl FnMut() -> usize + 'c) -> Run<'c> {
    Box::new(move || {
        let start = Instant::now();
        let records = pass();
        let time = start.elapsed();
        assert_eq!(records, corpus.records, "records of {}", corpus.name);
        time
    })
}

/// A run that times `receiver` over the corpus in chunks of `size` bytes.
pub fn in_chunks<'c>(corpus: &'c Corpus, size: usize, mut receiver: impl Receiver + 'c) -> Run<'c> {
    timed_pass(corpus, move || {
        chunks(0..corpus.bytes.len(), size).map(|chunk| receiver.receive(&corpus.bytes, chunk)).sum()
    })
}

/// A run that times `receiver` on the last [`TOKEN_BYTES`] of a corpus of one record. The bytes before are received untimed,
/// in chunks of the same size.
///
/// Returns the median of several records.
pub fn last_chunk<'c>(corpus: &'c Corpus, mut receiver: impl Receiver + 'c) -> Run<'c> {
    let length = corpus.bytes.len();
    let head = length - TOKEN_BYTES;
    let repeats = (CHUNK_BYTES / length).max(MIN_RECORDS);
    Box::new(move || {
        let mut times: Vec<Duration> = (0..repeats)
            .map(|_| {
                for chunk in chunks(0..head, TOKEN_BYTES) {
                    let early = receiver.receive(&corpus.bytes, chunk);
                    assert_eq!(early, 0, "a record before its end");
                }
                let start = Instant::now();
                let records = receiver.receive(&corpus.bytes, head..length);
                let time = start.elapsed();
                assert_eq!(records, corpus.records, "records of {}", corpus.name);
                time
            })
            .collect();
        times.sort_unstable();
        times[times.len() / 2]
    })
}

fn chunks(range: Range<usize>, size: usize) -> impl Iterator<Item = Range<usize>> {
    range.clone().step_by(size).map(move |start| start..range.end.min(start + size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_contender_finds_every_record() {
        for group in groups(100_000) {
            for corpus in &group.corpora {
                for contender in group.contenders {
                    let mut run = (contender.prepare)(corpus);
                    run();
                    run();
                }
            }
        }
    }
}
