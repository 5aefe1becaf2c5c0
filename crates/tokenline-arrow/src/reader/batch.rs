//! Rows that are a line of a batch result file.

use tokenline_core::json::{Parser, Raw};
use tokenline_core::{Code, Diagnostic, Origin, Span};
use tokenline_llm::batch::{BatchFormat, BatchReader};
use tokenline_llm::{ResponseEvent, ResponseParser};

use super::response::{configure, deep_parser, handle};
use crate::error::Full;
use crate::options::Rules;
use crate::output::{Output, Status};

pub(crate) struct BatchRows {
    reader: BatchReader<Raw>,
    json: Parser,
}

impl BatchRows {
    pub(crate) fn new(rules: &Rules, format: BatchFormat) -> Self {
        let reader = BatchReader::new(format, rules.options.clone());
        let rules = rules.clone();
        let reader = reader.with_settings(move |parser| configure(parser, &rules).with_text_deltas());
        Self { reader, json: deep_parser() }
    }

    pub(crate) fn read(&mut self, row: &[u8], out: &mut Output) -> Result<Status, Full> {
        let span = Span::new(0, row.len() as u64);
        let text = String::from_utf8_lossy(row);
        let mut result = match self.reader.read_line(text.trim()) {
            Ok(result) => result,
            Err(error) => {
                let (code, column) = (Code::MalformedJson, error.offset as u64 + 1);
                out.rejects.push(&Diagnostic::new(code, 1, span, column, error.to_string()))?;
                return Ok(Status::Failed);
            }
        };
        let columns = out.batch.as_mut().expect("a batch has its columns").row();
        columns.custom_id = result.custom_id.take().map(Into::into);
        columns.http_status = result.status;
        if let Some(failure) = result.failure {
            columns.error = Some(failure.message.clone());
            let diagnostic = Diagnostic::new(Code::ProviderError, 1, span, 1, failure.message);
            out.rejects.push(&diagnostic.with_origin(Origin::Wire))?;
            return Ok(Status::Failed);
        }
        let mut has_failed = false;
        while let Some(event) = result.next_event() {
            let columns = out.batch.as_mut().expect("a batch has its columns").row();
            if let Some(diagnostic) = event.diagnostic().filter(|its| its.code == Code::ProviderError) {
                has_failed = true;
                columns.error = Some(diagnostic.message.clone());
            }
            if let ResponseEvent::TextDelta { choice: 0, text, .. } = &event {
                columns.text.get_or_insert_default().push_str(text);
            }
            handle(&event, &mut self.json, out)?;
        }
        Ok(match result.response().is_some_and(ResponseParser::is_complete) {
            true => Status::Complete,
            false if has_failed => Status::Failed,
            false => Status::Incomplete,
        })
    }
}
