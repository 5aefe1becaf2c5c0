//! Partial records, where they are asked for: what is new of the open record, and a look at it.
//!
//! All of it is beside the decoder's usual way, which it does not make slower.

use super::carry::Carry;
use super::decoder::{Decoded, Plain, RecordDecoder};
use crate::json::{Kind, Value};
use crate::{Completion, Diagnostic, Event, LentEvent, Partial, Record, Span};

/// What is held back so that a record's deltas come one by one, and before the record.
#[derive(Debug, Default)]
pub(super) struct Partials {
    /// The place of the record that may have deltas which were not told: that which waits, or else the
    /// open one.
    due: Option<Partial<()>>,
    /// Where the text is of a whole record that waits until all its deltas are told.
    record: Option<Kept>,
    /// It is given, so that it does not wait any more.
    is_given: bool,
    /// Its text, if it came in the input.
    text: String,
}

#[derive(Clone, Copy, Debug)]
enum Kept {
    Here,
    Carry(Span),
}

/// What comes next, where partials are asked for.
pub(crate) enum Next {
    /// A delta of the record that waits, or else of the open one.
    Partial,
    /// The record that waited.
    Record,
    Diagnostic(Box<Diagnostic>),
}

/// A text larger than this is given back once it is not needed.
const KEEP: usize = 64 * 1024;

impl Partials {
    pub(super) fn clear(&mut self) {
        self.due = None;
        self.record = None;
        self.is_given = false;
        self.text.clear();
        self.text.shrink_to(KEEP);
    }

    fn keep(&mut self, text: &str) -> Kept {
        self.text.push_str(text);
        Kept::Here
    }
}

impl RecordDecoder {
    /// The open record as far as it has come, if there is one, as if it ended here; see
    /// [`json::Parser::snapshot`](crate::json::Parser::snapshot).
    ///
    /// Ask once [`decode`](Self::decode) has no more events; whether
    /// [partials](crate::Options::partials) are asked for does not matter. The record may still be
    /// rejected.
    pub fn snapshot(&mut self) -> Option<Partial<Value<'_>>> {
        let place = match self.partials.as_deref() {
            Some(Partials { is_given: true, .. }) => None,
            Some(Partials { due: Some(place), .. }) => Some(*place),
            _ => self.machine.open_place(),
        }?;
        let Self { machine, carry, partials, .. } = self;
        let text = open_text(partials.as_deref(), carry, place.start)?;
        let value = machine.json_mut().snapshot(text)?;
        // What is no object is no record.
        (value.kind() == Kind::Object).then(|| place.map(|()| value))
    }

    /// Whether partials are asked for.
    pub(crate) fn tells_partials(&self) -> bool {
        self.partials.is_some()
    }

    #[inline(never)]
    pub(super) fn decode_with_partials<'a>(&'a mut self, input: &'a [u8]) -> Decoded<'a> {
        let (consumed, next) = self.step_with_partials(input);
        match next {
            Some(next) => Decoded { consumed, event: Some(self.lend_next(next)) },
            None => Decoded { consumed, event: None },
        }
    }

    #[inline(never)]
    pub(super) fn finish_with_partials(&mut self, completion: Completion) -> Option<LentEvent<'_>> {
        let next = self.finish_step_with_partials(completion)?;
        Some(self.lend_next(next))
    }

    /// As [`step`](Self::step), with partials between the events.
    pub(crate) fn step_with_partials(&mut self, input: &[u8]) -> (usize, Option<Next>) {
        let was_due = self.partials.as_deref().is_some_and(|partials| partials.due.is_some());
        match self.held_back() {
            Some(next) => (0, Some(next)),
            // All was read before.
            None if was_due && input.is_empty() => (0, None),
            None => {
                let (consumed, plain) = self.step(input);
                // Kept before anything is told of it, so that the input is done with.
                (consumed, self.hold_back(plain))
            }
        }
    }

    /// As [`finish_step`](Self::finish_step), with partials between the events.
    pub(crate) fn finish_step_with_partials(&mut self, completion: Completion) -> Option<Next> {
        if let Some(next) = self.held_back() {
            return Some(next);
        }
        let plain = self.finish_step(completion)?;
        self.hold_back(Some(plain))
    }

    /// As [`lend`](Self::lend).
    #[inline]
    pub(crate) fn lend_next(&self, next: Next) -> LentEvent<'_> {
        if let Next::Diagnostic(diagnostic) = next {
            return Event::from_diagnostic(*diagnostic);
        }
        let Some(partials) = self.partials.as_deref() else { unreachable!("they are asked for") };
        match (next, partials) {
            (Next::Partial, Partials { due: Some(Partial { line, column, start, .. }), .. }) => {
                let text = open_text(Some(partials), &self.carry, *start).unwrap_or_default();
                // Made in place: it is hardly more work than its copy.
                let delta = self.machine.json().last_delta(text);
                Event::Partial(Partial { value: delta, line: *line, column: *column, start: *start })
            }
            (_, Partials { record: Some(_), .. }) => {
                let start = self.machine.record().span.start;
                let text = open_text(Some(partials), &self.carry, start).unwrap_or_default();
                Event::Record(self.machine.lend(text))
            }
            _ => unreachable!("a record is told or waits"),
        }
    }

    /// What is to come before anything else is read.
    fn held_back(&mut self) -> Option<Next> {
        let partials = self.partials.as_deref_mut()?;
        if partials.is_given {
            partials.clear();
        }
        let start = partials.due?.start;
        let Self { machine, carry, partials, .. } = self;
        let partials = partials.as_deref_mut()?;
        let json = machine.json_mut();
        if json.is_object()
            && let Some(text) = open_text(Some(partials), carry, start)
            && json.advance_deltas(text)
        {
            return Some(Next::Partial);
        }
        partials.due = None;
        partials.is_given = partials.record.is_some();
        partials.is_given.then_some(Next::Record)
    }

    /// Puts the deltas of a record before it, and those of an open record where there is no event.
    fn hold_back(&mut self, plain: Option<Plain<'_>>) -> Option<Next> {
        let partials = self.partials.as_deref_mut()?;
        match plain {
            Some(Plain::Diagnostic(diagnostic)) => Some(Next::Diagnostic(diagnostic)),
            Some(plain) => {
                partials.clear();
                let record = *self.machine.record();
                partials.record = Some(match plain {
                    Plain::InCarry => Kept::Carry(record.span),
                    Plain::InInput(text) => partials.keep(text),
                    _ => partials.keep(self.machine.call_text()),
                });
                let Record { line, column, span, .. } = record;
                partials.due = Some(Partial { value: (), line, column, start: span.start });
                self.held_back()
            }
            None => {
                partials.due = self.machine.open_place();
                self.held_back()
            }
        }
    }
}

/// The text of the record that waits, or else of the open one, which starts at `start`.
fn open_text<'a>(partials: Option<&'a Partials>, carry: &'a Carry, start: u64) -> Option<&'a str> {
    match partials {
        Some(Partials { record: Some(Kept::Here), text, .. }) => Some(text),
        Some(Partials { record: Some(Kept::Carry(span)), .. }) => Some(carry.text_of(*span)),
        _ => carry.open_text(start),
    }
}
