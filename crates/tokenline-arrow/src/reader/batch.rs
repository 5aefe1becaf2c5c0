//! Rows that are a line of a batch result file.

use tokenline_core::json::{Parser, Raw};
use tokenline_core::{Code, Diagnostic, Origin, Span};
use tokenline_llm::batch::{BatchFormat, BatchOutcome};
use tokenline_llm::{Provider, ResponseEvent, ResponseParser};

use super::response::{configure, deep_parser, handle};
use crate::error::Full;
use crate::options::Rules;
use crate::output::{Output, Status};

pub(crate) struct BatchReader {
    format: BatchFormat,
    rules: Rules,
    /// The parser of the previous response, reused for the same provider.
    parser: Option<(Provider, ResponseParser<Raw>)>,
    line: Parser,
    json: Parser,
}
impl BatchReader {
    pub(crate) fn new(rules: &Rules, format: BatchFormat) -> Self {
        Self { format, rules: rules.clone(), parser: None, line: Parser::new(), json: deep_parser() }
    }

    pub(crate) fn read(&mut self, row: &[u8], out: &mut Output) -> Result<Status, Full> {
        let span = Span::new(0, row.len() as u64);
        let text = String::from_utf8_lossy(row);
        let result = match self.line.parse(text.trim()) {
            Ok(value) => self.format.read(value),
            Err(error) => {
                let code = Code::MalformedJson;
                out.rejects.push(&Diagnostic::new(
                    code,
                    1,
                    span,
                    error.offset as u64 + 1,
                    error.to_string(),
                ))?;
                return Ok(Status::Failed);
            }
        };
        let columns = out.batch.as_mut().expect("a batch has its columns").row();
        columns.custom_id = result.custom_id;
        columns.http_status = result.status;
        let (provider, body) = match result.outcome {
            BatchOutcome::Response { provider, body } => (provider, body),
            BatchOutcome::Failed { message } => {
                columns.error = Some(message.clone());
                let diagnostic = Diagnostic::new(Code::ProviderError, 1, span, 1, message);
                out.rejects.push(&diagnostic.with_origin(Origin::Wire))?;
                return Ok(Status::Failed);
            }
            _ => return Ok(Status::Failed),
        };
        let parser = self.parser.take().filter(|(previous, _)| *previous == provider);
        let rules = &self.rules;
        let (_, parser) = self.parser.insert(parser.unwrap_or_else(|| {
            let parser = ResponseParser::new(provider, rules.options.clone()).whole_body();
            (provider, configure(parser, rules).with_text_deltas())
        }));
        parser.reset();
        parser.push(body.as_str().as_bytes());
        parser.finish();
        let mut has_failed = false;
        while let Some(event) = parser.next_event() {
            if let Some(diagnostic) = event.diagnostic().filter(|its| its.code == Code::ProviderError) {
                has_failed = true;
                out.batch.as_mut().expect("a batch has its columns").row().error =
                    Some(diagnostic.message.clone());
            }
            if let ResponseEvent::TextDelta { choice: 0, text, .. } = &event {
                let row = out.batch.as_mut().expect("a batch has its columns").row();
                row.text.get_or_insert_default().push_str(text);
            }
            handle(&event, &mut self.json, out, |diagnostic| {
                if diagnostic.origin == Origin::Wire {
                    (diagnostic.line, diagnostic.span) = (1, span);
                }
            })?;
        }
        Ok(match parser.is_complete() {
            true => Status::Complete,
            false if has_failed => Status::Failed,
            false => Status::Incomplete,
        })
    }
}
