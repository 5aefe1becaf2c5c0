//! What is lost with a value that proves malformed: as much as belongs to it, and nothing more.

use super::{Found, Machine, Phase};
use crate::json::error;
use crate::records::window::Window;
use crate::{Code, Diagnostic, Span};

/// On the way to where the brackets of a lost value balance, or to the end of the line.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Skip {
    /// Where the lost value starts.
    pub(super) start: u64,
    pub(super) depth: u32,
    pub(super) in_string: bool,
    pub(super) escaped: bool,
    pub(super) end: SkipTo,
}

/// Where a lost value ends on its line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SkipTo {
    /// Where its brackets balance.
    #[default]
    Balance,
    /// At a comma or the bracket of what is around it.
    Separator,
    /// With the line.
    LineEnd,
}

/// A value on several lines that was lost. What is whole in it, and began a line at or left of its column, is read
/// again.
#[derive(Debug)]
pub(super) struct GivenUp {
    pub(super) start: u64,
    /// Where the line with the fault starts.
    fault_line: u64,
    /// Where what was open at the fault begins: all else is whole.
    open: Vec<u64>,
    indent: u64,
    finding: Diagnostic,
}

/// A lost value that was left open at the end of a line. The lines after it that belong to it are
/// skipped, so that inner objects never pass for records.
#[derive(Debug)]
pub(super) struct Lost {
    start: u64,
    /// Where its first line starts.
    pub(super) line_start: u64,
    /// White space before the text of its first line, in bytes.
    indent: u64,
    /// Containers that are open.
    depth: u32,
    /// Whether the last line ended inside a string. Then the next one may be the rest of it.
    in_string: bool,
    /// Where its content ends, as far as it was read.
    pub(super) end: u64,
    /// It began on the line being read.
    pub(super) is_new: bool,
    /// What is to be said of it once it has ended.
    finding: Option<Box<Diagnostic>>,
    /// What is to be said instead if the fault proves to lie behind it.
    otherwise: Option<Otherwise>,
}

/// That a value was left open at the end of its first line.
#[derive(Debug)]
struct Otherwise {
    fault: u64,
    line: u64,
    column: u64,
    message: String,
}

impl Lost {
    /// Nothing comes behind it.
    pub(super) fn reaches_end(&mut self) {
        self.otherwise = None;
    }
}

impl Machine {
    /// Whether the value at `start` was read before, as a part of one that was lost, and is whole.
    #[inline]
    pub(super) fn is_read_again(&self, start: u64) -> bool {
        self.given_up.as_ref().is_some_and(|given_up| start < given_up.fault_line)
    }

    /// The value at `start` is lost, and open at the end of the line being read.
    pub(super) fn lose(&mut self, start: u64, depth: u32, in_string: bool) {
        let first_line = self.spread.as_ref().map_or(&self.line, |spread| &spread.line);
        let (indent, line_start) = (first_line.indent(), first_line.start);
        match &mut self.lost {
            // It was lost before.
            Some(lost) if self.line.is_inside => (lost.depth, lost.in_string) = (depth, in_string),
            lost => {
                *lost = Some(Box::new(Lost {
                    start,
                    line_start,
                    indent,
                    depth,
                    // Of one line, the next is text again.
                    in_string: false,
                    end: start,
                    is_new: true,
                    finding: None,
                    otherwise: None,
                }));
            }
        }
    }

    /// Gives up the value at `start`, which goes on behind its first line, because of what is at `fault`.
    /// Goes back to the end of its first line; the others are decoded once more.
    #[cold]
    pub(super) fn give_up(
        &mut self,
        window: &Window<'_>,
        at: &mut usize,
        start: u64,
        code: Code,
        fault: u64,
        message: String,
    ) {
        let Some(spread) = self.spread.take() else { return };
        let column = self.line.column(fault);
        let finding = Diagnostic::new(code, self.line.number, Span::new(start, fault), column, message);
        let open = self.json.open_at((fault - start) as usize);
        let open = open.into_iter().map(|open| start + open as u64).collect();
        let fault_line = self.line.start;
        self.line = spread.line;
        self.element_is_over();
        let start = self.give_up_walk().unwrap_or(start);
        let finding = Diagnostic { span: Span::new(start, fault), ..finding };
        let (indent, copy) = (self.line.indent(), finding.clone());
        self.given_up = Some(Box::new(GivenUp { start, fault_line, open, indent, finding: copy }));
        self.note_object();
        *at = window.index(spread.end);
        self.phase = Phase::Text;
        let in_string = false;
        self.lose(start, spread.depth, in_string);
        self.line.is_quiet = true;
        let column = self.line.column(spread.end);
        if let Some(lost) = &mut self.lost {
            lost.finding = Some(Box::new(finding));
            let message = error::describe(spread.expected, error::Found::LineFeed);
            lost.otherwise = Some(Otherwise { fault, line: self.line.number, column, message });
        }
    }

    /// A line of a value that was given up begins with `byte`, or the first line behind it. `None` if that is read like
    /// any other.
    #[inline(never)]
    pub(super) fn begin_line_again<'w>(&mut self, offset: u64, byte: u8) -> Option<Option<Found<'w>>> {
        let given_up = self.given_up.as_ref()?;
        let is_deeper = offset - self.line.text_start > given_up.indent;
        if self.line.start < given_up.fault_line {
            let is_whole = matches!(byte, b'{' | b'[') && !is_deeper && !given_up.open.contains(&offset);
            if is_whole {
                if byte == b'[' {
                    // Of an array of its own, not of the one around it.
                    self.walk = None;
                }
                return self.close_lost().map(Some);
            }
        } else {
            let is_at_fault = self.line.start == given_up.fault_line;
            let belongs = is_deeper || matches!(byte, b'"' | b',' | b'}' | b']');
            if self.lost.is_some() || !is_at_fault || !belongs {
                self.given_up = None;
                if is_at_fault && byte == b'[' && !is_deeper {
                    self.walk = None;
                }
                return None;
            }
        }
        let given_up = self.given_up.as_ref()?;
        if self.lost.is_none() {
            let mut finding = given_up.finding.clone();
            finding.span = Span::new(offset, offset);
            self.lost = Some(Box::new(Lost {
                start: offset,
                line_start: self.line.start,
                indent: given_up.indent,
                depth: given_up.open.len() as u32,
                in_string: false,
                end: offset,
                is_new: false,
                finding: Some(Box::new(finding)),
                otherwise: None,
            }));
        }
        self.line.first = Some(offset);
        self.line.is_inside = true;
        self.phase = Phase::Discard;
        Some(None)
    }

    /// A line's text begins at `offset`, with `byte` unless that is not UTF-8. Whether it belongs to what
    /// was lost is then known; if not, that has ended, and there may be something to say of it.
    #[inline(never)]
    pub(super) fn begin_text<'w>(&mut self, offset: u64, byte: Option<u8>) -> Option<Found<'w>> {
        let lost = self.lost.as_ref()?;
        let indent = offset - self.line.text_start;
        let belongs = match byte {
            _ if indent > lost.indent => true,
            // The rest of a member, which no line of text begins with.
            Some(b'"' | b',' | b':') => lost.depth > 0,
            Some(b'}' | b']') => indent == lost.indent,
            Some(b'{' | b'[' | b'`' | b'~' | b'<') | None => false,
            Some(_) => lost.in_string,
        };
        if !belongs {
            return self.close_lost();
        }
        self.line.first = Some(offset);
        self.line.is_inside = true;
        self.phase = Phase::Skip(Skip { start: lost.start, depth: lost.depth, ..Skip::default() });
        None
    }

    /// A line has ended of which there is `finding` to say. Keeps what is to be said once the lost value
    /// has ended.
    pub(super) fn end_line_of_lost(
        &mut self,
        is_inside: bool,
        content_end: u64,
        finding: Option<Diagnostic>,
    ) -> Option<Diagnostic> {
        let Some(lost) = &mut self.lost else { return finding.map(with_size) };
        if is_inside || lost.is_new {
            lost.end = content_end;
        }
        if std::mem::take(&mut lost.is_new)
            && lost.finding.is_none()
            && finding.as_ref().is_some_and(|finding| finding.span.start == lost.start)
        {
            lost.finding = finding.map(Box::new);
            return None;
        }
        finding.map(with_size)
    }

    /// The lost value has ended.
    pub(super) fn close_lost<'w>(&mut self) -> Option<Found<'w>> {
        let lost = *self.lost.take()?;
        let mut finding = lost.finding?;
        finding.span.end = lost.end.max(finding.span.start);
        if let Some(otherwise) = lost.otherwise.filter(|otherwise| otherwise.fault > lost.end) {
            if finding.code != Code::Truncated {
                finding.code = Code::MalformedJson;
            }
            (finding.line, finding.column) = (otherwise.line, otherwise.column);
            finding.message = otherwise.message;
        }
        Some(Found::Diagnostic(Box::new(with_size(*finding))))
    }

    /// What is to be said of a value on this line that was lost and is over, before anything behind it.
    pub(super) fn ended_fault<'w>(&mut self, window: &Window<'w>, at: usize) -> Option<Found<'w>> {
        // What is not UTF-8 ends the line with all that is on it.
        if !self.line.has_ended_fault() || self.lost.is_some() || window.bad_utf8(at, at).is_some() {
            return None;
        }
        let finding = self.line.take_ended_fault()?;
        Some(Found::Diagnostic(Box::new(with_size(finding))))
    }

    /// The input has ended: says what is to be said of a lost value that ended on a line before the last.
    pub(super) fn close_lost_at_end<'w>(&mut self) -> Option<Found<'w>> {
        let lost = self.lost.as_mut().filter(|lost| !lost.is_new && !self.line.is_inside)?;
        lost.otherwise = None;
        if lost.finding.as_ref().is_some_and(|finding| finding.code == Code::Truncated) {
            // What cut the element cut the array: that is one finding.
            self.walk = None;
        }
        self.close_lost()
    }

    #[inline(never)]
    pub(super) fn skip<'w>(
        &mut self,
        bytes: &[u8],
        window: &Window<'w>,
        at: &mut usize,
        mut skip: Skip,
    ) -> Option<Found<'w>> {
        enum End {
            Line,
            Balanced,
            Separator,
        }
        let from = *at;
        let mut end = None;
        let is_deeper =
            self.line.is_inside && self.lost.as_ref().is_some_and(|lost| self.line.indent() > lost.indent);
        while let Some(&byte) = bytes.get(*at) {
            match byte {
                b'\n' => end = Some(End::Line),
                _ if skip.escaped => skip.escaped = false,
                b'\\' if skip.in_string => skip.escaped = true,
                b'"' => skip.in_string = !skip.in_string,
                _ if skip.in_string => {}
                b',' | b'}' | b']' if skip.end == SkipTo::Separator && skip.depth == 0 => {
                    end = Some(End::Separator);
                }
                b'{' | b'[' => skip.depth += 1,
                b'}' | b']' => {
                    skip.depth = skip.depth.saturating_sub(1);
                    // Brackets of what is lost prove nothing on a line that is indented deeper.
                    if skip.depth == 0 && skip.end == SkipTo::Balance && !is_deeper {
                        *at += 1;
                        end = Some(End::Balanced);
                    }
                }
                _ => {}
            }
            if end.is_some() {
                break;
            }
            *at += 1;
        }
        // A limit may have ended the value in the middle of a character.
        let is_middle = |at: &usize| bytes.get(*at).is_some_and(|byte| byte & 0xC0 == 0x80);
        let whole_from = (from.saturating_sub(3)..=from).rev().find(|at| !is_middle(at)).unwrap_or(from);
        if *at > from
            && let Some(bad) = window.bad_utf8(whole_from, *at - 1)
        {
            self.bad_utf8(window, at, bad);
            return None;
        }
        let offset = window.offset(*at);
        match end {
            None => self.phase = Phase::Skip(skip),
            Some(End::Line) => {
                self.phase = Phase::Text;
                if skip.depth == 0 && !is_deeper {
                    self.line.end_fault(skip.start, self.content_end(window, *at));
                } else {
                    self.lose(skip.start, skip.depth, skip.in_string);
                }
            }
            Some(End::Separator) => {
                self.line.end_fault(skip.start, offset);
                self.phase = Phase::Walk;
                self.counted_from = offset;
            }
            Some(End::Balanced) => {
                self.line.end_fault(skip.start, offset);
                self.phase = Phase::AfterLost;
                if self.walk.is_some() {
                    self.phase = Phase::Walk;
                    self.counted_from = offset;
                }
                if std::mem::take(&mut self.line.is_inside) {
                    self.line.is_quiet = true;
                    if let Some(lost) = &mut self.lost {
                        lost.end = offset;
                    }
                    return self.close_lost();
                }
            }
        }
        None
    }

    #[inline(never)]
    pub(super) fn after_lost<'w>(
        &mut self,
        bytes: &[u8],
        window: &Window<'w>,
        at: &mut usize,
    ) -> Option<Found<'w>> {
        while let Some(&byte) = bytes.get(*at) {
            match byte {
                b' ' | b'\t' | b'\r' | b',' => *at += 1,
                // The value was not over: so what follows is no record.
                b'"' | b':' | b'}' | b']' => {
                    let start = window.offset(*at);
                    self.phase = Phase::Skip(Skip { start, end: SkipTo::LineEnd, ..Skip::default() });
                    return None;
                }
                _ => {
                    self.phase = Phase::Text;
                    return self.ended_fault(window, *at);
                }
            }
        }
        None
    }
}

/// Says how large it is, if that is what is wrong.
fn with_size(mut finding: Diagnostic) -> Diagnostic {
    if finding.code == Code::RecordTooLarge {
        finding.message += &format!(" ({} bytes)", finding.span.end - finding.span.start);
    }
    finding
}
