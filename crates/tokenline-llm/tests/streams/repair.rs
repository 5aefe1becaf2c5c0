//! Repair of the rejects of a response, with hooks that reply at once and later.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::common::{at_every_cut, chunk, parser, text};
use crate::quotas::{done, response};
use crate::watched::{Source, Watch, now};
use futures_util::{FutureExt, StreamExt};
use serde_json::json;
use tokenline_core::json::{Raw, Value};
use tokenline_core::partial::PartialEvent;
use tokenline_core::{Code, Recovery, Rejected, Validate, ValidateCall, Violation};
use tokenline_llm::{ResponseEvent, ResponseParser, ResponseStream, TextMode};

/// Records the input of a hook.
#[derive(Clone, Default)]
struct Asked(Arc<Mutex<Vec<Rejected>>>);

impl Asked {
    fn note(&self, rejected: &Rejected) {
        self.0.lock().unwrap().push(rejected.clone());
    }

    /// Each text once, although it repeats for every cut.
    fn texts(&self) -> Vec<String> {
        let mut texts = Vec::new();
        for rejected in self.0.lock().unwrap().iter() {
            let tool = rejected.tool.as_ref().map_or(String::new(), |tool| format!(" of {tool}"));
            let text = format!("{}{tool} {}", rejected.diagnostic.code, rejected.text);
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        texts
    }
}

/// The events of a response, and the inputs of its hook; the same if the hook returns a future.
fn repaired(
    parser: impl Fn() -> ResponseParser<Raw>,
    wire: &str,
    fix: impl Fn(&Rejected) -> Option<String> + Clone + Send + Sync + 'static,
) -> (Vec<ResponseEvent<Raw>>, Vec<String>, Vec<String>) {
    let asked = Asked::default();
    let (noted, fix_at_once) = (asked.clone(), fix.clone());
    let at_once = parser().with_options(|options| {
        options.repair(move |rejected| {
            noted.note(&rejected);
            fix_at_once(&rejected)
        })
    });
    let seen = at_every_cut(at_once, wire.as_bytes());

    for size in [1, 7, 100, wire.len()] {
        let (later, fix) = (Asked::default(), fix.clone());
        let noted = later.clone();
        let source = futures_util::stream::iter(wire.as_bytes().chunks(size).map(Ok::<_, std::io::Error>));
        let response = ResponseStream::new(source, parser()).with_async_repair(move |rejected| {
            noted.note(&rejected);
            let replacement = fix(&rejected);
            async {
                tokio::task::yield_now().await;
                replacement
            }
        });
        let events = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap()
            .block_on(response.collect::<Vec<_>>());
        let events: Vec<_> = events.into_iter().map(Result::unwrap).collect();
        assert_eq!((events, later.texts()), (seen.events.clone(), asked.texts()), "{size}");
    }
    (seen.events.clone(), seen.summary(), asked.texts())
}

#[test]
fn records_in_a_text_are_repaired_in_order() {
    let content = "Sure:\n{\"a\":NaN}\n{\"a\":2} {\"a\":[NaN]}, {\"b\":x}\n{\"a\":\"c";
    let pieces: String = content.chars().map(|char| text(&char.to_string())).collect();
    let whole = text(content);
    for wire in [pieces, whole] {
        let wire = wire + &done().concat();
        let (events, summary, asked) = repaired(
            || parser(TextMode::Records),
            &wire,
            |rejected| {
                let end = if rejected.diagnostic.code == Code::Truncated { "\"}" } else { "" };
                Some(rejected.text.replace("NaN", "0") + end)
            },
        );
        let records =
            summary.iter().filter(|line| line.contains("{\"")).filter(|line| !line.starts_with("text"));
        assert_eq!(
            records.collect::<Vec<_>>(),
            [
                "newline {\"a\":0}",
                "next_item {\"a\":2}",
                "newline {\"a\":[0]}",
                "finish_reason {\"a\":\"c\"}"
            ]
        );
        assert_eq!(
            asked,
            [
                "malformed_json {\"a\":NaN}",
                "malformed_json {\"a\":[NaN]}",
                "malformed_json {\"b\":x}",
                "truncated {\"a\":\"c"
            ]
        );
        // Delivered records are not also text.
        assert_eq!(summary.iter().filter(|line| line.starts_with("text")).count(), 1);
        let places: Vec<_> = events
            .iter()
            .filter_map(|event| match event {
                ResponseEvent::Record { record, .. } => {
                    Some((record.line, record.column, record.recovered.contains(Recovery::Repaired)))
                }
                _ => None,
            })
            .collect();
        assert_eq!(places, [(2, 1, true), (3, 1, false), (3, 9, true), (4, 1, true)]);
    }
}

#[test]
fn an_invalid_replacement_leaves_the_reject() {
    let wire = text("{\"a\":NaN}\n") + &done().concat();
    for replacement in ["", "[]", "{\"a\":NaN}", "{}{}", "{}\n{}", "{} x"] {
        let (_, summary, asked) =
            repaired(|| parser(TextMode::Records), &wire, move |_| Some(replacement.to_owned()));
        assert_eq!(summary[0], "rejected malformed_json: expected a value, found a letter", "{replacement}");
        assert_eq!(asked.len(), 1);
    }
}

struct NoSevens;

impl Validate for NoSevens {
    fn validate(&self, value: Value<'_>) -> Result<(), Box<Violation>> {
        if value.raw().contains('7') {
            Err(Box::new(Violation::new(Code::SchemaViolation, 0, "it has a 7")))
        } else {
            Ok(())
        }
    }
}

impl ValidateCall for NoSevens {
    fn validate_call(&self, name: &str, parameters: Value<'_>) -> Result<(), Box<Violation>> {
        if name != "f" {
            return Err(Box::new(Violation::new(Code::UnknownTool, 0, "there is no such tool")));
        }
        match self.validate(parameters) {
            Ok(()) => Ok(()),
            Err(violation) => Err(Box::new(Violation::new(Code::InvalidParameters, 0, violation.message))),
        }
    }
}

#[test]
fn records_that_violate_the_schema_are_repaired_and_validated_again() {
    let wire = text("{\"a\":7}\n{\"b\":7}\n{\"c\":1}\n") + &done().concat();
    let parser = || parser(TextMode::Records).with_options(|options| options.validator(NoSevens));
    let (_, summary, asked) =
        repaired(parser, &wire, |rejected| Some(rejected.text.replace("\"a\":7", "\"a\":8")));
    assert_eq!(
        summary[..3],
        ["newline {\"a\":8}", "rejected schema_violation: it has a 7", "newline {\"c\":1}"]
    );
    assert_eq!(asked, ["schema_violation {\"a\":7}", "schema_violation {\"b\":7}"]);
}

#[test]
fn calls_in_a_text_are_repaired() {
    let line = |name: &str, parameters: &str| format!("{{\"name\":\"{name}\",\"parameters\":{parameters}}}");
    let content = [
        line("f", "{\"x\":7}"),
        line("f", "{\"x\":bad}") + " " + &line("f", "{}"),
        line("g", "{}"),
        line("f", "{\"x\":[").trim_end_matches('}').to_owned(),
    ]
    .join("\n");
    // It reaches its token limit; the last call is repaired anyway.
    let wire = text(&content) + &chunk("{}", "length") + "data: [DONE]\n\n";
    let parser = || parser(TextMode::ToolCalls).with_options(|options| options.tools(NoSevens));
    let (events, summary, asked) = repaired(parser, &wire, |rejected| {
        let end = if rejected.diagnostic.code == Code::Truncated { "]}}" } else { "" };
        Some(rejected.text.replace('7', "8").replace("bad", "1").replace("\"g\"", "\"f\"") + end)
    });
    assert_eq!(
        summary[..5],
        [
            "textual call newline f {\"x\":8}",
            "textual call newline f {\"x\":1}",
            "textual call newline f {}",
            "textual call newline f {}",
            "textual call end_of_input f {\"x\":[]}"
        ]
    );
    assert_eq!(asked.len(), 4);
    assert!(
        !summary.iter().any(|line| line.starts_with("rejected") && !line.contains("token limit")),
        "{summary:?}"
    );
    let marks: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            ResponseEvent::ToolCall { call, .. } => Some(call.recovered.contains(Recovery::Repaired)),
            _ => None,
        })
        .collect();
    assert_eq!(marks, [true, true, false, true, true]);
}

#[test]
fn native_calls_are_repaired_by_their_arguments() {
    let calls = json!([
        {"index": 0, "id": "a", "function": {"name": "f", "arguments": "{\"x\":7}"}},
        {"index": 1, "id": "b", "function": {"name": "f", "arguments": "{\"x\":1}"}},
        {"index": 2, "id": "c", "function": {"name": "g", "arguments": "{}"}},
        {"index": 3, "id": "d", "function": {"name": "f", "arguments": "{\"x\":\"y"}},
        {"index": 4, "id": "e", "function": {"name": "f", "arguments": "{}"}},
    ]);
    let wire = chunk(&json!({"tool_calls": calls}).to_string(), "length") + "data: [DONE]\n\n";
    let parser = || parser(TextMode::Records).with_options(|options| options.tools(NoSevens));
    let (events, _, asked) = repaired(parser, &wire, |rejected| {
        let end = if rejected.diagnostic.code == Code::Truncated { "\"}" } else { "" };
        Some(rejected.text.replace('7', "8") + end)
    });
    let mut delivered: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            ResponseEvent::ToolCall { call, .. } => Some((
                call.call_id.as_deref().unwrap_or_default(),
                call.parameters.as_str(),
                call.recovered.contains(Recovery::Repaired),
            )),
            _ => None,
        })
        .collect();
    delivered.sort_unstable();
    // Nothing proves the last one complete.
    let expected = [("a", "{\"x\":8}", true), ("b", "{\"x\":1}", false), ("d", "{\"x\":\"y\"}", true)];
    assert_eq!(delivered, expected);
    assert_eq!(asked, ["invalid_parameters of f {\"x\":7}", "truncated of f {\"x\":\"y"]);

    let wire = chunk(&json!({"tool_calls": calls}).to_string(), "tool_calls") + "data: [DONE]\n\n";
    let parser = || crate::common::parser(TextMode::Records).with_options(|options| options.tools(NoSevens));
    let (events, summary, asked) = repaired(parser, &wire, |rejected| Some(rejected.text.replace('7', "8")));
    let ids: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            ResponseEvent::ToolCall { call, .. } => call.call_id.as_deref(),
            _ => None,
        })
        .collect();
    assert_eq!(ids, ["a", "b", "e"], "{summary:?}");
    assert_eq!(asked, ["invalid_parameters of f {\"x\":7}", "truncated of f {\"x\":\"y"]);
}

#[test]
fn all_before_a_question_comes_while_it_waits() {
    let calls = r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}},{"index":1,"id":"b","function":{"name":"f","arguments":"{x}"}}]}"#;
    let pieces = [text("{\"n\":1}\n{\"n\":NaN}\n{\"n\":3}\n"), chunk(calls, "tool_calls")];
    let watch = Watch::default();
    let (reply, replies) = tokio::sync::mpsc::unbounded_channel();
    let replies = Arc::new(tokio::sync::Mutex::new(replies));
    let mut response = response(&watch, &pieces).with_async_repair(move |_| {
        let replies = Arc::clone(&replies);
        async move { replies.lock().await.recv().await }
    });
    let mut seen = || -> Vec<String> {
        let mut seen = Vec::new();
        while let Some(event) = response.next().now_or_never() {
            match event {
                Some(Ok(ResponseEvent::Record { record, .. })) => seen.push(record.value.to_string()),
                Some(Ok(ResponseEvent::ToolCall { call, .. })) => seen.push(call.parameters.to_string()),
                Some(Ok(_)) => {}
                Some(Err(error)) => panic!("{error}"),
                None => {
                    seen.push("the end".to_owned());
                    break;
                }
            }
        }
        seen
    };
    assert_eq!(seen(), ["{\"n\":1}"]);
    assert_eq!(seen(), [""; 0]);
    reply.send("{\"n\":2}".to_owned()).expect("it waits");
    // The malformed call is known before the other one is complete.
    assert_eq!(seen(), ["{\"n\":2}", "{\"n\":3}"]);
    reply.send("{\"x\":1}".to_owned()).expect("it waits");
    assert_eq!(seen(), ["{\"x\":1}", "{}", "the end"]);
}

/// The events of these pieces, the hook being asked when it is polled; without one, an event has to be ready.
fn with_later_hook(pieces: &[String], parser: ResponseParser<Raw>) -> Vec<String> {
    let source =
        futures_util::stream::iter(pieces.iter().map(|piece| Ok::<_, std::io::Error>(piece.clone())));
    // Nothing follows yet.
    let source = source.chain(futures_util::stream::pending());
    let mut response = ResponseStream::new(Box::pin(source), parser)
        .with_async_repair(|rejected| async move { Some(rejected.text.replace("NaN", "0")) });
    let mut seen = Vec::new();
    while let Some(Some(event)) = response.next().now_or_never() {
        seen.push(match event.expect("the source does not fail") {
            ResponseEvent::Record { record, .. } => record.value.to_string(),
            ResponseEvent::ToolCall { call, .. } => call.name,
            ResponseEvent::Rejected { diagnostic, .. } => diagnostic.message,
            ResponseEvent::Text { text, .. } => format!("text {text}"),
            _ => continue,
        });
    }
    seen
}

#[test]
fn all_that_was_read_with_a_reject_comes_after_the_answer() {
    let pieces = [text("{\"a\":"), text("NaN} {\"b\":2} {\"c\":NaN}\n{\"d\":4}\n")];
    let expected = ["{\"a\":0}", "{\"b\":2}", "{\"c\":0}", "{\"d\":4}"];
    assert_eq!(with_later_hook(&pieces, parser(TextMode::Records)), expected);
    // A native call after it changes nothing.
    let native = r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"now","arguments":"{}"}}]}"#;
    let pieces = [
        text("{\"a\":"),
        text("NaN} {\"name\":\"ls\",\"parameters\":{}}\n"),
        chunk(native, "tool_calls"),
        "data: [DONE]\n\n".to_owned(),
    ];
    let seen = with_later_hook(&pieces, parser(TextMode::ToolCalls));
    assert_eq!(
        seen.iter().filter(|line| !line.starts_with("text")).skip(1).collect::<Vec<_>>(),
        ["ls", "now"]
    );
}

#[test]
fn a_failure_is_reported_once_although_a_question_waits() {
    let failure =
        r#"{"error":{"message":"down"},"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}"#;
    let pieces = [text("{\"a\":NaN,\"b"), format!("data: {failure}\n\n")];
    let seen = with_later_hook(&pieces, parser(TextMode::Records));
    assert_eq!(seen.iter().filter(|line| line.contains("down")).count(), 1, "{seen:?}");
    assert!(!seen.iter().any(|line| line.contains("ended the response with an error")), "{seen:?}");
}

/// The `n` of each complete record of a stream of partials.
fn complete(response: ResponseStream<Source>) -> Vec<u8> {
    let mut partials = response.partials::<BTreeMap<String, u8>>();
    let mut complete = Vec::new();
    while let Some(event) = partials.next().now_or_never().expect("it is ready") {
        if let Ok(PartialEvent::Complete(record)) = event {
            complete.push(record.value["n"]);
        }
    }
    complete
}

#[test]
fn partials_ask_the_same_hook_and_the_last_one_counts() {
    let pieces = [text("{\"n\":NaN}\n"), done().concat()];
    let asks = |watch: &Watch| {
        response(watch, &pieces)
            .with_async_repair(|rejected| async move { Some(rejected.text.replace("NaN", "1")) })
    };
    assert_eq!(complete(asks(&Watch::default())), [1]);
    assert_eq!(
        complete(
            asks(&Watch::default()).with_options(|options| options.repair(|_| Some("{\"n\":2}".to_owned())))
        ),
        [2]
    );
}

#[test]
fn repaired_rejects_do_not_count_for_the_budget() {
    let pieces = [text("{\"a\":NaN}\n{\"a\":NaN}\n"), done().concat()];
    let watch = Watch::default();
    let response = response(&watch, &pieces).with_options(|options| options.error_budget(0));
    let mut records = response
        .with_options(|options| options.repair(|rejected| Some(rejected.text.replace("NaN", "0"))))
        .records();
    assert!(matches!(
        (now(&mut records), now(&mut records), now(&mut records)),
        (Some(Ok(_)), Some(Ok(_)), None)
    ));
    let report = records.report();
    assert_eq!((report.records(), report.repaired(), report.rejected()), (2, 2, 0));
}

#[test]
fn a_stream_with_hooks_can_be_sent_and_shared() {
    fn check(_: &(impl Send + Sync)) {}
    let watch = Watch::default();
    check(&response(&watch, &[]).with_options(|options| options.repair(|_| None)).records());
    check(&response(&watch, &[]).with_async_repair(|_| async { None }).records());
}
