//! What the machine reads.

/// Bytes to read: a piece of the input, or the carry.
#[derive(Clone, Copy)]
pub(super) struct Window<'w> {
    /// Ends with a whole character.
    pub(super) bytes: &'w [u8],
    /// The same as text, if it is checked.
    pub(super) text: &'w str,
    /// Offset in the stream of the first byte.
    pub(super) base: u64,
    /// Whether the bytes are known to be UTF-8.
    pub(super) is_checked: bool,
    /// Whether a byte follows that is not UTF-8.
    pub(super) ends_bad: bool,
}

impl<'w> Window<'w> {
    pub(super) fn offset(&self, index: usize) -> u64 {
        self.base + index as u64
    }

    /// A part of the text, up to the last whole character.
    pub(super) fn text_between(&self, from: usize, to: usize) -> &'w str {
        let to = (from..=to).rev().find(|at| self.text.is_char_boundary(*at)).unwrap_or(from);
        self.text.get(from..to).unwrap_or_default()
    }

    /// The index of an offset. What is open always starts within the window.
    pub(super) fn index(&self, offset: u64) -> usize {
        (offset - self.base) as usize
    }

    /// The first byte from `from` up to and including `to` that is not UTF-8.
    pub(super) fn bad_utf8(&self, from: usize, to: usize) -> Option<usize> {
        if self.is_checked {
            return None;
        }
        // A character at `to` is looked at as a whole; one that `end` cuts starts after `to`.
        let end = (to + 4).min(self.bytes.len());
        let error = simdutf8::compat::from_utf8(&self.bytes[from..end]).err()?;
        Some(from + error.valid_up_to()).filter(|bad| *bad <= to)
    }
}
