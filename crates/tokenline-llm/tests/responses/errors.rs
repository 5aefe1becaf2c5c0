//! Errors of a provider, inside a stream and instead of one.

use tokenline_core::Code;
use tokenline_llm::TextMode;

use crate::common::{call, chunk, text};
use crate::{DONE, codes, lines, seen_as};

#[test]
fn errors_of_all_forms_are_recognized() {
    let message = |data: &str| {
        let seen = seen_as(TextMode::Records, &[text("{}\n"), format!("{data}\n\n"), DONE.to_owned()]);
        assert!(codes(&seen).iter().all(|code| *code == Code::ProviderError), "{seen:?}");
        assert!(!seen.is_complete && seen.report.records() == 1);
        seen.report.diagnostics().first().map(|diagnostic| diagnostic.message.clone())
    };
    for (data, expected) in [
        (r#"data: {"error":{"message":"overloaded","type":"x"}}"#, "overloaded"),
        (r#"data: {"error":"over\u006Coaded"}"#, "overloaded"),
        (r#"data: {"error":{"message":"","type":"server_error"}}"#, "server_error"),
        (r#"data: {"error":{"code":500}}"#, "no message"),
        (r#"data: {"object":"error","message":"overloaded","code":500}"#, "overloaded"),
        (
            r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"error","error":{"code":502,"message":"overloaded"}}]}"#,
            "overloaded",
        ),
        (
            r#"data: {"choices":[{"delta":{},"error":{"message":"hm"}}],"error":{"message":"overloaded"}}"#,
            "overloaded",
        ),
        ("event: error\ndata: overloaded", "overloaded"),
        ("event: error\ndata: \"over\\u006coaded\"", "overloaded"),
        ("event: error\ndata: [1]", "[1]"),
        ("event: error\ndata: {\"message\":\"overloaded\"}", "overloaded"),
        ("event: error\ndata: {\"error\":{\"message\":\"overloaded\"}}", "overloaded"),
    ] {
        assert_eq!(message(data).as_deref(), Some(expected), "{data}");
    }
    // The stream may end inside the error.
    let cut = seen_as(TextMode::Records, &[text("{}\n"), "event: error\ndata: overloaded".to_owned()]);
    assert_eq!(codes(&cut), [Code::ProviderError]);
    let long = "é".repeat(600);
    let shown = message(&format!("data: {{\"error\":{{\"message\":\"{long}\"}}}}")).expect("a message");
    assert_eq!(shown, format!("{}…", "é".repeat(500)));
}

#[test]
fn an_error_is_reported_once_and_keeps_complete_records() {
    // No second diagnostic for the incomplete stream, and no call that the error may have cut off.
    let wire =
        [text("{\"a\":1}\n{\"b\""), call("c1", "f", "{}"), "data: {\"error\":\"down\"}\n\n".to_owned()];
    let seen = seen_as(TextMode::Records, &wire);
    assert_eq!(codes(&seen), [Code::Truncated, Code::Unsealed, Code::ProviderError]);
    assert_eq!(seen.report.records(), 1);
    // A `[DONE]` after it proves nothing.
    let more = [&wire[..], &[call("c2", "g", "{}"), DONE.to_owned()]].concat();
    assert_eq!(
        codes(&seen_as(TextMode::Records, &more)),
        [Code::Truncated, Code::Unsealed, Code::ProviderError, Code::Unsealed]
    );
}

#[test]
fn an_error_body_is_a_provider_error() {
    let error = |body: &str| {
        let seen = seen_as(TextMode::Records, &[body.to_owned()]);
        assert!(!seen.is_complete && seen.events.len() == 1, "{seen:?}");
        let diagnostic = seen.report.diagnostics()[0].clone();
        (diagnostic.code, diagnostic.message, (diagnostic.line, diagnostic.span.start, diagnostic.span.end))
    };
    for body in [
        r#"{"error":{"message":"no such model","type":"invalid_request_error"}}"#,
        "{\n  \"error\": {\n    \"message\": \"no such model\"\n  }\n}\n",
        "\u{feff}\n\n{\"error\":\n\n\"no such model\"}\n\n\n",
        r#"{"object":"error","message":"no such model"}"#,
    ] {
        let place = (1, 0, body.len() as u64);
        assert_eq!(error(body), (Code::ProviderError, "no such model".to_owned(), place), "{body}");
    }
    let in_array = error(r#"[{"error":{"code":404,"message":"no such model"}}]"#);
    assert_eq!(in_array, (Code::ProviderError, "no such model".to_owned(), (1, 1, 49)));
    for body in [r#"{"error":null}"#, "[]", "<html>error</html>"] {
        assert_eq!(error(body).0, Code::StreamIncomplete, "{body}");
    }
    let cut = seen_as(TextMode::Records, &[r#"{"error":{"message":"cut"#.to_owned()]);
    assert_eq!(codes(&cut), [Code::Truncated, Code::StreamIncomplete]);
    for len in [2000, 5000] {
        assert_eq!(error(&format!(r#"{{"error":"{}"}}"#, "x".repeat(len))).1, "x".repeat(500) + "…");
    }
    // Not a body: there are events too.
    let seen = seen_as(TextMode::Records, &[": hi\n\n".to_owned(), text("{}\n"), "{\"error\":1}".to_owned()]);
    assert_eq!(codes(&seen), [Code::ProviderError]);
}

#[test]
fn an_error_outside_the_events_is_a_provider_error() {
    let before = text("{\"a\":1}\n");
    for error in [
        "error: {\"code\":400,\"message\":\"too long\"}\n\n",
        "error:{\"error\":{\"message\":\"too long\"}}\n",
        "Error: {\"message\":\"too long\"}\r\n\r\n",
        "{\"error\":{\"message\":\"too long\"}}\n\n",
        "{\n  \"error\": {\n    \"message\": \"too long\",\n\n    \"data\": []\n  }\n}\n\n",
        "{\"object\":\"error\",\"message\":\"too long\"}",
    ] {
        let more = [before.clone(), error.to_owned(), "\n".to_owned(), DONE.to_owned()];
        for wire in [&more[..2], &more] {
            let seen = seen_as(TextMode::Records, wire);
            assert_eq!(
                seen.summary(),
                ["newline {\"a\":1}", "rejected provider_error: too long"],
                "{wire:?}"
            );
            assert!(!seen.is_complete);
        }
    }
}

#[test]
fn errors_of_frameworks_and_gateways_are_errors() {
    for error in [
        r#"{"detail":"down"}"#,
        r#"{"detail":[{"loc":["body"],"msg":"down"}]}"#,
        r#"{"title":"Bad","status":500,"detail":"down"}"#,
        r#"{"errors":[{"message":"down","code":5}]}"#,
        r#"{"detail":null,"message":"down","code":"rate_limit_exceeded"}"#,
        r#"{"message":"down","code":429}"#,
        r#"{"error_code":336100,"error_msg":"down"}"#,
        r#"{"base_resp":{"status_code":1008,"status_msg":"down"}}"#,
        r#"{"choices":null,"base_resp":{"status_code":1000,"status_msg":"down"}}"#,
        r#"{"choices":[],"base_resp":{"status_code":1027,"status_msg":"down"}}"#,
        r#"[{"error":{"message":"down"}}]"#,
    ] {
        let wire = [text("{\"a\":1}\n"), format!("data: {error}\n\n"), DONE.to_owned()];
        let seen = seen_as(TextMode::Records, &wire);
        let expected = ["newline {\"a\":1}", "rejected provider_error: down"];
        assert_eq!(seen.summary(), expected, "{error}");
        assert!(!seen.is_complete, "{error}");
    }
    // Reports of progress and of success, and errors that say nothing.
    for other in [
        r#"{"base_resp":{"status_code":0,"status_msg":""},"choices":[]}"#,
        r#"{"base_resp":null,"choices":null}"#,
        r#"{"detail":null}"#,
        r#"{"choices":[],"message":"ok"}"#,
        r#"{"message":"processing"}"#,
        r#"{"type":"heartbeat","message":"still working"}"#,
        r#"{"object":"status","status":"failed","message":"position 3"}"#,
        r#"{"code":0,"message":"success"}"#,
        r#"{"code":200,"message":"OK","success":true}"#,
        r#"{"status":"processing","message":"wait"}"#,
        r#"{"choices":[],"error":{"message":"","type":"","param":null,"code":0}}"#,
        r#"{"choices":[],"error":false}"#,
        "[1]",
    ] {
        let wire = [text("{\"a\":1"), format!("data: {other}\n\n"), text("0}\n"), chunk("{}", "stop")];
        assert_eq!(lines(TextMode::Records, &wire), ["newline {\"a\":10}", "finish stop"], "{other}");
    }
}

#[test]
fn lines_outside_the_events_are_a_warning() {
    let events = [text("{\"a\":1}\n"), chunk("{}", "stop"), DONE.to_owned()];
    for (stray, lines) in [
        ("<html>\n<body>busy</body>\n</html>\n", 3),
        ("DATA: {\"choices\":[]}\n\n", 1),
        (" data: {\"choices\":[]}\n\n", 1),
        ("error: overloaded\n\n", 1),
        ("{\"choices\":[]}\n{\"detail\":\n\n", 2),
    ] {
        for at in 0..=1 {
            let mut wire = events.to_vec();
            wire.insert(at + 1, stray.to_owned());
            let seen = seen_as(TextMode::Records, &wire);
            assert!(seen.is_complete, "{wire:?}");
            assert_eq!(codes(&seen), [Code::StrayLines], "{wire:?}");
            let diagnostic = &seen.report.diagnostics()[0];
            assert!(diagnostic.message.starts_with(&format!("{lines} line")), "{diagnostic:?}");
            let before = wire[..=at].concat();
            let line = before.lines().count() as u64 + 1;
            assert_eq!((diagnostic.line, diagnostic.span.start), (line, before.len() as u64), "{wire:?}");
        }
    }
}

#[test]
fn events_may_follow_each_other_without_a_blank_line() {
    let events = [text("{\"a\":1}\n"), text("{\"a\":2}\n"), chunk("{}", "stop"), DONE.to_owned()];
    let expected = lines(TextMode::Records, &events);
    for (between, names) in [("\n", false), ("\r\n", false), ("\n", true)] {
        for end in ["", "\n", "\n\n"] {
            let event = |at: usize, event: &String| {
                let name = if names { format!("event: e{at}{between}") } else { String::new() };
                name + event.trim_end()
            };
            let events: Vec<String> = events.iter().enumerate().map(|(at, one)| event(at, one)).collect();
            let wire = events.join(between) + end;
            assert_eq!(lines(TextMode::Records, std::slice::from_ref(&wire)), expected, "{wire:?}");
            assert!(seen_as(TextMode::Records, &[wire]).is_complete);
        }
    }
    // The name of an event is that before its data.
    let failed = "event: message\ndata: {\"choices\":[{\"delta\":{\"content\":\"{}\\n\"}}]}\n\
                  event: error\ndata: {\"message\":\"down\"}\n\n";
    let failed = lines(TextMode::Records, &[failed.to_owned()]);
    assert_eq!(failed, ["newline {}", "rejected provider_error: down"]);
    // One document on several lines.
    let pretty = "data: {\"choices\":\ndata:  [{\"delta\":\ndata: {\"content\":\"{}\\n\"}}]}\n\n".to_owned()
        + &chunk("{}", "stop");
    assert_eq!(lines(TextMode::Records, &[pretty]), ["newline {}", "finish stop"]);
}
