//! The open record's earlier bytes, when it spans pieces of the input.

use memchr::memchr;

use crate::Span;

/// Text kept from one piece of the input to the next, checked to be UTF-8 as it is added.
///
/// Most records lie within one piece and never come here. For one that does not, the carry holds
/// everything from the record's first byte to the end of its line, so that its text is contiguous.
#[derive(Debug, Default)]
pub(super) struct Carry {
    pub(super) text: String,
    /// Offset in the stream of the text's first byte.
    pub(super) base: u64,
    /// Index of the first byte of the text not yet looked at.
    pub(super) at: usize,
    /// The first bytes of a character that the last piece cut.
    cut: [u8; 4],
    cut_len: usize,
    /// The text is followed by a byte that is not UTF-8.
    pub(super) ends_bad: bool,
    active: bool,
}

/// A carry larger than this is given back once it is empty: one long line must not pin memory.
const KEEP: usize = 64 * 1024;

impl Carry {
    /// Whether decoding goes on in the carry rather than in the input.
    pub(super) fn is_active(&self) -> bool {
        self.active
    }

    /// Whether it is active, and what is in it has been read.
    #[inline]
    pub(super) fn is_all_read(&self) -> bool {
        self.active && self.at == self.text.len() && self.cut_len == 0 && !self.ends_bad
    }

    /// How many bytes of a character are there that is cut at the end.
    pub(super) fn cut_character(&self) -> usize {
        self.cut_len
    }

    /// Starts to carry `open`, the checked bytes of the open record, and `cut`, the start of a
    /// character.
    pub(super) fn start(&mut self, open: &str, base: u64, cut: &[u8]) {
        self.text.push_str(open);
        self.base = base;
        self.at = open.len();
        self.cut[..cut.len()].copy_from_slice(cut);
        self.cut_len = cut.len();
        self.active = true;
    }

    /// Adds a token, if it is a few ASCII bytes of the open line; byte by byte, because that is
    /// faster than what is made for more. `Some(true)` if they change nothing inside a string.
    #[inline]
    pub(super) fn extend_token(&mut self, token: &[u8]) -> Option<bool> {
        let before = self.text.len();
        self.text.reserve(token.len());
        let mut is_plain = true;
        for &byte in token {
            if byte >= 0x80 || byte == b'\n' {
                self.text.truncate(before);
                return None;
            }
            is_plain &= byte >= 0x20 && byte != b'"' && byte != b'\\';
            self.text.push(char::from(byte));
        }
        Some(is_plain)
    }

    /// Adds what belongs to the open line, its line feed included. Returns how many bytes of the
    /// input were taken; stops before a byte that is not UTF-8.
    pub(super) fn extend(&mut self, input: &[u8]) -> usize {
        let Some(taken) = self.complete_cut_character(input) else {
            self.ends_bad = true;
            return 0;
        };
        if self.cut_len > 0 {
            return taken;
        }
        let rest = &input[taken..];
        let piece = match memchr(b'\n', rest) {
            Some(at) => &rest[..=at],
            None => rest,
        };
        let cut = incomplete_suffix(piece);
        let (whole, cut) = piece.split_at(piece.len() - cut);
        match simdutf8::compat::from_utf8(whole) {
            Ok(text) => self.text.push_str(text),
            Err(error) => {
                let valid = error.valid_up_to();
                self.text.push_str(simdutf8::basic::from_utf8(&whole[..valid]).unwrap_or_default());
                self.ends_bad = true;
                return taken + valid;
            }
        }
        self.cut[..cut.len()].copy_from_slice(cut);
        self.cut_len = cut.len();
        taken + piece.len()
    }

    /// Completes the cut character. `None` if the bytes that follow do not continue it.
    fn complete_cut_character(&mut self, input: &[u8]) -> Option<usize> {
        let mut taken = 0;
        while self.cut_len > 0 && self.cut_len < width(self.cut[0]) {
            match input.get(taken) {
                None => return Some(taken),
                Some(&byte) if byte & 0xC0 == 0x80 => {
                    self.cut[self.cut_len] = byte;
                    self.cut_len += 1;
                    taken += 1;
                }
                Some(_) => return None,
            }
        }
        if self.cut_len > 0 {
            // The bytes of a bad character are gone from the input: only its line is discarded.
            let character = std::str::from_utf8(&self.cut[..self.cut_len]).ok()?;
            self.text.push_str(character);
            self.cut_len = 0;
        }
        Some(taken)
    }

    /// The text of the open record that starts at this offset in the stream.
    pub(super) fn open_text(&self, start: u64) -> Option<&str> {
        let index = start.checked_sub(self.base)?;
        self.text.get(index as usize..).filter(|_| self.active)
    }

    /// The text between two offsets in the stream.
    #[inline]
    pub(super) fn text_of(&self, span: Span) -> &str {
        &self.text[(span.start - self.base) as usize..(span.end - self.base) as usize]
    }

    /// The text between two offsets in the stream, if it is here.
    pub(super) fn get(&self, span: Span) -> Option<&str> {
        let from = span.start.checked_sub(self.base)?;
        self.text.get(from as usize..(span.end - self.base) as usize)
    }

    /// Offset in the stream of the first byte after the text.
    pub(super) fn end(&self) -> u64 {
        self.base + self.text.len() as u64
    }

    /// Drops the text before an offset in the stream; all text is read.
    pub(super) fn drop_before(&mut self, offset: u64) {
        let index = (offset - self.base) as usize;
        if index > 0 {
            self.text.drain(..index);
            self.base = offset;
            self.at = self.text.len();
        }
    }

    /// What the text ended with that is not UTF-8 is passed.
    pub(super) fn end_gap(&mut self) {
        (self.cut_len, self.ends_bad) = (0, false);
    }

    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.text.shrink_to(KEEP);
        self.at = 0;
        self.cut_len = 0;
        self.ends_bad = false;
        self.active = false;
    }
}

/// How many bytes at the end belong to a character that is not whole yet.
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

/// How many bytes the character has that starts with this byte; 1 for a byte that starts none.
fn width(first: u8) -> usize {
    match first {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => 1,
    }
}
