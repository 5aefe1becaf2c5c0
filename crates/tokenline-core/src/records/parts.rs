//! Optional events between the others: text beside records, and partial records.
//!
//! It wraps the decoder, and costs nothing if neither is asked for. Otherwise all input is copied to the
//! carry, so that events can borrow its text later.

use super::carry::Carry;
use super::decoder::{RecordDecoder, Token};
use super::input::Input;
use super::scanner::{Found, Scanner};
use super::segments::Segment;
use crate::json::{Parser, ValueDelta};
use crate::{Diagnostic, OpenRecord, Options, Record, Span};

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
    /// Whether a root array is one record.
    emits_arrays: bool,
    deltas: Deltas,
    event: Option<UnlentEvent<'static>>,
}

/// The deltas of the record that waits, or of the open one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Deltas {
    /// There is no such record.
    #[default]
    None,
    /// There may be some left to emit.
    Due,
    /// Those of the open record so far are emitted.
    Emitted,
}

impl Deltas {
    #[inline(always)]
    fn of_open(json: &Parser) -> Self {
        if json.has_deltas() { Self::Due } else { Self::Emitted }
    }
}

impl Parts {
    pub(super) fn from_options(options: &Options) -> Option<Self> {
        let is_needed = options.partials || options.text;
        is_needed.then(|| Self {
            emits_partials: options.partials,
            emits_arrays: options.whole_values,
            ..Self::default()
        })
    }

    pub(super) fn clear(&mut self) {
        (self.deltas, self.event) = (Deltas::None, None);
    }

    /// The place of the record that waits.
    pub(super) fn waiting(&self, scanner: &Scanner) -> Option<OpenRecord<()>> {
        let waits = self.deltas != Deltas::None && self.event.is_some();
        waits.then(|| place_of(scanner.found()))
    }

    /// Whether everything of the open record is emitted, and nothing else waits.
    #[inline]
    pub(super) fn is_emitted(&self) -> bool {
        self.deltas == Deltas::Emitted
    }

    /// Puts the parts before an event, if there is one. Returns the first part.
    pub(super) fn add(
        &mut self,
        event: Option<UnlentEvent<'static>>,
        scanner: &mut Scanner,
        carry: &Carry,
    ) -> Option<UnlentEvent<'static>> {
        self.deltas = match event {
            _ if !self.emits_partials => Deltas::None,
            Some(UnlentEvent::InCarry | UnlentEvent::Call) => Deltas::Due,
            None if scanner.open_place().is_some() => Deltas::of_open(scanner.json()),
            _ => Deltas::None,
        };
        self.event = event;
        self.next(scanner, carry)
    }

    /// Adds the next delta of a token inside the open value.
    #[inline]
    pub(super) fn add_token(
        &mut self,
        len: usize,
        token: Token,
        scanner: &mut Scanner,
        carry: &Carry,
    ) -> Option<UnlentEvent<'static>> {
        if !self.is_emitted() || scanner.has_segments() {
            return self.add(None, scanner, carry);
        }
        let json = scanner.json_mut();
        if token == Token::InString && json.advance_by_token(len) {
            return Some(UnlentEvent::ValueDelta);
        }
        let start = scanner.open_start().filter(|_| scanner.json().has_deltas())?;
        self.advance_deltas(scanner.json_mut(), carry.open_text(start)).then_some(UnlentEvent::ValueDelta)
    }

    /// Advances by one delta of the record that waits, or of the open one. Returns whether there was one.
    #[inline(always)]
    fn advance_deltas(&mut self, json: &mut Parser, text: Option<&str>) -> bool {
        let may_grow = json.is_object() || self.emits_arrays && json.is_container();
        let has_advanced = may_grow && text.is_some_and(|text| json.advance_deltas(text));
        self.deltas = match (&self.event, has_advanced) {
            (None, true) => Deltas::of_open(json),
            (None, false) => Deltas::Emitted,
            (Some(_), true) => Deltas::Due,
            (Some(_), false) => Deltas::None,
        };
        has_advanced
    }

    /// The next part, to be emitted before anything else is read.
    pub(super) fn next(&mut self, scanner: &mut Scanner, carry: &Carry) -> Option<UnlentEvent<'static>> {
        match scanner.segments().and_then(|segments| segments.pop(|span| carry.get(span))) {
            Some(Segment::Text(span)) => return Some(UnlentEvent::Text(span)),
            Some(Segment::Reasoning(span)) => return Some(UnlentEvent::Reasoning(span)),
            Some(Segment::Markup(span)) => return Some(UnlentEvent::Markup(span)),
            None => {}
        }
        if self.deltas == Deltas::Due {
            let start = self.start(scanner);
            let (json, call) = scanner.json_and_call();
            let text = start.and_then(|start| self.text(start, carry, call));
            if self.advance_deltas(json, text) {
                return Some(UnlentEvent::ValueDelta);
            }
        }
        if self.event.is_some()
            && let Some(segments) = scanner.segments()
        {
            segments.pass_event();
        }
        self.event.take()
    }

    /// The delta found last.
    #[inline(always)]
    pub(super) fn delta<'a>(&self, scanner: &'a Scanner, carry: &'a Carry) -> OpenRecord<ValueDelta<'a>> {
        let place = if self.event.is_some() { Some(place_of(scanner.found())) } else { scanner.open_place() };
        let place = place.expect("a delta is of a record");
        let text = self.text(place.start, carry, scanner.call_text()).expect("the delta was found in it");
        place.map(|()| scanner.json().last_delta(text))
    }

    /// The start of the record that waits, or of the open one.
    fn start(&self, scanner: &Scanner) -> Option<u64> {
        if self.event.is_some() { Some(scanner.found().span.start) } else { scanner.open_start() }
    }

    /// Its text.
    fn text<'a>(&self, start: u64, carry: &'a Carry, call: &'a str) -> Option<&'a str> {
        match self.event {
            Some(UnlentEvent::Call) => Some(call),
            _ => carry.open_text(start),
        }
    }
}

impl RecordDecoder {
    #[inline(never)]
    pub(super) fn step_in_parts<'i>(
        &mut self,
        input: impl Input<'i>,
    ) -> (usize, Option<UnlentEvent<'static>>) {
        if !self.is_emitted()
            && let Some(event) = self.next_part()
        {
            return (0, Some(event));
        }
        let len = input.bytes().len();
        if len == 0 && self.waits_for_input() {
            return (0, None);
        }
        match self.take_token(input) {
            Some(token) => (len, self.add_token(len, token)),
            None => {
                let (consumed, event) = self.read(input);
                (consumed, self.add_parts(event.map(in_carry)))
            }
        }
    }

    #[inline]
    pub(super) fn is_emitted(&self) -> bool {
        self.parts.as_ref().is_some_and(|parts| parts.is_emitted())
    }

    /// Whether there is nothing to emit without more input: callers ask once more after the last delta of a chunk.
    #[inline]
    pub(super) fn waits_for_input(&self) -> bool {
        self.is_emitted() && self.carry.is_all_read() && self.gap.is_none()
    }

    pub(super) fn next_part(&mut self) -> Option<UnlentEvent<'static>> {
        self.parts.as_mut()?.next(&mut self.scanner, &self.carry)
    }

    #[inline]
    pub(super) fn add_token(&mut self, len: usize, token: Token) -> Option<UnlentEvent<'static>> {
        if token == Token::Unread {
            let event = self.read_carry();
            return self.add_parts(event);
        }
        self.parts.as_mut()?.add_token(len, token, &mut self.scanner, &self.carry)
    }

    pub(super) fn add_parts(&mut self, event: Option<UnlentEvent<'static>>) -> Option<UnlentEvent<'static>> {
        match &mut self.parts {
            Some(parts) => parts.add(event, &mut self.scanner, &self.carry),
            None => event,
        }
    }
}

fn place_of(found: &Found) -> OpenRecord<()> {
    let Record { line, column, span, .. } = found.record(());
    OpenRecord { value: (), line, column, start: span.start }
}

/// With parts, everything is read in the carry.
fn in_carry(event: UnlentEvent<'_>) -> UnlentEvent<'static> {
    match event {
        UnlentEvent::InCarry => UnlentEvent::InCarry,
        UnlentEvent::Call => UnlentEvent::Call,
        UnlentEvent::Diagnostic(diagnostic) => UnlentEvent::Diagnostic(diagnostic),
        _ => unreachable!("the scanner does not find it there"),
    }
}
