//! Rows that are a line of a batch result file.

use tokenline_core::json::{Parser, Raw};
use tokenline_core::{Code, Diagnostic, Origin, Span};
use tokenline_llm::batch::{self, BatchFormat};
use tokenline_llm::{LentResponseEvent, ResponseEvent};

use super::response::{deep_parser, handle, options, status_of, write_record};
use crate::error::Full;
use crate::options::Rules;
use crate::output::{BatchRow, Output, Status};

/// Reads the lines of one format.
pub(crate) struct BatchReader {
    lines: batch::BatchReader<Raw>,
    json: Parser,
}

impl BatchReader {
    pub(crate) fn new(rules: &Rules, format: BatchFormat) -> Self {
        let options = options(rules, rules.options.clone()).text_deltas();
        let lines = batch::BatchReader::new(format, options);
        Self { lines, json: deep_parser() }
    }

    pub(crate) fn read(&mut self, row: &[u8], out: &mut Output) -> Result<Status, Full> {
        let span = Span::new(0, row.len() as u64);
        let reject = |code, column, message: String| Diagnostic::new(code, 1, span, column, message);
        let text = match simdutf8::compat::from_utf8(row) {
            Ok(text) => text.trim_end(),
            Err(error) => {
                let column = error.valid_up_to() as u64 + 1;
                out.rejects.push(&reject(Code::InvalidUtf8, column, "the line is not UTF-8".to_owned()))?;
                return Ok(Status::Failed);
            }
        };
        let Self { lines, json } = self;
        let mut line = match lines.read_line(text) {
            Ok(line) => line,
            Err(error) => {
                out.rejects.push(&reject(Code::MalformedJson, error.offset as u64 + 1, error.to_string()))?;
                return Ok(Status::Failed);
            }
        };
        row_of(out).custom_id = line.custom_id.take().map(Into::into);
        row_of(out).http_status = line.status;
        if let Some(failure) = line.failure {
            out.rejects
                .push(&reject(Code::ProviderError, 1, failure.message.clone()).with_origin(Origin::Wire))?;
            row_of(out).error = Some(failure.message);
            return Ok(Status::Failed);
        }
        let mut written = Ok(());
        line.lend_events(|mut event| {
            if written.is_ok() {
                written = take(&mut event, json, out);
            }
        });
        written?;
        let has_failed = row_of(out).error.is_some();
        Ok(line.response().map_or(Status::Incomplete, |parser| status_of(parser, has_failed)))
    }
}

/// Writes an event of a line.
fn take(event: &mut LentResponseEvent<'_>, json: &mut Parser, out: &mut Output) -> Result<(), Full> {
    let event = match event {
        LentResponseEvent::Record { record, .. } => return write_record(record, out),
        LentResponseEvent::Event(event) => event,
        _ => return Ok(()),
    };
    match event {
        ResponseEvent::TextDelta { choice: 0, text, .. } => match &mut row_of(out).text {
            Some(before) => before.push_str(text),
            before => *before = Some(std::mem::take(text)),
        },
        ResponseEvent::Rejected { diagnostic, .. } if diagnostic.code == Code::ProviderError => {
            row_of(out).error = Some(diagnostic.message.clone());
        }
        _ => {}
    }
    handle(event, json, out)
}

/// The fields of the current row.
fn row_of(out: &mut Output) -> &mut BatchRow {
    out.batch.as_mut().expect("a batch has its columns").row()
}
