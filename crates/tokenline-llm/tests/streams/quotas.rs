//! Record quotas and error budgets of a response.

use std::error::Error as _;

use crate::common::{Seen, call, chunk, parser, text};
use crate::watched::{Source, Watch, now};
use futures_util::stream::FusedStream;
use tokenline_core::json::Raw;
use tokenline_core::{EarlyEnd, Options};
use tokenline_llm::{Provider, ResponseError, ResponseEvent, ResponseParser, ResponseStream, TextMode};

/// A response of OpenAI chat completions.
pub(crate) fn response(watch: &Watch, pieces: &[String]) -> ResponseStream<Source> {
    ResponseStream::new(watch.source(pieces), ResponseParser::new(Provider::OpenAiChat, Options::lenient()))
}

/// Its end.
pub(crate) fn done() -> [String; 2] {
    [chunk("{}", "stop"), "data: [DONE]\n\n".to_owned()]
}

// Record quotas.

#[test]
fn the_source_is_dropped_with_the_last_record() {
    let pieces: Vec<_> = (0..5).map(|n| text(&format!("{{\"n\":{n}}}\n"))).collect();
    let watch = Watch::default();
    let mut records = response(&watch, &pieces).with_options(|options| options.max_records(2)).records();
    assert!(now(&mut records).is_some() && !watch.is_dropped());
    assert!(now(&mut records).is_some() && watch.is_dropped() && records.is_terminated());
    assert!(now(&mut records).is_none() && now(&mut records).is_none());
    assert_eq!(watch.polled(), 2);
    let report = records.report();
    assert_eq!((report.ended_by(), report.is_complete()), (Some(EarlyEnd::MaxRecords), false));
    assert!(!records.parser().is_complete() && report.rejected() == 0);

    let watch = Watch::default();
    let mut events = response(&watch, &pieces).with_options(|options| options.max_records(1));
    assert!(matches!(now(&mut events), Some(Ok(ResponseEvent::Record { .. }))) && watch.is_dropped());
    assert!(events.is_terminated() && now(&mut events).is_none());

    let watch = Watch::default();
    let mut values =
        response(&watch, &pieces).with_options(|options| options.max_records(1)).records().infallible();
    assert!(now(&mut values).is_some() && watch.is_dropped());
    assert!(now(&mut values).is_none() && values.error().is_none());
}

#[test]
fn each_kind_of_stream_counts_what_it_yields() {
    let pieces: Vec<_> = (0..4)
        .flat_map(|n| [text(&format!("{{\"n\":{n}}}\n")), call(&format!("c{n}"), "f", "{\"x\":1}")])
        .chain(done())
        .collect();
    let watch = Watch::default();
    let mut records = response(&watch, &pieces).with_options(|options| options.max_records(3)).records();
    for _ in 0..3 {
        assert!(matches!(now(&mut records), Some(Ok(_))));
    }
    assert!(watch.is_dropped() && now(&mut records).is_none());
    // Those before the third record.
    assert_eq!(records.report().tool_calls(), 1);

    let watch = Watch::default();
    let mut calls = response(&watch, &pieces).with_options(|options| options.max_records(2)).tool_calls();
    assert!(matches!((now(&mut calls), now(&mut calls)), (Some(Ok(_)), Some(Ok(_)))));
    assert!(watch.is_dropped() && now(&mut calls).is_none());

    let watch = Watch::default();
    let mut events = response(&watch, &pieces).with_options(|options| options.max_records(3));
    let mut seen = Vec::new();
    while let Some(event) = now(&mut events) {
        seen.push(matches!(event, Ok(ResponseEvent::ToolCall { .. })));
    }
    assert_eq!(seen, [false, false, true]);

    // Text has no records.
    let watch = Watch::default();
    let mut texts = response(&watch, &pieces).with_options(|options| options.max_records(1)).text();
    let mut seen = 0;
    while let Some(piece) = now(&mut texts) {
        piece.expect("a piece");
        seen += 1;
    }
    assert_eq!((seen, texts.report().is_complete()), (4, true));
}

#[test]
fn zero_records_read_nothing() {
    let watch = Watch::default();
    let mut records =
        response(&watch, &[text("{}\n")]).with_options(|options| options.max_records(0)).records();
    assert!(now(&mut records).is_none() && records.is_terminated() && watch.is_dropped());
    assert_eq!(watch.polled(), 0);
}

#[test]
fn the_parser_ends_alike_at_any_cut() {
    let wire = [text("Sure:\n{\"n\":1}\n[1]\n{\"n\":2} {\"n\":3}\n"), call("a", "f", "{}"), done().concat()]
        .concat();
    let summary = |parser: ResponseParser<Raw>| {
        let mut seen = at_every_cut_but_the_rest(parser, wire.as_bytes());
        seen.retain(|line| !line.starts_with("text"));
        seen
    };
    let all =
        ["note prose", "newline {\"n\":1}", "rejected not_an_object: expected an object, found an array"];
    let parser = || parser(TextMode::Records);
    assert_eq!(summary(parser().with_options(|options| options.max_records(1))), all[..2]);
    assert_eq!(summary(parser().with_options(|options| options.error_budget(0))), all);
    assert_eq!(
        summary(parser().with_options(|options| options.max_records(2))),
        [&all[..], &["next_item {\"n\":2}"]].concat()
    );
    assert_eq!(summary(parser().with_options(|options| options.max_records(0))), [""; 0]);
    assert_eq!(
        summary(parser().with_options(|options| options.max_records(4).error_budget(1))).last().unwrap(),
        "call finish_reason f {} a"
    );
}

/// Like `at_every_cut`, for state that depends on the received bytes.
fn at_every_cut_but_the_rest(mut parser: ResponseParser<Raw>, wire: &[u8]) -> Vec<String> {
    let mut decode = |size: usize| {
        let seen: Seen = crate::common::decode(&mut parser, wire.chunks(size));
        (seen.summary(), seen.is_complete, seen.report)
    };
    let whole = decode(wire.len());
    assert!(!whole.1 && whole.2.ended_by().is_some());
    for size in [1, 2, 3, 7, 61] {
        assert_eq!(decode(size), whole, "in pieces of {size}");
    }
    whole.0
}

// Error budgets.

#[test]
fn the_budget_is_exact() {
    let lines = ["Prose\n", "{\"a\":1}\n", "[1]\n", "{\"a\":x}\n", "{\"a\":2}\n", "{\"b\"}\n", "{\"a\":3}\n"];
    let pieces: Vec<_> = lines.into_iter().map(text).chain(done()).collect();
    for budget in 0..5 {
        let watch = Watch::default();
        let mut records =
            response(&watch, &pieces).with_options(|options| options.error_budget(budget)).records();
        let mut delivered = 0;
        let error = loop {
            match now(&mut records) {
                Some(Ok(_)) => delivered += 1,
                Some(Err(error)) => break Some(error),
                None => break None,
            }
        };
        assert_eq!(delivered, [1, 1, 2, 3, 3][budget as usize]);
        assert!(watch.is_dropped() && records.is_terminated() && now(&mut records).is_none());
        let report = records.report();
        assert_eq!(report.rejected(), 3.min(budget + 1));
        match error {
            Some(ResponseError::TooManyRejected(error)) if budget < 3 => {
                assert_eq!(error.last(), report.rejects().last().expect("a reject"));
                assert_eq!(report.ended_by(), Some(EarlyEnd::ErrorBudget));
            }
            None if budget >= 3 => assert!(report.is_complete()),
            other => panic!("{budget}: {other:?}"),
        }
    }
}

#[test]
fn the_reject_comes_before_the_error_and_is_kept() {
    let watch = Watch::default();
    let mut events = response(&watch, &[text("[1]\n{}\n")]).with_options(|options| options.error_budget(0));
    assert!(matches!(now(&mut events), Some(Ok(ResponseEvent::Rejected { .. }))));
    assert!(watch.is_dropped() && !events.is_terminated());
    let Some(Err(ResponseError::TooManyRejected(error))) = now(&mut events) else { panic!() };
    assert_eq!(error.to_string(), "the stream was ended: more than 0 rejected");
    assert_eq!(
        error.source().expect("why").to_string(),
        "1:1: not_an_object: expected an object, found an array"
    );
    assert!(now(&mut events).is_none() && events.is_terminated());

    // A rejected call is a reject.
    let pieces = [call("a", "f", "{\"x\":}"), text("more")];
    let watch = Watch::default();
    let mut calls =
        response(&watch, &pieces).with_options(|options| options.error_budget(0)).tool_calls().infallible();
    assert!(now(&mut calls).is_none() && watch.is_dropped());
    assert!(matches!(calls.error(), Some(ResponseError::TooManyRejected(_))));
}

#[test]
fn provider_errors_are_not_rejects() {
    let watch = Watch::default();
    let mut records = response(&watch, &["data: {\"error\":\"down\"}\n\n".to_owned()])
        .with_options(|options| options.error_budget(0))
        .records();
    assert!(matches!(now(&mut records), Some(Err(ResponseError::Provider(_)))));
    let watch = Watch::default();
    let mut records =
        response(&watch, &[text("{}\n")]).with_options(|options| options.error_budget(0)).records();
    assert!(matches!(now(&mut records), Some(Ok(_))));
    assert!(matches!(now(&mut records), Some(Err(ResponseError::Incomplete(_)))));
}

#[test]
fn a_parser_keeps_its_hooks_when_reset_or_retyped() {
    let wire = text("[1]\n{\"a\":1}\n{\"a\":2}\n");
    let parser = parser(TextMode::Records).with_options(|options| options.max_records(1).error_budget(1));
    let mut parser =
        parser.with_options(|options| options.parse_text(Options::lenient())).typed::<serde_json::Value>();
    for _ in 0..2 {
        parser.push(wire.as_bytes());
        let events = std::iter::from_fn(|| parser.next_event());
        assert_eq!(events.filter(|event| !matches!(event, ResponseEvent::Text { .. })).count(), 2);
        assert_eq!((parser.report().records(), parser.report().ended_by()), (1, Some(EarlyEnd::MaxRecords)));
        parser.reset();
        assert_eq!(parser.report().ended_by(), None);
    }
}
