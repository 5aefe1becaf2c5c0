//! tokenline: the push parser, and the stream around it.

use std::hint::black_box;

use bytes::Bytes;
use tokenline::json::Raw;
use tokenline::llm::{Provider, ResponseEvent, ResponseParser, ResponseStream};
use tokenline::{Options, ToolCall};

use super::naive::Definition;
use super::{Extracted, drive, responses, source};
use crate::contenders::Run;
use crate::corpora::Corpus;

/// Pushes the responses to one parser, and counts their calls and records.
pub(super) fn pushed(corpus: &Corpus) -> Run<'_> {
    let mut parser = parser::<Definition>(Options::lenient());
    responses(corpus, move |response| parsed(&mut parser, response))
}

pub(super) fn streamed_calls(corpus: &Corpus) -> Run<'_> {
    responses(corpus, |response| {
        let mut extracted = Extracted::default();
        let calls = ResponseStream::new(source(response), parser::<Raw>(Options::lenient())).tool_calls();
        drive(calls, |call| extracted = extracted + extracted_call(call.expect("a complete response")));
        extracted
    })
}

pub(super) fn streamed_records(corpus: &Corpus) -> Run<'_> {
    responses(corpus, |response| {
        let mut extracted = Extracted::default();
        let records =
            ResponseStream::new(source(response), parser::<Definition>(Options::lenient())).records();
        drive(records, |record| {
            extracted = extracted + record.expect("a complete response").value.extracted();
        });
        extracted
    })
}

pub(super) fn parser<T>(options: Options) -> ResponseParser<T> {
    ResponseParser::new(Provider::OpenAiChat, options)
}

/// Pushes one response to the parser, and resets the parser for the next.
fn parsed(parser: &mut ResponseParser<Definition>, response: &[Bytes]) -> Extracted {
    let mut all = Extracted::default();
    for chunk in response {
        parser.push(chunk);
        while let Some(event) = parser.next_event() {
            all = all + extracted(event);
        }
    }
    parser.finish();
    assert!(parser.next_event().is_none() && parser.is_complete(), "a complete response");
    parser.reset();
    all
}

pub(super) fn extracted(event: ResponseEvent<Definition>) -> Extracted {
    match event {
        ResponseEvent::Record { record, .. } => record.value.extracted(),
        ResponseEvent::ToolCall { call, .. } => extracted_call(call),
        _ => Extracted::default(),
    }
}

fn extracted_call(call: ToolCall) -> Extracted {
    let call = black_box(call);
    let id = call.call_id.as_ref().map_or(0, String::len);
    Extracted::one(id + call.name.len() + call.parameters.as_str().len())
}
