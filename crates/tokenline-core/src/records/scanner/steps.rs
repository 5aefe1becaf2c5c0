//! The steps of the scanner in each state, up to what ends it or the end of the bytes that may be read.

use memchr::{memchr, memchr3};

use super::state::MultilineValue;
use super::state::{Skip, SkipTo};
use super::{Place, Scanner, Step};
use crate::json::Kind;
use crate::json::error::{self, Expected};
use crate::json::parser::RawStep;
use crate::records::carry::incomplete_suffix;
use crate::records::cursor::Cursor;
use crate::records::line::FenceKind;
use crate::{Code, CompletedBy, Mode, Recoveries, Recovery, Release};

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

impl Scanner {
    pub(super) fn line_start(&mut self, cursor: &mut Cursor<'_>) -> Step {
        while let Some(byte) = cursor.peek() {
            match byte {
                b' ' | b'\t' | b'\r' => cursor.at += 1,
                b'\n' => return self.line_end(cursor),
                b'{' if self.region.is_none()
                    && self.array.is_none()
                    && self.calls.is_none()
                    && self.rescan.is_none() =>
                {
                    let offset = cursor.offset();
                    self.line.first = Some(offset);
                    if self.options.mode == Mode::Lenient && self.options.items.is_some() {
                        self.open_or_scan(cursor);
                    } else {
                        self.open(offset);
                    }
                    return None;
                }
                0xEF if cursor.offset() == 0 && cursor.rest().starts_with(BYTE_ORDER_MARK) => {
                    cursor.at += BYTE_ORDER_MARK.len();
                    self.line.start = cursor.offset();
                    self.line.text_start = self.line.start;
                    self.counted_from = self.line.start;
                }
                _ => return self.begin_line(cursor, byte),
            }
        }
        None
    }

    /// Begins the line's text with `byte`.
    #[inline(never)]
    fn begin_line(&mut self, cursor: &mut Cursor<'_>, byte: u8) -> Step {
        let offset = cursor.offset();
        if self.array.as_ref().is_some_and(|array| array.held_from().is_some()) {
            if !matches!(byte, b',' | b']') {
                return self.read_held(cursor);
            }
            self.confirm_element();
        }
        if let Some(rescan) = &self.rescan
            && self.array.as_ref().is_none_or(|array| array.start < rescan.start)
            && let Some(outcome) = self.begin_line_again(offset, byte)
        {
            return outcome;
        }
        if self.region.is_some() {
            let outcome = self.begin_text(offset, Some(byte));
            if outcome.is_some() || self.line.in_rejected_region {
                return outcome;
            }
        }
        if self.array.is_some()
            && let Some(outcome) = self.begin_line_of_array(offset, byte)
        {
            return outcome;
        }
        self.line.first = Some(offset);
        if let Some(calls) = &mut self.calls {
            calls.begin_text(offset);
            if self.may_begin_call(offset, byte) {
                return None;
            }
        }
        match (self.options.mode, byte) {
            (Mode::Strict, _) => self.open(offset),
            (Mode::Lenient, b'{' | b'[') => self.open_or_scan(cursor),
            (Mode::Lenient, b'`' | b'~') => self.state.enter_fence(byte, 0),
            (Mode::Lenient, b'<' | 0xe2) => self.begin_tag(offset, b""),
            (Mode::Lenient, _) if self.may_begin_scalar(byte) => self.open(offset),
            (Mode::Lenient, _) => self.state.enter_text(),
        }
        None
    }

    /// Begins a value at `start`.
    #[inline]
    pub(super) fn open(&mut self, start: u64) {
        self.json.reset();
        self.state.enter_value(start);
        let mut recovered = Recoveries::NONE;
        if self.options.mode == Mode::Lenient {
            recovered = recovered
                .with_if(self.line.has_fence || self.fence.is_some(), Recovery::Fence)
                .with_if(self.line.text_start > self.line.start, Recovery::Think)
                .with_if(self.thinking.is_text, Recovery::ThinkUnclosed);
            if !self.line.has_fence && !self.line.lead.is_empty() {
                recovered = recovered.and(self.line.lead.recovered());
            }
            match self.element_recovery() {
                Some(recovery) => recovered = recovered.with(recovery),
                None => recovered = recovered.with_if(self.line.has_record, Recovery::SameLine),
            }
        }
        self.place = Place { line: self.line.number, column: self.line.column(start), recovered };
    }

    /// Begins a value, or an array of records. The cursor is on its bracket.
    fn open_or_scan(&mut self, cursor: &mut Cursor<'_>) {
        let (start, byte) = (cursor.offset(), cursor.rest()[0]);
        if let Some(calls) = &mut self.calls {
            calls.end_run();
        }
        if !self.is_scanned(byte) {
            self.open(start);
        } else if byte == b'{' {
            self.state.enter_undecided(start, None);
        } else {
            self.begin_array(cursor);
        }
    }

    #[inline(never)]
    pub(super) fn fence(&mut self, cursor: &mut Cursor<'_>, marker: u8, mut count: u8) -> Step {
        while let Some(byte) = cursor.peek() {
            if byte != marker {
                if !self.line.has_fence {
                    self.line.lead.add(&[marker]);
                }
                if marker == b'`' {
                    // On this line it may be code.
                    self.add_backticks(&[b'`'; u8::MAX as usize][..usize::from(count)]);
                }
                self.state.enter_text();
                return None;
            }
            count = count.saturating_add(1);
            cursor.at += 1;
            if count >= 3 {
                self.add_fence(marker, count);
            }
        }
        self.state.enter_fence(marker, count);
        None
    }

    /// Takes note of a fence with so many markers: it opens a block, or may close the open one.
    fn add_fence(&mut self, marker: u8, count: u8) {
        let is_opening = self.line.opens_fence();
        if is_opening || self.fence.is_none() {
            self.line.has_fence = true;
            self.line.is_markup_only = true;
            self.fence.get_or_insert(FenceKind::Plain);
            self.fence_marker = (marker, count);
        } else if self.fence_marker.0 == marker && count >= self.fence_marker.1 {
            self.line.has_fence = true;
            self.line.is_markup_only = true;
            self.line.may_close_fence = true;
        }
    }

    /// Takes a line that would open a block for a line of text with code in it, if a backtick follows the fence.
    #[inline]
    fn undo_fence(&mut self, text: &[u8]) {
        let is_opening = self.line.opens_fence();
        if is_opening && self.fence_marker.0 == b'`' && text.contains(&b'`') {
            self.fence = None;
            self.line.has_fence = false;
        }
    }

    /// Does the same for what could become a call, up to the index `to`, where its line is rejected. In another chunk, this
    /// may have been read as text.
    #[cold]
    pub(super) fn undo_fence_before_call(&mut self, cursor: &Cursor<'_>, to: usize) {
        let Some(start) = self.call_start() else { return };
        let from = cursor.index(start);
        let text = &cursor.from(from)[..to.saturating_sub(from)];
        self.undo_fence(text.split(|byte| *byte == b'\n').next().unwrap_or_default());
    }

    pub(super) fn text(&mut self, cursor: &mut Cursor<'_>) -> Step {
        let rest = cursor.rest();
        let stop = match self.calls {
            None => memchr3(b'{', b'[', b'\n', rest),
            Some(_) => self.next_opener(rest, cursor.offset()),
        };
        let text = cursor.valid(stop.unwrap_or(rest.len()));
        cursor.at += text.len();
        if !text.is_empty() {
            self.undo_fence(text);
            self.line.add_text(text);
            self.add_backticks(text);
            if self.line.prose_depth > 0 {
                let closers = text.iter().filter(|byte| matches!(byte, b'}' | b']')).count();
                self.line.prose_depth = self.line.prose_depth.saturating_sub(closers as u32);
            }
            if let Some(segments) = &mut self.segments
                && !self.line.has_fence
                && !self.line.lead.may_be_list_marker()
            {
                // The limit may have split a character, which may have begun before.
                let from = cursor.at.saturating_sub(3);
                let incomplete = incomplete_suffix(&cursor.from(from)[..cursor.at - from]);
                let shown = text[..text.len().saturating_sub(incomplete)].trim_ascii_end();
                if !shown.is_empty() {
                    segments.text(cursor.offset() - (text.len() - shown.len()) as u64);
                }
            }
        }
        let stop = stop.filter(|stop| *stop == text.len()).map(|stop| rest[stop]);
        if self.segments.is_some() && matches!(stop, Some(b'{' | b'[')) {
            self.classify_lead(cursor.offset());
        }
        match stop {
            None => {}
            Some(b'\n') => return self.line_end(cursor),
            Some(byte) if self.calls.is_some() && self.may_begin_call(cursor.offset(), byte) => {}
            Some(b'{' | b'[') => self.open_or_scan(cursor),
            Some(byte) => {
                self.undo_fence(&[byte]);
                self.line.add_text(&[byte]);
                self.add_backticks(&[byte]);
                cursor.at += 1;
                if let Some(segments) = &mut self.segments
                    && byte.is_ascii_graphic()
                    && !self.line.has_fence
                    && !self.line.lead.may_be_list_marker()
                {
                    segments.text(cursor.offset());
                }
            }
        }
        None
    }

    /// Decides on text that could be a list marker, now that a value or a call may begin.
    pub(super) fn classify_lead(&mut self, offset: u64) {
        let (line, Some(segments)) = (&self.line, &mut self.segments) else { return };
        if line.has_fence || line.lead.is_list_marker() {
            segments.note_marker(line.first.unwrap_or(line.start), offset);
        } else if !line.lead.is_empty() && line.lead.may_be_list_marker() {
            segments.text(offset);
        }
    }

    pub(super) fn value(&mut self, cursor: &mut Cursor<'_>, start: u64) -> Step {
        let from = cursor.index(start);
        loop {
            let bytes = cursor.from(from);
            let line_from = cursor.index(start.max(self.line.start));
            match self.json.resume_bytes(bytes) {
                RawStep::NeedMore => {
                    cursor.at = from + bytes.len();
                    let last = cursor.at.saturating_sub(1);
                    if let Some(bad) = cursor.first_bad(line_from.min(last), last) {
                        self.bad_utf8(cursor, bad);
                    }
                    return None;
                }
                RawStep::Complete { end } => {
                    cursor.at = from + end;
                    if let Err(bad) = cursor.check(from, cursor.at) {
                        self.bad_utf8(cursor, bad);
                        return None;
                    }
                    return self.complete(cursor, start);
                }
                RawStep::LineEnd(fault) if self.options.mode == Mode::Lenient => {
                    cursor.at = from + fault.offset;
                    if let Some(bad) = cursor.first_bad(line_from, cursor.at) {
                        self.bad_utf8(cursor, bad);
                        return None;
                    }
                    if let Some(outcome) = self.pass_line_feed(cursor, fault.expected) {
                        return Some(outcome);
                    }
                }
                RawStep::LineEnd(fault) | RawStep::Malformed(fault) => {
                    return self.decide(cursor, start, Some(fault), false);
                }
            }
        }
    }

    /// Completes the value from `start` to the cursor, whose brackets balance.
    fn complete(&mut self, cursor: &mut Cursor<'_>, start: u64) -> Step {
        let end = cursor.offset();
        let is_object = self.json.root_kind() == Kind::Object;
        self.state.enter_confirming(start, end);
        if self.options.whole_values && self.is_text(start, CompletedBy::EndOfInput) {
            // Whatever follows.
            self.pass_balanced_text(start, end);
            return None;
        }
        if self.array.is_some() {
            if is_object
                && self.is_record_open()
                && let Some(other) = self.establish()
            {
                // The parser knows that it is complete.
                self.state.enter_value(start);
                cursor.seek(start);
                return Some(self.report_non_object(other));
            }
            if !self.end_of_element(cursor, start, end) {
                return None;
            }
        }
        if self.options.release != Release::OnBalance || !is_object {
            return None;
        }
        let outcome = self.release(cursor, start, end, CompletedBy::Balanced);
        if outcome.is_some() {
            self.state.enter_released(start, end);
        }
        outcome
    }

    /// Moves past a newline inside the open value.
    #[inline(never)]
    fn pass_line_feed(&mut self, cursor: &mut Cursor<'_>, expected: Expected) -> Step {
        let content_end = self.content_end(cursor);
        let end = cursor.offset();
        self.json.pass_line_feed();
        cursor.at += 1;
        let mut line = self.line.go_on(end + 1);
        if self.multiline.is_some() {
            return None;
        }
        // A fault of something else on the line.
        let diagnostic = line.take_fault(content_end);
        self.begin_multiline(MultilineValue { line, end, expected, depth: self.json.depth() });
        diagnostic.map(|diagnostic| self.report(diagnostic))
    }

    // Inlined into the loop of `advance`, it takes registers from what runs for each token.
    #[inline(never)]
    pub(super) fn confirming(
        &mut self,
        cursor: &mut Cursor<'_>,
        (start, end): (u64, u64),
        mut comma: bool,
        released: bool,
    ) -> Step {
        if self.is_scalar() {
            return self.after_scalar(cursor, start, end);
        }
        let lenient = self.options.mode == Mode::Lenient;
        let in_array = self.array.is_some();
        if !in_array && !released && self.is_object_in_code(cursor, (start, end)) {
            cursor.seek(end);
            comma = false;
            if !self.look_for_code(cursor, end, false) {
                cursor.at = cursor.end();
                return None;
            }
        }
        // A value that is scanned again is known to be complete.
        let is_known = self.is_read_again(start);
        while let Some(byte) = cursor.peek() {
            let completion = match byte {
                b' ' | b'\t' | b'\r' => {
                    cursor.at += 1;
                    continue;
                }
                b'\n' => {
                    self.check_length(cursor);
                    if !self.state.is_confirming() {
                        return None;
                    }
                    if in_array {
                        self.state.enter_array();
                    } else {
                        self.state.enter_text();
                    }
                    let outcome = self.release_unless(released, cursor, (start, end), CompletedBy::Newline);
                    if outcome.is_some() && self.line.is_clean() && !self.line.has_fence {
                        let next = cursor.offset() + 1;
                        if self.segments.is_some() {
                            self.end_segments(self.line.kind(), next);
                        }
                        self.line.end_clean(next);
                        self.counted_from = next;
                        self.state.enter_line_start();
                        cursor.at += 1;
                    }
                    return outcome;
                }
                b',' | b']' if in_array => CompletedBy::ArrayElement,
                b',' if lenient && !comma => {
                    comma = true;
                    self.place.recovered = self.place.recovered.with(Recovery::Comma);
                    cursor.at += 1;
                    continue;
                }
                b'{' | b'[' if lenient => CompletedBy::NextItem,
                b'}' | b']' if lenient && self.line.prose_depth > 0 => CompletedBy::Text,
                b':' | b'}' | b']' if lenient && !is_known && !self.is_array() => {
                    self.conflict(cursor, start, end);
                    return None;
                }
                b'"' if lenient && !is_known && (comma || in_array) && !self.is_array() => {
                    self.conflict(cursor, start, end);
                    return None;
                }
                _ if !lenient => {
                    self.conflict(cursor, start, end);
                    return None;
                }
                _ => CompletedBy::Text,
            };
            if in_array {
                self.state.enter_array();
            } else {
                self.state.enter_text();
            }
            let outcome = self.release_unless(released, cursor, (start, end), completion);
            if is_known && !in_array {
                if byte == b'`' {
                    self.state.enter_discard();
                } else {
                    self.state.enter_after_rejected(start);
                }
            }
            if byte == b'`' {
                // The fence ends on the record's line.
                self.fence = None;
            }
            return outcome;
        }
        self.state.stay_confirming(start, end, comma, released);
        None
    }

    /// Rejects a balanced value, because the line continues as if it were still open.
    #[cold]
    fn conflict(&mut self, cursor: &mut Cursor<'_>, start: u64, end: u64) {
        let is_prose = match self.fence_kind() {
            Some(FenceKind::Json) => false,
            Some(FenceKind::Other) => true,
            _ => self.json.is_empty() && self.array.is_none(),
        };
        if is_prose && self.options.mode == Mode::Lenient {
            self.array = None;
            return self.pass_balanced_text(start, end);
        }
        let found = error::UnexpectedToken::classify(cursor.rest()[0]);
        let (code, message) = match self.json.root_kind() {
            Kind::Object => {
                (Code::TrailingData, format!("the object is balanced, but the line goes on with {found}"))
            }
            _ => (Code::MalformedJson, error::describe(Expected::End, found)),
        };
        self.fault(code, start, cursor.offset(), message);
        self.multiline.clear();
        self.element_is_over();
        match self.options.mode {
            Mode::Strict => self.state.enter_discard(),
            Mode::Lenient => {
                self.state.enter_skip(Skip { start, end: SkipTo::LineEnd, ..Skip::default() });
            }
        }
    }

    pub(super) fn discard(&mut self, cursor: &mut Cursor<'_>) -> Step {
        let rest = cursor.rest();
        match memchr(b'\n', rest) {
            Some(found) => {
                cursor.at += found;
                self.line_end(cursor)
            }
            None => {
                cursor.at += rest.len();
                None
            }
        }
    }
}
