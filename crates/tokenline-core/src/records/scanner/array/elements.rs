//! Values of an array that are complete or rejected, and what they prove about the array.

use super::super::release::unexpected_kind;
use super::super::{Outcome, Place, Scanner};
use super::{HeldElement, NextToken, NonObject, Role};
use crate::json::Kind;
use crate::records::cursor::Cursor;
use crate::{Code, Diagnostic, Span};

impl Scanner {
    /// Confirms the last value as an element.
    pub(in super::super) fn confirm_element(&mut self) {
        if let Some(held) = self.array.as_mut().and_then(|array| array.held.take()) {
            self.pass_value(held.has_object, held.other);
        }
    }

    /// Passes a value that is not a record: off the path to the array of records, or an element that is not
    /// an object (`other`).
    fn pass_value(&mut self, has_object: bool, other: Option<NonObject>) {
        let Some(array) = &mut self.array else { return };
        array.is_intended |= has_object;
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

    /// Marks the array as one of records. Returns an earlier element that is not an object.
    pub(in super::super) fn establish(&mut self) -> Option<NonObject> {
        let array = self.array.as_mut()?;
        array.is_established = true;
        array.other.take()
    }

    /// Notes that the open element is an object that will not be a record.
    pub(in super::super) fn note_object(&mut self) {
        if let Some(array) = &mut self.array {
            array.is_established |= array.role == Role::Element && self.json.is_object();
        }
    }

    /// Reports an earlier element that is not an object, once the array proves to be one of records.
    pub(in super::super) fn report_non_object(&mut self, other: NonObject) -> Outcome {
        let NonObject { line, column, span, message } = other;
        self.line.is_markup_only = true;
        let diagnostic = Diagnostic::new(Code::NotAnObject, line, span, column, message);
        self.report(diagnostic)
    }

    /// Completes a value of the array. Returns whether it is an object that may be a record.
    #[inline(never)]
    pub(in super::super) fn end_of_element(&mut self, cursor: &Cursor<'_>, start: u64, end: u64) -> bool {
        let Some(array) = &mut self.array else { return true };
        if array.role == Role::Element && self.json.root_kind() == Kind::Object {
            return true;
        }
        self.state.enter_array();
        self.multiline.clear();
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

    /// Rejects the open value at `start`, which is malformed and was intended as a record. An element that is
    /// an object is evidence of an array of records; with any other value, the array is rejected as well.
    /// Returns where the rejected part begins, how deep the fault is in it, and an earlier element to report.
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
