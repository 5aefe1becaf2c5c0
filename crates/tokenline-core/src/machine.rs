//! The sans-IO machine that streams and codecs wrap.

use crate::Rejected;
use crate::adapter::CountAs;
use crate::adapter::Tally;

/// A sans-IO machine under a stream: chunks in, events out.
///
/// For authors of stream adapters. [`Driver`](crate::adapter::Driver) is the machine for records or calls in text,
/// [`TextParser`](crate::TextParser) the one for everything in a text, `ResponseParser` in `tokenline-llm` the one for the
/// wire formats of providers. The loop around them is the same: call [`step`](Self::step) until it asks for input, then read the next chunk, or call
/// [`finish`](Self::finish) at the end of the source; stop at [`StreamStep::Done`].
pub trait StreamMachine {
    /// The events of the machine.
    type Event;

    /// The fixed cost of a chunk, in bytes: how much of the work budget of one poll a short chunk that yields
    /// nothing uses up in addition to its bytes.
    const CHUNK_COST: usize = 512;

    /// Reads on in `input`. Returns how many of its bytes it consumed, and what to do next. Call it with the
    /// rest of the input until it returns [`StreamStep::NeedInput`], which consumes all.
    ///
    /// Never fails: invalid input becomes an event. Input after the [end](Self::finish) is ignored.
    fn step(&mut self, input: &[u8]) -> (usize, StreamStep<Self::Event>);

    /// Ends the input. The last events come from [`step`](Self::step), then [`StreamStep::Done`].
    fn finish(&mut self, end: SourceEnd);

    /// Takes the replacement asked for by [`StreamStep::Repair`]. With `None` the reject stands.
    fn resume(&mut self, replacement: Option<String>) {
        _ = replacement;
    }

    /// The count that an event belongs to. The tally already includes each event returned by [`step`](Self::step).
    fn count_as<'a>(&self, event: &'a Self::Event) -> CountAs<'a>;

    /// The counts so far, and whether they end the stream early.
    fn tally(&self) -> &Tally;

    /// Whether [`step`](Self::step) has nothing left but [`StreamStep::Done`].
    fn is_done(&self) -> bool;

    /// Whether the input contained its own end. If so, a source that fails after it loses no data.
    fn is_terminated(&self) -> bool {
        false
    }

    /// Whether no more events can follow, so that a source that keeps its connection open need not be
    /// awaited.
    fn expects_nothing(&self) -> bool {
        false
    }
}

/// The next step with a [`StreamMachine`](crate::adapter::StreamMachine).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamStep<E> {
    /// Pass the next chunk, or [finish](StreamMachine::finish).
    NeedInput,
    /// Take this event, and go on with the rest of the input.
    Event(E),
    /// Find a replacement for what was rejected, [resume](StreamMachine::resume) with it, and go on with the
    /// rest of the input. Only if the [rules](crate::adapter::Rules::set_repair_steps) ask for it.
    // Boxed to keep events cheap to return.
    Repair(Box<Rejected>),
    /// Nothing follows. Also returned before the end of the source if the [`Tally`](crate::adapter::Tally)
    /// ends the stream.
    Done,
}

/// How a source ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceEnd {
    /// It reached its end.
    Clean,
    /// It failed or was closed: its last bytes may be truncated.
    Failed,
}
