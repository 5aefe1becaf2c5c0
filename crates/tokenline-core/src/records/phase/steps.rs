//! What the machine does in each phase, up to what ends it or the end of what is visible.

use memchr::{memchr, memchr3};

use super::{Found, Machine, Phase, Region};
use crate::json::Kind;
use crate::json::error;
use crate::json::parser::{RawStep, is_space};
use crate::records::window::Window;
use crate::{Code, Completion, Emit, Mode};

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
                _ => {
                    let offset = window.offset(*at);
                    if self.begins_inside(offset) {
                        return None;
                    }
                    match (self.options.mode, byte) {
                        (Mode::Strict, _) | (Mode::Lenient, b'{' | b'[') => self.open(offset),
                        (Mode::Lenient, b'`' | b'~') => self.phase = Phase::Fence { marker: byte, count: 0 },
                        (Mode::Lenient, _) => self.phase = Phase::Text,
                    }
                    return None;
                }
            }
        }
        None
    }

    /// The line's text begins at this offset. Whether it belongs to a region that was left open.
    pub(super) fn begins_inside(&mut self, offset: u64) -> bool {
        self.line.first = Some(offset);
        let Some(region) = self.region else { return false };
        if offset - self.line.start <= region.indent {
            self.region = None;
            return false;
        }
        self.line.inside = !region.is_root_array;
        if self.line.inside {
            self.phase = Phase::Inside;
        }
        self.line.inside
    }

    pub(super) fn open(&mut self, start: u64) {
        self.json.reset();
        self.phase = Phase::Value { start };
    }

    pub(super) fn fence<'w>(
        &mut self,
        bytes: &[u8],
        at: &mut usize,
        marker: u8,
        mut count: u8,
    ) -> Option<Found<'w>> {
        while count < 3 {
            match bytes.get(*at) {
                None => {
                    self.phase = Phase::Fence { marker, count };
                    return None;
                }
                Some(&byte) if byte == marker => {
                    count += 1;
                    *at += 1;
                }
                Some(_) => break,
            }
        }
        self.line.fence = count == 3;
        self.phase = Phase::Text;
        None
    }

    pub(super) fn text<'w>(
        &mut self,
        bytes: &[u8],
        window: &Window<'w>,
        at: &mut usize,
    ) -> Option<Found<'w>> {
        let from = *at;
        let stop = memchr3(b'{', b'[', b'\n', &bytes[from..]).map(|found| from + found);
        *at = stop.unwrap_or(bytes.len());
        if *at > from
            && let Some(bad) = window.bad_utf8(from, *at - 1)
        {
            self.bad_utf8(window.offset(bad));
            return None;
        }
        match stop.map(|stop| bytes[stop]) {
            None => None,
            Some(b'\n') => self.line_end(window, at),
            Some(_) => {
                self.open(window.offset(*at));
                None
            }
        }
    }

    pub(super) fn value_bytes<'w>(
        &mut self,
        bytes: &[u8],
        window: &Window<'w>,
        at: &mut usize,
        start: u64,
    ) -> Option<Found<'w>> {
        let from = window.index(start);
        match self.json.resume_bytes(&bytes[from..]) {
            RawStep::NeedMore => {
                *at = bytes.len();
                None
            }
            RawStep::Complete { end } => {
                *at = from + end;
                let end = window.offset(*at);
                self.phase = Phase::Sealing { start, end, comma: false, released: false };
                match self.json.root_kind() {
                    Kind::Object if self.options.emit == Emit::Eager => {
                        self.phase = Phase::Sealing { start, end, comma: false, released: true };
                        self.release(window, start, end, Completion::Balanced)
                    }
                    // In strict mode the rest of the line may be worse.
                    Kind::Object => None,
                    _ if self.options.mode == Mode::Strict => None,
                    _ => {
                        self.not_an_object(window, start, end);
                        None
                    }
                }
            }
            RawStep::Malformed(fault) => {
                self.malformed(bytes, window, at, start, fault);
                None
            }
        }
    }

    pub(super) fn malformed(
        &mut self,
        bytes: &[u8],
        window: &Window<'_>,
        at: &mut usize,
        start: u64,
        fault: error::Fault,
    ) {
        let from = window.index(start);
        *at = from + fault.offset;
        if let Some(bad) = window.bad_utf8(from, *at) {
            return self.bad_utf8(window.offset(bad));
        }
        let byte = bytes[*at];
        let code = match fault.expected {
            error::Expected::LessDepth => Code::TooDeep,
            _ => Code::MalformedJson,
        };
        let mut message = error::describe(fault.expected, error::Found::classify(byte));
        if byte == b'\n' && !fault.expected.is_in_string() {
            message.push_str("; a record stands on one line");
        }
        // `{x}` in prose is no attempt at JSON; `{"x` is.
        let end = match fault.expected {
            // The word `the` starts like `true`.
            error::Expected::Literal | error::Expected::Digit => from + self.json.token_start(),
            _ => *at,
        };
        let between = bytes.get(from + 1..end).unwrap_or_default();
        let is_data = self.options.mode == Mode::Strict || between.iter().any(|byte| !is_space(*byte, true));
        self.fault(code, start, window.offset(*at), message, is_data);
        self.phase = match (self.options.mode, byte) {
            (Mode::Strict, _) => Phase::Discard,
            (Mode::Lenient, b'\n') => {
                let is_bare_array = bytes[from] == b'[' && !is_data;
                self.open_region(is_bare_array);
                Phase::Text
            }
            (Mode::Lenient, _) => Phase::Skip {
                start,
                depth: self.json.depth(),
                in_string: fault.expected.is_in_string(),
                escaped: false,
                is_data,
            },
        };
    }

    /// A value is open at the end of its line. `is_bare_array` tells that it is a bracket and
    /// nothing after it.
    pub(super) fn open_region(&mut self, is_bare_array: bool) {
        let is_nested = self.region.is_some_and(|region| region.is_root_array);
        let indent = self.line.first.map_or(0, |first| first - self.line.start);
        self.region = Some(Region { indent, is_root_array: is_bare_array && !is_nested });
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
        while let Some(&byte) = bytes.get(*at) {
            let completion = match byte {
                b' ' | b'\t' | b'\r' => {
                    *at += 1;
                    continue;
                }
                b'\n' => {
                    self.check_length(window, *at);
                    if !self.is_discarding() {
                        self.phase = Phase::Text;
                    }
                    let found = self.release_unless(released, window, start, end, Completion::Newline);
                    if found.is_some() && self.line.is_clean() {
                        let next = window.offset(*at + 1);
                        self.line.end_clean(next);
                        self.phase = Phase::LineStart;
                        *at += 1;
                    }
                    return found;
                }
                b',' if lenient && !comma => {
                    comma = true;
                    *at += 1;
                    continue;
                }
                b'{' | b'[' if lenient => Completion::NextItem,
                b':' | b'}' | b']' if lenient => {
                    self.conflict(window, *at, start);
                    return None;
                }
                b'"' if lenient && comma => {
                    self.conflict(window, *at, start);
                    return None;
                }
                _ if !lenient => {
                    self.conflict(window, *at, start);
                    return None;
                }
                _ => Completion::Text,
            };
            if let Some(bad) = window.bad_utf8(*at, *at) {
                let from = window.index(start.max(window.base));
                let bad = window.bad_utf8(from, bad).unwrap_or(bad);
                self.bad_utf8(window.offset(bad));
                return None;
            }
            self.phase = Phase::Text;
            return self.release_unless(released, window, start, end, completion);
        }
        self.phase = Phase::Sealing { start, end, comma, released };
        None
    }

    /// The line goes on as if the balanced value were still open.
    pub(super) fn conflict(&mut self, window: &Window<'_>, at: usize, start: u64) {
        // A released record may lie before the window.
        let from = window.index(start.max(window.base));
        if let Some(bad) = window.bad_utf8(from, at) {
            return self.bad_utf8(window.offset(bad));
        }
        let found = error::Found::classify(window.bytes[at]);
        let message = match self.json.root_kind() {
            Kind::Object => format!("the object is balanced, but the line goes on with {found}"),
            _ => error::describe(error::Expected::End, found),
        };
        let code = match self.json.root_kind() {
            Kind::Object => Code::TrailingData,
            _ => Code::MalformedJson,
        };
        self.fault(code, start, window.offset(at), message, true);
        self.phase = Phase::Discard;
    }

    pub(super) fn skip<'w>(
        &mut self,
        bytes: &[u8],
        window: &Window<'w>,
        at: &mut usize,
        (start, is_data): (u64, bool),
        (mut depth, mut in_string, mut escaped): (u32, bool, bool),
    ) -> Option<Found<'w>> {
        let from = *at;
        let mut is_over = false;
        while let Some(&byte) = bytes.get(*at) {
            match byte {
                b'\n' => {
                    is_over = true;
                    break;
                }
                _ if escaped => escaped = false,
                b'\\' if in_string => escaped = true,
                b'"' => in_string = !in_string,
                b'{' | b'[' if !in_string => depth += 1,
                b'}' | b']' if !in_string => {
                    depth = depth.saturating_sub(1);
                    is_over = depth == 0;
                }
                _ => {}
            }
            *at += 1;
            if is_over {
                break;
            }
        }
        if *at > from
            && let Some(bad) = window.bad_utf8(from, *at - 1)
        {
            self.bad_utf8(window.offset(bad));
            return None;
        }
        self.phase =
            if is_over { Phase::Text } else { Phase::Skip { start, depth, in_string, escaped, is_data } };
        if depth == 0 {
            self.line.end_fault(start, window.offset(*at));
        } else if is_over && is_data {
            self.open_region(false);
        }
        None
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
