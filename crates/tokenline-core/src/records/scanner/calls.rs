//! Tool calls that are not JSON objects: finds them in text, and drives their readers.

mod accept;
mod backticks;
mod bounds;
mod found;
mod unread;

use std::sync::Arc;

use super::{Scanner, Step};
use crate::call_format::{CallDetector, CallReader, CallStep, Growth, OpenerMatch};
use crate::feature::{Boxed, CallsFeature};
use crate::records::cursor::Cursor;
use crate::records::line::Lead;
use crate::{CompletedBy, Limits, Mode, OpenCall, Options, ToolCall, ValidateCall};
use backticks::Backticks;
use bounds::{NextCall, find_here, next_call};
use found::Read;
use unread::Unclosed;

/// The state of looking for calls in a text, boxed: most texts have none.
pub(super) type BoxedCalls = Boxed<CallsFeature, Calls>;

/// The state of looking for calls in a text.
#[derive(Debug)]
pub(super) struct Calls {
    pub(super) detector: CallDetector,
    limits: Limits,
    reader: Option<(usize, Box<dyn CallReader>)>,
    /// The offset of the opener.
    opener: u64,
    /// The scanner's `counted_from` before the opener.
    counted_before: u64,
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
    /// The text after the marker of the open code fence.
    pub(super) fence: Lead,
    /// The backticks in the text of the paragraph, up to the line that starts at the offset.
    backticks: (u64, Backticks),
    /// Whether the object that is released next is in a code span.
    pub(super) object_in_code: bool,
    /// Whether the last call is text: quoted, or no call after all.
    is_text: bool,
    /// Whether the run of calls began with the fence of a block.
    has_own_fence: bool,
    /// A step of the reader that waits for the end of that code span.
    held: Option<Box<CallStep>>,
    /// The last marker before something that no reader could read.
    unclosed: Option<Unclosed>,
    /// The call found last, if it was not written as JSON.
    json: String,
    /// How the call grows that begins at the offset.
    growth: (u64, Growth),
}

impl Calls {
    /// For a lenient parser with [`Options::calls`].
    pub(super) fn from_options(options: &Options) -> Option<BoxedCalls> {
        let format = options.calls.as_ref().filter(|_| options.mode == Mode::Lenient)?;
        CallsFeature::boxed(|| Self {
            detector: format.detector().keeping_records(options.records_beside_calls),
            limits: options.limits,
            reader: None,
            opener: 0,
            counted_before: 0,
            to_try: Vec::new(),
            is_matched: false,
            word: String::new(),
            lines_from: 0,
            first: u64::MAX,
            passed: None,
            fence: Lead::default(),
            backticks: (0, Backticks::default()),
            object_in_code: false,
            is_text: false,
            has_own_fence: false,
            held: None,
            unclosed: None,
            json: String::new(),
            growth: (u64::MAX, Growth::default()),
        })
    }

    pub(super) fn reset(&mut self) {
        self.detector.reset();
        (self.reader, self.passed, self.first, self.growth.0) = (None, None, u64::MAX, u64::MAX);
        (self.held, self.unclosed, self.backticks) = (None, None, (0, Backticks::default()));
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

    /// Takes note of a value, which ends a run of backticks.
    pub(super) fn end_run(&mut self) {
        self.backticks.1.end_run();
    }

    /// Goes on with the next line of the same paragraph.
    fn pass_line(&mut self, start: u64, next: u64) {
        if self.backticks.0 == start {
            self.backticks.0 = next;
            self.backticks.1.pass_line();
        }
    }

    /// Ends a line whose rest was discarded, whatever it has: no code goes on after it.
    pub(super) fn discard_line(&mut self) {
        self.backticks.1 = Backticks::default();
    }

    /// The backticks of the paragraph, if the text on the line that starts at this offset may be in a code span.
    fn open_code(&self, line_start: u64) -> Option<Backticks> {
        let (line, backticks) = self.backticks;
        (self.detector.is_auto() && line == line_start && backticks.is_open()).then_some(backticks)
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

    /// The position in `bytes`, which start at `offset`, of the next byte that may begin an opener or that ends text.
    pub(super) fn next_opener(&self, bytes: &[u8], offset: u64) -> Option<usize> {
        let openers = self.calls.as_ref()?.detector.openers();
        // At the start of a line, the byte may also begin a tag or a fence.
        let is_line_start = self.line.first == Some(offset);
        if is_line_start && bytes.first().is_some_and(|byte| openers.may_begin(*byte, false)) {
            return Some(0);
        }
        openers.next_stop(bytes)
    }

    /// The open call, in the text that begins with it, or before it.
    pub(in crate::records) fn open_call<'a>(&'a mut self, text: &'a str, from: u64) -> Option<OpenCall<'a>> {
        let is_object = !self.state.is_call();
        let format = self.calls.as_ref()?.reader.as_ref().map(|(index, _)| *index).filter(|_| !is_object);
        let is_quoted = self.may_be_in_code() || self.is_in_code_block(format);
        let calls: &mut Calls = self.calls.as_mut()?;
        let Calls { detector, reader, growth: (grows_from, growth), .. } = calls;
        // It may prove to be quoted.
        if detector.is_auto() && is_quoted {
            return None;
        }
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
        (calls.reader, calls.held, calls.is_matched) = (None, None, false);
        (calls.has_own_fence, calls.is_text) = (false, false);
        calls.to_try.clear();
        (calls.opener, calls.lines_from) = (offset, offset);
        calls.counted_before = std::mem::replace(&mut self.counted_from, offset);
        self.state.enter_call(offset);
        true
    }

    /// Reads on in a possible call, which begins at `start`.
    #[inline(never)]
    pub(super) fn call(&mut self, cursor: &mut Cursor<'_>, mut start: u64, end: Option<CompletedBy>) -> Step {
        let is_end = end.is_some();
        loop {
            let text = cursor.text_between(cursor.index(start), cursor.end());
            let calls: &mut Calls = self.calls.as_mut()?;
            let Some((index, reader)) = &mut calls.reader else {
                match self.find_reader(cursor, text, start, is_end) {
                    Some(step) => return step,
                    None => continue,
                }
            };
            let index = *index;
            // A call that is left open ends where another begins a line.
            let next = next_call(&calls.detector, &calls.word, text, start, &mut calls.lines_from);
            let whole = text;
            let (text, is_cut) = match next {
                NextCall::None => (text, false),
                NextCall::May { at } if !is_end => (&text[..at], false),
                NextCall::May { .. } => (text, false),
                NextCall::At { at } => (&text[..at], true),
            };
            let step = match &calls.held {
                None => reader.read(text, is_end && !is_cut),
                Some(_) => *calls.held.take()?,
            };
            if matches!(step, CallStep::NeedMore) && !is_end && !is_cut {
                cursor.at = cursor.end();
                return None;
            }
            let step = match step {
                CallStep::NeedMore if is_cut && reader.is_in_text() => {
                    calls.lines_from = start + text.len() as u64;
                    continue;
                }
                CallStep::NeedMore if is_cut => reader.read(text, true),
                step => step,
            };
            let read = Read { index, text, is_cut, whole, end };
            if let Some(step) = self.take_step(cursor, &mut start, step, &read) {
                return step;
            }
        }
    }

    /// Starts the next reader that may read the call at `start`. `None` if there is one, or there may be.
    #[inline(never)]
    fn find_reader(&mut self, cursor: &mut Cursor<'_>, text: &str, start: u64, is_end: bool) -> Option<Step> {
        let calls = self.calls.as_mut()?;
        if let Some(index) = calls.to_try.pop() {
            calls.reader = Some((index, calls.detector.start(index, &calls.limits)));
            return None;
        }
        let is_line_start = self.line.first == Some(start);
        let find = |text| find_here(calls, text, is_line_start, is_end);
        let mut matched = if calls.is_matched { OpenerMatch::None } else { find(text) };
        if matches!(matched, OpenerMatch::Partial { .. })
            && cursor.is_limited()
            && let OpenerMatch::None = find(cursor.text_past_limit(start))
        {
            // The character that the limit splits is another than the opener's.
            matched = OpenerMatch::None;
        }
        match matched {
            OpenerMatch::At { .. } => {
                calls.is_matched = true;
                if self.segments.is_some() {
                    self.classify_lead(start);
                }
                if let Some((outcome, next)) = self.reject_markers(text, start) {
                    self.end_calls(cursor, next);
                    return Some(Some(outcome));
                }
                let calls: &mut Calls = self.calls.as_mut()?;
                calls.detector.openers().word_at(text).clone_into(&mut calls.word);
                calls.to_try =
                    calls.detector.formats_at(text, is_line_start, is_line_start && start == calls.first);
                calls.to_try.reverse();
                None
            }
            OpenerMatch::Partial { .. } => {
                cursor.at = cursor.end();
                Some(None)
            }
            OpenerMatch::None if calls.is_matched && !self.remember_marker(text, start, is_end) => {
                cursor.at = cursor.end();
                Some(None)
            }
            OpenerMatch::None => {
                // Ordinary text.
                let calls: &mut Calls = self.calls.as_mut()?;
                calls.passed = Some(start);
                self.counted_from = calls.counted_before;
                cursor.seek(start);
                if is_line_start {
                    self.state.enter_line_start();
                } else {
                    self.state.enter_text();
                }
                Some(None)
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
        self.state.enter_text();
    }
}
