//! The bytes that the scanner reads, and how far it may read.

use memchr::memchr;

/// A position in the current bytes: a chunk of the input, or the carry.
///
/// A chunk of the input is checked to be UTF-8 line by line, and only where nothing else proves it. The
/// results of [`peek`](Self::peek) and [`line`](Self::line) are checked.
pub(super) struct Cursor<'w> {
    /// Ends with a complete character.
    bytes: &'w [u8],
    /// Whether all bytes are checked: they are text, or come from the carry.
    is_checked: bool,
    in_carry: bool,
    /// The text checked last, all bytes or a value in the input, and where it begins.
    checked: &'w str,
    checked_from: usize,
    /// Offset in the stream of the first byte.
    base: u64,
    /// Index of the next byte.
    pub(super) at: usize,
    /// Index up to which the limit allows reading.
    end: usize,
    /// Index up to which the bytes are known to be UTF-8.
    valid_to: usize,
    /// Index of the first byte known not to be UTF-8.
    bad: usize,
}

const NONE: usize = usize::MAX;

impl<'w> Cursor<'w> {
    /// A cursor over unchecked input.
    pub(super) fn unchecked(bytes: &'w [u8], base: u64) -> Self {
        let end = bytes.len();
        let (is_checked, in_carry, checked, checked_from) = (false, false, "", 0);
        Self { bytes, is_checked, in_carry, checked, checked_from, base, at: 0, end, valid_to: 0, bad: NONE }
    }

    /// A cursor over input that is text.
    pub(super) fn text(text: &'w str, base: u64) -> Self {
        Self { in_carry: false, ..Self::carried(text, base, 0, false) }
    }

    /// A cursor over the carry; if it `ends_bad`, a byte that is not UTF-8 follows it.
    pub(super) fn carried(text: &'w str, base: u64, at: usize, ends_bad: bool) -> Self {
        let (bytes, end) = (text.as_bytes(), text.len());
        let bad = if ends_bad { end } else { NONE };
        let (is_checked, in_carry, checked, checked_from) = (true, true, text, 0);
        Self { bytes, is_checked, in_carry, checked, checked_from, base, at, end, valid_to: end, bad }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Index up to which the limit allows reading.
    pub(super) fn end(&self) -> usize {
        self.end
    }

    /// Whether the bytes come from the carry.
    pub(super) fn in_carry(&self) -> bool {
        self.in_carry
    }

    /// Offset in the stream of the next byte.
    pub(super) fn offset(&self) -> u64 {
        self.offset_of(self.at)
    }

    pub(super) fn offset_of(&self, index: usize) -> u64 {
        self.base + index as u64
    }

    /// The index of an offset, which must not lie before the bytes.
    pub(super) fn index(&self, offset: u64) -> usize {
        (offset - self.base) as usize
    }

    pub(super) fn seek(&mut self, offset: u64) {
        self.at = self.index(offset);
    }

    /// Allows reading up to an offset, and a newline there.
    #[inline]
    pub(super) fn limit(&mut self, offset: u64) {
        if offset >= self.base + self.bytes.len() as u64 {
            self.end = self.bytes.len();
            return;
        }
        let end = (offset.saturating_sub(self.base) as usize).max(self.at);
        self.end = end + usize::from(self.bytes.get(end) == Some(&b'\n'));
    }

    /// Whether the limit ends before the bytes do.
    pub(super) fn is_limited(&self) -> bool {
        self.end < self.bytes.len()
    }

    /// Whether everything that the limit allows has been read.
    pub(super) fn is_at_end(&self) -> bool {
        self.at == self.end
    }

    /// Whether the next byte is known not to be UTF-8.
    pub(super) fn is_bad(&self) -> bool {
        self.bad == self.at
    }

    /// Whether a byte that is not UTF-8 follows the bytes.
    pub(super) fn ends_bad(&self) -> bool {
        self.bad == self.bytes.len()
    }

    /// The next byte; `None` also if it is not UTF-8.
    #[inline]
    pub(super) fn peek(&mut self) -> Option<u8> {
        let byte = *self.bytes[..self.end].get(self.at)?;
        if byte >= 0x80 && self.at >= self.valid_to {
            self.check_line();
            if self.is_bad() {
                return None;
            }
        }
        Some(byte)
    }

    /// The rest of the line, including its newline, up to a byte that is not UTF-8.
    pub(super) fn line(&mut self) -> &'w [u8] {
        if self.at >= self.valid_to {
            self.check_line();
        }
        &self.bytes[self.at..self.valid_to.min(self.end)]
    }

    /// The next bytes, up to a byte that is not UTF-8.
    pub(super) fn valid(&mut self, len: usize) -> &'w [u8] {
        let bytes = &self.bytes[self.at..self.at + len];
        if self.at + len <= self.valid_to {
            return bytes;
        }
        if self.at < self.valid_to {
            return self.line();
        }
        match simdutf8::compat::from_utf8(bytes) {
            Ok(_) => bytes,
            Err(_) => self.line(),
        }
    }

    /// The remaining bytes, UTF-8 or not.
    pub(super) fn rest(&self) -> &'w [u8] {
        &self.bytes[self.at..self.end]
    }

    /// All bytes from an index on, UTF-8 or not.
    pub(super) fn from(&self, index: usize) -> &'w [u8] {
        &self.bytes[index..self.end]
    }

    /// The byte before an index.
    pub(super) fn before(&self, index: usize) -> Option<u8> {
        Some(self.bytes[index.checked_sub(1)?])
    }

    fn check_line(&mut self) {
        let rest = &self.bytes[self.at..];
        let end = memchr(b'\n', rest).map_or(self.bytes.len(), |line_feed| self.at + line_feed + 1);
        // The limit may have ended a value in the middle of a character.
        let is_inside = |index: &usize| self.bytes.get(*index).is_some_and(|byte| byte & 0xC0 == 0x80);
        let from =
            (self.at.saturating_sub(3)..=self.at).rev().find(|index| !is_inside(index)).unwrap_or(self.at);
        self.valid_to = end;
        if let Err(error) = simdutf8::compat::from_utf8(&self.bytes[from..end]) {
            self.valid_to = self.at.max(from + error.valid_up_to());
            self.bad = self.valid_to;
        }
    }

    /// The first byte from `from` up to and including `to` that is not UTF-8.
    pub(super) fn first_bad(&self, from: usize, to: usize) -> Option<usize> {
        if self.is_checked {
            return None;
        }
        // Check a character at `to` completely; one that `end` splits starts after `to`.
        let end = (to + 4).min(self.bytes.len());
        let error = simdutf8::compat::from_utf8(&self.bytes[from..end]).err()?;
        Some(from + error.valid_up_to()).filter(|bad| *bad <= to)
    }

    /// The text from an index on, at most `len` bytes, and whether a byte that is not UTF-8 ends it.
    pub(super) fn valid_from(&self, from: usize, len: usize) -> (&'w [u8], bool) {
        let bytes = self.from(from);
        let bytes = &bytes[..bytes.len().min(len)];
        if self.is_checked {
            return (bytes, self.ends_bad());
        }
        match simdutf8::compat::from_utf8(bytes) {
            Ok(_) => (bytes, false),
            // The bytes end with a complete character.
            Err(error) => (&bytes[..error.valid_up_to()], true),
        }
    }

    /// Checks the text of a value, for [`text_between`](Self::text_between). Otherwise returns the index of the first byte
    /// that is not UTF-8.
    #[inline]
    pub(super) fn check(&mut self, from: usize, to: usize) -> Result<(), usize> {
        if !self.is_checked {
            match simdutf8::basic::from_utf8(&self.bytes[from..to]) {
                Ok(text) => (self.checked, self.checked_from) = (text, from),
                Err(_) => return Err(self.first_bad(from, to).unwrap_or(from)),
            }
        }
        Ok(())
    }

    /// The text of a value that was [checked](Self::check).
    #[inline]
    pub(super) fn value(&self, from: usize, to: usize) -> &'w str {
        &self.checked[from - self.checked_from..to - self.checked_from]
    }

    /// The checked text from an offset up to the end of the character that the limit splits.
    pub(super) fn text_past_limit(&self, from: u64) -> &'w str {
        let mut ends = self.end..=self.checked_from + self.checked.len();
        let end = ends.find(|at| self.checked.is_char_boundary(at - self.checked_from));
        self.text_between(self.index(from), end.unwrap_or(self.end))
    }

    /// The checked text between two indices; it ends before a character that `to` splits.
    pub(super) fn text_between(&self, from: usize, to: usize) -> &'w str {
        let (from, to) = (from - self.checked_from, to - self.checked_from);
        let to = (from..=to).rev().find(|at| self.checked.is_char_boundary(*at)).unwrap_or(from);
        self.checked.get(from..to).unwrap_or_default()
    }
}
