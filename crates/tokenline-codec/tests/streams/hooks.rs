//! Ending a stream before its source: enough records, or too many rejects.

use std::error::Error as _;

use crate::common::chunkings;
use crate::watched::{Source, Watch, now};
use futures_util::stream::{self, FusedStream};
use futures_util::{Stream, StreamExt};
use tokenline_codec::{JsonlStreamParser, Reporting, StopOnError, StopOnRejectError, StreamError};
use tokenline_core::json::Raw;
use tokenline_core::{Code, EarlyEnd, Event};

fn parse(chunks: impl IntoIterator<Item = impl AsRef<[u8]>>) -> JsonlStreamParser<Source> {
    JsonlStreamParser::new(Watch::default().source(chunks))
}

fn collect<S: Stream>(stream: S) -> Vec<S::Item> {
    tokio_test::block_on(stream.collect())
}

const CALL: &str = "{\"name\":\"f\",\"parameters\":{}}\n";

// A maximum of records.

#[test]
fn the_source_is_dropped_with_the_last_record() {
    fn check<A>(watch: &Watch, mut stream: A, what: &str)
    where
        A: FusedStream + Reporting + Unpin,
    {
        assert_eq!(watch.polled(), 0);
        assert!(now(&mut stream).is_some() && !watch.is_dropped(), "{what}");
        assert!(now(&mut stream).is_some(), "{what}");
        assert!(watch.is_dropped() && stream.is_terminated(), "{what}: at once");
        assert_eq!(stream.size_hint(), (0, Some(0)));
        assert_eq!(watch.polled(), 2, "{what}");
        assert!(now(&mut stream).is_none() && now(&mut stream).is_none());
        let report = stream.report();
        assert_eq!(report.records() + report.tool_calls(), 2);
        assert_eq!((report.ended_by(), report.is_complete()), (Some(EarlyEnd::MaxRecords), false));
    }

    let stream =
        |watch: &Watch| JsonlStreamParser::<_, Raw>::new(watch.source([CALL; 5])).with_max_records(2);
    let watch = Watch::default();
    check(&watch, stream(&watch), "events");
    let watch = Watch::default();
    check(&watch, stream(&watch).records(), "records");
    let watch = Watch::default();
    check(&watch, stream(&watch).values(), "values");
    let watch = Watch::default();
    check(&watch, stream(&watch).tool_calls(), "tool calls");
    let watch = Watch::default();
    check(&watch, stream(&watch).tool_call_events(), "tool call events");
    let watch = Watch::default();
    check(&watch, stream(&watch).records().strict(), "strict");
    // For these the end shows only at the next poll, but the source is already dropped.
    let watch = Watch::default();
    let mut values = stream(&watch).values().infallible();
    assert!(now(&mut values).is_some() && now(&mut values).is_some() && watch.is_dropped());
    assert!(now(&mut values).is_none() && values.error().is_none());
    let watch = Watch::default();
    let mut calls = stream(&watch).tool_calls().strict().infallible();
    assert!(now(&mut calls).is_some() && now(&mut calls).is_some() && watch.is_dropped());
    assert!(now(&mut calls).is_none() && calls.error().is_none());
}

#[test]
fn the_rest_of_the_chunk_is_not_delivered() {
    let watch = Watch::default();
    let chunk = "Sure:\n{\"a\":1}\n[1]\n{\"a\":2}, {\"a\":3} x\n{\"a\":4}\n{\"a\":";
    let mut events = JsonlStreamParser::<_, Raw>::new(watch.source([chunk])).with_max_records(2);
    let seen: Vec<_> =
        collect(events.by_ref()).into_iter().map(|event| crate::common::summary(&event.unwrap())).collect();
    assert_eq!(seen, ["(prose)", "newline {\"a\":1}", "not_an_object", "next_item {\"a\":2}"]);
    let report = events.report();
    assert_eq!((report.records(), report.rejected(), report.notes(), watch.polled()), (2, 1, 1, 1));
}

#[test]
fn nothing_is_read_for_no_records() {
    let watch = Watch::default();
    let mut values = JsonlStreamParser::<_, Raw>::new(watch.source([CALL])).with_max_records(0).values();
    assert!(now(&mut values).is_none() && values.is_terminated());
    assert_eq!((watch.polled(), watch.is_dropped()), (0, true));
    assert_eq!(values.report().ended_by(), Some(EarlyEnd::MaxRecords));
}

#[test]
fn a_larger_maximum_is_no_limit() {
    let mut values = parse([CALL; 2]).with_max_records(3).with_error_budget(0).values();
    assert_eq!(collect(values.by_ref()).len(), 2);
    assert_eq!((values.report().ended_by(), values.report().is_complete()), (None, true));
    // Exactly as many is a limit, because it is unknown whether more would have come.
    for text in ["{\"a\":1}\n{\"a\":2}\n", "{\"a\":1}\n{\"a\":2}"] {
        let mut values = parse([text]).with_max_records(2).values();
        assert_eq!(collect(values.by_ref()).len(), 2);
        let report = values.report();
        assert_eq!((report.ended_by(), report.is_complete()), (Some(EarlyEnd::MaxRecords), false));
    }
}

// A maximum of rejects.

const REJECTS: &str =
    "Prose\n{\"a\":1}\n[1]\nMore prose\n{\"a\":NaN}\n{\"a\":2}\n{\"b\"}\nProse\n{\"a\":3}\n";

#[test]
fn the_budget_is_exact() {
    for budget in 0..5 {
        for chunks in chunkings(REJECTS.as_bytes()).into_iter().step_by(5) {
            let watch = Watch::default();
            let mut values =
                JsonlStreamParser::<_, Raw>::new(watch.source(&chunks)).with_error_budget(budget).values();
            let seen = collect(values.by_ref());
            let delivered = [1, 1, 2, 3, 3][budget as usize];
            assert_eq!(seen.iter().filter(|item| item.is_ok()).count(), delivered, "{budget}");
            assert!(values.is_terminated() && now(&mut values).is_none() && watch.is_dropped());
            let report = values.report();
            assert_eq!(report.rejected(), 3.min(budget + 1));
            match seen.last() {
                Some(Err(StreamError::TooManyRejected(error))) if budget < 3 => {
                    assert_eq!((error.allowed(), error.last()), (budget, report.rejects().last().unwrap()));
                    assert_eq!(
                        (report.ended_by(), report.is_complete()),
                        (Some(EarlyEnd::ErrorBudget), false)
                    );
                }
                Some(Ok(_)) if budget >= 3 => assert!(report.is_complete() && report.ended_by().is_none()),
                other => panic!("{budget}: {other:?}"),
            }
        }
    }
}

#[test]
fn the_reject_comes_before_the_error() {
    let watch = Watch::default();
    let mut events = JsonlStreamParser::<_, Raw>::new(watch.source(["{\"a\":1}\n[1]\n", "{\"a\":2}\n"]))
        .with_error_budget(0);
    assert!(matches!(now(&mut events), Some(Ok(Event::Record(_)))));
    assert!(matches!(now(&mut events), Some(Ok(Event::Rejected(_)))));
    assert!(watch.is_dropped() && !events.is_terminated());
    let Some(Err(error)) = now(&mut events) else { panic!() };
    assert_eq!(error.to_string(), "the stream was ended: more than 0 rejected");
    let StreamError::TooManyRejected(error) = error else { panic!() };
    assert_eq!(error.source().unwrap().to_string(), "2:1: not_an_object: expected an object, found an array");
    assert!(events.is_terminated() && now(&mut events).is_none());
    assert_eq!((watch.polled(), StreamError::<()>::TooManyRejected(error).into_source()), (1, None));
}

#[test]
fn every_adaptor_has_the_error_once() {
    fn check<T, A: Stream<Item = Result<T, StreamError<&'static str>>> + Reporting + Unpin>(mut items: A) {
        let Some(Err(StreamError::TooManyRejected(error))) = now(&mut items) else { panic!() };
        assert_eq!((error.allowed(), error.last().line), (1, 2));
        assert!(now(&mut items).is_none());
        assert_eq!(items.report().rejected(), 2);
    }
    let rejects = || parse(["[1]\n[2]\n{\"name\":\"f\",\"parameters\":{}}\n"]).with_error_budget(1);
    check(rejects().records());
    check(rejects().values());
    check(rejects().tool_calls());

    let mut values: StopOnError<_> = rejects().values().infallible();
    assert!(now(&mut values).is_none());
    assert!(matches!(values.error(), Some(StreamError::TooManyRejected(_))));
    assert_eq!(values.report().rejected(), 2);
}

#[test]
fn strict_streams_end_at_their_first_reject_and_count_it_once() {
    for budget in [0, 1] {
        let watch = Watch::default();
        let parser = JsonlStreamParser::<_, Raw>::new(watch.source(["[1]\n[2]\n"])).with_error_budget(budget);
        let mut values = parser.values().strict();
        assert!(matches!(now(&mut values), Some(Err(StopOnRejectError::Rejected(_)))));
        assert!(now(&mut values).is_none() && watch.is_dropped());
        assert_eq!((values.report().rejected(), values.report().ended_by()), (1, None));
    }
}

#[test]
fn a_tail_beyond_the_budget_ends_the_stream() {
    let failing = stream::iter([Ok("{\"a\":1}\n{\"a\":"), Err("reset")]);
    let mut values = JsonlStreamParser::<_, Raw>::new(failing).with_error_budget(0).values();
    assert!(matches!(now(&mut values), Some(Ok(_))));
    let Some(Err(StreamError::TooManyRejected(error))) = now(&mut values) else { panic!() };
    assert_eq!(error.last().code, Code::Truncated);
    assert!(now(&mut values).is_none());
}
