//! The lines of a block, each held against a contract.

use std::mem;

use memchr::memrchr;
use tokenline_core::json::Value;
use tokenline_core::{Code, Diagnostic, Event, LentEvent, Limits, Options, Record, RecordDecoder, Violation};

use super::blocks::{Block, Text};
use crate::ErrorCode;

/// What each line has to be.
pub(crate) trait Contract: Send + Sync {
    /// What is kept of a line that fits, until its turn comes.
    type Fact: Send;

    /// Holds a record against the contract.
    fn check(&self, record: Value<'_>, kept: &mut Vec<u8>) -> Result<Self::Fact, Box<Violation>>;

    /// As much of a path as may be told: names that the contract does not know may be private.
    fn public_path(&self, path: String) -> String {
        path
    }
}

/// A block that was checked.
#[derive(Debug)]
pub(crate) struct Checked<F> {
    /// Offset in the source of its first byte.
    pub(crate) start: u64,
    /// The lines in it, blank ones too.
    pub(crate) lines: u64,
    /// Those that are not blank, in order.
    pub(crate) verdicts: Vec<Verdict<F>>,
    /// What the contract keeps of its lines, one after the other.
    pub(crate) kept: Vec<u8>,
    /// The lines themselves; empty where there was one that is too long.
    pub(crate) text: Vec<u8>,
}

/// What is to be said of a line.
#[derive(Debug)]
pub(crate) struct Verdict<F> {
    /// The line, counted from 0 at the start of the block.
    pub(crate) line: u64,
    /// Where the line begins in the block, and where the object begins in the line.
    pub(crate) line_start: usize,
    pub(crate) column: u64,
    /// What was kept up to the end of the line.
    pub(crate) kept: usize,
    pub(crate) outcome: Result<F, Box<Fault>>,
}

/// What is wrong with a line.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) code: ErrorCode,
    pub(crate) rule: String,
    pub(crate) message: String,
    pub(crate) instance_path: String,
    /// The place in its line, counted from 1 in bytes.
    pub(crate) column: u64,
}

/// Checks blocks, one after the other.
pub(crate) struct Checker {
    decoder: RecordDecoder,
    limits: Limits,
}

impl Checker {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { decoder: RecordDecoder::new(Options::strict().limits(limits)), limits }
    }

    pub(crate) fn check<C: Contract>(&mut self, block: Block, contract: &C) -> Checked<C::Fact> {
        let Block { text, start } = block;
        match text {
            Text::Lines(text) => self.check_lines(text, start, contract),
            Text::TooLong => {
                let outcome = Err(self.too_long());
                let verdict = Verdict { line: 0, line_start: 0, column: 1, kept: 0, outcome };
                Checked { start, lines: 1, verdicts: vec![verdict], kept: Vec::new(), text: Vec::new() }
            }
        }
    }

    fn check_lines<C: Contract>(&mut self, text: Vec<u8>, start: u64, contract: &C) -> Checked<C::Fact> {
        let mut lines_read = Lines {
            contract,
            limits: &self.limits,
            // Before the first line of its text the decoder looks for a byte order mark. There is one at the start
            // of a source, and nowhere else.
            before: u64::from(start > 0),
            verdicts: Vec::new(),
            kept: Vec::new(),
        };
        self.decoder.reset();
        if start > 0 {
            self.decoder.decode(b"\n");
        }
        let mut rest = &*text;
        while !rest.is_empty() {
            let decoded = self.decoder.decode(rest);
            rest = &rest[decoded.consumed..];
            if let Some(event) = decoded.event {
                lines_read.take(event, &text);
            }
        }
        let ends_open = text.last() != Some(&b'\n');
        let lines = self.decoder.line() - 1 - lines_read.before + u64::from(ends_open);
        while let Some(event) = self.decoder.finish() {
            lines_read.take(event, &text);
        }
        let Lines { verdicts, kept, .. } = lines_read;
        Checked { start, lines, verdicts, kept, text }
    }

    fn too_long(&self) -> Box<Fault> {
        too_long(&self.limits)
    }
}

fn too_long(limits: &Limits) -> Box<Fault> {
    Box::new(Fault {
        code: ErrorCode::InvalidJson,
        rule: Code::LineTooLong.as_str().to_owned(),
        message: format!("the line is longer than the limit of {} bytes", limits.line_bytes),
        instance_path: String::new(),
        column: 1,
    })
}

struct Lines<'c, C: Contract> {
    contract: &'c C,
    limits: &'c Limits,
    /// Lines, each of one byte, that the decoder was given before the block.
    before: u64,
    verdicts: Vec<Verdict<C::Fact>>,
    kept: Vec<u8>,
}

impl<C: Contract> Lines<'_, C> {
    fn take(&mut self, event: LentEvent<'_>, text: &[u8]) {
        let (line, line_start, column, outcome) = match event {
            Event::Record(record) => {
                let Record { line, column, span, value, .. } = record;
                let start = self.kept.len();
                let outcome = match Violation::duplicate_key(value) {
                    None => self.contract.check(value, &mut self.kept),
                    Some(violation) => Err(violation),
                };
                let outcome = outcome.map_err(|mut violation| {
                    self.kept.truncate(start);
                    violation.instance_path = self.contract.public_path(violation.instance_path);
                    Box::new(Fault::of_violation(*violation, column))
                });
                (line, (span.start - self.before - (column - 1)) as usize, column, outcome)
            }
            Event::Rejected(diagnostic) | Event::Note(diagnostic) => {
                let line = diagnostic.line;
                let start =
                    line_start(text, (diagnostic.span.start - self.before) as usize, self.before == 0);
                let fault = match diagnostic.code {
                    Code::LineTooLong => too_long(self.limits),
                    _ => Box::new(Fault::of_diagnostic(diagnostic)),
                };
                (line, start, 1, Err(fault))
            }
            // None are asked for.
            _ => return,
        };
        let verdict =
            Verdict { line: line - 1 - self.before, line_start, column, kept: self.kept.len(), outcome };
        // One verdict a line: the first.
        if self.verdicts.last().is_none_or(|last| last.line < verdict.line) {
            self.verdicts.push(verdict);
        }
    }
}

/// Where the line begins in which this place is. A byte order mark is on no line.
fn line_start(text: &[u8], at: usize, is_first: bool) -> usize {
    let mark = if is_first && text.starts_with("\u{feff}".as_bytes()) { 3 } else { 0 };
    memrchr(b'\n', &text[..at]).map_or(mark, |end| end + 1)
}

impl Fault {
    fn of_violation(violation: Violation, column: u64) -> Self {
        let Violation { code, instance_path, schema_path, message, offset, .. } = violation;
        let (code, rule) = match code {
            Code::DuplicateKey => (ErrorCode::InvalidJson, Code::DuplicateKey.as_str().to_owned()),
            _ => (ErrorCode::SchemaValidationFailed, schema_path),
        };
        Self { code, rule, message, instance_path, column: column + offset as u64 }
    }

    fn of_diagnostic(mut diagnostic: Diagnostic) -> Self {
        let code = match diagnostic.code {
            Code::NotAnObject => ErrorCode::NonObjectLine,
            _ => ErrorCode::InvalidJson,
        };
        Self {
            code,
            rule: diagnostic.code.as_str().to_owned(),
            message: mem::take(&mut diagnostic.message),
            instance_path: String::new(),
            column: diagnostic.column,
        }
    }
}
