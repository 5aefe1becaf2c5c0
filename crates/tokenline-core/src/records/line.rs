//! What is known of the line being read.

use crate::{Code, Diagnostic, Span};

/// The line being read, and what to say of it when it ends.
#[derive(Debug)]
pub(super) struct Line {
    /// Counted from 1.
    pub(super) number: u64,
    /// Offset in the stream of its first byte.
    pub(super) start: u64,
    /// Offset of its first byte that is no white space.
    pub(super) first: Option<u64>,
    /// Whether it starts with a code fence.
    pub(super) fence: bool,
    /// Whether it yielded a record.
    pub(super) has_record: bool,
    /// Whether it belongs to a lost value that began on a line before it.
    pub(super) inside: bool,
    fault: Option<Fault>,
}

/// Why something on the line is not delivered.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) code: Code,
    /// Where the lost value starts.
    pub(super) start: u64,
    /// The byte at fault.
    pub(super) at: u64,
    /// Where the lost value ends; the end of the line if that is not known.
    pub(super) end: Option<u64>,
    pub(super) message: String,
    /// Whether it is reported even if the line yields a record: it was more than braces in prose.
    pub(super) is_data: bool,
}

impl Line {
    pub(super) fn new(number: u64, start: u64) -> Self {
        Self { number, start, first: None, fence: false, has_record: false, inside: false, fault: None }
    }

    /// The place in the line of an offset in the stream: bytes, counted from 1.
    pub(super) fn column(&self, offset: u64) -> u64 {
        offset - self.start + 1
    }

    /// Notes a fault. One diagnostic a line: the first that is about data, else the first.
    pub(super) fn add_fault(&mut self, fault: Fault) {
        match &self.fault {
            Some(first) if first.is_data || !fault.is_data => {}
            _ => self.fault = Some(fault),
        }
    }

    /// Says where the value at fault ended.
    pub(super) fn end_fault(&mut self, start: u64, end: u64) {
        if let Some(fault) = self.fault.as_mut().filter(|fault| fault.start == start) {
            fault.end.get_or_insert(end);
        }
    }

    /// Whether nothing is to be said of the line if it ends now.
    pub(super) fn is_clean(&self) -> bool {
        self.fault.is_none()
    }

    /// Goes on to the line that starts at `next`; there is nothing to be said of this one.
    #[inline]
    pub(super) fn end_clean(&mut self, next: u64) {
        debug_assert!(self.is_clean() && self.has_record);
        self.number += 1;
        self.start = next;
        self.first = None;
        self.fence = false;
        self.has_record = false;
    }

    /// Goes on to the line that starts at `next`; `end` is where this one's content ends. Returns
    /// what is to be said of it.
    pub(super) fn end(&mut self, end: u64, next: u64) -> Option<Diagnostic> {
        let line = std::mem::replace(self, Self::new(self.number + 1, next));
        let first = line.first.filter(|_| !line.inside)?;
        match line.fault {
            // Braces in prose are no loss where a record was found, or on a fence's own line.
            Some(fault) if fault.is_data || !(line.has_record || line.fence) => {
                let message = match fault.code {
                    Code::LineTooLong => format!("{} ({} bytes)", fault.message, end - line.start),
                    _ => fault.message,
                };
                let span = Span::new(fault.start, fault.end.unwrap_or(end).max(fault.start));
                Some(Diagnostic::new(fault.code, line.number, span, fault.at - line.start + 1, message))
            }
            None if !line.has_record && !line.fence => {
                let span = Span::new(first, end.max(first));
                let column = first - line.start + 1;
                Some(Diagnostic::new(Code::Prose, line.number, span, column, "text without a record"))
            }
            _ => None,
        }
    }
}
