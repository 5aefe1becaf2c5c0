//! Records that are not objects, with [`Options::whole_values`](crate::Options::whole_values).

use memchr::memchr2;

use super::array::begins_value;
use super::state::MultilineValue;
use super::{Scanner, Step};
use crate::CompletedBy;
use crate::json::Kind;
use crate::json::error::{Expected, Fault};
use crate::records::cursor::Cursor;
use crate::records::line::FenceKind;

impl Scanner {
    /// Whether a line that begins with this byte may be a string, number or literal that stands alone.
    pub(super) fn may_begin_scalar(&self, byte: u8) -> bool {
        let is_place = match self.fence {
            Some(kind) => kind != FenceKind::Other,
            None => !self.has_content,
        };
        self.options.whole_values && is_place && begins_value(byte)
    }

    /// Whether the balanced value is a scalar.
    pub(super) fn is_scalar(&self) -> bool {
        self.options.whole_values && !matches!(self.json.root_kind(), Kind::Object | Kind::Array)
    }

    /// Whether the balanced value is a root array, which nothing after it could continue.
    pub(super) fn is_array(&self) -> bool {
        self.options.whole_values && self.json.root_kind() == Kind::Array
    }

    /// Whether nothing is beside the balanced value on its lines.
    pub(super) fn is_alone(&self, start: u64, completion: CompletedBy) -> bool {
        let line = self.multiline.get().map_or(&self.line, |value| &value.line);
        line.first == Some(start)
            && self.fence_kind() != Some(FenceKind::Other)
            && !matches!(completion, CompletedBy::Text | CompletedBy::NextItem)
    }

    /// After a scalar. Outside fences it is a value only if nothing else follows.
    pub(super) fn after_scalar(&mut self, cursor: &mut Cursor<'_>, start: u64, end: u64) -> Step {
        while let Some(byte) = cursor.peek() {
            match byte {
                b' ' | b'\t' | b'\r' => cursor.at += 1,
                b'\n' if self.fence.is_some() => {
                    self.state.enter_text();
                    return self.release(cursor, start, end, CompletedBy::Newline);
                }
                b'\n' => {
                    self.check_length(cursor);
                    if !self.state.is_confirming() {
                        break;
                    }
                    let line_feed = cursor.offset();
                    cursor.at += 1;
                    let line = self.line.go_on(line_feed + 1);
                    let (expected, depth) = (Expected::End, 0);
                    if !self.multiline.is_some() {
                        self.begin_multiline(MultilineValue { line, end: line_feed, expected, depth });
                    }
                }
                _ => {
                    self.read_scalar_as_text(cursor, start);
                    break;
                }
            }
        }
        None
    }

    /// Whether the fault shows that `start` does not begin a value, but a word or a tag around thinking. Then
    /// reads it as such.
    pub(super) fn is_not_a_value(&mut self, cursor: &mut Cursor<'_>, start: u64, fault: Fault) -> bool {
        if !self.options.whole_values {
            return false;
        }
        match cursor.from(cursor.index(start)) {
            [b'[', b'T', ..] if self.line.first == Some(start) && fault.offset == 1 => {
                self.begin_tag(start, b"[");
            }
            [b'{' | b'[', ..] => return false,
            _ => self.read_scalar_as_text(cursor, start),
        }
        true
    }

    /// Reads what began as a scalar at `start` as text.
    fn read_scalar_as_text(&mut self, cursor: &mut Cursor<'_>, start: u64) {
        if let Some(value) = self.multiline.take() {
            self.line = value.line;
            cursor.seek(value.end);
        }
        let (from, to) = (cursor.index(start), cursor.at);
        cursor.at = from;
        let text = &cursor.rest()[..to - from];
        let text = &text[..memchr2(b'{', b'[', text).unwrap_or(text.len())];
        self.line.add_text(text);
        cursor.at += text.len();
        self.counted_from = self.line.text_start;
        self.state.enter_text();
    }
}
