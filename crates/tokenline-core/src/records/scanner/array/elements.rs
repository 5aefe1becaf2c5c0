//! The values of an array that are complete or rejected, and what they prove of the array.

use super::super::release::unexpected_kind;
use super::super::{Outcome, Place, Scanner, State};
use super::{HeldElement, NextToken, NonObject, Role};
use crate::json::Kind;
use crate::records::cursor::Cursor;
use crate::{Code, Diagnostic, Span};

impl Scanner {
    /// It was an element after all.
    pub(in super::super) fn judge_element(&mut self) {
        if let Some(held) = self.array.as_mut().and_then(|array| array.held.take()) {
            self.pass_value(held.has_object, held.other);
        }
    }

    /// A value is no record: not on the way to the array of records, or an element that is `other` than an object.
    fn pass_value(&mut self, has_object: bool, other: Option<NonObject>) {
        let Some(array) = &mut self.array else { return };
        array.is_meant |= has_object;
        let Some(other) = other else { return };
        if !array.is_established {
            array.other.get_or_insert(other);
            return;
        }
        let Span { start, end } = other.span;
        let at = start.max(self.line.start);
        self.fault(Code::NotAnObject, start, at, other.message);
        self.end_fault(start, end);
    }

    /// The array proves to be one of records. Returns an element before that was none.
    pub(in super::super) fn establish(&mut self) -> Option<NonObject> {
        let array = self.array.as_mut()?;
        array.is_established = true;
        array.other.take()
    }

    /// The open element is an object, though none that comes to be a record.
    pub(in super::super) fn note_object(&mut self) {
        if let Some(array) = &mut self.array {
            array.is_established |= array.role == Role::Element && self.json.is_object();
        }
    }

    /// The array proves to be one of records: says that an element before was none.
    pub(in super::super) fn found_before(&mut self, other: NonObject) -> Outcome {
        let NonObject { line, column, span, message } = other;
        self.line.is_markup_only = true;
        let diagnostic = Diagnostic::new(Code::NotAnObject, line, span, column, message);
        self.report(diagnostic)
    }

    /// A value of the array is complete. Whether it is an object that may be a record.
    #[inline(never)]
    pub(in super::super) fn end_of_element(&mut self, cursor: &Cursor<'_>, start: u64, end: u64) -> bool {
        let Some(array) = &mut self.array else { return true };
        if array.role == Role::Element && self.json.root_kind() == Kind::Object {
            return true;
        }
        self.state = State::Array;
        self.multiline = None;
        self.counted_from = end;
        array.has_value |= array.role != Role::Name;
        array.next = NextToken::Comma;
        if array.role == Role::Name {
            let text = cursor.text_between(cursor.index(start), cursor.index(end));
            let name = self.json.value(text).as_str().expect("a name is a string");
            array.name(&name, self.options.items.as_deref().unwrap_or_default());
            return false;
        }
        let has_object = self.json.has_object();
        let other = (array.role == Role::Element).then(|| {
            let Place { line, column, .. } = self.place;
            let message = unexpected_kind(self.json.root_kind());
            NonObject { line, column, span: Span::new(start, end), message }
        });
        match array.element_line.take() {
            Some(line) => array.held = Some(HeldElement { line, start, has_object, other }),
            None => self.pass_value(has_object, other),
        }
        false
    }

    /// The open value at `start` is malformed, and a record was meant by it. An element that is an object is evidence
    /// of an array of records; of any other, the array is rejected with it. Where what is rejected begins, how deep the fault is
    /// in it, and the element before it that is to be reported.
    pub(in super::super) fn reject_element(&mut self, start: u64) -> (u64, u32, Option<NonObject>) {
        let depth = self.json.depth();
        let is_object = self.json.is_object();
        match &mut self.array {
            Some(array) if !is_object && !array.is_established && array.line == self.line.number => {
                let start = array.start;
                self.array = None;
                (start, depth + 1, None)
            }
            Some(array) => {
                array.next = NextToken::Comma;
                (start, depth, if is_object { self.establish() } else { None })
            }
            None => (start, depth, None),
        }
    }
}
