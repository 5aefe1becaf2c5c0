//! What the machine does in each phase, up to what ends it or the end of what is visible.

use memchr::{memchr, memchr3};

use super::lost::{Skip, SkipTo};
use super::{Found, Machine, Phase, Place, Spread};
use crate::json::error::{self, Expected};
use crate::json::parser::RawStep;
use crate::json::{Kind, error::Fault};
use crate::records::line::FenceKind;
use crate::records::window::Window;
use crate::{Code, Completion, Emit, Mode, Recovered, Recovery};

impl Machine {
    pub(super) fn start<'w>(
        &mut self,
        bytes: &[u8],
        window: &Window<'w>,
        at: &mut usize,
    ) -> Option<Found<'w>> {
        if bytes.is_empty() {
            return None;
        }
        if bytes.starts_with("\u{feff}".as_bytes()) {
            *at += 3;
            self.line.start = window.offset(*at);
            self.line.text_start = self.line.start;
            self.counted_from = self.line.start;
        }
        self.phase = Phase::LineStart;
        None
    }

    pub(super) fn line_start<'w>(
        &mut self,
        bytes: &[u8],
        window: &Window<'w>,
        at: &mut usize,
    ) -> Option<Found<'w>> {
        while let Some(&byte) = bytes.get(*at) {
            match byte {
                b' ' | b'\t' | b'\r' => *at += 1,
                b'\n' => return self.line_end(window, at),
                b'{' if self.lost.is_none()
                    && self.walk.is_none()
                    && self.calls.is_none()
                    && self.given_up.is_none() =>
                {
                    let offset = window.offset(*at);
                    self.line.first = Some(offset);
                    if self.options.mode == Mode::Lenient && self.options.items.is_some() {
                        self.open_or_walk(window, at);
                    } else {
                        self.open(offset);
                    }
                    return None;
                }
                _ => return self.begin_line(window, at, byte),
            }
        }
        None
    }

    /// The line's text begins with `byte`.
    #[inline(never)]
    fn begin_line<'w>(&mut self, window: &Window<'w>, at: &mut usize, byte: u8) -> Option<Found<'w>> {
        let offset = window.offset(*at);
        if byte >= 0x80 && window.bad_utf8(*at, *at).is_some() {
            return self.bad_byte(window, at);
        }
        if self.walk.as_ref().is_some_and(|walk| walk.unjudged_from().is_some()) {
            if !matches!(byte, b',' | b']') {
                return self.read_unjudged(window, at);
            }
            self.judge_element();
        }
        if let Some(given_up) = &self.given_up
            && self.walk.as_ref().is_none_or(|walk| walk.start < given_up.start)
            && let Some(found) = self.begin_line_again(offset, byte)
        {
            return found;
        }
        if self.lost.is_some() {
            if let Some(found) = self.begin_text(offset, Some(byte)) {
                return Some(found);
            }
            if self.line.is_inside {
                return None;
            }
        }
        if self.walk.is_some()
            && let Some(found) = self.begin_line_of_walk(offset, byte)
        {
            return found;
        }
        self.line.first = Some(offset);
        if self.calls.is_some() && self.may_begin_call(offset, byte) {
            return None;
        }
        match (self.options.mode, byte) {
            (Mode::Strict, _) => self.open(offset),
            (Mode::Lenient, b'{' | b'[') => self.open_or_walk(window, at),
            (Mode::Lenient, b'`' | b'~') => self.phase = Phase::Fence { marker: byte, count: 0 },
            (Mode::Lenient, b'<') => self.begin_tag(offset, b""),
            (Mode::Lenient, _) => self.phase = Phase::Text,
        }
        None
    }

    /// A value begins at `start`.
    #[inline]
    pub(super) fn open(&mut self, start: u64) {
        self.json.reset();
        self.phase = Phase::Value { start };
        let mut recovered = Recovered::NONE;
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

    /// A value begins, or an array of them; `at` is on its bracket.
    fn open_or_walk(&mut self, window: &Window<'_>, at: &mut usize) {
        let start = window.offset(*at);
        if !self.is_walk(window.bytes[*at]) {
            self.open(start);
        } else if window.bytes[*at] == b'{' {
            self.phase = Phase::Judge { start, fault: None };
        } else {
            self.begin_walk(window, at);
        }
    }

    #[inline(never)]
    pub(super) fn fence<'w>(
        &mut self,
        bytes: &[u8],
        at: &mut usize,
        marker: u8,
        mut count: u8,
    ) -> Option<Found<'w>> {
        while let Some(&byte) = bytes.get(*at) {
            if byte != marker {
                if count < 3 {
                    self.line.lead.add(&[marker]);
                }
                self.phase = Phase::Text;
                return None;
            }
            count = (count + 1).min(3);
            *at += 1;
            if count == 3 && !self.line.has_fence {
                self.line.has_fence = true;
                self.line.is_quiet = true;
                self.line.may_close_fence = self.fence.is_some();
                self.fence.get_or_insert(FenceKind::Plain);
            }
        }
        self.phase = Phase::Fence { marker, count };
        None
    }

    pub(super) fn text<'w>(
        &mut self,
        bytes: &[u8],
        window: &Window<'w>,
        at: &mut usize,
    ) -> Option<Found<'w>> {
        let from = *at;
        let found = match self.calls {
            None => memchr3(b'{', b'[', b'\n', &bytes[from..]),
            Some(_) => self.next_opener(&bytes[from..]),
        };
        let stop = found.map(|found| from + found);
        *at = stop.unwrap_or(bytes.len());
        if *at > from {
            if let Some(bad) = window.bad_utf8(from, *at - 1) {
                self.line.lead.add(&bytes[from..bad]);
                self.bad_utf8(window, at, bad);
                return None;
            }
            self.line.add_text(&bytes[from..*at]);
            if self.line.prose_depth > 0 {
                let closers = bytes[from..*at].iter().filter(|byte| matches!(byte, b'}' | b']')).count();
                self.line.prose_depth = self.line.prose_depth.saturating_sub(closers as u32);
            }
        }
        match stop.map(|stop| bytes[stop]) {
            None => {}
            Some(b'\n') => return self.line_end(window, at),
            Some(byte) if self.calls.is_some() && self.may_begin_call(window.offset(*at), byte) => {}
            Some(b'{' | b'[') => self.open_or_walk(window, at),
            Some(byte) => {
                self.line.add_text(&[byte]);
                *at += 1;
            }
        }
        None
    }

    pub(super) fn value_bytes<'w>(
        &mut self,
        bytes: &[u8],
        window: &Window<'w>,
        at: &mut usize,
        start: u64,
    ) -> Option<Found<'w>> {
        let from = window.index(start);
        loop {
            match self.json.resume_bytes(&bytes[from..]) {
                RawStep::NeedMore => {
                    *at = bytes.len();
                    return None;
                }
                RawStep::Complete { end } => {
                    if self.walk.is_some()
                        && self.is_record_open()
                        && self.json.root_kind() == Kind::Object
                        && let Some(other) = self.establish()
                    {
                        return self.found_before(other);
                    }
                    *at = from + end;
                    let end = window.offset(*at);
                    self.phase = Phase::Sealing { start, end, comma: false, released: false };
                    if self.walk.is_some() && !self.end_of_walked(window, at, start, end) {
                        return None;
                    }
                    if self.options.emit == Emit::Eager && self.json.root_kind() == Kind::Object {
                        let found = self.release(window, at, start, end, Completion::Balanced);
                        if found.is_some() {
                            self.phase = Phase::Sealing { start, end, comma: false, released: true };
                        }
                        return found;
                    }
                    return None;
                }
                RawStep::LineEnd(fault) if self.options.mode == Mode::Lenient => {
                    *at = from + fault.offset;
                    let line_from = window.index(start.max(self.line.start));
                    if let Some(bad) = window.bad_utf8(line_from, *at) {
                        self.bad_utf8(window, at, bad);
                        return None;
                    }
                    if let Some(found) = self.spread(window, at, fault.expected) {
                        return Some(found);
                    }
                }
                RawStep::LineEnd(fault) | RawStep::Malformed(fault) => {
                    return self.judge(bytes, window, at, (start, Some(fault)), false);
                }
            }
        }
    }

    /// `at` is on a line feed within the open value. Goes past it.
    #[inline(never)]
    fn spread<'w>(&mut self, window: &Window<'w>, at: &mut usize, expected: Expected) -> Option<Found<'w>> {
        let content_end = self.content_end(window, *at);
        let end = window.offset(*at);
        self.json.pass_line_feed();
        *at += 1;
        let mut line = self.line.go_on(end + 1);
        if self.spread.is_some() {
            return None;
        }
        // Of anything else on the line.
        let finding = line.take_fault(content_end);
        self.spread = Some(Spread { line, end, expected, depth: self.json.depth() });
        finding.map(|finding| Found::Diagnostic(Box::new(finding)))
    }

    /// The value at `start`, by which a record was meant, is malformed; `at` is on the byte at fault.
    #[cold]
    pub(super) fn malformed<'w>(
        &mut self,
        bytes: &[u8],
        window: &Window<'w>,
        at: &mut usize,
        start: u64,
        fault: Fault,
    ) -> Option<Found<'w>> {
        let from = window.index(start);
        let byte = bytes[*at];
        let is_strict = self.options.mode == Mode::Strict;
        let code = match fault.expected {
            Expected::LessDepth => Code::TooDeep,
            _ => Code::MalformedJson,
        };
        let mut message = error::describe(fault.expected, error::Found::classify(byte));
        if is_strict && self.line.first == Some(start) && bytes[from] != b'{' {
            message = format!("expected an object at the start of the line; {message}");
        } else if is_strict && byte == b'\n' && !fault.expected.is_in_string() {
            message.push_str("; a record stands on one line");
        }
        let (start, depth, other) = self.lose_element(start);
        if self.spread.is_some() {
            self.give_up(window, at, start, code, window.offset(*at), message);
            return other.and_then(|other| self.found_before(other));
        }
        let in_string = fault.expected.is_in_string();
        self.fault(code, start, window.offset(*at), message);
        self.phase = match byte {
            _ if is_strict => Phase::Discard,
            b'\n' => {
                self.lose(start, depth, in_string);
                Phase::Text
            }
            _ => {
                let end = if depth == 0 { SkipTo::Separator } else { SkipTo::Balance };
                Phase::Skip(Skip { start, depth, in_string, escaped: false, end })
            }
        };
        other.and_then(|other| self.found_before(other))
    }

    pub(super) fn sealing<'w>(
        &mut self,
        bytes: &[u8],
        window: &Window<'w>,
        at: &mut usize,
        (start, end): (u64, u64),
        mut comma: bool,
        released: bool,
    ) -> Option<Found<'w>> {
        let lenient = self.options.mode == Mode::Lenient;
        let in_walk = self.walk.is_some();
        // Of what is read again it is known that the value was whole.
        let is_known = self.is_read_again(start);
        while let Some(&byte) = bytes.get(*at) {
            let completion = match byte {
                b' ' | b'\t' | b'\r' => {
                    *at += 1;
                    continue;
                }
                b'\n' => {
                    let line_feed = *at;
                    self.check_length(window, at, line_feed);
                    if !matches!(self.phase, Phase::Sealing { .. }) {
                        return None;
                    }
                    if !self.is_discarding() {
                        self.phase = if in_walk { Phase::Walk } else { Phase::Text };
                    }
                    let found = self.release_unless(released, window, at, (start, end), Completion::Newline);
                    if found.is_some() && self.line.is_clean() && !self.line.has_fence {
                        let next = window.offset(*at + 1);
                        self.line.end_clean(next);
                        self.counted_from = next;
                        self.phase = Phase::LineStart;
                        *at += 1;
                    }
                    return found;
                }
                b',' | b']' if in_walk => Completion::ArrayElement,
                b',' if lenient && !comma => {
                    comma = true;
                    self.place.recovered = self.place.recovered.with(Recovery::Comma);
                    *at += 1;
                    continue;
                }
                b'{' | b'[' if lenient => Completion::NextItem,
                b'}' | b']' if lenient && self.line.prose_depth > 0 => Completion::Text,
                b':' | b'}' | b']' if lenient && !is_known => {
                    self.conflict(window, at, start);
                    return None;
                }
                b'"' if lenient && !is_known && (comma || in_walk) => {
                    self.conflict(window, at, start);
                    return None;
                }
                _ if !lenient => {
                    self.conflict(window, at, start);
                    return None;
                }
                _ => Completion::Text,
            };
            if let Some(bad) = window.bad_utf8(*at, *at) {
                let from = window.index(start.max(self.line.start).max(window.base));
                let bad = window.bad_utf8(from, bad).unwrap_or(bad);
                self.bad_utf8(window, at, bad);
                return None;
            }
            self.phase = if in_walk { Phase::Walk } else { Phase::Text };
            let found = self.release_unless(released, window, at, (start, end), completion);
            if is_known && !in_walk {
                // Inner values that follow on the line are no records.
                self.phase = Phase::Discard;
            }
            if byte == b'`' {
                // The fence ends on the record's line.
                self.fence = None;
            }
            return found;
        }
        self.phase = Phase::Sealing { start, end, comma, released };
        None
    }

    /// The line goes on as if the balanced value were still open.
    #[cold]
    fn conflict(&mut self, window: &Window<'_>, at: &mut usize, start: u64) {
        // A released record may lie before the window.
        let from = window.index(start.max(self.line.start).max(window.base));
        if let Some(bad) = window.bad_utf8(from, *at) {
            return self.bad_utf8(window, at, bad);
        }
        let is_prose = match self.fence_kind() {
            Some(FenceKind::Json) => false,
            Some(FenceKind::Other) => true,
            _ => self.json.is_empty(),
        };
        if is_prose && self.walk.is_none() && self.options.mode == Mode::Lenient {
            self.spread = None;
            self.line.add_text(b"{");
            self.phase = Phase::Text;
            return;
        }
        let found = error::Found::classify(window.bytes[*at]);
        let message = match self.json.root_kind() {
            Kind::Object => format!("the object is balanced, but the line goes on with {found}"),
            _ => error::describe(Expected::End, found),
        };
        let code = match self.json.root_kind() {
            Kind::Object => Code::TrailingData,
            _ => Code::MalformedJson,
        };
        self.fault(code, start, window.offset(*at), message);
        self.spread = None;
        self.element_is_over();
        self.phase = match self.options.mode {
            Mode::Strict => Phase::Discard,
            Mode::Lenient => Phase::Skip(Skip { start, end: SkipTo::LineEnd, ..Skip::default() }),
        };
    }

    pub(super) fn discard<'w>(
        &mut self,
        bytes: &[u8],
        window: &Window<'w>,
        at: &mut usize,
    ) -> Option<Found<'w>> {
        match memchr(b'\n', &bytes[*at..]) {
            Some(found) => {
                *at += found;
                self.line_end(window, at)
            }
            None => {
                *at = bytes.len();
                None
            }
        }
    }
}
