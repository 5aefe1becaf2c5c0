//! Repair of rejects.

use std::fmt::{Debug, Display};
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

use crate::common::{INPUTS, chunkings, expected};
use futures_util::stream::{self, Stream};
use futures_util::{FutureExt, StreamExt};
use serde::Deserialize;
use tokenline_codec::{JsonlStreamParser, StopOnRejectError, StreamError};
use tokenline_core::json::{Raw, Value};
use tokenline_core::{
    Code, Event, Limits, Options, Recovery, Rejected, Release, Report, Validate, ValidateCall, Violation,
};
use tokio_test::{assert_pending, assert_ready, task};

type Chunk = Result<Vec<u8>, &'static str>;

fn source(chunks: impl IntoIterator<Item = impl AsRef<[u8]>>) -> impl Stream<Item = Chunk> + Unpin + Send {
    let chunks: Vec<Chunk> = chunks.into_iter().map(|chunk| Ok(chunk.as_ref().to_vec())).collect();
    stream::iter(chunks)
}

fn collect<S: Stream>(stream: S) -> Vec<S::Item> {
    tokio_test::block_on(stream.collect())
}

/// Notes what a hook received.
#[derive(Clone, Default)]
struct Asked(Arc<Mutex<Vec<Rejected>>>);

impl Asked {
    fn note(&self, rejected: &Rejected) {
        self.0.lock().unwrap().push(rejected.clone());
    }

    fn all(&self) -> Vec<Rejected> {
        self.0.lock().unwrap().clone()
    }

    fn texts(&self) -> Vec<String> {
        self.all().iter().map(|rejected| format!("{} {}", rejected.diagnostic.code, rejected.text)).collect()
    }
}

/// An event as a line: position, completion, value, recoveries.
fn line<T: Display + Debug>(event: &Event<T>) -> String {
    match event {
        Event::Record(record) => {
            let marks: String = record.recovered.iter().map(|mark| format!(" {mark}")).collect();
            let (start, end) = (record.span.start, record.span.end);
            let place = format!("{}:{} {start}..{end}", record.line, record.column);
            format!("{place} {} {}{marks}", record.completion.as_str(), record.value)
        }
        Event::Rejected(diagnostic) | Event::Note(diagnostic) => diagnostic.to_string(),
        other => panic!("{other:?}"),
    }
}

/// The events of a text with a hook, in any chunks, whether the hook replies at once or later.
fn repaired_with(
    options: &Options,
    text: &[u8],
    fix: fn(&Rejected) -> Option<String>,
) -> (Vec<String>, Vec<String>, Report) {
    let mut all = Vec::new();
    for chunks in chunkings(text) {
        for is_async in [false, true] {
            let asked = Asked::default();
            let noted = asked.clone();
            let parser = JsonlStreamParser::<_, Raw>::new(source(&chunks)).with_options(options.clone());
            let mut events = if is_async {
                parser.with_async_repair(move |rejected| {
                    noted.note(&rejected);
                    async move {
                        for _ in 0..3 {
                            tokio::task::yield_now().await;
                        }
                        fix(&rejected)
                    }
                })
            } else {
                parser.with_repair(move |rejected| {
                    noted.note(&rejected);
                    fix(&rejected)
                })
            };
            let events_seen =
                collect(events.by_ref()).into_iter().map(|event| line(&event.unwrap())).collect();
            all.push((events_seen, asked.texts(), events.report().clone()));
        }
    }
    let first = all.swap_remove(0);
    for other in all {
        assert_eq!(other, first, "{}", String::from_utf8_lossy(text));
    }
    first
}

fn repaired(text: &str, fix: fn(&Rejected) -> Option<String>) -> (Vec<String>, Vec<String>, Report) {
    repaired_with(&Options::lenient(), text.as_bytes(), fix)
}

#[test]
fn a_replacement_takes_the_place_of_the_reject() {
    let text = "\u{feff}{\"a\":NaN}\r\nSure, {\"b\":1} and {\"b\":[NaN]} too\n{\"c\":2}\n[NaN]\n{\"d\":NaN";
    let (events, asked, report) = repaired(text, |rejected| {
        let end = if rejected.diagnostic.span.start > 60 { "}" } else { "" };
        Some(rejected.text.replace("NaN", "null") + end)
    });
    assert_eq!(
        events,
        [
            "1:1 3..12 newline {\"a\":null} repaired",
            "2:7 20..27 text {\"b\":1} prose",
            "2:19 32..43 newline {\"b\":[null]} repaired",
            "3:1 48..55 newline {\"c\":2}",
            "4:1: prose: text without a record",
            "5:1 62..70 end_of_input {\"d\":null} repaired",
        ]
    );
    let texts = ["{\"a\":NaN}", "{\"b\":[NaN]}", "{\"d\":NaN"];
    assert_eq!(asked, texts.map(|text| format!("malformed_json {text}")));
    assert_eq!((report.records(), report.repaired(), report.rejected()), (5, 3, 0));
    assert!(report.is_complete());
}

#[test]
fn anything_but_one_object_keeps_the_reject() {
    let first = "1:6: malformed_json: expected a value, found a letter";
    for replacement in [
        "",
        "null",
        "[{}]",
        "{\"a\":NaN}",
        "{\"a\":1",
        "{\"a\":1}}",
        "{\"a\":1}{\"a\":2}",
        "{\"a\":1}\n{\"a\":2}",
        "{\"a\":1},",
        "```\n{\"a\":1}\n```",
        "\u{feff}{\"a\":1}",
    ] {
        let asked = Asked::default();
        let noted = asked.clone();
        let parser = JsonlStreamParser::<_, Raw>::new(source(["{\"a\":NaN}\n{\"a\":2}\n"]));
        let mut events = parser.with_repair(move |rejected| {
            noted.note(&rejected);
            Some(replacement.to_owned())
        });
        let seen: Vec<_> = collect(events.by_ref()).into_iter().map(|event| line(&event.unwrap())).collect();
        assert_eq!(seen, [first, "2:1 10..17 newline {\"a\":2}"], "{replacement:?}");
        assert_eq!(asked.all().len(), 1, "{replacement:?}: it is not asked again");
        assert_eq!((events.report().rejected(), events.report().repaired()), (1, 0));
    }
    // White space around it, and newlines in it, are fine.
    let (events, ..) = repaired("{\"a\":NaN}\n", |_| Some(" \n{\"a\":\n1}\r\n".to_owned()));
    assert_eq!(events, ["1:1 0..9 newline {\"a\":\n1} repaired"]);
}

#[test]
fn a_truncated_tail_is_passed_unchanged() {
    let (events, asked, report) =
        repaired("{\"a\":1}\n{\"a\":{\"b\":\"c", |rejected| Some(format!("{}\"}}}}", rejected.text)));
    assert_eq!(
        events,
        ["1:1 0..7 newline {\"a\":1}", "2:1 8..20 end_of_input {\"a\":{\"b\":\"c\"}} repaired"]
    );
    assert_eq!(asked, ["truncated {\"a\":{\"b\":\"c"]);
    assert_eq!((report.rejected(), report.repaired()), (0, 1));
}

#[test]
fn a_line_that_is_not_utf8_is_passed_with_its_bytes() {
    let latin1 = |rejected: &Rejected| {
        assert_eq!(rejected.text.matches('\u{fffd}').count(), 1);
        Some(rejected.bytes().iter().copied().map(char::from).collect())
    };
    let (events, asked, _) =
        repaired_with(&Options::lenient(), b"{\"a\":1}\n {\"a\":\"caf\xE9\"} \n{\"a\":2}\n", latin1);
    assert_eq!(
        events,
        [
            "1:1 0..7 newline {\"a\":1}",
            "2:2 9..22 newline {\"a\":\"café\"} repaired",
            "3:1 23..30 newline {\"a\":2}"
        ]
    );
    assert_eq!(asked, ["invalid_utf8 {\"a\":\"caf\u{fffd}\"} "]);
}

#[test]
fn every_reject_is_passed_to_the_hook_and_other_events_do_not_change() {
    for options in [Options::lenient(), Options::strict(), Options::lenient().release(Release::OnBalance)] {
        for input in INPUTS {
            let plain = expected(options.clone(), input);
            let (events, asked, report) = repaired_with(&options, input, |_| None);
            assert_eq!(events, plain.iter().map(line).collect::<Vec<_>>());
            assert_eq!(report.repaired(), 0);
            // Each time the bytes of the diagnostic's span, unless a part of them was released.
            let mut texts = Vec::new();
            let mut released = 0..0;
            for event in &plain {
                match event {
                    Event::Record(record) => released = record.span.start..record.span.end,
                    Event::Rejected(reject)
                        if reject.span.start < released.end && released.start < reject.span.end => {}
                    Event::Rejected(reject) => {
                        let bytes = &input[reject.span.start as usize..reject.span.end as usize];
                        texts.push(format!("{} {}", reject.code, String::from_utf8_lossy(bytes)));
                    }
                    _ => {}
                }
            }
            assert_eq!(asked, texts, "{}", String::from_utf8_lossy(input));
        }
    }
}

#[test]
fn released_records_are_not_delivered_twice() {
    let text = "{\"query\":\"x\"},\"limit\":10}\n{\"a\":NaN} {\"b\":1}\n";
    let fix = |rejected: &Rejected| Some(rejected.text.replacen("},", ",", 1).replace("NaN", "0"));
    let on_balance = Options::lenient().release(Release::OnBalance);
    let (events, asked, _) = repaired_with(&on_balance, text.as_bytes(), fix);
    assert_eq!(
        events,
        [
            "1:1 0..13 balanced {\"query\":\"x\"}",
            "1:15: trailing_data: the object is balanced, but the line goes on with `\"`",
            "2:1 26..35 newline {\"a\":0} repaired",
            "2:11 36..43 balanced {\"b\":1} prose",
        ]
    );
    assert_eq!(asked, ["malformed_json {\"a\":NaN}"]);
    let (events, ..) = repaired(text, fix);
    assert_eq!(events[0], "1:1 0..25 newline {\"query\":\"x\",\"limit\":10} repaired");
}

#[test]
fn prose_and_lines_that_are_too_long_are_not_passed_to_the_hook() {
    let limits = Limits { line_bytes: 30, ..Limits::default() };
    let options = Options::lenient().limits(limits);
    let text = format!("Prose\n{{\"a\":\"{}\"}}\n{{\"a\":NaN}}\n", "x".repeat(40));
    let fix = |rejected: &Rejected| Some(rejected.text.replace("NaN", "0"));
    let (events, asked, _) = repaired_with(&options, text.as_bytes(), fix);
    assert_eq!(events.len(), 3);
    assert_eq!(asked, ["malformed_json {\"a\":NaN}"]);
    // Nor may a replacement be too long.
    let too_long = |_: &Rejected| Some(format!("{{\"a\":\"{}\"}}", "x".repeat(40)));
    let (events, ..) = repaired_with(&options, text.as_bytes(), too_long);
    assert_eq!(events[2], "3:6: malformed_json: expected a value, found a letter");
}

#[derive(Debug, Deserialize, PartialEq)]
struct Definition {
    entity: String,
    age: u8,
}

struct Adult;

impl Validate for Adult {
    fn validate(&self, value: Value<'_>) -> Result<(), Box<Violation>> {
        let age = value.get("age").ok_or_else(|| Violation::new(Code::SchemaViolation, 0, "no age"))?;
        if age.raw().parse::<u32>().is_ok_and(|age| age < 18) {
            Err(Box::new(Violation::new(Code::SchemaViolation, age.range().start, "too young")))
        } else {
            Ok(())
        }
    }
}

#[test]
fn a_replacement_is_checked_by_the_schema_and_the_type() {
    let text = [
        "{\"entity\":\"a\",\"age\":7} {\"entity\":\"b\",\"age\":20}\n",
        "{\"entity\":\"c\",\"age\":8}\n{\"entity\":\"d\",\"age\":300}\n{\"entity\":\"e\",\"age\":301}\n",
    ];
    for chunks in chunkings(text.concat().as_bytes()).into_iter().step_by(9) {
        let asked = Asked::default();
        let noted = asked.clone();
        let mut records = JsonlStreamParser::<_, Definition>::new(source(&chunks))
            .with_validator(Adult)
            .with_repair(move |rejected| {
                noted.note(&rejected);
                let text = &rejected.text;
                // The second replacement also breaks the schema, the last one is not a `u8`.
                Some(
                    text.replace(":7}", ":18}")
                        .replace(":8}", ":9}")
                        .replace("300", "30")
                        .replace("301", "302"),
                )
            })
            .records();
        let seen = collect(records.by_ref()).into_iter().map(|record| {
            let record = record.unwrap();
            let is_repaired = record.recovered.contains(Recovery::Repaired);
            (record.line, record.column, record.value.entity, record.value.age, is_repaired)
        });
        let seen: Vec<_> = seen.collect();
        let expected = [(1, 1, "a", 18, true), (1, 24, "b", 20, false), (3, 1, "d", 30, true)];
        assert_eq!(
            seen,
            expected.map(|(line, column, entity, age, is)| (line, column, entity.to_owned(), age, is))
        );
        assert_eq!(
            asked.texts(),
            [("a", 7), ("c", 8), ("d", 300), ("e", 301)]
                .map(|(entity, age)| format!("schema_violation {{\"entity\":\"{entity}\",\"age\":{age}}}"))
        );
        let report = records.report();
        assert_eq!((report.records(), report.repaired(), report.rejected()), (3, 2, 2));
        assert_eq!(report.diagnostics()[0].to_string(), "2:21: schema_violation: too young");
    }
}

/// A catalog whose only tool is `good`.
pub(crate) struct OnlyGood;

impl ValidateCall for OnlyGood {
    fn validate_call(&self, name: &str, _: Value<'_>) -> Result<(), Box<Violation>> {
        match name {
            "good" => Ok(()),
            _ => Err(Box::new(Violation::new(Code::UnknownTool, 0, "there is no such tool"))),
        }
    }
}

#[test]
fn tool_calls_are_repaired_and_validated() {
    let text = "{\"name\":\"bad\",\"parameters\":{}}\n{\"name\":\"evil\",\"parameters\":{}}\n{\"parameters\":{}}\n{\"name\":\"good\",\"parameters\":{";
    let failing = source([text]).chain(stream::iter([Err("reset")]));
    let mut calls = JsonlStreamParser::new(failing)
        .with_tools(OnlyGood)
        .with_repair(|rejected| match rejected.diagnostic.code {
            Code::Truncated => Some(rejected.text + "}}"),
            Code::MissingField => Some("{\"name\":\"good\",\"parameters\":{}}".to_owned()),
            _ => Some(rejected.text.replace("bad", "good")),
        })
        .tool_calls();
    let mut seen = Vec::new();
    while let Some(Ok(call)) = calls.next().now_or_never().unwrap() {
        assert!(call.recovered.contains(Recovery::Repaired));
        seen.push(call.name);
    }
    assert_eq!(seen, ["good"; 3]);
    assert_eq!((calls.report().repaired(), calls.report().rejected()), (3, 1));

    // A complete call without proof is not repairable.
    let failing = source([CALL]).chain(stream::iter([Err("reset")]));
    let mut calls = JsonlStreamParser::new(failing).with_repair(|_| panic!("asked")).tool_calls();
    assert!(matches!(calls.next().now_or_never(), Some(Some(Err(_)))));
    assert_eq!(calls.report().by_code().keys().collect::<Vec<_>>(), [&Code::Unsealed]);
}

const CALL: &str = "{\"name\":\"f\",\"parameters\":{}}";

#[test]
fn repaired_records_count_as_delivered_and_not_as_rejected() {
    let text = "{\"a\":NaN}\n{\"a\":x}\n{\"a\":NaN}\n{\"a\":4}\n";
    let parser = || {
        JsonlStreamParser::<_, Raw>::new(source([text]))
            .with_repair(|rejected| Some(rejected.text.replace("NaN", "null")))
    };
    let mut values = parser().with_error_budget(1).with_max_records(2).values();
    let seen: Vec<_> = collect(values.by_ref()).into_iter().map(Result::unwrap).collect();
    assert_eq!(seen, ["{\"a\":null}", "{\"a\":null}"]);
    assert_eq!((values.report().records(), values.report().rejected()), (2, 1));
    let values = collect(parser().with_error_budget(0).values());
    assert!(matches!(&values[..], [Ok(_), Err(StreamError::TooManyRejected(_))]));
    let values = collect(parser().strict());
    assert!(matches!(&values[..], [Ok(_), Err(StopOnRejectError::Rejected(reject))] if reject.line == 2));
}

#[test]
fn a_future_is_awaited_in_its_place_and_its_waker_is_honoured() {
    let waiting: Arc<Mutex<(bool, Option<Waker>)>> = Arc::default();
    let hook = waiting.clone();
    let chunks = ["{\"a\":NaN}\n{\"a\":2}\n", "{\"a\":3}\n"];
    let polled = Arc::new(Mutex::new(0));
    let count = polled.clone();
    let counted = source(chunks).inspect(move |_| *count.lock().unwrap() += 1);
    let mut values = task::spawn(
        JsonlStreamParser::<_, Raw>::new(counted)
            .with_async_repair(move |rejected| {
                let waiting = hook.clone();
                poll_fn(move |cx| {
                    let mut waiting = waiting.lock().unwrap();
                    if waiting.0 {
                        return Poll::Ready(Some(rejected.text.replace("NaN", "1")));
                    }
                    waiting.1 = Some(cx.waker().clone());
                    Poll::Pending
                })
            })
            .values(),
    );
    for _ in 0..3 {
        assert_pending!(values.poll_next(), "it is awaited before what follows");
        assert!(!values.is_woken());
    }
    // Dropping the future of `next` meanwhile loses nothing.
    drop(values.next());
    assert_pending!(values.poll_next());
    assert_eq!(*polled.lock().unwrap(), 1, "nothing is read meanwhile");
    let mut state = waiting.lock().unwrap();
    state.0 = true;
    state.1.take().unwrap().wake();
    drop(state);
    assert!(values.is_woken());
    for expected in ["{\"a\":1}", "{\"a\":2}", "{\"a\":3}"] {
        assert_eq!(assert_ready!(values.poll_next()).unwrap().unwrap(), expected);
    }
    assert!(assert_ready!(values.poll_next()).is_none());
}

#[test]
fn dropping_the_stream_drops_the_future() {
    let alive = Arc::new(());
    let held = alive.clone();
    let mut values = task::spawn(
        JsonlStreamParser::<_, Raw>::new(source(["{\"a\":NaN}\n"]))
            .with_async_repair(move |_| {
                let held = held.clone();
                async move {
                    std::future::pending::<()>().await;
                    drop(held);
                    None
                }
            })
            .values(),
    );
    assert_pending!(values.poll_next());
    assert_eq!(Arc::strong_count(&alive), 3);
    drop(values);
    assert_eq!(Arc::strong_count(&alive), 1);
}

#[test]
fn a_stream_with_hooks_can_be_sent_and_shared() {
    fn check(_: &(impl Send + Sync + Unpin)) {}
    let values = JsonlStreamParser::<_, Raw>::new(stream::iter([Ok::<_, ()>("")]))
        // A future that cannot be shared.
        .with_async_repair(|_| {
            let cell = std::cell::Cell::new(1);
            async move {
                tokio::task::yield_now().await;
                cell.set(2);
                None
            }
        })
        .values();
    check(&values);
}
