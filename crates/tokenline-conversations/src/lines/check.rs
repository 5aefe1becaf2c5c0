//! Checks the lines of a block against a contract.

use memchr::{memchr, memrchr};
use tokenline_core::json::Value;
use tokenline_core::{Code, Diagnostic, Event, LentEvent, Limits, Record, Span, Violation};

use super::blocks::{Block, Progress};
use super::decode::{LineDecoder, Lines, bom_len};
use super::workers::Worker;
use crate::{ErrorCode, LineError};

/// The rules for each line.
pub(crate) trait Contract: Send + Sync {
    /// The data kept of a valid line until it is counted.
    type Fact: Send;

    /// Checks a record against the contract.
    fn check(&self, record: Value<'_>, kept: &mut Vec<u8>) -> Result<Self::Fact, Box<Violation>>;

    /// All violations of a record that the contract rejects, in the order of the text. None if the first is enough.
    fn violations(&self, _record: Value<'_>) -> Vec<Violation> {
        Vec::new()
    }

    /// Whether the syntax of malformed lines is to be repaired.
    fn repairs_syntax(&self) -> bool {
        false
    }

    /// The fact of a malformed line, if the text proves how its syntax is to be repaired.
    fn repaired(&self, _line: &str) -> Option<Self::Fact> {
        None
    }

    /// The violation of a record in which an object names a member twice.
    fn duplicate_key(&self, record: Value<'_>) -> Option<Box<Violation>> {
        Violation::duplicate_key(record)
    }

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

/// The first fault of a line, and perhaps the others.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) code: ErrorCode,
    pub(crate) rule: String,
    pub(crate) message: String,
    pub(crate) instance_path: String,
    /// The column, counted from 1 in bytes.
    pub(crate) column: u64,
    /// The other faults of the line, if all are wanted.
    pub(crate) further: Vec<Fault>,
}

/// Checks blocks, one after another.
pub(crate) struct Checker(LineDecoder);

impl Checker {
    pub(crate) fn new(limits: Limits) -> Self {
        Self(LineDecoder::new(limits))
    }

    /// Checks a block, or as much of its rest as yields [`MAX_FAULTS`].
    pub(crate) fn check<C: Contract>(&mut self, block: &mut Block, contract: &C) -> Checked<C::Fact> {
        let Block { text, progress } = block;
        let Progress { start, line, .. } = *progress;
        let mut lines = CheckedLines::new(contract, text.lines(), progress, self.0.limit);
        self.0.decode(text, progress, &mut lines);
        let CheckedLines { verdicts, kept, .. } = lines;
        Checked { start, lines: progress.line - line, verdicts, kept }
    }

    /// Checks one line; `None` if it is blank. Without a line feed it is the last of its input.
    pub(crate) fn check_line<C: Contract>(
        &mut self,
        line: &[u8],
        is_first: bool,
        contract: &C,
    ) -> Option<Verdict<C::Fact>> {
        let mut progress = Progress::new(u64::from(!is_first), 1);
        let mut lines = CheckedLines::new(contract, line, &progress, self.0.limit);
        self.0.decode_text(line, &mut progress, &mut lines);
        lines.verdicts.into_iter().next()
    }
}

/// Checks blocks on one thread.
pub(super) struct CheckWorker<'c, C> {
    pub(super) checker: Checker,
    pub(super) contract: &'c C,
}

impl<C: Contract> Worker for CheckWorker<'_, C> {
    type Result = Checked<C::Fact>;

    const NUMBERS_LINES: bool = false;

    fn process(&mut self, block: &mut Block) -> Self::Result {
        self.checker.check(block, self.contract)
    }
}

/// Faults per part: a block may have one in every second byte, at some hundred bytes each.
const MAX_FAULTS: usize = 1024;

struct CheckedLines<'c, C: Contract> {
    contract: &'c C,
    /// The block, and its offset in the source.
    text: &'c [u8],
    start: u64,
    /// The first line of the part.
    first: u64,
    limit: usize,
    faults: usize,
    verdicts: Vec<Verdict<C::Fact>>,
    kept: Vec<u8>,
}

impl<'c, C: Contract> CheckedLines<'c, C> {
    fn new(contract: &'c C, text: &'c [u8], progress: &Progress, limit: usize) -> Self {
        let Progress { start, line: first, .. } = *progress;
        Self { contract, text, start, first, limit, faults: 0, verdicts: Vec::new(), kept: Vec::new() }
    }

    fn check(&mut self, value: Value<'_>, column: u64) -> Result<C::Fact, Box<Fault>> {
        let start = self.kept.len();
        let result = match self.contract.duplicate_key(value) {
            None => self.contract.check(value, &mut self.kept),
            Some(violation) => Err(violation),
        };
        result.map_err(|violation| {
            self.kept.truncate(start);
            let all = self.contract.violations(value).into_iter();
            let mut all = all.map(|violation| self.fault(violation, column));
            let first = all.next().unwrap_or_else(|| self.fault(*violation, column));
            Box::new(Fault { further: all.collect(), ..first })
        })
    }

    fn repaired(&self, line_start: usize) -> Option<C::Fact> {
        let line = self.text.get(line_start..)?;
        let line = &line[..memchr(b'\n', line).unwrap_or(line.len())];
        self.contract.repaired(str::from_utf8(line).ok()?)
    }

    fn fault(&self, mut violation: Violation, column: u64) -> Fault {
        violation.instance_path = self.contract.public_path(violation.instance_path);
        let column = column + violation.offset as u64;
        Fault::of_violation(violation, column)
    }

    fn push(&mut self, line: u64, line_start: usize, column: u64, result: Result<C::Fact, Box<Fault>>) {
        let line = line - self.first;
        // Only the first result of a line counts.
        if self.verdicts.last().is_none_or(|last| last.line < line) {
            self.faults += result.as_ref().map_or_else(|fault| 1 + fault.further.len(), |_| 0);
            self.verdicts.push(Verdict { line, line_start, column, kept: self.kept.len(), result });
        }
    }
}

impl<C: Contract> Lines for CheckedLines<'_, C> {
    fn event(&mut self, event: LentEvent<'_>) {
        match event {
            Event::Record(record) => {
                let Record { line, column, span, value, .. } = record;
                let result = self.check(value, column);
                self.push(line, (span.start - self.start - (column - 1)) as usize, column, result);
            }
            Event::Rejected(diagnostic) | Event::Note(diagnostic) => {
                let at = (diagnostic.span.start - self.start) as usize;
                let line_start = line_start(self.text, at, self.start == 0);
                let line = diagnostic.line;
                let repaired = if self.contract.repairs_syntax() { self.repaired(line_start) } else { None };
                let result = repaired.ok_or_else(|| Box::new(Fault::of_diagnostic(diagnostic)));
                self.push(line, line_start, 1, result);
            }
            // Not enabled.
            _ => {}
        }
    }

    fn too_long(&mut self, line: u64, span: Span) {
        let line_start = (span.start - self.start) as usize;
        let message = format!("the line exceeds the limit of {} bytes", self.limit);
        let fault = Fault::of_line(Code::LineTooLong, message, 1);
        self.push(line, line_start, 1, Err(Box::new(fault)));
    }

    fn is_full(&self) -> bool {
        self.faults >= MAX_FAULTS
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
            further: Vec::new(),
        }
    }

    /// The error that a report lists.
    pub(crate) fn into_error(self, line_number: u64, line_start: u64, input_path: String) -> LineError {
        let Self { code, rule, message, instance_path, column, .. } = self;
        let byte_offset = line_start + column - 1;
        LineError { line_number, code, message, column, byte_offset, instance_path, rule, input_path }
    }

    /// The fault of a violation at this column.
    pub(crate) fn of_violation(violation: Violation, column: u64) -> Self {
        let Violation { code, instance_path, schema_path, message, .. } = violation;
        let rule = if code == Code::DuplicateKey { code.as_str().to_owned() } else { schema_path };
        let code = ErrorCode::Record(code);
        Self { code, rule, message, instance_path, column, further: Vec::new() }
    }

    fn of_diagnostic(diagnostic: Diagnostic) -> Self {
        Self::of_line(diagnostic.code, diagnostic.message, diagnostic.column)
    }

    /// A fault that is not about a rule of the contract.
    pub(crate) fn of_line(code: Code, message: String, column: u64) -> Self {
        Self {
            code: ErrorCode::Record(code),
            rule: code.as_str().to_owned(),
            message,
            instance_path: String::new(),
            column,
            further: Vec::new(),
        }
    }
}
