//! What streams and codecs are thin around.

use crate::adapter::Tally;
use crate::{Diagnostic, Recovered, Rejected};

/// A machine without I/O under a stream: chunks in, events out.
///
/// For authors of stream adapters. [`Driver`](crate::adapter::Driver) is one for text, `ResponseParser` in
/// `tokenline-llm` one for the wire formats of providers. The loop around it is the same for both:
/// call [`step`](Self::step) until it asks for input, then read the next chunk, or call
/// [`finish`](Self::finish) at the end of the source; stop at [`StreamStep::Done`].
pub trait StreamMachine {
    /// What the machine yields.
    type Event;

    /// What a chunk costs beside its bytes, counted in bytes: how much of the time that one poll may
    /// take a chunk uses up that is short and yields nothing.
    const CHUNK_COST: usize = 512;

    /// Reads on in `input`. Returns how many of its bytes are done with, and what to do next. Call it
    /// with the rest of the input until it returns [`StreamStep::NeedInput`], which consumes all.
    ///
    /// Never fails: what is wrong with the input is an event. What is passed behind the
    /// [end](Self::finish) is ignored.
    fn step(&mut self, input: &[u8]) -> (usize, StreamStep<Self::Event>);

    /// Ends the input. The last events come from [`step`](Self::step), then [`StreamStep::Done`].
    fn finish(&mut self, end: SourceEnd);

    /// Takes the answer to [`StreamStep::Repair`]. Without one the reject stands.
    fn resume(&mut self, replacement: Option<String>) {
        _ = replacement;
    }

    /// What an event counts as. Each event of [`step`](Self::step) is in the tally already.
    fn count_as<'a>(&self, event: &'a Self::Event) -> CountAs<'a>;

    /// The counts so far, and whether they end the stream early.
    fn tally(&self) -> &Tally;

    /// Whether [`step`](Self::step) has nothing left but [`StreamStep::Done`].
    fn is_done(&self) -> bool;

    /// Whether the input contained its own end. Then a source that fails behind it takes nothing away.
    fn is_terminated(&self) -> bool {
        false
    }

    /// Whether nothing can follow, so that a source that keeps its connection open is not waited for.
    fn expects_nothing(&self) -> bool {
        false
    }
}

/// What to do next with a [`StreamMachine`](crate::adapter::StreamMachine).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamStep<E> {
    /// Pass the next chunk, or [finish](StreamMachine::finish).
    NeedInput,
    /// Take this event, and go on with the rest of the input.
    Event(E),
    /// Find a replacement for what was rejected, [resume](StreamMachine::resume) with it, and go on with
    /// the rest of the input. Only if the machine was told to ask:
    /// [`Driver::with_repair_steps`](crate::adapter::Driver::with_repair_steps).
    // Boxed to keep events cheap to return.
    Repair(Box<Rejected>),
    /// Nothing follows. Also returned before the source has ended, if the [`Tally`](crate::adapter::Tally) says so.
    Done,
}

/// How a source ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceEnd {
    /// By itself.
    Clean,
    /// It failed, or was closed: what came last may be cut.
    Failed,
}

/// What an event counts as, in a [`Tally`](crate::adapter::Tally) and in metrics.
#[derive(Clone, Copy, Debug)]
pub enum CountAs<'a> {
    /// A delivered record, and what was recovered or repaired for it.
    Record(Recovered),
    /// A delivered tool call, and what was recovered or repaired for it.
    ToolCall(Recovered),
    /// A reject or a note.
    Diagnostic(&'a Diagnostic),
    /// Tokens used so far: read, written, and of those read the ones from a cache.
    Usage([Option<u64>; 3]),
    /// Why the model ended: `stop`.
    Finish(&'a str),
    /// None of these: a piece of text.
    Other,
}
