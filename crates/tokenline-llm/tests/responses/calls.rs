//! Tool calls: parallel, repeated, in the text and native.

use tokenline_core::Code;
use tokenline_core::{Options, Release};
use tokenline_llm::{FinishReason, Provider, TextMode};

use crate::common::{at_every_cut, call, chunk, decode, parser, parser_of, text};
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
    let mut at_finish = parser(TextMode::Records).with_options(|with| with.parse_text(options));
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
fn a_placeholder_leaves_the_arguments_at_the_start_of_a_block() {
    let seen = |pieces: &[&str]| {
        let block = r#"{"type":"tool_use","id":"c1","name":"f","input":{"a":1}}"#;
        let start = format!(r#"{{"type":"content_block_start","index":0,"content_block":{block}}}"#);
        let delta = |piece: &&str| {
            let piece = serde_json::Value::from(*piece);
            let delta = format!(r#"{{"type":"input_json_delta","partial_json":{piece}}}"#);
            format!(r#"{{"type":"content_block_delta","index":0,"delta":{delta}}}"#)
        };
        let ends = [
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#,
            r#"{"type":"message_stop"}"#,
        ];
        let message = r#"{"type":"message_start","message":{"content":[]}}"#.to_owned();
        let events = [message, start].into_iter().chain(pieces.iter().map(delta));
        let events = events.chain(ends.map(str::to_owned)).map(|event| format!("data: {event}\n\n"));
        let parser = parser_of(Provider::Anthropic, TextMode::Records);
        at_every_cut(parser, events.collect::<String>().as_bytes()).summary()
    };
    for pieces in [&[][..], &["{}"], &["{", "}"], &["null"], &["\n", " "], &["\"", "\""], &["{", "\"a\":1}"]]
    {
        assert_eq!(seen(pieces), ["call item_stop f {\"a\":1} c1", "finish tool_calls"], "{pieces:?}");
    }
    assert_eq!(seen(&["{", "\"b\"", ":2}"])[0], "call item_stop f {\"b\":2} c1");
}

#[test]
fn a_placeholder_at_the_end_of_a_call_says_nothing() {
    let event = |event: &str| format!("data: {event}\n\n");
    let added = r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"c1","name":"f","arguments":"FIRST"}}"#;
    let done = r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"c1","name":"f","arguments":"THEN","status":"completed"}}"#;
    let completed = r#"{"type":"response.completed","response":{"status":"completed"}}"#;
    let step = |args: &str, more: &str| {
        event(&format!(
            r#"{{"candidates":[{{"content":{{"parts":[{{"functionCall":{{{args}{more}}}}}]}}}}]}}"#
        ))
    };
    let goes_on = r#","willContinue":true"#;
    for (first, then) in [(r#"{\"a\":1}"#, "{}"), ("{}", r#"{\"a\":1}"#), (r#"{\"a\":1}"#, "null")] {
        let wire =
            [event(&added.replace("FIRST", first)), event(&done.replace("THEN", then)), event(completed)];
        let parser = parser_of(Provider::OpenAiResponses, TextMode::Records);
        let seen = at_every_cut(parser, wire.concat().as_bytes()).summary();
        assert_eq!(seen, ["call item_stop f {\"a\":1} c1", "finish tool_calls"], "{first} {then}");
        let value = |text: &str| text.replace('\\', "");
        let wire = [
            step(&format!(r#""id":"c1","name":"f","args":{}"#, value(first)), goes_on),
            step(&format!(r#""args":{}"#, value(then)), ""),
            event(r#"{"candidates":[{"finishReason":"STOP"}]}"#),
        ];
        let seen =
            at_every_cut(parser_of(Provider::Gemini, TextMode::Records), wire.concat().as_bytes()).summary();
        assert_eq!(seen, ["call item_stop f {\"a\":1} c1", "finish stop"], "{first} {then}");
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
            "note call_in_text",
            "call finish_reason b {} n1",
            "finish tool_calls"
        ]
    );
    let seen = seen_as(TextMode::ToolCalls, &wire);
    assert_eq!((seen.report.tool_calls(), seen.report.records(), seen.report.rejected()), (2, 0, 0));
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

#[test]
fn a_call_without_arguments_needs_the_end_of_its_item() {
    let truncated = "rejected truncated: call 1 (`f`): the response ended before the arguments began";
    let event = |name: &str, data: &str| format!("event: {name}\ndata: {data}\n\n");
    let anthropic = [
        event("message_start", r#"{"type":"message_start","message":{"content":[]}}"#),
        event(
            "content_block_start",
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c","name":"f","input":{}}}"#,
        ),
        event("content_block_stop", r#"{"type":"content_block_stop","index":0}"#),
        event("message_delta", r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#),
        event("message_stop", r#"{"type":"message_stop"}"#),
    ];
    let item = r#"{"type":"function_call","call_id":"c","name":"f","arguments":"""#;
    let responses = [
        event("response.created", r#"{"type":"response.created","response":{}}"#),
        event(
            "response.output_item.added",
            &format!(r#"{{"type":"response.output_item.added","output_index":0,"item":{item}}}}}"#),
        ),
        event(
            "response.output_item.done",
            &format!(
                r#"{{"type":"response.output_item.done","output_index":0,"item":{item},"status":"completed"}}}}"#
            ),
        ),
        event("response.completed", r#"{"type":"response.completed","response":{"output":[]}}"#),
    ];
    let cohere = [
        event("message-start", r#"{"type":"message-start","delta":{"message":{}}}"#),
        event(
            "tool-call-start",
            r#"{"type":"tool-call-start","index":0,"delta":{"message":{"tool_calls":{"id":"c","function":{"name":"f","arguments":""}}}}}"#,
        ),
        event("tool-call-end", r#"{"type":"tool-call-end","index":0}"#),
        event("message-end", r#"{"type":"message-end","delta":{"finish_reason":"TOOL_CALL"}}"#),
    ];
    for (provider, events) in [
        (Provider::Anthropic, &anthropic[..]),
        (Provider::OpenAiResponses, &responses),
        (Provider::Cohere, &cohere),
    ] {
        let seen = |events: &[String]| {
            let seen = at_every_cut(parser_of(provider, TextMode::ToolCalls), events.concat().as_bytes());
            (seen.is_complete, seen.summary().into_iter().find(|line| line.contains("call")))
        };
        let [whole, cut] =
            [events.to_vec(), [&events[..2], &events[3..]].concat()].map(|events| seen(&events));
        let (is_complete, call) = whole;
        assert!(is_complete && call.is_some_and(|call| call.ends_with(" f {} c")), "{provider:?}");
        assert_eq!(cut, (true, Some(truncated.to_owned())), "{provider:?}");
    }
}
