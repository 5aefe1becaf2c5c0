//! An answer's server-sent events, as OpenAI's servers send them, to tool calls or to records.

mod naive;
mod tokenline;

use std::convert::Infallible;
use std::iter::Sum;
use std::ops::Add;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use eventsource_stream::EventStream;
use futures_util::{Stream, stream};
use sse_stream::SseByteStream;

use super::{Contender, Group, Run, Unit, whole};
use crate::corpora::Corpus;
use naive::Reader;

/// To native tool calls, arguments parsed.
pub const CALLS: &[Contender] = &[
    Contender { name: "`eventsource-stream` + serde_json", prepare: eventsource_stream::<naive::Calls> },
    Contender { name: "`sse-stream` + serde_json", prepare: sse_stream::<naive::Calls> },
    Contender { name: "tokenline `ResponseParser`", prepare: tokenline::parsed_calls },
    Contender { name: "tokenline `ResponseStream`", prepare: tokenline::streamed_calls },
];

/// To records of a type, out of the answers' text.
pub const RECORDS: &[Contender] = &[
    Contender { name: "`eventsource-stream` + serde_json", prepare: eventsource_stream::<naive::Records> },
    Contender { name: "`sse-stream` + serde_json", prepare: sse_stream::<naive::Records> },
    Contender { name: "tokenline `ResponseParser`", prepare: tokenline::parsed_records },
    Contender { name: "tokenline `ResponseStream`", prepare: tokenline::streamed_records },
];

/// The group over answers of `bytes` bytes that call tools.
#[must_use]
pub fn calls(bytes: usize) -> Group {
    Group {
        name: "sse_calls",
        title: "an answer's events in chunks to native tool calls",
        unit: Unit::NanosecondsPerEvent,
        contenders: CALLS,
        corpora: Corpus::answers_of_calls(bytes),
    }
}

/// The group over answers of `bytes` bytes whose text is records.
#[must_use]
pub fn records(bytes: usize) -> Group {
    Group {
        name: "sse_records",
        title: "an answer's events in chunks to records of a type",
        unit: Unit::NanosecondsPerEvent,
        contenders: RECORDS,
        corpora: Corpus::answers_of_records(bytes),
    }
}

/// What a contender found: how many calls or records, and the bytes of their texts.
#[derive(Clone, Copy, Default)]
struct Found {
    items: usize,
    bytes: usize,
}

impl Found {
    fn one(bytes: usize) -> Self {
        Self { items: 1, bytes }
    }
}

impl Add for Found {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { items: self.items + other.items, bytes: self.bytes + other.bytes }
    }
}

impl Sum for Found {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Add::add)
    }
}

fn eventsource_stream<R: Reader>(corpus: &Corpus) -> Run<'_> {
    answers(corpus, |answer| {
        let mut reader = R::default();
        let events = EventStream::new(source(answer));
        drive(events, |event| reader.read(&event.expect("an event stream").data));
        reader.finish()
    })
}

/// `SseByteStream` is what its documentation prefers for bytes.
fn sse_stream<R: Reader>(corpus: &Corpus) -> Run<'_> {
    answers(corpus, |answer| {
        let mut reader = R::default();
        let events = SseByteStream::new(source(answer));
        drive(events, |event| {
            if let Some(data) = event.expect("an event stream").data {
                reader.read(&data);
            }
        });
        reader.finish()
    })
}

/// A run that times `read` taking in each answer in its chunks.
fn answers<'c>(corpus: &'c Corpus, mut read: impl FnMut(&'c [Bytes]) -> Found + 'c) -> Run<'c> {
    whole(corpus, move || {
        let found: Found = corpus.wire.answers.iter().map(|answer| read(answer)).sum();
        assert_eq!(found.bytes, corpus.wire.found_bytes, "bytes found in {}", corpus.name);
        found.items
    })
}

/// A body whose next chunk is always there. Chunks are lent, because to count references to them
/// takes longer than to read 16 bytes.
fn source(answer: &[Bytes]) -> impl Stream<Item = Result<&[u8], Infallible>> {
    stream::iter(answer.iter().map(|chunk| Ok(&chunk[..])))
}

/// Polls by hand to the end, without a runtime. A stream that yields to other tasks has none here.
fn drive<S: Stream>(stream: S, mut take: impl FnMut(S::Item)) {
    let mut stream = pin!(stream);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        match stream.as_mut().poll_next(&mut context) {
            Poll::Ready(Some(item)) => take(item),
            Poll::Ready(None) => return,
            Poll::Pending => {}
        }
    }
}
