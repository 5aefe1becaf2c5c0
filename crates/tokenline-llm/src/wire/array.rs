//! Elements of a JSON array that arrives in chunks.

use memchr::memchr_iter;
use tokenline_core::{Limits, Span};

use super::element::{Element, ElementBuffer};

/// Finds the elements of a body that is one array, each as soon as its brackets balance. Errors inside an element, and
/// elements that are not objects, are left to its decoder.
#[derive(Debug)]
pub(crate) struct ArrayDecoder {
    offset: u64,
    lines: u64,
    /// Open brackets, including the array's own.
    depth: u64,
    in_string: bool,
    is_escaped: bool,
    /// Line and offset of the open element's first byte.
    start: Option<(u64, u64)>,
    /// Whether that begins with no bracket: it ends before a comma, or a bracket of the array or another element.
    is_scalar: bool,
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
            is_scalar: false,
            buffer: ElementBuffer::new(limits.sse_event_bytes),
        }
    }

    /// Decodes up to the next element, or to the end of the input.
    pub(crate) fn decode<'a>(&'a mut self, input: &'a [u8]) -> (usize, Option<Element<'a>>) {
        self.buffer.release();
        let mut from = 0;
        let mut counted = 0;
        for (at, &byte) in input.iter().enumerate() {
            let is_between = self.depth == 1 && !self.in_string;
            if is_between
                && self.start.is_none()
                && !matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b',' | b']')
            {
                self.lines += memchr_iter(b'\n', &input[counted..at]).count() as u64;
                counted = at;
                self.start = Some((self.lines + 1, self.offset + at as u64));
                self.is_scalar = !matches!(byte, b'{' | b'[');
                from = at;
            }
            let is_after_scalar = is_between && self.is_scalar && matches!(byte, b',' | b']' | b'{' | b'[');
            if !is_after_scalar {
                self.step(byte);
            }
            let is_last =
                self.depth == 1 && !self.is_scalar && !self.in_string && matches!(byte, b'}' | b']');
            if (is_last || is_after_scalar)
                && let Some((line, start)) = self.start.take()
            {
                let end = if is_after_scalar { at } else { at + 1 };
                self.is_scalar = false;
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
            b'}' if self.is_scalar => {}
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}
