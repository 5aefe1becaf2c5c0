//! The state of the line being read.

use crate::diagnostic::NO_RECORD;
use crate::{Code, Diagnostic, Recoveries, Recovery, Span};

/// The line being read, and what to report when it ends.
#[derive(Debug)]
pub(super) struct Line {
    /// Counted from 1.
    pub(super) number: u64,
    /// Offset in the stream of its first byte.
    pub(super) start: u64,
    /// Offset of the first byte that can be text: the start of the line, or the byte after a closing tag.
    pub(super) text_start: u64,
    /// Offset of its first byte that is not white space.
    pub(super) first: Option<u64>,
    /// Whether it starts with a code fence.
    pub(super) has_fence: bool,
    /// Whether the fence ends the open one, if nothing else is on the line.
    pub(super) may_close_fence: bool,
    /// The number of open brackets in its text.
    pub(super) prose_depth: u32,
    /// The line holds only markup; do not report it as prose.
    pub(super) is_markup_only: bool,
    /// Whether it yielded a record.
    pub(super) has_record: bool,
    /// Whether it belongs to a rejected value that began on an earlier line.
    pub(super) in_rejected_region: bool,
    /// Whether the rest of it is dropped as it arrives.
    pub(super) is_dropped: bool,
    /// The text before the first opener.
    pub(super) lead: Lead,
    fault: Option<Box<Fault>>,
}

/// Why something on the line is rejected.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) code: Code,
    /// Where the rejected value starts.
    pub(super) start: u64,
    /// The byte at fault.
    pub(super) at: u64,
    /// Where it ends; at the end of the line if unknown.
    pub(super) end: Option<u64>,
    pub(super) message: String,
    /// The line and column of an array without objects, which counts as one only if nothing else is on its
    /// lines.
    pub(super) alone: Option<(u64, u64)>,
}

/// The kind of a line, for text and markup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineKind {
    OpensFence {
        start: u64,
    },
    ClosesFence,
    Blank,
    /// It is not held.
    Dropped,
    Other,
}

/// The content of a code fence, by the word after its marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FenceKind {
    /// JSON, JSON Lines and similar: other text inside it is malformed.
    Json,
    /// Not specified.
    Plain,
    /// Another language.
    Other,
}

impl Line {
    pub(super) fn new(number: u64, start: u64) -> Self {
        Self {
            number,
            start,
            text_start: start,
            first: None,
            has_fence: false,
            may_close_fence: false,
            prose_depth: 0,
            is_markup_only: false,
            has_record: false,
            in_rejected_region: false,
            is_dropped: false,
            lead: Lead::default(),
            fault: None,
        }
    }

    /// Whether it is the line of a fence that opens.
    pub(super) fn opens_fence(&self) -> bool {
        self.has_fence && !self.may_close_fence
    }

    /// The column of an offset in the stream: bytes, from 1.
    pub(super) fn column(&self, offset: u64) -> u64 {
        offset - self.start + 1
    }

    /// White space before its text, in bytes.
    pub(super) fn indent(&self) -> u64 {
        self.first.map_or(0, |first| first - self.text_start)
    }

    /// Notes a fault, if it is the first.
    pub(super) fn add_fault(&mut self, fault: Fault) {
        if self.fault.as_ref().is_none_or(|first| first.alone.is_some()) {
            self.fault = Some(Box::new(fault));
        }
    }

    /// Notes that the rest of the line is dropped: it belongs to the first fault.
    pub(super) fn drop_rest(&mut self) {
        if let Some(fault) = &mut self.fault {
            fault.end = None;
        }
    }

    /// Notes text on the line: an array without objects that ends on it then does not stand alone.
    #[inline]
    pub(super) fn add_text(&mut self, text: &[u8]) {
        if self.opens_fence() {
            self.lead.add_word(text);
        } else {
            self.lead.add(text);
        }
        if self.fault.is_some() {
            self.drop_alone(text);
        }
    }

    #[cold]
    fn drop_alone(&mut self, text: &[u8]) {
        if text.iter().any(|byte| !byte.is_ascii_whitespace() && *byte != b',') {
            let Some(fault) = self.fault.take_if(|fault| fault.alone.is_some()) else { return };
            if fault.alone.is_some_and(|(line, _)| line < self.number) {
                // Text on several lines.
                let message = NO_RECORD.to_owned();
                self.fault = Some(Box::new(Fault { code: Code::Prose, end: None, message, ..*fault }));
            }
        }
    }

    /// Notes where the value at fault ended, if its fault is the one to be reported.
    pub(super) fn end_fault(&mut self, start: u64, end: u64) -> bool {
        let fault = self.fault.as_mut().filter(|fault| fault.start == start);
        fault.map(|fault| fault.end.get_or_insert(end)).is_some()
    }

    /// Notes that the value at fault continues after all.
    pub(super) fn reopen_fault(&mut self, start: u64) -> bool {
        let fault = self.fault.as_mut().filter(|fault| fault.start == start);
        fault.map(|fault| fault.end = None).is_some()
    }

    /// Whether the line has no diagnostic if it ends now.
    pub(super) fn is_clean(&self) -> bool {
        self.fault.is_none()
    }

    /// Moves on to the line that starts at `next`; this one must be [clean](Self::is_clean).
    #[inline]
    pub(super) fn end_clean(&mut self, next: u64) {
        debug_assert!(self.is_clean() && self.has_record);
        self.number += 1;
        self.start = next;
        self.text_start = next;
        self.first = None;
        self.has_fence = false;
        self.may_close_fence = false;
        self.prose_depth = 0;
        self.is_markup_only = false;
        self.has_record = false;
        self.in_rejected_region = false;
        self.lead = Lead::default();
    }

    /// Moves on to the line that starts at `next`, from the start of one that was a record and nothing else.
    #[inline]
    pub(super) fn pass_record(&mut self, next: u64) {
        self.number += 1;
        self.start = next;
        self.text_start = next;
    }

    /// Moves on to the line that starts at `next`, and returns this one.
    pub(super) fn go_on(&mut self, next: u64) -> Self {
        std::mem::replace(self, Self::new(self.number + 1, next))
    }

    pub(super) fn has_fault(&self) -> bool {
        self.fault.is_some()
    }

    /// The diagnostic for the line, if there is one; `end` is the end of its content.
    pub(super) fn diagnostic(self, end: u64) -> Option<Diagnostic> {
        let first = self.first.filter(|_| !self.in_rejected_region)?;
        let column = |offset: u64| offset - self.start + 1;
        match self.fault.filter(|fault| fault.alone.is_none() || !self.has_record) {
            Some(fault) => {
                let lost_to = fault.end.unwrap_or(end).max(fault.start);
                let message = match fault.code {
                    Code::LineTooLong => format!("{} ({} bytes)", fault.message, end - self.start),
                    _ => fault.message,
                };
                let span = Span::new(fault.start, lost_to);
                let (line, column) = fault.alone.unwrap_or_else(|| (self.number, column(fault.at)));
                Some(Diagnostic::new(fault.code, line, span, column, message))
            }
            None if !self.has_record && !self.is_markup_only => {
                let span = Span::new(first, end.max(first));
                Some(Diagnostic::prose(self.number, column(first), span))
            }
            None => None,
        }
    }

    /// Its kind, for text and markup.
    pub(super) fn kind(&self) -> LineKind {
        match self.first {
            _ if self.closes_fence() => LineKind::ClosesFence,
            _ if self.opens_fence() => LineKind::OpensFence { start: self.start },
            _ if self.is_dropped => LineKind::Dropped,
            None => LineKind::Blank,
            Some(_) => LineKind::Other,
        }
    }

    /// Whether it is only a code fence that ends the open one.
    pub(super) fn closes_fence(&self) -> bool {
        self.may_close_fence && self.lead.is_empty() && !self.has_record
    }

    /// The start of the rejected value, if there is one on the line.
    pub(super) fn fault_start(&self) -> Option<u64> {
        let fault = self.fault.as_ref().filter(|fault| fault.alone.is_none() && !fault.code.is_note());
        fault.map(|fault| fault.start)
    }

    /// The start of its first fault, also of one that may prove to be text.
    pub(super) fn first_fault(&self) -> Option<u64> {
        self.fault.as_ref().map(|fault| fault.start)
    }

    /// Whether a value on it was rejected and has ended.
    #[inline]
    pub(super) fn has_ended_fault(&self) -> bool {
        !self.in_rejected_region
            && self.fault.as_ref().is_some_and(|fault| fault.alone.is_none() && fault.end.is_some())
    }

    /// Takes the fault of that value.
    pub(super) fn take_ended_fault(&mut self) -> Option<Diagnostic> {
        let end = self.fault.as_ref()?.end?;
        let diagnostic = self.take_fault(end)?;
        self.is_markup_only = true;
        Some(diagnostic)
    }

    /// Takes a fault that is reported whatever else the line yields.
    pub(super) fn take_fault(&mut self, end: u64) -> Option<Diagnostic> {
        let fault = self.fault.take_if(|fault| fault.alone.is_none())?;
        let mut line = Self::new(self.number, self.start);
        (line.first, line.fault) = (self.first, Some(fault));
        line.diagnostic(end)
    }
}

/// The first bytes of a line's text without white space: enough to recognize a list marker.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lead {
    bytes: [u8; Self::LEN],
    /// One more than the capacity if the text is longer.
    len: u8,
    /// White space has followed, where only the first word counts.
    is_over: bool,
}

impl Lead {
    const LEN: usize = 8;

    #[inline]
    pub(super) fn add(&mut self, text: &[u8]) {
        // Kept in a register: a count in memory takes as long as everything else on a line of prose.
        let mut len = usize::from(self.len);
        for &byte in text {
            if len > Self::LEN {
                break;
            }
            if !byte.is_ascii_whitespace() {
                if let Some(slot) = self.bytes.get_mut(len) {
                    *slot = byte;
                }
                len += 1;
            }
        }
        self.len = len as u8;
    }

    /// Adds text of which only the first word counts, the language of a block of code.
    pub(super) fn add_word(&mut self, text: &[u8]) {
        for byte in text {
            if self.is_over || usize::from(self.len) > Self::LEN {
                break;
            }
            if byte.is_ascii_whitespace() {
                self.is_over = self.len > 0;
            } else {
                self.add(std::slice::from_ref(byte));
            }
        }
    }

    pub(super) fn is_empty(self) -> bool {
        self.len == 0
    }

    /// How a record after it was recovered.
    #[inline]
    pub(super) fn recovered(self) -> Recoveries {
        if self.is_empty() {
            return Recoveries::NONE;
        }
        Recoveries::NONE.with(if self.is_list_marker() { Recovery::ListMarker } else { Recovery::Prose })
    }

    /// Whether it may become a list marker.
    pub(super) fn may_be_list_marker(self) -> bool {
        let is_mark =
            |byte: &u8| matches!(byte, b'-' | b'*' | b'+' | b'(' | b')' | b'.' | b'0'..=b'9' | 0x80..);
        self.bytes.get(..usize::from(self.len)).is_some_and(|lead| lead.iter().all(is_mark))
    }

    pub(super) fn is_list_marker(self) -> bool {
        self.bytes.get(..usize::from(self.len)).is_some_and(is_list_marker)
    }

    /// Whether this text after the marker of a fence is the language `word`. Of a longer word, the first bytes count.
    pub(super) fn is_language(&self, word: &str) -> bool {
        let len = word.len().min(Self::LEN);
        usize::from(self.len) == word.len().min(Self::LEN + 1)
            && self.bytes[..len].eq_ignore_ascii_case(&word.as_bytes()[..len])
    }

    /// The kind of the fence after this text.
    pub(super) fn fence_kind(self) -> FenceKind {
        let word = &self.bytes[..usize::from(self.len).min(Self::LEN)];
        if word.windows(4).any(|part| part.eq_ignore_ascii_case(b"json")) {
            FenceKind::Json
        } else if word.is_empty() {
            FenceKind::Plain
        } else {
            FenceKind::Other
        }
    }
}

/// A bullet, or a number followed by a dot or a bracket.
fn is_list_marker(text: &[u8]) -> bool {
    match text {
        b"-" | b"*" | b"+" => true,
        [digits @ .., b'.' | b')'] => {
            let digits = digits.strip_prefix(b"(").unwrap_or(digits);
            !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
        }
        _ => text == "•".as_bytes(),
    }
}
