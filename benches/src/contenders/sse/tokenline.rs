//! tokenline: the push parser, and the stream around it.

use std::hint::black_box;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use tokenline::json::Raw;
use tokenline::llm::{Provider, ResponseEvent, ResponseParser, ResponseStream};
use tokenline::{Options, ToolCall};

use super::naive::Definition;
use super::{Extracted, drive, responses, source};
use crate::contenders::Run;
use crate::corpora::Corpus;

pub(super) fn parsed_calls(corpus: &Corpus) -> Run<'_> {
    let mut parser = parser::<Raw>();
    responses(corpus, move |response| {
        parsed(&mut parser, response, |event| match event {
            ResponseEvent::ToolCall { call, .. } => extracted_call(call),
            _ => Extracted::default(),
        })
    })
}

pub(super) fn parsed_records(corpus: &Corpus) -> Run<'_> {
    let mut parser = parser::<Definition>();
    responses(corpus, move |response| {
        parsed(&mut parser, response, |event| match event {
            ResponseEvent::Record { record, .. } => record.value.extracted(),
            _ => Extracted::default(),
        })
    })
}

pub(super) fn streamed_calls(corpus: &Corpus) -> Run<'_> {
    responses(corpus, |response| {
        let mut extracted = Extracted::default();
        let calls = ResponseStream::new(source(response), parser::<Raw>()).tool_calls();
        drive(calls, |call| extracted = extracted + extracted_call(call.expect("a complete response")));
        extracted
    })
}

pub(super) fn streamed_records(corpus: &Corpus) -> Run<'_> {
    responses(corpus, |response| {
        let mut extracted = Extracted::default();
        let records = ResponseStream::new(source(response), parser::<Definition>()).records();
        drive(records, |record| {
            extracted = extracted + record.expect("a complete response").value.extracted();
        });
        extracted
    })
}

fn parser<T>() -> ResponseParser<T> {
    ResponseParser::new(Provider::OpenAiChat, Options::lenient())
}

/// Pushes one response to the parser, and resets the parser for the next.
fn parsed<T: DeserializeOwned>(
    parser: &mut ResponseParser<T>,
    response: &[Bytes],
    mut extract: impl FnMut(ResponseEvent<T>) -> Extracted,
) -> Extracted {
    let mut extracted = Extracted::default();
    for chunk in response {
        parser.push(chunk);
        while let Some(event) = parser.next_event() {
            extracted = extracted + extract(event);
        }
    }
    parser.finish();
    assert!(parser.next_event().is_none() && parser.is_complete(), "a complete response");
    parser.reset();
    extracted
}

fn extracted_call(call: ToolCall) -> Extracted {
    let call = black_box(call);
    let id = call.call_id.as_ref().map_or(0, String::len);
    Extracted::one(id + call.name.len() + call.parameters.as_str().len())
}
