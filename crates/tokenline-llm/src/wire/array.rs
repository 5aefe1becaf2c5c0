//! Elements of a JSON array that arrives in chunks.

use memchr::memchr_iter;
use tokenline_core::{Limits, Span};

use super::element::{Element, ElementBuffer};

/// Finds the objects in a body that is one array, each as soon as its brackets balance. Errors inside an object are
/// left to its decoder; other elements are skipped.
#[derive(Debug)]
pub(crate) struct ArrayDecoder {
    offset: u64,
    lines: u64,
    /// Open brackets, including the array's own.
    depth: u64,
    in_string: bool,
    is_escaped: bool,
    /// Line and offset of the open object's first byte.
    start: Option<(u64, u64)>,
    buffer: ElementBuffer,
}

impl ArrayDecoder {
    /// A decoder at the array's opening bracket, after `offset` bytes and `lines` line feeds.
    pub(crate) fn new(limits: &Limits, offset: u64, lines: u64) -> Self {
        Self {
            offset,
            lines,
            depth: 0,
            in_string: false,
            is_escaped: false,
            start: None,
            buffer: ElementBuffer::new(limits.sse_event_bytes),
        }
    }

    /// Decodes up to the next object, or to the end of the input.
    pub(crate) fn decode<'a>(&'a mut self, input: &'a [u8]) -> (usize, Option<Element<'a>>) {
        self.buffer.release();
        let mut from = 0;
        let mut counted = 0;
        for (at, &byte) in input.iter().enumerate() {
            if byte == b'{' && self.depth == 1 && !self.in_string {
                self.lines += memchr_iter(b'\n', &input[counted..at]).count() as u64;
                counted = at;
                self.start = Some((self.lines + 1, self.offset + at as u64));
                from = at;
            }
            self.step(byte);
            if self.depth == 1
                && matches!(byte, b'}' | b']')
                && !self.in_string
                && let Some((line, start)) = self.start.take()
            {
                let end = at + 1;
                self.lines += memchr_iter(b'\n', &input[counted..end]).count() as u64;
                self.offset += end as u64;
                let span = Span::new(start, self.offset);
                return (end, Some(self.buffer.element(&input[from..end], line, span)));
            }
        }
        self.lines += memchr_iter(b'\n', &input[counted..]).count() as u64;
        self.offset += input.len() as u64;
        if self.start.is_some() {
            self.buffer.push(&input[from..]);
        }
        (input.len(), None)
    }

    /// Ends the body. Returns the position of a truncated object.
    pub(crate) fn finish(&mut self) -> Option<(u64, Span)> {
        self.start.take().map(|(line, start)| (line, Span::new(start, self.offset)))
    }

    /// Tracks brackets and strings.
    fn step(&mut self, byte: u8) {
        match byte {
            _ if self.is_escaped => self.is_escaped = false,
            b'\\' if self.in_string => self.is_escaped = true,
            b'"' => self.in_string = !self.in_string,
            _ if self.in_string => {}
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}
