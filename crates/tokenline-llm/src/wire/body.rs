//! A body that is one JSON document.

use tokenline_core::{Limits, Span};

use super::element::{Element, ElementBuffer};

/// Collects a complete body.
#[derive(Debug)]
pub(crate) struct BodyDecoder {
    len: u64,
    buffer: ElementBuffer,
}

impl BodyDecoder {
    /// A decoder of a body that starts with `len` blank bytes.
    pub(crate) fn new(limits: &Limits, len: u64) -> Self {
        Self { len, buffer: ElementBuffer::new(limits.sse_event_bytes) }
    }

    /// Consumes all of the input.
    pub(crate) fn push(&mut self, input: &[u8]) {
        let blank = if self.buffer.is_blank() { blank_len(input) } else { 0 };
        self.buffer.push(&input[blank..]);
        self.len += input.len() as u64;
    }

    /// Ends the body.
    pub(crate) fn finish(&mut self) -> Option<Element<'_>> {
        (!self.buffer.is_blank()).then(|| self.buffer.element(&[], 1, Span::new(0, self.len)))
    }
}

/// The length of leading white space and byte order mark.
pub(crate) fn blank_len(input: &[u8]) -> usize {
    let is_blank = |byte: &&u8| byte.is_ascii_whitespace() || "\u{feff}".as_bytes().contains(byte);
    input.iter().take_while(is_blank).count()
}
