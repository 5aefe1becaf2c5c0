//! The scanner: interprets the bytes of a text, and releases records.

mod array;
mod calls;
mod end;
mod intent;
mod lines;
mod plain;
mod rejected;
mod release;
mod state;
mod steps;
mod think;
mod tokens;
mod whole;

use super::cursor::Cursor;
use super::line::{FenceKind, Line};
use super::segments::Segments;
use crate::json::{Parser, Value};
use crate::{CompletedBy, Diagnostic, Mode, OpenRecord, Options, Record};
use array::ArrayScan;
use calls::{BoxedCalls, Calls};
use rejected::{RejectedRegion, Rescan};
pub(super) use state::Found;
pub use state::Gap;
use state::{CurrentState, Multiline, MultilineValue, Passed, Place, Skip, State};
pub(crate) use think::STILL_THINKING;
pub use think::THINK_TAGS;
use think::Thinking;

/// The event at which [`Scanner::advance`] stopped.
pub(super) enum Outcome {
    /// [`Scanner::found`]. In the input, the cursor has [its text](Cursor::value).
    Record,
    /// [`Scanner::found`], which is not written as JSON. Its text is [`Scanner::call_text`].
    Call,
    /// Boxed to keep `Outcome` small.
    Diagnostic(Box<Diagnostic>),
}

/// The event found in a step; `None` to continue, or if more is needed.
type Step = Option<Outcome>;

/// The starts of the lines on which the last values of several lines began.
#[derive(Debug, Default)]
struct FirstLines {
    of_array: u64,
    of_value: u64,
    of_call: u64,
}

/// The state of decoding, without the bytes.
#[derive(Debug)]
pub(super) struct Scanner {
    options: Options,
    /// Whether everything is read in the carry.
    is_in_parts: bool,
    json: Parser,
    state: CurrentState,
    line: Line,
    place: Place,
    /// The record found last. It stays here until it is returned: copying it at each level takes a tenth of
    /// the work for a short line.
    found: Found,
    /// Offset from which the limit counts: the start of the line, or of the open value's first line; inside
    /// an array, the end of the previous value.
    counted_from: u64,
    /// Set if the open value continues after its first line.
    multiline: Multiline,
    /// Set if a rejected value, or one that is text, may continue (lenient).
    region: Option<Box<RejectedRegion>>,
    /// Set inside an array of records, or on the path to one.
    array: Option<Box<ArrayScan>>,
    /// Set while the lines of a rejected value are scanned again for complete values.
    rescan: Option<Box<Rescan>>,
    /// The content of the open code fence.
    fence: Option<FenceKind>,
    /// The byte of its marker, and how often it stands there: as many close it.
    fence_marker: (u8, u8),
    thinking: Thinking,
    /// Whether there has been text or a record.
    has_content: bool,
    /// Classifies text and markup, if asked for.
    segments: Option<Box<Segments>>,
    /// Set if tool calls are looked for.
    calls: Option<BoxedCalls>,
    /// Offset after a carriage return before the current bytes, or 0: it may belong to a line ending.
    last_return: u64,
    scanned: u64,
    /// The end of the last reject, or record in an array.
    reported_to: u64,
    /// The gap that the invalid byte stands for.
    gap: Option<Gap>,
    /// Set if the input has ended in what could become a call, or in thinking, and is read again as text. What is
    /// found counts as complete by the same evidence: in a longer input, it could be part of the call, or reasoning.
    end: Option<CompletedBy>,
    /// The reject of a line on which a call began that takes several.
    late_reject: Option<Box<Diagnostic>>,
    /// Where values of several lines began, once there was one.
    first_lines: Option<Box<FirstLines>>,
    /// Whether a line that is a record and nothing else may be read [in one step](Self::plain_line).
    is_plain: bool,
}

impl Scanner {
    pub(super) fn new(mut options: Options) -> Self {
        options.whole_values &=
            options.mode == Mode::Lenient && options.calls.is_none() && !options.looks_for_items();
        options.limits.line_bytes = options.limits.effective_line_bytes() as usize;
        let mut scanner = Self {
            calls: Calls::from_options(&options),
            json: Parser::new().with_limits(&options.limits).single_line(),
            segments: options.text.then(Box::default),
            is_in_parts: options.text || options.partials,
            options,
            state: CurrentState::default(),
            line: Line::new(1, 0),
            place: Place::default(),
            found: Found::default(),
            counted_from: 0,
            multiline: Multiline::default(),
            region: None,
            array: None,
            rescan: None,
            fence: None,
            fence_marker: (0, 0),
            thinking: Thinking::default(),
            has_content: false,
            last_return: 0,
            scanned: 0,
            reported_to: 0,
            gap: None,
            late_reject: None,
            first_lines: None,
            is_plain: false,
            end: None,
        };
        scanner.begin_thinking();
        scanner
    }

    /// Starts at the start of a line.
    pub(super) fn reset_at(&mut self, line: u64, offset: u64) {
        self.json.reset();
        self.state.enter_line_start();
        self.line = Line::new(line, offset);
        self.counted_from = offset;
        self.multiline.clear();
        self.region = None;
        self.array = None;
        self.rescan = None;
        self.fence = None;
        self.thinking = Thinking::default();
        self.has_content = false;
        if let Some(calls) = &mut self.calls {
            calls.reset();
        }
        if let Some(segments) = &mut self.segments {
            **segments = Segments::starting_at(offset);
        }
        (self.last_return, self.reported_to) = (0, offset);
        (self.late_reject, self.first_lines) = (None, None);
        self.is_plain = false;
        self.end = None;
        self.begin_thinking();
    }

    /// The options, with those that have an effect.
    pub(super) fn options(&self) -> &Options {
        &self.options
    }

    /// The record found last, without its value.
    pub(super) fn found(&self) -> &Found {
        &self.found
    }

    /// The record found last, with its text.
    #[inline]
    pub(super) fn lend<'a>(&'a self, text: &'a str) -> Record<Value<'a>> {
        self.found.record(self.json.value(text))
    }

    /// The parser, which reads the open record from its first byte.
    pub(super) fn json(&self) -> &Parser {
        &self.json
    }

    /// The offset from which a possible call is read.
    pub(super) fn call_start(&self) -> Option<u64> {
        self.state.call_start()
    }

    pub(super) fn json_mut(&mut self) -> &mut Parser {
        &mut self.json
    }

    /// The parser, and the text of the call found last.
    pub(super) fn json_and_call(&mut self) -> (&mut Parser, &str) {
        (&mut self.json, self.calls.as_ref().map_or("", |calls| calls.text()))
    }

    pub(super) fn segments(&mut self) -> Option<&mut Segments> {
        self.segments.as_deref_mut()
    }

    pub(super) fn set_gap(&mut self, gap: Option<Gap>) {
        self.gap = gap;
    }

    /// Whether the gap has been passed, and reading can continue after it.
    pub(super) fn has_passed_gap(&self) -> bool {
        self.state.is_discard() && !self.is_discarding()
    }

    /// The text from this offset on is held.
    pub(super) fn keep_from(&mut self, offset: u64) {
        if let Some(segments) = &mut self.segments {
            segments.kept_from = offset;
        }
    }

    pub(super) fn has_segments(&self) -> bool {
        self.segments.as_ref().is_some_and(|segments| !segments.is_empty())
    }

    /// Whether text and markup are emitted.
    pub(super) fn emits_text(&self) -> bool {
        self.segments.is_some()
    }

    /// Offset of the first byte that text events may refer to, of the bytes up to `end`.
    pub(super) fn text_held_from(&self, end: u64) -> Option<u64> {
        let segments = self.segments.as_ref()?;
        let is_large = |region: &RejectedRegion| {
            !region.is_text() && self.line.start.saturating_sub(region.line_start) > self.max_bytes()
        };
        let is_long = |skip: Skip| end.saturating_sub(skip.start) > self.max_bytes();
        let is_skipped = self.array.is_some() && self.state.skip().is_some_and(is_long);
        let is_large = self.region.as_deref().is_some_and(is_large);
        let is_dropped = self.is_discarding() || is_skipped || is_large;
        if !is_dropped || !segments.is_empty() {
            return Some(segments.held_from());
        }
        // The line may prove not to belong to the region.
        (is_large && !self.line.in_rejected_region).then_some(self.line.start)
    }

    /// Whether the open part must be carried over, so that it is checked and contiguous.
    pub(super) fn wants_carry(&self) -> bool {
        self.state.is_call() || (self.is_in_parts && !self.is_discarding())
    }

    pub(super) fn examined(&self) -> u64 {
        self.json.examined() + self.scanned
    }

    /// Offset in the stream of the open record's first byte, if one is open.
    pub(super) fn open_start(&self) -> Option<u64> {
        self.state.open_start()
    }

    /// Offset in the stream of a rejected value that is not reported yet.
    pub(super) fn rejected_start(&self) -> Option<u64> {
        let region = self.region.as_ref().filter(|region| !region.is_text());
        region.map(|region| region.start).or_else(|| self.line.fault_start())
    }

    /// Whether it is between tags around thinking.
    pub(super) fn is_in_reasoning(&self) -> bool {
        self.state.think().is_some()
    }

    /// Offset in the stream of the first byte that a later event may refer to.
    pub(super) fn undecided_from(&self) -> u64 {
        let line = self.multiline.get().map_or(self.line.start, |value| value.line.start);
        let region = self.region.as_ref().map(|region| region.line_start);
        let array = self.array.as_deref().map(ArrayScan::undecided_line);
        let starts = [
            self.region.as_ref().map(|region| region.start),
            self.state.open_start(),
            self.state.skip().map(|skip| skip.start),
            self.line.first_fault(),
            self.late_reject.as_ref().map(|reject| reject.span.start),
        ];
        let begun = starts.into_iter().flatten().map(|start| self.line_of(start)).min();
        [region, array, begun, self.unclosed_line()].into_iter().flatten().fold(line, u64::min)
    }

    /// The line of a value that began on this line or an earlier one, or a line before it.
    fn line_of(&self, start: u64) -> u64 {
        let (line, first) = (self.line.start, self.first_lines.as_deref());
        let lines = first.map_or([line; 4], |first| [line, first.of_array, first.of_value, first.of_call]);
        lines.into_iter().filter(|line| *line <= start).max().unwrap_or(line)
    }

    fn first_lines(&mut self) -> &mut FirstLines {
        self.first_lines.get_or_insert_default()
    }

    /// Notes that the open value continues after its first line.
    fn begin_multiline(&mut self, value: MultilineValue) {
        self.first_lines().of_value = value.line.start;
        self.multiline.set(value);
    }

    /// Offset in the stream of the open value, array or rejected region.
    pub(super) fn open_from(&self) -> Option<u64> {
        let region = self.region.as_ref().map(|region| region.line_start);
        let array = self.array.as_ref().map(|array| array.done_to);
        [region, array, self.open_start()].into_iter().flatten().min()
    }

    /// Offset in the stream of the first byte that may be read again.
    pub(super) fn held_from(&self) -> Option<u64> {
        let array = || {
            let array = self.array.as_ref()?;
            let tag = || if self.state.is_between_elements() { array.tag_from() } else { None };
            array.held_from().or_else(tag)
        };
        let line = || self.line.first.filter(|_| self.state.is_line_unproven());
        self.open_start().or_else(array).or_else(line).or_else(|| self.unclosed_from())
    }

    /// The place of the open record, if one is open.
    #[inline(always)]
    pub(super) fn open_place(&self) -> Option<OpenRecord<()>> {
        // Before an array is scanned, the parser has not begun.
        let has_begun = self.is_record_open() && !self.state.is_before_array();
        let start = self.open_start().filter(|_| has_begun)?;
        let Place { line, column, .. } = self.place;
        Some(OpenRecord { value: (), line, column, start })
    }

    /// The number of the current line.
    pub(super) fn line(&self) -> u64 {
        self.line.number
    }

    /// Whether the next bytes are dropped, up to the end of the line or because the input has ended.
    pub(super) fn is_discarding(&self) -> bool {
        match self.state.passes() {
            None => false,
            Some(Passed::Line) => self.segments.is_none() || self.line.is_dropped,
            Some(Passed::Thinking) => self.thinking.is_raw,
            Some(Passed::Everything) => true,
        }
    }

    /// Whether a part of an array is skipped. Nothing of it is kept, so it may have any length.
    fn is_skipping_element(&self) -> bool {
        self.state.skip().is_some() && self.array.is_some()
    }

    /// Whether bytes that are not UTF-8 are skipped.
    fn passes_bad_bytes(&self) -> bool {
        self.state.passes().is_some()
    }

    /// Whether the current part may have any length.
    fn is_unlimited(&self) -> bool {
        self.passes_bad_bytes() || self.is_skipping_element()
    }

    /// Reads on, up to the next event; `None` once the bytes are used up.
    ///
    /// Goes back to the second line of a value that proves malformed. That line is always among the bytes.
    #[inline]
    pub(super) fn advance(&mut self, cursor: &mut Cursor<'_>) -> Step {
        let outcome = self.advance_in_steps(cursor);
        self.is_plain = self.is_between_plain_lines(cursor.offset());
        outcome
    }

    fn advance_in_steps(&mut self, cursor: &mut Cursor<'_>) -> Step {
        loop {
            if let Some(reject) = self.late_reject.take() {
                self.note_return(cursor);
                return Some(self.report(*reject));
            }
            self.limit(cursor);
            let before = cursor.at;
            // The parser counts the bytes it examines itself.
            let is_scan = self.state.is_scanned();
            if self.wants_carry() && !cursor.in_carry() {
                return None;
            }
            let outcome = match *self.state.get() {
                State::LineStart => self.line_start(cursor),
                State::Fence { marker, count } => self.fence(cursor, marker, count),
                State::Tag => self.tag(cursor),
                State::Think { matched } => self.think(cursor, matched),
                State::Text => self.text(cursor),
                State::Value { start } => self.value(cursor, start),
                State::Undecided { start, fault } => self.decide(cursor, start, fault, false),
                State::Confirming { start, end, comma, released } => {
                    self.confirming(cursor, (start, end), comma, released)
                }
                State::Call { start } => self.call(cursor, start, None),
                State::Array => self.array(cursor),
                State::Skip(skip) => self.skip(cursor, skip),
                State::AfterRejected { start } => self.after_rejected(cursor, start),
                State::Discard => self.discard(cursor),
                State::Ended => return None,
            };
            if is_scan {
                self.scanned += cursor.at.saturating_sub(before) as u64;
            }
            if outcome.is_some() {
                self.note_return(cursor);
                return outcome;
            }
            if cursor.is_bad() {
                if cursor.offset() - self.counted_from > self.max_bytes() && !self.is_unlimited() {
                    self.too_long(cursor);
                } else if let Some(outcome) = self.bad_byte(cursor) {
                    return Some(outcome);
                }
                if cursor.is_bad() && cursor.at == cursor.len() && self.passes_bad_bytes() {
                    return None;
                }
                continue;
            }
            if !cursor.is_at_end() {
                continue;
            }
            // More may be read once a line has ended or is discarded.
            self.limit(cursor);
            if !cursor.is_at_end() {
                continue;
            }
            if !cursor.is_limited() {
                self.note_return(cursor);
                return None;
            }
            self.too_long(cursor);
        }
    }

    /// The most bytes of a line or an open record.
    #[inline(always)]
    fn max_bytes(&self) -> u64 {
        self.options.limits.line_bytes as u64
    }

    /// Lets the cursor read one byte more than the limit allows, for a carriage return, and the newline after
    /// that.
    fn limit(&self, cursor: &mut Cursor<'_>) {
        if self.is_unlimited() {
            cursor.limit(u64::MAX);
        } else {
            cursor.limit(self.counted_from + self.max_bytes() + 1);
        }
    }
}
