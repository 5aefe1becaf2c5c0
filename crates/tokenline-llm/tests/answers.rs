//! What an answer comes to: ends, errors, what is lost, what is not known.

mod common;

use common::{Seen, at_every_cut, call, chunk, decode, parser, text};
use serde::Deserialize;
use tokenline_core::{Code, Example, Limits, Options, Severity, Validate, ValidateCall, Violation, json};
use tokenline_llm::{AnswerEvent, AnswerParser, FinishReason, Provider, TextAs};

const DONE: &str = "data: [DONE]\n\n";

fn seen_as(text_as: TextAs, wire: &[String]) -> Seen {
    at_every_cut(parser(text_as), wire.concat().as_bytes())
}

/// A line an event, without those of the text itself.
fn lines(text_as: TextAs, wire: &[String]) -> Vec<String> {
    let mut lines = seen_as(text_as, wire).summary();
    lines.retain(|line| !line.starts_with("text "));
    lines
}

fn codes(seen: &Seen) -> Vec<Code> {
    let code = |event: &AnswerEvent<json::Raw>| {
        let diagnostic = event.diagnostic()?;
        (diagnostic.severity() == Severity::Error).then_some(diagnostic.code)
    };
    seen.events.iter().filter_map(code).collect()
}

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
            Some("rejected provider_error: the provider ended the answer with an error"),
        ),
        (
            finish("error") + DONE,
            false,
            None,
            Some("finish error"),
            Some("rejected provider_error: the provider ended the answer with an error"),
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
            // Where nothing was open that a limit could have cut, the cut is said all the same.
            let is_limit = after == Some("finish length");
            let is_silent = !line.as_deref().is_some_and(|line| line.starts_with("rejected"));
            let cut = "rejected truncated: the answer was cut by its token limit".to_owned();
            let line = line.into_iter().chain((is_limit && is_silent).then_some(cut));
            let wire = [wire, end.clone()];
            let expected: Vec<_> = line.chain(end_lines.clone()).collect();
            assert_eq!(lines(text_as, &wire), expected, "{wire:?}");
            assert_eq!(seen_as(text_as, &wire).is_complete, is_complete, "{wire:?}");
        };
        let (record, open) = (r#"{"a":1}"#, r#"{"a":1"#);
        let truncated = "truncated: expected `,` or `}`, found the end of the input";
        let in_call = truncated.replace(": ", ": call 1 (`f`): ");

        check(
            TextAs::Records,
            text(record),
            Some(format!("{} {record}", evidence.unwrap_or("end_of_input"))),
        );
        check(TextAs::Records, text(open), Some(format!("rejected {truncated}")));
        check(TextAs::Text, text(open), None);
        check(
            TextAs::Records,
            call("c1", "f", record),
            Some(evidence.map_or_else(
                || "rejected unsealed: call 1 (`f`): the arguments are balanced, but the answer ended without proof that they are whole".to_owned(),
                |evidence| format!("call {evidence} f {record} c1"),
            )),
        );
        check(TextAs::Records, call("c1", "f", open), Some(format!("rejected {in_call}")));
        check(
            TextAs::Records,
            call("c1", "f", ""),
            Some(evidence.map_or_else(
                || "rejected truncated: call 1 (`f`): the answer ended before the arguments began".to_owned(),
                |evidence| format!("call {evidence} f {{}} c1"),
            )),
        );
        check(
            TextAs::ToolCalls,
            text(r#"{"name":"f","parameters":{}}"#),
            Some(evidence.map_or_else(
                || "rejected unsealed: the tool call is balanced, but the answer ended without proof that it is whole".to_owned(),
                |evidence| format!("textual call {evidence} f {{}}"),
            )),
        );
    }
}

#[test]
fn a_limit_by_another_name_is_a_limit() {
    for native in ["max_output_tokens", "max_tokens", "MAX_TOKENS", "length"] {
        let end = format!(
            "data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"tool_calls\",\"native_finish_reason\":{native:?}}}]}}\n\n"
        );
        let seen = seen_as(TextAs::Records, &[call("c1", "f", "{}"), end, DONE.to_owned()]);
        assert_eq!(codes(&seen), [Code::Unsealed], "{native}");
        assert!(seen.is_complete);
    }
}

#[test]
fn a_cut_by_the_token_limit_is_always_said() {
    let place = |text_as, wire: &[String]| {
        let seen = seen_as(text_as, wire);
        assert!(seen.is_complete && codes(&seen) == [Code::Truncated], "{seen:?}");
        let its = &seen.report.diagnostics()[0];
        assert_eq!(its.message, "the answer was cut by its token limit");
        (its.line, its.column, its.span.start, its.span.end)
    };
    let limit = chunk("{}", "length");
    for text_as in [TextAs::Records, TextAs::Text] {
        let whole = [text("{\"a\":1}\n{\"a\""), text(":2}\n"), limit.clone(), limit.clone()];
        assert_eq!(place(text_as, &whole), (3, 1, 16, 16));
        assert_eq!(place(text_as, &[text("{\"a\":1}\n "), limit.clone()]), (2, 2, 9, 9));
        assert_eq!(place(text_as, std::slice::from_ref(&limit)), (1, 1, 0, 0));
    }
    // Of a text that begins anew it is that text's place.
    let again = [text("{}\n{}\n"), chunk("{}", "stop"), text("{}\n"), limit.clone()];
    assert_eq!(place(TextAs::Records, &again), (2, 1, 3, 3));
    // Other ends are not a limit's.
    for reason in ["stop", "content_filter", "other"] {
        assert_eq!(codes(&seen_as(TextAs::Records, &[text("{}\n"), chunk("{}", reason)])), []);
    }
}

#[test]
fn a_call_that_is_sent_twice_is_delivered_once() {
    let (once, finish) = (call("c1", "f", "{}"), chunk("{}", "tool_calls"));
    let calls = |wire: &[&String]| {
        let wire: Vec<String> = wire.iter().map(|&wire| wire.clone()).collect();
        let seen = seen_as(TextAs::Records, &wire);
        assert!(seen.is_complete && codes(&seen).is_empty());
        seen.report.tool_calls()
    };
    assert_eq!(calls(&[&once, &once, &finish]), 1);
    assert_eq!(calls(&[&once, &finish, &once, &finish]), 1);
    assert_eq!(calls(&[&once, &call("c2", "f", "{}"), &once, &finish]), 2);
}

#[test]
fn calls_of_several_indexes_may_be_interleaved() {
    let call = |index: u64, name: &str, arguments: &str| {
        let call = serde_json::json!({"index": index, "function": {"name": name, "arguments": arguments}});
        chunk(&serde_json::json!({"tool_calls": [call]}).to_string(), "")
    };
    let wire = [
        call(0, "f", "{\"q\":\"x\"}"),
        call(1, "g", ""),
        call(0, "", ",\"limit\":10}"),
        chunk("{}", "tool_calls"),
    ];
    assert_eq!(
        lines(TextAs::Records, &wire),
        [
            "rejected trailing_data: call 1 (`f`): the arguments are balanced, but go on with `,`",
            "call finish_reason g {} minted minted_2",
            "finish tool_calls",
        ]
    );
}

#[test]
fn a_fragment_that_says_nothing_does_not_reopen_its_choice() {
    let finish = chunk("{}", "tool_calls");
    for nothing in [
        call("", "", ""),
        call("", "", " "),
        chunk(r#"{"tool_calls":[{"index":0}]}"#, ""),
        chunk(r#"{"tool_calls":[{"index":5,"id":null,"function":{"name":null,"arguments":null}}]}"#, ""),
    ] {
        let seen = seen_as(TextAs::Records, &[call("c1", "f", "{}"), finish.clone(), nothing]);
        assert_eq!(seen.summary(), ["call finish_reason f {} c1", "finish tool_calls"]);
        assert!(seen.is_complete);
    }
}

#[test]
fn calls_in_both_worlds_are_one() {
    let wire = [
        text("{\"name\":\"a\",\"parameters\":{\"x\":1},\"call_id\":\"t1\"}\n"),
        call("n1", "b", "{}"),
        text("prose\n{\"name\":\"c\",\"parameters\":{}}"),
        chunk("{}", "tool_calls"),
        DONE.to_owned(),
    ];
    assert_eq!(
        lines(TextAs::ToolCalls, &wire),
        [
            r#"textual call newline a {"x":1} t1"#,
            "note prose",
            "textual call finish_reason c {}",
            "call finish_reason b {} n1",
            "finish tool_calls"
        ]
    );
    let seen = seen_as(TextAs::ToolCalls, &wire);
    assert_eq!((seen.report.tool_calls(), seen.report.records(), seen.report.rejected()), (3, 0, 0));
    // Otherwise the text is what it is.
    assert_eq!(seen_as(TextAs::Records, &wire).report.records(), 2);
    let as_text = seen_as(TextAs::Text, &wire);
    assert_eq!((as_text.report.tool_calls(), as_text.report.records(), as_text.report.notes()), (1, 0, 0));
}

#[test]
fn places_are_those_of_the_text_of_the_arguments_or_of_the_wire() {
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
    let seen = seen_as(TextAs::Records, &wire);
    let places: Vec<_> = seen
        .events
        .iter()
        .filter_map(|event| match event {
            AnswerEvent::Record { choice, record, .. } => {
                Some((Some(*choice), record.line, record.column, record.span.start, record.span.end))
            }
            AnswerEvent::Rejected { choice, diagnostic, .. } => Some((
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
fn each_choice_has_its_own_calls_and_its_own_end() {
    let delta = |index: u64, arguments: &str, reason: Option<&str>| {
        let call = serde_json::json!({"index": 0, "function": {"name": "f", "arguments": arguments}});
        let chunk = serde_json::json!({"choices": [{"index": index, "delta": {"tool_calls": [call]}, "finish_reason": reason}]});
        format!("data: {chunk}\n\n")
    };
    let wire = [delta(0, "{\"a\":", None), delta(1, "{\"b\":2}", Some("tool_calls")), delta(0, "1}", None)];
    let complete = [&wire[..], &[delta(0, "", Some("stop"))]].concat();
    assert_eq!(
        lines(TextAs::Records, &complete),
        [
            r#"1: call finish_reason f {"b":2} minted minted_1"#,
            "1: finish tool_calls",
            r#"call finish_reason f {"a":1} minted minted_1"#,
            "finish stop"
        ]
    );
    let seen = seen_as(TextAs::Records, &wire);
    assert_eq!(codes(&seen), [Code::Unsealed, Code::StreamIncomplete]);
    assert!(!seen.is_complete);

    let mut parser = parser(TextAs::Records);
    decode(&mut parser, [complete.concat().as_bytes()]);
    assert_eq!(parser.finish_reason(0), Some(&FinishReason::Stop));
    assert_eq!(parser.finish_reason(1), Some(&FinishReason::ToolCalls));
    assert_eq!(parser.finish_reason(2), None);
}

#[test]
fn what_servers_call_an_error() {
    let message = |data: &str| {
        let seen = seen_as(TextAs::Records, &[text("{}\n"), format!("{data}\n\n"), DONE.to_owned()]);
        assert_eq!(codes(&seen).first(), codes(&seen).last());
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
    // The stream may end in it.
    let cut = seen_as(TextAs::Records, &[text("{}\n"), "event: error\ndata: overloaded".to_owned()]);
    assert_eq!(codes(&cut), [Code::ProviderError]);
    let long = "é".repeat(600);
    let shown = message(&format!("data: {{\"error\":{{\"message\":\"{long}\"}}}}")).expect("a message");
    assert_eq!(shown, format!("{}…", "é".repeat(500)));
}

#[test]
fn an_error_is_said_once_and_keeps_what_was_whole() {
    // No second finding that the stream is incomplete, and no call that the error may have cut.
    let wire =
        [text("{\"a\":1}\n{\"b\""), call("c1", "f", "{}"), "data: {\"error\":\"down\"}\n\n".to_owned()];
    let seen = seen_as(TextAs::Records, &wire);
    assert_eq!(codes(&seen), [Code::Truncated, Code::Unsealed, Code::ProviderError]);
    assert_eq!(seen.report.records(), 1);
    // `[DONE]` after it seals nothing.
    let more = [&wire[..], &[call("c2", "g", "{}"), DONE.to_owned()]].concat();
    assert_eq!(
        codes(&seen_as(TextAs::Records, &more)),
        [Code::Truncated, Code::Unsealed, Code::ProviderError, Code::Unsealed]
    );
}

#[test]
fn what_is_not_known_is_counted_and_no_error() {
    let wire = [
        "event: ping\ndata: {}\n\n".to_owned(),
        "data: \n\n".to_owned(),
        "data: keep-alive\n\ndata: null\n\ndata: [1]\n\n".to_owned(),
        "data: {\"choices\":{},\"new\":1,\"message\":\"hm\"}\n\n".to_owned(),
        "data: {\"choices\":[5,{\"new\":2,\"delta\":\"x\"}]}\n\n".to_owned(),
        chunk(r#"{"audio":{"data":"x"},"content":7,"refusal":null,"tool_calls":"x","reasoning":[]}"#, ""),
        chunk(
            r#"{"content":[{"type":"image"}],"tool_calls":[null,3,{"index":0,"custom":{"name":"x"}}]}"#,
            "",
        ),
        chunk(
            r#"{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{}","new":1}}],"audio":1}"#,
            "stop",
        ),
        DONE.to_owned(),
        text("after the end"),
        "data: {\"error\":\"after the end\"}\n\n".to_owned(),
    ];
    let seen = seen_as(TextAs::Records, &wire);
    assert_eq!(seen.summary(), ["call finish_reason f {} minted minted_1", "finish stop"]);
    assert!(seen.is_complete);
    assert_eq!(
        seen.unknown,
        "event: ping (1), data: text (1), data: null (1), data: array (1), new (1), choices: object (1), \
         message: string (1), choices[]: number (1), choices[].new (1), choices[].delta: string (1), \
         choices[].delta.audio (2), choices[].delta.reasoning: array (1), choices[].delta.content: number (1), \
         choices[].delta.tool_calls: string (1), choices[].delta.content[].image (1), \
         choices[].delta.tool_calls[]: number (1), choices[].delta.tool_calls[].custom (1), \
         choices[].delta.tool_calls[].function.new (1), data: after the end (2)"
    );
    // Names that a server makes up do not fill the memory, nor the time.
    let members = (0..200_000).map(|name| format!("\"{name}\":1,")).collect::<String>();
    let one = format!("data: {{{members}\"a\":1}}\n\n");
    let many = decode(&mut parser(TextAs::Records), [one.as_bytes()]);
    assert!(many.unknown.ends_with(", and others (199937)"));
    let made_up: String =
        (0..100).map(|name| format!("data: {{\"{name}{}\":1}}\n\n", "x".repeat(200))).collect();
    let seen = seen_as(TextAs::Records, &[made_up, DONE.to_owned()]);
    assert!(seen.unknown.ends_with(", and others (36)") && seen.unknown.len() < 64 * 80, "{}", seen.unknown);
}

#[test]
fn other_shapes_of_the_same() {
    let finish = chunk("{}", "tool_calls");
    let call = |delta: &str| lines(TextAs::Records, &[delta.to_owned(), finish.clone()]).remove(0);
    // Arguments as the object itself; a number for an id; the old single call; no stream at all.
    for (delta, expected) in [
        (chunk(r#"{"tool_calls":[{"id":7,"function":{"name":"f","arguments":{"a":1.0}}}]}"#, ""), r#"call finish_reason f {"a":1.0} 7"#),
        (chunk(r#"{"tool_calls":[{"function":{"name":"f","arguments":null}}]}"#, ""), "call finish_reason f {} minted minted_1"),
        (chunk(r#"{"function_call":{"name":"f","arguments":"{\"a\":1}"}}"#, ""), r#"call finish_reason f {"a":1} minted minted_1"#),
        (
            "data: {\"choices\":[{\"message\":{\"tool_calls\":[{\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}}]}\n\n".to_owned(),
            "call finish_reason f {} c",
        ),
    ] {
        assert_eq!(call(&delta), expected);
    }
    // Beside a delta the message is the text so far (Perplexity).
    let both =
        "data: {\"choices\":[{\"delta\":{\"content\":\"{}\\n\"},\"message\":{\"content\":\"{}\\n\"}}]}\n\n";
    assert_eq!(lines(TextAs::Records, &[both.to_owned(), finish.clone()])[0], "newline {}");
    // Reasoning under both names; thinking as plain text.
    let both = chunk(r#"{"reasoning":"hm","reasoning_content":"hm"}"#, "");
    let part = chunk(r#"{"content":[{"type":"thinking","thinking":"m"},{"type":"text","text":"{}"}]}"#, "");
    assert_eq!(
        lines(TextAs::Records, &[both, part, finish]),
        ["finish_reason {}", "finish tool_calls", "reasoning hmm"]
    );
    // Choices without a number are counted.
    let unnumbered =
        "data: {\"choices\":[{\"delta\":{\"content\":\"{}\"}},{\"delta\":{\"content\":\"{}\"}}]}\n\n";
    assert_eq!(
        lines(TextAs::Records, &[unnumbered.to_owned(), DONE.to_owned()]),
        ["terminator {}", "1: terminator {}"]
    );
}

#[test]
fn an_answer_may_go_on_after_its_end() {
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
    assert_eq!(lines(TextAs::Records, &wire), expected);
    // Then it is not complete before it ends again.
    let seen = seen_as(TextAs::Records, &wire[..4]);
    assert_eq!(codes(&seen), [Code::Unsealed, Code::StreamIncomplete]);
}

const LOST: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\\x\"}}]}\n\n";

#[test]
fn a_character_that_was_cut_in_half_is_put_together() {
    let raw_text = |text: &str| chunk(&format!(r#"{{"content":"{text}"}}"#), "");
    let raw_call = |arguments: &str| {
        chunk(
            &format!(
                r#"{{"tool_calls":[{{"index":0,"function":{{"name":"f","arguments":"{arguments}"}}}}]}}"#
            ),
            "",
        )
    };
    let stop = chunk("{}", "stop");
    let wire = [
        raw_text(r#"{\"a\":\"x\ud83d"#),
        raw_text(""),
        raw_call(r#"{\"b\":\"\uD83D"#),
        raw_text(r#"\ude00\"}\n"#),
        raw_call(r#"\uDE01!\"}"#),
        stop.clone(),
    ];
    assert_eq!(
        lines(TextAs::Records, &wire),
        [r#"newline {"a":"x😀"}"#, r#"call finish_reason f {"b":"😁!"} minted minted_1"#, "finish stop"]
    );
    // A half without its other harms its line, or its call.
    let alone = [
        raw_text(r#"{\"a\":1}\n{\"b\":\"\ud83d"#),
        raw_text(r#"\"}\n{\"c\":3}\n{\"d\":\"\ude00\"}\n"#),
        raw_call(r#"{\"b\":\"\ud83d"#),
        raw_call(r#"\"}"#),
        stop,
    ];
    let seen = seen_as(TextAs::Records, &alone);
    assert_eq!(codes(&seen), [Code::InvalidUtf8, Code::InvalidUtf8, Code::InvalidUtf8]);
    assert_eq!(seen.report.records(), 2);
}

#[test]
fn half_a_character_in_a_name_is_a_bad_name() {
    let stop = chunk("{}", "stop");
    for call in [
        r#"{"index":0,"id":"c","function":{"name":"rm\ud83d","arguments":"{}"}}"#,
        r#"{"index":0,"id":"c\ude00","function":{"name":"rm","arguments":"{}"}}"#,
    ] {
        let wire = [chunk(&format!(r#"{{"tool_calls":[{call}]}}"#), ""), stop.clone()];
        let seen = seen_as(TextAs::Records, &wire);
        assert_eq!((codes(&seen), seen.report.tool_calls()), (vec![Code::InvalidUtf8], 0), "{call}");
    }
    let error = "data: {\"error\":{\"message\":\"down\\ud83d\"}}\n\n".to_owned();
    assert_eq!(lines(TextAs::Records, &[error]), ["rejected provider_error: down\u{fffd}"]);
    // The end of one choice does not end what another waits for.
    let choice = |index: u32, delta: &str, reason: &str| {
        format!(
            "data: {{\"choices\":[{{\"index\":{index},\"delta\":{delta},\"finish_reason\":{reason}}}]}}\n\n"
        )
    };
    let wire = [
        choice(0, r#"{"content":"{\"a\":\"\ud83d"}"#, "null"),
        choice(1, "{}", "\"stop\""),
        choice(0, r#"{"content":"\ude00\"}\n"}"#, "\"stop\""),
    ];
    assert_eq!(lines(TextAs::Records, &wire), ["1: finish stop", r#"newline {"a":"😀"}"#, "finish stop"]);
}

#[test]
fn all_of_a_text_is_in_its_events() {
    let rejected = |wire: &str| {
        let deltas: Vec<String> = wire.split('|').map(text).chain([chunk("{}", "stop")]).collect();
        let seen = seen_as(TextAs::ToolCalls, &deltas);
        let received = seen.events.iter().filter_map(|event| match event {
            AnswerEvent::RejectedCall { call, .. } => {
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
fn what_follows_a_cut_is_not_what_was_inside() {
    let wire = [
        text("{\"name\":\"batch\",\"parameters\":{\"calls\":["),
        chunk("{}", "stop"),
        text("{\"name\":\"rm\",\"parameters\":{}},{\"name\":\"rm2\",\"parameters\":{}}]}}\n"),
        text("{\"name\":\"ls\",\"parameters\":{}}\n"),
        chunk("{}", "stop"),
    ];
    let seen = seen_as(TextAs::ToolCalls, &wire);
    let calls: Vec<_> = seen.summary().into_iter().filter(|line| line.starts_with("textual")).collect();
    assert_eq!(calls, ["textual call newline ls {}"]);
}

#[test]
fn a_lost_event_makes_nothing_up() {
    let finding = "rejected malformed_json: an event that is not JSON: expected an escape: one of `\"\\/bfnrtu`, found a letter (byte 44 of its data); its part of the answer is lost";
    let gap = "rejected malformed_json: a part of the line may be missing: what came before it was cut off or could not be read";
    let lost = LOST.to_owned();
    let finish = chunk("{}", "stop");
    let check = |wire: &[&String], expected: &[&str]| {
        let wire: Vec<String> = wire.iter().map(|wire| (*wire).clone()).chain([finish.clone()]).collect();
        assert_eq!(lines(TextAs::Records, &wire), [expected, &["finish stop"]].concat(), "{wire:?}");
    };
    // The line it is in is lost, those around it are not.
    check(
        &[&text("{\"a\":1}\n{\"b\":"), &lost, &text("2}\n{\"c\":3}\n")],
        &[r#"newline {"a":1}"#, finding, gap, r#"newline {"c":3}"#],
    );
    check(&[&text("{\"a\":1}"), &lost, &text("\n{\"c\":3}\n")], &[finding, gap, r#"newline {"c":3}"#]);
    check(
        &[&text("{\"a\":1}\n"), &lost, &text("{\"b\":2}\n{\"c\":3}\n")],
        &[r#"newline {"a":1}"#, finding, gap, r#"newline {"c":3}"#],
    );
    // At the end too, if anything was open.
    check(&[&text("{\"a\":1}"), &lost], &[finding, gap]);
    check(&[&text("{\"a\":1}\n"), &lost], &[r#"newline {"a":1}"#, finding]);
    // Nor is the beginning of a choice known that begins after it.
    check(&[&lost, &text("{\"a\":1}\n{\"c\":3}\n")], &[finding, gap, r#"newline {"c":3}"#]);
    // An open call is given up; those after it are not.
    check(
        &[&call("a", "f", "{\"x\":"), &lost, &call("", "", "1}")],
        &[finding, "rejected truncated: call 1 (`f`): expected a value, found the end of the input"],
    );
    let unsealed = "rejected unsealed: call 1 (`f`): the arguments are balanced, but the answer ended without proof that they are whole";
    check(
        &[&call("a", "f", "{}"), &lost, &call("b", "g", "{}")],
        &[finding, unsealed, "call finish_reason g {} b"],
    );
    // Two in a row are one gap.
    check(
        &[&text("{\"a\":1}"), &lost, &lost, &text("\n{\"c\":3}\n")],
        &[finding, finding, gap, r#"newline {"c":3}"#],
    );
}

#[test]
fn an_event_beyond_the_limit_is_a_lost_event() {
    let limits = Limits { sse_event_bytes: 300, ..Limits::default() };
    let options = Options::lenient().limits(limits);
    let wire =
        [text("{\"a\":1}\n{\"b\":\""), text(&"x".repeat(300)), text("\"}\n{\"c\":3}\n"), chunk("{}", "stop")]
            .concat();
    let seen = at_every_cut(AnswerParser::new(Provider::OpenAiChat, options), wire.as_bytes());
    assert_eq!(codes(&seen), [Code::RecordTooLarge, Code::MalformedJson]);
    assert_eq!(seen.report.records(), 2);
}

#[test]
fn bytes_that_are_not_utf8_harm_their_line_or_call() {
    let wire = |before: &str, bad: &str| {
        let mut wire = [before.to_owned(), bad.to_owned(), chunk("{}", "stop")].concat().into_bytes();
        let at = wire.windows(3).position(|window| window == "…".as_bytes()).expect("a place for it");
        wire.splice(at..at + 3, [0xFF, 0xE2, 0x82]);
        at_every_cut(parser(TextAs::Records), &wire)
    };
    let seen = wire("", &text("{\"a\":1}\n{\"b\":\"…\"}\n{\"c\":3}\n"));
    assert_eq!((codes(&seen), seen.report.records()), (vec![Code::InvalidUtf8], 2));
    assert_eq!(seen.report.diagnostics()[0].line, 2);
    let seen = wire(&call("a", "f", "{\"x\":"), &call("", "", "\"…\"}"));
    assert_eq!((codes(&seen), seen.report.tool_calls()), (vec![Code::InvalidUtf8], 0));
    for (id, name) in [("c…", "f"), ("c", "f…")] {
        let seen = wire("", &call(id, name, "{}"));
        assert_eq!((codes(&seen), seen.report.tool_calls()), (vec![Code::InvalidUtf8], 0));
    }
    // Elsewhere in the event it harms nothing.
    let seen = wire("", &text("{\"a\":1}\n").replace("choices", "model\":\"…\",\"choices"));
    assert_eq!((codes(&seen), seen.report.records()), (vec![], 1));
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
        let seen = seen_as(TextAs::Records, &[text("{\"a\":1}"), end.to_owned()]);
        assert_eq!(seen.is_complete, is_complete, "{end}");
        assert_eq!(seen.report.records(), 1, "{end}");
        let is_cut = end.starts_with("data: ") && !is_complete;
        let cut = is_cut.then_some(Code::Truncated).into_iter();
        let expected: Vec<_> = cut.chain((!is_complete).then_some(Code::StreamIncomplete)).collect();
        assert_eq!(codes(&seen), expected, "{end}");
    }
}

#[test]
fn what_is_no_event_stream_says_so() {
    let body = "{\n  \"detail\": \"not found\"\n}\n";
    let seen = seen_as(TextAs::Records, &[body.to_owned()]);
    assert_eq!(
        seen.summary(),
        [
            "rejected stream_incomplete: the stream ended without a finish reason or `[DONE]`; 3 lines of it are not of an event stream"
        ]
    );
    let seen = seen_as(TextAs::Records, &["not found".to_owned()]);
    assert!(seen.summary()[0].ends_with("; 1 line of it is not of an event stream"), "{seen:?}");
    assert_eq!(codes(&seen_as(TextAs::Records, &[])), [Code::StreamIncomplete]);
}

#[test]
fn a_body_that_is_an_error_is_the_providers() {
    let error = |body: &str| {
        let seen = seen_as(TextAs::Records, &[body.to_owned()]);
        assert!(!seen.is_complete && seen.events.len() == 1, "{seen:?}");
        let its = seen.report.diagnostics()[0].clone();
        (its.code, its.message, (its.line, its.span.start, its.span.end))
    };
    for body in [
        r#"{"error":{"message":"no such model","type":"invalid_request_error"}}"#,
        "{\n  \"error\": {\n    \"message\": \"no such model\"\n  }\n}\n",
        "\u{feff}\n\n{\"error\":\n\n\"no such model\"}\n\n\n",
        r#"[{"error":{"code":404,"message":"no such model"}}]"#,
        r#"{"object":"error","message":"no such model"}"#,
    ] {
        let place = (1, 0, body.len() as u64);
        assert_eq!(error(body), (Code::ProviderError, "no such model".to_owned(), place), "{body}");
    }
    for body in [
        r#"{"error":null}"#,
        r#"{"error":{"message":"cut"#,
        "[]",
        "<html>error</html>",
        &format!(r#"{{"error":"{}"}}"#, "x".repeat(5000)),
    ] {
        assert_eq!(error(body).0, Code::StreamIncomplete, "{body}");
    }
    assert_eq!(error(&format!(r#"{{"error":"{}"}}"#, "x".repeat(2000))).1, "x".repeat(500) + "…");
    // Beside events it is no body.
    let seen = seen_as(TextAs::Records, &[": hi\n\n".to_owned(), text("{}\n"), "{\"error\":1}".to_owned()]);
    assert_eq!(codes(&seen), [Code::StreamIncomplete]);
}

#[test]
fn an_incomplete_stream_is_found_at_its_last_event() {
    let last = |wire: &[String]| {
        let seen = seen_as(TextAs::Text, wire);
        let its = seen.report.diagnostics().last().cloned().expect("a finding");
        assert_eq!((its.code, its.column), (Code::StreamIncomplete, 1));
        (its.line, its.span.start, its.span.end)
    };
    let (one, two) = (text("a"), text("b"));
    let (start, end) = (one.len() as u64, (one.len() + two.len()) as u64);
    assert_eq!(last(&[one.clone(), two.clone(), ": bye\n\n".to_owned()]), (3, start, end - 1));
    assert_eq!(last(&[one.clone(), "data: [DO".to_owned()]), (3, start, start + 9));
    assert_eq!(last(&[]), (1, 0, 0));
}

struct Weather;

impl ValidateCall for Weather {
    fn validate_call(&self, name: &str, parameters: json::Value<'_>) -> Result<(), Box<Violation>> {
        let refuse = |code, path: &str| {
            Err(Box::new(Violation::new(code, parameters.range().start, "no").with_instance_path(path)))
        };
        match (name, parameters.get("city").and_then(json::Value::as_str)) {
            ("weather", Some(_)) => Ok(()),
            ("weather", None) => refuse(Code::InvalidParameters, "/city"),
            _ => refuse(Code::UnknownTool, ""),
        }
    }
}

impl Validate for Weather {
    fn validate(&self, value: json::Value<'_>) -> Result<(), Box<Violation>> {
        match value.get("city") {
            Some(_) => Ok(()),
            None => Err(Box::new(Violation::new(Code::SchemaViolation, 0, "no city"))),
        }
    }
}

#[test]
fn calls_and_records_are_held_against_their_rules() {
    let wire = [
        call("a", "weather", "{\"city\":\"Oslo\"}"),
        call("b", "weather", "{}"),
        call("c", "time", "{}"),
        text("{\"name\":\"weather\",\"parameters\":{}}\n{\"name\":\"weather\",\"parameters\":{\"city\":\"Bari\"}}\n{\"a\":1}\n"),
        chunk("{}", "stop"),
    ]
    .concat();
    let with_tools = parser(TextAs::ToolCalls).with_tools(Weather);
    let seen = at_every_cut(with_tools, wire.as_bytes());
    let paths: Vec<_> =
        seen.report.diagnostics().iter().map(|its| (its.code, its.instance_path.as_deref())).collect();
    assert_eq!(
        paths,
        [
            (Code::InvalidParameters, Some("/parameters/city")),
            (Code::InvalidParameters, Some("/parameters/city")),
            (Code::MissingField, Some("")),
            (Code::UnknownTool, Some("/name")),
        ]
    );
    assert_eq!(seen.report.tool_calls(), 2);

    let wire = [text("{\"city\":1}\n{\"town\":2}\n{\"city\":3}\n"), chunk("{}", "stop")].concat();
    let seen = at_every_cut(parser(TextAs::Records).with_validator(Weather), wire.as_bytes());
    assert_eq!((codes(&seen), seen.report.records()), (vec![Code::SchemaViolation], 2));
}

#[test]
fn records_are_read_into_a_type() {
    #[derive(Debug, Deserialize, PartialEq)]
    struct Item {
        a: u8,
    }
    let mut parser = AnswerParser::<Item>::new(Provider::OpenAiChat, Options::lenient());
    parser.push([text("{\"a\":1}\n{\"a\":\"x\"}\n{\"a\":3}\n"), DONE.to_owned()].concat().as_bytes());
    parser.finish();
    let mut items = Vec::new();
    while let Some(event) = parser.next_event() {
        match event {
            AnswerEvent::Record { record, .. } => items.push(record.value),
            AnswerEvent::Rejected { diagnostic, .. } => assert_eq!(diagnostic.code, Code::SchemaViolation),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(items, [Item { a: 1 }, Item { a: 3 }]);
    assert_eq!(parser.report().rejected(), 1);
}

#[test]
fn memory_is_bounded() {
    // Choices without end; each has its text.
    let wire: String = (0..1000)
        .map(|index| {
            format!("data: {{\"choices\":[{{\"index\":{index},\"delta\":{{\"content\":\"{{}}\\n\"}}}}]}}\n\n")
        })
        .collect();
    let seen = decode(&mut parser(TextAs::Records), [wire.as_bytes(), DONE.as_bytes()]);
    assert_eq!((codes(&seen), seen.report.records()), (vec![Code::RecordTooLarge], 128));
    // A line without end; one diagnostic, and what follows is delivered.
    let mut parser = parser(TextAs::Records);
    let piece = text(&"x".repeat(100_000));
    let wire = [text("{\"a\":\"")]
        .into_iter()
        .chain(vec![piece; 200])
        .chain([text("\"}\n{\"b\":2}\n"), DONE.to_owned()]);
    let wire = wire.collect::<String>();
    let seen = decode(&mut parser, wire.as_bytes().chunks(4096));
    assert_eq!((codes(&seen), seen.report.records()), (vec![Code::LineTooLong], 1));
    // An event of 64 MB; it is lost, and with it the line.
    let wire =
        [text("{\"a\":1}\n"), text(&"x".repeat(64 << 20)), text("\n{\"b\":2}\n"), DONE.to_owned()].concat();
    let seen = decode(&mut parser, wire.as_bytes().chunks(1 << 16));
    assert_eq!((codes(&seen), seen.report.records()), (vec![Code::LineTooLong, Code::MalformedJson], 2));
}

#[test]
fn an_event_of_tiny_records_is_read_as_they_are_taken() {
    let one = text(&"{}\n".repeat(300_000));
    let mut parser = parser(TextAs::Records);
    for _ in 0..3 {
        parser.push(one.as_bytes());
    }
    parser.push(DONE.as_bytes());
    parser.finish();
    let waiting = |parser: &AnswerParser<json::Raw>| {
        let debug = format!("{parser:?}");
        let count = debug.split_once("events: ").expect("it is told").1;
        count
            .split(|char: char| !char.is_ascii_digit())
            .next()
            .expect("a number")
            .parse::<usize>()
            .expect("a number")
    };
    let mut records = 0;
    let mut most = waiting(&parser);
    while let Some(event) = parser.next_event() {
        records += usize::from(matches!(event, AnswerEvent::Record { .. }));
        if records % 1000 == 0 {
            most = most.max(waiting(&parser));
            assert!(records == 900_000 || !parser.is_complete());
        }
    }
    assert!((1000..5000).contains(&most), "{most}");
    assert_eq!(records, 900_000);
    assert!(parser.is_complete() && parser.report().is_complete());
}

#[test]
fn deep_events_are_lost_not_fatal() {
    let deep = format!("data: {{\"x\":{}}}\n\n", "[".repeat(100_000));
    let seen = decode(
        &mut parser(TextAs::Records),
        [deep.as_bytes(), text("\n{\"a\":1}\n").as_bytes(), DONE.as_bytes()],
    );
    assert_eq!((codes(&seen), seen.report.records()), (vec![Code::MalformedJson, Code::MalformedJson], 1));
}

#[test]
fn what_is_debugged_is_not_the_text() {
    let mut parser = parser(TextAs::Records);
    parser.push(text("{\"secret\":").as_bytes());
    parser.push(call("c1", "secret", "{\"secret\":").as_bytes());
    while parser.next_event().is_some() {}
    assert!(!format!("{parser:?}").contains("secret"));
}

#[test]
fn findings_do_not_repeat_the_text() {
    let secret = "hunter2";
    let wire = [
        text(&format!("{{\"{secret}\":{secret}}}\n{secret}\n[\"{secret}\"]\n{{\"{secret}\":\"{secret}")),
        call("c1", "f", &format!("{{\"{secret}\":{secret}}}")),
        format!("data: {{\"{secret}\n\n"),
        chunk("{}", "length"),
    ];
    let seen = seen_as(TextAs::ToolCalls, &wire);
    assert!(seen.report.rejected() >= 4, "{:?}", seen.report);
    for diagnostic in seen.report.diagnostics() {
        assert!(!format!("{diagnostic:?}").contains(secret), "{diagnostic:?}");
        assert!(diagnostic.severity() <= Severity::Error);
    }
}

#[test]
fn the_examples_of_the_codes_trigger_them() {
    for code in Code::ALL {
        if let Example::OpenAiChat(wire) = code.example() {
            assert!(codes(&seen_as(TextAs::Records, &[wire.to_owned()])).contains(code), "{code}");
        }
    }
}
