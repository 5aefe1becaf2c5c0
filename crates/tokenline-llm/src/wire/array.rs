//! The elements of a JSON array that arrives in pieces.

use memchr::memchr_iter;
use tokenline_core::{Limits, Span};

use super::element::{Element, Kept};

/// Finds the objects in the one array that a body is, each as soon as its brackets balance. What is
/// wrong inside one is for its decoder to say; what is no object is passed over.
#[derive(Debug)]
pub(crate) struct ArrayDecoder {
    offset: u64,
    lines: u64,
    /// Brackets that are open, the array's own among them.
    depth: u64,
    in_string: bool,
    is_escaped: bool,
    /// Line and offset of the open object's first byte.
    start: Option<(u64, u64)>,
    kept: Kept,
}

impl ArrayDecoder {
    /// A decoder at the array's bracket, of a body of which so many bytes and lines came before.
    pub(crate) fn new(limits: &Limits, offset: u64, lines: u64) -> Self {
        Self {
            offset,
            lines,
            depth: 0,
            in_string: false,
            is_escaped: false,
            start: None,
            kept: Kept::new(limits.sse_event_bytes),
        }
    }

    /// Decodes up to the next object, or to the end of the input.
    pub(crate) fn decode<'a>(&'a mut self, input: &'a [u8]) -> (usize, Option<Element<'a>>) {
        self.kept.forget();
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
                return (end, Some(self.kept.element(&input[from..end], line, span)));
            }
        }
        self.lines += memchr_iter(b'\n', &input[counted..]).count() as u64;
        self.offset += input.len() as u64;
        if self.start.is_some() {
            self.kept.push(&input[from..]);
        }
        (input.len(), None)
    }

    /// Ends the body: the place of an object that it ended in.
    pub(crate) fn finish(&mut self) -> Option<(u64, Span)> {
        self.start.take().map(|(line, start)| (line, Span::new(start, self.offset)))
    }

    /// Follows brackets and strings.
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
