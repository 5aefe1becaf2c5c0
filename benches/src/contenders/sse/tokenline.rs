//! Tokenline itself: the parser pushed to by hand, and the stream around it.

use std::hint::black_box;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use tokenline::json::Raw;
use tokenline::llm::{Provider, ResponseEvent, ResponseParser, ResponseStream};
use tokenline::{Options, ToolCall};

use super::naive::Definition;
use super::{Found, answers, drive, source};
use crate::contenders::Run;
use crate::corpora::Corpus;

pub(super) fn parsed_calls(corpus: &Corpus) -> Run<'_> {
    let mut parser = parser::<Raw>();
    answers(corpus, move |answer| {
        parsed(&mut parser, answer, |event| match event {
            ResponseEvent::ToolCall { call, .. } => found_call(call),
            _ => Found::default(),
        })
    })
}

pub(super) fn parsed_records(corpus: &Corpus) -> Run<'_> {
    let mut parser = parser::<Definition>();
    answers(corpus, move |answer| {
        parsed(&mut parser, answer, |event| match event {
            ResponseEvent::Record { record, .. } => record.value.found(),
            _ => Found::default(),
        })
    })
}

pub(super) fn streamed_calls(corpus: &Corpus) -> Run<'_> {
    answers(corpus, |answer| {
        let mut found = Found::default();
        let calls = ResponseStream::new(source(answer), parser::<Raw>()).tool_calls();
        drive(calls, |call| found = found + found_call(call.expect("a whole answer")));
        found
    })
}

pub(super) fn streamed_records(corpus: &Corpus) -> Run<'_> {
    answers(corpus, |answer| {
        let mut found = Found::default();
        let records = ResponseStream::new(source(answer), parser::<Definition>()).records();
        drive(records, |record| found = found + record.expect("a whole answer").value.found());
        found
    })
}

fn parser<T>() -> ResponseParser<T> {
    ResponseParser::new(Provider::OpenAiChat, Options::lenient())
}

/// One answer pushed to the parser, which is then made ready for the next.
fn parsed<T: DeserializeOwned>(
    parser: &mut ResponseParser<T>,
    answer: &[Bytes],
    mut found_in: impl FnMut(ResponseEvent<T>) -> Found,
) -> Found {
    let mut found = Found::default();
    for chunk in answer {
        parser.push(chunk);
        while let Some(event) = parser.next_event() {
            found = found + found_in(event);
        }
    }
    parser.finish();
    assert!(parser.next_event().is_none() && parser.is_complete(), "a whole answer");
    parser.reset();
    found
}

fn found_call(call: ToolCall) -> Found {
    let call = black_box(call);
    let id = call.call_id.as_ref().map_or(0, String::len);
    Found::one(id + call.name.len() + call.parameters.as_str().len())
}
