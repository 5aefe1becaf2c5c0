//! Lines inside an array: which belong to it, and what to do with the others.

use super::super::{Scanner, Step};
use super::{ElementLine, NextToken, begins_value};
use crate::records::cursor::Cursor;
use crate::records::line::{FenceKind, Line};
use crate::{Code, Diagnostic, Span};

impl Scanner {
    /// Begins a line inside an array. `None` if it does not belong to the array, and is read like any other.
    #[inline(never)]
    pub(in super::super) fn begin_line_of_array(&mut self, offset: u64, byte: u8) -> Option<Step> {
        let array = self.array.as_ref()?;
        let is_deeper = offset - self.line.text_start > array.indent;
        let is_part = match byte {
            b'`' | b'~' => false,
            b'{' | b'}' | b'[' | b']' | b',' | b':' | b'"' => true,
            _ if array.next == NextToken::Value && begins_value(byte) => true,
            _ => is_deeper,
        };
        if !is_part {
            return self.abandon().map(Some);
        }
        self.line.first = Some(offset);
        self.state.enter_array();
        Some(None)
    }

    /// Scans the line of an element again: the text after it shows that the array was left open before it.
    #[cold]
    pub(in super::super) fn read_held(&mut self, cursor: &mut Cursor<'_>) -> Step {
        let held = self.array.as_mut()?.held.take()?;
        self.read_line_again(held.line, held.start, cursor)
    }

    /// The array was left open before the line whose text begins at `start`: scans that line again.
    #[cold]
    pub(in super::super) fn read_line_again(
        &mut self,
        line: ElementLine,
        start: u64,
        cursor: &mut Cursor<'_>,
    ) -> Step {
        self.begin_line_anew(line.number, line.start, line.text_start);
        cursor.seek(start);
        self.abandon()
    }

    /// Forgets what was read of a line.
    pub(in super::super) fn begin_line_anew(&mut self, number: u64, start: u64, text_start: u64) {
        self.line = Line::new(number, start);
        self.line.text_start = text_start;
        self.counted_from = text_start;
    }

    /// Gives up the array: it was left open, and the current line does not belong to it.
    pub(super) fn abandon(&mut self) -> Step {
        let array = self.array.take()?;
        self.state.enter_line_start();
        self.line.first = None;
        if array.is_damaged || array.may_have_ended {
            return None;
        }
        let is_data = array.is_established || array.is_intended || (array.is_first && array.has_value);
        if !is_data || self.fence_kind() == Some(FenceKind::Other) {
            return self.note_array(&array, self.line.start);
        }
        let kind = if array.frames.is_empty() { "array" } else { "value" };
        let message = format!("the {kind} is not closed: what follows does not belong to it");
        let span = Span::new(array.start, self.line.start);
        let diagnostic = Diagnostic::new(Code::MalformedJson, array.line, span, array.column, message);
        let outcome = self.report(diagnostic);
        if let Some(segments) = &mut self.segments {
            segments.end_reject(self.line.start);
        }
        Some(outcome)
    }
}
