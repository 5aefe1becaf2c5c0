//! The earlier bytes of the open record, if it spans chunks of the input.

use memchr::memchr;

use super::input::{Input, valid_prefix};
use crate::Span;

/// Text kept from one chunk of the input to the next, checked to be UTF-8 as it is added.
///
/// Most records lie inside one chunk and are never carried. For the others, the carry holds everything from
/// the record's first byte to the end of its line, so that its text is contiguous.
#[derive(Debug, Default)]
pub(super) struct Carry {
    pub(super) text: String,
    /// Offset in the stream of the text's first byte.
    pub(super) base: u64,
    /// Index of the first byte of the text not yet read.
    pub(super) at: usize,
    /// The first bytes of a character that the end of the last chunk splits.
    incomplete: [u8; 4],
    incomplete_len: u8,
    /// A byte that is not UTF-8 follows the text.
    pub(super) ends_bad: bool,
    active: bool,
}

/// The capacity kept for the next line: one long line must not pin memory.
const KEEP: usize = 64 * 1024;

impl Carry {
    /// Whether decoding continues in the carry rather than in the input.
    pub(super) fn is_active(&self) -> bool {
        self.active
    }

    /// Whether it is active, and all its text has been read.
    #[inline]
    pub(super) fn is_all_read(&self) -> bool {
        self.active && self.at == self.text.len() && self.incomplete_len == 0 && !self.ends_bad
    }

    /// The number of bytes of an incomplete character at the end.
    pub(super) fn incomplete_len(&self) -> usize {
        usize::from(self.incomplete_len)
    }

    /// Starts to carry `open`, the checked bytes of the open record, and `incomplete`, the start of a character.
    pub(super) fn start(&mut self, open: &str, base: u64, incomplete: &[u8]) {
        self.text.push_str(open);
        self.base = base;
        self.at = open.len();
        self.incomplete[..incomplete.len()].copy_from_slice(incomplete);
        self.incomplete_len = incomplete.len() as u8;
        self.active = true;
    }

    /// Adds the bytes of the open line, including its newline. Returns how many bytes of the input it took;
    /// stops before a byte that is not UTF-8.
    pub(super) fn extend<'i>(&mut self, input: impl Input<'i>) -> usize {
        let Some(taken) = self.complete_character(input.bytes()) else {
            self.ends_bad = true;
            return 0;
        };
        if self.incomplete_len > 0 {
            return taken;
        }
        let mut piece = input.from(taken);
        if let Some(at) = memchr(b'\n', piece.bytes()) {
            piece = piece.slice(0..at + 1);
        }
        let bytes = piece.bytes();
        let (complete, incomplete) = bytes.split_at(bytes.len() - piece.incomplete_len());
        match piece.text(0..complete.len()) {
            Some(text) => self.text.push_str(text),
            None => {
                let valid = valid_prefix(complete);
                self.text.push_str(valid);
                self.ends_bad = true;
                return taken + valid.len();
            }
        }
        self.incomplete[..incomplete.len()].copy_from_slice(incomplete);
        self.incomplete_len = incomplete.len() as u8;
        taken + bytes.len()
    }

    /// Completes the split character. `None` if the next bytes do not continue it.
    fn complete_character(&mut self, input: &[u8]) -> Option<usize> {
        let mut taken = 0;
        while self.incomplete_len > 0 && self.incomplete_len() < width(self.incomplete[0]) {
            match input.get(taken) {
                None => return Some(taken),
                Some(&byte) if byte & 0xC0 == 0x80 => {
                    self.incomplete[self.incomplete_len()] = byte;
                    self.incomplete_len += 1;
                    taken += 1;
                }
                Some(_) => return None,
            }
        }
        if self.incomplete_len > 0 {
            // The first bytes of the invalid character are no longer in the input, but its line is discarded
            // anyway.
            let character = std::str::from_utf8(&self.incomplete[..self.incomplete_len()]).ok()?;
            self.text.push_str(character);
            self.incomplete_len = 0;
        }
        Some(taken)
    }

    /// The text of the open record that starts at this offset in the stream.
    #[inline(always)]
    pub(super) fn open_text(&self, start: u64) -> Option<&str> {
        let index = start.checked_sub(self.base)?;
        self.text.get(index as usize..).filter(|_| self.active)
    }

    /// The text between two offsets in the stream.
    #[inline]
    pub(super) fn text_of(&self, span: Span) -> &str {
        &self.text[(span.start - self.base) as usize..(span.end - self.base) as usize]
    }

    /// The text between two offsets in the stream, if it is still held.
    pub(super) fn get(&self, span: Span) -> Option<&str> {
        let from = span.start.checked_sub(self.base)?;
        self.text.get(from as usize..(span.end - self.base) as usize)
    }

    /// Offset in the stream of the first byte after the text.
    pub(super) fn end(&self) -> u64 {
        self.base + self.text.len() as u64
    }

    /// Drops the text before an offset in the stream. All text must have been read.
    pub(super) fn drop_before(&mut self, offset: u64) {
        let index = (offset - self.base) as usize;
        if index > 0 {
            self.text.drain(..index);
            self.base = offset;
            self.at = self.text.len();
        }
    }

    /// Moves past the invalid bytes at the end of the text.
    pub(super) fn end_gap(&mut self) {
        (self.incomplete_len, self.ends_bad) = (0, false);
    }

    /// Gives back the memory of a long line that is over. Not as soon as it ends: that would delay its record.
    #[inline]
    pub(super) fn shrink(&mut self) {
        if self.text.capacity() > KEEP && !self.active {
            self.text.shrink_to(KEEP);
        }
    }

    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.at = 0;
        self.incomplete_len = 0;
        self.ends_bad = false;
        self.active = false;
    }
}

/// The number of bytes at the end that belong to an incomplete character.
#[inline]
pub(super) fn incomplete_suffix(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let byte = bytes[bytes.len() - back];
        if byte < 0x80 {
            return 0;
        }
        if byte >= 0xC0 {
            return if width(byte) > back { back } else { 0 };
        }
    }
    0
}

/// The length of the character that starts with this byte; 1 if no character does.
fn width(first: u8) -> usize {
    match first {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => 1,
    }
}
