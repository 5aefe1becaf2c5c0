//! What is rejected with a value that proves malformed: as much as belongs to it, and nothing more.

use super::state::{MultilineValue, Skip, SkipTo, State};
use super::{Scanner, Step};
use crate::json::error::{self, Expected, Fault};
use crate::records::cursor::Cursor;
use crate::{Code, Diagnostic, Mode, Span};

/// A value on several lines that was rejected. What is whole in it, and began a line at or left of its column, is read
/// again.
#[derive(Debug)]
pub(super) struct Rescan {
    pub(super) start: u64,
    /// Where the line with the fault starts.
    fault_line: u64,
    /// Where what was open at the fault begins: all else is whole.
    open: Vec<u64>,
    indent: u64,
    diagnostic: Diagnostic,
}

/// A rejected value that was left open at the end of a line. The lines after it that belong to it are
/// skipped, so that inner objects never pass for records.
#[derive(Debug)]
pub(super) struct RejectedRegion {
    pub(super) start: u64,
    /// Where its first line starts.
    pub(super) line_start: u64,
    /// White space before the text of its first line, in bytes.
    indent: u64,
    /// Containers that are open.
    depth: u32,
    /// Whether the last line ended inside a string. Then the next one may be the rest of it.
    in_string: bool,
    /// Where its content ends, as far as it was read.
    end: u64,
    /// It began on the line being read.
    is_new: bool,
    /// What is reported once it has ended.
    diagnostic: Option<Box<Diagnostic>>,
    /// What is reported instead if the fault proves to lie behind it.
    left_open: Option<LeftOpen>,
}

/// That a value was left open at the end of its first line.
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
            end: start,
            is_new: false,
            diagnostic: None,
            left_open: None,
        }
    }

    /// Nothing comes behind it.
    pub(super) fn reaches_end(&mut self) {
        self.left_open = None;
    }
}

impl Scanner {
    /// Whether the value at `start` was read before, as a part of one that was rejected, and is whole.
    #[inline]
    pub(super) fn is_read_again(&self, start: u64) -> bool {
        self.rescan.as_ref().is_some_and(|rescan| start < rescan.fault_line)
    }

    /// The value at `start` is rejected, and open at the end of the line being read.
    pub(super) fn reject(&mut self, start: u64, depth: u32, in_string: bool) {
        match &mut self.region {
            // It was rejected before.
            Some(region) if self.line.in_rejected_region => {
                (region.depth, region.in_string) = (depth, in_string);
            }
            region => {
                // Of one line, the next is text again, also if it ended in a string.
                let new = RejectedRegion::new(start, self.line.start, self.line.indent(), depth);
                *region = Some(Box::new(RejectedRegion { is_new: true, ..new }));
            }
        }
    }

    /// The value at `start`, by which a record was meant, is malformed; the cursor is on the byte at fault.
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
            message.push_str("; a record stands on one line");
        }
        let (start, depth, other) = self.reject_element(start);
        let in_string = fault.expected.is_in_string();
        if self.multiline.is_some() {
            self.give_up(cursor, start, code, cursor.offset(), message);
        } else {
            self.fault(code, start, cursor.offset(), message);
            self.state = match byte {
                _ if is_strict => State::Discard,
                b'\n' => {
                    self.reject(start, depth, in_string);
                    State::Text
                }
                _ => {
                    let end = if depth == 0 { SkipTo::Separator } else { SkipTo::Balance };
                    State::Skip(Skip { start, depth, in_string, escaped: false, end })
                }
            };
        }
        other.map(|other| self.found_before(other))
    }

    /// Gives up the value at `start`, which goes on behind its first line, because of what is at `fault`.
    /// Goes back to the end of its first line; the others are decoded once more.
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
        // Nothing that ends on a line with a bad byte is whole.
        let whole_to = if code == Code::InvalidUtf8 || self.gap.is_some() { self.line.start } else { fault };
        let open = self.json.open_at((whole_to - start) as usize);
        let open = open.into_iter().map(|open| start + open as u64).collect();
        let number = std::mem::replace(&mut self.line, line).number;
        self.element_is_over();
        let start = self.give_up_array().unwrap_or(start);
        let diagnostic = Diagnostic::new(code, number, Span::new(start, fault), column, message);
        let (indent, copy) = (self.line.indent(), diagnostic.clone());
        self.rescan = Some(Box::new(Rescan { start, fault_line, open, indent, diagnostic: copy }));
        self.note_object();
        cursor.seek(end);
        self.state = State::Text;
        let in_string = false;
        self.reject(start, depth, in_string);
        self.line.is_markup_only = true;
        if let Some(region) = &mut self.region {
            region.diagnostic = Some(Box::new(diagnostic));
            let message = error::describe(expected, error::UnexpectedToken::LineFeed);
            let (line, column) = (self.line.number, self.line.column(end));
            region.left_open = Some(LeftOpen { fault, line, column, message });
        }
    }

    /// A line of a value that was given up begins with `byte`, or the first line behind it. `None` if that is read like
    /// any other.
    #[inline(never)]
    pub(super) fn begin_line_again(&mut self, offset: u64, byte: u8) -> Option<Step> {
        let rescan = self.rescan.as_ref()?;
        let is_deeper = offset - self.line.text_start > rescan.indent;
        if self.line.start < rescan.fault_line {
            if matches!(byte, b'{' | b'[') && !is_deeper && !rescan.open.contains(&offset) {
                if byte == b'[' {
                    // Of an array of its own, not of the one around it.
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
        if self.region.is_none() {
            let (depth, mut diagnostic) = (rescan.open.len() as u32, rescan.diagnostic.clone());
            diagnostic.span = Span::new(offset, offset);
            let new = RejectedRegion::new(offset, self.line.start, rescan.indent, depth);
            self.region = Some(Box::new(RejectedRegion { diagnostic: Some(Box::new(diagnostic)), ..new }));
        }
        self.line.first = Some(offset);
        self.line.in_rejected_region = true;
        self.state = State::Discard;
        Some(None)
    }

    /// A line's text begins at `offset`, with `byte` unless that is not UTF-8. Whether it belongs to what
    /// was rejected is then known; if not, that has ended, and there may be a diagnostic for it.
    #[inline(never)]
    pub(super) fn begin_text(&mut self, offset: u64, byte: Option<u8>) -> Step {
        let region = self.region.as_ref()?;
        let indent = offset - self.line.text_start;
        let belongs = match byte {
            _ if indent > region.indent => true,
            // The rest of a member, which no line of text begins with.
            Some(b'"' | b',' | b':') => region.depth > 0,
            Some(b'}' | b']') => indent == region.indent,
            Some(b'{' | b'[' | b'`' | b'~' | b'<') | None => false,
            Some(_) => region.in_string,
        };
        if !belongs {
            return self.end_region();
        }
        self.line.first = Some(offset);
        self.line.in_rejected_region = true;
        self.state = State::Skip(Skip { start: region.start, depth: region.depth, ..Skip::default() });
        None
    }

    /// A line has ended that `diagnostic` is about. Keeps what is reported once the rejected region has ended.
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

    /// The rejected region has ended.
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
        let found = self.report(with_size(*diagnostic));
        if let Some(segments) = &mut self.segments {
            segments.end_region(self.line.start);
        }
        Some(found)
    }

    /// Reports a value on this line that was rejected and is over, before anything behind it.
    pub(super) fn ended_fault(&mut self) -> Step {
        if !self.line.has_ended_fault() || self.region.is_some() {
            return None;
        }
        let diagnostic = self.line.take_ended_fault()?;
        Some(self.report(with_size(diagnostic)))
    }

    /// The input has ended: reports a rejected value that ended on a line before the last.
    pub(super) fn end_region_at_end(&mut self) -> Step {
        let region = self.region.as_mut().filter(|region| !region.is_new && !self.line.in_rejected_region)?;
        region.left_open = None;
        if region.diagnostic.as_ref().is_some_and(|diagnostic| diagnostic.code == Code::Truncated) {
            // What cut the element cut the array: one diagnostic.
            self.array = None;
        }
        self.end_region()
    }

    #[inline(never)]
    pub(super) fn skip(&mut self, cursor: &mut Cursor<'_>, mut skip: Skip) -> Step {
        let is_deeper = self.line.in_rejected_region
            && self.region.as_ref().is_some_and(|region| self.line.indent() > region.indent);
        for &byte in cursor.line() {
            match byte {
                b'\n' => {
                    self.state = State::Text;
                    if skip.depth == 0 && !is_deeper {
                        self.end_fault(skip.start, self.content_end(cursor));
                    } else {
                        self.reject(skip.start, skip.depth, skip.in_string);
                    }
                    return None;
                }
                _ if skip.escaped => skip.escaped = false,
                b'\\' if skip.in_string => skip.escaped = true,
                b'"' => skip.in_string = !skip.in_string,
                _ if skip.in_string => {}
                b',' | b'}' | b']' if skip.end == SkipTo::Separator && skip.depth == 0 => {
                    self.end_fault(skip.start, cursor.offset());
                    self.state = State::Array;
                    self.counted_from = cursor.offset();
                    return None;
                }
                b'{' | b'[' => skip.depth += 1,
                b'}' | b']' => {
                    skip.depth = skip.depth.saturating_sub(1);
                    // Brackets of what is rejected prove nothing on a line that is indented deeper.
                    if skip.depth == 0 && skip.end == SkipTo::Balance && !is_deeper {
                        cursor.at += 1;
                        return self.end_skip(cursor.offset(), skip.start);
                    }
                }
                _ => {}
            }
            cursor.at += 1;
        }
        self.state = State::Skip(skip);
        None
    }

    /// The brackets of the rejected value balance at `end`.
    fn end_skip(&mut self, end: u64, start: u64) -> Step {
        self.end_fault(start, end);
        self.state = State::AfterRejected { start };
        if self.array.is_some() {
            self.state = State::Array;
            self.counted_from = end;
        }
        if !std::mem::take(&mut self.line.in_rejected_region) {
            return None;
        }
        self.line.is_markup_only = true;
        if let Some(region) = &mut self.region {
            region.end = end;
        }
        self.end_region()
    }

    #[inline(never)]
    pub(super) fn after_rejected(&mut self, cursor: &mut Cursor<'_>, start: u64) -> Step {
        while let Some(byte) = cursor.peek() {
            match byte {
                b' ' | b'\t' | b'\r' | b',' => cursor.at += 1,
                // The value was not over: so what follows is no record.
                b'"' | b':' | b'}' | b']' => {
                    let start = if self.line.reopen_fault(start) { start } else { cursor.offset() };
                    self.state = State::Skip(Skip { start, end: SkipTo::LineEnd, ..Skip::default() });
                    return None;
                }
                _ => {
                    self.state = State::Text;
                    return self.ended_fault();
                }
            }
        }
        None
    }
}

/// Adds its size, if that is the fault.
fn with_size(mut diagnostic: Diagnostic) -> Diagnostic {
    if diagnostic.code == Code::RecordTooLarge {
        diagnostic.message += &format!(" ({} bytes)", diagnostic.span.end - diagnostic.span.start);
    }
    diagnostic
}
