//! Reads the records of one response.

use tokenline_core::adapter::{Driver, SourceEnd, StreamMachine as _, StreamStep};
use tokenline_core::json::{Parser, Raw, Step};
use tokenline_core::{Code, Diagnostic, Event, Options, Rejected, Span};

use super::repair::Repair;
use crate::beginning::without_prose;

/// Reads the records of one response with the scanner, and keeps the text of the open one.
#[derive(Debug)]
pub(super) struct Reader {
    driver: Driver<Raw>,
    /// The text that the driver reads, from the last event on.
    text: String,
    /// The offset of `text` in the input of the driver.
    base: u64,
    /// The end of the last event in `text`.
    from: usize,
    /// The end of the part of `text` that the driver has read.
    at: usize,
    /// The end of the stand-in text, and the position in the response that corresponds to it.
    places: Option<(Place, Place)>,
    /// Whether the records are in one array: nothing after it is a record.
    pub(super) is_array: bool,
    /// The text between the last two records.
    gap: String,
    /// The reject that the driver wants to have replaced.
    asked: Option<Box<Rejected>>,
    /// How the response ended; failed if it is incomplete.
    end: Option<SourceEnd>,
    is_truncated: bool,
    is_over: bool,
}

/// The longest text before the first record, in bytes.
pub(super) const MAX_HEAD: usize = 64 * 1024;

/// A position in a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    offset: u64,
    line: u64,
    column: u64,
}

impl Place {
    pub(super) const START: Self = Self { offset: 0, line: 1, column: 1 };

    /// The position after more text.
    #[must_use]
    pub(super) fn after(self, text: &str) -> Self {
        let line = self.line + text.matches('\n').count() as u64;
        let column = match text.rfind('\n') {
            Some(feed) => (text.len() - feed) as u64,
            None => self.column + text.len() as u64,
        };
        Self { offset: self.offset + text.len() as u64, line, column }
    }
}

impl Reader {
    /// A reader for a response that begins the list.
    pub(super) fn new(options: &Options) -> Self {
        Self {
            driver: Driver::new(options.clone()).with_repair_steps(),
            text: String::new(),
            base: 0,
            from: 0,
            at: 0,
            places: None,
            is_array: false,
            gap: String::new(),
            asked: None,
            end: None,
            is_truncated: false,
            is_over: false,
        }
    }

    /// A reader for a response that begins the list, from `place` on, where its thoughts have ended.
    pub(super) fn after_thoughts(options: &Options, place: Place) -> Self {
        let options = options.clone().in_reasoning(false);
        Self { places: Some((Place::START, place)), ..Self::new(&options) }
    }

    /// A reader for the new part of a response, from `place` on. `record`, or the beginning of one, stands in for the text
    /// before it.
    pub(super) fn after(options: &Options, is_array: bool, record: &str, place: Place) -> Self {
        let plain = options.clone().items("").unwrap_or_else(|_| options.clone()).in_reasoning(false);
        let mut reader = Self::new(&plain);
        reader.is_array = is_array;
        if is_array {
            reader.text.push('[');
            reader.from = 1;
        }
        reader.text += record;
        reader.places = Some((Place::START.after(&reader.text), place));
        reader
    }

    pub(super) fn push(&mut self, text: &str) {
        let done = self.from.min(self.at);
        self.text.drain(..done);
        self.base += done as u64;
        self.at -= done;
        self.from -= done;
        self.text += text;
    }

    /// Ends the response. `end` is clean if its end is that of the list.
    pub(super) fn finish(&mut self, end: SourceEnd) {
        self.end.get_or_insert(end);
    }

    /// The next event. `None` if more text is needed, or an answer about a reject.
    pub(super) fn next(&mut self, repair: &mut Repair) -> Option<Event<Raw>> {
        while !self.is_over {
            if let Some(rejected) = &self.asked {
                let replacement = repair.ask(rejected)?;
                self.asked = None;
                self.driver.resume(replacement);
            }
            let (consumed, step) = self.driver.step(&self.text.as_bytes()[self.at..]);
            self.at += consumed;
            match step {
                StreamStep::Event(Event::Rejected(diagnostic))
                    if self.end.is_some() && diagnostic.code == Code::Truncated =>
                {
                    // Stop: after it, the driver would read its lines as records of their own.
                    self.is_over = true;
                    if self.is_after_array(diagnostic.span) {
                        break;
                    }
                    self.is_truncated = true;
                    let start = self.index(diagnostic.span.start);
                    self.gap += &self.text[self.from..start];
                    self.from = start;
                }
                StreamStep::Event(event) => {
                    let span = match &event {
                        Event::Record(record) => record.span,
                        Event::Rejected(diagnostic) | Event::Note(diagnostic) => diagnostic.span,
                        _ => continue,
                    };
                    if self.is_after_array(span) {
                        self.is_over = true;
                        break;
                    }
                    self.pass(span, matches!(event, Event::Record(_)));
                    return Some(event);
                }
                StreamStep::Repair(mut rejected) => {
                    let is_last = self.end == Some(SourceEnd::Failed);
                    let is_asked = !is_last && !self.is_after_array(rejected.diagnostic.span);
                    self.place_diagnostic(&mut rejected.diagnostic);
                    // Unless it is answered, the reject stands.
                    self.asked = is_asked.then_some(rejected);
                }
                // The driver ends once it has read everything.
                StreamStep::NeedInput if self.end.is_some() => self.driver.finish(SourceEnd::Clean),
                StreamStep::NeedInput => return None,
                StreamStep::Done => self.is_over = true,
            }
        }
        None
    }

    /// Whether the array ended before this span.
    fn is_after_array(&self, span: Span) -> bool {
        self.is_array && self.text[self.from..self.index(span.start)].contains(']')
    }

    /// The index in `text` of an offset, which is not before the end of the last event.
    fn index(&self, offset: u64) -> usize {
        (offset.saturating_sub(self.base) as usize).clamp(self.from, self.text.len())
    }

    /// Moves to the end of an event. The gap gets the text before a record, and the text of any other event.
    fn pass(&mut self, span: Span, is_record: bool) {
        let (start, end) = (self.index(span.start), self.index(span.end));
        let gap = &self.text[self.from..if is_record { start } else { end }];
        // Prose before a record is never this long. The quote makes the gap count as JSON.
        if self.gap.len() + gap.len() > MAX_HEAD {
            "\"".clone_into(&mut self.gap);
        } else {
            self.gap += gap;
        }
        self.from = end.min(self.at);
    }

    /// Takes the text between the last two records, without prose.
    pub(super) fn take_gap(&mut self) -> String {
        without_prose(&std::mem::take(&mut self.gap))
    }

    /// The event with its position in the response.
    pub(super) fn placed(&self, mut event: Event<Raw>) -> Event<Raw> {
        match &mut event {
            Event::Record(record) => self.place(&mut record.span, &mut record.line, &mut record.column),
            Event::Rejected(diagnostic) | Event::Note(diagnostic) => self.place_diagnostic(diagnostic),
            _ => {}
        }
        event
    }

    fn place_diagnostic(&self, diagnostic: &mut Diagnostic) {
        self.place(&mut diagnostic.span, &mut diagnostic.line, &mut diagnostic.column);
    }

    /// Changes a position to that in the response.
    fn place(&self, span: &mut Span, line: &mut u64, column: &mut u64) {
        let Some((from, to)) = self.places else { return };
        span.start = span.start.saturating_sub(from.offset) + to.offset;
        span.end = span.end.saturating_sub(from.offset) + to.offset;
        if *line <= from.line {
            let column_after = if *line < from.line { 0 } else { column.saturating_sub(from.column) };
            *column = column_after + to.column;
        }
        *line = line.saturating_sub(from.line) + to.line;
    }

    /// Whether the response ended inside a value.
    pub(super) fn is_truncated(&self) -> bool {
        self.is_truncated
    }

    /// The text that opens the array, if the open record or the next one is its first element.
    pub(super) fn opening(&self) -> Option<String> {
        let open = self.open();
        let before = match self.end {
            Some(_) if !open.is_empty() => "",
            _ if open.is_empty() => &self.text[self.from..],
            _ => &self.text[self.from..self.at - open.len()],
        };
        let before = without_prose(&[&self.gap, before].concat());
        before.trim_ascii_end().ends_with('[').then_some(before)
    }

    /// The open record.
    pub(super) fn open(&self) -> &str {
        if self.end.is_none() {
            return self.open_so_far();
        }
        let gap = without_prose(&self.gap);
        let is_record = is_plain(&gap) || gap.trim_ascii_end().ends_with('[');
        let open = if self.is_truncated && is_record { &self.text[self.from..] } else { "" };
        if open.starts_with('{') { open } else { "" }
    }

    fn open_so_far(&self) -> &str {
        if self.at <= self.from {
            return "";
        }
        let open = self.text[self.from..self.at].trim_start_matches([' ', '\t', '\r', '\n', ',', '[']);
        let is_open = open.starts_with('{') && Parser::new().resume(open) == Step::NeedMore;
        if is_open { open } else { "" }
    }

    /// The bytes of text that are held, counted twice because the driver may hold them as well.
    pub(super) fn held_bytes(&self) -> usize {
        2 * self.text.len() + self.gap.len()
    }
}

/// Whether there is nothing between two records but white space, commas and brackets that open an array.
pub(super) fn is_plain(gap: &str) -> bool {
    gap.chars().all(|char| matches!(char, ' ' | '\t' | '\r' | '\n' | ',' | '['))
}
