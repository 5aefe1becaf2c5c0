//! Arrays whose elements are records, each as soon as it closes, and the way to one inside a value.

mod elements;
mod lines;

use super::lost::{Skip, SkipTo};
use super::{Found, Machine, Phase};
use crate::json::error::{self, Expected};
use crate::records::line::{Fault, FenceKind};
use crate::records::window::Window;
use crate::{Code, Diagnostic, Recovery, Span};

/// Where the text is between the values of an array of records, or of what is around that.
#[derive(Debug)]
pub(super) struct Walk {
    /// Where the root value begins.
    pub(super) start: u64,
    pub(super) line: u64,
    column: u64,
    /// White space before the text of its first line, in bytes.
    indent: u64,
    /// Whether nothing stands before it on its line.
    pub(super) is_first: bool,
    /// Where the last record ends, or the root value begins: what follows is brackets and commas.
    pub(super) done_to: u64,
    /// What is around the array of records, outermost first.
    frames: Vec<Frame>,
    /// Whether it is inside the array of records.
    in_target: bool,
    next: Next,
    /// What the open value is.
    role: Role,
    /// There is evidence that this is JSON, not brackets in prose: an element that is an object.
    pub(super) is_established: bool,
    /// The first element that is no object, while there is no evidence.
    other: Option<Other>,
    /// A record was meant: an element that is no object has objects in it, or the root value begins like a record.
    pub(super) is_meant: bool,
    /// The line that the open value began, at or left of the column, unless it is sure to be an element.
    pub(super) element_line: Option<ElementLine>,
    /// The last value, if it is complete and began such a line. If a comma or bracket follows, it is an element. If not,
    /// the array was left open before that line.
    unjudged: Option<Unjudged>,
    /// A value in it is complete.
    has_value: bool,
    /// The array of records was there.
    was_found: bool,
    /// A line of it is lost as a whole, and was told of: where the array ends is not known for certain.
    pub(super) is_damaged: bool,
}

/// An element that is no object.
#[derive(Debug)]
pub(super) struct Other {
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
struct Unjudged {
    line: ElementLine,
    start: u64,
    has_object: bool,
    /// What is to be said of it if it is an element of the array of records.
    other: Option<Other>,
}

/// A container on the way to the array of records.
#[derive(Debug)]
struct Frame {
    is_object: bool,
    /// Of an array's next element.
    index: u64,
    /// Whether the next value is on the way.
    is_on_path: bool,
}

/// What may come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// A value, or the end of an array.
    Value,
    Comma,
    Name,
    Colon,
}

/// What a value is to the walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// An element of the array of records.
    Element,
    /// A member's name.
    Name,
    /// Not on the way.
    Aside,
}

/// What a byte between two values means.
enum Step {
    Pass,
    Open(Role),
    End,
    Fault(Expected),
}

impl Walk {
    /// What could come if the input did not end here.
    pub(super) fn expected(&self) -> Expected {
        let in_object = !self.in_target && self.frames.last().is_some_and(|frame| frame.is_object);
        match self.next {
            Next::Value if in_object => Expected::Value,
            Next::Value => Expected::ValueOrBracket,
            Next::Comma if in_object => Expected::CommaOrBrace,
            Next::Comma => Expected::CommaOrBracket,
            Next::Name => Expected::NameOrBrace,
            Next::Colon => Expected::Colon,
        }
    }

    fn step(&mut self, byte: u8, path: &[Box<str>]) -> Step {
        let depth = self.frames.len();
        let Some(frame) = self.frames.last_mut().filter(|_| !self.in_target) else {
            return self.step_in_target(byte);
        };
        match (self.next, byte) {
            (Next::Comma, b',') if frame.is_object => self.next = Next::Name,
            (Next::Comma, b',') => {
                frame.index += 1;
                frame.is_on_path = is_index(&path[depth - 1], frame.index);
                self.next = Next::Value;
            }
            (Next::Comma | Next::Name, b'}') if frame.is_object => return self.leave(),
            (Next::Comma | Next::Value, b']') if !frame.is_object => return self.leave(),
            (Next::Name, b'"') => return Step::Open(Role::Name),
            (Next::Colon, b':') => self.next = Next::Value,
            (Next::Value, b'[') if frame.is_on_path && depth == path.len() => {
                (self.in_target, self.was_found) = (true, true);
            }
            (Next::Value, b'{' | b'[') if frame.is_on_path && depth < path.len() => {
                self.enter(byte == b'{', path);
            }
            (Next::Value, _) if begins_value(byte) => return Step::Open(Role::Aside),
            _ => return Step::Fault(self.expected()),
        }
        Step::Pass
    }

    fn step_in_target(&mut self, byte: u8) -> Step {
        match (self.next, byte) {
            (_, b']') => {
                self.in_target = false;
                if self.frames.is_empty() {
                    return Step::End;
                }
                self.next = Next::Comma;
            }
            (_, b',') => self.next = Next::Value,
            // A comma may be missing.
            (_, b'{') | (Next::Comma, b'[') => return Step::Open(Role::Element),
            (Next::Value, _) if begins_value(byte) => return Step::Open(Role::Element),
            _ => return Step::Fault(self.expected()),
        }
        Step::Pass
    }

    /// Where an array begins that is closed and may not be an element.
    pub(super) fn unjudged_from(&self) -> Option<u64> {
        self.unjudged.as_ref().map(|unjudged| unjudged.start)
    }

    /// Where a tag in brackets begins, if it is no array.
    pub(super) fn tag_from(&self, line: u64) -> Option<u64> {
        let is_new = self.next == Next::Value && !self.is_established && !self.has_value;
        (is_new && self.is_first && self.line == line).then_some(self.start)
    }

    /// The open element is over.
    pub(super) fn end_element(&mut self) {
        self.next = Next::Comma;
    }

    /// Whether a record came of it.
    fn has_record(&self) -> bool {
        self.done_to > self.start
    }

    fn enter(&mut self, is_object: bool, path: &[Box<str>]) {
        let is_on_path = !is_object && path.get(self.frames.len()).is_some_and(|token| is_index(token, 0));
        self.frames.push(Frame { is_object, index: 0, is_on_path });
        self.next = if is_object { Next::Name } else { Next::Value };
    }

    fn leave(&mut self) -> Step {
        self.frames.pop();
        self.next = Next::Comma;
        if self.frames.is_empty() { Step::End } else { Step::Pass }
    }

    /// The open value is a name: whether it is on the way.
    fn name(&mut self, name: &str, path: &[Box<str>]) {
        let depth = self.frames.len();
        self.is_established = true;
        self.next = Next::Colon;
        if let Some(frame) = self.frames.last_mut() {
            frame.is_on_path = path.get(depth - 1).is_some_and(|token| **token == *name);
        }
    }
}

fn begins_value(byte: u8) -> bool {
    matches!(byte, b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n')
}

fn is_index(token: &str, index: u64) -> bool {
    (token == "0" || !token.starts_with(['0', '+'])) && token.parse() == Ok(index)
}

impl Machine {
    /// Whether the value that begins with this byte is walked through, rather than a record.
    pub(super) fn is_walk(&self, byte: u8) -> bool {
        byte == b'[' || self.options.items.as_ref().is_some_and(|path| !path.is_empty())
    }

    /// Begins an array, or what leads to one; `at` is on its bracket.
    pub(super) fn begin_walk(&mut self, window: &Window<'_>, at: &mut usize) {
        let start = window.offset(*at);
        let mut walk = Walk {
            start,
            line: self.line.number,
            column: self.line.column(start),
            indent: self.line.indent(),
            is_first: self.line.first == Some(start),
            done_to: start,
            frames: Vec::new(),
            in_target: false,
            next: Next::Value,
            role: Role::Element,
            is_established: false,
            other: None,
            is_meant: false,
            element_line: None,
            unjudged: None,
            has_value: false,
            was_found: false,
            is_damaged: false,
        };
        match self.options.items.as_deref() {
            Some(path) if !path.is_empty() => walk.enter(window.bytes[*at] == b'{', path),
            _ => walk.in_target = true,
        }
        self.walk = Some(walk);
        self.counted_from = start;
        self.phase = Phase::Walk;
        *at += 1;
    }

    /// The value that was given up is not on the way to an array of records: so is all around it. Where that begins.
    pub(super) fn give_up_walk(&mut self) -> Option<u64> {
        Some(self.walk.take_if(|walk| walk.role == Role::Aside)?.start)
    }

    /// Whether the open value may be a record, rather than something on the way to one.
    pub(super) fn is_record_open(&self) -> bool {
        !matches!(self.phase, Phase::Call { .. })
            && self.walk.as_ref().is_none_or(|walk| walk.role == Role::Element)
    }

    /// The open value is over, if it is one of an array's.
    pub(super) fn element_is_over(&mut self) {
        if let Some(walk) = &mut self.walk
            && matches!(self.phase, Phase::Value { .. } | Phase::Sealing { .. } | Phase::Text)
        {
            walk.end_element();
        }
    }

    /// The rest of the line is lost, with what it may have of an array.
    pub(super) fn lose_line_of_walk(&mut self) {
        self.element_is_over();
        if let Some(walk) = &mut self.walk {
            walk.unjudged = None;
            walk.is_damaged = true;
        }
    }

    /// What a record is recovered from, because it is an element.
    pub(super) fn element_recovery(&self) -> Option<Recovery> {
        self.walk.as_ref()?;
        let has_path = self.options.items.as_ref().is_some_and(|path| !path.is_empty());
        Some(if has_path { Recovery::Item } else { Recovery::ArrayElement })
    }

    #[inline(never)]
    pub(super) fn walk<'w>(
        &mut self,
        bytes: &[u8],
        window: &Window<'w>,
        at: &mut usize,
    ) -> Option<Found<'w>> {
        while let Some(&byte) = bytes.get(*at) {
            if matches!(byte, b' ' | b'\t' | b'\r') {
                *at += 1;
                continue;
            }
            if byte == b'\n' {
                self.line.is_quiet = true;
                return self.line_end(window, at);
            }
            if let Some(found) = self.ended_fault(window, *at) {
                return Some(found);
            }
            let Some(walk) = &mut self.walk else { break };
            let offset = window.offset(*at);
            if walk.unjudged.is_some() {
                if !matches!(byte, b',' | b']') {
                    return self.read_unjudged(window, at);
                }
                self.judge_element();
                continue;
            }
            match walk.step(byte, self.options.items.as_deref().unwrap_or_default()) {
                Step::Pass => *at += 1,
                Step::Open(role) => {
                    walk.role = role;
                    let may_be_record = byte == b'{' && role == Role::Element;
                    let is_own = !may_be_record && role != Role::Name && self.line.first == Some(offset);
                    walk.element_line =
                        (is_own && self.line.indent() <= walk.indent).then_some(ElementLine {
                            number: self.line.number,
                            start: self.line.start,
                            text_start: self.line.text_start,
                        });
                    self.open(offset);
                    return None;
                }
                Step::End => {
                    *at += 1;
                    return self.end_walk(offset);
                }
                Step::Fault(expected) => return self.walk_fault(window, at, byte, expected),
            }
        }
        None
    }

    /// The root value ends with the bracket at `bracket`.
    fn end_walk<'w>(&mut self, bracket: u64) -> Option<Found<'w>> {
        let walk = self.walk.take()?;
        if walk.has_record() {
            self.note_markup(walk.done_to, bracket + 1);
        }
        self.phase = Phase::Text;
        let path = self.options.items.as_ref().filter(|path| !path.is_empty());
        let fence = self.fence_kind();
        let (code, message) = match path {
            Some(path) if !walk.was_found => {
                (Code::MissingField, format!("no array of items at `/{}`", path.join("/")))
            }
            None if !walk.is_established && walk.other.is_some() => {
                (Code::NotAnObject, "expected an object, found an array".to_owned())
            }
            _ => {
                // `[]` says that there is nothing.
                self.line.is_quiet |= walk.is_first || walk.line < self.line.number;
                // No record came that told of it.
                return walk.other.and_then(|other| self.found_before(other));
            }
        };
        let is_data = walk.is_established || walk.is_meant || fence == Some(FenceKind::Json);
        if !is_data && (!walk.is_first || fence == Some(FenceKind::Other)) {
            // `[1]` is a citation.
            self.line.add_text(b"[");
            return None;
        }
        if !is_data {
            let alone = Some((walk.line, walk.column));
            let (start, end) = (walk.start, Some(bracket + 1));
            self.line.first.get_or_insert(bracket);
            // What stands behind it does not stand first.
            self.line.lead.add(b"[");
            self.line.add_fault(Fault { code, start, at: start, end, message, alone });
            return None;
        }
        if walk.line < self.line.number {
            self.line.is_quiet = true;
            let span = Span::new(walk.start, bracket + 1);
            let diagnostic = Diagnostic::new(code, walk.line, span, walk.column, message);
            return Some(Found::Diagnostic(Box::new(diagnostic)));
        }
        self.fault(code, walk.start, walk.start, message);
        self.line.end_fault(walk.start, bracket + 1);
        None
    }

    fn walk_fault<'w>(
        &mut self,
        window: &Window<'w>,
        at: &mut usize,
        byte: u8,
        expected: Expected,
    ) -> Option<Found<'w>> {
        if let Some(bad) = window.bad_utf8(*at, *at) {
            self.bad_utf8(window, at, bad);
            return None;
        }
        let fence = self.fence_kind();
        let offset = window.offset(*at);
        let walk = self.walk.as_mut()?;
        let message = error::describe(expected, error::Found::classify(byte));
        let is_line_start = self.line.first == Some(offset);
        let is_deeper = offset - self.line.text_start > walk.indent;
        if is_line_start && (!walk.is_established || !is_deeper) {
            return self.abandon();
        }
        if !walk.is_established || fence == Some(FenceKind::Other) {
            let (start, depth) = (walk.start, walk.frames.len().max(1) as u32);
            let is_tag = walk.is_first && offset == start + 1 && byte == b'T';
            let is_same_line = walk.line == self.line.number;
            let is_data = walk.is_meant;
            self.walk = None;
            if is_tag {
                self.begin_tag(start, b"[");
                return None;
            }
            if fence == Some(FenceKind::Other) || (!is_data && fence != Some(FenceKind::Json)) {
                // No array but brackets, as prose has them.
                self.read_as_text(window, at, depth);
                return None;
            }
            let start = if is_same_line { start } else { offset };
            self.fault(Code::MalformedJson, start, offset, message);
            self.phase = Phase::Skip(Skip { start, depth, ..Skip::default() });
            return None;
        }
        walk.next = Next::Comma;
        self.fault(Code::MalformedJson, offset, offset, message);
        if matches!(byte, b'}' | b']') {
            // The brackets do not match: nothing is known of where the array ends.
            self.walk = None;
            self.phase = Phase::Discard;
        } else {
            self.phase = Phase::Skip(Skip { start: offset, end: SkipTo::Separator, ..Skip::default() });
        }
        None
    }
}
