//! Many responses at the same time: an event of each in turn, so that what a response holds leaves the caches between two
//! of its events. As from a socket, each event is copied to the same buffer, here with an id of its response.

use std::time::{Duration, Instant};

use bytes::Bytes;
use memchr::memmem;
use tokenline::Options;
use tokenline::llm::ResponseParser;
use tokenline::llm::providers::EventShapes;

use super::naive::{Calls, Definition, Reader, Records};
use super::tokenline::{extracted, parser};
use super::{Contender, Extracted, Group, Run, Unit};
use crate::corpora::Corpus;

/// To typed records in the text of responses.
pub const RECORDS: &[Contender] = &[
    Contender { name: "lines + serde_json", prepare: |corpus| in_turn(corpus, Naive::<Records>::default) },
    Contender { name: "tokenline `ResponseParser`", prepare: |corpus| in_turn(corpus, parsed(false)) },
    Contender { name: "tokenline `ResponseParser`, deltas", prepare: |corpus| in_turn(corpus, parsed(true)) },
];

/// To native tool calls with parsed arguments.
pub const CALLS: &[Contender] = &[
    Contender { name: "lines + serde_json", prepare: |corpus| in_turn(corpus, Naive::<Calls>::default) },
    Contender { name: "tokenline `ResponseParser`", prepare: |corpus| in_turn(corpus, parsed(false)) },
];

/// The group over responses whose text is records, of `bytes` bytes in all.
#[must_use]
pub fn records(bytes: usize) -> Group {
    Group {
        name: "streams_records",
        title: "the events of this number of responses in turn, to typed records",
        unit: Unit::NanosecondsPerEvent,
        contenders: RECORDS,
        corpora: Corpus::records_in_turn(bytes),
    }
}

/// The group over responses that call tools, of `bytes` bytes in all.
#[must_use]
pub fn calls(bytes: usize) -> Group {
    Group {
        name: "streams_calls",
        title: "the events of this number of responses in turn, to native tool calls",
        unit: Unit::NanosecondsPerEvent,
        contenders: CALLS,
        corpora: Corpus::calls_in_turn(bytes),
    }
}

/// Reads a response, an event at a time.
trait Receiver {
    fn receive(&mut self, event: &[u8]);

    fn finish(self) -> Extracted;
}

/// The least that framing can cost: a chunk is an event.
#[derive(Default)]
struct Naive<R>(R);

impl<R: Reader> Receiver for Naive<R> {
    fn receive(&mut self, event: &[u8]) {
        for line in str::from_utf8(event).expect("UTF-8").lines() {
            if let Some(data) = line.strip_prefix("data: ") {
                self.0.read(data);
            }
        }
    }

    fn finish(self) -> Extracted {
        self.0.finish()
    }
}

struct Parsed {
    parser: ResponseParser<Definition>,
    extracted: Extracted,
}

/// Opens parsers that share the common parts of events, as those of a client do.
fn parsed(shows_deltas: bool) -> impl Fn() -> Parsed {
    let shapes = EventShapes::default();
    move || {
        let parser = parser(Options::lenient().partials(shows_deltas)).with_shapes(&shapes);
        Parsed { parser, extracted: Extracted::default() }
    }
}

impl Receiver for Parsed {
    fn receive(&mut self, event: &[u8]) {
        self.parser.push(event);
        while let Some(event) = self.parser.next_event() {
            self.extracted = self.extracted + extracted(event);
        }
    }

    fn finish(mut self) -> Extracted {
        self.parser.finish();
        assert!(self.parser.next_event().is_none() && self.parser.is_complete(), "a complete response");
        self.extracted
    }
}

/// A run that times the events of the corpus's response in all streams. Creating and ending the receivers is not timed.
fn in_turn<'c, R: Receiver>(corpus: &'c Corpus, open: impl Fn() -> R + 'c) -> Run<'c> {
    let [response] = &corpus.wire.responses[..] else { panic!("one response for all streams") };
    let events: Vec<_> = response.iter().cloned().map(Template::new).collect();
    let passes = corpus.wire.events / (corpus.wire.streams * events.len());
    Box::new(move || {
        let mut time = Duration::ZERO;
        let mut all = Extracted::default();
        let mut buffer = Vec::new();
        for _ in 0..passes {
            let mut receivers: Vec<_> = (0..corpus.wire.streams).map(|_| open()).collect();
            let start = Instant::now();
            for event in &events {
                for (stream, receiver) in receivers.iter_mut().enumerate() {
                    receiver.receive(event.of(stream, &mut buffer));
                }
            }
            time += start.elapsed();
            all = receivers.into_iter().map(R::finish).fold(all, |all, one| all + one);
        }
        assert_eq!((all.items, all.bytes), (corpus.records, corpus.wire.item_bytes), "extracted in turn");
        time
    })
}

/// An event, and where its response's id has a number, if it has one.
pub(super) struct Template {
    event: Bytes,
    number: Option<usize>,
}

impl Template {
    pub(super) fn new(event: Bytes) -> Self {
        let id = b"\"id\":\"chatcmpl-";
        Self { number: memmem::find(&event, id).map(|at| at + id.len()), event }
    }

    /// The event in a response with this number.
    pub(super) fn of<'b>(&self, response: usize, buffer: &'b mut Vec<u8>) -> &'b [u8] {
        buffer.clear();
        buffer.extend_from_slice(&self.event);
        if let Some(at) = self.number {
            for (digit, byte) in buffer[at..at + 8].iter_mut().enumerate() {
                *byte = b'a' + ((response >> (4 * digit)) & 15) as u8;
            }
        }
        buffer
    }
}
