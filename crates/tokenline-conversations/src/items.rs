//! The elements of an array in a JSON document, as records.

use std::io;

use memchr::{memchr, memchr_iter, memrchr};
use tokenline_core::Code;
use tokenline_core::json::{Expected, Parser, SyntaxError, UnexpectedToken, Value};

use crate::lines::{Contract, Count, Engine, Fault};

impl<C: Contract, K: Count<C>> Engine<'_, C, K> {
    /// Checks the elements of the array at `pointer` in a document.
    pub(crate) fn read_items(&mut self, path: String, document: &[u8], pointer: &str) -> io::Result<()> {
        self.begin(path);
        let document = document.strip_prefix("\u{feff}".as_bytes()).unwrap_or(document);
        let mut lines = LineCounter { document, offset: 0, line: 1, line_start: 0, line_end: None };
        let ends_open = !document.is_empty() && !document.ends_with(b"\n");
        self.tally.counts.lines += memchr_iter(b'\n', document).count() as u64 + u64::from(ends_open);
        let text = match std::str::from_utf8(document) {
            Ok(text) => text,
            Err(error) => {
                let message = "the document holds bytes that are not UTF-8".to_owned();
                return self.fail(&mut lines, Code::InvalidUtf8, message, error.valid_up_to(), b"");
            }
        };
        let mut parser = Parser::new().with_limits(&self.limits);
        let root = match parser.parse(text) {
            Ok(root) => root,
            Err(error) => {
                return self.fail(&mut lines, code(&error), error.description(), error.offset, b"");
            }
        };
        let Some(items) = root.pointer(pointer).and_then(Value::as_array) else {
            let message = format!("no array of items at `{pointer}`");
            return self.fail(&mut lines, Code::MissingField, message, root.range().start, b"");
        };
        for item in items {
            self.check_item(item, &mut lines)?;
        }
        Ok(())
    }

    fn check_item(&mut self, item: Value<'_>, lines: &mut LineCounter<'_>) -> io::Result<()> {
        let start = item.range().start;
        if item.as_object().is_none() {
            let message = format!("expected an object, found {}", item.kind().with_article());
            return self.fail(lines, Code::NotAnObject, message, start, item.to_single_line().as_bytes());
        }
        let violation = self.contract.duplicate_key(item);
        let checked = violation.map_or_else(|| self.contract.check(item, &mut Vec::new()), Err);
        let violation = match checked {
            Ok(fact) => {
                self.tally.counts.non_empty += 1;
                let counted = self.tally.total.count(fact, 1);
                debug_assert!(counted.is_ok(), "records without ids do not conflict");
                return Ok(());
            }
            Err(violation) => violation,
        };
        let mut all = self.contract.violations(item);
        if all.is_empty() {
            all.push(*violation);
        }
        lines.advance(start);
        let places = all.iter().map(|violation| lines.clone().advance(violation.offset)).collect::<Vec<_>>();
        let faults = all.into_iter().zip(places).map(|(violation, place)| {
            let Place { line, line_start, column } = place;
            (Fault::of_violation(violation, column), line, line_start)
        });
        let content = item.to_single_line();
        let faults: Vec<_> = faults.collect();
        let line = lines.line_at(faults.first().map_or(0, |(.., line_start)| *line_start));
        self.tally.invalid_item(faults, line, content.as_bytes())
    }

    /// Reports a fault at this offset.
    fn fail(
        &mut self,
        lines: &mut LineCounter<'_>,
        code: Code,
        message: String,
        offset: usize,
        record: &[u8],
    ) -> io::Result<()> {
        let Place { line, line_start, column } = lines.advance(offset);
        let fault = Fault::of_line(code, message, column);
        self.tally.invalid_item(vec![(fault, line, line_start)], lines.line_at(line_start), record)
    }
}

fn code(error: &SyntaxError) -> Code {
    match (error.expected, error.found) {
        (Expected::LessDepth, _) => Code::TooDeep,
        (_, UnexpectedToken::EndOfInput) => Code::Truncated,
        _ => Code::MalformedJson,
    }
}

/// Counts lines on the way through a document, so that each byte is counted once.
#[derive(Clone)]
struct LineCounter<'d> {
    document: &'d [u8],
    /// The offset up to which lines are counted, and the line there.
    offset: usize,
    line: u64,
    line_start: usize,
    /// The end of the line, once it was looked for: all items may be on one line.
    line_end: Option<usize>,
}

/// Where an offset is.
struct Place {
    line: u64,
    line_start: usize,
    column: u64,
}

impl LineCounter<'_> {
    /// Goes on to an offset, or stays if it is before.
    fn advance(&mut self, offset: usize) -> Place {
        let offset = offset.clamp(self.offset, self.document.len());
        let passed = &self.document[self.offset..offset];
        if let Some(last) = memrchr(b'\n', passed) {
            self.line += memchr_iter(b'\n', passed).count() as u64;
            (self.line_start, self.line_end) = (self.offset + last + 1, None);
        }
        self.offset = offset;
        let line_start = self.line_start;
        Place { line: self.line, line_start, column: (offset - line_start) as u64 + 1 }
    }

    /// The line that starts at this offset, without its ending.
    fn line_at(&mut self, start: usize) -> &[u8] {
        let end = || memchr(b'\n', &self.document[start..]).map_or(self.document.len(), |at| start + at);
        let end = if start == self.line_start { *self.line_end.get_or_insert_with(end) } else { end() };
        &self.document[start..end]
    }
}
