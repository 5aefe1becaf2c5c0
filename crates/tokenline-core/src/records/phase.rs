//! The machine: what the bytes of a text mean, and when a record is released.

mod calls;
mod lost;
mod meant;
mod release;
mod steps;
mod think;
mod walk;

use std::collections::VecDeque;

use super::line::{FenceKind, Line};
use super::window::Window;
use crate::json::{Parser, Value, error, parser::RawStep};
use crate::{Code, Completion, Diagnostic, Options, Partial, Record, Recovered, Span};
use calls::Calls;
use lost::{GivenUp, Lost, Skip};
use think::Thinking;
use walk::Walk;

/// What [`Machine::advance`] came to.
pub(super) enum Found<'w> {
    /// [`Machine::record`]. `text` is its text where that was checked just now.
    Record { text: Option<&'w str> },
    /// [`Machine::record`], which is not written as JSON; its text is [`Machine::call_text`].
    Call,
    /// Boxed, so that little is moved about.
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
    /// In what may become a tag around thinking.
    Tag,
    /// Inside such tags.
    Think { matched: u8 },
    /// Text, up to the next opener.
    Text,
    /// Inside a value.
    Value { start: u64 },
    /// Whether a record was meant takes more of the text: at a fault in a value, or before one is walked through.
    Judge { start: u64, fault: Option<error::Fault> },
    /// A value is balanced; what follows decides whether it was whole.
    Sealing { start: u64, end: u64, comma: bool, released: bool },
    /// In what may be a tool call that is no JSON object, or several.
    Call { start: u64 },
    /// Between the elements of an array, or the members that lead to one.
    Walk,
    /// After a fault: up to where the brackets of the lost value balance.
    Skip(Skip),
    /// After a lost value whose brackets balance.
    AfterLost,
    /// After a fault: up to the end of the line.
    Discard,
    /// After the end of the input.
    Ended,
}

/// Where the open value begins, and what it would be recovered from.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    line: u64,
    column: u64,
    recovered: Recovered,
}

/// The first line of an open value that goes on behind it.
#[derive(Debug)]
struct Spread {
    line: Line,
    /// Offset of its line feed.
    end: u64,
    /// What the grammar allowed there, and how many containers were open.
    expected: error::Expected,
    depth: u32,
}

/// The state of decoding, apart from who holds the bytes.
#[derive(Debug)]
pub(super) struct Machine {
    options: Options,
    limit: u64,
    json: Parser,
    phase: Phase,
    line: Line,
    place: Place,
    /// The record that was found last. It stays here until it is lent: copying it from hand to hand
    /// is a tenth of the work for a short line.
    record: Record<()>,
    /// Offset from which the limit is counted: the start of the line, or of the open value's first one;
    /// within an array the end of the value before.
    counted_from: u64,
    /// The open value goes on behind its first line.
    spread: Option<Spread>,
    /// A lost value may go on (lenient).
    lost: Option<Box<Lost>>,
    /// The text is inside an array of records, or on the way to one.
    walk: Option<Walk>,
    /// The lines of a lost value are read again, for what is whole in it.
    given_up: Option<Box<GivenUp>>,
    /// What the code fence is around that is open.
    fence: Option<FenceKind>,
    thinking: Thinking,
    /// There was text or a record.
    has_content: bool,
    /// What is neither records nor text, where someone wants to know it.
    markup: Option<VecDeque<Span>>,
    /// Where tool calls are looked for.
    calls: Option<Box<Calls>>,
    /// Offset of a carriage return before the window: it may belong to a line end.
    last_return: Option<u64>,
    scanned: u64,
}

impl Machine {
    pub(super) fn new(options: Options) -> Self {
        Self {
            limit: options.limits.effective_line_bytes(),
            calls: Calls::asked_for(&options).map(Box::new),
            json: Parser::new().with_limits(&options.limits).single_line(),
            options,
            phase: Phase::Start,
            line: Line::new(1, 0),
            place: Place::default(),
            record: Record {
                value: (),
                line: 0,
                column: 0,
                span: Span::new(0, 0),
                completion: Completion::Newline,
                recovered: Recovered::NONE,
            },
            counted_from: 0,
            spread: None,
            lost: None,
            walk: None,
            given_up: None,
            fence: None,
            thinking: Thinking::default(),
            has_content: false,
            markup: None,
            last_return: None,
            scanned: 0,
        }
    }

    pub(super) fn reset(&mut self) {
        self.json.reset();
        self.phase = Phase::Start;
        self.line = Line::new(1, 0);
        self.counted_from = 0;
        self.spread = None;
        self.lost = None;
        self.walk = None;
        self.given_up = None;
        self.fence = None;
        self.thinking = Thinking::default();
        self.has_content = false;
        if let Some(calls) = &mut self.calls {
            calls.reset();
        }
        if let Some(markup) = &mut self.markup {
            markup.clear();
        }
        self.last_return = None;
    }

    /// The record that was found last, apart from its value.
    pub(super) fn record(&self) -> &Record<()> {
        &self.record
    }

    /// The record that was found last, which has this text.
    #[inline]
    pub(super) fn lend<'a>(&'a self, text: &'a str) -> Record<Value<'a>> {
        self.record.map(|()| self.json.value(text))
    }

    /// The parser, which reads the open record from its first byte.
    pub(super) fn json(&self) -> &Parser {
        &self.json
    }

    pub(super) fn json_mut(&mut self) -> &mut Parser {
        &mut self.json
    }

    pub(super) fn examined(&self) -> u64 {
        self.json.examined() + self.scanned
    }

    /// Offset in the stream of the open record's first byte, if one is open.
    pub(super) fn open_start(&self) -> Option<u64> {
        match self.phase {
            Phase::Value { start }
            | Phase::Judge { start, .. }
            | Phase::Sealing { start, released: false, .. }
            | Phase::Call { start } => Some(start),
            _ => None,
        }
    }

    /// Offset in the stream of the first byte that an event to come may be about.
    pub(super) fn undecided_from(&self) -> u64 {
        let line = self.spread.as_ref().map_or(self.line.start, |spread| spread.line.start);
        self.lost.as_ref().map_or(line, |lost| lost.line_start.min(line))
    }

    /// Offset in the stream of the first byte that may be read again.
    pub(super) fn held_from(&self) -> Option<u64> {
        let walk = || match (&self.walk, self.phase) {
            (Some(walk), Phase::Walk) => walk.unjudged_from().or_else(|| walk.tag_from(self.line.number)),
            (Some(walk), _) => walk.unjudged_from(),
            _ => None,
        };
        self.open_start().or_else(walk).or_else(|| self.unclosed_from())
    }

    /// The place of the open record, if one is open.
    pub(super) fn open_place(&self) -> Option<Partial<()>> {
        let start = self.open_start().filter(|_| self.is_record_open())?;
        let Place { line, column, .. } = self.place;
        Some(Partial { value: (), line, column, start })
    }

    /// The number of the line being read.
    pub(super) fn line(&self) -> u64 {
        self.line.number
    }

    /// Offset in the stream of the first byte of which it is not known whether it is text.
    pub(super) fn unsorted_from(&self) -> Option<u64> {
        let lost = self.lost.as_ref().map(|lost| lost.line_start);
        let walk = self.walk.as_ref().map(|walk| walk.done_to);
        [lost, walk, self.open_start()].into_iter().flatten().min()
    }

    /// Keeps account of what is neither records nor text from now on.
    pub(super) fn tell_markup(&mut self) {
        self.markup.get_or_insert_default();
    }

    pub(super) fn next_markup(&mut self) -> Option<Span> {
        self.markup.as_mut()?.pop_front()
    }

    /// Brackets, commas or tags around records.
    fn note_markup(&mut self, start: u64, end: u64) {
        if let Some(markup) = &mut self.markup
            && start < end
        {
            markup.push_back(Span::new(start, end));
        }
    }

    /// Whether what comes is dropped, up to the end of the line or because the input has ended.
    pub(super) fn is_discarding(&self) -> bool {
        matches!(self.phase, Phase::Discard | Phase::Think { .. } | Phase::Ended)
    }

    /// Whether a part of an array is passed over. Nothing is kept of it, so it may be of any length.
    fn is_skipping_element(&self) -> bool {
        matches!(self.phase, Phase::Skip(_)) && self.walk.is_some()
    }

    /// Goes on by `len` plain ASCII bytes, up to the offset `end`, if a string is open and the line
    /// stays within its limit.
    #[inline]
    pub(super) fn continue_string(&mut self, len: usize, end: u64) -> bool {
        matches!(self.phase, Phase::Value { .. })
            && end - self.counted_from <= self.limit
            && self.json.continue_string(len)
    }

    /// Reads on from `at`, up to the next thing found or the end of the window.
    ///
    /// Goes back to the second line of a value that proves malformed, which is always in the window.
    pub(super) fn advance<'w>(&mut self, window: &Window<'w>, at: &mut usize) -> Found<'w> {
        loop {
            let bytes = self.visible(window, *at);
            let before = *at;
            // The parser counts what it looks at itself.
            let is_scan =
                !matches!(self.phase, Phase::Value { .. } | Phase::Judge { .. } | Phase::Call { .. });
            let found = match self.phase {
                Phase::Start => self.start(bytes, window, at),
                Phase::LineStart => self.line_start(bytes, window, at),
                Phase::Fence { marker, count } => self.fence(bytes, at, marker, count),
                Phase::Tag => self.tag(bytes, window, at),
                Phase::Think { matched } => self.think(bytes, window, at, matched),
                Phase::Text => self.text(bytes, window, at),
                Phase::Value { start } => self.value_bytes(bytes, window, at, start),
                Phase::Judge { start, fault } => self.judge(bytes, window, at, (start, fault), false),
                Phase::Sealing { start, end, comma, released } => {
                    self.sealing(bytes, window, at, (start, end), comma, released)
                }
                Phase::Call { .. } if !window.is_checked => return Found::Nothing,
                Phase::Call { start } => self.call(bytes, window, at, start, None),
                Phase::Walk => self.walk(bytes, window, at),
                Phase::Skip(skip) => self.skip(bytes, window, at, skip),
                Phase::AfterLost => self.after_lost(bytes, window, at),
                Phase::Discard => self.discard(bytes, window, at),
                Phase::Ended => return Found::Nothing,
            };
            if is_scan {
                self.scanned += at.saturating_sub(before) as u64;
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
            if window.ends_bad && matches!(self.phase, Phase::Think { .. }) {
                self.drop_unclosed();
            }
            if matches!(self.phase, Phase::Think { .. })
                && let Some(start) = self.unclosed_from()
                && window.bad_utf8(window.index(start), bytes.len().saturating_sub(1)).is_some()
            {
                self.drop_unclosed();
            }
            if let Some(start) = self.held_from()
                && let Some(last) = bytes.len().checked_sub(1)
                && let Some(bad) = window.bad_utf8(window.index(start), last)
            {
                // Before the open record is carried over, or the limit is held against it.
                self.bad_utf8(window, at, bad);
            } else if bytes.len() < window.bytes.len() {
                self.too_long(window, at);
            } else if window.ends_bad && !self.is_discarding() {
                match window.offset(*at) {
                    bad if bad - self.counted_from > self.limit && !self.is_skipping_element() => {
                        self.too_long(window, at);
                    }
                    _ => {
                        if let Some(found) = self.bad_byte(window, at) {
                            return found;
                        }
                    }
                }
            } else {
                self.note_return(window, *at);
                return Found::Nothing;
            }
        }
    }

    /// Says that the input has ended after the window, whose bytes are all read. `cut` is how many
    /// bytes of a character came after them.
    ///
    /// `None` if a part of the window is to be read once more, from `at`.
    pub(super) fn finish<'w>(
        &mut self,
        window: &Window<'w>,
        at: &mut usize,
        completion: Completion,
        cut: usize,
    ) -> Option<Found<'w>> {
        let end = window.offset(window.bytes.len());
        match self.phase {
            Phase::Ended => return Some(self.close_lost().unwrap_or(Found::Nothing)),
            Phase::Think { .. } if self.unclosed_from().is_some() => {
                self.read_unclosed(window, at);
                if *at < window.bytes.len() {
                    return None;
                }
            }
            Phase::Think { .. } => {
                self.phase = Phase::Ended;
                return Some(self.unclosed_thinking(end));
            }
            Phase::Tag => self.no_tag(window, at, end),
            Phase::Judge { start, fault } => {
                let found = self.judge(window.bytes, window, at, (start, fault), true);
                if found.is_some() || *at < window.bytes.len() {
                    return found;
                }
            }
            Phase::Call { start } => {
                let found = self.call(window.bytes, window, at, start, Some(completion));
                if found.is_some() || *at < window.bytes.len() {
                    return found;
                }
            }
            _ => {}
        }
        let is_cut_value = match self.phase {
            Phase::Value { start } => match self.json.finish_bytes(&window.bytes[window.index(start)..]) {
                // A number.
                RawStep::Complete { .. } => {
                    self.phase = Phase::Sealing { start, end, comma: false, released: false };
                    if self.walk.is_some() {
                        self.end_of_walked(window, at, start, end);
                    }
                    false
                }
                _ => {
                    let expected = self.json.expected();
                    let message = error::describe(expected, error::Found::EndOfInput);
                    if self.spread.is_some() {
                        self.give_up(window, at, start, Code::Truncated, end, message);
                        return None;
                    }
                    self.fault(Code::Truncated, start, end, message);
                    self.phase = Phase::Discard;
                    true
                }
            },
            _ => false,
        };
        if cut > 0
            && !is_cut_value
            && !self.is_discarding()
            && let Some(found) = self.bad_byte(window, at)
        {
            return Some(found);
        }
        if *at < window.bytes.len() {
            return None;
        }
        let content_end = self.check_length(window, at, window.bytes.len());
        let content_end = if cut > 0 { end + cut as u64 } else { content_end };
        if let Phase::Sealing { start, end: record_end, released: false, .. } = self.phase {
            self.phase = Phase::Text;
            if let Some(found) = self.release(window, at, start, record_end, completion) {
                return Some(found);
            }
            if *at < window.bytes.len() {
                return None;
            }
        }
        if let Some(found) = self.close_lost_at_end() {
            return Some(found);
        }
        if self.walk.as_ref().is_some_and(|walk| walk.unjudged_from().is_some()) {
            return self.read_unjudged(window, at);
        }
        if let Some(walk) = self.walk.take().filter(|walk| !walk.is_damaged) {
            let message = error::describe(walk.expected(), error::Found::EndOfInput);
            // What was delivered of it is not lost.
            self.fault(Code::Truncated, walk.done_to, end, message);
        }
        self.phase = Phase::Ended;
        if let Some(lost) = &mut self.lost {
            lost.reaches_end();
        }
        let found = self.end_line_at(content_end, end);
        Some(found.or_else(|| self.close_lost()).unwrap_or(Found::Nothing))
    }

    /// What the code fence is around that the text is in.
    fn fence_kind(&self) -> Option<FenceKind> {
        if self.line.has_fence && !self.line.may_close_fence {
            return Some(self.line.lead.fence_kind());
        }
        self.fence
    }

    /// What of the window is within the limit, or lies after its line. One byte more is
    /// visible than the limit allows, for a carriage return, and the line feed after that.
    fn visible<'w>(&self, window: &Window<'w>, at: usize) -> &'w [u8] {
        let hard = self.counted_from + self.limit + 1;
        let end = window.base + window.bytes.len() as u64;
        if hard >= end || self.is_discarding() || self.is_skipping_element() {
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
        let line_feed = *at;
        let content_end = self.check_length(window, at, line_feed);
        *at += 1;
        self.phase = Phase::LineStart;
        self.end_line_at(content_end, window.offset(*at))
    }

    /// Goes on to the line that starts at `next`.
    fn end_line_at<'w>(&mut self, content_end: u64, next: u64) -> Option<Found<'w>> {
        self.counted_from = next;
        let line = self.line.go_on(next);
        self.has_content |= line.first.is_some();
        if line.has_fence {
            if line.closes_fence() {
                self.fence = None;
            } else if !line.may_close_fence
                && let Some(fence) = &mut self.fence
            {
                *fence = line.lead.fence_kind();
            }
        }
        let is_inside = line.is_inside;
        let finding = line.finding(content_end);
        self.end_line_of_lost(is_inside, content_end, finding)
            .map(|diagnostic| Found::Diagnostic(Box::new(diagnostic)))
    }
}
