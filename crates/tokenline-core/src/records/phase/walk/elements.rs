//! The values of an array that are complete or lost, and what they say of the array.

use super::super::release::found_instead;
use super::super::{Found, Machine, Phase, Place};
use super::{Next, Other, Role, Unjudged};
use crate::json::Kind;
use crate::records::window::Window;
use crate::{Code, Diagnostic, Span};

impl Machine {
    /// It was an element after all.
    pub(in crate::records::phase) fn judge_element(&mut self) {
        if let Some(unjudged) = self.walk.as_mut().and_then(|walk| walk.unjudged.take()) {
            self.pass_value(unjudged.has_object, unjudged.other);
        }
    }

    /// A value is no record: not on the way to the array of records, or an element that is `other` than an object.
    fn pass_value(&mut self, has_object: bool, other: Option<Other>) {
        let Some(walk) = &mut self.walk else { return };
        walk.is_meant |= has_object;
        let Some(other) = other else { return };
        if !walk.is_established {
            walk.other.get_or_insert(other);
            return;
        }
        let Span { start, end } = other.span;
        let at = start.max(self.line.start);
        self.fault(Code::NotAnObject, start, at, other.message);
        self.line.end_fault(start, end);
    }

    /// The array proves to be one of records. Returns an element before that was none.
    pub(in crate::records::phase) fn establish(&mut self) -> Option<Other> {
        let walk = self.walk.as_mut()?;
        walk.is_established = true;
        walk.other.take()
    }

    /// The open element is an object, though none that comes to be a record.
    pub(in crate::records::phase) fn note_object(&mut self) {
        if let Some(walk) = &mut self.walk {
            walk.is_established |= walk.role == Role::Element && self.json.is_object();
        }
    }

    /// The array proves to be one of records: says that an element before was none.
    pub(in crate::records::phase) fn found_before<'w>(&mut self, other: Other) -> Option<Found<'w>> {
        let Other { line, column, span, message } = other;
        self.line.is_quiet = true;
        let diagnostic = Diagnostic::new(Code::NotAnObject, line, span, column, message);
        Some(Found::Diagnostic(Box::new(diagnostic)))
    }

    /// A value of the walk is complete. Whether it is an object that may be a record.
    #[inline(never)]
    pub(in crate::records::phase) fn end_of_walked(
        &mut self,
        window: &Window<'_>,
        at: &mut usize,
        start: u64,
        end: u64,
    ) -> bool {
        let Some(walk) = &mut self.walk else { return true };
        if walk.role == Role::Element && self.json.root_kind() == Kind::Object {
            return true;
        }
        let (from, to) = (window.index(start), window.index(end));
        if let Some(bad) = window.bad_utf8(from, to - 1) {
            self.bad_utf8(window, at, bad);
            return false;
        }
        self.phase = Phase::Walk;
        self.spread = None;
        self.counted_from = end;
        walk.has_value |= walk.role != Role::Name;
        walk.next = Next::Comma;
        if walk.role == Role::Name {
            let text = simdutf8::basic::from_utf8(&window.bytes[from..to]).expect("it was checked");
            let name = self.json.value(text).as_str().expect("a name is a string");
            walk.name(&name, self.options.items.as_deref().unwrap_or_default());
            return false;
        }
        let has_object = self.json.has_object();
        let other = (walk.role == Role::Element).then(|| {
            let Place { line, column, .. } = self.place;
            Other { line, column, span: Span::new(start, end), message: found_instead(self.json.root_kind()) }
        });
        match walk.element_line.take() {
            Some(line) => walk.unjudged = Some(Unjudged { line, start, has_object, other }),
            None => self.pass_value(has_object, other),
        }
        false
    }

    /// The open value at `start` is malformed, and a record was meant by it. An element that is an object is evidence
    /// of an array of records; of any other, the array is lost with it. Where what is lost begins, how deep the fault is
    /// in it, and what is to be said of an element before it.
    pub(in crate::records::phase) fn lose_element(&mut self, start: u64) -> (u64, u32, Option<Other>) {
        let depth = self.json.depth();
        let is_object = self.json.is_object();
        match &mut self.walk {
            Some(walk) if !is_object && !walk.is_established && walk.line == self.line.number => {
                let start = walk.start;
                self.walk = None;
                (start, depth + 1, None)
            }
            Some(walk) => {
                walk.next = Next::Comma;
                (start, depth, if is_object { self.establish() } else { None })
            }
            None => (start, depth, None),
        }
    }
}
