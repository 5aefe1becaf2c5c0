//! `JsonlStreamParser` and its adaptors: events, their order, and the end.

use std::error::Error as _;
use std::io;
use std::sync::Arc;

use crate::common::{INPUTS, chunkings, expected, summary};
use bytes::BytesMut;
use futures_util::stream::{self, FusedStream};
use futures_util::{FutureExt, Stream, StreamExt, TryStreamExt};
use serde::Deserialize;
use tokenline_codec::{JsonlCodec, JsonlStreamParser, Reporting, StopOnRejectError, StreamError, ToolCalls};
use tokenline_core::json::{Raw, Value};
use tokenline_core::{
    CallFormat, Code, CompletedBy, Event, Limits, Options, Reads, Record, Release, TextEvent, Validate,
    ValidateCall, Violation,
};
use tokio_util::codec::Decoder;

type Chunk = Result<Vec<u8>, io::ErrorKind>;

fn source(chunks: impl IntoIterator<Item = impl AsRef<[u8]>>) -> impl Stream<Item = Chunk> + Unpin {
    let chunks: Vec<Chunk> = chunks.into_iter().map(|chunk| Ok(chunk.as_ref().to_vec())).collect();
    stream::iter(chunks)
}

/// Like `source`, with an error at the end.
fn failing(chunks: impl IntoIterator<Item = impl AsRef<[u8]>>) -> impl Stream<Item = Chunk> + Unpin {
    source(chunks).chain(stream::iter([Err(io::ErrorKind::ConnectionReset), Ok(b"{\"never\":1}\n".to_vec())]))
}

fn collect<S: Stream>(stream: S) -> Vec<S::Item> {
    tokio_test::block_on(stream.collect())
}

#[test]
fn any_split_gives_the_events_of_the_core() {
    for options in [Options::lenient(), Options::strict(), Options::lenient().release(Release::OnBalance)] {
        for input in INPUTS {
            let expected = expected(options.clone(), input);
            for chunks in chunkings(input) {
                let events = JsonlStreamParser::<_, Raw>::new(source(&chunks)).with_options(options.clone());
                let events: Vec<_> = collect(events).into_iter().map(Result::unwrap).collect();
                assert_eq!(events, expected, "{}", String::from_utf8_lossy(input));
            }
        }
    }
}

#[test]
fn chunks_may_be_any_bytes() {
    let records = |events: Vec<Result<Record<Raw>, StreamError<()>>>| events.len();
    let text = "{\"a\":1}\n{\"a\":2}\n";
    let strs = stream::iter([Ok(text)]);
    assert_eq!(records(collect(JsonlStreamParser::new(strs).records())), 2);
    let bytes = stream::iter([Ok(bytes::Bytes::from(text))]);
    assert_eq!(records(collect(JsonlStreamParser::new(bytes).records())), 2);
    let arrays = stream::iter(text.bytes().map(|byte| Ok([byte])));
    assert_eq!(records(collect(JsonlStreamParser::new(arrays).records())), 2);
}

#[test]
fn an_error_comes_after_what_was_complete_and_once() {
    // Complete records in one chunk, directly before the error; one open line, balanced or not.
    for (tail, last) in [
        ("", None),
        ("{\"b\":2}", Some("end_of_input {\"b\":2}")),
        ("{\"b\":", Some("truncated")),
        ("text", Some("(prose)")),
    ] {
        let text = format!("{{\"a\":1}}\n{{\"a\":2}},{{\"a\":3}}\n{tail}");
        for chunks in chunkings(text.as_bytes()) {
            let mut events = JsonlStreamParser::<_, Raw>::new(failing(&chunks));
            let mut seen = Vec::new();
            let error = loop {
                match events.next().now_or_never().unwrap().unwrap() {
                    Ok(event) => seen.push(summary(&event)),
                    Err(error) => break error,
                }
            };
            let mut expected = vec!["newline {\"a\":1}", "next_item {\"a\":2}", "newline {\"a\":3}"];
            expected.extend(last);
            assert_eq!(seen, expected);
            let StreamError::Source(error) = error else { panic!("{error}") };
            assert_eq!((error.offset(), *error.inner()), (text.len() as u64, io::ErrorKind::ConnectionReset));
            assert!(events.is_terminated());
            assert_eq!(events.size_hint(), (0, Some(0)));
            for _ in 0..3 {
                assert!(events.next().now_or_never().unwrap().is_none());
            }
            assert!(!events.report().is_complete());
        }
    }
}

#[test]
fn a_source_error_names_its_cause_once() {
    let failing = stream::iter([Ok("{}\n"), Err(io::Error::other("reset by peer"))]);
    let mut records = JsonlStreamParser::<_, Raw>::new(failing).records();
    assert!(records.next().now_or_never().unwrap().unwrap().is_ok());
    let error = records.next().now_or_never().unwrap().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "the source failed after 3 bytes: reset by peer");
    // A chain of errors does not repeat it.
    assert!(error.source().is_none());
    let StreamError::Source(error) = error else { panic!("{error}") };
    let error = StopOnRejectError::from(error);
    assert_eq!(error.to_string(), "the source failed after 3 bytes: reset by peer");
    assert!(error.source().is_none());
}

#[test]
fn it_is_fused_and_an_empty_chunk_is_not_the_end() {
    let mut events = JsonlStreamParser::<_, Raw>::new(source(["", "{\"a\":1}", "", "", "\n", ""]));
    assert_eq!(events.size_hint(), (0, None));
    assert!(!events.is_terminated());
    let event = events.next().now_or_never().unwrap().unwrap().unwrap();
    assert_eq!(summary(&event), "newline {\"a\":1}");
    assert!(!events.is_terminated() && !events.report().is_complete());
    assert!(events.next().now_or_never().unwrap().is_none());
    assert!(events.is_terminated() && events.report().is_complete());
    assert!(events.next().now_or_never().unwrap().is_none());
}

#[test]
fn the_report_counts_as_the_stream_goes() {
    let text = "Sure:\n{\"a\":1}\n[1]\n{\"a\":2}\n{\"a\":";
    let mut records = JsonlStreamParser::<_, Raw>::new(source([text])).records();
    let mut counts = Vec::new();
    while let Some(record) = records.next().now_or_never().unwrap() {
        record.unwrap();
        let report = records.report();
        counts.push((report.records(), report.rejected(), report.notes()));
    }
    assert_eq!(counts, [(1, 0, 1), (2, 1, 1)]);
    let report = records.report();
    assert_eq!((report.records(), report.rejected(), report.notes()), (2, 2, 1));
    let codes: Vec<_> = report.diagnostics().iter().map(|diagnostic| diagnostic.code).collect();
    assert_eq!(codes, [Code::Prose, Code::NotAnObject, Code::Truncated]);

    let mut events = JsonlStreamParser::<_, Raw>::new(source([text]));
    while events.next().now_or_never().unwrap().is_some() {}
    assert_eq!(events.report(), records.report());
}

#[test]
fn the_report_keeps_what_the_limits_allow() {
    let options = Options::lenient().limits(Limits { diagnostics: 3, ..Limits::default() });
    let mut values = JsonlStreamParser::<_, Raw>::new(source(["[1]\n"; 10])).with_options(options).values();
    assert!(values.next().now_or_never().unwrap().is_none());
    assert_eq!((values.report().rejected(), values.report().dropped()), (10, 7));
}

#[derive(Debug, PartialEq, Deserialize)]
struct Definition {
    entity: String,
    #[serde(default)]
    weight: Option<u8>,
}

#[test]
fn a_record_that_does_not_fit_the_type_is_rejected_without_quoting_it() {
    let text = "{\"entity\":\"DNA\"}\n{\"entity\":12345}\n{\"Entity\":\"secret\"}\n\
                {\"entity\":\"RNA\",\"weight\":777}\n{\"entity\":\"RNA\",\"weight\":7}\n";
    let mut values = JsonlStreamParser::<_, Definition>::new(source([text])).values().infallible();
    let entities: Vec<_> = collect(values.by_ref()).into_iter().map(|value| value.entity).collect();
    assert_eq!(entities, ["DNA", "RNA"]);
    let messages: Vec<_> = values.report().diagnostics().iter().map(ToString::to_string).collect();
    assert_eq!(
        messages,
        [
            "2:11: schema_violation: invalid type: an integer, expected a string (at /entity)",
            "3:1: schema_violation: missing field `entity`",
            "4:26: schema_violation: invalid value: an integer, expected u8 (at /weight)",
        ]
    );
}

#[test]
fn values_are_the_records_without_their_positions() {
    let text = "{\"entity\":\"DNA\"}\n\n {\"entity\":\"RNA\"}\n";
    let records = collect(JsonlStreamParser::<_, Definition>::new(source([text])).records());
    let places: Vec<_> = records.iter().flatten().map(|r| (r.line, r.column, r.completion)).collect();
    assert_eq!(places, [(1, 1, CompletedBy::Newline), (3, 2, CompletedBy::Newline)]);
    let values = collect(JsonlStreamParser::<_, Definition>::new(source([text])).values());
    let of_records: Vec<_> = records.into_iter().map(|record| record.map(|record| record.value)).collect();
    assert_eq!(values, of_records);
}

/// Allows objects such as `{"n": 1}`, and the tool `add` with an `x`.
struct Rules;

impl Validate for Rules {
    fn validate(&self, value: Value<'_>) -> Result<(), Box<Violation>> {
        let number = value.get("n").ok_or_else(|| Violation::new(Code::SchemaViolation, 0, "no `n`"))?;
        match number.as_number() {
            Some(_) => Ok(()),
            None => {
                let violation = Violation::new(Code::SchemaViolation, number.range().start, "no number");
                Err(Box::new(violation.with_instance_path("/n").with_schema_path("/properties/n/type")))
            }
        }
    }
}

impl ValidateCall for Rules {
    fn validate_call(&self, name: &str, parameters: Value<'_>) -> Result<(), Box<Violation>> {
        let offset = parameters.range().start;
        match (name, parameters.get("x")) {
            ("add", Some(_)) => Ok(()),
            ("add", None) => Err(Box::new(Violation::new(Code::InvalidParameters, offset, "no `x`"))),
            _ => Err(Box::new(Violation::new(Code::UnknownTool, 0, "there is no such tool"))),
        }
    }
}

#[test]
fn a_validator_rejects_records() {
    let text = "{\"n\":1}\n{\"m\":1}\n {\"n\":\"x\"}\n{\"n\":2}";
    let mut values = JsonlStreamParser::<_, Raw>::new(source([text])).with_validator(Rules).values();
    assert_eq!(collect(values.by_ref()).len(), 2);
    let [first, second] = values.report().diagnostics() else { panic!() };
    assert_eq!((first.line, first.column, first.span.start), (2, 1, 8));
    assert_eq!((second.line, second.column), (3, 7));
    assert_eq!(second.schema_path.as_deref(), Some("/properties/n/type"));
    // A shared validator works as well.
    let shared: Arc<dyn Validate + Send + Sync> = Arc::new(Rules);
    let values = JsonlStreamParser::<_, Raw>::new(source([text])).with_validator(shared).values();
    assert_eq!(collect(values).len(), 2);
}

const CALLS: &str = "{\"name\":\"add\",\"parameters\":{\"x\":1}}\n{\"name\":\"sub\",\"parameters\":{}}\n\
                     {\"parameters\":{}}\n{\"name\":\"add\",\"parameters\":{}}\n\
                     {\"name\":\"add\",\"parameters\":{\"x\":0.20}}";

#[test]
fn tool_calls_are_validated() {
    let mut calls = JsonlStreamParser::new(source([CALLS])).with_tools(Rules).tool_calls();
    let parameters: Vec<_> =
        collect(calls.by_ref()).into_iter().map(|call| call.unwrap().parameters.to_string()).collect();
    assert_eq!(parameters, ["{\"x\":1}", "{\"x\":0.20}"]);
    let codes: Vec<_> = calls.report().diagnostics().iter().map(|diagnostic| diagnostic.code).collect();
    assert_eq!(codes, [Code::UnknownTool, Code::MissingField, Code::InvalidParameters]);
    assert_eq!((calls.report().tool_calls(), calls.report().records()), (2, 0));

    // Without tools any name is accepted.
    let calls = JsonlStreamParser::new(source([CALLS])).tool_calls();
    assert_eq!(collect(calls.infallible()).len(), 4);

    let events = JsonlStreamParser::new(source([CALLS])).tool_call_events();
    let lines: Vec<_> = collect(events.records().infallible()).iter().map(|record| record.line).collect();
    assert_eq!(lines, [1, 2, 4, 5]);
}

#[test]
fn one_record_may_hold_several_calls_or_none() {
    const LISTS: &str = "{\"tool_calls\":[]}\n\
        {\"tool_calls\":[{\"name\":\"a\",\"args\":{}},{\"args\":{}},{\"name\":\"b\",\"input\":\"{}\"}]}\n\
        {\"tool_calls\":[]}\n{\"tool\":\"c\",\"arguments\":{}}\n{\"tool_calls\":[]}";
    for chunks in chunkings(LISTS.as_bytes()) {
        let mut calls = JsonlStreamParser::new(source(&chunks)).tool_calls();
        let names: Vec<_> = collect(calls.by_ref()).into_iter().map(|call| call.unwrap().name).collect();
        assert_eq!(names, ["a", "b", "c"]);
        let report = calls.report();
        assert_eq!((report.tool_calls(), report.rejected(), report.is_complete()), (3, 1, true));
        // After the first reject nothing follows, not even from the same record.
        let strict = JsonlStreamParser::new(source(&chunks)).tool_calls().strict();
        assert_eq!(collect(strict.infallible()).len(), 1);
    }
}

#[test]
fn a_tool_call_at_a_source_error_is_unsealed() {
    for chunks in chunkings(CALLS.as_bytes()) {
        let mut calls = JsonlStreamParser::new(failing(&chunks)).with_tools(Rules).tool_calls();
        let seen = collect(calls.by_ref());
        assert!(matches!(seen[..], [Ok(_), Err(_)]), "{seen:?}");
        let last = calls.report().diagnostics().last().unwrap();
        assert_eq!((last.code, last.line, last.column), (Code::Unsealed, 5, 1));
        assert_eq!(last.span.end, CALLS.len() as u64);
    }
    // The evidence may come before the error; and on balance, none is needed.
    let sealed = format!("{CALLS}\n");
    assert_eq!(collect(JsonlStreamParser::new(failing([sealed])).tool_calls().infallible()).len(), 4);
    let on_balance =
        JsonlStreamParser::new(failing([CALLS])).with_options(Options::lenient().release(Release::OnBalance));
    assert_eq!(collect(on_balance.tool_calls().infallible()).len(), 4);
    // Other text is reported as such.
    let calls = JsonlStreamParser::new(failing(["{\"n\":1}"])).tool_call_events();
    let seen =
        collect(calls.map_ok(|event| matches!(event, Event::Rejected(d) if d.code == Code::MissingField)));
    assert_eq!(seen[0], Ok(true));
}

#[test]
fn strict_ends_at_the_first_reject_and_drops_the_source() {
    let text = "Sure:\n{\"a\":1}\n[1]\n{\"a\":2}\n";
    let alive = Arc::new(());
    let held = alive.clone();
    let source = source([text]).inspect(move |_| _ = &held);
    let mut values = JsonlStreamParser::<_, Raw>::new(source).strict();
    assert_eq!(values.next().now_or_never().unwrap().unwrap().unwrap().value, "{\"a\":1}");
    assert_eq!(Arc::strong_count(&alive), 2);
    let error = values.next().now_or_never().unwrap().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "3:1: not_an_object: expected an object, found an array");
    assert_eq!(Arc::strong_count(&alive), 1);
    assert!(values.is_terminated());
    assert!(values.next().now_or_never().unwrap().is_none());
    assert_eq!((values.report().records(), values.report().rejected(), values.report().notes()), (1, 1, 1));
    assert!(!values.report().is_complete());

    let mut values = JsonlStreamParser::<_, Raw>::new(failing(["{\"a\":1}\n"])).values().strict();
    let seen = collect(values.by_ref());
    assert!(matches!(seen[..], [Ok(_), Err(StopOnRejectError::Source(_))]));
    assert!(values.next().now_or_never().unwrap().is_none());
}

#[test]
fn infallible_keeps_the_error() {
    let mut values =
        JsonlStreamParser::<_, Raw>::new(failing(["{\"a\":1}\n{\"a\":2}"])).values().infallible();
    assert_eq!(collect(values.by_ref()), ["{\"a\":1}", "{\"a\":2}"]);
    assert!(values.is_terminated());
    let error = values.error().unwrap().to_string();
    assert_eq!(error, format!("the source failed after 15 bytes: {}", io::ErrorKind::ConnectionReset));
    assert_eq!(values.take_error().and_then(StreamError::into_source), Some(io::ErrorKind::ConnectionReset));
    assert!(values.error().is_none() && !values.report().is_complete());

    let mut calls = JsonlStreamParser::new(source([CALLS])).tool_calls().strict().infallible();
    assert_eq!(collect(calls.by_ref()).len(), 2);
    assert!(matches!(calls.error(), Some(StopOnRejectError::Rejected(d)) if d.code == Code::MissingField));
}

#[test]
fn every_stream_is_unpin_and_send_if_its_source_is() {
    fn check(_: &(impl FusedStream + Reporting + Unpin + Send + std::fmt::Debug)) {}
    let parser = || JsonlStreamParser::<_, Raw>::new(stream::iter([Ok::<_, io::Error>("")]));
    check(&parser());
    check(&parser().records());
    check(&parser().values().strict());
    check(&parser().strict().infallible());
    let calls: ToolCalls<_> = parser().tool_calls();
    check(&calls);
    check(&calls.infallible());
    // Also with a source that cannot move.
    let pinned = stream::once(async { Ok::<_, io::Error>("{}") });
    let values = std::pin::pin!(JsonlStreamParser::<_, Raw>::new(pinned).values());
    assert_eq!(collect(values).len(), 1);
}

/// The events as lines; consecutive pieces of text are joined.
fn joined(events: Vec<TextEvent<Raw>>) -> Vec<String> {
    let mut joined: Vec<TextEvent<Raw>> = Vec::new();
    for event in events {
        match (joined.last_mut(), event) {
            (Some(TextEvent::Text(text)), TextEvent::Text(more))
            | (Some(TextEvent::Reasoning(text)), TextEvent::Reasoning(more)) => text.push_str(&more),
            (_, event) => joined.push(event),
        }
    }
    joined.into_iter().map(|event| format!("{event:?}")).collect()
}

/// Options that a stream leaves out change nothing, and none panics.
#[test]
fn every_combination_of_options_on_every_entrance() {
    let input =
        "Sure:\n<think>x</think>\n[{\"n\":1},\n{\"n\":2}]\n{\"name\":\"f\",\"parameters\":{}} 7\n{\"n\":\n";
    for bits in 0..1 << 7 {
        let bit = |at: usize| bits & (1 << at) != 0;
        let base = if bit(0) { Options::strict() } else { Options::lenient() };
        let base = base.whole_values(bit(1)).in_reasoning(bit(2));
        let base = if bit(3) { base.release(Release::OnBalance) } else { base };
        let base = if bit(4) { base.calls(CallFormat::Auto) } else { base };
        let options = base.clone().partials(bit(5)).text(bit(6));
        let read = |options: &Options| {
            let stream = || {
                let chunks = input.as_bytes().chunks(3);
                JsonlStreamParser::<_, Raw>::new(source(chunks)).with_options(options.clone())
            };
            let mut codec = JsonlCodec::<Raw>::new().with_options(options.clone());
            let mut bytes = BytesMut::from(input);
            let mut decoded = Vec::new();
            while let Some(event) = codec.decode_eof(&mut bytes).expect("there is no budget") {
                decoded.push(format!("{event:?}"));
            }
            let events: Vec<_> = collect(stream()).into_iter().map(Result::unwrap).collect();
            let events: Vec<_> = events.iter().map(|event| format!("{event:?}")).collect();
            assert_eq!(decoded, events, "{options:?}");
            let items = (collect(stream().records()).len(), collect(stream().tool_calls()).len());
            let texts = [Reads::Records, Reads::ToolCalls, Reads::RecordsAndToolCalls].map(|reads| {
                let mut codec = JsonlCodec::<Raw>::new().with_options(options.clone()).text_events(reads);
                let mut bytes = BytesMut::from(input);
                let mut decoded = Vec::new();
                while let Some(event) = codec.decode_eof(&mut bytes).expect("there is no budget") {
                    decoded.push(event);
                }
                let events: Vec<_> =
                    collect(stream().text_events(reads)).into_iter().map(Result::unwrap).collect();
                let events = joined(events);
                assert_eq!(joined(decoded), events, "{options:?}");
                events
            });
            (events, items, texts)
        };
        assert_eq!(read(&options), read(&base), "{options:?}");
    }
}
