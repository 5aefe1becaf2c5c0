//! The common engine of all validators.

use std::fmt;
use std::io::{self, Read};

use memchr::{memchr, memrchr};
use tokenline_core::Limits;

use super::blocks::{Block, Text, longest};
use super::buffer::Buffer;
use super::check::{CheckWorker, Checker, Contract};
use super::decode::bom_len;
use super::tally::{Count, Counts, Tally};
use super::workers;
use crate::LineError;

/// Reads lines, and counts the results.
pub(crate) struct Engine<'s, C, K> {
    pub(crate) contract: C,
    pub(crate) tally: Tally<'s, K>,
    pub(crate) limits: Limits,
    pub(crate) jobs: usize,
    inputs: Vec<String>,
    pushed: Option<Pushed>,
    failure: Option<io::Error>,
}

/// The current input, if it is pushed.
struct Pushed {
    checker: Checker,
    /// The incomplete last line; of a line above the limit, only as much as proves that.
    line: Buffer,
    /// The offset of its first byte.
    start: u64,
    /// Its bytes that were not kept.
    skipped: u64,
}

/// An invalid line, for callers that store such lines.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct InvalidLine<'a> {
    /// The error.
    pub error: &'a LineError,
    /// The errors after it, if [all](crate::RecordValidator::all_errors) are wanted.
    pub further: &'a [LineError],
    /// The line of the error without its line feed; empty if it exceeds the limit. Unlike the error, it may be private.
    pub line: &'a [u8],
    /// The invalid record: the line, or an [item](crate::RecordValidator::read_items) on one line. Empty if the document of
    /// the items cannot be read.
    pub record: &'a [u8],
}

/// Hides the line.
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

    /// Starts the next input.
    pub(crate) fn begin(&mut self, path: String) {
        self.end_pushed();
        self.inputs.push(path.clone());
        self.tally.begin(path);
    }

    pub(crate) fn read(&mut self, path: String, source: impl Read + Send) -> io::Result<()> {
        self.begin(path);
        let Self { contract, tally, limits, jobs, .. } = self;
        let worker = || CheckWorker { checker: Checker::new(*limits), contract: &*contract };
        workers::run(source, *limits, *jobs, worker, |checked, text| tally.add::<C>(checked, text))
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
            let block = pushed.take(true);
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
            let block = pushed.take(false);
            self.check(block);
        }
        self.pushed = None;
    }

    /// Returns all inputs, the counts, and the error of a failed callback.
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

    /// Takes the line, complete or at the end of the input.
    fn take(&mut self, has_line_feed: bool) -> Block {
        match self.skipped {
            0 => self.take_lines(),
            skipped => {
                let start = self.start + bom_len(&self.line, self.start == 0) as u64;
                self.start += self.line.len() as u64 + skipped;
                (self.line, self.skipped) = (Buffer::default(), 0);
                let end = self.start - u64::from(has_line_feed);
                Block::new(Text::TooLong(end - start), start, 1)
            }
        }
    }

    fn take_lines(&mut self) -> Block {
        let (text, start) = (std::mem::take(&mut self.line), self.start);
        self.start += text.len() as u64;
        Block::new(Text::Lines(text), start, 1)
    }
}
