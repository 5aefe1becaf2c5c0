//! Choices from the bytes of an input.

/// The bytes that are left; zeros after their end.
pub struct Choices<'a> {
    bytes: &'a [u8],
}

impl<'a> Choices<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        let Some((byte, rest)) = self.bytes.split_first() else { return 0 };
        self.bytes = rest;
        *byte
    }

    /// A number below `count`, which is at most 256.
    pub fn below(&mut self, count: usize) -> usize {
        usize::from(self.byte()) % count
    }

    /// Whether the next byte says so, one time in `times`; not at the end of the bytes.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == times - 1
    }

    pub fn of<'s, T>(&mut self, all: &'s [T]) -> &'s T {
        // There may be more than 256.
        let index =
            usize::from(self.byte()) | if all.len() > 256 { usize::from(self.byte()) << 8 } else { 0 };
        &all[index % all.len()]
    }
}
