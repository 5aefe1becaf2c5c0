//! The ends of a response, and what they release.

use tokenline_core::Code;
use tokenline_llm::{Provider, TextMode};

use crate::common::{at_every_cut, call, chunk, parser_of, text};
use crate::{DONE, codes, lines, seen_as};

#[test]
fn the_end_decides_what_is_released() {
    let finish = |reason: &str| chunk("{}", reason);
    for (end, is_complete, evidence, before, after) in [
        (finish("stop"), true, Some("finish_reason"), None, Some("finish stop")),
        (finish("tool_calls"), true, Some("finish_reason"), None, Some("finish tool_calls")),
        (finish("function_call"), true, Some("finish_reason"), None, Some("finish tool_calls")),
        (finish("length"), true, None, None, Some("finish length")),
        (finish("max_tokens"), true, None, None, Some("finish length")),
        (finish("content_filter"), true, None, None, Some("finish content_filter")),
        (
            finish("insufficient_system_resource"),
            true,
            None,
            None,
            Some("finish insufficient_system_resource"),
        ),
        (
            finish("error"),
            false,
            None,
            Some("finish error"),
            Some("rejected provider_error: the provider ended the response with an error"),
        ),
        (
            finish("error") + DONE,
            false,
            None,
            Some("finish error"),
            Some("rejected provider_error: the provider ended the response with an error"),
        ),
        (DONE.to_owned(), true, Some("terminator"), None, None),
        (
            "data: {\"error\":\"down\"}\n\n".to_owned(),
            false,
            None,
            None,
            Some("rejected provider_error: down"),
        ),
        (
            String::new(),
            false,
            None,
            None,
            Some("rejected stream_incomplete: the stream ended without a finish reason or `[DONE]`"),
        ),
    ] {
        let end_lines: Vec<String> = before.into_iter().chain(after).map(str::to_owned).collect();
        let check = |text_as, wire: String, line: Option<String>| {
            // The limit is reported even if nothing was open.
            let is_limit = after == Some("finish length");
            let is_silent = !line.as_deref().is_some_and(|line| line.starts_with("rejected"));
            let limit = "note token_limit".to_owned();
            let filter = (after == Some("finish content_filter")).then(|| "note content_filter".to_owned());
            let has_call = line.as_deref().is_some_and(|line| line.contains("call"));
            let missing = after == Some("finish tool_calls") && !has_call;
            let missing = missing.then(|| "note calls_missing".to_owned());
            let line = line.into_iter().chain((is_limit && is_silent).then_some(limit)).chain(filter);
            let wire = [wire, end.clone()];
            let expected: Vec<_> = line.chain(end_lines.clone()).chain(missing).collect();
            assert_eq!(lines(text_as, &wire), expected, "{wire:?}");
            assert_eq!(seen_as(text_as, &wire).is_complete, is_complete, "{wire:?}");
        };
        let (record, open) = (r#"{"a":1}"#, r#"{"a":1"#);
        let truncated = "truncated: expected `,` or `}`, found the end of the input";
        let in_call = truncated.replace(": ", ": call 1 (`f`): ");

        check(
            TextMode::Records,
            text(record),
            Some(format!("{} {record}", evidence.unwrap_or("end_of_input"))),
        );
        check(TextMode::Records, text(open), Some(format!("rejected {truncated}")));
        check(TextMode::Text, text(open), None);
        check(
            TextMode::Records,
            call("c1", "f", record),
            Some(evidence.map_or_else(
                || "rejected unsealed: call 1 (`f`): the arguments are balanced, but the response ended without evidence that they are complete".to_owned(),
                |evidence| format!("call {evidence} f {record} c1"),
            )),
        );
        check(TextMode::Records, call("c1", "f", open), Some(format!("rejected {in_call}")));
        check(
            TextMode::Records,
            call("c1", "f", ""),
            Some(evidence.map_or_else(
                || {
                    "rejected truncated: call 1 (`f`): the response ended before the arguments began"
                        .to_owned()
                },
                |evidence| format!("call {evidence} f {{}} c1"),
            )),
        );
        check(
            TextMode::ToolCalls,
            text(r#"{"name":"f","parameters":{}}"#),
            Some(evidence.map_or_else(
                || "rejected unsealed: the tool call is balanced, but the text ended without proof that it is complete".to_owned(),
                |evidence| format!("textual call {evidence} f {{}}"),
            )),
        );
    }
}

#[test]
fn other_names_of_the_token_limit_are_recognized() {
    for native in ["max_output_tokens", "max_tokens", "MAX_TOKENS", "length"] {
        let end = format!(
            "data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"tool_calls\",\"native_finish_reason\":{native:?}}}]}}\n\n"
        );
        let seen = seen_as(TextMode::Records, &[call("c1", "f", "{}"), end, DONE.to_owned()]);
        assert_eq!(codes(&seen), [Code::Unsealed], "{native}");
        assert!(seen.is_complete);
    }
}

#[test]
fn reasons_have_the_names_of_other_providers_too() {
    for (reason, code) in [
        ("model_context_window_exceeded", Code::TokenLimit),
        ("LENGTH", Code::TokenLimit),
        ("sensitive", Code::ContentFilter),
        ("SAFETY", Code::ContentFilter),
    ] {
        let seen = seen_as(TextMode::Records, &[text("{\"a\":1}\n"), chunk("{}", reason), DONE.to_owned()]);
        assert_eq!((codes(&seen), seen.report.records()), (vec![code], 1), "{reason}");
    }
}

#[test]
fn a_response_in_progress_is_incomplete() {
    for status in ["queued", "in_progress"] {
        let body = format!(r#"{{"object":"response","status":"{status}","output":[]}}"#);
        let parser = parser_of(Provider::OpenAiResponses, TextMode::Records);
        let seen = at_every_cut(parser, body.as_bytes());
        assert_eq!((codes(&seen), seen.is_complete), (vec![Code::StreamIncomplete], false), "{status}");
    }
}

#[test]
fn reaching_the_token_limit_is_always_reported() {
    let place = |text_as, wire: &[String]| {
        let seen = seen_as(text_as, wire);
        assert!(seen.is_complete && codes(&seen) == [Code::TokenLimit], "{seen:?}");
        let diagnostic = &seen.report.diagnostics()[0];
        assert_eq!(diagnostic.message, "the response reached its token limit");
        (diagnostic.line, diagnostic.column, diagnostic.span.start, diagnostic.span.end)
    };
    let limit = chunk("{}", "length");
    for text_as in [TextMode::Records, TextMode::Text] {
        let whole = [text("{\"a\":1}\n{\"a\""), text(":2}\n"), limit.clone(), limit.clone()];
        assert_eq!(place(text_as, &whole), (3, 1, 16, 16));
        assert_eq!(place(text_as, &[text("{\"a\":1}\n "), limit.clone()]), (2, 2, 9, 9));
        assert_eq!(place(text_as, std::slice::from_ref(&limit)), (1, 1, 0, 0));
    }
    // For a text that starts over, the position is in that text.
    let again = [text("{}\n{}\n"), chunk("{}", "stop"), text("{}\n"), limit.clone()];
    assert_eq!(place(TextMode::Records, &again), (2, 1, 3, 3));
    // Other ends are not reported as a limit.
    for reason in ["stop", "other"] {
        assert_eq!(codes(&seen_as(TextMode::Records, &[text("{}\n"), chunk("{}", reason)])), []);
    }
}

#[test]
fn a_response_may_continue_after_its_end() {
    let wire = [
        text("{\"a\":1}"),
        chunk("{}", "stop"),
        text("{\"a\":2}\n"),
        call("c1", "f", "{}"),
        chunk("{}", "tool_calls"),
        chunk("{}", "tool_calls"),
        DONE.to_owned(),
    ];
    let expected = [
        r#"finish_reason {"a":1}"#,
        "finish stop",
        r#"newline {"a":2}"#,
        "call finish_reason f {} c1",
        "finish tool_calls",
    ];
    assert_eq!(lines(TextMode::Records, &wire), expected);
    // Then it is incomplete until it ends again.
    let seen = seen_as(TextMode::Records, &wire[..4]);
    assert_eq!(codes(&seen), [Code::Unsealed, Code::StreamIncomplete]);
}

#[test]
fn the_last_event_may_lack_its_blank_line() {
    for (end, is_complete) in [
        ("data: [DONE]", true),
        ("data: [DONE]\n", true),
        ("data:[DONE] \r", true),
        (chunk("{}", "stop").trim_end(), true),
        ("data: [DON", false),
        ("data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]", false),
        ("data", false),
        (": comment", false),
        ("", false),
    ] {
        let seen = seen_as(TextMode::Records, &[text("{\"a\":1}"), end.to_owned()]);
        assert_eq!(seen.is_complete, is_complete, "{end}");
        assert_eq!(seen.report.records(), 1, "{end}");
        let is_cut = end.starts_with("data: ") && !is_complete;
        let cut = is_cut.then_some(Code::Truncated).into_iter();
        let expected: Vec<_> = cut.chain((!is_complete).then_some(Code::StreamIncomplete)).collect();
        assert_eq!(codes(&seen), expected, "{end}");
    }
}

#[test]
fn a_body_that_is_not_an_event_stream_is_reported() {
    let body = "{\n  \"status\": \"ready\"\n}\n";
    let seen = seen_as(TextMode::Records, &[body.to_owned()]);
    assert_eq!(
        seen.summary(),
        [
            "rejected stream_incomplete: the stream ended without a finish reason or `[DONE]`; the body is JSON, but not a response"
        ]
    );
    let error = "{\n  \"detail\": \"not found\"\n}\n".to_owned();
    assert_eq!(seen_as(TextMode::Records, &[error]).summary(), ["rejected provider_error: not found"]);
    let seen = seen_as(TextMode::Records, &["not found".to_owned()]);
    assert!(seen.summary()[0].ends_with("; 1 line is not part of an event stream"), "{seen:?}");
    assert_eq!(codes(&seen_as(TextMode::Records, &[])), [Code::StreamIncomplete]);
}

#[test]
fn an_incomplete_stream_is_reported_at_its_last_event() {
    let last = |wire: &[String]| {
        let seen = seen_as(TextMode::Text, wire);
        let diagnostic = seen.report.diagnostics().last().cloned().expect("a diagnostic");
        assert_eq!((diagnostic.code, diagnostic.column), (Code::StreamIncomplete, 1));
        (diagnostic.line, diagnostic.span.start, diagnostic.span.end)
    };
    let (one, two) = (text("a"), text("b"));
    let (start, end) = (one.len() as u64, (one.len() + two.len()) as u64);
    assert_eq!(last(&[one.clone(), two.clone(), ": bye\n\n".to_owned()]), (3, start, end - 1));
    assert_eq!(last(&[one.clone(), "data: [DO".to_owned()]), (3, start, start + 9));
    assert_eq!(last(&[]), (1, 0, 0));
}
