//! Checks one line at a time.

use tokenline_core::Limits;

use super::blocks::{Block, Text};
use super::buffer::Buffer;
use super::check::{Checker, Contract, Verdict};

/// Checks lines that come one by one.
pub(crate) struct SingleLines {
    checker: Checker,
    /// Memory for the next line.
    buffer: Buffer,
}

impl SingleLines {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { checker: Checker::new(limits), buffer: Buffer::default() }
    }

    /// Checks a line; `None` if it is blank.
    pub(crate) fn check<C: Contract>(&mut self, line: &[u8], contract: &C) -> Option<Verdict<C::Fact>> {
        let mut text = std::mem::take(&mut self.buffer);
        text.clear();
        text.extend_from_slice(line);
        // Not at offset 0, where a byte order mark would be allowed.
        let mut block = Block::new(Text::Lines(text), 1);
        let checked = self.checker.check(&mut block, contract);
        self.buffer = block.into_buffer();
        checked.verdicts.into_iter().next()
    }
}
