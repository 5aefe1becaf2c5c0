//! Rejects malformed values: as much text as belongs to them, and nothing more. What is text and not rejected is
//! bounded in the same way.

use super::state::{MultilineValue, Proof, Skip, SkipTo};
use super::{Scanner, Step};
use crate::json::error::{self, Expected, Fault};
use crate::records::cursor::Cursor;
use crate::records::line::Line;
use crate::{Code, Diagnostic, Mode, Span};

/// A value on several lines that was given up. Its complete parts that began a line at or left of its column are
/// scanned again.
#[derive(Debug)]
pub(super) struct Rescan {
    pub(super) start: u64,
    /// The start of the line with the fault.
    fault_line: u64,
    /// The starts of the containers that were open at the fault: all others are complete.
    open: Vec<u64>,
    indent: u64,
    diagnostic: Diagnostic,
}

/// A rejected value that was left open at the end of a line, or one that is [text](Self::is_text). Following lines that
/// belong to it are skipped, so that objects inside it never become records.
#[derive(Debug)]
pub(super) struct RejectedRegion {
    pub(super) start: u64,
    /// The start of its first line.
    pub(super) line_start: u64,
    /// White space before the text of its first line, in bytes.
    indent: u64,
    /// The number of open containers.
    depth: u32,
    /// Whether the last line ended inside a string, which the next one may continue.
    in_string: bool,
    /// Whether it has a line that only the string takes in: indentation says nothing any more.
    is_continued: bool,
    /// The end of its content so far.
    end: u64,
    /// Whether it began on the current line.
    is_new: bool,
    /// The diagnostic to report once it has ended.
    diagnostic: Option<Box<Diagnostic>>,
    /// The diagnostic to report instead if the fault proves to lie after it.
    left_open: Option<LeftOpen>,
}

/// The position and message of a value left open at the end of its first line.
#[derive(Debug)]
struct LeftOpen {
    fault: u64,
    line: u64,
    column: u64,
    message: String,
}

impl RejectedRegion {
    fn new(start: u64, line_start: u64, indent: u64, depth: u32) -> Self {
        Self {
            start,
            line_start,
            indent,
            depth,
            in_string: false,
            is_continued: false,
            end: start,
            is_new: false,
            diagnostic: None,
            left_open: None,
        }
    }

    /// Whether it is text and not rejected: the code of another language, or prose.
    pub(super) fn is_text(&self) -> bool {
        self.diagnostic.as_ref().is_some_and(|diagnostic| diagnostic.code.is_note())
    }

    /// Nothing follows it.
    pub(super) fn reaches_end(&mut self) {
        self.left_open = None;
    }
}

impl Scanner {
    /// Whether the value at `start` was scanned before, as a part of a rejected one, and is complete.
    #[inline]
    pub(super) fn is_read_again(&self, start: u64) -> bool {
        self.rescan.as_ref().is_some_and(|rescan| start < rescan.fault_line)
    }

    /// Rejects the value at `start`, which is open at the end of the current line.
    pub(super) fn reject(&mut self, start: u64, depth: u32, in_string: bool) {
        match &mut self.region {
            // It was already rejected.
            Some(region) if self.line.in_rejected_region => {
                (region.depth, region.in_string) = (depth, in_string);
            }
            region => {
                // After a value on one line, the next line is text again, even if the value ended in a
                // string, unless the line feed in it may be repaired.
                let in_string = in_string && self.options.repairs_syntax() && self.array.is_none();
                let new = RejectedRegion::new(start, self.line.start, self.line.indent(), depth);
                *region = Some(Box::new(RejectedRegion { is_new: true, in_string, ..new }));
            }
        }
    }

    /// Rejects the value at `start`, which was intended as a record and is malformed. The cursor is on the
    /// byte at fault.
    #[cold]
    pub(super) fn malformed(&mut self, cursor: &mut Cursor<'_>, start: u64, fault: Fault) -> Step {
        let byte = cursor.rest()[0];
        let is_strict = self.options.mode == Mode::Strict;
        let code = match fault.expected {
            Expected::LessDepth => Code::TooDeep,
            _ => Code::MalformedJson,
        };
        let mut message = error::describe(fault.expected, error::UnexpectedToken::classify(byte));
        if is_strict && self.line.first == Some(start) && cursor.from(cursor.index(start))[0] != b'{' {
            message = format!("expected an object at the start of the line; {message}");
        } else if is_strict && byte == b'\n' && !fault.expected.is_in_string() {
            message.push_str("; a record must be on one line");
        }
        let (start, depth, other) = self.reject_element(start);
        let in_string = fault.expected.is_in_string();
        if self.multiline.is_some() {
            self.give_up(cursor, start, code, cursor.offset(), message);
        } else {
            self.fault(code, start, cursor.offset(), message);
            match byte {
                _ if is_strict => self.state.enter_discard(),
                b'\n' => {
                    self.reject(start, depth, in_string);
                    self.state.enter_text();
                }
                _ => {
                    let end = if depth == 0 { SkipTo::Separator } else { SkipTo::Balance };
                    self.state.enter_skip(Skip { start, depth, in_string, end, ..Skip::default() });
                }
            }
        }
        other.map(|other| self.report_non_object(other))
    }

    /// Gives up the value at `start`, which continues after its first line, because of the fault at `fault`: rejects it, or
    /// reads it as text if `code` is [`Code::Prose`]. Goes back to the end of its first line; the other lines are decoded
    /// again.
    #[cold]
    pub(super) fn give_up(
        &mut self,
        cursor: &mut Cursor<'_>,
        start: u64,
        code: Code,
        fault: u64,
        message: String,
    ) {
        let Some(MultilineValue { line, end, expected, depth }) = self.multiline.take() else { return };
        let (fault_line, column) = (self.line.start, self.line.column(fault));
        // Nothing that ends on a line with an invalid byte is complete.
        let complete_to =
            if code == Code::InvalidUtf8 || self.gap.is_some() { self.line.start } else { fault };
        let open = self.json.open_at((complete_to - start) as usize);
        let open = open.into_iter().map(|open| start + open as u64).collect();
        let number = std::mem::replace(&mut self.line, line).number;
        self.element_is_over();
        let array = self.give_up_array();
        let start = array.as_ref().map_or(start, |array| array.start);
        let diagnostic = if code.is_note() {
            self.array = None;
            self.line.add_text(b"{");
            match array {
                Some(array) => array.note(fault),
                None => self.note_on_text(&self.line, start, fault),
            }
        } else {
            Diagnostic::new(code, number, Span::new(start, fault), column, message)
        };
        let (indent, copy) = (self.line.indent(), diagnostic.clone());
        self.rescan = Some(Box::new(Rescan { start, fault_line, open, indent, diagnostic: copy }));
        self.note_object();
        cursor.seek(end);
        self.state.enter_text();
        let in_string = false;
        self.reject(start, depth, in_string);
        self.line.is_markup_only = true;
        if let Some(region) = &mut self.region {
            region.diagnostic = Some(Box::new(diagnostic));
            let message = error::describe(expected, error::UnexpectedToken::LineFeed);
            let (line, column) = (self.line.number, self.line.column(end));
            let left_open = LeftOpen { fault, line, column, message };
            region.left_open = Some(left_open).filter(|_| !code.is_note());
        }
    }

    /// Whether the open region is text.
    pub(super) fn is_region_text(&self) -> bool {
        self.region.as_ref().is_some_and(|region| region.is_text())
    }

    /// Begins a line of a value that was given up, or the first line after it. `None` if the line is read
    /// like any other.
    #[inline(never)]
    pub(super) fn begin_line_again(&mut self, offset: u64, byte: u8) -> Option<Step> {
        let rescan = self.rescan.as_ref()?;
        let is_deeper = offset - self.line.text_start > rescan.indent;
        if self.line.start < rescan.fault_line {
            if matches!(byte, b'{' | b'[') && !is_deeper && !rescan.open.contains(&offset) {
                if byte == b'[' {
                    // It is an array of its own, not part of the one around it.
                    self.array = None;
                }
                return self.end_region().map(Some);
            }
        } else {
            let is_at_fault = self.line.start == rescan.fault_line;
            let belongs = is_deeper || matches!(byte, b'"' | b',' | b'}' | b']');
            if self.region.is_some() || !is_at_fault || !belongs {
                self.rescan = None;
                if is_at_fault && byte == b'[' && !is_deeper {
                    self.array = None;
                }
                return None;
            }
        }
        self.line.first = Some(offset);
        self.skip_line_again(offset);
        Some(None)
    }

    /// Skips the rest of a line of a value that was given up, from `offset` on.
    pub(super) fn skip_line_again(&mut self, offset: u64) {
        let Some(rescan) = &self.rescan else { return };
        let region = self.region.get_or_insert_with(|| {
            let (depth, mut diagnostic) = (rescan.open.len() as u32, rescan.diagnostic.clone());
            diagnostic.span = Span::new(offset, offset);
            if diagnostic.code.is_note() {
                (diagnostic.line, diagnostic.column) = (self.line.number, self.line.column(offset));
            }
            let new = RejectedRegion::new(offset, self.line.start, rescan.indent, depth);
            Box::new(RejectedRegion { diagnostic: Some(Box::new(diagnostic)), ..new })
        });
        self.line.in_rejected_region = true;
        // Lines of text have the limits of any other.
        if region.is_text() {
            let (start, depth, end) = (region.start, region.depth, SkipTo::LineEnd);
            self.state.enter_skip(Skip { start, depth, end, ..Skip::default() });
        } else {
            self.state.enter_discard();
        }
    }

    /// Begins a line's text at `offset` with `byte`, `None` if that is not UTF-8. If the text does not belong
    /// to the rejected region, the region has ended, and its diagnostic may be returned.
    #[inline(never)]
    pub(super) fn begin_text(&mut self, offset: u64, byte: Option<u8>) -> Step {
        let region = self.region.as_ref()?;
        let indent = offset - self.line.text_start;
        let belongs = match byte {
            _ if indent > region.indent && !region.is_continued => true,
            // The rest of a member: no line of text begins like this.
            Some(b'"' | b',' | b':') => region.depth > 0,
            Some(b'}' | b']') => indent == region.indent,
            Some(b'{' | b'[' | b'`' | b'~' | b'<') | None => false,
            Some(_) => region.in_string,
        };
        if !belongs {
            return self.end_region();
        }
        let (start, depth) = (region.start, region.depth);
        let in_string = region.in_string && self.options.repairs_syntax();
        let is_unproven = in_string && (indent <= region.indent || region.is_continued);
        self.line.first = Some(offset);
        self.line.in_rejected_region = true;
        let mut proof = Proof::NotNeeded;
        if let Some(region) = self.region.as_mut().filter(|_| is_unproven) {
            region.is_continued = true;
            proof = Proof::Missing;
        }
        self.state.enter_skip(Skip { start, depth, in_string, proof, ..Skip::default() });
        None
    }

    /// The line at the cursor does not continue the string of the line before: it is read like any other.
    #[cold]
    fn read_as_own_line(&mut self, cursor: &mut Cursor<'_>) -> Step {
        let Line { number, start, text_start, first, .. } = self.line;
        self.begin_line_anew(number, start, text_start);
        cursor.seek(first.unwrap_or(start));
        self.state.enter_line_start();
        self.end_region()
    }

    /// Ends a line with its diagnostic, and keeps the one to report once the rejected region has ended.
    pub(super) fn end_line_of_region(
        &mut self,
        in_region: bool,
        content_end: u64,
        diagnostic: Option<Diagnostic>,
    ) -> Option<Diagnostic> {
        let Some(region) = &mut self.region else { return diagnostic.map(with_size) };
        if in_region || region.is_new {
            region.end = content_end;
        }
        if std::mem::take(&mut region.is_new)
            && region.diagnostic.is_none()
            && diagnostic.as_ref().is_some_and(|diagnostic| diagnostic.span.start == region.start)
        {
            region.diagnostic = diagnostic.map(Box::new);
            return None;
        }
        diagnostic.map(with_size)
    }

    /// Ends the rejected region.
    pub(super) fn end_region(&mut self) -> Step {
        let region = *self.region.take()?;
        let mut diagnostic = region.diagnostic?;
        diagnostic.span.end = region.end.max(diagnostic.span.start);
        if let Some(left_open) = region.left_open.filter(|left_open| left_open.fault > region.end) {
            if diagnostic.code != Code::Truncated {
                diagnostic.code = Code::MalformedJson;
            }
            (diagnostic.line, diagnostic.column) = (left_open.line, left_open.column);
            diagnostic.message = left_open.message;
        }
        if diagnostic.code.is_note()
            && let Some(segments) = self.segments.as_mut().filter(|_| diagnostic.span.end > self.line.start)
        {
            segments.text(diagnostic.span.end);
        }
        let outcome = self.report(with_size(*diagnostic));
        if let Some(segments) = &mut self.segments {
            segments.end_reject(self.line.start);
        }
        Some(outcome)
    }

    /// Reports a value on this line that was rejected and has ended, before anything after it.
    pub(super) fn ended_fault(&mut self) -> Step {
        if !self.line.has_ended_fault() || self.region.is_some() {
            return None;
        }
        let diagnostic = self.line.take_ended_fault()?;
        Some(self.report(with_size(diagnostic)))
    }

    /// Ends the input: reports a rejected value that ended on a line before the last.
    pub(super) fn end_region_at_end(&mut self) -> Step {
        let region = self.region.as_mut().filter(|region| !region.is_new && !self.line.in_rejected_region)?;
        region.left_open = None;
        if region.diagnostic.as_ref().is_some_and(|diagnostic| diagnostic.code == Code::Truncated) {
            // The element and the array are truncated by the same end: one diagnostic.
            self.array = None;
        }
        self.end_region()
    }

    #[inline(never)]
    pub(super) fn skip(&mut self, cursor: &mut Cursor<'_>, mut skip: Skip) -> Step {
        let is_deeper = self.line.in_rejected_region
            && self.region.as_ref().is_some_and(|region| self.line.indent() > region.indent);
        for &byte in cursor.line() {
            if skip.proof == Proof::Due && !matches!(byte, b' ' | b'\t' | b'\r') {
                skip.proof = Proof::NotNeeded;
                if !matches!(byte, b',' | b':' | b'}' | b']' | b'\n') {
                    return self.read_as_own_line(cursor);
                }
            }
            match byte {
                b'\n' => {
                    self.state.enter_text();
                    self.array_may_have_ended();
                    if skip.depth == 0 && !is_deeper {
                        self.end_fault(skip.start, self.content_end(cursor));
                    } else if !(self.line.in_rejected_region && skip.end == SkipTo::LineEnd) {
                        self.reject(skip.start, skip.depth, skip.in_string);
                    }
                    return None;
                }
                _ if skip.escaped => skip.escaped = false,
                b'\\' if skip.in_string => skip.escaped = true,
                b'"' => {
                    skip.in_string = !skip.in_string;
                    if skip.proof == Proof::Missing {
                        skip.proof = Proof::Due;
                    }
                }
                _ if skip.in_string => {}
                b',' | b'}' | b']' if skip.end == SkipTo::Separator && skip.depth == 0 => {
                    self.end_fault(skip.start, cursor.offset());
                    self.state.enter_array();
                    self.counted_from = cursor.offset();
                    return None;
                }
                b'{' | b'[' => skip.depth += 1,
                b'}' | b']' => {
                    skip.depth = skip.depth.saturating_sub(1);
                    // On a line that is indented deeper, brackets prove nothing.
                    if skip.depth == 0 && skip.end == SkipTo::Balance && !is_deeper {
                        cursor.at += 1;
                        return self.end_skip(cursor.offset(), skip.start);
                    }
                }
                _ => {}
            }
            cursor.at += 1;
        }
        self.state.enter_skip(skip);
        None
    }

    /// Ends the rejected value, whose brackets balance at `end`.
    fn end_skip(&mut self, end: u64, start: u64) -> Step {
        self.end_fault(start, end);
        if let Some(region) = self.region.as_mut().filter(|_| self.line.in_rejected_region) {
            region.end = end;
        }
        if self.array.is_none() {
            self.state.enter_after_rejected(start);
            return None;
        }
        self.state.enter_array();
        self.counted_from = end;
        self.end_region_on_line()
    }

    /// Whether the value before the cursor is a part of one that was given up.
    fn is_after_part(&self) -> bool {
        self.rescan.is_some() && self.region.is_none()
    }

    /// Ends the rejected region on the current line, if that belongs to it.
    pub(super) fn end_region_on_line(&mut self) -> Step {
        if !std::mem::take(&mut self.line.in_rejected_region) {
            return None;
        }
        self.line.is_markup_only = true;
        self.end_region()
    }

    #[inline(never)]
    pub(super) fn after_rejected(&mut self, cursor: &mut Cursor<'_>, start: u64) -> Step {
        while let Some(byte) = cursor.peek() {
            match byte {
                b' ' | b'\t' | b'\r' | b',' => cursor.at += 1,
                b'}' | b']' if self.is_after_part() => cursor.at += 1,
                // Inner values that follow on the line are not records.
                _ if byte != b'\n' && self.is_after_part() => {
                    self.skip_line_again(cursor.offset());
                    return None;
                }
                // The value has not ended, so what follows is not a record.
                b'"' | b':' | b'}' | b']' => {
                    let start = if self.line.reopen_fault(start) { start } else { cursor.offset() };
                    self.state.enter_skip(Skip { start, end: SkipTo::LineEnd, ..Skip::default() });
                    return None;
                }
                _ => {
                    self.state.enter_text();
                    return self.end_region_on_line().or_else(|| self.ended_fault());
                }
            }
        }
        None
    }
}

/// Adds the size of the record, if that is the fault.
fn with_size(mut diagnostic: Diagnostic) -> Diagnostic {
    if diagnostic.code == Code::RecordTooLarge {
        diagnostic.message += &format!(" ({} bytes)", diagnostic.span.end - diagnostic.span.start);
    }
    diagnostic
}
