//! Implements the stream adapter's machine for the parser.

use serde::de::DeserializeOwned;
use tokenline_core::adapter::{CountAs, SourceEnd, StreamMachine, StreamStep, Tally};

use super::ResponseParser;
use crate::response::ResponseEvent;

impl<T: DeserializeOwned> ResponseParser<T> {
    /// The next event, or the question before it.
    fn next_step(&mut self) -> Option<StreamStep<ResponseEvent<T>>> {
        match self.next_event() {
            Some(event) => Some(StreamStep::Event(event)),
            None => self.state.out.question().map(StreamStep::Repair),
        }
    }
}

impl<T: DeserializeOwned> StreamMachine for ResponseParser<T> {
    type Event = ResponseEvent<T>;

    // One wire event with its JSON costs as much as 8 KiB of records.
    const CHUNK_COST: usize = 8 * 1024;

    fn step(&mut self, input: &[u8]) -> (usize, StreamStep<ResponseEvent<T>>) {
        if self.state.out.is_asking() {
            self.resume(None);
        }
        if let Some(step) = self.next_step() {
            return (0, step);
        }
        if self.ending.is_some() {
            return (input.len(), StreamStep::Done);
        }
        self.push(input);
        (input.len(), self.next_step().unwrap_or(StreamStep::NeedInput))
    }

    fn resume(&mut self, replacement: Option<String>) {
        self.state.answer(replacement);
    }

    fn finish(&mut self, end: SourceEnd) {
        self.end(end);
    }

    fn count_as<'a>(&self, event: &'a ResponseEvent<T>) -> CountAs<'a> {
        event.count_as()
    }

    fn tally(&self) -> &Tally {
        &self.tally
    }

    fn is_done(&self) -> bool {
        self.ending.is_some() && !self.has_events()
    }

    fn is_terminated(&self) -> bool {
        self.state.is_terminated && self.is_complete()
    }

    // A proxy may start an Anthropic message or a Responses response over after its last event.
    fn expects_nothing(&self) -> bool {
        self.is_terminated() && self.provider.info().stream_end.is_final
    }
}
