//! Rows that are a response in a provider's wire format.

use std::sync::Arc;

use tokenline_core::json::{Parser, Raw, Value};
use tokenline_core::{Code, Limits, Options, Record};
use tokenline_llm::{Provider, ResponseEvent, ResponseOptions, ResponseParser, TextMode};

use super::text::write;
use crate::error::Full;
use crate::options::Rules;
use crate::output::{Output, Status};

/// Reads responses of one provider.
pub(crate) struct ResponseReader {
    provider: Provider,
    rules: Rules,
    /// Made when the first row of its kind comes.
    stream: Option<ResponseParser<Raw>>,
    body: Option<ResponseParser<Raw>>,
    json: Parser,
}

impl ResponseReader {
    pub(crate) fn new(rules: &Rules, provider: Provider) -> Self {
        let json = deep_parser();
        Self { provider, rules: rules.clone(), stream: None, body: None, json }
    }

    pub(crate) fn read(&mut self, row: &[u8], out: &mut Output) -> Result<Status, Full> {
        let new = || ResponseParser::new(self.provider, options(&self.rules, self.rules.options.clone()));
        let parser = if is_body_on_lines(self.provider, row, &mut self.json) {
            self.body.get_or_insert_with(|| new().whole_body())
        } else {
            self.stream.get_or_insert_with(new)
        };
        parser.reset();
        parser.push(row);
        parser.finish();
        let mut has_failed = false;
        while let Some(event) = parser.next_event() {
            has_failed |= event.diagnostic().is_some_and(|diagnostic| diagnostic.code == Code::ProviderError);
            handle(&event, &mut self.json, out)?;
        }
        Ok(status_of(parser, has_failed))
    }
}

/// How a response ended. `has_failed`: the provider reported an error.
pub(super) fn status_of(parser: &ResponseParser<Raw>, has_failed: bool) -> Status {
    if parser.is_complete() && !parser.is_cut_off() {
        Status::Complete
    } else if has_failed && !parser.is_complete() {
        Status::Failed
    } else {
        Status::Incomplete
    }
}

/// How the rules read a response.
pub(super) fn options(rules: &Rules, text: Options) -> ResponseOptions {
    let text_as = if rules.wants_calls { TextMode::ToolCalls } else { TextMode::Records };
    let mut options = ResponseOptions::from(text).text_as(text_as);
    if let Some(schema) = &rules.schema {
        options = options.validator(schema.clone());
    }
    if let Some(tools) = &rules.tools {
        options = options.tools(Arc::clone(tools));
    }
    options
}

/// Whether a row of JSON lines is one object on several lines instead. Other providers' parsers detect a body themselves.
fn is_body_on_lines(provider: Provider, row: &[u8], json: &mut Parser) -> bool {
    let row = row.trim_ascii();
    let may_be = provider == Provider::Ollama && row.starts_with(b"{") && row.contains(&b'\n');
    may_be && std::str::from_utf8(row).is_ok_and(|row| json.parse(row).is_ok())
}

/// Writes an event of a response.
pub(super) fn handle(event: &ResponseEvent<Raw>, json: &mut Parser, out: &mut Output) -> Result<(), Full> {
    match event {
        ResponseEvent::Record { record, .. } => handle_record(record, json, out),
        ResponseEvent::ToolCall { call, record, .. } => {
            let calls = out.calls.as_mut().expect("a response has a column for its calls");
            calls.push(call, record.as_ref())
        }
        ResponseEvent::RejectedCall { call, .. } => out.rejects.push(&call.diagnostic),
        ResponseEvent::Rejected { diagnostic, .. } => out.rejects.push(diagnostic),
        // Notes are not rejects; text, reasoning and usage are not asked for here.
        _ => Ok(()),
    }
}

fn handle_record(record: &Record<Raw>, json: &mut Parser, out: &mut Output) -> Result<(), Full> {
    if !out.records.is_typed() {
        return out.records.push_text(record, &record.value.to_single_line());
    }
    let value = json.parse(record.value.as_str()).expect("the parser released it as JSON");
    let Record { line, column, span, completion, recovered, .. } = *record;
    write_record(&Record { value, line, column, span, completion, recovered }, out)
}

/// Writes a valid record, or a reject if it does not fit its columns.
pub(super) fn write_record(record: &Record<Value<'_>>, out: &mut Output) -> Result<(), Full> {
    match write(record, &mut out.records)? {
        Ok(_) => Ok(()),
        Err(misfit) => out.rejects.push(&misfit),
    }
}

/// A parser for text that another one has accepted, whose limit may have been any.
pub(super) fn deep_parser() -> Parser {
    Parser::new().with_limits(&Limits { depth: Limits::MAX_DEPTH, ..Limits::default() })
}
