//! Counts the results of lines, in order.

use std::io;
use std::mem;

use memchr::memchr;
use tokenline_core::Code;

use super::check::{Checked, Contract, Fault, Verdict};
use super::engine::InvalidLine;
use crate::LineError;

/// Counts the valid lines of a contract.
pub(crate) trait Count<C: Contract>: Send {
    /// Counts a valid line, unless it conflicts with an earlier one. `column` is that of the object.
    fn count(&mut self, fact: C::Fact, column: u64) -> Result<(), Box<Fault>>;
}

/// Counts of lines and errors, for all inputs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) lines: u64,
    pub(crate) non_empty: u64,
    pub(crate) invalid: u64,
    /// Errors of invalid lines after the first, if all are wanted.
    pub(crate) further: u64,
    pub(crate) errors: Vec<LineError>,
    /// Errors beyond the limit.
    pub(crate) dropped: u64,
}

pub(crate) type OnInvalid<'s> = dyn FnMut(InvalidLine<'_>) -> io::Result<()> + Send + 's;
pub(crate) type OnKept<'s> = dyn FnMut(&[u8]) -> io::Result<()> + Send + 's;

/// Counts blocks, in order.
pub(crate) struct Tally<'s, K> {
    pub(crate) counts: Counts,
    pub(crate) total: K,
    pub(crate) max_errors: usize,
    pub(crate) on_invalid: Option<Box<OnInvalid<'s>>>,
    pub(crate) on_kept: Option<Box<OnKept<'s>>>,
    /// The current input.
    pub(crate) input: String,
    /// The lines counted in it so far.
    pub(crate) lines_before: u64,
}

impl<'s, K> Tally<'s, K> {
    pub(crate) fn new(total: K) -> Self {
        Self {
            counts: Counts::default(),
            total,
            max_errors: 100,
            on_invalid: None,
            on_kept: None,
            input: String::new(),
            lines_before: 0,
        }
    }

    pub(crate) fn begin(&mut self, input: String) {
        (self.input, self.lines_before) = (input, 0);
    }

    /// Counts the next block, or a part of it; `text` is the complete block.
    pub(crate) fn add<C: Contract>(&mut self, checked: &mut Checked<C::Fact>, text: &[u8]) -> io::Result<()>
    where
        K: Count<C>,
    {
        let mut kept_from = 0;
        for verdict in checked.verdicts.drain(..) {
            let Verdict { line, line_start, column, kept, result } = verdict;
            self.counts.non_empty += 1;
            match result.and_then(|fact| self.total.count(fact, column)) {
                Ok(()) => {
                    if let Some(on_kept) = &mut self.on_kept {
                        on_kept(&checked.kept[kept_from..kept])?;
                    }
                }
                Err(fault) => {
                    self.invalid(*fault, line, checked.start, line_start, text)?;
                }
            }
            kept_from = kept;
        }
        self.counts.lines += checked.lines;
        self.lines_before += checked.lines;
        Ok(())
    }

    fn invalid(
        &mut self,
        mut fault: Fault,
        line: u64,
        start: u64,
        line_start: usize,
        text: &[u8],
    ) -> io::Result<()> {
        let further = mem::take(&mut fault.further);
        let room = self.count_invalid(1 + further.len());
        if room == 0 && self.on_invalid.is_none() {
            return Ok(());
        }
        let line_number = self.lines_before + line + 1;
        let into_error =
            |fault: Fault| fault.into_error(line_number, start + line_start as u64, self.input.clone());
        let further: Vec<LineError> = further.into_iter().map(into_error).collect();
        let error = into_error(fault);
        if let Some(on_invalid) = &mut self.on_invalid {
            // Whether a long line is in memory depends on the way it was read.
            let is_here = error.rule != Code::LineTooLong.as_str();
            let line = text.get(line_start..).filter(|_| is_here).unwrap_or_default();
            let line = &line[..memchr(b'\n', line).unwrap_or(line.len())];
            on_invalid(InvalidLine { error: &error, further: &further, line, record: line })?;
        }
        self.counts.errors.extend([error].into_iter().chain(further).take(room));
        Ok(())
    }

    /// Counts an invalid line with this number of errors. Returns the room for them in the report.
    fn count_invalid(&mut self, errors: usize) -> usize {
        self.counts.invalid += 1;
        self.counts.further += errors as u64 - 1;
        let room = self.max_errors - self.counts.errors.len();
        self.counts.dropped += errors.saturating_sub(room) as u64;
        room
    }

    /// Counts an item with faults, each with its line and the offset of the line in the document. `line` is the line of the
    /// first.
    pub(crate) fn invalid_item(
        &mut self,
        faults: Vec<(Fault, u64, usize)>,
        line: &[u8],
        record: &[u8],
    ) -> io::Result<()> {
        self.counts.non_empty += 1;
        let room = self.count_invalid(faults.len());
        if room == 0 && self.on_invalid.is_none() {
            return Ok(());
        }
        let into_error = |(fault, line, line_start): (Fault, u64, usize)| {
            fault.into_error(line, line_start as u64, self.input.clone())
        };
        let errors: Vec<LineError> = faults.into_iter().map(into_error).collect();
        if let Some(on_invalid) = &mut self.on_invalid
            && let [error, further @ ..] = &*errors
        {
            on_invalid(InvalidLine { error, further, line, record })?;
        }
        self.counts.errors.extend(errors.into_iter().take(room));
        Ok(())
    }
}
