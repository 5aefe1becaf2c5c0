//! Inline code: runs of backticks in the text of a paragraph.

use crate::records::line::Lead;

/// The runs of backticks in the text of a paragraph. As in CommonMark, code between two runs ends at one of the same
/// length, perhaps on a later line.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Backticks {
    /// The length of the run that begins a possible code span, or 0.
    open: u32,
    /// The length of the run that the text so far ends in.
    run: u32,
    /// The text after the run that begins a possible code span.
    after: Lead,
    /// Whether that run is on an earlier line.
    is_carried: bool,
    /// Whether nothing closes it: it is text.
    is_literal: bool,
    /// Offset of the run that closes it, once that is found.
    closed_at: u64,
}

impl Backticks {
    pub(super) fn add(&mut self, text: &[u8]) {
        let mut rest = text;
        while let Some(found) = memchr::memchr(b'`', rest) {
            if found > 0 {
                self.end_run();
                self.after.add_word(&rest[..found]);
            }
            let len = rest[found..].iter().take_while(|byte| **byte == b'`').count();
            self.run += len as u32;
            rest = &rest[found + len..];
            if !rest.is_empty() {
                self.end_run();
            }
        }
        if !rest.is_empty() {
            self.end_run();
            self.after.add_word(rest);
        }
    }

    /// Takes note of something other than a backtick.
    pub(super) fn end_run(&mut self) {
        match std::mem::take(&mut self.run) {
            0 => {}
            run if self.open == 0 || self.is_literal => *self = Self { open: run, ..Self::default() },
            run if self.open == run => self.open = 0,
            _ => {}
        }
    }

    /// Whether the next byte may be in a code span.
    pub(super) fn is_open(mut self) -> bool {
        self.end_run();
        self.open > 0 && !self.is_literal
    }

    /// Whether the open span began on an earlier line.
    pub(super) fn is_carried(self) -> bool {
        self.is_carried
    }

    /// Goes on with the next line.
    pub(super) fn pass_line(&mut self) {
        self.end_run();
        self.is_carried = self.open > 0;
    }

    /// Whether the open span closes in the text from this offset on, which may be its end. `None` if more is needed. Each
    /// run is looked for once.
    pub(super) fn closes(&mut self, from: u64, rest: &[u8], is_end: bool) -> Option<bool> {
        self.end_run();
        if from < self.closed_at {
            return Some(true);
        }
        let closed = closing_run(rest, self.open, is_end)?;
        match closed {
            Some(at) => self.closed_at = from + at as u64,
            None => self.is_literal = true,
        }
        Some(closed.is_some())
    }
}

/// The fence that a line ends in: it opens a block after a list marker, a quote or a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenFence {
    pub(super) marker: u8,
    pub(super) len: u8,
    pub(super) language: Lead,
}

impl OpenFence {
    /// The fence that a line begins with, perhaps in a quote. Code on one line is not a fence.
    pub(super) fn at_start(line: &str) -> Option<Self> {
        let text = line.trim_start_matches([' ', '\t', '>']).as_bytes();
        let marker = *text.first().filter(|byte| matches!(byte, b'`' | b'~'))?;
        let (run, rest) = text.split_at(text.iter().take_while(|byte| **byte == marker).count());
        if run.len() < 3 || (marker == b'`' && rest.contains(&b'`')) {
            return None;
        }
        let mut language = Lead::default();
        language.add_word(rest);
        Some(Self { marker, len: run.len().min(usize::from(u8::MAX)) as u8, language })
    }
}

impl Backticks {
    /// The fence in backticks that the line ends in, if there is one.
    pub(super) fn open_fence(mut self) -> Option<OpenFence> {
        self.end_run();
        let len = self.open.min(u32::from(u8::MAX)) as u8;
        (len >= 3).then_some(OpenFence { marker: b'`', len, language: self.after })
    }
}

/// Where the rest of a paragraph has a run of exactly `len` backticks. `None` if more text is needed.
fn closing_run(rest: &[u8], len: u32, is_end: bool) -> Option<Option<usize>> {
    let mut at = 0;
    let mut is_line_start = false;
    while let Some(found) = memchr::memchr2(b'`', b'\n', &rest[at..]) {
        let is_first = is_line_start && rest[at..at + found].trim_ascii().is_empty();
        at += found;
        if rest[at] == b'\n' {
            // A blank line, or a line that ends in a fence.
            if is_first || len >= 3 {
                return Some(None);
            }
            (at, is_line_start) = (at + 1, true);
            continue;
        }
        let run = rest[at..].iter().take_while(|byte| **byte == b'`').count();
        if is_first && run >= 3 {
            // A block of code.
            return Some(None);
        }
        if run as u32 == len && (is_end || at + run < rest.len()) {
            return Some(Some(at));
        }
        (at, is_line_start) = (at + run, false);
    }
    is_end.then_some(None)
}
