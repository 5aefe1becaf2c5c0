//! One text of a response: its decoder and its position.

use std::mem;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use tokenline_core::adapter::{Judge, Passage, SourceEnd};
use tokenline_core::{
    CallFormat, Code, CompletedBy, Diagnostic, Event, Gap, Options, RecordDecoder, Span, ToolCallAssembler,
};

use super::TextMode;
use super::event_queue::EventQueue;
use super::open_calls::{Announced, EndingCall, end_of, rejected_call};

/// The text of a choice, or of one of its blocks.
pub(super) struct Text {
    choice: u64,
    pub(super) block: u64,
    decoder: RecordDecoder,
    judge: Judge,
    shows_partials: bool,
    /// The markup before the next event: it is text if the event is.
    markup: String,
    before: Preceding,
    /// The offset up to which events have covered the text.
    covered_to: u64,
    pub(super) is_ended: bool,
    /// It is ending, and waits for an answer.
    pub(super) is_ending: bool,
    /// The span of the record or reject that the question is about, and whether it is a record.
    asked: Option<(Span, bool)>,
    /// The text so far is empty or ends with a line feed.
    pub(super) is_at_line_start: bool,
    /// The position of the end of the text so far.
    pub(super) place: Place,
    /// Facts about the text before the next piece.
    pub(super) gap: Option<Gap>,
    /// It ended inside a record.
    pub(super) was_cut: bool,
    announced: Option<Announced>,
}

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
        let reads_calls = settings.text_as.reads_calls() || settings.text_as == TextMode::NativeCalls;
        let options = options.records_beside_calls(settings.text_as == TextMode::RecordsAndToolCalls);
        let shows_partials = options.partials;
        let options = options.text(reads_calls || settings.wants_text);
        let decoder = RecordDecoder::new(if reads_calls && !options.looks_for_calls() {
            options.calls(CallFormat::Auto)
        } else {
            options
        });
        let decoder = match settings.rules.tools() {
            Some(tools) => decoder.with_tools(Arc::clone(tools)),
            None => decoder,
        };
        let mut judge = Judge::new(Arc::clone(&settings.rules), &settings.limits);
        judge.set_at_once(shows_partials);
        Self {
            choice,
            block,
            decoder,
            judge,
            shows_partials,
            markup: String::new(),
            before: Preceding::Text,
            covered_to: 0,
            is_ended: false,
            is_ending: false,
            asked: None,
            is_at_line_start: true,
            place: Place::START,
            gap: None,
            was_cut: false,
            announced: None,
        }
    }

    /// The bytes kept for the open record.
    pub(super) fn held_bytes(&self) -> u64 {
        self.decoder.held_bytes()
    }

    /// Whether it waits for the answer to a question.
    pub(super) fn is_asking(&self) -> bool {
        self.asked.is_some()
    }

    /// Reuses this text for another block, or for the same one again.
    pub(super) fn restart(&mut self, block: u64) {
        // What follows a truncated record in the same text may belong to it.
        self.gap = (self.was_cut && self.block == block).then_some(Gap::Missing);
        self.block = block;
        // The prompt opens only the first text.
        self.decoder.end_reasoning();
        self.decoder.reset();
        self.judge.reset();
        self.announced = None;
        (self.is_ended, self.is_ending, self.is_at_line_start) = (false, false, true);
        (self.place, self.was_cut) = (Place::START, false);
        self.covered_to = 0;
        self.pass(Preceding::Text);
    }

    /// Reads more text, up to a question about a reject; returns how much of it was read. With `lossy`, a U+FFFD in it may
    /// stand for invalid bytes.
    pub(super) fn push<T: DeserializeOwned>(
        &mut self,
        text: &str,
        lossy: bool,
        numbers: &mut ToolCallAssembler,
        out: &mut EventQueue<T>,
    ) -> usize {
        if out.settings.passes_text() {
            self.place.pass(text);
            out.text(self.choice, self.block, text);
            return text.len();
        }
        if let Some(gap) = self.gap.take() {
            self.decoder.gap(gap);
        }
        let mut read = 0;
        while lossy
            && self.asked.is_none()
            && let Some(at) = text[read..].find(char::REPLACEMENT_CHARACTER)
        {
            let end = read + at;
            read += self.read(&text[read..end], numbers, out);
            if read == end {
                self.decoder.gap(Gap::Replaced);
                let bad = &text[end..end + char::REPLACEMENT_CHARACTER.len_utf8()];
                read += self.read(bad, numbers, out);
            }
        }
        if self.asked.is_none() {
            read += self.read(&text[read..], numbers, out);
        }
        self.place.pass(&text[..read]);
        if read > 0 {
            self.is_at_line_start = text[..read].ends_with('\n');
        }
        read
    }

    /// Takes the answer to the question that the text waits for.
    pub(super) fn answer<T: DeserializeOwned>(
        &mut self,
        replacement: Option<String>,
        numbers: &mut ToolCallAssembler,
        out: &mut EventQueue<T>,
    ) {
        let Some(asked) = self.asked.take() else { return };
        let mut ending = EndingCall::new(&mut self.announced, self.choice, asked.0.end, numbers, out);
        let place = (self.choice, self.block);
        let role = out.answer(place, asked, replacement, &mut self.judge, &mut ending);
        self.emit_text(role, ending, out);
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
            self.decoder.gap(gap);
        }
        self.take_events("", Some(evidence.unwrap_or(CompletedBy::EndOfInput)), numbers, out);
        if self.asked.is_none() {
            (self.is_ended, self.is_ending) = (true, false);
            Announced::discard(&mut self.announced, self.choice, out);
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
            while read < text.len() && self.asked.is_none() {
                let step = Announced::step(self.announced.as_ref(), &text[read..]);
                read += self.take_events(step, None, numbers, out);
                if self.asked.is_none() {
                    Announced::update(&mut self.announced, self.choice, &mut self.decoder, numbers, out);
                }
            }
            out.joins_after = usize::MAX;
        } else {
            read = self.take_events(text, None, numbers, out);
        }
        if self.asked.is_some() {
            return read;
        }
        if let Some(diagnostic) = self.judge.arriving(&mut self.decoder)
            && self.shows_partials
        {
            out.invalid(self.choice, self.block, diagnostic.clone());
        }
        read
    }

    /// Emits the events of more text, or of the end of the text with this evidence, up to a question; returns how much of
    /// the text was read.
    fn take_events<T: DeserializeOwned>(
        &mut self,
        text: &str,
        end: Option<CompletedBy>,
        numbers: &mut ToolCallAssembler,
        out: &mut EventQueue<T>,
    ) -> usize {
        let start = self.decoder.position();
        let mut at = 0;
        while self.asked.is_none() {
            let (event, passage) = match end {
                None => {
                    let decoded = self.decoder.decode_str(&text[at..]);
                    at += decoded.consumed;
                    (decoded.event, Passage::chunk(text.as_bytes(), start))
                }
                Some(completion) => {
                    let event = self.decoder.finish_with(completion);
                    (event, Passage::end(start, completion, SourceEnd::Failed))
                }
            };
            let Some(event) = event else { break };
            let is_truncated = matches!(&event, Event::Rejected(its) if its.code == Code::Truncated);
            self.was_cut |= end.is_some() && is_truncated;
            let mut ending = EndingCall::new(&mut self.announced, self.choice, end_of(&event), numbers, out);
            let role = out.text_event(self.choice, self.block, event, passage, &mut self.judge, &mut ending);
            self.emit_text(role, ending, out);
        }
        self.judge.keep(&self.decoder, &text.as_bytes()[..at]);
        at
    }

    /// Emits the text that an event concerns.
    fn emit_text<T: DeserializeOwned>(
        &mut self,
        role: TextRole,
        mut ending: EndingCall<'_>,
        out: &mut EventQueue<T>,
    ) {
        if let TextRole::Asked { span, is_record } = role {
            self.announced = ending.postpone();
            self.asked = Some((span, is_record));
            return;
        }
        if !matches!(role, TextRole::Rejected(_)) {
            ending.discard(out);
        }
        match role {
            TextRole::None | TextRole::Asked { .. } => {}
            TextRole::Markup(span) => {
                let span = self.cover(span);
                match self.before {
                    Preceding::TextLike => out.text(self.choice, self.block, self.decoder.text(span)),
                    Preceding::Text | Preceding::Record => self.markup.push_str(self.decoder.text(span)),
                }
            }
            TextRole::Text(span) => {
                let span = self.cover(span);
                out.text(self.choice, self.block, self.decoder.text(span));
                self.pass(Preceding::Text);
            }
            TextRole::Reasoning(span) => {
                let span = self.cover(span);
                out.reasoning(self.choice, self.decoder.text(span));
                self.pass(Preceding::Text);
            }
            TextRole::Record(span) => {
                self.cover(span);
                self.pass(Preceding::Record);
            }
            TextRole::NotACall(span) => self.emit_as_text(span, out),
            TextRole::Rejected(diagnostic) => {
                let span = diagnostic.span;
                if out.settings.text_as == TextMode::NativeCalls {
                    return self.emit_as_text(span, out);
                }
                let own = self.uncovered(span);
                // A longer text is kept only if it came in one piece.
                let is_kept = own.len() <= out.settings.limits.line_bytes as u64;
                let text = if is_kept { self.decoder.text(own) } else { "" };
                let tools = out.settings.rules.tools();
                let reads_calls = out.settings.text_as.reads_calls();
                let call = reads_calls
                    .then(|| rejected_call(&diagnostic, (&self.markup, text), self.decoder.options(), tools));
                let call = call.flatten();
                let is_text = is_kept && call.is_none();
                match call {
                    Some(call) => out.push_rejected_call(self.choice, self.block, call, &mut ending),
                    None => {
                        ending.discard(out);
                        out.push_diagnostic(Some(self.choice), self.block, diagnostic);
                    }
                }
                if is_text {
                    self.emit_as_text(span, out);
                } else {
                    self.cover(span);
                    self.pass(Preceding::Record);
                }
            }
        }
    }

    /// Emits a value that stays text, with the markup around it that does not belong to another record.
    fn emit_as_text<T>(&mut self, span: Span, out: &mut EventQueue<T>) {
        let span = self.cover(span);
        if span.is_empty() {
            return;
        }
        let own = match self.before {
            Preceding::Record => self.markup.split_once('\n').map_or(&*self.markup, |(_, own)| own),
            Preceding::Text | Preceding::TextLike => &self.markup,
        };
        out.text(self.choice, self.block, &[own, self.decoder.text(span)].concat());
        self.pass(Preceding::TextLike);
    }

    /// The part of a span that no event has covered: a reject may contain records and reasoning.
    fn uncovered(&self, span: Span) -> Span {
        Span::new(span.start.max(self.covered_to), span.end.max(self.covered_to))
    }

    /// Marks a span as covered by an event. Returns the part that no earlier event covered.
    fn cover(&mut self, span: Span) -> Span {
        let uncovered = self.uncovered(span);
        self.covered_to = uncovered.end;
        uncovered
    }

    fn pass(&mut self, before: Preceding) {
        self.markup.clear();
        self.before = before;
    }
}

/// The kind of text before the current markup.
#[derive(Clone, Copy)]
enum Preceding {
    Text,
    /// A record, or a reject that is not shown as text.
    Record,
    /// An object that is not a call, or a reject shown as text.
    TextLike,
}

/// How an event relates to the text outside records.
pub(super) enum TextRole {
    None,
    Record(Span),
    Text(Span),
    Reasoning(Span),
    /// Markup around records.
    Markup(Span),
    /// An object that is not a call.
    NotACall(Span),
    /// A reject, which may be a call.
    Rejected(Diagnostic),
    /// A record or a reject whose replacement is awaited.
    Asked {
        span: Span,
        is_record: bool,
    },
}
