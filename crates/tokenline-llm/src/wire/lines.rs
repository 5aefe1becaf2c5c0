//! Lines that arrive in pieces, each of which is an event.

use std::mem;

use memchr::memchr;
use tokenline_core::{Limits, Span};

use super::element::{Element, Kept};

/// Splits a stream into lines. Blank ones are passed over.
#[derive(Debug)]
pub(crate) struct LineDecoder {
    offset: u64,
    lines: u64,
    /// Where the open line begins.
    start: u64,
    kept: Kept,
}

impl LineDecoder {
    /// A decoder at the start of a stream.
    pub(crate) fn new(limits: &Limits) -> Self {
        Self { offset: 0, lines: 0, start: 0, kept: Kept::new(limits.sse_line_bytes) }
    }

    /// Decodes up to the next line that is not blank, or to the end of the input.
    pub(crate) fn decode<'a>(&'a mut self, input: &'a [u8]) -> (usize, Option<Element<'a>>) {
        self.kept.forget();
        let mut from = 0;
        while let Some(len) = memchr(b'\n', &input[from..]) {
            let (line, end) = (from..from + len, from + len + 1);
            let start = mem::replace(&mut self.start, self.offset + end as u64);
            self.lines += 1;
            if !(self.kept.is_blank() && input[line.clone()].trim_ascii().is_empty()) {
                let span = Span::new(start, self.offset + line.end as u64);
                self.offset += end as u64;
                return (end, Some(self.kept.element(&input[line], self.lines, span)));
            }
            self.kept.clear();
            from = end;
        }
        self.kept.push(&input[from..]);
        self.offset += input.len() as u64;
        (input.len(), None)
    }

    /// Ends the stream: the line that it ended in, which may not be whole.
    pub(crate) fn finish(&mut self) -> Option<Element<'_>> {
        self.kept.forget();
        let span = Span::new(self.start, self.offset);
        (!self.kept.is_blank()).then(|| self.kept.element(&[], self.lines + 1, span))
    }
}
