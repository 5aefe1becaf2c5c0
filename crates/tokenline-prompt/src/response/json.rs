//! The JSON value of a response: alone, in a code fence, or in prose.

use std::convert::Infallible;
use std::sync::Arc;

use tokenline_core::adapter::{Judge, Rules, SourceEnd, Verdict};
use tokenline_core::json::{Raw, Value};
use tokenline_core::{
    CheckedChunk, Code, Diagnostic, Event, LentEvent, Limits, Options, Record, RecordDecoder, Recovery, Span,
};
use tokenline_schema::SchemaValidator;

use crate::error::{JsonResponseError, JsonResponseErrorKind};

/// Finds the value of a response, and validates it against the schema.
///
/// It is the first value in a code fence, or else the first in the response. A value nested in a truncated or malformed
/// unclosed one is never used.
pub(crate) fn read(response: &[u8], schema: Option<&SchemaValidator>) -> Result<Raw, JsonResponseError> {
    // The response is in memory anyway.
    let limits = Limits { line_bytes: usize::MAX, ..Limits::default() };
    let mut decoder = RecordDecoder::new(Options::lenient().whole_values(true).limits(limits));
    let mut rules = Rules::default();
    if let Some(schema) = schema {
        rules.add_validator(Arc::new(schema.clone()));
    }
    let judge = Judge::new(Arc::new(rules), &limits);
    let mut search = Search { response, judge, value: None, reject: None, is_over: false };
    let mut text = CheckedChunk::new(response);
    while !search.is_over
        && let Some(event) = decoder.next_event(&mut text)
    {
        search.take(event);
    }
    while !search.is_over
        && let Some(event) = decoder.finish()
    {
        search.take(event);
    }
    let reason = if response.trim_ascii().is_empty() {
        "the response is empty"
    } else {
        "the response contains no JSON"
    };
    let nothing = || Diagnostic::new(Code::MalformedJson, 1, Span::new(0, 0), 1, reason);
    search.value.unwrap_or_else(|| {
        let reject = search.reject.unwrap_or_else(nothing);
        Err(JsonResponseError::new(response, JsonResponseErrorKind::JsonParse, reject))
    })
}

struct Search<'a> {
    response: &'a [u8],
    judge: Judge,
    /// The first value, unless there is one in a code fence.
    value: Option<Result<Raw, JsonResponseError>>,
    /// The diagnostic of the first rejected value.
    reject: Option<Diagnostic>,
    is_over: bool,
}

impl Search<'_> {
    fn take(&mut self, event: LentEvent<'_>) {
        match event {
            Event::Record(record) => {
                let is_fenced = record.recovered.contains(Recovery::Fence);
                if is_fenced || self.value.is_none() {
                    let make = |record: &Record<Value<'_>>| Ok(Ok(record.map(Raw::from)));
                    let Ok(()) = self.judge.judge(&record, SourceEnd::Clean, make, |verdict| {
                        self.value = match verdict {
                            Verdict::Record(record) => Some(Ok(record.value)),
                            verdict => verdict.diagnostic().map(|diagnostic| {
                                let kind = JsonResponseErrorKind::SchemaValidation;
                                Err(JsonResponseError::new(self.response, kind, diagnostic.clone()))
                            }),
                        };
                        Ok::<_, Infallible>(())
                    });
                }
                self.is_over = is_fenced;
            }
            Event::Rejected(diagnostic) => {
                let Span { start, end } = diagnostic.span;
                let text = &self.response[start as usize..end as usize];
                let count = |of: [u8; 2]| text.iter().filter(|byte| of.contains(byte)).count();
                let is_left_open = count(*b"{[") > count(*b"}]");
                self.is_over = is_left_open || diagnostic.code == Code::Truncated;
                self.reject.get_or_insert(diagnostic);
            }
            Event::Note(_) => {}
            other => unreachable!("no parts were asked for: {other:?}"),
        }
    }
}
