//! Releasing a record, and what is said instead: not UTF-8, too long, no object.

use super::lost::{Skip, SkipTo};
use super::{Found, Machine, Phase};
use crate::json::{Kind, parser::RawStep};
use crate::records::line::{Fault, FenceKind};
use crate::records::window::Window;
use crate::{Code, Completion, Mode, Record, Recovery, Span};

impl Machine {
    /// Where the content of the line ends whose line feed, or the end of the input, is at `at`.
    pub(super) fn content_end(&self, window: &Window<'_>, at: usize) -> u64 {
        let end = window.offset(at);
        let after_return = match at.checked_sub(1) {
            Some(before) => window.bytes[before] == b'\r',
            None => end > 0 && self.last_return == Some(end - 1),
        };
        if after_return && end > self.line.start { end - 1 } else { end }
    }

    /// The next window may start at `at`.
    pub(super) fn note_return(&mut self, window: &Window<'_>, at: usize) {
        if let Some(before) = at.checked_sub(1)
            && window.bytes[before] == b'\r'
        {
            self.last_return = Some(window.offset(before));
        }
    }

    /// Holds the limit against the line that ends at `line_feed`. Returns where its content ends.
    #[inline]
    pub(super) fn check_length(&mut self, window: &Window<'_>, at: &mut usize, line_feed: usize) -> u64 {
        let content_end = self.content_end(window, line_feed);
        // Of a value on several lines it is held against the value alone. A call may have ended behind a
        // carriage return, which is not content.
        if content_end.saturating_sub(self.counted_from) > self.limit && self.spread.is_none() {
            let open = self.open_start().map(|start| window.index(start));
            match open.and_then(|open| window.bad_utf8(open, line_feed.saturating_sub(1))) {
                // What was wrong first is what is said.
                Some(bad) => self.bad_utf8(window, at, bad),
                None => self.too_long(window, at),
            }
        }
        content_end
    }

    pub(super) fn release_unless<'w>(
        &mut self,
        released: bool,
        window: &Window<'w>,
        at: &mut usize,
        (start, end): (u64, u64),
        completion: Completion,
    ) -> Option<Found<'w>> {
        if !released {
            return self.release(window, at, start, end, completion);
        }
        self.spread = None;
        None
    }

    /// Releases a balanced object, if it is within the limit, and UTF-8. On a fault the
    /// phase says how to go on.
    #[inline]
    pub(super) fn release<'w>(
        &mut self,
        window: &Window<'w>,
        at: &mut usize,
        start: u64,
        end: u64,
        completion: Completion,
    ) -> Option<Found<'w>> {
        if self.json.root_kind() != Kind::Object {
            self.not_an_object(window, at, start, end);
            return None;
        }
        if self.is_discarding() {
            return None;
        }
        if self.json.is_empty() && self.is_in_prose(completion) {
            // `{}` in a sentence, or in code.
            self.spread = None;
            self.line.add_text(b"{");
            return None;
        }
        let (from, to) = (window.index(start), window.index(end));
        let sealing = Phase::Sealing { start, end, comma: false, released: false };
        let text = if window.is_checked {
            None
        } else {
            match simdutf8::basic::from_utf8(&window.bytes[from..to]) {
                Ok(text) => Some(text),
                Err(_) => {
                    // It is still open: all of it is lost, on however many lines.
                    self.phase = sealing;
                    let bad = window.bad_utf8(from, to).unwrap_or(from);
                    self.bad_utf8(window, at, bad);
                    return None;
                }
            }
        };
        if end - self.counted_from > self.limit {
            self.phase = sealing;
            self.too_long(window, at);
            return None;
        }
        if let Some(calls) = &mut self.calls {
            let text = text.unwrap_or_else(|| window.text_between(from, to));
            if !calls.detector.reads_objects() {
                // The calls are in another format: this is text.
                self.spread = None;
                self.line.lead.add(b"{");
                return None;
            }
            calls.detector.admit_object(self.json.value(text));
        }
        let is_in_prose = completion == Completion::Text && !self.place.recovered.contains(Recovery::Fence);
        let is_beside_another = completion == Completion::NextItem && self.walk.is_none();
        let recovered = self
            .place
            .recovered
            .with_if(is_in_prose, Recovery::Prose)
            .with_if(is_beside_another, Recovery::SameLine)
            .with_if(self.spread.is_some(), Recovery::SeveralLines);
        self.spread = None;
        self.line.has_record = true;
        self.has_content = true;
        if let Some(walk) = &mut self.walk {
            walk.end_element();
            let from = std::mem::replace(&mut walk.done_to, end);
            self.counted_from = end;
            self.note_markup(from, start);
        }
        self.record = Record {
            value: (),
            line: self.place.line,
            column: self.place.column,
            span: Span::new(start, end),
            completion,
            recovered,
        };
        Some(Found::Record { text })
    }

    /// Whether a value that is balanced stands in a sentence.
    fn is_in_prose(&self, completion: Completion) -> bool {
        let lead = self.line.lead;
        self.options.mode == Mode::Lenient
            && self.walk.is_none()
            && self.fence_kind() != Some(FenceKind::Json)
            && (matches!(completion, Completion::Text | Completion::NextItem)
                || !(lead.is_empty() || lead.is_list_marker()))
    }

    /// Only of a root value in the strict mode: in the lenient one it begins with `{`.
    #[cold]
    pub(super) fn not_an_object(&mut self, window: &Window<'_>, at: &mut usize, start: u64, end: u64) {
        let (from, to) = (window.index(start), window.index(end));
        self.phase = Phase::Text;
        if let Some(bad) = window.bad_utf8(from, to - 1) {
            return self.bad_utf8(window, at, bad);
        }
        self.fault(Code::NotAnObject, start, start, found_instead(self.json.root_kind()));
        self.line.end_fault(start, end);
    }

    /// The next byte of the text is not UTF-8.
    #[cold]
    pub(super) fn bad_byte<'w>(&mut self, window: &Window<'w>, at: &mut usize) -> Option<Found<'w>> {
        if self.walk.as_ref().is_some_and(|walk| walk.unjudged_from().is_some()) {
            return self.read_unjudged(window, at);
        }
        if matches!(self.phase, Phase::LineStart) {
            if let Some(found) = self.begin_text(window.offset(*at), None) {
                return Some(found);
            }
            if self.line.is_inside {
                self.phase = Phase::Discard;
                return None;
            }
        }
        if let Phase::Value { start } = self.phase
            && self.walk.is_some()
            && let RawStep::Complete { .. } = self.json.finish_bytes(&window.bytes[window.index(start)..])
        {
            // A number, which it ends.
            self.end_of_walked(window, at, start, window.offset(*at));
            if self.walk.as_ref().is_some_and(|walk| walk.unjudged_from().is_some()) {
                return self.read_unjudged(window, at);
            }
        }
        self.bad_utf8(window, at, *at);
        None
    }

    /// The byte at the index `bad` is not UTF-8.
    #[cold]
    pub(super) fn bad_utf8(&mut self, window: &Window<'_>, at: &mut usize, bad: usize) {
        const MESSAGE: &str = "the line is not UTF-8";
        let bad = window.offset(bad);
        if self.spread.is_some()
            && let Some(start) = self.open_start()
        {
            return self.give_up(window, at, start, Code::InvalidUtf8, bad, MESSAGE.to_owned());
        }
        // Nor does it end a fence, however much of it was read before.
        self.line.lead.add(b"?");
        // The whole line is lost, not just the value.
        let start = *self.line.first.get_or_insert(bad);
        self.fault(Code::InvalidUtf8, start, bad, MESSAGE.to_owned());
        self.lose_line_of_walk();
        self.phase = Phase::Discard;
    }

    /// What is open is longer than the limit.
    #[cold]
    pub(super) fn too_long(&mut self, window: &Window<'_>, at: &mut usize) {
        let limit_at = self.counted_from + self.limit;
        match self.phase {
            Phase::Value { start } | Phase::Sealing { start, .. } if self.spread.is_some() => {
                let message = format!("the record is larger than {} bytes", self.limit);
                let limit_at = limit_at.max(self.line.start);
                self.give_up(window, at, start, Code::RecordTooLarge, limit_at, message);
            }
            Phase::Value { start } if self.walk.is_some() => {
                let message = format!("the record is larger than {} bytes", self.limit);
                self.fault(Code::RecordTooLarge, start, limit_at.max(self.line.start), message);
                self.element_is_over();
                self.note_object();
                let (in_string, escaped) = self.json.in_string();
                let depth = self.json.depth();
                let end = if depth == 0 { SkipTo::Separator } else { SkipTo::Balance };
                self.phase = Phase::Skip(Skip { start, depth, in_string, escaped, end });
            }
            Phase::Sealing { start, end, released: false, .. } if self.walk.is_some() => {
                let message = format!("the record is larger than {} bytes", self.limit);
                self.fault(Code::RecordTooLarge, start, limit_at.max(self.line.start), message);
                self.line.end_fault(start, end);
                self.element_is_over();
                self.counted_from = end;
                self.phase = Phase::Walk;
            }
            _ => {
                let message = format!("the line is longer than {} bytes", self.limit);
                let start = self.line.start;
                self.fault(Code::LineTooLong, start, limit_at, message);
                self.line.first.get_or_insert(start);
                self.lose_line_of_walk();
                self.phase = Phase::Discard;
            }
        }
    }

    pub(super) fn fault(&mut self, code: Code, start: u64, at: u64, message: String) {
        self.line.first.get_or_insert(start.max(self.line.start));
        if self.walk.is_none() {
            // What stands behind it does not stand first.
            self.line.lead.add(b"{");
        }
        self.line.add_fault(Fault { code, start, at, end: None, message, alone: None });
    }
}

/// What a value is, where an object was expected.
pub(super) fn found_instead(kind: Kind) -> String {
    let article = match kind {
        Kind::Null => "",
        Kind::Array | Kind::Object => "an ",
        Kind::Bool | Kind::Number | Kind::String => "a ",
    };
    format!("expected an object, found {article}{}", kind.as_str())
}
