//! Errors of a provider, inside a stream and instead of one.

use tokenline_core::Code;
use tokenline_llm::TextMode;

use crate::common::{call, text};
use crate::{DONE, codes, seen_as};

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
        let its = seen.report.diagnostics()[0].clone();
        (its.code, its.message, (its.line, its.span.start, its.span.end))
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
    assert_eq!(codes(&seen), [Code::StreamIncomplete]);
}
