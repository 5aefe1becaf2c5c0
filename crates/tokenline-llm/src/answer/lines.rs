//! Lines that arrive in pieces, each of which is an event.

use std::mem;

use memchr::memchr;
use tokenline_core::{Code, Diagnostic, Limits, Origin, Span};

use super::array::Element;

/// Splits a stream into lines. Blank ones are passed over.
#[derive(Debug)]
pub(super) struct LineDecoder {
    limit: usize,
    offset: u64,
    lines: u64,
    /// Where the open line begins.
    start: u64,
    /// Its bytes from earlier calls.
    buffer: Vec<u8>,
    /// The buffer was lent by the last call.
    is_lent: bool,
    is_too_long: bool,
}

/// Bytes that the buffer keeps between lines.
const KEEP: usize = 64 * 1024;

impl LineDecoder {
    /// A decoder at the start of a stream.
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            limit: limits.sse_line_bytes,
            offset: 0,
            lines: 0,
            start: 0,
            buffer: Vec::new(),
            is_lent: false,
            is_too_long: false,
        }
    }

    /// Decodes up to the next line that is not blank, or to the end of the input.
    pub(super) fn decode<'a>(&'a mut self, input: &'a [u8]) -> (usize, Option<Element<'a>>) {
        self.forget();
        let mut from = 0;
        while let Some(len) = memchr(b'\n', &input[from..]) {
            let (line, end) = (from..from + len, from + len + 1);
            let is_blank = self.is_blank(&input[line.clone()]);
            let start = mem::replace(&mut self.start, self.offset + end as u64);
            self.lines += 1;
            if !is_blank {
                let span = Span::new(start, self.offset + line.end as u64);
                self.offset += end as u64;
                return (end, Some(self.element(&input[line], span)));
            }
            self.buffer.clear();
            from = end;
        }
        self.keep(&input[from..]);
        self.offset += input.len() as u64;
        (input.len(), None)
    }

    /// Ends the stream: the line that it ended in, which may not be whole.
    pub(super) fn finish(&mut self) -> Option<Element<'_>> {
        self.forget();
        if self.is_blank(&[]) {
            return None;
        }
        self.lines += 1;
        Some(self.element(&[], Span::new(self.start, self.offset)))
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    fn forget(&mut self) {
        if mem::take(&mut self.is_lent) {
            self.buffer.clear();
            self.buffer.shrink_to(KEEP);
        }
    }

    fn is_blank(&self, last: &[u8]) -> bool {
        !self.is_too_long && self.buffer.trim_ascii().is_empty() && last.trim_ascii().is_empty()
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.is_too_long |= self.buffer.len() + bytes.len() > self.limit;
        match self.is_too_long {
            true => self.buffer = Vec::new(),
            false => self.buffer.extend_from_slice(bytes),
        }
    }

    fn element<'a>(&'a mut self, last: &'a [u8], span: Span) -> Element<'a> {
        let line = self.lines;
        let is_too_long = mem::take(&mut self.is_too_long) || span.len() > self.limit as u64;
        self.is_lent = true;
        let data = if is_too_long {
            let (len, limit) = (span.len(), self.limit);
            let message =
                format!("a line of {len} bytes is longer than the limit of {limit} bytes; it was dropped");
            let column = limit as u64 + 1;
            Err(Diagnostic::new(Code::LineTooLong, line, span, column, message).with_origin(Origin::Wire))
        } else if self.buffer.is_empty() {
            Ok(last)
        } else {
            self.buffer.extend_from_slice(last);
            Ok(&self.buffer[..])
        };
        Element { data, line, span }
    }
}
