//! The lines of a block, each held against a contract.

use std::mem;
use std::ops::Range;

use memchr::{memchr, memrchr};
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

/// A block that was checked, or a part of one.
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
}

/// What is to be said of a line.
#[derive(Debug)]
pub(crate) struct Verdict<F> {
    /// The line, counted from 0 at the start of the part.
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
    /// Longest line, in bytes.
    limit: usize,
}

impl Checker {
    pub(crate) fn new(limits: Limits) -> Self {
        // What the decoder would say of a line that is too long depends on what it meets first, so it is shown none.
        let unlimited = Limits { line_bytes: usize::MAX, ..limits };
        Self { decoder: RecordDecoder::new(Options::strict().limits(unlimited)), limit: longest_line(limits) }
    }

    /// Checks a block, or the first part of what is left of one in which there is much to tell.
    pub(crate) fn check<C: Contract>(&mut self, block: &mut Block, contract: &C) -> Checked<C::Fact> {
        let Block { text, start, checked, .. } = block;
        let mut lines = Lines { contract, lines: 0, faults: 0, verdicts: Vec::new(), kept: Vec::new() };
        match text {
            Text::Lines(text) => {
                *checked = self.check_lines(text, *start, *checked, &mut block.within, &mut lines);
            }
            Text::TooLong => {
                lines.too_long(0, self.limit);
                *checked = 1;
            }
        }
        let Lines { lines, verdicts, kept, .. } = lines;
        Checked { start: *start, lines, verdicts, kept }
    }

    /// Checks lines from `at` on, and returns how far it came. Up to `within` no line is too long.
    fn check_lines<C: Contract>(
        &mut self,
        text: &[u8],
        start: u64,
        mut at: usize,
        within: &mut usize,
        lines: &mut Lines<'_, C>,
    ) -> usize {
        while at < text.len() && lines.faults < MOST_FAULTS {
            let is_first = start == 0 && at == 0;
            if at == *within {
                let long = long_line(text, at, is_first, self.limit);
                if let Some(long) = long.as_ref().filter(|long| long.start == at) {
                    lines.too_long(at + mark(text, is_first), self.limit);
                    (at, *within) = (long.end, long.end);
                    continue;
                }
                *within = long.map_or(text.len(), |long| long.start);
            }
            at += self.decode(&text[at..*within], at, is_first, lines);
        }
        at
    }

    /// Checks lines that are within the limit, and returns how far it came. `at` is where they are in the block.
    fn decode<C: Contract>(
        &mut self,
        text: &[u8],
        at: usize,
        is_first: bool,
        lines: &mut Lines<'_, C>,
    ) -> usize {
        self.decoder.reset();
        // Before the first line of its text the decoder looks for a byte order mark. There is one at the start of a
        // source, and nowhere else.
        let before = u64::from(!is_first);
        if !is_first {
            self.decoder.decode(b"\n");
        }
        let part = Part { text, at, before, lines: lines.lines };
        let mut done = 0;
        while done < text.len() {
            let decoded = self.decoder.decode(&text[done..]);
            done += decoded.consumed;
            if let Some(event) = decoded.event {
                lines.take(event, &part);
                if lines.faults >= MOST_FAULTS && text[..done].ends_with(b"\n") {
                    break;
                }
            }
        }
        let ends_open = !text[..done].ends_with(b"\n");
        lines.lines += self.decoder.line() - 1 - before + u64::from(ends_open);
        while let Some(event) = self.decoder.finish() {
            lines.take(event, &part);
        }
        done
    }
}

/// So many faults are told before more are looked for: a block may have one in every second byte, and each takes some
/// hundred bytes.
const MOST_FAULTS: usize = 1024;

/// The limit as the decoder would apply it.
pub(super) fn longest_line(limits: Limits) -> usize {
    limits.line_bytes.min(1 << 31)
}

/// How many bytes at the start of a source are on no line: a byte order mark.
pub(super) fn mark(text: &[u8], is_first: bool) -> usize {
    if is_first && text.starts_with("\u{feff}".as_bytes()) { 3 } else { 0 }
}

/// The next line at or behind `at`, where a line starts, whose content is beyond the limit. Its end, a line feed with or
/// without a carriage return before it, does not count.
fn long_line(text: &[u8], mut at: usize, is_first: bool, limit: usize) -> Option<Range<usize>> {
    // Seldom: a block is shorter than a line may be.
    while text.len() - at > limit {
        let rest = &text[at..];
        let (content, end) = match memchr(b'\n', rest) {
            Some(feed) => (&rest[..feed], at + feed + 1),
            None => (rest, text.len()),
        };
        let content = content.strip_suffix(b"\r").unwrap_or(content);
        if content.len() - mark(content, is_first && at == 0) > limit {
            return Some(at..end);
        }
        at = end;
    }
    None
}

fn too_long(limit: usize) -> Box<Fault> {
    Box::new(Fault {
        code: ErrorCode::InvalidJson,
        rule: Code::LineTooLong.as_str().to_owned(),
        message: format!("the line is longer than the limit of {limit} bytes"),
        instance_path: String::new(),
        column: 1,
    })
}

struct Lines<'c, C: Contract> {
    contract: &'c C,
    /// Lines so far.
    lines: u64,
    faults: usize,
    verdicts: Vec<Verdict<C::Fact>>,
    kept: Vec<u8>,
}

/// Lines that are decoded at one go.
struct Part<'t> {
    text: &'t [u8],
    /// Where they are in the block.
    at: usize,
    /// Lines, each of one byte, that the decoder was given before them.
    before: u64,
    /// Lines that were checked before them.
    lines: u64,
}

impl<C: Contract> Lines<'_, C> {
    fn take(&mut self, event: LentEvent<'_>, part: &Part<'_>) {
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
                (line, (span.start - part.before - (column - 1)) as usize, column, outcome)
            }
            Event::Rejected(diagnostic) | Event::Note(diagnostic) => {
                let line = diagnostic.line;
                let start =
                    line_start(part.text, (diagnostic.span.start - part.before) as usize, part.before == 0);
                (line, start, 1, Err(Box::new(Fault::of_diagnostic(diagnostic))))
            }
            // None are asked for.
            _ => return,
        };
        let (line, line_start) = (part.lines + line - 1 - part.before, part.at + line_start);
        let verdict = Verdict { line, line_start, column, kept: self.kept.len(), outcome };
        // One verdict a line: the first.
        if self.verdicts.last().is_none_or(|last| last.line < verdict.line) {
            self.faults += usize::from(verdict.outcome.is_err());
            self.verdicts.push(verdict);
        }
    }

    /// The next line is too long.
    fn too_long(&mut self, line_start: usize, limit: usize) {
        let outcome = Err(too_long(limit));
        self.verdicts.push(Verdict {
            line: self.lines,
            line_start,
            column: 1,
            kept: self.kept.len(),
            outcome,
        });
        self.lines += 1;
        self.faults += 1;
    }
}

/// Where the line begins in which this place is. A byte order mark is on no line.
fn line_start(text: &[u8], at: usize, is_first: bool) -> usize {
    memrchr(b'\n', &text[..at]).map_or_else(|| mark(text, is_first), |end| end + 1)
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
