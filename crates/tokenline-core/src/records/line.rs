//! What is known of the line being read.

use crate::{Code, Diagnostic, Recovered, Recovery, Span};

/// The line being read, and what to report of it when it ends.
#[derive(Debug)]
pub(super) struct Line {
    /// Counted from 1.
    pub(super) number: u64,
    /// Offset in the stream of its first byte.
    pub(super) start: u64,
    /// Offset of the first byte that can be text: its start, or what follows a closing tag.
    pub(super) text_start: u64,
    /// Offset of its first byte that is no white space.
    pub(super) first: Option<u64>,
    /// Whether it starts with a code fence.
    pub(super) has_fence: bool,
    /// Whether that ends the open fence, if nothing else stands on the line.
    pub(super) may_close_fence: bool,
    /// Brackets that are open in its text.
    pub(super) prose_depth: u32,
    /// The line holds only markup; do not report it as prose.
    pub(super) is_markup_only: bool,
    /// Whether it yielded a record.
    pub(super) has_record: bool,
    /// Whether it belongs to a rejected value that began on a line before it.
    pub(super) in_rejected_region: bool,
    /// What stands before the first opener.
    pub(super) lead: Lead,
    fault: Option<Fault>,
}

/// Why something on the line is rejected.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) code: Code,
    /// Where the rejected value starts.
    pub(super) start: u64,
    /// The byte at fault.
    pub(super) at: u64,
    /// Where it ends; the end of the line if that is not known.
    pub(super) end: Option<u64>,
    pub(super) message: String,
    /// Where an array is without objects, which is one only if nothing else stands on its lines: the line and column
    /// it begins at.
    pub(super) alone: Option<(u64, u64)>,
}

/// What a line is to the text beside records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineKind {
    OpensFence,
    ClosesFence,
    Blank,
    Other,
}

/// What a code fence is around, by the word behind its marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FenceKind {
    /// JSON, JSON Lines and the like: what is no JSON in there is malformed.
    Json,
    /// It does not say.
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
            lead: Lead::default(),
            fault: None,
        }
    }

    /// The place in the line of an offset in the stream: bytes, counted from 1.
    pub(super) fn column(&self, offset: u64) -> u64 {
        offset - self.start + 1
    }

    /// White space before its text, in bytes.
    pub(super) fn indent(&self) -> u64 {
        self.first.map_or(0, |first| first - self.text_start)
    }

    /// Notes a fault, unless there is one: the first counts.
    pub(super) fn add_fault(&mut self, fault: Fault) {
        if self.fault.as_ref().is_none_or(|first| first.alone.is_some()) {
            self.fault = Some(fault);
        }
    }

    /// There is something else on the line than the array without objects that it began with.
    #[inline]
    pub(super) fn add_text(&mut self, text: &[u8]) {
        self.lead.add(text);
        if self.fault.is_some() {
            self.drop_alone(text);
        }
    }

    #[cold]
    fn drop_alone(&mut self, text: &[u8]) {
        if text.iter().any(|byte| !byte.is_ascii_whitespace() && *byte != b',') {
            self.fault.take_if(|fault| fault.alone.is_some());
        }
    }

    /// Notes where the value at fault ended, if its fault is the one that is reported.
    pub(super) fn end_fault(&mut self, start: u64, end: u64) -> bool {
        let fault = self.fault.as_mut().filter(|fault| fault.start == start);
        fault.map(|fault| fault.end.get_or_insert(end)).is_some()
    }

    /// Notes that the value at fault goes on after all.
    pub(super) fn reopen_fault(&mut self, start: u64) -> bool {
        let fault = self.fault.as_mut().filter(|fault| fault.start == start);
        fault.map(|fault| fault.end = None).is_some()
    }

    /// Whether the line has no diagnostic if it ends now.
    pub(super) fn is_clean(&self) -> bool {
        self.fault.is_none()
    }

    /// Goes on to the line that starts at `next`; this one is [clean](Self::is_clean).
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

    /// Goes on to the line that starts at `next`, and gives this one away.
    pub(super) fn go_on(&mut self, next: u64) -> Self {
        std::mem::replace(self, Self::new(self.number + 1, next))
    }

    /// The diagnostic for the line, if there is one; `end` is where its content ends.
    pub(super) fn diagnostic(self, end: u64) -> Option<Diagnostic> {
        let first = self.first.filter(|_| !self.in_rejected_region)?;
        match self.fault.filter(|fault| fault.alone.is_none() || !self.has_record) {
            Some(fault) => {
                let lost_to = fault.end.unwrap_or(end).max(fault.start);
                let message = match fault.code {
                    Code::LineTooLong => format!("{} ({} bytes)", fault.message, end - self.start),
                    _ => fault.message,
                };
                let span = Span::new(fault.start, lost_to);
                let (line, column) = fault.alone.unwrap_or_else(|| (self.number, fault.at - self.start + 1));
                Some(Diagnostic::new(fault.code, line, span, column, message))
            }
            None if !self.has_record && !self.is_markup_only => {
                let span = Span::new(first, end.max(first));
                let column = first - self.start + 1;
                Some(Diagnostic::new(Code::Prose, self.number, span, column, "text without a record"))
            }
            None => None,
        }
    }

    /// What it is to the text beside records.
    pub(super) fn kind(&self) -> LineKind {
        match self.first {
            _ if self.closes_fence() => LineKind::ClosesFence,
            _ if self.has_fence && !self.may_close_fence => LineKind::OpensFence,
            None => LineKind::Blank,
            Some(_) => LineKind::Other,
        }
    }

    /// Whether it is nothing but a code fence that ends one.
    pub(super) fn closes_fence(&self) -> bool {
        self.may_close_fence && self.lead.is_empty() && !self.has_record
    }

    /// Where the rejected value begins, if there is one on it.
    pub(super) fn fault_start(&self) -> Option<u64> {
        self.fault.as_ref().filter(|fault| fault.alone.is_none()).map(|fault| fault.start)
    }

    /// Whether a value on it is rejected and over.
    #[inline]
    pub(super) fn has_ended_fault(&self) -> bool {
        !self.in_rejected_region
            && self.fault.as_ref().is_some_and(|fault| fault.alone.is_none() && fault.end.is_some())
    }

    /// Takes out the fault of that value.
    pub(super) fn take_ended_fault(&mut self) -> Option<Diagnostic> {
        let end = self.fault.as_ref()?.end?;
        let diagnostic = self.take_fault(end)?;
        self.is_markup_only = true;
        Some(diagnostic)
    }

    /// Takes out the fault that is to be reported whatever else the line yields.
    pub(super) fn take_fault(&mut self, end: u64) -> Option<Diagnostic> {
        let fault = self.fault.take_if(|fault| fault.alone.is_none())?;
        let mut line = Self::new(self.number, self.start);
        (line.first, line.fault) = (self.first, Some(fault));
        line.diagnostic(end)
    }
}

/// The first bytes of a line's text, white space apart: enough to tell a list's marker.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lead {
    bytes: [u8; Self::LEN],
    /// One more than there is room for if it is longer.
    len: u8,
}

impl Lead {
    const LEN: usize = 8;

    #[inline]
    pub(super) fn add(&mut self, text: &[u8]) {
        // In a register: a count in memory takes as long as all else on a line of prose.
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

    pub(super) fn is_empty(self) -> bool {
        self.len == 0
    }

    /// What a record behind it was recovered from.
    #[inline]
    pub(super) fn recovered(self) -> Recovered {
        if self.is_empty() {
            return Recovered::NONE;
        }
        Recovered::NONE.with(if self.is_list_marker() { Recovery::ListMarker } else { Recovery::Prose })
    }

    /// Whether a list marker may come of it.
    pub(super) fn may_be_list_marker(self) -> bool {
        let is_mark =
            |byte: &u8| matches!(byte, b'-' | b'*' | b'+' | b'(' | b')' | b'.' | b'0'..=b'9' | 0x80..);
        self.bytes.get(..usize::from(self.len)).is_some_and(|lead| lead.iter().all(is_mark))
    }

    pub(super) fn is_list_marker(self) -> bool {
        self.bytes.get(..usize::from(self.len)).is_some_and(is_list_marker)
    }

    /// What a fence is around that this stands behind.
    pub(super) fn fence_kind(self) -> FenceKind {
        let word = &self.bytes[..usize::from(self.len).min(Self::LEN)];
        match word.windows(4).any(|part| part.eq_ignore_ascii_case(b"json")) {
            true => FenceKind::Json,
            false if word.is_empty() => FenceKind::Plain,
            false => FenceKind::Other,
        }
    }
}

/// A bullet, or a number with a dot or a bracket behind it.
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
