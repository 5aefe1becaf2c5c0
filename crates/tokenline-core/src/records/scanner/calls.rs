//! Tool calls that are not JSON objects: finds them in text, and drives their readers.

use std::sync::Arc;

use memchr::{memchr_iter, memrchr};

use super::{Outcome, Scanner, State, Step};
use crate::call_format::{CallDetector, CallReader, CallStep, CallText, Growth, OpenerMatch, PassedRole};
use crate::json::Parser;
use crate::json::parser::RawStep;
use crate::records::cursor::Cursor;
use crate::{
    Code, CompletedBy, Diagnostic, Limits, Mode, OpenCall, Options, Record, Recovered, Recovery, Span,
    ToolCall, ValidateCall,
};

/// The state of looking for calls in a text.
#[derive(Debug)]
pub(super) struct Calls {
    pub(super) detector: CallDetector,
    limits: Limits,
    reader: Option<(usize, Box<dyn CallReader>)>,
    /// The offset of the opener.
    opener: u64,
    /// The formats left to try for the text from the opener on, last first.
    to_try: Vec<usize>,
    /// Whether an opener was found there, and its first word.
    is_matched: bool,
    word: String,
    /// Offset up to which no line begins with another such opener.
    lines_from: u64,
    /// The offset of the text's first byte that is not white space.
    first: u64,
    /// An offset that is not an opener.
    passed: Option<u64>,
    /// The call found last, if it was not written as JSON.
    json: String,
    /// How the call grows that begins at the offset.
    growth: (u64, Growth),
}

/// The widest indentation of an opener that begins a line inside another call.
const MAX_INDENT: usize = 256;

/// The longest opener.
const MAX_OPENER: usize = 256;

impl Calls {
    /// For a lenient parser with [`Options::calls`].
    pub(super) fn from_options(options: &Options) -> Option<Self> {
        let format = options.calls.as_ref().filter(|_| options.mode == Mode::Lenient)?;
        Some(Self {
            detector: format.detector(),
            limits: options.limits,
            reader: None,
            opener: 0,
            to_try: Vec::new(),
            is_matched: false,
            word: String::new(),
            lines_from: 0,
            first: u64::MAX,
            passed: None,
            json: String::new(),
            growth: (u64::MAX, Growth::default()),
        })
    }

    pub(super) fn reset(&mut self) {
        self.detector.reset();
        (self.reader, self.passed, self.first, self.growth.0) = (None, None, u64::MAX, u64::MAX);
    }

    /// Takes note of the first byte of a line that is not white space.
    pub(super) fn begin_text(&mut self, offset: u64) {
        self.first = self.first.min(offset);
    }

    /// Thinking has ended, and the text begins after it.
    pub(super) fn restart_text(&mut self) {
        self.first = u64::MAX;
    }

    /// The call found last, if it was not written as JSON.
    pub(super) fn text(&self) -> &str {
        &self.json
    }

    /// Whether an opener may begin with this byte at this offset.
    fn may_begin(&self, offset: u64, byte: u8, is_line_start: bool) -> bool {
        self.passed != Some(offset) && self.detector.openers().may_begin(byte, is_line_start)
    }
}

impl Scanner {
    pub(in crate::records) fn set_tools(&mut self, tools: Arc<dyn ValidateCall + Send + Sync>) {
        if let Some(calls) = &mut self.calls {
            calls.detector = calls.detector.clone().with_tools(tools);
        }
    }

    /// The text of the call found last.
    pub(in crate::records) fn call_text(&self) -> &str {
        self.calls.as_ref().map_or("", |calls| calls.text())
    }

    /// The next byte that may begin an opener, or that ends text.
    pub(super) fn next_opener(&self, bytes: &[u8]) -> Option<usize> {
        let openers = self.calls.as_ref()?.detector.openers();
        bytes.iter().position(|byte| matches!(byte, b'{' | b'[' | b'\n') || openers.may_begin(*byte, false))
    }

    /// The open call, in the text that begins with it, or before it.
    pub(in crate::records) fn open_call<'a>(&'a mut self, text: &'a str, from: u64) -> Option<OpenCall<'a>> {
        let is_object = !matches!(self.state, State::Call { .. });
        let Calls { detector, reader, growth: (grows_from, growth), .. } = &mut **self.calls.as_mut()?;
        let (index, call) = match reader {
            _ if is_object => (None, ToolCall::so_far(self.json.snapshot(text)?, 0)?),
            Some((index, reader)) => (Some(*index), reader.call_so_far(text)?),
            None => return None,
        };
        if !detector.admits_open(index, &call) {
            return None;
        }
        let start = from + call.start as u64;
        if std::mem::replace(grows_from, start) != start {
            growth.clear();
        }
        growth.take(&call, detector.tools());
        Some(OpenCall { start, name: call.name, call_id: call.call_id, parameters: growth.json() })
    }

    /// Begins to look for a call at this offset, if there may be one.
    pub(super) fn may_begin_call(&mut self, offset: u64, byte: u8) -> bool {
        let is_line_start = self.line.first == Some(offset);
        let Some(calls) = &mut self.calls else { return false };
        if !calls.may_begin(offset, byte, is_line_start) {
            return false;
        }
        (calls.reader, calls.is_matched) = (None, false);
        calls.to_try.clear();
        (calls.opener, calls.lines_from) = (offset, offset);
        self.counted_from = offset;
        self.state = State::Call { start: offset };
        true
    }

    /// Reads on in a possible call, which begins at `start`.
    #[inline(never)]
    pub(super) fn call(&mut self, cursor: &mut Cursor<'_>, mut start: u64, end: Option<CompletedBy>) -> Step {
        let is_end = end.is_some();
        loop {
            let text = cursor.text_between(cursor.index(start), cursor.end());
            let calls = self.calls.as_mut()?;
            let Some((index, reader)) = &mut calls.reader else {
                if let Some(index) = calls.to_try.pop() {
                    calls.reader = Some((index, calls.detector.start(index, &calls.limits)));
                    continue;
                }
                let is_line_start = self.line.first == Some(start);
                let matched = if calls.is_matched {
                    OpenerMatch::None
                } else {
                    find_here(calls, text, is_line_start, is_end)
                };
                match matched {
                    OpenerMatch::At { .. } => {
                        calls.is_matched = true;
                        calls.detector.openers().word_at(text).clone_into(&mut calls.word);
                        calls.to_try = calls.detector.formats_at(
                            text,
                            is_line_start,
                            is_line_start && start == calls.first,
                        );
                        calls.to_try.reverse();
                        continue;
                    }
                    OpenerMatch::Partial { .. } => {
                        cursor.at = cursor.end();
                        return None;
                    }
                    OpenerMatch::None => {
                        // Ordinary text.
                        calls.passed = Some(start);
                        cursor.seek(start);
                        self.counted_from = self.line.start;
                        self.state = if is_line_start { State::LineStart } else { State::Text };
                        return None;
                    }
                }
            };
            let index = *index;
            // A call that is left open ends where another begins a line.
            let next = next_call(&calls.detector, &calls.word, text, start, &mut calls.lines_from);
            let (text, is_cut) = match next {
                NextCall::None => (text, false),
                NextCall::May { at } if !is_end => (&text[..at], false),
                NextCall::May { .. } => (text, false),
                NextCall::At { at } => (&text[..at], true),
            };
            let step = match reader.read(text, is_end && !is_cut) {
                CallStep::NeedMore if is_cut && reader.is_in_text() => {
                    calls.lines_from = start + text.len() as u64;
                    continue;
                }
                CallStep::NeedMore if is_cut => reader.read(text, true),
                step => step,
            };
            match step {
                CallStep::NeedMore if !is_end && !is_cut => {
                    cursor.at = cursor.end();
                    return None;
                }
                CallStep::NeedMore if text.trim().is_empty() => {
                    let next = start + text.len() as u64;
                    self.pass_lines(text, start, 0, text.len());
                    self.end_calls(cursor, next);
                    return None;
                }
                CallStep::NeedMore => {
                    let (message, code) = if is_cut {
                        ("another tool call begins inside this one", Code::MalformedJson)
                    } else {
                        ("the text ended inside a tool call", Code::Truncated)
                    };
                    let outcome = self.call_fault(text, start, code, (0, text.len(), text.len()), message);
                    self.end_calls(cursor, start + text.len() as u64);
                    return Some(outcome);
                }
                CallStep::Call(call) => {
                    let next = start + call.end as u64;
                    let outcome = self.accept_call(text, start, index, call, end);
                    start = next;
                    self.state = State::Call { start };
                    self.counted_from = start;
                    cursor.seek(start);
                    if outcome.is_some() || self.late_reject.is_some() {
                        return outcome;
                    }
                }
                CallStep::Malformed(fault) => {
                    self.end = self.end.or(end);
                    // The reader may be the user's own.
                    let end = fault.end.min(text.len());
                    let end = call_line(calls, &text[..end], fault.at).unwrap_or(end);
                    let fault_at = fault.at.min(end);
                    let places = (fault.start.min(fault_at), fault_at, end);
                    let outcome = self.call_fault(text, start, fault.code, places, &fault.message);
                    start += end as u64;
                    self.state = State::Call { start };
                    self.counted_from = start;
                    cursor.seek(start);
                    return Some(outcome);
                }
                CallStep::Passed { end, role } => {
                    calls.detector.admit_message(index);
                    let next = start + end as u64;
                    match (&mut self.segments, role) {
                        (Some(segments), PassedRole::Markup) => segments.markup(next),
                        (Some(segments), PassedRole::Reasoning) => segments.reasoning(next),
                        (Some(segments), _) => segments.text(next),
                        (None, _) => {}
                    }
                    self.pass_lines(text, start, 0, end);
                    start = next;
                    self.state = State::Call { start };
                    self.counted_from = start;
                    cursor.seek(start);
                    if self.late_reject.is_some() {
                        return None;
                    }
                }
                // A reader of the user's own may call it a run without calls.
                CallStep::Done { end } if start + end as u64 == calls.opener => calls.reader = None,
                CallStep::Done { end } => {
                    calls.detector.end_run(index);
                    if let Some(segments) = &mut self.segments {
                        segments.markup(start + end as u64);
                    }
                    self.pass_lines(text, start, 0, end);
                    self.end_calls(cursor, start + end as u64);
                    return None;
                }
                CallStep::NotACall => {
                    calls.reader = None;
                    self.end = self.end.or(end);
                }
            }
        }
    }

    /// Ends the run of calls; ordinary text follows from `next` on.
    fn end_calls(&mut self, cursor: &mut Cursor<'_>, next: u64) {
        cursor.seek(next);
        if let Some(calls) = &mut self.calls {
            calls.reader = None;
            calls.to_try.clear();
        }
        self.line.first.get_or_insert(next);
        self.line.is_markup_only = true;
        self.counted_from = next.max(self.line.start);
        self.state = State::Text;
    }

    /// Accepts a complete call, if it counts as one; `from` is the offset of the text's first byte.
    fn accept_call(
        &mut self,
        text: &str,
        from: u64,
        format: usize,
        call: CallText,
        end: Option<CompletedBy>,
    ) -> Step {
        self.pass_lines(text, from, 0, call.start);
        let span = Span::new(from + call.start as u64, from + call.end as u64);
        let (line, column) = (self.line.number, self.line.column(span.start));
        self.pass_lines(text, from, call.start, call.end);
        let is_converted = call.json.is_some();
        let calls = self.calls.as_mut()?;
        let written = &text[call.start..call.end];
        let json = match call.json {
            Some(json) => {
                calls.json = json;
                &calls.json
            }
            None => written,
        };
        // The reader has already examined it.
        if !self.json.uncounted(|parser| parse(parser, json))
            || !calls.detector.admit_call(format, self.json.value(json))
        {
            if let Some(segments) = &mut self.segments {
                segments.text(span.end);
            }
            return None;
        }
        let mut recovered = Recovered::NONE
            .with(Recovery::CallFormat)
            .with_if(self.thinking.is_text, Recovery::ThinkUnclosed);
        if call.is_untyped
            && let Some(typed) = calls.detector.type_call(self.json.value(json))
            && self.json.uncounted(|parser| parse(parser, &typed))
        {
            calls.json = typed;
            recovered = recovered.with(Recovery::ParametersTyped);
        }
        if let Some(segments) = &mut self.segments {
            segments.pass(span);
            segments.push_event();
        }
        self.line.has_record = true;
        let at_end = if call.is_confirmed { self.end } else { end };
        let completion = at_end.unwrap_or(CompletedBy::Text);
        if call.is_end_missing {
            recovered = recovered.with(Recovery::CallEndMissing);
        }
        self.record = Record { value: (), line, column, span, completion, recovered };
        Some(if is_converted { Outcome::Call } else { Outcome::Record })
    }

    /// Reports a malformed call: its first byte, the byte at fault, and its end.
    fn call_fault(
        &mut self,
        text: &str,
        from: u64,
        code: Code,
        (start, fault, end): (usize, usize, usize),
        message: &str,
    ) -> Outcome {
        self.pass_lines(text, from, 0, fault);
        let (line, column) = (self.line.number, self.line.column(from + fault as u64));
        self.pass_lines(text, from, fault, end);
        self.line.is_markup_only = true;
        let span = Span::new(from + start as u64, from + end as u64);
        self.report(Diagnostic::new(code, line, span, column, message))
    }

    /// Skips a part of the text that begins at `from`, and the lines that end in it.
    fn pass_lines(&mut self, text: &str, from: u64, start: usize, end: usize) {
        self.scanned += (end - start) as u64;
        for line_feed in memchr_iter(b'\n', &text.as_bytes()[start..end]) {
            let next = from + (start + line_feed) as u64 + 1;
            let mut line = self.line.go_on(next);
            if line.has_fault() {
                // It is before the call, beside which a bare value is prose.
                line.has_record = true;
                self.late_reject = line.diagnostic(next - 1).map(Box::new).or(self.late_reject.take());
            }
            self.line.first = Some(next);
            self.line.is_markup_only = true;
        }
    }
}

/// Where the next call begins a line.
enum NextCall {
    None,
    /// Perhaps here: more of the text is needed.
    May {
        at: usize,
    },
    At {
        at: usize,
    },
}

/// Finds a line that begins with an opener with this first word, in a text that begins at `start`.
fn next_call(detector: &CallDetector, word: &str, text: &str, start: u64, from: &mut u64) -> NextCall {
    if word.is_empty() {
        return NextCall::None;
    }
    let seen = usize::try_from(from.saturating_sub(start)).unwrap_or(usize::MAX).min(text.len());
    for line_feed in memchr_iter(b'\n', &text.as_bytes()[seen..]) {
        let at = seen + line_feed + 1;
        let blanks =
            text.as_bytes()[at..].iter().take(MAX_INDENT).take_while(|byte| matches!(byte, b' ' | b'\t'));
        let line = &text[at + blanks.count()..];
        let begins = if line.is_empty() { None } else { detector.openers().begins_with(line, word) };
        match begins {
            Some(true) => return NextCall::At { at },
            Some(false) => {}
            None => {
                // From this line on, it is searched again.
                *from = start + at as u64 - 1;
                return NextCall::May { at };
            }
        }
    }
    // The next line begins after what is here.
    *from = start + text.len() as u64;
    NextCall::None
}

/// The start of the line with the byte at fault, if it is not the first and begins with an opener: it does
/// not belong to the rejected call.
fn call_line(calls: &Calls, text: &str, fault: usize) -> Option<usize> {
    // Openers with words were looked for before.
    if !calls.word.is_empty() {
        return None;
    }
    let at = memrchr(b'\n', text.as_bytes().get(..fault)?)? + 1;
    let line = text[at..].trim_start_matches([' ', '\t']);
    calls.detector.openers().begins(line, true, true).eq(&OpenerMatch::At { at: 0 }).then_some(at)
}

/// Whether an opener is at the start of the text.
fn find_here(calls: &Calls, text: &str, is_line_start: bool, is_end: bool) -> OpenerMatch {
    let len = (0..=text.len().min(MAX_OPENER)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let is_end = is_end || len < text.len();
    calls.detector.openers().begins(&text[..len], is_line_start, is_end)
}

/// Parses a JSON document, which may have several lines.
fn parse(parser: &mut Parser, json: &str) -> bool {
    parser.reset();
    loop {
        match parser.resume_bytes(json.as_bytes()) {
            RawStep::Complete { .. } => return parser.root_kind() == crate::json::Kind::Object,
            RawStep::LineEnd(_) => parser.pass_line_feed(),
            RawStep::NeedMore | RawStep::Malformed(_) => return false,
        }
    }
}
