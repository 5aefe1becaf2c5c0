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

    /// Whether its bytes, at least one and at most [`TOKEN_BYTES`], are plain characters of a JSON string; only ASCII,
    /// unless it is text.
    fn is_plain_token(self) -> bool;

    /// Whether a token has no line feed; only ASCII, unless it is text.
    fn is_token_of_line(self) -> bool;

    /// Adds such a token.
    fn push_token(self, text: &mut String);

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

    #[inline(always)]
    fn is_plain_token(self) -> bool {
        no_byte(self, |word| word | specials(word))
    }

    #[inline(always)]
    fn is_token_of_line(self) -> bool {
        no_byte(self, |word| word | has(word, b'\n'))
    }

    /// Byte by byte, which is faster than a check and a copy for so few. All are ASCII; the mask lets the compiler know.
    #[inline(always)]
    fn push_token(self, text: &mut String) {
        text.reserve(self.len());
        for &byte in self {
            text.push(char::from(byte & 0x7F));
        }
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

    #[inline(always)]
    fn is_plain_token(self) -> bool {
        no_byte(self.as_bytes(), specials)
    }

    #[inline(always)]
    fn is_token_of_line(self) -> bool {
        no_byte(self.as_bytes(), |word| has(word, b'\n'))
    }

    #[inline(always)]
    fn push_token(self, text: &mut String) {
        text.push_str(self);
    }
}

/// Whether a test sets no high bit in the words that have the bytes of a token.
#[inline(always)]
fn no_byte(token: &[u8], test: impl Fn(u64) -> u64) -> bool {
    let bits = if let (Some(first), Some(last)) = (token.first_chunk(), token.last_chunk()) {
        test(u64::from_le_bytes(*first)) | test(u64::from_le_bytes(*last))
    } else {
        test(short_word(token))
    };
    bits & HIGH_BITS == 0
}

/// The bytes of a token shorter than 8 bytes, some of them twice.
#[inline(always)]
fn short_word(token: &[u8]) -> u64 {
    let (first, last) = if let (Some(first), Some(last)) = (token.first_chunk(), token.last_chunk()) {
        (u32::from_le_bytes(*first), u32::from_le_bytes(*last))
    } else {
        let (first, middle, last) = (token[0], token[token.len() / 2], token[token.len() - 1]);
        (u32::from_le_bytes([first, middle, last, last]), u32::from_le_bytes([last; 4]))
    };
    u64::from(first) << 32 | u64::from(last)
}

const LOW_BITS: u64 = u64::MAX / 0xFF;
const HIGH_BITS: u64 = LOW_BITS << 7;

/// Sets the high bit of the lowest byte that is less than `than`, if there is one. See Bit Twiddling Hacks, "Determine if a
/// word has a byte less than n".
#[inline(always)]
fn has_less(word: u64, than: u8) -> u64 {
    word.wrapping_sub(LOW_BITS * u64::from(than)) & !word
}

/// Sets the high bit of the lowest byte that is this one, if there is one.
#[inline(always)]
fn has(word: u64, byte: u8) -> u64 {
    has_less(word ^ (LOW_BITS * u64::from(byte)), 1)
}

/// Sets high bits if there is a byte that is not a plain character of a JSON string.
#[inline(always)]
fn specials(word: u64) -> u64 {
    has_less(word, 0x20) | has(word, b'"') | has(word, b'\\')
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
