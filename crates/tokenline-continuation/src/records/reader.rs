//! Reads the records of one response.

use tokenline_core::adapter::{Driver, SourceEnd, StreamMachine as _, StreamStep};
use tokenline_core::json::{Parser, Raw, Step};
use tokenline_core::{Code, Event, Options, Span};

use super::progress::Form;
use super::repair::Repair;
use crate::text::behind_thought;
use crate::tokens::first_name;

/// Reads the records of one response with the scanner, and keeps the text of the open one.
#[derive(Debug)]
pub(super) struct Reader {
    driver: Driver<Raw>,
    /// The text that the driver reads.
    text: String,
    /// Where that begins in the response.
    base: u64,
    /// The end of the last event in it.
    from: usize,
    /// The end of what the driver has read.
    at: usize,
    /// The beginning of a response that continues an array, until it shows how.
    head: Option<Head>,
    /// Where the array of such a response begins and ends.
    array: Option<Array>,
    /// The text between the last two records.
    gap: String,
    /// Whether the next record may stand inside another value.
    may_have_wrapper: bool,
    /// How the response ended; failed if more would have come.
    end: Option<SourceEnd>,
    is_truncated: bool,
    /// Whether the open record is the first element of an array.
    is_first_element: bool,
    /// The open record, once the response has ended.
    open: String,
    is_over: bool,
}

/// How much may stand before the first record, in bytes.
const MAX_HEAD: usize = 64 * 1024;

/// The first text of a response that continues an array.
#[derive(Debug)]
struct Head {
    text: String,
    options: Options,
    /// The name of the first member around the array.
    wrapper: Option<String>,
}

/// An array that the response continues. Nothing that follows it is a record.
#[derive(Debug)]
struct Array {
    /// The offset and the line of the bracket, if it was put in.
    bracket: Option<(u64, u64)>,
    /// Whether the bracket that was put in is before the next record.
    is_bracket_next: bool,
}

impl Reader {
    /// For a response that begins as the list does.
    pub(super) fn new(options: &Options) -> Self {
        Self {
            driver: Driver::new(options.clone()).with_repair_steps(),
            text: String::new(),
            base: 0,
            from: 0,
            at: 0,
            head: None,
            array: None,
            gap: String::new(),
            may_have_wrapper: options.looks_for_items(),
            end: None,
            is_truncated: false,
            is_first_element: false,
            open: String::new(),
            is_over: false,
        }
    }

    /// For a response that begins among records, or with what is around them.
    pub(super) fn among(options: &Options, form: Form, wrapper: Option<&str>) -> Self {
        let plain = options.clone().items("").unwrap_or_else(|_| options.clone());
        let mut reader = Self::new(&plain);
        if form == Form::Elements {
            let wrapper = wrapper.map(str::to_owned);
            reader.head = Some(Head { text: String::new(), options: options.clone(), wrapper });
        }
        reader
    }

    /// Reads nothing more: the array is closed.
    pub(super) fn close(&mut self) {
        self.head = None;
        self.is_over = true;
    }

    /// Expects elements of the array next, not the value around it.
    pub(super) fn expect_elements(&mut self) {
        if let Some(head) = &mut self.head {
            head.wrapper = None;
        }
    }

    pub(super) fn push(&mut self, text: &str) {
        match &mut self.head {
            Some(head) => {
                head.text += text;
                let is_long = head.text.len() > MAX_HEAD;
                self.read_head();
                if is_long && let Some(head) = self.head.take() {
                    // It is prose.
                    self.push_text(&head.text);
                }
            }
            None => self.push_text(text),
        }
    }

    /// Finds out how a response that continues an array begins.
    fn read_head(&mut self) {
        let Some(head) = &self.head else { return };
        let text = &head.text;
        let Some(found) = behind_thought(text).and_then(|from| Some(from + text[from..].find(['{', '['])?))
        else {
            return;
        };
        let is_array = text[found..].starts_with('[');
        if let Some(wrapper) = head.wrapper.as_deref().filter(|_| !is_array) {
            let Some(name) = first_name(&text[found..]) else { return };
            if name == wrapper {
                // The value around the records is written again.
                let Head { text, options, .. } = self.head.take().expect("it is there");
                *self = Self { end: self.end, ..Self::new(&options) };
                return self.push_text(&text);
            }
        }
        let Head { text, .. } = self.head.take().expect("it is there");
        let (before, rest) = text.split_at(found);
        self.push_text(before);
        let lines = before.matches('\n').count() as u64 + 1;
        let bracket = (!is_array).then_some((found as u64, lines));
        self.array = Some(Array { bracket, is_bracket_next: !is_array });
        if !is_array {
            self.push_text("[");
        }
        self.push_text(rest);
    }

    fn push_text(&mut self, text: &str) {
        // Forgets the text up to the last event.
        self.text.drain(..self.from);
        self.base += self.from as u64;
        self.at -= self.from;
        self.from = 0;
        self.text += text;
    }

    /// Ends the response. `end` is clean if its end is that of the list.
    pub(super) fn finish(&mut self, end: SourceEnd) {
        if self.end.is_none() {
            self.end = Some(end);
            if let Some(head) = self.head.take() {
                self.push_text(&head.text);
            }
        }
    }

    /// The next event. What is malformed is asked about, unless it may be the rest of an open record.
    pub(super) fn next(&mut self, repair: &mut Repair, may_be_rest: bool) -> Option<Event<Raw>> {
        while !self.is_over {
            let (consumed, step) = self.driver.step(&self.text.as_bytes()[self.at..]);
            self.at += consumed;
            match step {
                StreamStep::Event(Event::Rejected(diagnostic))
                    if self.end.is_some() && diagnostic.code == Code::Truncated =>
                {
                    // After it, its lines would be read as records of their own.
                    self.is_over = true;
                    if self.is_behind_array(diagnostic.span) {
                        break;
                    }
                    let start = self.index(diagnostic.span.start);
                    let before = &self.text[self.from..start];
                    self.is_truncated = true;
                    self.is_first_element = before.trim_ascii_end().ends_with('[');
                    self.gap += before;
                    if self.take_gap().is_some() && self.text[start..].starts_with('{') {
                        self.text[start..].clone_into(&mut self.open);
                    }
                }
                StreamStep::Event(event) => {
                    let span = match &event {
                        Event::Record(record) => record.span,
                        Event::Rejected(diagnostic) | Event::Note(diagnostic) => diagnostic.span,
                        _ => continue,
                    };
                    if self.is_behind_array(span) {
                        self.is_over = true;
                        break;
                    }
                    self.pass(span, matches!(event, Event::Record(_)));
                    return Some(self.placed(event));
                }
                StreamStep::Repair(rejected) => {
                    let is_last = self.end == Some(SourceEnd::Failed);
                    let is_rest = may_be_rest && !rejected.text.trim_ascii_start().starts_with('{');
                    let is_asked = !is_last && !is_rest && !self.is_behind_array(rejected.diagnostic.span);
                    let replacement = if is_asked { repair.ask(*rejected) } else { None };
                    self.driver.resume(replacement);
                }
                // The driver ends once it has read everything.
                StreamStep::NeedInput if self.end.is_some() => self.driver.finish(SourceEnd::Clean),
                StreamStep::NeedInput => return None,
                StreamStep::Done => self.is_over = true,
            }
        }
        None
    }

    /// Whether the array ended before this.
    fn is_behind_array(&self, span: Span) -> bool {
        self.array.is_some() && self.text[self.from..self.index(span.start)].contains(']')
    }

    /// The place of an offset in the text behind the last event.
    fn index(&self, offset: u64) -> usize {
        (offset.saturating_sub(self.base) as usize).clamp(self.from, self.text.len())
    }

    /// Goes behind an event. The text before a record, or of anything else, belongs to the gap.
    fn pass(&mut self, span: Span, is_record: bool) {
        let (start, end) = (self.index(span.start), self.index(span.end));
        let gap = &self.text[self.from..if is_record { start } else { end }];
        // No prose before a record is as long. The quote stands for JSON.
        if self.gap.len() + gap.len() > MAX_HEAD {
            "\"".clone_into(&mut self.gap);
        } else {
            self.gap += gap;
        }
        self.from = end.min(self.at);
    }

    /// The text between the record that came last and the one before, without prose: white space, a comma, a bracket.
    /// `None` if there is more. Asked once a record.
    pub(super) fn take_gap(&mut self) -> Option<String> {
        let mut gap = std::mem::take(&mut self.gap);
        if let Some(array) = &mut self.array
            && std::mem::take(&mut array.is_bracket_next)
            && let Some(at) = gap.rfind('[')
        {
            gap.remove(at);
        }
        let may_have_wrapper = std::mem::take(&mut self.may_have_wrapper);
        let gap = without_prose(&gap);
        let is_plain = gap.chars().all(|char| matches!(char, ' ' | '\t' | '\r' | '\n' | ',' | '['));
        let is_wrapper =
            || may_have_wrapper && Parser::new().resume(gap.trim_ascii_start()) == Step::NeedMore;
        (is_plain || is_wrapper()).then_some(gap)
    }

    /// The event at its place in the response.
    fn placed(&self, mut event: Event<Raw>) -> Event<Raw> {
        let bracket = self.array.as_ref().and_then(|array| array.bracket);
        let Some((at, line)) = bracket else { return event };
        let shift = |span: &mut Span, in_line: u64, column: &mut u64| {
            span.start -= u64::from(span.start > at);
            span.end -= u64::from(span.end > at);
            *column -= u64::from(in_line == line && *column > 1);
        };
        match &mut event {
            Event::Record(record) => shift(&mut record.span, record.line, &mut record.column),
            Event::Rejected(diagnostic) | Event::Note(diagnostic) => {
                shift(&mut diagnostic.span, diagnostic.line, &mut diagnostic.column);
            }
            _ => {}
        }
        event
    }

    /// Whether the response ended inside a value.
    pub(super) fn is_truncated(&self) -> bool {
        self.is_truncated
    }

    /// Whether the open record is the first element of an array.
    pub(super) fn is_first_element(&self) -> bool {
        let open = self.open_so_far();
        match self.end {
            Some(_) => self.is_first_element,
            None if open.is_empty() => false,
            None => self.text[self.from..self.at - open.len()].trim_ascii_end().ends_with('['),
        }
    }

    /// The open record.
    pub(super) fn open(&self) -> &str {
        match self.end {
            Some(_) if !self.is_truncated => "",
            Some(_) => &self.open,
            None => self.open_so_far(),
        }
    }

    fn open_so_far(&self) -> &str {
        let open = self.text[self.from..self.at].trim_start_matches([' ', '\t', '\r', '\n', ',', '[']);
        let is_open = open.starts_with('{') && Parser::new().resume(open) == Step::NeedMore;
        if is_open { open } else { "" }
    }

    /// Bytes of text that are held, twice where the driver has them as well.
    pub(super) fn held_bytes(&self) -> usize {
        2 * self.text.len()
            + self.gap.len()
            + self.open.len()
            + self.head.as_ref().map_or(0, |head| head.text.len())
    }
}

/// What stands before a record, without prose on lines of its own and the opening of a fence.
pub(super) fn without_prose(text: &str) -> String {
    let text = &text[behind_thought(text).unwrap_or_default()..];
    let is_prose = |line: &str| {
        let line = line.trim();
        line.ends_with("```")
            || line.starts_with("```")
            || (line.contains(char::is_alphabetic)
                && !line.contains(['{', '}', '[', ']', '"'])
                && !line.ends_with(','))
    };
    text.split_inclusive('\n').filter(|line| !(line.ends_with('\n') && is_prose(line))).collect()
}
