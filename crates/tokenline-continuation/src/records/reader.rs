//! Reads the records of one response.

use tokenline_core::adapter::{Driver, SourceEnd, StreamMachine as _, StreamStep};
use tokenline_core::json::{Parser, Raw, Step};
use tokenline_core::{Code, Event, Options, Span};

use super::progress::Form;
use super::repair::Repair;

/// Reads the records of one response with the scanner, and keeps the text of the open one.
#[derive(Debug)]
pub(super) struct Reader {
    driver: Driver<Raw>,
    /// What was read: from the last event on, and what is not read yet.
    text: String,
    /// Where that begins in what the driver reads.
    base: u64,
    /// How much of it the driver has.
    at: usize,
    /// What is among the elements of an array, until it is known how that begins.
    head: Option<Head>,
    /// The bracket that was put before elements.
    bracket: Option<Bracket>,
    /// The text between the last two records.
    gap: String,
    /// Whether a record may stand after other JSON: the value around it.
    may_have_wrapper: bool,
    /// Whether the source has ended, and whether more would have come.
    end: Option<SourceEnd>,
    is_truncated: bool,
    /// Whether the open record is the first element of an array.
    is_first_element: bool,
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

/// Follows the array, after which there are no records.
#[derive(Debug)]
struct Bracket {
    /// Where it was put. `None` if the response has one itself.
    at: Option<(u64, u64)>,
    /// Whether it is in the text before the next record.
    is_in_text: bool,
    depth: u32,
    in_string: bool,
    is_escaped: bool,
}

impl Reader {
    /// For a response that begins as the list does.
    pub(super) fn new(options: &Options) -> Self {
        Self {
            driver: Driver::new(options.clone()).with_repair_steps(),
            text: String::new(),
            base: 0,
            at: 0,
            head: None,
            bracket: None,
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

    /// Says that the array is over: what follows is not read.
    pub(super) fn close(&mut self) {
        self.head = None;
        self.bracket = Some(Bracket {
            at: None,
            is_in_text: false,
            depth: u32::MAX,
            in_string: false,
            is_escaped: false,
        });
    }

    /// Says that what follows does not begin with what is around the array.
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

    /// Looks how a response among elements begins.
    fn read_head(&mut self) {
        let Some(head) = &self.head else { return };
        let text = &head.text;
        let thought = match text.trim_ascii_start().starts_with("<think") {
            true => text.find("</think>"),
            false => Some(0),
        };
        let Some(found) = thought.and_then(|from| Some(from + text[from..].find(['{', '['])?)) else {
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
        let at = (!is_array).then_some((found as u64, lines));
        self.bracket = Some(Bracket { at, is_in_text: true, depth: 0, in_string: false, is_escaped: false });
        if !is_array {
            self.push_text("[");
        }
        self.push_text(rest);
    }

    fn push_text(&mut self, text: &str) {
        let end = match &mut self.bracket {
            Some(bracket) => bracket.end(text),
            None => text.len(),
        };
        self.text += &text[..end];
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
                    let from = diagnostic.span.start.saturating_sub(self.base) as usize;
                    self.is_truncated = true;
                    self.is_first_element =
                        self.text.get(..from).is_some_and(|text| text.trim_ascii_end().ends_with('['));
                    self.gap += self.text.get(..from).unwrap_or_default();
                    self.open = match self.take_gap() {
                        Some(_) if self.text[from..].starts_with('{') => self.text[from..].to_owned(),
                        _ => String::new(),
                    };
                    // After it, its lines would be read as records of their own.
                    self.is_over = true;
                }
                StreamStep::Event(event) => {
                    let span = match &event {
                        Event::Record(record) => record.span,
                        Event::Rejected(diagnostic) | Event::Note(diagnostic) => diagnostic.span,
                        _ => continue,
                    };
                    self.pass(span, matches!(event, Event::Record(_)));
                    return Some(self.placed(event));
                }
                StreamStep::Repair(rejected) => {
                    let is_last = self.end == Some(SourceEnd::Failed);
                    let is_rest = may_be_rest && !rejected.text.trim_ascii_start().starts_with('{');
                    let replacement = if is_last || is_rest { None } else { repair.ask(*rejected) };
                    self.driver.resume(replacement);
                }
                // Its end is told once all of it is read.
                StreamStep::NeedInput if self.end.is_some() => self.driver.finish(SourceEnd::Clean),
                StreamStep::NeedInput => return None,
                StreamStep::Done => self.is_over = true,
            }
        }
        None
    }

    /// Forgets the text up to the end of an event.
    fn pass(&mut self, span: Span, is_record: bool) {
        let at = |offset: u64| (offset.saturating_sub(self.base) as usize).min(self.text.len());
        let (start, end) = (at(span.start), at(span.end));
        let gap = if is_record { &self.text[..start] } else { &self.text[..end] };
        // So much is no prose before a record. The quote says so.
        if self.gap.len() + gap.len() > MAX_HEAD {
            "\"".clone_into(&mut self.gap);
        } else {
            self.gap += gap;
        }
        self.text.drain(..end);
        self.base += end as u64;
        self.at -= end.min(self.at);
    }

    /// The text between the record that came last and the one before, without prose: white space, a comma, a bracket.
    /// `None` if there is more. Asked once a record.
    pub(super) fn take_gap(&mut self) -> Option<String> {
        let mut gap = std::mem::take(&mut self.gap);
        if let Some(Bracket { at: Some(_), is_in_text, .. }) = &mut self.bracket
            && std::mem::take(is_in_text)
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

    /// What follows the last event, up to the second byte that is not white space. `None` if that has not come.
    pub(super) fn following(&self) -> Option<&str> {
        let mut solid = self.text.char_indices().filter(|(_, char)| !char.is_ascii_whitespace());
        let first = solid.next()?;
        let (at, last) = if first.1 == ',' { solid.next()? } else { first };
        Some(&self.text[..at + last.len_utf8()])
    }

    /// The event at its place in the response.
    fn placed(&self, mut event: Event<Raw>) -> Event<Raw> {
        let Some((at, line)) = self.bracket.as_ref().and_then(|bracket| bracket.at) else { return event };
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

    pub(super) fn is_first_element(&self) -> bool {
        self.is_first_element
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
        let open = self.text[..self.at].trim_start_matches([' ', '\t', '\r', '\n', ',', '[']);
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

impl Bracket {
    /// How much of the text is inside the array.
    fn end(&mut self, text: &str) -> usize {
        if self.depth == u32::MAX {
            return 0;
        }
        for (at, byte) in text.bytes().enumerate() {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.in_string => self.is_escaped = true,
                b'"' => self.in_string = !self.in_string,
                b'{' | b'[' if !self.in_string => self.depth += 1,
                b'}' | b']' if !self.in_string => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        self.depth = u32::MAX;
                        return at + 1;
                    }
                }
                _ => {}
            }
        }
        text.len()
    }
}

/// What stands before a record, without prose on lines of its own and the opening of a fence.
pub(super) fn without_prose(text: &str) -> String {
    let text =
        match text.trim_ascii_start().strip_prefix("<think").and_then(|rest| rest.split_once("</think>")) {
            Some((_, rest)) => rest,
            None => text,
        };
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

/// The name of the first member, as it is written.
pub(super) fn first_name(object: &str) -> Option<&str> {
    let name = object.strip_prefix('{')?.trim_ascii_start();
    if name.starts_with('}') {
        return Some("");
    }
    let name = name.strip_prefix('"')?;
    let mut is_escaped = false;
    let end = name.find(|char| {
        let is_end = char == '"' && !is_escaped;
        is_escaped = char == '\\' && !is_escaped;
        is_end
    })?;
    Some(&name[..end])
}
