//! Tokens of a model inside a value, which most chunks of a streamed response are.

use super::{Scanner, State};
use crate::json::parser::RawStep;

impl Scanner {
    /// Whether a value is open that is within the limit up to the offset `end`.
    #[inline(always)]
    pub(in crate::records) fn is_in_value(&self, end: u64) -> bool {
        self.state.is_value() && end - self.counted_from <= self.max_bytes()
    }

    /// How many bytes the open string may get from the offset `end` on, if one is open, and no escape in it.
    #[inline(always)]
    pub(in crate::records) fn room_in_string(&self, end: u64) -> Option<u64> {
        let is_open = self.state.is_value() && self.json.is_in_string();
        is_open.then(|| self.max_bytes().checked_sub(end - self.counted_from))?
    }

    /// Continues the open value by `len` plain characters. Returns false if no string is open in it.
    #[inline(always)]
    pub(in crate::records) fn continue_string(&mut self, len: usize) -> bool {
        self.json.continue_string(len)
    }

    /// Reads on in the open value, up to the end of `text`, which begins at the offset `base` and has no line feed that is
    /// not read yet. Returns false if something is left to do: no value is open, it is over, or the line exceeds its
    /// limit.
    #[inline]
    pub(in crate::records) fn continue_value(&mut self, text: &str, base: u64) -> bool {
        let State::Value { start } = *self.state.get() else { return false };
        // A carriage return may belong to a line ending.
        self.is_in_value(base + text.len() as u64)
            && self.late_reject.is_none()
            && text.as_bytes().last() != Some(&b'\r')
            && self.json.resume_bytes(&text.as_bytes()[(start - base) as usize..]) == RawStep::NeedMore
    }
}
