//! The contents of diagnostics: positions, but no text.

use tokenline_core::{Code, Example};
use tokenline_llm::{ResponseEvent, TextMode};

use crate::common::{call, chunk, parser, text};
use crate::{codes, seen_as};

#[test]
fn positions_refer_to_the_text_the_arguments_or_the_wire() {
    let choice = |index: u64, text: &str| {
        let text = serde_json::json!({"choices": [{"index": index, "delta": {"content": text}}]});
        format!("data: {text}\n\n")
    };
    let error = "data: {\"error\":{\"message\":\"down\"}}\n\n";
    let wire = [
        choice(0, "{\"a\":1}\n\n  {\"b\""),
        choice(7, "{\"c\":"),
        choice(0, ":2}\n"),
        choice(7, "3}\n"),
        error.to_owned(),
    ];
    let seen = seen_as(TextMode::Records, &wire);
    let places: Vec<_> = seen
        .events
        .iter()
        .filter_map(|event| match event {
            ResponseEvent::Record { choice, record, .. } => {
                Some((Some(*choice), record.line, record.column, record.span.start, record.span.end))
            }
            ResponseEvent::Rejected { choice, diagnostic, .. } => Some((
                *choice,
                diagnostic.line,
                diagnostic.column,
                diagnostic.span.start,
                diagnostic.span.end,
            )),
            _ => None,
        })
        .collect();
    let end = wire.concat().len() as u64 - 1;
    let start = end + 1 - error.len() as u64;
    assert_eq!(
        places,
        [(Some(0), 1, 1, 0, 7), (Some(0), 3, 3, 11, 18), (Some(7), 1, 1, 0, 7), (None, 9, 1, start, end),]
    );
}

#[test]
fn the_events_contain_the_complete_text() {
    let rejected = |wire: &str| {
        let deltas: Vec<String> = wire.split('|').map(text).chain([chunk("{}", "stop")]).collect();
        let seen = seen_as(TextMode::ToolCalls, &deltas);
        let received = seen.events.iter().filter_map(|event| match event {
            ResponseEvent::RejectedCall { call, .. } => {
                Some(format!("{}={}", call.name.as_deref().unwrap_or("?"), call.received))
            }
            _ => None,
        });
        let received: Vec<String> = received.collect();
        let text = seen.summary().into_iter().find_map(|line| line.strip_prefix("text ").map(str::to_owned));
        (received, text.unwrap_or_default())
    };
    for (wire, calls, beside) in [
        ("{\"name\":\"f\",x} {\"name\":\"g\",y}\n", &[r#"f={"name":"f",x}"#, r#"g={"name":"g",y}"#][..], ""),
        (
            "{\"name\":\"f\",\"parameters\":{\"a\":NaN}} {\"name\":\"g\",\"parameters\":{}}\n",
            &[r#"f={"name":"f","parameters":{"a":NaN}}"#],
            "",
        ),
        (
            "{\"name\":\"f\",\"parameters\":{\"a\":NaN}} then| more| words\n",
            &[r#"f={"name":"f","parameters":{"a":NaN}}"#],
            " then more words⏎",
        ),
        (
            "{\"name\":\"f\",\"parameters\":{\"a\":|NaN}} then more words\n",
            &[r#"f={"name":"f","parameters":{"a":NaN}}"#],
            " then more words⏎",
        ),
        (
            "So: {\"id\":\"x\",\"name\":\"f\",\"parameters\":{\"secret\":NaN}}\n",
            &[r#"f={"id":"x","name":"f","parameters":{"secret":NaN}}"#],
            "So:⏎",
        ),
        ("I call {\"name\":\"f\",\"para", &[r#"f={"name":"f","para"#], "I call"),
        ("{\"entity\":\"DNA\"}\nis text\n", &[], "{\"entity\":\"DNA\"}⏎is text⏎"),
    ] {
        let calls: Vec<String> = calls.iter().map(|call| (*call).to_owned()).collect();
        assert_eq!(rejected(wire), (calls, beside.to_owned()), "{wire}");
    }
}

#[test]
fn debug_output_does_not_contain_the_text() {
    let mut parser = parser(TextMode::Records);
    parser.push(text("{\"secret\":").as_bytes());
    parser.push(call("c1", "secret", "{\"secret\":").as_bytes());
    while parser.next_event().is_some() {}
    assert!(!format!("{parser:?}").contains("secret"));
}

#[test]
fn diagnostics_do_not_repeat_the_text() {
    let secret = "hunter2";
    let wire = [
        text(&format!("{{\"{secret}\":{secret}}}\n{secret}\n[\"{secret}\"]\n{{\"{secret}\":\"{secret}")),
        call("c1", "f", &format!("{{\"{secret}\":{secret}}}")),
        format!("data: {{\"{secret}\n\n"),
        chunk("{}", "length"),
    ];
    let seen = seen_as(TextMode::ToolCalls, &wire);
    assert!(seen.report.rejected() >= 4, "{:?}", seen.report);
    for diagnostic in seen.report.diagnostics() {
        assert!(!format!("{diagnostic:?}").contains(secret), "{diagnostic:?}");
    }
}

#[test]
fn the_examples_of_the_codes_trigger_them() {
    for code in Code::ALL {
        if let Example::OpenAiChat(wire) = code.example() {
            assert!(codes(&seen_as(TextMode::Records, &[wire.to_owned()])).contains(code), "{code}");
        }
    }
}
