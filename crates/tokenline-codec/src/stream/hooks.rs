//! What ends a stream before its source does, and what gives its rejects a second chance.

use std::fmt;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use tokenline_core::json::Value;
use tokenline_core::{
    Completion, Diagnostic, Event, LentEvent, Limits, Quota, Record, RecordDecoder, Rejected, Undecided,
};

use crate::reader::{End, Reader};

/// What a stream was given beside its rules. Boxed, and only there if there is any.
#[derive(Debug)]
pub(super) struct Hooks {
    pub(super) quota: Quota,
    repair: Option<Repair>,
    limits: Limits,
}

/// What became of an event of the decoder's.
pub(super) enum Fate<T> {
    /// It is yielded.
    Event(Event<T>),
    /// It was rejected, and the repair hook may be asked about the bytes of it.
    Lost(Diagnostic),
    /// The repair hook was asked.
    Asked,
    /// There is nothing in it.
    Nothing,
}

impl<T> Fate<T> {
    pub(super) fn new(event: Option<Event<T>>) -> Self {
        event.map_or(Self::Nothing, Self::Event)
    }
}

impl Hooks {
    pub(super) fn new(limits: Limits) -> Self {
        Self { quota: Quota::default(), repair: None, limits }
    }

    pub(super) fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
        if let Some(repair) = &mut self.repair {
            repair.undecided = Undecided::new(&limits);
        }
    }

    pub(super) fn set_repair(&mut self, ask: impl FnMut(Rejected) -> Answer + Send + Sync + 'static) {
        let undecided = Undecided::new(&self.limits);
        self.repair = Some(Repair { ask: Box::new(ask), undecided, asked: None });
    }

    /// What is to be yielded in place of what the repair hook was asked about, if it was.
    pub(super) fn poll_repaired<T>(
        &mut self,
        cx: &mut Context<'_>,
        reader: &mut Reader<T>,
    ) -> Poll<Option<Event<T>>> {
        let Some(repair) = &mut self.repair else { return Poll::Ready(None) };
        let Some(asked) = &mut repair.asked else { return Poll::Ready(None) };
        let replacement = match &mut asked.answer {
            Answer::Now(replacement) => replacement.take(),
            Answer::Later(future) => {
                let future = future.get_mut().unwrap_or_else(PoisonError::into_inner);
                ready!(future.as_mut().poll(cx))
            }
        };
        let repaired = replacement.and_then(|replacement| {
            // It is whole by itself, however the source ended.
            let read = |record: &Record<Value<'_>>| reader.read_record(record, End::Clean);
            asked.place.repaired(&replacement, &self.limits, read)??.ok()
        });
        let asked = repair.asked.take();
        Poll::Ready(asked.map(|asked| match repaired {
            Some(record) => Event::Record(record),
            None => Event::from_diagnostic(asked.diagnostic),
        }))
    }

    /// The event as it is yielded, unless it is one for the repair hook.
    pub(super) fn read<T>(&mut self, reader: &mut Reader<T>, event: LentEvent<'_>, end: End) -> Fate<T> {
        let Some(repair) = &mut self.repair else { return Fate::new(reader.read(event, end)) };
        match event {
            Event::Record(record) => {
                repair.undecided.release(record.span);
                match reader.read_record(&record, end) {
                    None => Fate::Nothing,
                    Some(Ok(record)) => Fate::Event(Event::Record(record)),
                    Some(Err(diagnostic)) if diagnostic.code.is_repairable() && reader.is_single() => {
                        let rejected = Rejected::new(record.value.raw(), (*diagnostic).clone());
                        repair.ask(rejected, *diagnostic, record.map(|_| ()));
                        Fate::Asked
                    }
                    Some(Err(diagnostic)) => Fate::Event(Event::from_diagnostic(*diagnostic)),
                }
            }
            Event::Rejected(diagnostic) => Fate::Lost(diagnostic),
            other => Fate::new(reader.read(other, end)),
        }
    }

    /// Asks the repair hook about what the decoder rejected; `input` is the piece that is being
    /// decoded, `start` the offset of its first byte. The event that is yielded if it is not asked.
    pub(super) fn lose<T>(
        &mut self,
        diagnostic: Diagnostic,
        completion: Completion,
        input: &[u8],
        start: u64,
    ) -> Option<Event<T>> {
        if let Some(repair) = &mut self.repair
            && let Some((rejected, place)) = repair.undecided.rejected(&diagnostic, completion, input, start)
        {
            repair.ask(rejected, diagnostic, place);
            return None;
        }
        Some(Event::Rejected(diagnostic))
    }

    /// Says that the decoder is done with a piece.
    pub(super) fn keep(&mut self, decoder: &RecordDecoder, input: &[u8]) {
        if let Some(repair) = &mut self.repair {
            repair.undecided.keep(decoder, input);
        }
    }
}

/// A repair hook.
struct Repair {
    ask: Box<dyn FnMut(Rejected) -> Answer + Send + Sync>,
    undecided: Undecided,
    asked: Option<Asked>,
}

/// What a repair hook was asked about, and its answer.
struct Asked {
    diagnostic: Diagnostic,
    place: Record<()>,
    answer: Answer,
}

/// The replacement that a repair hook gives, if it does.
pub(super) enum Answer {
    Now(Option<String>),
    /// In a mutex that is never locked: few futures can be shared between threads, and a stream that
    /// has one, or may, is to be lent across an `await` all the same.
    Later(Mutex<Pin<Box<dyn Future<Output = Option<String>> + Send>>>),
}

impl Repair {
    fn ask(&mut self, rejected: Rejected, diagnostic: Diagnostic, place: Record<()>) {
        let answer = (self.ask)(rejected);
        self.asked = Some(Asked { diagnostic, place, answer });
    }
}

impl fmt::Debug for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Repair").field("is_asked", &self.asked.is_some()).finish_non_exhaustive()
    }
}
