//! Optional events between the others: text beside records, and partial records.
//!
//! It wraps the decoder, and costs nothing if neither is asked for. Otherwise all input is copied to the
//! carry, so that events can borrow its text later.

use super::carry::Carry;
use super::scanner::Scanner;
use super::segments::{Segment, Segments};
use crate::json::{Parser, ValueDelta};
use crate::{Diagnostic, OpenRecord, Options, Span};

/// An event that does not borrow its text yet, but says where it is.
#[derive(Debug)]
pub(crate) enum UnlentEvent<'i> {
    /// The scanner's record, in the input.
    InInput(&'i str),
    /// The record on the scanner's last line, in the input.
    PlainLine(&'i str),
    /// The scanner's record, in the carry.
    InCarry,
    /// The scanner's record, a call that was not written as JSON.
    Call,
    /// The next delta of the open record, or of the complete one that waits.
    ValueDelta,
    Text(Span),
    Reasoning(Span),
    Markup(Span),
    Diagnostic(Box<Diagnostic>),
}

/// An event, and the parts to emit before it.
#[derive(Debug, Default)]
pub(super) struct Parts {
    emits_partials: bool,
    /// The place of the record that may have deltas left to emit: the one that waits, or the open one.
    due: Option<OpenRecord<()>>,
    event: Option<UnlentEvent<'static>>,
}

impl Parts {
    pub(super) fn from_options(options: &Options) -> Option<Self> {
        let is_needed = options.partials || options.text;
        is_needed.then(|| Self { emits_partials: options.partials, ..Self::default() })
    }

    pub(super) fn clear(&mut self) {
        (self.due, self.event) = (None, None);
    }

    /// The place of the record that waits.
    pub(super) fn waiting(&self) -> Option<OpenRecord<()>> {
        self.due.filter(|_| self.event.is_some())
    }

    /// Puts the parts before an event, if there is one. Returns the first part.
    pub(super) fn add(
        &mut self,
        event: Option<UnlentEvent<'static>>,
        scanner: &mut Scanner,
        carry: &Carry,
    ) -> Option<UnlentEvent<'static>> {
        let place = match event {
            Some(UnlentEvent::InCarry | UnlentEvent::Call) => {
                let record = scanner.record();
                let (line, column, start) = (record.line, record.column, record.span.start);
                Some(OpenRecord { value: (), line, column, start })
            }
            Some(_) => None,
            None => scanner.open_place(),
        };
        self.due = place.filter(|_| self.emits_partials);
        self.event = event;
        self.next(scanner, carry)
    }

    /// The next part, to be emitted before anything else is read.
    pub(super) fn next(&mut self, scanner: &mut Scanner, carry: &Carry) -> Option<UnlentEvent<'static>> {
        match scanner.segments().and_then(Segments::pop) {
            Some(Segment::Text(span)) => return Some(UnlentEvent::Text(span)),
            Some(Segment::Reasoning(span)) => return Some(UnlentEvent::Reasoning(span)),
            Some(Segment::Markup(span)) => return Some(UnlentEvent::Markup(span)),
            None => {}
        }
        if self.due.is_some() {
            let (json, call) = scanner.json_and_call();
            let text = self.due_text(carry, call);
            if json.is_object() && text.is_some_and(|text| json.advance_deltas(text)) {
                return Some(UnlentEvent::ValueDelta);
            }
        }
        self.due = None;
        if self.event.is_some()
            && let Some(segments) = scanner.segments()
        {
            segments.pass_event();
        }
        self.event.take()
    }

    /// The delta found last.
    pub(super) fn delta<'a>(
        &self,
        json: &'a Parser,
        call: &'a str,
        carry: &'a Carry,
    ) -> OpenRecord<ValueDelta<'a>> {
        let text = self.due_text(carry, call).expect("the delta was found in it");
        self.due.expect("a delta is of a record").map(|()| json.last_delta(text))
    }

    /// The text of the record that waits, or of the open one.
    fn due_text<'a>(&self, carry: &'a Carry, call: &'a str) -> Option<&'a str> {
        match self.event {
            Some(UnlentEvent::Call) => Some(call),
            _ => carry.open_text(self.due?.start),
        }
    }
}
