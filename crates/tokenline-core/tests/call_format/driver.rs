//! A small driver of call readers, like a decoder of text, for any split.

use tokenline_core::call_format::{CallDetector, CallReader, CallStep, OpenerMatch, PassedRole};
use tokenline_core::json::Parser;
use tokenline_core::{CallFormat, Limits};

/// A call or fault in a text, with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Call {
        json: String,
        written: String,
        start: usize,
        is_confirmed: bool,
    },
    /// Text that a reader passed, as a whole.
    Passed {
        role: PassedRole,
        text: String,
    },
    Fault {
        code: &'static str,
        start: usize,
        at: usize,
        end: usize,
        message: String,
    },
}

/// Reads calls from text that arrives in chunks, without a decoder's records.
#[derive(Debug)]
pub(crate) struct Driver {
    detector: CallDetector,
    limits: Limits,
    /// The text that is kept, and how far it has been read.
    held: String,
    done: usize,
    /// Where the kept text begins in the input, and whether only white space is before that on its line.
    base: usize,
    is_line_start: bool,
    open: Option<(usize, Box<dyn CallReader>)>,
    /// The formats left to try for the text from here on.
    to_try: Vec<usize>,
    pub(crate) seen: Vec<Seen>,
}

impl Driver {
    pub(crate) fn new(detector: CallDetector) -> Self {
        Self {
            detector,
            limits: Limits::default(),
            held: String::new(),
            done: 0,
            base: 0,
            is_line_start: true,
            open: None,
            to_try: Vec::new(),
            seen: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, piece: &str) {
        self.held.push_str(piece);
        self.run(false);
    }

    pub(crate) fn finish(&mut self) {
        self.run(true);
    }

    fn run(&mut self, is_end: bool) {
        loop {
            if self.open.is_some() {
                if !self.read(is_end) {
                    return;
                }
            } else if let Some(index) = self.to_try.pop() {
                self.open = Some((index, self.detector.start(index, &self.limits)));
            } else if !self.search(is_end) {
                return;
            }
        }
    }

    fn search(&mut self, is_end: bool) -> bool {
        let rest = &self.held[self.done..];
        let (at, is_found) = match self.detector.openers().find(rest, 0, self.is_line_start, is_end) {
            OpenerMatch::None => (rest.len(), false),
            OpenerMatch::Partial { at } => (at, false),
            OpenerMatch::At { at } => (at, true),
        };
        self.skip_to(at);
        if is_found {
            let rest = &self.held[self.done..];
            self.to_try = self.detector.formats_at(rest, self.is_line_start, self.base == 0);
            self.to_try.reverse();
            if self.to_try.is_empty() {
                // A name of no tool.
                let first = rest.chars().next().map_or(0, char::len_utf8);
                self.skip_to(first);
            }
        }
        is_found
    }

    /// Drops the text up to `at`.
    fn skip_to(&mut self, at: usize) {
        for byte in &self.held.as_bytes()[self.done..self.done + at] {
            self.is_line_start = *byte == b'\n' || (self.is_line_start && matches!(byte, b' ' | b'\t'));
        }
        self.done += at;
        self.base += at;
        if self.done > self.held.len() / 2 {
            self.held.drain(..self.done);
            self.done = 0;
        }
    }

    fn read(&mut self, is_end: bool) -> bool {
        let Some((index, reader)) = &mut self.open else { return false };
        let index = *index;
        let text = &self.held[self.done..];
        match reader.read(text, is_end) {
            CallStep::NeedMore => {
                assert!(!is_end, "at the end there is no more: {text:?}");
                return false;
            }
            CallStep::Call(call) => {
                let written = &text[call.start..call.end];
                let json = call.json.unwrap_or_else(|| written.to_owned());
                let mut parser = Parser::new();
                let value = parser.parse(&json).expect("a call is JSON");
                assert!(value.as_object().is_some(), "a call is an object");
                if self.detector.admit_call(index, value) {
                    let (written, start) = (written.to_owned(), self.base + call.start);
                    self.seen.push(Seen::Call { json, written, start, is_confirmed: call.is_confirmed });
                }
                self.skip_to(call.end);
            }
            CallStep::Malformed(fault) => {
                assert!(fault.start <= fault.at && fault.at <= fault.end, "{fault:?}");
                self.seen.push(Seen::Fault {
                    code: fault.code.as_str(),
                    start: self.base + fault.start,
                    at: self.base + fault.at,
                    end: self.base + fault.end,
                    message: fault.message.into_owned(),
                });
                self.skip_to(fault.end);
            }
            CallStep::Passed { end, role } => {
                let passed = text[..end].to_owned();
                match self.seen.last_mut() {
                    Some(Seen::Passed { role: last, text }) if *last == role => text.push_str(&passed),
                    _ => self.seen.push(Seen::Passed { role, text: passed }),
                }
                self.skip_to(end);
            }
            CallStep::Done { end } => {
                self.skip_to(end);
                self.open = None;
                self.to_try.clear();
            }
            CallStep::NotACall => {
                self.open = None;
                if self.to_try.is_empty() {
                    // Another format may have an opener before the next one of this format.
                    let at = text.chars().next().map_or(0, char::len_utf8);
                    self.skip_to(at);
                }
            }
        }
        true
    }
}

pub(crate) fn read<'t>(detector: CallDetector, pieces: impl IntoIterator<Item = &'t str>) -> Vec<Seen> {
    let mut driver = Driver::new(detector);
    for piece in pieces {
        driver.push(piece);
    }
    driver.finish();
    driver.seen
}

/// Reads the text at once, in two chunks split at every position, and character by character; all must agree.
pub(crate) fn at_every_split(detector: &CallDetector, text: &str) -> Vec<Seen> {
    let whole = read(detector.clone(), [text]);
    let characters = || text.char_indices().map(|(at, char)| &text[at..at + char.len_utf8()]);
    assert_eq!(read(detector.clone(), characters()), whole, "by characters: {text}");
    let with_empty = characters().flat_map(|piece| ["", piece]);
    assert_eq!(read(detector.clone(), with_empty), whole, "with empty pieces: {text}");
    for (at, _) in text.char_indices() {
        let (left, right) = text.split_at(at);
        assert_eq!(read(detector.clone(), [left, right]), whole, "cut at {at}: {text}");
    }
    // Nothing depends on whether the end is known from the start.
    let mut driver = Driver::new(detector.clone());
    driver.held.push_str(text);
    driver.finish();
    assert_eq!(driver.seen, whole, "ended at once: {text}");
    whole
}

impl Seen {
    pub(crate) fn summary(&self) -> String {
        match self {
            Self::Call { json, is_confirmed: true, .. } => json.clone(),
            Self::Call { json, .. } => format!("unsealed {json}"),
            Self::Passed { role, text } => format!("{role:?} {text}"),
            Self::Fault { code, at, message, .. } => format!("{code} at {at}: {message}"),
        }
    }
}

/// The calls and faults that a format finds in a text, split at every position.
pub(crate) fn found(format: &CallFormat, text: &str) -> Vec<String> {
    at_every_split(&format.detector(), text).iter().map(Seen::summary).collect()
}

/// Checks a table of texts with their calls and faults.
pub(crate) fn check(format: &CallFormat, table: &[(&str, &[&str])]) {
    let differing: Vec<_> = table
        .iter()
        .map(|(text, expected)| (text, found(format, text), expected))
        .filter(|(_, found, expected)| found != *expected)
        .collect();
    assert!(differing.is_empty(), "{differing:#?}");
}
