//! Checks the lines of a block against a contract.

use std::mem;
use std::ops::Range;

use memchr::{memchr, memrchr};
use tokenline_core::json::Value;
use tokenline_core::{Code, Diagnostic, Event, LentEvent, Limits, Options, Record, RecordDecoder, Violation};

use super::blocks::{Block, Text};
use crate::{ErrorCode, LineError};

/// The rules for each line.
pub(crate) trait Contract: Send + Sync {
    /// The data kept of a valid line until it is counted.
    type Fact: Send;

    /// Checks a record against the contract.
    fn check(&self, record: Value<'_>, kept: &mut Vec<u8>) -> Result<Self::Fact, Box<Violation>>;

    /// The part of a path that may be shown: names unknown to the contract may be private.
    fn public_path(&self, path: String) -> String {
        path
    }
}

/// The results of a block, or of a part of one.
#[derive(Debug)]
pub(crate) struct Checked<F> {
    /// The offset of the block's first byte in the source.
    pub(crate) start: u64,
    /// The number of lines, including blank ones.
    pub(crate) lines: u64,
    /// The results of the lines that are not blank, in order.
    pub(crate) verdicts: Vec<Verdict<F>>,
    /// The output of the contract for its lines, concatenated.
    pub(crate) kept: Vec<u8>,
}

/// The result of a line.
#[derive(Debug)]
pub(crate) struct Verdict<F> {
    /// The line, counted from 0 at the start of the part.
    pub(crate) line: u64,
    /// The offset of the line in the block, and the column of the object in the line.
    pub(crate) line_start: usize,
    pub(crate) column: u64,
    /// The end of this line's output in `kept`.
    pub(crate) kept: usize,
    pub(crate) result: Result<F, Box<Fault>>,
}

/// The first fault of a line.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) code: ErrorCode,
    pub(crate) rule: String,
    pub(crate) message: String,
    pub(crate) instance_path: String,
    /// The column, counted from 1 in bytes.
    pub(crate) column: u64,
}

/// Checks blocks, one after another.
pub(crate) struct Checker {
    decoder: RecordDecoder,
    /// The maximum length of a line, in bytes.
    limit: usize,
}

impl Checker {
    pub(crate) fn new(limits: Limits) -> Self {
        // The decoder's error for a long line depends on what it meets first, so long lines are handled here.
        let unlimited = Limits { line_bytes: usize::MAX, ..limits };
        Self { decoder: RecordDecoder::new(Options::strict().limits(unlimited)), limit: longest_line(limits) }
    }

    /// Checks a block, or as much of its rest as yields [`MAX_FAULTS`].
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

    /// Checks one line; `None` if it is blank. Without a line feed it is the last of its input.
    pub(crate) fn check_line<C: Contract>(
        &mut self,
        line: &[u8],
        is_first: bool,
        contract: &C,
    ) -> Option<Verdict<C::Fact>> {
        let mut lines = Lines { contract, lines: 0, faults: 0, verdicts: Vec::new(), kept: Vec::new() };
        self.check_lines(line, u64::from(!is_first), 0, &mut 0, &mut lines);
        lines.verdicts.into_iter().next()
    }

    /// Checks lines from `at` on, and returns the end of the checked part. No line before `within` is too long.
    fn check_lines<C: Contract>(
        &mut self,
        text: &[u8],
        start: u64,
        mut at: usize,
        within: &mut usize,
        lines: &mut Lines<'_, C>,
    ) -> usize {
        while at < text.len() && lines.faults < MAX_FAULTS {
            let is_first = start == 0 && at == 0;
            if at == *within {
                let long = long_line(text, at, is_first, self.limit);
                if let Some(long) = long.as_ref().filter(|long| long.start == at) {
                    lines.too_long(at + bom_len(text, is_first), self.limit);
                    (at, *within) = (long.end, long.end);
                    continue;
                }
                *within = long.map_or(text.len(), |long| long.start);
            }
            at += self.decode(&text[at..*within], at, is_first, lines);
        }
        at
    }

    /// Checks lines within the limit, and returns the length of the checked part. `at` is their offset in the block.
    fn decode<C: Contract>(
        &mut self,
        text: &[u8],
        at: usize,
        is_first: bool,
        lines: &mut Lines<'_, C>,
    ) -> usize {
        self.decoder.reset();
        // The decoder accepts a byte order mark before the first line, which is valid only at the start of a source.
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
                if lines.faults >= MAX_FAULTS && text[..done].ends_with(b"\n") {
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

/// Faults per part: a block may have one in every second byte, at some hundred bytes each.
const MAX_FAULTS: usize = 1024;

/// The limit, as the decoder applies it.
pub(super) fn longest_line(limits: Limits) -> usize {
    limits.line_bytes.min(1 << 31)
}

/// The length of a byte order mark at the start of a source, which belongs to no line.
pub(super) fn bom_len(text: &[u8], is_first: bool) -> usize {
    if is_first && text.starts_with("\u{feff}".as_bytes()) { 3 } else { 0 }
}

/// The next line from `at` on, which is a line start, whose content exceeds the limit. Line feed and carriage return do
/// not count.
fn long_line(text: &[u8], mut at: usize, is_first: bool, limit: usize) -> Option<Range<usize>> {
    // Rare: blocks are usually shorter than the limit.
    while text.len() - at > limit {
        let rest = &text[at..];
        let (content, end) = match memchr(b'\n', rest) {
            Some(feed) => (&rest[..feed], at + feed + 1),
            None => (rest, text.len()),
        };
        let content = content.strip_suffix(b"\r").unwrap_or(content);
        if content.len() - bom_len(content, is_first && at == 0) > limit {
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
        message: format!("the line exceeds the limit of {limit} bytes"),
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

/// Lines decoded together.
struct Part<'t> {
    text: &'t [u8],
    /// Their offset in the block.
    at: usize,
    /// The number of one-byte lines passed to the decoder before them.
    before: u64,
    /// The number of lines checked before them.
    lines: u64,
}

impl<C: Contract> Lines<'_, C> {
    fn take(&mut self, event: LentEvent<'_>, part: &Part<'_>) {
        let (line, line_start, column, result) = match event {
            Event::Record(record) => {
                let Record { line, column, span, value, .. } = record;
                let start = self.kept.len();
                let result = match Violation::duplicate_key(value) {
                    None => self.contract.check(value, &mut self.kept),
                    Some(violation) => Err(violation),
                };
                let result = result.map_err(|mut violation| {
                    self.kept.truncate(start);
                    violation.instance_path = self.contract.public_path(violation.instance_path);
                    Box::new(Fault::of_violation(*violation, column))
                });
                (line, (span.start - part.before - (column - 1)) as usize, column, result)
            }
            Event::Rejected(diagnostic) | Event::Note(diagnostic) => {
                let line = diagnostic.line;
                let start =
                    line_start(part.text, (diagnostic.span.start - part.before) as usize, part.before == 0);
                (line, start, 1, Err(Box::new(Fault::of_diagnostic(diagnostic))))
            }
            // Not enabled.
            _ => return,
        };
        let (line, line_start) = (part.lines + line - 1 - part.before, part.at + line_start);
        let verdict = Verdict { line, line_start, column, kept: self.kept.len(), result };
        // Only the first result of a line counts.
        if self.verdicts.last().is_none_or(|last| last.line < verdict.line) {
            self.faults += usize::from(verdict.result.is_err());
            self.verdicts.push(verdict);
        }
    }

    /// Records a line above the limit.
    fn too_long(&mut self, line_start: usize, limit: usize) {
        let result = Err(too_long(limit));
        self.verdicts.push(Verdict {
            line: self.lines,
            line_start,
            column: 1,
            kept: self.kept.len(),
            result,
        });
        self.lines += 1;
        self.faults += 1;
    }
}

/// The start of the line that contains `at`. A byte order mark belongs to no line.
fn line_start(text: &[u8], at: usize, is_first: bool) -> usize {
    memrchr(b'\n', &text[..at]).map_or_else(|| bom_len(text, is_first), |end| end + 1)
}

impl Fault {
    pub(crate) fn duplicate_id(column: u64) -> Self {
        let code = ErrorCode::DuplicateConversationId;
        Self {
            code,
            rule: code.as_str().to_owned(),
            message: "an earlier conversation has this id".to_owned(),
            instance_path: "/conversation_id".to_owned(),
            column,
        }
    }

    /// The error that a report lists.
    pub(crate) fn into_error(self, line_number: u64, line_start: u64, input_path: String) -> LineError {
        let Self { code, rule, message, instance_path, column } = self;
        let byte_offset = line_start + column - 1;
        LineError { line_number, code, message, column, byte_offset, instance_path, rule, input_path }
    }

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
