//! Arrays whose elements are records, each as soon as it closes, and the path to an array inside a value.

mod elements;
mod lines;

use super::state::{Skip, SkipTo};
use super::{Scanner, Step};
use crate::json::error::{self, Expected};
use crate::records::cursor::Cursor;
use crate::records::line::{Fault, FenceKind};
use crate::{Code, Diagnostic, Recovery, Span};

/// The position between the values of an array of records, or of the containers around it.
#[derive(Debug)]
pub(super) struct ArrayScan {
    /// The start of the root value.
    pub(super) start: u64,
    pub(super) line: u64,
    column: u64,
    /// The start of the text on its line, if it proves to be text.
    text_from: u64,
    /// White space before the text of its first line, in bytes.
    indent: u64,
    /// Whether nothing is before it on its line.
    pub(super) is_first: bool,
    /// The end of the last record, or the start of the root value: brackets and commas follow.
    pub(super) done_to: u64,
    /// The start of the line of that.
    pub(super) done_line: u64,
    /// The containers around the array of records, outermost first.
    frames: Vec<Frame>,
    /// Whether the position is inside the array of records.
    in_target: bool,
    next: NextToken,
    /// The role of the open value.
    role: Role,
    /// Whether there is evidence of JSON rather than brackets in prose: an element that is an object.
    pub(super) is_established: bool,
    /// The first element that is not an object, until there is evidence.
    other: Option<NonObject>,
    /// Whether a record was intended: an element that is not an object contains one, or the root value begins
    /// like a record.
    pub(super) is_intended: bool,
    /// The line that the open value began, at or left of the column, unless it certainly is an element.
    pub(super) element_line: Option<ElementLine>,
    /// The last value, if it is complete and began such a line. A comma or bracket after it proves that it is
    /// an element; anything else means that the array was left open before that line.
    held: Option<HeldElement>,
    /// Whether a value in it is complete.
    has_value: bool,
    /// Whether nothing follows its bracket yet.
    is_new: bool,
    /// Whether the array of records was present.
    has_target: bool,
    /// Whether one of its lines was rejected and reported: the end of the array is then uncertain.
    pub(super) is_damaged: bool,
    /// Whether the last value was rejected up to the end of its line, perhaps with the end of the array. Then that is
    /// its fault, and there is no other unless the array goes on.
    pub(super) may_have_ended: bool,
}

/// An element that is not an object.
#[derive(Debug)]
pub(super) struct NonObject {
    line: u64,
    column: u64,
    span: Span,
    message: String,
}

/// The line that an element begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct ElementLine {
    number: u64,
    start: u64,
    text_start: u64,
}

#[derive(Debug)]
struct HeldElement {
    line: ElementLine,
    start: u64,
    has_object: bool,
    /// The fault to report if it is an element of the array of records.
    other: Option<NonObject>,
}

/// A container on the path to the array of records.
#[derive(Debug)]
struct Frame {
    is_object: bool,
    /// The index of an array's next element.
    index: u64,
    /// Whether the next value is on the path.
    is_on_path: bool,
}

/// The tokens that may come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NextToken {
    /// A value, or the end of an array.
    Value,
    Comma,
    Name,
    Colon,
}

/// The role of a value in the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// An element of the array of records.
    Element,
    /// A member's name.
    Name,
    /// Not on the path.
    OffPath,
}

/// The meaning of a byte between two values.
enum ArrayStep {
    Pass,
    Open(Role),
    End,
    Fault(Expected),
}

impl ArrayScan {
    /// The tokens that could follow if the input did not end here.
    pub(super) fn expected(&self) -> Expected {
        let in_object = !self.in_target && self.frames.last().is_some_and(|frame| frame.is_object);
        match self.next {
            NextToken::Value if in_object => Expected::Value,
            NextToken::Value => Expected::ValueOrBracket,
            NextToken::Comma if in_object => Expected::CommaOrBrace,
            NextToken::Comma => Expected::CommaOrBracket,
            NextToken::Name => Expected::NameOrBrace,
            NextToken::Colon => Expected::Colon,
        }
    }

    /// The first line that may still be rejected: of an element, or of what follows the last record if the array proves to
    /// be left open.
    pub(super) fn undecided_line(&self) -> u64 {
        let other = self.other.as_ref().map(|other| (other.span.start + 1).saturating_sub(other.column));
        let held = self.held.as_ref().map(|held| held.line.start);
        other.into_iter().chain(held).fold(self.done_line, u64::min)
    }

    fn step(&mut self, byte: u8, path: &[Box<str>]) -> ArrayStep {
        let depth = self.frames.len();
        let Some(frame) = self.frames.last_mut().filter(|_| !self.in_target) else {
            return self.step_in_target(byte);
        };
        match (self.next, byte) {
            (NextToken::Comma, b',') if frame.is_object => self.next = NextToken::Name,
            (NextToken::Comma, b',') => {
                frame.index += 1;
                frame.is_on_path = is_index(&path[depth - 1], frame.index);
                self.next = NextToken::Value;
            }
            (NextToken::Comma | NextToken::Name, b'}') if frame.is_object => return self.leave(),
            (NextToken::Comma | NextToken::Value, b']') if !frame.is_object => return self.leave(),
            (NextToken::Name, b'"') => return ArrayStep::Open(Role::Name),
            (NextToken::Colon, b':') => self.next = NextToken::Value,
            (NextToken::Value, b'[') if frame.is_on_path && depth == path.len() => {
                (self.in_target, self.has_target) = (true, true);
            }
            (NextToken::Value, b'{' | b'[') if frame.is_on_path && depth < path.len() => {
                self.enter(byte == b'{', path);
            }
            (NextToken::Value, _) if begins_value(byte) => return ArrayStep::Open(Role::OffPath),
            _ => return ArrayStep::Fault(self.expected()),
        }
        ArrayStep::Pass
    }

    fn step_in_target(&mut self, byte: u8) -> ArrayStep {
        match (self.next, byte) {
            (_, b']') => {
                self.in_target = false;
                if self.frames.is_empty() {
                    return ArrayStep::End;
                }
                self.next = NextToken::Comma;
            }
            (_, b',') => self.next = NextToken::Value,
            // A comma may be missing.
            (_, b'{') | (NextToken::Comma, b'[') => return ArrayStep::Open(Role::Element),
            (NextToken::Value, _) if begins_value(byte) => return ArrayStep::Open(Role::Element),
            _ => return ArrayStep::Fault(self.expected()),
        }
        ArrayStep::Pass
    }

    /// The start of a closed array that may not be an element.
    pub(super) fn held_from(&self) -> Option<u64> {
        self.held.as_ref().map(|held| held.start)
    }

    /// The start of a tag in brackets, if it is not an array.
    pub(super) fn tag_from(&self) -> Option<u64> {
        (self.is_new && self.is_first).then_some(self.start)
    }

    /// An element after the first that is not an object was rejected: what is before it is not reported any more.
    pub(super) fn pass_reject(&mut self) {
        self.other = None;
    }

    /// Ends the open element.
    pub(super) fn end_element(&mut self) {
        self.next = NextToken::Comma;
    }

    /// The note on it as text up to `end`.
    pub(super) fn note(&self, end: u64) -> Diagnostic {
        let column = self.column - (self.start - self.text_from);
        Diagnostic::prose(self.line, column, Span::new(self.text_from, end))
    }

    /// Whether it yielded a record.
    fn has_record(&self) -> bool {
        self.done_to > self.start
    }

    fn enter(&mut self, is_object: bool, path: &[Box<str>]) {
        let is_on_path = !is_object && path.get(self.frames.len()).is_some_and(|token| is_index(token, 0));
        self.frames.push(Frame { is_object, index: 0, is_on_path });
        self.next = if is_object { NextToken::Name } else { NextToken::Value };
    }

    fn leave(&mut self) -> ArrayStep {
        self.frames.pop();
        self.next = NextToken::Comma;
        if self.frames.is_empty() { ArrayStep::End } else { ArrayStep::Pass }
    }

    /// Reads a name: whether it is on the path.
    fn name(&mut self, name: &str, path: &[Box<str>]) {
        let depth = self.frames.len();
        self.is_established = true;
        self.next = NextToken::Colon;
        if let Some(frame) = self.frames.last_mut() {
            frame.is_on_path = path.get(depth - 1).is_some_and(|token| **token == *name);
        }
    }
}

pub(super) fn begins_value(byte: u8) -> bool {
    matches!(byte, b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n')
}

fn is_index(token: &str, index: u64) -> bool {
    (token == "0" || !token.starts_with(['0', '+'])) && token.parse() == Ok(index)
}

impl Scanner {
    /// Whether the value that begins with this byte is an array of records, or contains one, rather than a
    /// record.
    pub(super) fn is_scanned(&self, byte: u8) -> bool {
        (byte == b'[' && !self.options.whole_values)
            || self.options.items.as_ref().is_some_and(|path| !path.is_empty())
    }

    /// Begins an array, or a container on the path to one. The cursor is on its bracket.
    pub(super) fn begin_array(&mut self, cursor: &mut Cursor<'_>) {
        let start = cursor.offset();
        self.first_lines().of_array = self.line.start;
        let mut array = ArrayScan {
            start,
            line: self.line.number,
            column: self.line.column(start),
            text_from: self.text_from(&self.line, start),
            indent: self.line.indent(),
            is_first: self.line.first == Some(start),
            done_to: start,
            done_line: self.line.start,
            frames: Vec::new(),
            in_target: false,
            next: NextToken::Value,
            role: Role::Element,
            is_established: false,
            other: None,
            is_intended: false,
            element_line: None,
            held: None,
            has_value: false,
            is_new: true,
            has_target: false,
            is_damaged: false,
            may_have_ended: false,
        };
        match self.options.items.as_deref() {
            Some(path) if !path.is_empty() => array.enter(cursor.rest()[0] == b'{', path),
            _ => array.in_target = true,
        }
        self.array = Some(Box::new(array));
        self.counted_from = start;
        self.state.enter_array();
        cursor.at += 1;
    }

    /// Gives up the containers around the array of records, because a value that is not on the path to it was given up.
    pub(super) fn give_up_array(&mut self) -> Option<Box<ArrayScan>> {
        self.array.take_if(|array| array.role == Role::OffPath)
    }

    /// Whether the open value may be a record, rather than a container on the path to one.
    pub(super) fn is_record_open(&self) -> bool {
        !self.state.is_call() && self.array.as_ref().is_none_or(|array| array.role == Role::Element)
    }

    /// Ends the open value, if it is an element.
    pub(super) fn element_is_over(&mut self) {
        if let Some(array) = &mut self.array
            && self.state.may_be_element()
        {
            array.end_element();
        }
    }

    /// Rejects the rest of the line, with what it may contain of an array.
    pub(super) fn reject_line_of_array(&mut self) {
        self.element_is_over();
        if let Some(array) = &mut self.array {
            array.held = None;
            array.is_damaged = true;
        }
    }

    /// Notes that the rest of the line belongs to a rejected value, and may have ended the array.
    pub(super) fn array_may_have_ended(&mut self) {
        if let Some(array) = &mut self.array {
            array.may_have_ended = true;
        }
    }

    /// The recovery of a record that is an element.
    pub(super) fn element_recovery(&self) -> Option<Recovery> {
        self.array.as_ref()?;
        let has_path = self.options.items.as_ref().is_some_and(|path| !path.is_empty());
        Some(if has_path { Recovery::Item } else { Recovery::ArrayElement })
    }

    #[inline(never)]
    pub(super) fn array(&mut self, cursor: &mut Cursor<'_>) -> Step {
        while let Some(byte) = cursor.peek() {
            if let Some(array) = &mut self.array {
                array.is_new = false;
            }
            if matches!(byte, b' ' | b'\t' | b'\r') {
                cursor.at += 1;
                continue;
            }
            if byte == b'\n' {
                self.line.is_markup_only = true;
                return self.line_end(cursor);
            }
            if let Some(found) = self.ended_fault() {
                return Some(found);
            }
            let Some(array) = &mut self.array else { break };
            let offset = cursor.offset();
            if array.held.is_some() {
                if !matches!(byte, b',' | b']') {
                    return self.read_held(cursor);
                }
                self.confirm_element();
                continue;
            }
            match array.step(byte, self.options.items.as_deref().unwrap_or_default()) {
                ArrayStep::Pass => {
                    array.may_have_ended = false;
                    cursor.at += 1;
                }
                ArrayStep::Open(role) => {
                    array.may_have_ended = false;
                    array.role = role;
                    let may_be_record = byte == b'{' && role == Role::Element;
                    let is_own = !may_be_record && role != Role::Name && self.line.first == Some(offset);
                    array.element_line =
                        (is_own && self.line.indent() <= array.indent).then_some(ElementLine {
                            number: self.line.number,
                            start: self.line.start,
                            text_start: self.line.text_start,
                        });
                    self.open(offset);
                    return None;
                }
                ArrayStep::End => {
                    cursor.at += 1;
                    return self.end_array(offset);
                }
                ArrayStep::Fault(expected) => return self.array_fault(cursor, byte, expected),
            }
        }
        None
    }

    /// Ends the root value with the bracket at `bracket`.
    fn end_array(&mut self, bracket: u64) -> Step {
        let array = self.array.take()?;
        if array.has_record()
            && let Some(segments) = &mut self.segments
        {
            if self.options.looks_for_items() {
                segments.markup(bracket + 1);
            } else {
                segments.between_records(bracket + 1);
            }
        }
        self.state.enter_text();
        let path = self.options.items.as_ref().filter(|path| !path.is_empty());
        let fence = self.fence_kind();
        let (code, message) = match path {
            Some(path) if !array.has_target => {
                (Code::MissingField, format!("no array of items at `/{}`", path.join("/")))
            }
            None if !array.is_established && array.other.is_some() => {
                (Code::NotAnObject, "expected an object, found an array".to_owned())
            }
            _ => {
                // `[]` is an empty list of records, not a reject.
                self.line.is_markup_only |= array.is_first || array.line < self.line.number;
                // No record has reported it.
                return array.other.map(|other| self.report_non_object(other));
            }
        };
        let is_data = array.is_established || array.is_intended || fence == Some(FenceKind::Json);
        if !is_data && (!array.is_first || fence == Some(FenceKind::Other)) {
            // `[1]` is a citation.
            self.line.add_text(b"[");
            self.line.is_markup_only |= array.line < self.line.number;
            return self.note_array(&array, bracket + 1);
        }
        if !is_data {
            let alone = Some((array.line, array.column));
            let (start, end) = (array.start, Some(bracket + 1));
            self.line.first.get_or_insert(bracket);
            // What follows it does not begin the line.
            self.line.lead.add(b"[");
            self.line.add_fault(Fault { code, start, at: start, end, message, alone });
            return None;
        }
        if array.line < self.line.number {
            self.line.is_markup_only = true;
            let span = Span::new(array.start, bracket + 1);
            let diagnostic = Diagnostic::new(code, array.line, span, array.column, message);
            return Some(self.report(diagnostic));
        }
        self.fault(code, array.start, array.start, message);
        self.end_fault(array.start, bracket + 1);
        None
    }

    /// The note on an array that is text up to `end`, if it began on an earlier line. Its records were delivered, and what is
    /// beside them rejected.
    fn note_array(&mut self, array: &ArrayScan, end: u64) -> Step {
        if array.is_established || array.line == self.line.number {
            return None;
        }
        if let Some(segments) = &mut self.segments {
            segments.text(end);
            if end == self.line.start {
                segments.begin_line();
            }
        }
        Some(self.report(array.note(end)))
    }

    fn array_fault(&mut self, cursor: &mut Cursor<'_>, byte: u8, expected: Expected) -> Step {
        let fence = self.fence_kind();
        let offset = cursor.offset();
        let array = self.array.as_mut()?;
        let message = error::describe(expected, error::UnexpectedToken::classify(byte));
        let is_line_start = self.line.first == Some(offset);
        let is_deeper = offset - self.line.text_start > array.indent;
        if is_line_start && (!array.is_established || !is_deeper) {
            return self.abandon();
        }
        if !array.is_established || fence == Some(FenceKind::Other) {
            let (start, depth) = (array.start, array.frames.len().max(1) as u32);
            let is_tag = array.is_first && offset == start + 1 && byte == b'T';
            let is_data = array.is_intended;
            let array = self.array.take()?;
            if is_tag {
                self.begin_tag(start, b"[");
                return None;
            }
            if fence == Some(FenceKind::Other) || (!is_data && fence != Some(FenceKind::Json)) {
                // Not an array, but brackets as in prose.
                self.read_as_text(cursor, depth);
                return self.note_array(&array, self.line.start);
            }
            self.fault(Code::MalformedJson, start, offset, message);
            self.state.enter_skip(Skip { start, depth, ..Skip::default() });
            return None;
        }
        array.next = NextToken::Comma;
        self.fault(Code::MalformedJson, offset, offset, message);
        if matches!(byte, b'}' | b']') {
            // The brackets do not match, so the end of the array is unknown.
            self.array = None;
            self.state.enter_discard();
        } else {
            self.state.enter_skip(Skip { start: offset, end: SkipTo::Separator, ..Skip::default() });
        }
        None
    }
}
