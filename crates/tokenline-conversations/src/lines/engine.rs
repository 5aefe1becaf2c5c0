//! What all validators of lines have in common.

use std::fmt;
use std::io::{self, Read};

use memchr::{memchr, memrchr};
use tokenline_core::Limits;

use super::blocks::{Block, Text, longest};
use super::buffer::Buffer;
use super::check::{Checker, Contract, mark};
use super::tally::{Count, Counts, Tally};
use super::workers;
use crate::LineError;

/// Lines in, counts out.
pub(crate) struct Engine<'s, C, K> {
    pub(crate) contract: C,
    pub(crate) tally: Tally<'s, K>,
    pub(crate) limits: Limits,
    pub(crate) jobs: usize,
    inputs: Vec<String>,
    pushed: Option<Pushed>,
    failure: Option<io::Error>,
}

/// An input that is pushed.
struct Pushed {
    checker: Checker,
    /// The line that is not whole yet; of one that is beyond the limit no more than shows that.
    line: Buffer,
    /// Offset of its first byte.
    start: u64,
    /// Bytes of it that were not kept.
    skipped: u64,
}

/// A line that is not valid, for who wants to keep it.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct InvalidLine<'a> {
    /// What is wrong with it.
    pub error: &'a LineError,
    /// The line itself, without its line feed; empty if it is beyond the limit. This is what was private.
    pub line: &'a [u8],
}

/// Without the line.
impl fmt::Debug for InvalidLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InvalidLine").field("error", &self.error).finish_non_exhaustive()
    }
}

impl<'s, C: Contract, K: Count<C>> Engine<'s, C, K> {
    pub(crate) fn new(contract: C, total: K) -> Self {
        Self {
            contract,
            tally: Tally::new(total),
            limits: Limits::default(),
            jobs: 1,
            inputs: Vec::new(),
            pushed: None,
            failure: None,
        }
    }

    /// Starts with the next input.
    pub(crate) fn begin(&mut self, path: String) {
        self.end_pushed();
        self.inputs.push(path.clone());
        self.tally.begin(path);
    }

    pub(crate) fn read(&mut self, path: String, source: impl Read + Send) -> io::Result<()> {
        self.begin(path);
        workers::run(source, &self.contract, self.limits, self.jobs, &mut self.tally)
    }

    pub(crate) fn push(&mut self, mut bytes: &[u8]) {
        if self.inputs.is_empty() {
            self.begin(String::new());
        }
        let limits = self.limits;
        let pushed = self.pushed.get_or_insert_with(|| Pushed {
            checker: Checker::new(limits),
            line: Buffer::default(),
            start: 0,
            skipped: 0,
        });
        if !pushed.line.is_empty()
            && let Some(end) = memchr(b'\n', bytes)
        {
            pushed.keep(&bytes[..=end], limits);
            bytes = &bytes[end + 1..];
            let block = pushed.take();
            self.check(block);
        }
        if let Some(end) = memrchr(b'\n', bytes)
            && let Some(pushed) = &mut self.pushed
        {
            pushed.line.extend_from_slice(&bytes[..=end]);
            bytes = &bytes[end + 1..];
            let block = pushed.take_lines();
            self.check(block);
        }
        if let Some(pushed) = &mut self.pushed {
            pushed.keep(bytes, limits);
        }
    }

    fn check(&mut self, mut block: Block) {
        let Some(pushed) = &mut self.pushed else { return };
        while !block.is_done() {
            let mut checked = pushed.checker.check(&mut block, &self.contract);
            if self.failure.is_none() {
                self.failure = self.tally.add::<C>(&mut checked, block.text()).err();
            }
        }
        if pushed.line.is_empty() {
            pushed.line = block.into_buffer();
            pushed.line.clear();
        }
    }

    fn end_pushed(&mut self) {
        if let Some(pushed) = &mut self.pushed
            && !pushed.line.is_empty()
        {
            let block = pushed.take();
            self.check(block);
        }
        self.pushed = None;
    }

    /// All inputs, what was counted, and what went wrong with who was told of it.
    pub(crate) fn finish(mut self) -> io::Result<(String, Counts, K)> {
        self.end_pushed();
        match self.failure {
            Some(error) => Err(error),
            None => Ok((self.inputs.join(" "), self.tally.counts, self.tally.total)),
        }
    }
}

impl Pushed {
    fn keep(&mut self, bytes: &[u8], limits: Limits) {
        let room = longest(limits).saturating_sub(self.line.len()).min(bytes.len());
        self.line.extend_from_slice(&bytes[..room]);
        self.skipped += (bytes.len() - room) as u64;
    }

    /// The line, whole or the last one.
    fn take(&mut self) -> Block {
        match self.skipped {
            0 => self.take_lines(),
            skipped => {
                let start = self.start + mark(&self.line, self.start == 0) as u64;
                self.start += self.line.len() as u64 + skipped;
                (self.line, self.skipped) = (Buffer::default(), 0);
                Block::new(Text::TooLong, start)
            }
        }
    }

    fn take_lines(&mut self) -> Block {
        let (text, start) = (std::mem::take(&mut self.line), self.start);
        self.start += text.len() as u64;
        Block::new(Text::Lines(text), start)
    }
}
