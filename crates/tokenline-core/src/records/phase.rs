//! The machine: what the bytes of a line mean, and when a record is released.

mod steps;

use super::line::{Fault, Line};
use super::window::Window;
use crate::json::{Kind, Parser, Value, error, parser::RawStep};
use crate::{Code, Completion, Diagnostic, Mode, Options, Record, Span};

/// What [`Machine::advance`] came to.
pub(super) enum Found<'w> {
    /// A record. `text` is its text where that was checked just now.
    Record { record: Record<()>, start: usize, end: usize, text: Option<&'w str> },
    /// Boxed, so that a record is moved about in few bytes.
    Diagnostic(Box<Diagnostic>),
    /// The window is used up.
    Nothing,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Before the first byte, where a byte order mark may stand.
    Start,
    /// Nothing but white space on the line so far.
    LineStart,
    /// Counting the marks that may make a code fence.
    Fence { marker: u8, count: u8 },
    /// Text, up to the next opener.
    Text,
    /// Inside a value.
    Value { start: u64 },
    /// A value is balanced; what follows decides whether it was whole.
    Sealing { start: u64, end: u64, comma: bool, released: bool },
    /// After a fault: up to where the brackets of the lost value balance.
    Skip { start: u64, depth: u32, in_string: bool, escaped: bool, is_data: bool },
    /// After a fault: up to the end of the line.
    Discard,
    /// A line of a lost region: up to its end, without a word.
    Inside,
    /// After the end of the input.
    Ended,
}

/// A value left open at the end of its line. Lines indented deeper than its first belong to it, so
/// that inner objects never pass for records.
#[derive(Clone, Copy, Debug)]
struct Region {
    /// White space before the line's text, in bytes.
    indent: u64,
    /// Whether it is an array whose elements are records, one or more a line.
    is_root_array: bool,
}

/// The state of decoding, apart from who holds the bytes.
#[derive(Debug)]
pub(super) struct Machine {
    options: Options,
    limit: u64,
    json: Parser,
    phase: Phase,
    line: Line,
    /// A value that was left open at the end of its line (lenient).
    region: Option<Region>,
    /// Offset of a carriage return before the window: it may belong to a line end.
    last_return: Option<u64>,
    scanned: u64,
}

impl Machine {
    pub(super) fn new(options: Options) -> Self {
        Self {
            limit: options.limits.effective_line_bytes(),
            json: Parser::new().with_limits(&options.limits).single_line(),
            options,
            phase: Phase::Start,
            line: Line::new(1, 0),
            region: None,
            last_return: None,
            scanned: 0,
        }
    }

    pub(super) fn reset(&mut self) {
        self.json.reset();
        self.phase = Phase::Start;
        self.line = Line::new(1, 0);
        self.region = None;
        self.last_return = None;
    }

    /// The parsed record that was found last.
    pub(super) fn value<'a>(&'a self, text: &'a str) -> Value<'a> {
        self.json.value(text)
    }

    pub(super) fn examined(&self) -> u64 {
        self.json.examined() + self.scanned
    }

    /// Offset in the stream of the open record's first byte, if one is open.
    pub(super) fn open_start(&self) -> Option<u64> {
        match self.phase {
            Phase::Value { start } | Phase::Sealing { start, released: false, .. } => Some(start),
            _ => None,
        }
    }

    /// Whether what comes is dropped, up to the end of the line or because the input has ended.
    pub(super) fn is_discarding(&self) -> bool {
        matches!(self.phase, Phase::Discard | Phase::Inside | Phase::Ended)
    }

    /// Goes on by `len` plain ASCII bytes, up to the offset `end`, if a string is open and the line
    /// stays within its limit.
    #[inline]
    pub(super) fn continue_string(&mut self, len: usize, end: u64) -> bool {
        matches!(self.phase, Phase::Value { .. })
            && end - self.line.start <= self.limit
            && self.json.continue_string(len)
    }

    /// Reads on from `at`, up to the next thing found or the end of the window.
    pub(super) fn advance<'w>(&mut self, window: &Window<'w>, at: &mut usize) -> Found<'w> {
        loop {
            let bytes = self.visible(window, *at);
            let before = *at;
            // The parser counts what it looks at itself.
            let is_scan = !matches!(self.phase, Phase::Value { .. });
            let found = match self.phase {
                Phase::Start => self.start(bytes, window, at),
                Phase::LineStart => self.line_start(bytes, window, at),
                Phase::Fence { marker, count } => self.fence(bytes, at, marker, count),
                Phase::Text => self.text(bytes, window, at),
                Phase::Value { start } => self.value_bytes(bytes, window, at, start),
                Phase::Sealing { start, end, comma, released } => {
                    self.sealing(bytes, window, at, (start, end), comma, released)
                }
                Phase::Skip { start, depth, in_string, escaped, is_data } => {
                    self.skip(bytes, window, at, (start, is_data), (depth, in_string, escaped))
                }
                Phase::Discard | Phase::Inside => self.discard(bytes, window, at),
                Phase::Ended => return Found::Nothing,
            };
            if is_scan {
                self.scanned += (*at - before) as u64;
            }
            if let Some(found) = found {
                self.note_return(window, *at);
                return found;
            }
            if *at == window.bytes.len() && window.is_checked && !window.ends_bad {
                self.note_return(window, *at);
                return Found::Nothing;
            }
            // More is visible once a line has ended or is discarded.
            let bytes = self.visible(window, *at);
            if *at < bytes.len() {
                continue;
            }
            if let Some(start) = self.open_start()
                && let Some(bad) = window.bad_utf8(window.index(start), bytes.len() - 1)
            {
                // Before the open record is carried over, or the limit is held against it.
                self.bad_utf8(window.offset(bad));
            } else if bytes.len() < window.bytes.len() {
                self.too_long();
            } else if window.ends_bad && !self.is_discarding() {
                match window.offset(*at) {
                    bad if bad - self.line.start > self.limit => self.too_long(),
                    bad => self.bad_utf8(bad),
                }
            } else {
                self.note_return(window, *at);
                return Found::Nothing;
            }
        }
    }

    /// Says that the input has ended after the window, whose bytes are all read. `cut` is how many
    /// bytes of a character came after them.
    pub(super) fn finish<'w>(
        &mut self,
        window: &Window<'w>,
        completion: Completion,
        cut: usize,
    ) -> Found<'w> {
        let end = window.offset(window.bytes.len());
        if cut > 0
            && !matches!(self.phase, Phase::Value { .. } | Phase::Discard | Phase::Inside | Phase::Ended)
        {
            self.bad_utf8(end);
        }
        if let Phase::Value { start } = self.phase {
            match self.json.finish_bytes(&window.bytes[window.index(start)..]) {
                RawStep::Complete { .. } => {
                    self.phase = Phase::Sealing { start, end, comma: false, released: false };
                }
                _ => {
                    let expected = self.json.expected();
                    let message = error::describe(expected, error::Found::EndOfInput);
                    self.fault(Code::Truncated, start, end, message, true);
                    self.phase = Phase::Discard;
                }
            }
        }
        let content_end = self.check_length(window, window.bytes.len());
        let content_end = if cut > 0 { end + cut as u64 } else { content_end };
        if let Phase::Sealing { start, end: record_end, released: false, .. } = self.phase {
            self.phase = Phase::Text;
            if let Some(found) = self.release(window, start, record_end, completion) {
                return found;
            }
        }
        if matches!(self.phase, Phase::Ended) {
            return Found::Nothing;
        }
        self.phase = Phase::Ended;
        self.line
            .end(content_end, end)
            .map_or(Found::Nothing, |diagnostic| Found::Diagnostic(Box::new(diagnostic)))
    }

    /// What of the window belongs to the line within its limit, or lies after it. One byte more is
    /// visible than the limit allows, for a carriage return, and the line feed after that.
    fn visible<'w>(&self, window: &Window<'w>, at: usize) -> &'w [u8] {
        let hard = self.line.start + self.limit + 1;
        let end = window.base + window.bytes.len() as u64;
        if hard >= end || self.is_discarding() {
            return window.bytes;
        }
        let hard = (hard.saturating_sub(window.base) as usize).max(at);
        match window.bytes.get(hard) {
            Some(b'\n') => &window.bytes[..=hard],
            _ => &window.bytes[..hard],
        }
    }

    /// `at` is on a line feed. Goes on to the next line.
    fn line_end<'w>(&mut self, window: &Window<'w>, at: &mut usize) -> Option<Found<'w>> {
        let content_end = self.check_length(window, *at);
        *at += 1;
        self.phase = Phase::LineStart;
        self.line
            .end(content_end, window.offset(*at))
            .map(|diagnostic| Found::Diagnostic(Box::new(diagnostic)))
    }

    /// Where the content of the line ends whose line feed, or the end of the input, is at `at`.
    fn content_end(&self, window: &Window<'_>, at: usize) -> u64 {
        let end = window.offset(at);
        let after_return = match at.checked_sub(1) {
            Some(before) => window.bytes[before] == b'\r',
            None => end > 0 && self.last_return == Some(end - 1),
        };
        if after_return && end > self.line.start { end - 1 } else { end }
    }

    /// The next window may start at `at`.
    fn note_return(&mut self, window: &Window<'_>, at: usize) {
        if let Some(before) = at.checked_sub(1)
            && window.bytes[before] == b'\r'
        {
            self.last_return = Some(window.offset(before));
        }
    }

    /// Holds the limit against the line that ends at `at`. Returns where its content ends.
    #[inline]
    fn check_length(&mut self, window: &Window<'_>, at: usize) -> u64 {
        let content_end = self.content_end(window, at);
        if content_end - self.line.start > self.limit {
            let open = self.open_start().map(|start| window.index(start));
            match open.and_then(|open| window.bad_utf8(open, at.saturating_sub(1))) {
                // What was wrong first is what is said.
                Some(bad) => self.bad_utf8(window.offset(bad)),
                None => self.too_long(),
            }
        }
        content_end
    }

    fn release_unless<'w>(
        &mut self,
        released: bool,
        window: &Window<'w>,
        start: u64,
        end: u64,
        completion: Completion,
    ) -> Option<Found<'w>> {
        if released { None } else { self.release(window, start, end, completion) }
    }

    /// Releases a balanced value, if it is an object, within the limit, and UTF-8. On a fault the
    /// phase says how to go on.
    #[inline]
    fn release<'w>(
        &mut self,
        window: &Window<'w>,
        start: u64,
        end: u64,
        completion: Completion,
    ) -> Option<Found<'w>> {
        if self.json.root_kind() != Kind::Object {
            self.not_an_object(window, start, end);
            return None;
        }
        if self.is_discarding() {
            return None;
        }
        let (from, to) = (window.index(start), window.index(end));
        let text = if window.is_checked {
            None
        } else {
            match simdutf8::basic::from_utf8(&window.bytes[from..to]) {
                Ok(text) => Some(text),
                Err(_) => {
                    let bad = window.bad_utf8(from, to).unwrap_or(from);
                    self.bad_utf8(window.offset(bad));
                    return None;
                }
            }
        };
        if end - self.line.start > self.limit {
            self.too_long();
            return None;
        }
        self.line.has_record = true;
        let record = Record {
            value: (),
            line: self.line.number,
            column: self.line.column(start),
            span: Span::new(start, end),
            completion,
        };
        Some(Found::Record { record, start: from, end: to, text })
    }

    fn not_an_object(&mut self, window: &Window<'_>, start: u64, end: u64) {
        let (from, to) = (window.index(start), window.index(end));
        self.phase = Phase::Text;
        if let Some(bad) = window.bad_utf8(from, to - 1) {
            return self.bad_utf8(window.offset(bad));
        }
        let kind = self.json.root_kind();
        // `[1]` is a citation where a record stands beside it; an array of objects is data.
        let is_data = self.options.mode == Mode::Strict || self.json.has_inner_object();
        let article = if kind == Kind::Array { "an" } else { "a" };
        let message = match kind {
            Kind::Null => "expected an object, found null".to_owned(),
            _ => format!("expected an object, found {article} {}", kind.as_str()),
        };
        self.fault(Code::NotAnObject, start, start, message, is_data);
        self.line.end_fault(start, end);
    }

    fn bad_utf8(&mut self, bad: u64) {
        if self.line.first.is_none() && self.begins_inside(bad) {
            return;
        }
        // The whole line is lost, not just the value.
        let start = *self.line.first.get_or_insert(bad);
        self.fault(Code::InvalidUtf8, start, bad, "the line is not UTF-8".to_owned(), true);
        self.phase = Phase::Discard;
    }

    fn too_long(&mut self) {
        let message = format!("the line is longer than {} bytes", self.limit);
        let start = self.line.start;
        self.fault(Code::LineTooLong, start, start + self.limit, message, true);
        self.line.first.get_or_insert(start);
        self.phase = Phase::Discard;
    }

    fn fault(&mut self, code: Code, start: u64, at: u64, message: String, is_data: bool) {
        self.line.add_fault(Fault { code, start, at, end: None, message, is_data });
    }
}
