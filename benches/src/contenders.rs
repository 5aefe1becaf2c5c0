//! Tokenline and its peers, one module a group. The criterion benches and the table run the same
//! contenders over the same bytes.
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

/// Size of the corpora that whole passes are made over, in bytes.
pub const CORPUS_BYTES: usize = 4_000_000;

/// Size of a chunk as a fast transport cuts it, in bytes.
pub const CHUNK_BYTES: usize = 64 * 1024;

/// Size of a chunk that holds one token of a model, in bytes.
pub const TOKEN_BYTES: usize = 4;

/// One way of doing what a group measures.
#[derive(Clone, Copy)]
pub struct Contender {
    /// The name in tables and benchmark ids.
    pub name: &'static str,
    /// Sets up, untimed, for a corpus; what it returns can be run any number of times.
    pub prepare: for<'c> fn(&'c Corpus) -> Run<'c>,
}

/// Does the work once and answers how long its measured part took.
///
/// # Panics
///
/// If the work comes to another count of records than the corpus has: a contender that skips
/// some is not one.
pub type Run<'c> = Box<dyn FnMut() -> Duration + 'c>;

/// Contenders that are compared with each other, and the corpora they are compared on.
pub struct Group {
    /// The name in tables and benchmark ids.
    pub name: &'static str,
    /// What is measured, in a few words.
    pub title: &'static str,
    /// How a time is told in the table.
    pub unit: Unit,
    /// The first is the one that the others are compared with.
    pub contenders: &'static [Contender],
    /// What each of them reads.
    pub corpora: Vec<Corpus>,
}

/// How the time of a run is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Millions of corpus bytes in a second.
    MegabytesPerSecond,
    /// Nanoseconds for each chunk of [`TOKEN_BYTES`].
    NanosecondsPerToken,
    /// Nanoseconds for each server-sent event.
    NanosecondsPerEvent,
    /// Microseconds for the run.
    Microseconds,
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
        continuation::whole(),
        continuation::appended_group(),
        sse::calls(bytes),
        sse::records(bytes),
        chat_analysis::group(),
    ]
}

/// A push machine: chunks in, validated records out.
pub trait Receiver {
    /// Takes in the next chunk, `range` of `stream`, and answers how many validated records it
    /// completed.
    ///
    /// The place is given rather than the bytes so that who takes `&[u8]` and who takes [`Bytes`]
    /// both get theirs without a copy.
    fn receive(&mut self, stream: &Bytes, range: Range<usize>) -> usize;
}

/// A run that times the whole of `pass`, which answers how many records it found.
pub fn whole<'c>(corpus: &'c Corpus, mut pass: impl FnMut() -> usize + 'c) -> Run<'c> {
    Box::new(move || {
        let start = Instant::now();
        let records = pass();
        let time = start.elapsed();
        assert_eq!(records, corpus.records, "records of {}", corpus.name);
        time
    })
}

/// A run that times `receiver` taking in the corpus in chunks of `size` bytes.
pub fn in_chunks<'c>(corpus: &'c Corpus, size: usize, mut receiver: impl Receiver + 'c) -> Run<'c> {
    whole(corpus, move || {
        chunks(0..corpus.bytes.len(), size).map(|chunk| receiver.receive(&corpus.bytes, chunk)).sum()
    })
}

/// A run that times what `receiver` does with the last [`TOKEN_BYTES`] of a corpus of one record;
/// what came before them is taken in untimed, in chunks of the same size.
///
/// Short records are measured several times in a run, which answers the median.
pub fn last_chunk<'c>(corpus: &'c Corpus, mut receiver: impl Receiver + 'c) -> Run<'c> {
    let length = corpus.bytes.len();
    let head = length - TOKEN_BYTES;
    let repeats = (CHUNK_BYTES / length).max(1);
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
