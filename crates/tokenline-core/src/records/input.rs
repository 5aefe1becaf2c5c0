//! The input of the decoder: bytes, or text that is known to be UTF-8.

use std::ops::Range;

use super::carry::incomplete_suffix;
use super::cursor::Cursor;

/// The longest chunk that is treated as a token.
pub(super) const TOKEN_BYTES: usize = 16;

/// A chunk of the input. Text is never checked again.
pub(super) trait Input<'i>: Copy {
    fn bytes(self) -> &'i [u8];

    fn slice(self, range: Range<usize>) -> Self;

    /// The text of these bytes, if they are UTF-8.
    fn text(self, range: Range<usize>) -> Option<&'i str>;

    /// The number of bytes at the end that belong to an incomplete character.
    fn incomplete_len(self) -> usize;

    /// A cursor over the input, which has no incomplete character.
    fn cursor(self, base: u64) -> Cursor<'i>;

    fn from(self, index: usize) -> Self {
        self.slice(index..self.bytes().len())
    }
}

impl<'i> Input<'i> for &'i [u8] {
    #[inline(always)]
    fn bytes(self) -> &'i [u8] {
        self
    }

    #[inline(always)]
    fn slice(self, range: Range<usize>) -> Self {
        &self[range]
    }

    #[inline(always)]
    fn text(self, range: Range<usize>) -> Option<&'i str> {
        simdutf8::basic::from_utf8(&self[range]).ok()
    }

    #[inline(always)]
    fn incomplete_len(self) -> usize {
        incomplete_suffix(self)
    }

    #[inline(always)]
    fn cursor(self, base: u64) -> Cursor<'i> {
        Cursor::unchecked(self, base)
    }
}

impl<'i> Input<'i> for &'i str {
    #[inline(always)]
    fn bytes(self) -> &'i [u8] {
        self.as_bytes()
    }

    #[inline(always)]
    fn slice(self, range: Range<usize>) -> Self {
        &self[range]
    }

    #[inline(always)]
    fn text(self, range: Range<usize>) -> Option<&'i str> {
        Some(&self[range])
    }

    #[inline(always)]
    fn incomplete_len(self) -> usize {
        0
    }

    #[inline(always)]
    fn cursor(self, base: u64) -> Cursor<'i> {
        Cursor::text(self, base)
    }
}

/// The text before the first byte that is not UTF-8.
#[cold]
pub(super) fn valid_prefix(bytes: &[u8]) -> &str {
    bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid())
}

/// A chunk of bytes, checked to be UTF-8 once, for [`RecordDecoder::next_event`](crate::RecordDecoder::next_event).
#[derive(Clone, Copy, Debug)]
pub struct CheckedChunk<'a> {
    pub(super) text: &'a str,
    /// The bytes from the first one on that is not UTF-8, or not yet.
    pub(super) rest: &'a [u8],
}

impl<'a> CheckedChunk<'a> {
    /// Checks a chunk, which may begin or end inside a character.
    #[must_use]
    #[inline]
    pub fn new(chunk: &'a [u8]) -> Self {
        if chunk.len() <= TOKEN_BYTES {
            // Checked faster as it is read.
            return Self { text: "", rest: chunk };
        }
        let complete = &chunk[..chunk.len() - incomplete_suffix(chunk)];
        let text = simdutf8::basic::from_utf8(complete).unwrap_or_else(|_| valid_prefix(chunk));
        Self { text, rest: &chunk[text.len()..] }
    }

    /// How many bytes are not consumed yet.
    #[must_use]
    pub fn len(&self) -> usize {
        self.text.len() + self.rest.len()
    }

    /// Whether all bytes are consumed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.rest.is_empty()
    }
}

impl<'a> From<&'a str> for CheckedChunk<'a> {
    fn from(text: &'a str) -> Self {
        Self { text, rest: &[] }
    }
}
