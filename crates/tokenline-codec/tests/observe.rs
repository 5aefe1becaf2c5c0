//! Counters and logs of streams, and data that they never log.

#[path = "common/observed.rs"]
mod observed;

use std::time::Duration;

use futures_util::{FutureExt, Stream, StreamExt, stream};
use metrics_util::debugging::DebuggingRecorder;
use observed::{observed, observed_from};
use tokenline_codec::{JsonlStreamParser, Reporting, observe};
use tokenline_core::json::{Raw, Value};
use tokenline_core::{Code, Report, Validate, ValidateCall, Violation};
use tracing::Span;
use tracing::level_filters::LevelFilter;

type Chunk = Result<&'static str, &'static str>;
type Parser<T = Raw> = JsonlStreamParser<stream::Iter<std::vec::IntoIter<Chunk>>, T>;

/// One of everything: records, calls, rejects of several codes, notes.
const MIXED: &str = "Sure:\n{\"a\":1}\n{\"a\":NaN}\n[1]\n{\"name\":\"f\",\"parameters\":{}}\n{\"a\":2},\"b\":3}\n\
    {\"name\":\"g\",\"parameters\":{}}\n{\"a\":x}\nnull\nDone.\n{\"a\":3}\n{\"a\":";

fn parser(chunks: &[Chunk]) -> Parser {
    JsonlStreamParser::new(stream::iter(chunks.to_vec()))
}

fn mixed() -> Parser {
    let (left, right) = MIXED.split_at(40);
    parser(&[Ok(left), Ok(""), Ok(right)])
}

/// Takes the next item, if one is ready.
fn next<S: Stream + Unpin>(stream: &mut S) -> Option<S::Item> {
    stream.next().now_or_never().expect("it does not wait")
}

/// Takes all items, and returns the report.
fn drain<S: Stream + Reporting + Unpin>(mut stream: S) -> Report {
    while next(&mut stream).is_some() {}
    assert!(next(&mut stream).is_none());
    stream.report().clone()
}

#[test]
fn the_counts_are_those_of_the_report_once_whatever_the_adaptor() {
    let records: [fn() -> Report; 4] = [
        || drain(mixed()),
        || drain(mixed().records()),
        || drain(mixed().values().infallible()),
        || drain(mixed().with_options(Default::default()).records().infallible()),
    ];
    for run in records {
        let (report, seen) = observed(run);
        assert_eq!((report.records(), report.rejected(), report.notes()), (4, 5, 3));
        seen.assert_is("text", "complete", MIXED.len(), 12, &report);
    }
    let calls: [fn() -> Report; 2] =
        [|| drain(mixed().tool_call_events()), || drain(mixed().tool_calls().infallible())];
    for run in calls {
        let (report, seen) = observed(run);
        assert_eq!((report.tool_calls(), report.rejected(), report.notes()), (2, 7, 3));
        seen.assert_is("text", "complete", MIXED.len(), 12, &report);
        assert_eq!(seen.metrics["tokenline_rejected_total{source=text,code=missing_field}"], 2);
    }
}

#[test]
fn a_reject_is_logged_with_its_code_and_position() {
    let (_, seen) = observed(|| drain(mixed().records()));
    let told = "DEBUG tokenline.stream{source=\"text\"}: tokenline: rejected code=\"malformed_json\" \
        origin=\"text\" line=3 column=6 start=14 end=23\n";
    assert!(seen.log.contains(told), "{}", seen.log);
    assert_eq!(seen.lines("tokenline: rejected code="), 5);
}

#[test]
fn a_stream_ends_once() {
    const LINES: Chunk = Ok("{}\n[1]\n{}\n");
    let cases: &[(&str, fn())] = &[
        ("complete", || drop(drain(parser(&[LINES])))),
        ("complete", || drop(drain(parser(&[LINES]).tool_calls()))),
        ("failed", || drop(drain(parser(&[LINES, Err("reset"), LINES])))),
        ("failed", || drop(drain(parser(&[LINES, Err("reset")]).values().infallible()))),
        ("failed", || drop(next(&mut parser(&[Err("reset")]).strict()))),
        // Nothing was taken, not even the error.
        ("failed", || drop(next(&mut parser(&[Ok("{} [1"), Err("reset")]).skip(1)))),
        ("dropped", || drop(parser(&[LINES]))),
        ("dropped", || drop(parser(&[LINES]).tool_calls().strict().infallible())),
        ("dropped", || drop(next(&mut parser(&[LINES])))),
        ("dropped", || drop(next(&mut parser(&[LINES]).records().infallible()))),
        ("dropped", || drop(drain(parser(&[LINES]).strict()))),
        // A quota was reached.
        ("dropped", || drop(drain(parser(&[LINES]).with_max_records(1)))),
        ("dropped", || drop(drain(parser(&[LINES]).with_max_records(0)))),
        ("dropped", || drop(drain(parser(&[LINES]).with_error_budget(0).records()))),
        // Everything was read, but not taken.
        ("dropped", || drop(next(&mut parser(&[Ok("{}")]).values()))),
    ];
    for (at, (outcome, run)) in cases.iter().enumerate() {
        let ((), seen) = observed(run);
        let streams: Vec<_> = seen.metrics.iter().filter(|(key, _)| key.contains("streams_total")).collect();
        let key = format!("tokenline_streams_total{{source=text,outcome={outcome}}}");
        assert_eq!(streams, [(&key, &1)], "case {at}");
        assert_eq!(seen.lines(&format!("ended outcome=\"{outcome}\"")), 1, "case {at}: {}", seen.log);
        assert_eq!(seen.lines("WARN"), usize::from(*outcome == "failed"), "case {at}: {}", seen.log);
    }
}

#[test]
fn the_end_is_logged_at_the_end_and_not_when_the_stream_is_dropped() {
    let ((), seen) = observed(|| {
        let mut values = parser(&[Ok("[1]\n")]).values().strict();
        assert!(next(&mut values).is_some());
        tracing::info!("still held");
    });
    let place = |text: &str| seen.log.find(text).expect(text);
    assert!(place("ended") < place("still held") && place("still held") < place("close"));
}

#[test]
fn time_runs_from_the_creation_to_the_first_record() {
    let ((), seen) = observed(|| {
        let parser = parser(&[Ok("[1]\n"), Ok("{}\n{}\n")]);
        std::thread::sleep(Duration::from_millis(20));
        drain(parser.records());
    });
    assert_eq!(seen.samples.len(), 1);
    assert!((0.02..60.0).contains(&seen.samples[0]), "{:?}", seen.samples);
    let elapsed = seen.log.split_once("first record elapsed_ms=").expect("the log has it").1;
    let elapsed: f64 = elapsed.lines().next().expect("a line").parse().expect("a number");
    assert!((elapsed - seen.samples[0] * 1e3).abs() < 1e-6, "{elapsed} {:?}", seen.samples);
}

#[test]
fn the_span_is_entered_while_the_stream_is_polled() {
    let ((), seen) = observed(|| {
        let caller = tracing::info_span!("caller");
        let source = stream::poll_fn({
            let mut polled = 0;
            move |cx| {
                polled += 1;
                tracing::info!("asked");
                cx.waker().wake_by_ref();
                if polled < 3 { std::task::Poll::Pending } else { std::task::Poll::Ready(None::<Chunk>) }
            }
        });
        let mut events = caller.in_scope(|| JsonlStreamParser::<_, Raw>::new(source));
        assert!(events.next().now_or_never().is_none());
        assert!(Span::current().is_none());
        assert!(events.next().now_or_never().is_none());
        assert!(next(&mut events).is_none());
        assert!(Span::current().is_none());
    });
    assert_eq!(
        seen.lines("INFO caller:tokenline.stream{source=\"text\"}: observe: asked"),
        3,
        "{}",
        seen.log
    );
}

#[test]
fn at_info_only_failures_are_logged() {
    let ((), seen) = observed_from(LevelFilter::INFO, || {
        drain(mixed().records());
        drain(parser(&[Ok("{}\n[1]\n"), Err("reset")]).records());
    });
    assert_eq!(seen.log.trim(), "WARN tokenline: source failed source=\"text\"");
    assert_eq!(seen.metrics["tokenline_streams_total{source=text,outcome=complete}"], 1);
}

/// Puts secrets in its violations.
struct Blabs;

impl Validate for Blabs {
    fn validate(&self, value: Value<'_>) -> Result<(), Box<Violation>> {
        Violation::duplicate_key(value).map_or(Ok(()), Err)?;
        if value.get("bad").is_none() {
            return Ok(());
        }
        let violation = Violation::new(Code::SchemaViolation, 0, value.raw());
        Err(Box::new(violation.with_instance_path(value.raw()).with_schema_path("/properties/x/type")))
    }
}

impl ValidateCall for Blabs {
    fn validate_call(&self, name: &str, parameters: Value<'_>) -> Result<(), Box<Violation>> {
        let violation = Violation::new(Code::UnknownTool, 0, format!("{name} {}", parameters.raw()));
        if name.ends_with('1') { Err(Box::new(violation)) } else { Ok(()) }
    }
}

#[test]
fn nothing_of_the_input_is_logged() {
    const SECRETS: &str = "SECRET-VALUE: prose\n<think>SECRET-VALUE\n</think>\n```json SECRET-VALUE\n\
        {\"SECRET-VALUE\":\"SECRET-VALUE\"}\n\
        {\"a\":SECRET-VALUE}\n{\"a\":\"SECRET-VALUE\",\"b\":x}\n[\"SECRET-VALUE\"]\n\"SECRET-VALUE\"\n\
        {\"SECRET-VALUE\":1,\"SECRET-VALUE\":2}\n{\"a\":\"SECRET-VALUE\"},\"SECRET-VALUE\":10}\n\
        {\"bad\":\"SECRET-VALUE\"}\n{\"parameters\":{\"SECRET-VALUE\":1}}\n\
        {\"name\":\"SECRET-VALUE\",\"parameters\":{\"a\":\"SECRET-VALUE\"}}\n\
        {\"name\":\"SECRET-VALUE-1\",\"parameters\":{\"a\":\"SECRET-VALUE\"}}\n\
        {\"name\":\"SECRET-VALUE\",\"parameters\":\"SECRET-VALUE\"}\n{\"SECRET-VALUE\":\"SECRET-VALUE";

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "only deserialized into")]
    struct Known {
        a: u64,
    }

    fn secrets<T: serde::de::DeserializeOwned>(end: Option<Chunk>) -> Parser<T> {
        let chunks: Vec<_> = [Ok(SECRETS)].into_iter().chain(end).collect();
        JsonlStreamParser::new(stream::iter(chunks)).with_validator(Blabs).with_tools(Blabs)
    }

    for end in [None, Some(Err("SECRET-VALUE"))] {
        let (rejected, seen) = observed(|| {
            let text = drain(secrets::<Raw>(end).records());
            let typed = drain(secrets::<Known>(end).values().infallible());
            let calls = drain(secrets::<Raw>(end).tool_calls());
            text.rejected() + typed.rejected() + calls.rejected()
        });
        assert!(rejected > 25, "{rejected}");
        assert_eq!(seen.lines("tokenline: rejected"), usize::try_from(rejected).expect("few"));
        assert!(seen.lines("schema_path=\"/properties/x/type\"") > 0, "{}", seen.log);
        assert_eq!(seen.find("secret"), None);
    }
}

#[test]
fn every_metric_is_described_and_documented() {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    metrics::with_local_recorder(&recorder, || {
        observe::describe_metrics();
        drain(mixed().records());
    });
    let docs = include_str!("../src/observe/mod.rs");
    let snapshot = snapshotter.snapshot().into_vec();
    let mut names: Vec<_> = snapshot.iter().map(|(key, ..)| key.key().name()).collect();
    names.dedup();
    for (key, unit, description, _) in &snapshot {
        let name = key.key().name();
        assert!(unit.is_some() && description.is_some(), "{name}");
        assert!(docs.contains(&format!("//! | `{name}` |")), "{name}");
        for label in key.key().labels() {
            assert!(docs.contains(&format!("//! | `{}` |", label.key())), "{name}: {label:?}");
        }
    }
    assert_eq!(docs.matches("//! | `tokenline_").count(), 9);
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 9);
}
