//! Calls in text that are not taken: quoted ones, and markers around what no reader can read.

use super::Calls;
use super::accept::parse;
use super::backticks::{Backticks, OpenFence};
use super::bounds::MAX_OPENER;
use crate::call_format::{CallText, MarkerPair};
use crate::json::Value;
use crate::records::cursor::Cursor;
use crate::records::scanner::{Outcome, Scanner, Step};
use crate::{Code, Diagnostic, Span, ToolCall};

/// Why a call in a text is not taken.
pub(super) const QUOTED: &str =
    "a tool call in inline code or in a block of code is text, unless a call format is named";
pub(super) const UNSETTLED: &str =
    "the text has calls in another format, and no tools are defined that show that this is one";

/// The most text to search for the end of inline code. What is longer is not code.
const MAX_CODE: usize = 1024;

/// The most white space between a marker and the beginning of a payload.
const MAX_BLANKS: usize = 64;

/// A marker before something that no reader can read.
#[derive(Debug)]
pub(super) struct Unclosed {
    start: u64,
    line: u64,
    column: u64,
    open: String,
    /// The markers that may close it.
    closers: Vec<String>,
    is_line_start: bool,
}

/// The kind of text that follows a marker of a pair.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    Payload,
    Other,
}

impl Scanner {
    /// Whether a call of this format, or for `None` an object, is in a block of code.
    pub(in crate::records::scanner) fn is_in_code_block(&self, format: Option<usize>) -> bool {
        let Some(calls) = self.calls.as_ref().filter(|_| self.fence.is_some()) else { return false };
        let is_opening = self.line.opens_fence();
        let language = if is_opening { &self.line.lead } else { &calls.fence };
        !language.is_empty() && !calls.detector.reads_fence(format, |word| language.is_language(word))
    }

    /// Ends a line without a fence at its beginning: one at its end opens a block, and inline code goes on in the next line
    /// unless that begins a paragraph.
    pub(in crate::records::scanner) fn end_line_of_code(&mut self, start: u64, next: u64, is_blank: bool) {
        let Some(calls) = self.calls.as_mut().filter(|calls| calls.detector.is_auto() && !is_blank) else {
            return;
        };
        if calls.backticks.0 != start {
            return;
        }
        match calls.backticks.1.open_fence() {
            Some(fence) => self.add_code_fence(fence),
            None => calls.pass_line(start, next),
        }
    }

    fn add_code_fence(&mut self, OpenFence { marker, len, language }: OpenFence) {
        let Some(calls) = &mut self.calls else { return };
        if self.fence.is_none() {
            self.fence = Some(language.fence_kind());
            (self.fence_marker, calls.fence) = ((marker, len), language);
        } else if self.fence_marker.0 != marker || len < self.fence_marker.1 {
            // It is text in the block.
        } else if language.is_empty() {
            self.fence = None;
        } else if calls.fence.is_empty() {
            calls.fence = language;
        }
    }

    /// Takes note of the fences and backticks in what was rejected as a call: the text may have quoted it.
    pub(super) fn pass_code(&mut self, text: &str) {
        if self.calls.as_ref().is_none_or(|calls| !calls.detector.is_auto()) {
            return;
        }
        let (lines, last) = text.rsplit_once('\n').map_or((None, text), |(lines, last)| (Some(lines), last));
        for (number, line) in lines.into_iter().flat_map(|lines| lines.split('\n')).enumerate() {
            // The first one goes on after other text.
            let fence = if number == 0 { None } else { OpenFence::at_start(line) };
            let fence = fence.or_else(|| {
                let mut backticks = Backticks::default();
                backticks.add(line.as_bytes());
                backticks.open_fence()
            });
            fence.into_iter().for_each(|fence| self.add_code_fence(fence));
        }
        self.add_backticks(last.as_bytes());
    }

    /// The most bytes after this offset that tell whether it is in inline code: what is beyond the limit of the line has
    /// not arrived in all chunks.
    fn max_rest(&self, end: u64) -> usize {
        let max = (self.counted_from + self.max_bytes()).saturating_sub(end);
        usize::try_from(max).unwrap_or(usize::MAX).min(MAX_CODE)
    }

    /// Whether the call that ends at `end`, before `rest`, is quoted; `None` if more text is needed.
    pub(super) fn is_quoted(&mut self, format: usize, end: u64, rest: &str, is_end: bool) -> Option<bool> {
        let is_auto = self.calls.as_ref().is_some_and(|calls| calls.detector.is_auto());
        if is_auto && self.is_in_code_block(Some(format)) {
            return Some(true);
        }
        match self.open_code() {
            Some(_) => self.closes_code(end, rest.as_bytes(), is_end),
            None => Some(false),
        }
    }

    /// The backticks before the text on this line, if it may be in inline code.
    fn open_code(&self) -> Option<Backticks> {
        self.calls.as_ref()?.open_code(self.line.start)
    }

    /// Whether the open code span closes in the text from `end` on, of which `rest` has arrived. `None` if more is needed.
    fn closes_code(&mut self, end: u64, rest: &[u8], is_end: bool) -> Option<bool> {
        let max = self.max_rest(end);
        let is_end = is_end || rest.len() >= max;
        self.calls.as_mut()?.backticks.1.closes(end, &rest[..rest.len().min(max)], is_end)
    }

    /// Whether a value that begins on this line may be in inline code, which began before it.
    pub(in crate::records::scanner) fn may_be_in_code(&self) -> bool {
        self.open_code().is_some()
    }

    /// Whether the complete object may be in inline code. Code that began on an earlier line quotes only calls: other
    /// objects are records.
    pub(in crate::records::scanner) fn is_object_in_code(
        &self,
        cursor: &Cursor<'_>,
        (start, end): (u64, u64),
    ) -> bool {
        let Some(code) = self.open_code() else { return false };
        let tools = self.calls.as_ref().and_then(|calls| calls.detector.tools());
        let text = || cursor.text_between(cursor.index(start), cursor.index(end));
        !code.is_carried() || ToolCall::is_in(self.json.value(text()), tools)
    }

    /// Whether an object on this line may be in inline code that began on this line.
    pub(in crate::records::scanner) fn is_line_in_code(&self) -> bool {
        self.open_code().is_some_and(|code| !code.is_carried())
    }

    /// Counts the backticks in the text of a line.
    pub(in crate::records::scanner) fn add_backticks(&mut self, text: &[u8]) {
        let Some(calls) = &mut self.calls else { return };
        let (line, backticks) = &mut calls.backticks;
        if std::mem::replace(line, self.line.start) != self.line.start {
            *backticks = Backticks::default();
        }
        backticks.add(text);
    }

    /// Finds out whether the object that ends at `end` is in inline code. Returns whether the text is enough to
    /// decide.
    pub(in crate::records::scanner) fn look_for_code(
        &mut self,
        cursor: &Cursor<'_>,
        end: u64,
        is_end: bool,
    ) -> bool {
        let max = self.max_rest(end);
        let (rest, is_bad) = cursor.valid_from(cursor.index(end), max);
        let is_code = self.closes_code(end, rest, is_end || is_bad);
        if let Some(calls) = &mut self.calls {
            calls.object_in_code = is_code == Some(true);
        }
        is_code.is_some()
    }

    /// Passes a complete call that is not taken as text, with a note if it may have been meant.
    pub(super) fn pass_call(&mut self, text: &str, from: u64, call: &CallText, why: &'static str) -> Step {
        self.pass_lines(text, from, 0, call.start);
        let span = Span::new(from + call.start as u64, from + call.end as u64);
        let (line, column) = (self.line.number, self.line.column(span.start));
        self.pass_lines(text, from, call.start, call.end);
        let json = call.json.as_deref().unwrap_or(&text[call.start..call.end]);
        let is_meant = self.json.uncounted(|parser| parse(parser, json))
            && self.calls.as_ref()?.detector.may_have_tool(self.json.value(json));
        if let Some(segments) = &mut self.segments {
            segments.text(span.end);
        }
        is_meant.then(|| self.report(Diagnostic::new(Code::CallInText, line, span, column, why)))
    }

    /// Passes an object as text, with a note if it may have been meant as a call.
    pub(in crate::records::scanner) fn pass_object(&mut self, text: &str, span: Span, is_quoted: bool) {
        self.multiline.clear();
        self.line.lead.add(b"{");
        let object: Value<'_> = self.json.value(text);
        let calls = self.calls.as_ref().filter(|calls| calls.detector.reads_objects());
        if calls.is_some_and(|calls| calls.detector.is_call_of_tool(object)) {
            let why = if is_quoted { QUOTED } else { UNSETTLED };
            let note = Diagnostic::new(Code::CallInText, self.place.line, span, self.place.column, why);
            self.late_reject = Some(Box::new(note));
        }
    }

    /// Whether the marker that begins the text is only mentioned: it is a tag inside a line, and neither arguments,
    /// nor the name of a defined tool, nor another marker follows. `None` if more text is needed.
    pub(super) fn is_mention(&self, text: &str, start: u64, is_end: bool) -> Option<bool> {
        let is_auto = |calls: &Calls| calls.detector.is_auto() && calls.detector.tools().is_some();
        let Some(calls) = self.calls.as_ref().filter(|calls| is_auto(calls)) else { return Some(false) };
        let mut pairs = calls.detector.openers().pairs_at(text).peekable();
        let Some(len) = pairs.peek().map(|pair| pair.open.len()) else { return Some(false) };
        if self.line.first == Some(start) || pairs.any(|pair| pair.is_special) {
            return Some(false);
        }
        match content(calls, &text[len..], is_end) {
            None if !is_end => None,
            content => Some(content == Some(Content::Other)),
        }
    }

    /// Remembers the marker that begins the text, which no reader can read, if a pair of such markers is more
    /// than a mention. Returns whether the text is enough to decide.
    pub(super) fn remember_marker(&mut self, text: &str, start: u64, is_end: bool) -> bool {
        let is_line_start = self.line.first == Some(start);
        let is_in_code = self.may_be_in_code() || self.is_in_code_block(None);
        let (line, column) = (self.line.number, self.line.column(start));
        let Some(calls) = self.calls.as_mut().filter(|_| !is_in_code) else { return true };
        let pairs: Vec<&MarkerPair> = calls.detector.openers().pairs_at(text).collect();
        let Some(first) = pairs.first() else { return true };
        if !is_line_start && !pairs.iter().any(|pair| pair.is_special) {
            match content(calls, &text[first.open.len()..], is_end) {
                None if !is_end => return false,
                None | Some(Content::Other) => return true,
                Some(Content::Payload) => {}
            }
        }
        let closers = pairs.iter().map(|pair| pair.close.clone()).collect();
        let open = first.open.clone();
        calls.unclosed = Some(Unclosed { start, line, column, open, closers, is_line_start });
        true
    }

    /// Forgets the marker: a call follows it, so that it is text.
    pub(in crate::records::scanner) fn forget_marker(&mut self) {
        if let Some(calls) = &mut self.calls {
            calls.unclosed = None;
        }
    }

    /// Rejects what stands between a marker and the closer that begins the text, if no reader could read it.
    /// Returns where the text goes on.
    pub(super) fn reject_markers(&mut self, text: &str, start: u64) -> Option<(Outcome, u64)> {
        let calls = self.calls.as_mut()?;
        let unclosed = calls.unclosed.as_ref()?;
        let closer = unclosed.closers.iter().find(|closer| text.starts_with(closer.as_str()))?;
        let next = start + closer.len() as u64;
        let message = format!("no tool call can be read between `{}` and `{closer}`", unclosed.open);
        let span = Span::new(unclosed.start, next);
        let diagnostic = Diagnostic::new(Code::MalformedJson, unclosed.line, span, unclosed.column, message);
        calls.unclosed = None;
        self.line.is_markup_only = true;
        if let Some(segments) = &mut self.segments {
            segments.text(next);
        }
        Some((self.report(diagnostic), next))
    }

    /// Where the line of an open marker begins, which may be rejected with what follows.
    pub(in crate::records::scanner) fn unclosed_line(&self) -> Option<u64> {
        let unclosed = self.calls.as_ref()?.unclosed.as_ref()?;
        Some((unclosed.start + 1).saturating_sub(unclosed.column))
    }

    /// Rejects, at the end of the text, what follows a marker at the start of a line that nothing closes.
    pub(in crate::records::scanner) fn reject_unclosed_marker(&mut self, end: u64) -> Step {
        let unclosed = self.calls.as_mut()?.unclosed.take().filter(|unclosed| unclosed.is_line_start)?;
        let message = format!("the text ended after `{}`, and no tool call follows", unclosed.open);
        let span = Span::new(unclosed.start, end);
        if let Some(segments) = &mut self.segments {
            segments.text(end);
        }
        Some(self.report(Diagnostic::new(Code::Truncated, unclosed.line, span, unclosed.column, message)))
    }
}

/// The kind of text that follows a marker: a payload is something like arguments, the name of a tool or another marker.
/// `None` if more text is needed.
fn content(calls: &Calls, text: &str, is_end: bool) -> Option<Content> {
    let blanks = text.bytes().take(MAX_BLANKS).take_while(u8::is_ascii_whitespace).count();
    let rest = &text[blanks..];
    let openers = calls.detector.openers();
    if rest.starts_with('{') || openers.opens(rest) {
        return Some(Content::Payload);
    }
    let len = rest.find(|char: char| char.is_whitespace() || "<>{}[]()\"'=:".contains(char));
    let may_go_on = match len {
        None if rest.is_empty() => blanks < MAX_BLANKS,
        None => rest.len() < MAX_OPENER,
        Some(_) => !is_end && openers.may_open(rest),
    };
    match len {
        _ if may_go_on => None,
        Some(len) if calls.detector.has_tool(&rest[..len]) => Some(Content::Payload),
        _ => Some(Content::Other),
    }
}
