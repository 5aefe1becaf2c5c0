//! Releases records, or reports why not: not UTF-8, too long, not an object.

use super::state::{Found, Gap, MultilineValue, Skip, SkipTo, State};
use super::{Outcome, Place, Scanner, Step};
use crate::call_format::ObjectRole;
use crate::json::{Kind, parser::RawStep};
use crate::records::cursor::Cursor;
use crate::records::line::{Fault, FenceKind};
use crate::{Code, CompletedBy, Mode, Recovery, Span};

const MISSING: &str =
    "part of the line may be missing: the input before it was truncated or could not be read";

impl Scanner {
    /// The end of the content of the line whose newline, or the end of the input, is next.
    pub(super) fn content_end(&self, cursor: &Cursor<'_>) -> u64 {
        let end = cursor.offset();
        let after_return = match cursor.before(cursor.at) {
            Some(before) => before == b'\r',
            None => end > 0 && self.last_return == end,
        };
        if after_return && end > self.line.start { end - 1 } else { end }
    }

    /// Notes a carriage return at the cursor, because the next cursor may start after it.
    pub(super) fn note_return(&mut self, cursor: &Cursor<'_>) {
        if cursor.before(cursor.at) == Some(b'\r') {
            self.last_return = cursor.offset();
        }
    }

    /// Checks the length of the line that ends at the cursor. Returns the end of its content.
    #[inline]
    pub(super) fn check_length(&mut self, cursor: &mut Cursor<'_>) -> u64 {
        let content_end = self.content_end(cursor);
        // A value on several lines is checked on its own. A call may have ended after a carriage return,
        // which is not content.
        if content_end.saturating_sub(self.counted_from) > self.max_bytes() && !self.multiline.is_some() {
            self.too_long(cursor);
        }
        content_end
    }

    pub(super) fn release_unless(
        &mut self,
        released: bool,
        cursor: &mut Cursor<'_>,
        (start, end): (u64, u64),
        completion: CompletedBy,
    ) -> Step {
        if !released {
            return self.release(cursor, start, end, completion);
        }
        self.multiline.clear();
        None
    }

    /// Releases a balanced object, if it is within the limit. After a fault, the state says how to continue.
    #[inline]
    pub(super) fn release(
        &mut self,
        cursor: &mut Cursor<'_>,
        start: u64,
        end: u64,
        completion: CompletedBy,
    ) -> Step {
        if self.json.root_kind() != Kind::Object && !self.options.whole_values {
            self.not_an_object(start, end);
            return None;
        }
        if self.is_discarding() {
            return None;
        }
        if self.is_text(start, completion) {
            self.pass_balanced_text(start, end);
            return None;
        }
        if end - self.counted_from > self.max_bytes() {
            // It is still open: it is rejected completely, however many lines it has.
            self.state.enter_confirming(start, end);
            self.too_long(cursor);
            return None;
        }
        if let Some(calls) = &mut self.calls {
            let text = cursor.text_between(cursor.index(start), cursor.index(end));
            let is_code = std::mem::take(&mut calls.object_in_code);
            // In an array, and on balance, what follows on the line is not known.
            let is_early = self.array.is_some() || completion == CompletedBy::Balanced;
            let in_code = if is_early { self.is_line_in_code() } else { is_code };
            let is_quoted = in_code || self.is_in_code_block(None);
            let role = match &mut self.calls {
                Some(calls) if !is_quoted => calls.detector.admit_object(self.json.value(text)),
                Some(calls) => calls.detector.admit_quoted(self.json.value(text)),
                None => ObjectRole::Text,
            };
            match role {
                ObjectRole::Data => {}
                ObjectRole::Call => self.forget_marker(),
                // It is passed once what follows has come: until then it is held.
                ObjectRole::Unsettled | ObjectRole::Text if completion == CompletedBy::Balanced => {
                    return None;
                }
                ObjectRole::Unsettled | ObjectRole::Text => {
                    self.pass_object(text, Span::new(start, end), is_quoted);
                    return None;
                }
            }
        }
        let is_in_prose = completion == CompletedBy::Text && !self.place.recovered.contains(Recovery::Fence);
        let is_beside_another = completion == CompletedBy::NextItem && self.array.is_none();
        let recovered = self
            .place
            .recovered
            .with_if(is_in_prose, Recovery::Prose)
            .with_if(is_beside_another, Recovery::SameLine)
            .with_if(self.multiline.get().is_some_and(|value| value.end < end), Recovery::SeveralLines);
        self.multiline.clear();
        self.line.has_record = true;
        self.has_content = true;
        if let Some(array) = &mut self.array {
            array.end_element();
            (array.done_to, array.done_line) = (end, self.line.start);
            (self.counted_from, self.reported_to) = (end, end);
        }
        let span = Span::new(start, end);
        if self.segments.is_some() {
            self.push_event(span);
        }
        let Place { line, column, .. } = self.place;
        let completion = self.end.unwrap_or(completion);
        self.found = Found { line, column, span, completion, recovered };
        Some(Outcome::Record)
    }

    /// Whether the balanced value is text: `{}` or `[1]` in a sentence, or in code.
    pub(super) fn is_text(&self, start: u64, completion: CompletedBy) -> bool {
        match self.json.root_kind() {
            Kind::Object => self.json.is_empty() && self.is_in_prose(completion),
            Kind::Array if self.json.has_object() || self.fence_kind() == Some(FenceKind::Json) => false,
            _ => !self.is_alone(start, completion),
        }
    }

    /// Reads the balanced value from `start` to `end` as text.
    pub(super) fn pass_balanced_text(&mut self, start: u64, end: u64) {
        if let Some(MultilineValue { line, .. }) = self.multiline.take() {
            self.late_reject = Some(Box::new(self.note_on_text(&line, start, end)));
            if let Some(segments) = &mut self.segments {
                segments.text(end);
            }
        }
        self.has_content |= self.options.whole_values;
        self.line.add_text(b"{");
        self.state.enter_text();
    }

    /// Whether a balanced value is inside a sentence.
    fn is_in_prose(&self, completion: CompletedBy) -> bool {
        let lead = self.line.lead;
        self.options.mode == Mode::Lenient
            && self.array.is_none()
            && self.fence_kind() != Some(FenceKind::Json)
            && (matches!(completion, CompletedBy::Text | CompletedBy::NextItem)
                || !(lead.is_empty() || lead.is_list_marker()))
    }

    /// Only for a root value in the strict mode: in the lenient one it begins with `{`.
    #[cold]
    pub(super) fn not_an_object(&mut self, start: u64, end: u64) {
        self.state.enter_text();
        self.fault(Code::NotAnObject, start, start, unexpected_kind(self.json.root_kind()));
        self.end_fault(start, end);
    }

    /// Handles the next byte, which is not UTF-8.
    #[cold]
    pub(super) fn bad_byte(&mut self, cursor: &mut Cursor<'_>) -> Step {
        if self.passes_bad_bytes() {
            // What stands for bad bytes is text.
            self.line.is_dropped |= self.gap.is_none();
            self.drop_unclosed();
            return None;
        }
        if self.array.as_ref().is_some_and(|array| array.held_from().is_some()) {
            return self.read_held(cursor);
        }
        if self.state.is_line_start() {
            if let Some(found) = self.begin_text(cursor.offset(), None) {
                return Some(found);
            }
            if self.line.in_rejected_region && !self.is_region_text() {
                self.line.is_dropped = true;
                self.state.enter_discard();
                return None;
            }
        }
        if let Some(start) = self.state.value_start()
            && self.array.is_some()
            && let RawStep::Complete { .. } =
                self.json.finish_bytes(&cursor.from(cursor.index(start))[..cursor.at - cursor.index(start)])
        {
            // It ends a number.
            self.end_of_element(cursor, start, cursor.offset());
            if self.array.as_ref().is_some_and(|array| array.held_from().is_some()) {
                return self.read_held(cursor);
            }
        }
        self.bad_utf8(cursor, cursor.at);
        None
    }

    /// Rejects the line with the byte at the index `bad`, which is not UTF-8.
    #[cold]
    pub(super) fn bad_utf8(&mut self, cursor: &mut Cursor<'_>, bad: usize) {
        let (code, message) = match self.gap {
            Some(Gap::Missing) => (Code::MalformedJson, MISSING),
            Some(Gap::Contradicted) => (Code::TrailingData, "the text came again with another line"),
            Some(Gap::Delivered) => (Code::LateFragment, "the record was released, but its line goes on"),
            Some(Gap::Replaced) | None => (Code::InvalidUtf8, "the line is not UTF-8"),
        };
        let bad_at = cursor.offset_of(bad);
        if self.multiline.is_some()
            && let Some(start) = self.open_start()
        {
            return self.give_up(cursor, start, code, bad_at, message.to_owned());
        }
        // The line does not end a fence either, however much of it was read before.
        self.line.lead.add(b"?");
        self.undo_fence_before_call(cursor, bad);
        // Also of a region that is text.
        self.line.in_rejected_region &= !self.is_region_text();
        // Reject the complete line, not just the value.
        let start = *self.line.first.get_or_insert(bad_at);
        self.fault(code, start, bad_at, message.to_owned());
        self.line.drop_rest();
        self.reject_line_of_array();
        self.line.is_dropped = self.gap.is_none();
        self.state.enter_discard();
    }

    /// Rejects the open value or line, which is longer than the limit.
    #[cold]
    pub(super) fn too_long(&mut self, cursor: &mut Cursor<'_>) {
        let limit_at = self.counted_from + self.max_bytes();
        match *self.state.get() {
            State::Value { start } | State::Confirming { start, .. } if self.multiline.is_some() => {
                let message = format!("the record is larger than {} bytes", self.max_bytes());
                let limit_at = limit_at.max(self.line.start);
                self.give_up(cursor, start, Code::RecordTooLarge, limit_at, message);
            }
            State::Value { start } if self.array.is_some() => {
                let message = format!("the record is larger than {} bytes", self.max_bytes());
                self.fault(Code::RecordTooLarge, start, limit_at.max(self.line.start), message);
                self.element_is_over();
                self.note_object();
                let (in_string, escaped) = self.json.in_string();
                let depth = self.json.depth();
                let end = if depth == 0 { SkipTo::Separator } else { SkipTo::Balance };
                self.state.enter_skip(Skip { start, depth, in_string, escaped, end, ..Skip::default() });
            }
            State::Confirming { start, end, released: false, .. } if self.array.is_some() => {
                let message = format!("the record is larger than {} bytes", self.max_bytes());
                self.fault(Code::RecordTooLarge, start, limit_at.max(self.line.start), message);
                self.end_fault(start, end);
                self.element_is_over();
                self.counted_from = end;
                self.state.enter_array();
            }
            _ => {
                let message = format!("the line is longer than {} bytes", self.max_bytes());
                let start = self.line.start;
                self.line.in_rejected_region &= !self.is_region_text();
                self.fault(Code::LineTooLong, start, limit_at, message);
                self.line.drop_rest();
                self.line.first.get_or_insert(start);
                self.reject_line_of_array();
                self.line.is_dropped = true;
                self.state.enter_discard();
            }
        }
    }

    pub(super) fn fault(&mut self, code: Code, start: u64, at: u64, message: String) {
        self.line.first.get_or_insert(start.max(self.line.start));
        if self.array.is_none() {
            // What follows it does not begin the line.
            self.line.lead.add(b"{");
        }
        self.line.add_fault(Fault { code, start, at, end: None, message, alone: None });
    }

    /// Ends the rejected value from `start` on at `end`.
    pub(super) fn end_fault(&mut self, start: u64, end: u64) {
        self.line.end_fault(start, end);
    }
}

/// The message for a value where an object was expected.
pub(super) fn unexpected_kind(kind: Kind) -> String {
    let article = match kind {
        Kind::Null => "",
        Kind::Array | Kind::Object => "an ",
        Kind::Bool | Kind::Number | Kind::String => "a ",
    };
    format!("expected an object, found {article}{}", kind.as_str())
}
