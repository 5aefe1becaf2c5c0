//! Tool calls: parallel, repeated, in the text and native.

use tokenline_core::Code;
use tokenline_core::{Options, Release};
use tokenline_llm::{FinishReason, TextMode};

use crate::common::{call, chunk, decode, parser, text};
use crate::{DONE, codes, lines, seen_as};

#[test]
fn a_call_that_is_sent_twice_is_delivered_once() {
    let (once, finish) = (call("c1", "f", "{}"), chunk("{}", "tool_calls"));
    let calls = |wire: &[&String]| {
        let wire: Vec<String> = wire.iter().map(|&wire| wire.clone()).collect();
        let seen = seen_as(TextMode::Records, &wire);
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
    let seen = seen_as(TextMode::Records, &wire);
    assert_eq!(
        seen.summary(),
        [
            "call next_item f {\"q\":\"x\"} synthetic synthetic_1",
            "rejected late_fragment: call 1 (`f`): the call was released, but its arguments go on with `,`",
            "call finish_reason g {} synthetic synthetic_2",
            "finish tool_calls",
        ]
    );
    assert!(!seen.is_complete && !seen.report.is_complete());
    let options = Options::lenient().release(Release::AtFinish);
    let mut at_finish = parser(TextMode::Records).with_options(options);
    assert_eq!(
        decode(&mut at_finish, [wire.concat().as_bytes()]).summary(),
        [
            "rejected trailing_data: call 1 (`f`): the arguments are balanced, but go on with `,`",
            "call finish_reason g {} synthetic synthetic_2",
            "finish tool_calls",
        ]
    );
}

#[test]
fn an_empty_fragment_does_not_reopen_its_choice() {
    let finish = chunk("{}", "tool_calls");
    for nothing in [
        call("", "", ""),
        call("", "", " "),
        chunk(r#"{"tool_calls":[{"index":0}]}"#, ""),
        chunk(r#"{"tool_calls":[{"index":5,"id":null,"function":{"name":null,"arguments":null}}]}"#, ""),
    ] {
        let seen = seen_as(TextMode::Records, &[call("c1", "f", "{}"), finish.clone(), nothing]);
        assert_eq!(seen.summary(), ["call finish_reason f {} c1", "finish tool_calls"]);
        assert!(seen.is_complete);
    }
}

#[test]
fn native_and_textual_calls_are_both_read() {
    let wire = [
        text("{\"name\":\"a\",\"parameters\":{\"x\":1},\"call_id\":\"t1\"}\n"),
        call("n1", "b", "{}"),
        text("prose\n{\"name\":\"c\",\"parameters\":{}}"),
        chunk("{}", "tool_calls"),
        DONE.to_owned(),
    ];
    assert_eq!(
        lines(TextMode::ToolCalls, &wire),
        [
            r#"textual call newline a {"x":1} t1"#,
            "note prose",
            "textual call finish_reason c {}",
            "call finish_reason b {} n1",
            "finish tool_calls"
        ]
    );
    let seen = seen_as(TextMode::ToolCalls, &wire);
    assert_eq!((seen.report.tool_calls(), seen.report.records(), seen.report.rejected()), (3, 0, 0));
    // Otherwise the text is unchanged.
    assert_eq!(seen_as(TextMode::Records, &wire).report.records(), 2);
    let as_text = seen_as(TextMode::Text, &wire);
    assert_eq!((as_text.report.tool_calls(), as_text.report.records(), as_text.report.notes()), (1, 0, 0));
}

#[test]
fn one_record_may_hold_several_calls_or_none() {
    let wire = [
        text("Look: {\"tool_calls\":[{\"tool\":\"a\",\"args\":{}},{\"tool\":\"b\"},"),
        text("{\"name\":\"c\",\"input\":\"{}\"}]} {\"tool_calls\":[]} Done.\n{\"x\":1}\n"),
        chunk("{}", "stop"),
        DONE.to_owned(),
    ];
    let seen = seen_as(TextMode::ToolCalls, &wire).summary();
    assert_eq!(
        seen,
        [
            "textual call next_item a {}",
            "rejected invalid_parameters: a tool call needs `parameters`",
            "textual call next_item c {}",
            "rejected missing_field: a tool call needs a `name`",
            "finish stop",
            "text Look: Done.⏎{\"x\":1}⏎",
        ]
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
        lines(TextMode::Records, &complete),
        [
            r#"1: call finish_reason f {"b":2} synthetic synthetic_1"#,
            "1: finish tool_calls",
            r#"call finish_reason f {"a":1} synthetic synthetic_1"#,
            "finish stop"
        ]
    );
    let seen = seen_as(TextMode::Records, &wire);
    assert_eq!(codes(&seen), [Code::Unsealed, Code::StreamIncomplete]);
    assert!(!seen.is_complete);

    let mut parser = parser(TextMode::Records);
    decode(&mut parser, [complete.concat().as_bytes()]);
    assert_eq!(parser.finish_reason(0), Some(&FinishReason::Stop));
    assert_eq!(parser.finish_reason(1), Some(&FinishReason::ToolCalls));
    assert_eq!(parser.finish_reason(2), None);
}
