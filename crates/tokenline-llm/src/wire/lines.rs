//! Lines that arrive in chunks, each of them an event.

use std::mem;

use memchr::memchr;
use tokenline_core::{Limits, Span};

use super::element::{Element, ElementBuffer};

/// Splits a stream into lines. Blank lines are skipped.
#[derive(Debug)]
pub(crate) struct LineDecoder {
    offset: u64,
    lines: u64,
    /// The offset of the open line.
    start: u64,
    buffer: ElementBuffer,
}

impl LineDecoder {
    /// A decoder at the start of a stream.
    pub(crate) fn new(limits: &Limits) -> Self {
        Self { offset: 0, lines: 0, start: 0, buffer: ElementBuffer::new(limits.sse_line_bytes) }
    }

    /// Decodes up to the next line that is not blank, or to the end of the input.
    pub(crate) fn decode<'a>(&'a mut self, input: &'a [u8]) -> (usize, Option<Element<'a>>) {
        self.buffer.release();
        let mut from = 0;
        while let Some(len) = memchr(b'\n', &input[from..]) {
            let (line, end) = (from..from + len, from + len + 1);
            let start = mem::replace(&mut self.start, self.offset + end as u64);
            self.lines += 1;
            if !(self.buffer.is_blank() && input[line.clone()].trim_ascii().is_empty()) {
                let span = Span::new(start, self.offset + line.end as u64);
                self.offset += end as u64;
                return (end, Some(self.buffer.element(&input[line], self.lines, span)));
            }
            self.buffer.clear();
            from = end;
        }
        self.buffer.push(&input[from..]);
        self.offset += input.len() as u64;
        (input.len(), None)
    }

    /// Ends the stream. Returns the unterminated last line, which may be incomplete.
    pub(crate) fn finish(&mut self) -> Option<Element<'_>> {
        self.buffer.release();
        let span = Span::new(self.start, self.offset);
        (!self.buffer.is_blank()).then(|| self.buffer.element(&[], self.lines + 1, span))
    }
}
