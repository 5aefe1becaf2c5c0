//! One text of a response: its reader and its position.

use std::cell::{Cell, RefCell};
use std::hint;
use std::mem;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use tokenline_core::adapter::Gap;
use tokenline_core::adapter::{Made, SourceEnd, TextPart, TextReader, Verdict};
use tokenline_core::json::Value;
use tokenline_core::{CallFormat, CheckedChunk, CompletedBy, Options, Record, Repetition, ToolCallAssembler};

use super::event_queue::EventQueue;
use super::open_calls::{Announced, EndingCall};
use super::{ResponseEvent, TextMode};

/// The text of a choice, or of one of its blocks.
pub(super) struct Text {
    choice: u64,
    pub(super) block: u64,
    reader: TextReader,
    shows_partials: bool,
    pub(super) is_ended: bool,
    /// It is ending, and waits for an answer.
    pub(super) is_ending: bool,
    /// The text so far is empty or ends with a line feed.
    pub(super) is_at_line_start: bool,
    /// The position of the end of the text so far.
    pub(super) place: Place,
    /// Facts about the text before the next piece.
    pub(super) gap: Option<Gap>,
    shown: Shown,
}

/// The open call and the open record of which updates were emitted.
struct Shown {
    call: Option<Box<Announced>>,
    /// Where the record begins that has [grown](ResponseEvent::Partial); [`NONE`](Self::NONE) if none has.
    record: u64,
}

impl Shown {
    const NONE: u64 = u64::MAX;

    fn new() -> Self {
        Self { call: None, record: Self::NONE }
    }

    /// Ends what begins before `end` as text.
    fn discard_before<T>(&mut self, end: u64, (choice, block): (u64, u64), out: &mut EventQueue<T>) {
        Announced::discard_before(&mut self.call, end, choice, out);
        if self.record < end {
            self.discard_record((choice, block), out);
        }
    }

    /// Whether the call that was announced begins at this offset, or before.
    fn covers(&self, start: u64) -> bool {
        start != Self::NONE && self.call.as_ref().is_some_and(|call| call.start() <= start)
    }

    #[cold]
    fn discard_record<T>(&mut self, (choice, block): (u64, u64), out: &mut EventQueue<T>) {
        self.record = Self::NONE;
        out.push(ResponseEvent::PartialDiscarded { choice, block });
    }
}

/// Gets the records that are lent, with their choice and block.
pub(super) type Borrower<'a> = dyn FnMut(u64, u64, &Record<Value<'_>>) + 'a;

/// A position in a text.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) line: u64,
    pub(super) column: u64,
    pub(super) offset: u64,
}

impl Place {
    pub(super) const START: Self = Self { line: 1, column: 1, offset: 0 };

    /// Advances past `text`.
    fn pass(&mut self, text: &str) {
        let bytes = text.as_bytes();
        match memchr::memrchr(b'\n', bytes) {
            None => self.column += text.len() as u64,
            Some(last) => {
                self.line += memchr::memchr_iter(b'\n', bytes).count() as u64;
                self.column = (text.len() - last) as u64;
            }
        }
        self.offset += text.len() as u64;
    }
}

impl Text {
    pub(super) fn new<T>(choice: u64, block: u64, options: Options, out: &EventQueue<T>) -> Self {
        let settings = &out.settings;
        let shows_partials = options.partials;
        let looks_for_calls = settings.text_as.reads_calls() || settings.text_as == TextMode::NativeCalls;
        let options = options.text(looks_for_calls || settings.wants_text);
        let options = if looks_for_calls && !options.looks_for_calls() {
            options.calls(CallFormat::Auto)
        } else {
            options
        };
        let mut reader = TextReader::new(options, Arc::clone(&settings.rules));
        if let Some(limits) = &settings.repetition {
            reader.guard(limits);
        }
        Self {
            choice,
            block,
            reader,
            shows_partials,
            is_ended: false,
            is_ending: false,
            is_at_line_start: true,
            place: Place::START,
            gap: None,
            shown: Shown::new(),
        }
    }

    /// Reads a word of each cache line that a token in a string needs.
    #[inline(always)]
    pub(super) fn prefetch(&self) {
        self.reader.prefetch();
        hint::black_box(self.place.column);
    }

    /// The repetition that reached its limit.
    pub(super) fn repetition(&mut self) -> Option<&Repetition> {
        self.reader.repetition()?.found()
    }

    /// Separates the text before from what follows: no repetition has both.
    pub(super) fn separate(&mut self) {
        self.reader.separate();
    }

    /// The bytes kept for the open record.
    pub(super) fn held_bytes(&self) -> u64 {
        self.reader.held_bytes()
    }

    /// Whether it waits for the answer to a question.
    pub(super) fn is_asking(&self) -> bool {
        self.reader.is_asking()
    }

    /// Forgets that it ended inside a record.
    pub(super) fn forget_cut(&mut self) {
        self.reader.forget_cut();
    }

    /// Reuses this text for another block, or for the same one again.
    pub(super) fn restart(&mut self, block: u64) {
        // What follows a truncated record in the same text may belong to it.
        self.gap = (self.reader.was_cut() && self.block == block).then_some(Gap::Missing);
        self.block = block;
        // The prompt opens only the first text.
        self.reader.decoder().end_reasoning();
        self.reader.reset();
        self.shown = Shown::new();
        (self.is_ended, self.is_ending, self.is_at_line_start) = (false, false, true);
        self.place = Place::START;
    }

    /// Reads more text, up to a question about a reject; returns how much of it was read. With `lossy`, a U+FFFD in it may
    /// stand for invalid bytes.
    #[inline]
    pub(super) fn push<T: DeserializeOwned>(
        &mut self,
        text: &str,
        lossy: bool,
        borrower: Option<&mut Borrower<'_>>,
        numbers: &mut ToolCallAssembler,
        out: &mut EventQueue<T>,
    ) -> usize {
        if !lossy && self.gap.is_none() && self.reader.append(text) {
            // There is no line feed in it.
            self.place.column += text.len() as u64;
            self.place.offset += text.len() as u64;
            self.is_at_line_start &= text.is_empty();
            return text.len();
        }
        if out.settings.passes_text() {
            self.reader.watch(text);
            self.place.pass(text);
            out.text(self.choice, self.block, text);
            return text.len();
        }
        if let Some(gap) = self.gap.take() {
            self.reader.gap(gap);
        }
        if let Some(borrower) = borrower.filter(|_| !lossy && out.settings.can_lend()) {
            self.lend(text, borrower, numbers, out);
            return text.len();
        }
        let mut read = 0;
        while lossy
            && !self.is_asking()
            && let Some(at) = text[read..].find(char::REPLACEMENT_CHARACTER)
        {
            let end = read + at;
            read += self.read(&text[read..end], numbers, out);
            if read == end && !self.is_asking() {
                self.reader.gap(Gap::Replaced);
                let bad = &text[end..end + char::REPLACEMENT_CHARACTER.len_utf8()];
                read += self.read(bad, numbers, out);
            }
        }
        if !self.is_asking() {
            read += self.read(&text[read..], numbers, out);
        }
        self.pass(&text[..read]);
        read
    }

    /// Takes note of text that was read.
    fn pass(&mut self, text: &str) {
        self.place.pass(text);
        if !text.is_empty() {
            self.is_at_line_start = text.ends_with('\n');
        }
    }

    /// Reads text whose records are lent, as long as no event waits that comes before them.
    fn lend<T: DeserializeOwned>(
        &mut self,
        text: &str,
        borrower: &mut Borrower<'_>,
        numbers: &mut ToolCallAssembler,
        out: &mut EventQueue<T>,
    ) {
        self.reader.leave(out.left_calls());
        let (place, shown) = ((self.choice, self.block), &mut self.shown);
        let (borrower, is_next) = (RefCell::new(borrower), Cell::new(out.events.is_empty()));
        let make = |record: &Record<Value<'_>>| {
            if is_next.get() {
                borrower.borrow_mut()(place.0, place.1, record);
                return None;
            }
            Some(make(record))
        };
        let sink = |end, part: TextPart<'_, T>| {
            emit(place, end, part, shown, numbers, out);
            is_next.set(out.events.is_empty());
        };
        let read = self.reader.read_lending(text.as_bytes(), CheckedChunk::from(text), make, sink);
        debug_assert_eq!(read, text.len(), "nothing is asked without repairs");
        self.validate(out);
        self.pass(text);
    }

    /// Takes the answer to the question that the text waits for.
    pub(super) fn answer<T: DeserializeOwned>(
        &mut self,
        replacement: Option<String>,
        numbers: &mut ToolCallAssembler,
        out: &mut EventQueue<T>,
    ) {
        self.reader.leave(out.left_calls());
        let (place, shown) = ((self.choice, self.block), &mut self.shown);
        self.reader.answer(replacement, make, |end, part: TextPart<'_, T>| {
            emit(place, end, part, shown, numbers, out);
        });
        if !self.is_ending {
            self.look(numbers, out);
        }
    }

    /// Ends the text, up to a question about a reject; it is to be ended again after the answer. `evidence` proves it
    /// complete.
    pub(super) fn end<T: DeserializeOwned>(
        &mut self,
        evidence: Option<CompletedBy>,
        numbers: &mut ToolCallAssembler,
        out: &mut EventQueue<T>,
    ) {
        self.is_ended |= out.settings.passes_text();
        if self.is_ended {
            return;
        }
        if !mem::replace(&mut self.is_ending, true)
            && let Some(gap) = self.gap.take().filter(|_| !self.is_at_line_start)
        {
            self.reader.gap(gap);
        }
        self.take("", Some(evidence.unwrap_or(CompletedBy::EndOfInput)), numbers, out);
        if !self.is_asking() {
            (self.is_ended, self.is_ending) = (true, false);
            self.discard_before(u64::MAX, out);
        }
    }

    /// Reads text up to a question; returns how much of it was read.
    fn read<T: DeserializeOwned>(
        &mut self,
        text: &str,
        numbers: &mut ToolCallAssembler,
        out: &mut EventQueue<T>,
    ) -> usize {
        let mut read = 0;
        if out.settings.updates_text_calls() {
            out.joins_after = out.events.len();
            while read < text.len() && !self.is_asking() {
                let step = Announced::step(self.shown.call.as_deref(), &text[read..]);
                read += self.take(step, None, numbers, out);
                self.update(numbers, out);
            }
            out.joins_after = usize::MAX;
        } else {
            read = self.take(text, None, numbers, out);
        }
        self.validate(out);
        read
    }

    /// Looks at what is open after an answer.
    fn look<T>(&mut self, numbers: &mut ToolCallAssembler, out: &mut EventQueue<T>) {
        if out.settings.updates_text_calls() {
            self.update(numbers, out);
        }
        self.validate(out);
    }

    /// Emits the updates on the open call.
    fn update<T>(&mut self, numbers: &mut ToolCallAssembler, out: &mut EventQueue<T>) {
        self.discard_before(self.reader.passed_to(), out);
        if !self.reader.is_asking() {
            Announced::update(&mut self.shown.call, self.choice, self.reader.decoder(), numbers, out);
            // What has grown as a record is the call.
            if self.shown.covers(self.shown.record) {
                self.shown.discard_record((self.choice, self.block), out);
            }
        }
    }

    fn discard_before<T>(&mut self, end: u64, out: &mut EventQueue<T>) {
        self.shown.discard_before(end, (self.choice, self.block), out);
    }

    /// Looks at the open record: whether it still is one, and valid.
    fn validate<T>(&mut self, out: &mut EventQueue<T>) {
        if self.shown.record != Shown::NONE && !self.reader.is_asking() {
            let (decoder, start) = (self.reader.decoder(), self.shown.record);
            // A malformed record is rejected where its line ends.
            let is_rejected = decoder.rejected_value().is_some_and(|rejected| rejected <= start);
            if decoder.open_value() != Some(start) && !is_rejected {
                self.shown.discard_record((self.choice, self.block), out);
            }
        }
        if !self.reader.is_asking()
            && let Some(diagnostic) = self.reader.arriving()
            && self.shows_partials
        {
            out.invalid(self.choice, self.block, diagnostic.clone());
        }
    }

    /// Reads text, or the end of the text with this evidence, up to a question; returns how much of the text was read.
    fn take<T: DeserializeOwned>(
        &mut self,
        text: &str,
        end: Option<CompletedBy>,
        numbers: &mut ToolCallAssembler,
        out: &mut EventQueue<T>,
    ) -> usize {
        self.reader.leave(out.left_calls());
        let (place, shown) = ((self.choice, self.block), &mut self.shown);
        let sink = |end, part: TextPart<'_, T>| emit(place, end, part, shown, numbers, out);
        match end {
            None => self.reader.read(text.as_bytes(), CheckedChunk::from(text), make, sink),
            Some(completion) => {
                self.reader.finish(completion, SourceEnd::Failed, make, sink);
                0
            }
        }
    }
}

/// Reads a record into its type.
fn make<T: DeserializeOwned>(record: &Record<Value<'_>>) -> Made<T> {
    record.deserialize()
}

/// Emits a part of a text. `end` is where the event ends that it belongs to.
fn emit<T>(
    (choice, block): (u64, u64),
    end: u64,
    part: TextPart<'_, T>,
    shown: &mut Shown,
    numbers: &mut ToolCallAssembler,
    out: &mut EventQueue<T>,
) {
    match part {
        TextPart::Verdict(Verdict::Ask(rejected)) => out.ask(choice, rejected),
        TextPart::Verdict(verdict) => {
            shown.record = Shown::NONE;
            if let Some(guard) = &mut out.guard {
                // The same words before each of many records are no loop.
                guard.separate(choice);
            }
            let mut ending = EndingCall::new(&mut shown.call, choice, end, numbers, out);
            out.push_verdict(choice, block, verdict, &mut ending);
        }
        TextPart::Note(note) => out.push_diagnostic(Some(choice), block, note),
        TextPart::Text(text) => {
            shown.discard_before(end, (choice, block), out);
            out.text(choice, block, text);
        }
        TextPart::Reasoning(text) => {
            shown.discard_before(end, (choice, block), out);
            out.reasoning(choice, text);
        }
        // The arguments of a call grow by updates of their own.
        TextPart::Partial(partial) if shown.covers(partial.start) => {}
        TextPart::Partial(partial) => {
            // What had grown before it was text.
            shown.discard_before(partial.start, (choice, block), out);
            shown.record = partial.start;
            let delta = partial.map(|delta| delta.to_owned());
            out.push(ResponseEvent::Partial { choice, block, delta });
        }
    }
}
