//! What comes between the events where it is asked for: the text beside records, and partial records.
//!
//! A wrapper around the decoder's usual way, which it does not make slower. With it everything is read in the carry, so
//! that the text is there when it is lent.

use super::carry::Carry;
use super::decoder::{Decoded, RecordDecoder, UnlentEvent};
use super::scanner::Scanner;
use super::segments::{Segment, Segments};
use crate::json::{Delta, Kind, Parser, Value};
use crate::{Completion, Options, Partial};

/// What waits until the parts before it are told.
#[derive(Debug, Default)]
pub(super) struct Parts {
    tells_partials: bool,
    /// The place of the record that may have deltas which were not told: that which waits, or else the
    /// open one.
    due: Option<Partial<()>>,
    event: Option<UnlentEvent<'static>>,
}

impl Parts {
    pub(super) fn asked_for(options: &Options) -> Option<Self> {
        let is_asked_for = options.partials || options.text;
        is_asked_for.then(|| Self { tells_partials: options.partials, ..Self::default() })
    }

    pub(super) fn clear(&mut self) {
        (self.due, self.event) = (None, None);
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
        let waiting = self.parts.as_deref().filter(|parts| parts.event.is_some()).and_then(|parts| parts.due);
        let place = waiting.or_else(|| self.scanner.open_place())?;
        let text = self.carry.open_text(place.start)?;
        let value = self.scanner.json_mut().snapshot(text)?;
        // What is no object is no record.
        (value.kind() == Kind::Object).then(|| place.map(|()| value))
    }

    /// Apart from `decode`, where one more copy of the event is a tenth of the work for a token.
    #[inline(never)]
    pub(super) fn decode_in_parts<'a>(&'a mut self, input: &'a [u8]) -> Decoded<'a> {
        let (consumed, event) = self.step_in_parts(input);
        Decoded { consumed, event: event.map(|event| self.lend(event)) }
    }

    #[inline(never)]
    pub(super) fn step_in_parts(&mut self, input: &[u8]) -> (usize, Option<UnlentEvent<'static>>) {
        if let Some(event) = self.next_part() {
            return (0, Some(event));
        }
        let (consumed, event) = self.read(input);
        let event = event.map(|event| match event {
            UnlentEvent::InInput(_) => unreachable!("all is read in the carry"),
            UnlentEvent::InCarry => UnlentEvent::InCarry,
            UnlentEvent::Call => UnlentEvent::Call,
            UnlentEvent::Diagnostic(diagnostic) => UnlentEvent::Diagnostic(diagnostic),
            UnlentEvent::Delta | UnlentEvent::Text(_) | UnlentEvent::Markup(_) => unreachable!("added here"),
        });
        (consumed, self.add_parts(event))
    }

    #[inline(never)]
    pub(super) fn finish_step_in_parts(&mut self, completion: Completion) -> Option<UnlentEvent<'static>> {
        self.next_part().or_else(|| {
            let event = self.read_end(completion);
            self.add_parts(event)
        })
    }

    /// Puts the parts before an event, or those there are where there is none.
    fn add_parts(&mut self, event: Option<UnlentEvent<'static>>) -> Option<UnlentEvent<'static>> {
        let place = match event {
            Some(UnlentEvent::InCarry | UnlentEvent::Call) => {
                let record = self.scanner.record();
                let (line, column, start) = (record.line, record.column, record.span.start);
                Some(Partial { value: (), line, column, start })
            }
            Some(_) => None,
            None => self.scanner.open_place(),
        };
        let parts = self.parts.as_deref_mut()?;
        parts.due = place.filter(|_| parts.tells_partials);
        parts.event = event;
        self.next_part()
    }

    /// What is to come before anything else is read.
    fn next_part(&mut self) -> Option<UnlentEvent<'static>> {
        match self.scanner.segments().and_then(Segments::pop) {
            Some(Segment::Text(span)) => return Some(UnlentEvent::Text(span)),
            Some(Segment::Markup(span)) => return Some(UnlentEvent::Markup(span)),
            None => {}
        }
        let parts = self.parts.as_deref_mut()?;
        if parts.due.is_some() {
            let (text, json) = due_text(parts, &self.carry, &mut self.scanner);
            if json.is_object() && text.is_some_and(|text| json.advance_deltas(text)) {
                return Some(UnlentEvent::Delta);
            }
        }
        parts.due = None;
        if parts.event.is_some()
            && let Some(segments) = self.scanner.segments()
        {
            segments.pass_event();
        }
        parts.event.take()
    }

    /// The delta that was found last.
    pub(super) fn lend_delta(&self) -> Partial<Delta<'_>> {
        let parts = self.parts.as_deref().expect("partials are asked for");
        let text = match (parts.due, &parts.event) {
            (_, Some(UnlentEvent::Call)) => Some(self.scanner.call_text()),
            (due, _) => due.and_then(|due| self.carry.open_text(due.start)),
        };
        let delta = self.scanner.json().last_delta(text.expect("the delta was found in it"));
        parts.due.expect("a delta is of a record").map(|()| delta)
    }
}

/// The text of the record that waits, or else of the open one, and its parser.
fn due_text<'a>(
    parts: &Parts,
    carry: &'a Carry,
    scanner: &'a mut Scanner,
) -> (Option<&'a str>, &'a mut Parser) {
    let (json, call) = scanner.json_and_call();
    match (parts.due, &parts.event) {
        (_, Some(UnlentEvent::Call)) => (Some(call), json),
        (due, _) => (due.and_then(|due| carry.open_text(due.start)), json),
    }
}
