//! The server-sent events of a response, as OpenAI's servers send them, to tool calls or records.

mod naive;
pub mod sockets;
mod tokenline;
pub mod turns;

use std::convert::Infallible;
use std::iter::Sum;
use std::ops::Add;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use eventsource_stream::EventStream;
use futures_util::{Stream, stream};
use sse_stream::SseByteStream;

use super::{Contender, Group, Run, Unit, timed_pass};
use crate::corpora::Corpus;
use naive::Reader;

/// To native tool calls with parsed arguments.
pub const CALLS: &[Contender] = &[
    Contender { name: "`eventsource-stream` + serde_json", prepare: eventsource_stream::<naive::Calls> },
    Contender { name: "`sse-stream` + serde_json", prepare: sse_stream::<naive::Calls> },
    Contender { name: "tokenline `ResponseParser`", prepare: tokenline::pushed },
    Contender { name: "tokenline `ResponseStream`", prepare: tokenline::streamed_calls },
];

/// To typed records in the text of responses.
pub const RECORDS: &[Contender] = &[
    Contender { name: "`eventsource-stream` + serde_json", prepare: eventsource_stream::<naive::Records> },
    Contender { name: "`sse-stream` + serde_json", prepare: sse_stream::<naive::Records> },
    Contender { name: "tokenline `ResponseParser`", prepare: tokenline::pushed },
    Contender { name: "tokenline `ResponseStream`", prepare: tokenline::streamed_records },
];

/// The group over responses of `bytes` bytes that call tools.
#[must_use]
pub fn calls(bytes: usize) -> Group {
    Group {
        name: "sse_calls",
        title: "the events of responses, in chunks, to native tool calls",
        unit: Unit::NanosecondsPerEvent,
        contenders: CALLS,
        corpora: Corpus::responses_with_calls(bytes),
    }
}

/// The group over responses of `bytes` bytes whose text is records.
#[must_use]
pub fn records(bytes: usize) -> Group {
    Group {
        name: "sse_records",
        title: "the events of responses, in chunks, to typed records",
        unit: Unit::NanosecondsPerEvent,
        contenders: RECORDS,
        corpora: Corpus::responses_with_records(bytes),
    }
}

/// The group over a response of `bytes` bytes with records in several choices.
#[must_use]
pub fn choices(bytes: usize) -> Group {
    Group {
        name: "choices",
        title: "the events of a response whose choices take turns, to typed records",
        unit: Unit::NanosecondsPerEvent,
        contenders: RECORDS,
        corpora: Corpus::choices_in_turn(bytes),
    }
}

/// The number of calls or records that a contender extracted, and the bytes of their strings.
#[derive(Clone, Copy, Default)]
struct Extracted {
    items: usize,
    bytes: usize,
}

impl Extracted {
    fn one(bytes: usize) -> Self {
        Self { items: 1, bytes }
    }
}

impl Add for Extracted {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { items: self.items + other.items, bytes: self.bytes + other.bytes }
    }
}

impl Sum for Extracted {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Add::add)
    }
}

fn eventsource_stream<R: Reader>(corpus: &Corpus) -> Run<'_> {
    responses(corpus, |response| {
        let mut reader = R::default();
        let events = EventStream::new(source(response));
        drive(events, |event| reader.read(&event.expect("an event stream").data));
        reader.finish()
    })
}

/// The crate's documentation recommends `SseByteStream` for bytes.
fn sse_stream<R: Reader>(corpus: &Corpus) -> Run<'_> {
    responses(corpus, |response| {
        let mut reader = R::default();
        let events = SseByteStream::new(source(response));
        drive(events, |event| {
            if let Some(data) = event.expect("an event stream").data {
                reader.read(&data);
            }
        });
        reader.finish()
    })
}

/// A run that times `read` on the chunks of each response.
fn responses<'c>(corpus: &'c Corpus, mut read: impl FnMut(&'c [Bytes]) -> Extracted + 'c) -> Run<'c> {
    timed_pass(corpus, move || {
        let extracted: Extracted = corpus.wire.responses.iter().map(|response| read(response)).sum();
        assert_eq!(extracted.bytes, corpus.wire.item_bytes, "bytes extracted in {}", corpus.name);
        extracted.items
    })
}

/// A body whose next chunk is always ready. Chunks are borrowed, because counting references takes longer than reading
/// 16 bytes.
fn source(response: &[Bytes]) -> impl Stream<Item = Result<&[u8], Infallible>> {
    stream::iter(response.iter().map(|chunk| Ok(&chunk[..])))
}

/// Polls to the end without a runtime. There are no other tasks to yield to.
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
