//! The elements of a JSON array that arrives in pieces.

use std::mem;

use memchr::memchr_iter;
use tokenline_core::{Code, Diagnostic, Limits, Origin, Span};

/// Finds the objects in the one array that a body is, each as soon as its brackets balance. What is
/// wrong inside one is for its decoder to say; what is no object is passed over.
#[derive(Debug)]
pub(super) struct ArrayDecoder {
    limit: usize,
    offset: u64,
    lines: u64,
    /// Brackets that are open, the array's own among them.
    depth: u64,
    in_string: bool,
    is_escaped: bool,
    /// Line and offset of the open object's first byte.
    start: Option<(u64, u64)>,
    /// The open object's bytes from earlier calls.
    buffer: Vec<u8>,
    /// The buffer was lent by the last call.
    is_lent: bool,
    is_too_large: bool,
}

/// An object of the array.
pub(super) struct Element<'a> {
    /// Its bytes, or that they are too many.
    pub(super) data: Result<&'a [u8], Diagnostic>,
    pub(super) line: u64,
    pub(super) span: Span,
}

/// Bytes that the buffer keeps between objects.
const KEEP: usize = 64 * 1024;

impl ArrayDecoder {
    /// A decoder at the array's bracket, of a body of which so many bytes and lines came before.
    pub(super) fn new(limits: &Limits, offset: u64, lines: u64) -> Self {
        Self {
            limit: limits.sse_event_bytes,
            offset,
            lines,
            depth: 0,
            in_string: false,
            is_escaped: false,
            start: None,
            buffer: Vec::new(),
            is_lent: false,
            is_too_large: false,
        }
    }

    /// Decodes up to the next object, or to the end of the input.
    pub(super) fn decode<'a>(&'a mut self, input: &'a [u8]) -> (usize, Option<Element<'a>>) {
        if mem::take(&mut self.is_lent) {
            self.buffer.clear();
            self.buffer.shrink_to(KEEP);
        }
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
                return (end, Some(self.element(&input[from..end], line, span)));
            }
        }
        self.lines += memchr_iter(b'\n', &input[counted..]).count() as u64;
        self.offset += input.len() as u64;
        if self.start.is_some() {
            self.keep(&input[from..]);
        }
        (input.len(), None)
    }

    /// Ends the body: the place of an object that it ended in.
    pub(super) fn finish(&mut self) -> Option<(u64, Span)> {
        self.start.take().map(|(line, start)| (line, Span::new(start, self.offset)))
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset
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

    fn keep(&mut self, bytes: &[u8]) {
        self.is_too_large |= self.buffer.len() + bytes.len() > self.limit;
        match self.is_too_large {
            true => self.buffer = Vec::new(),
            false => self.buffer.extend_from_slice(bytes),
        }
    }

    fn element<'a>(&'a mut self, last: &'a [u8], line: u64, span: Span) -> Element<'a> {
        let is_too_large = mem::take(&mut self.is_too_large) || span.len() > self.limit as u64;
        self.is_lent = true;
        let data = if is_too_large {
            let (len, limit) = (span.len(), self.limit);
            let message =
                format!("an object of {len} bytes is larger than the limit of {limit} bytes; it was dropped");
            Err(Diagnostic::new(Code::RecordTooLarge, line, span, 1, message).with_origin(Origin::Wire))
        } else if self.buffer.is_empty() {
            Ok(last)
        } else {
            self.buffer.extend_from_slice(last);
            Ok(&self.buffer[..])
        };
        Element { data, line, span }
    }
}
