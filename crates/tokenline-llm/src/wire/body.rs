//! A body that is one JSON document.

use tokenline_core::{Limits, Span};

use super::element::{Element, Kept};

/// Gathers a whole body.
#[derive(Debug)]
pub(crate) struct BodyDecoder {
    len: u64,
    kept: Kept,
}

impl BodyDecoder {
    /// A decoder of a body of which so many blank bytes came before.
    pub(crate) fn new(limits: &Limits, len: u64) -> Self {
        Self { len, kept: Kept::new(limits.sse_event_bytes) }
    }

    /// Takes all of the input.
    pub(crate) fn push(&mut self, input: &[u8]) {
        let blank = if self.kept.is_blank() { blank_len(input) } else { 0 };
        self.kept.push(&input[blank..]);
        self.len += input.len() as u64;
    }

    /// Ends the body.
    pub(crate) fn finish(&mut self) -> Option<Element<'_>> {
        (!self.kept.is_blank()).then(|| self.kept.element(&[], 1, Span::new(0, self.len)))
    }
}

/// The length of the white space, and of the bytes of a byte order mark, that a body begins with.
pub(crate) fn blank_len(input: &[u8]) -> usize {
    let is_blank = |byte: &&u8| byte.is_ascii_whitespace() || "\u{feff}".as_bytes().contains(byte);
    input.iter().take_while(is_blank).count()
}
