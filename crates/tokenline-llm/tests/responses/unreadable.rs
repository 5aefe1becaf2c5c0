//! Truncated, unreadable or invalid parts invalidate their line or call, and nothing is made up.

use tokenline_core::{Code, Limits, Options};
use tokenline_llm::{Provider, ResponseParser, TextMode};

use crate::common::{at_every_cut, call, chunk, chunk_of, decode, parser, parser_of, text};
use crate::{DONE, codes, lines, seen_as};

const LOST: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\\x\"}}]}\n\n";

#[test]
fn a_character_split_into_halves_is_joined() {
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
        lines(TextMode::Records, &wire),
        [
            r#"newline {"a":"x😀"}"#,
            r#"call finish_reason f {"b":"😁!"} synthetic synthetic_1"#,
            "finish stop"
        ]
    );
    // A half without the other one invalidates its line or call.
    let alone = [
        raw_text(r#"{\"a\":1}\n{\"b\":\"\ud83d"#),
        raw_text(r#"\"}\n{\"c\":3}\n{\"d\":\"\ude00\"}\n"#),
        raw_call(r#"{\"b\":\"\ud83d"#),
        raw_call(r#"\"}"#),
        stop,
    ];
    let seen = seen_as(TextMode::Records, &alone);
    assert_eq!(codes(&seen), [Code::InvalidUtf8, Code::InvalidUtf8, Code::InvalidUtf8]);
    assert_eq!(seen.report.records(), 2);
}

#[test]
fn half_a_character_makes_a_name_invalid() {
    let stop = chunk("{}", "stop");
    for call in [
        r#"{"index":0,"id":"c","function":{"name":"rm\ud83d","arguments":"{}"}}"#,
        r#"{"index":0,"id":"c\ude00","function":{"name":"rm","arguments":"{}"}}"#,
    ] {
        let wire = [chunk(&format!(r#"{{"tool_calls":[{call}]}}"#), ""), stop.clone()];
        let seen = seen_as(TextMode::Records, &wire);
        assert_eq!((codes(&seen), seen.report.tool_calls()), (vec![Code::InvalidUtf8], 0), "{call}");
    }
    let error = "data: {\"error\":{\"message\":\"down\\ud83d\"}}\n\n".to_owned();
    assert_eq!(lines(TextMode::Records, &[error]), ["rejected provider_error: down\u{fffd}"]);
    // The end of one choice does not affect a half in another.
    let wire = [
        chunk(r#"{"content":"{\"a\":\"\ud83d"}"#, ""),
        chunk_of(1, "{}", "stop"),
        chunk(r#"{"content":"\ude00\"}\n"}"#, "stop"),
    ];
    assert_eq!(lines(TextMode::Records, &wire), ["1: finish stop", r#"newline {"a":"😀"}"#, "finish stop"]);
}

#[test]
fn data_that_is_not_json_may_be_a_lost_part() {
    let stop = chunk("{}", "stop");
    for lost in [
        "Bad Gateway",
        "\"choices\":[{\"delta\":{\"content\":\"0\"}}]}",
        "<html>",
        "data: {}",
        "[ERROR] boom",
    ] {
        let wire = [text("{\"a\":1"), format!("data: {lost}\n\n"), text("0}\n{\"b\":2}\n"), stop.clone()];
        let seen = seen_as(TextMode::Records, &wire);
        assert_eq!(codes(&seen), [Code::MalformedJson, Code::MalformedJson], "{lost}");
        assert_eq!(seen.report.records(), 1, "{lost}");
    }
    // What keeps a connection open.
    for idle in [": OPENROUTER PROCESSING", "ping", "keep-alive", "[PING]", "null"] {
        let wire = [text("{\"a\":1"), format!("data: {idle}\n\n"), text("0}\n"), stop.clone()];
        assert_eq!(lines(TextMode::Records, &wire), ["newline {\"a\":10}", "finish stop"], "{idle}");
    }
}

#[test]
fn a_part_of_another_type_is_a_lost_part() {
    let stop = chunk("{}", "stop");
    let delta = |delta: &str| format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{delta}}}]}}\n\n");
    for lost in [
        delta(r#"{"content":["00"]}"#),
        delta(r#"{"content":{"text":"00"}}"#),
        delta(r#"{"content":7}"#),
        delta(r#"{"content":[{"type":"text","text":7}]}"#),
        delta(r#""00""#),
        "data: {\"choices\":{\"delta\":{\"content\":\"00\"}}}\n\n".to_owned(),
        "data: {\"choices\":[\"00\"]}\n\n".to_owned(),
    ] {
        let wire = [text("{\"a\":1"), lost.clone(), text("0}\n{\"b\":2}\n"), stop.clone()];
        let seen = seen_as(TextMode::Records, &wire);
        assert_eq!(codes(&seen), [Code::MalformedJson, Code::MalformedJson], "{lost}");
        assert_eq!(seen.report.records(), 1, "{lost}");
    }
    for name in [" data", "DATA", "\tData"] {
        let lost = format!("{name}: {{\"choices\":[{{\"delta\":{{\"content\":\"00\"}}}}]}}\n\n");
        let wire = [text("{\"a\":1"), lost, text("0}\n{\"b\":2}\n"), stop.clone()];
        let seen = seen_as(TextMode::Records, &wire);
        assert_eq!(codes(&seen), [Code::MalformedJson, Code::StrayLines], "{name}");
        assert_eq!(seen.report.records(), 1, "{name}");
    }
    // A line without its field name; one that is not part of a response has no effect.
    for (stray, records) in [(r#"{"choices":[{"delta":{"content":"00"}}]}"#, 1), (r#"{"level":"info"}"#, 2)] {
        let wire = [text("{\"a\":1"), format!("{stray}\n\n"), text("0}\n{\"b\":2}\n"), stop.clone()];
        assert_eq!(seen_as(TextMode::Records, &wire).report.records(), records, "{stray}");
    }
    // Empty in any type, and a part without a kind.
    for (member, records) in
        [("[]", "10"), ("{}", "10"), ("\"\"", "10"), ("false", "10"), (r#"[{"text":"0"}]"#, "100")]
    {
        let content = delta(&format!("{{\"content\":{member}}}"));
        let wire = [text("{\"a\":1"), content, text("0}\n"), stop.clone()];
        let expected = format!("newline {{\"a\":{records}}}");
        assert_eq!(lines(TextMode::Records, &wire), [expected.as_str(), "finish stop"], "{member}");
    }
    // In a line of Ollama's.
    let wire = "{\"message\":{\"content\":\"{\\\"a\\\":1\"},\"done\":false}\n{\"message\":\"0\",\"done\":false}\n\
                {\"message\":{\"content\":\"0}\\n\"},\"done\":true,\"done_reason\":\"stop\"}\n";
    let seen = at_every_cut(parser_of(Provider::Ollama, TextMode::Records), wire.as_bytes());
    assert_eq!((seen.report.records(), codes(&seen).len()), (0, 2), "{seen:?}");
}

#[test]
fn what_holds_no_part_of_the_text_is_not_a_lost_part() {
    let data = |provider: Provider, events: &[&str]| {
        let wire: String = events.iter().map(|data| format!("data: {data}\n\n")).collect();
        at_every_cut(parser_of(provider, TextMode::Records), wire.as_bytes())
    };
    let response = |events: &[&str]| {
        let last = r#"{"type":"response.completed","response":{"status":"completed","output":[]}}"#;
        data(Provider::OpenAiResponses, &[&[r#"{"type":"response.created"}"#], events, &[last]].concat())
    };
    let delta = |text: &str| {
        format!(
            r#"{{"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":"{text}"}}"#
        )
    };
    let done =
        |item: &str| format!(r#"{{"type":"response.output_item.done","output_index":1,"item":{item}}}"#);
    // Reasoning in another type, in a text part, or an invalid refusal.
    for between in [
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","summary":"hm"}}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","content":{"a":1}}}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","content":[{"type":"output_text","text":"{\"draft\":1}\n"}]}}"#,
        r#"{"type":"response.reasoning_text.delta","output_index":0,"delta":{"text":"hm"}}"#,
        r#"{"type":"response.refusal.delta","output_index":0,"delta":7}"#,
    ] {
        let seen = response(&[&delta(r#"{\"a\":1"#), between, &delta(r#"0}\n"#)]);
        let records: Vec<_> = seen
            .summary()
            .into_iter()
            .filter(|line| line.contains('{') && !line.starts_with("reasoning"))
            .collect();
        assert_eq!(records, [r#"newline {"a":10}"#], "{between}");
        assert!(codes(&seen).is_empty(), "{between}: {seen:?}");
    }
    // The text of an item as one string, which had come in pieces, or had not.
    let whole = done(r#"{"type":"message","status":"completed","content":"{\"a\":1}\n"}"#);
    for events in [&[whole.as_str()][..], &[&delta(r#"{\"a\":1}\n"#), &whole]] {
        let seen = response(events);
        assert_eq!((seen.report.records(), codes(&seen)), (1, vec![]), "{events:?}");
    }
    let anthropic = |event: &str| {
        let start = r#"{"type":"message_start","message":{"content":[]}}"#;
        let text = |text: &str| {
            format!(
                r#"{{"type":"content_block_delta","index":1,"delta":{{"type":"text_delta","text":"{text}"}}}}"#
            )
        };
        let end = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#;
        let events =
            [start, &text(r#"{\"a\":1"#), event, &text(r#"0}\n"#), end, r#"{"type":"message_stop"}"#];
        let seen = data(Provider::Anthropic, &events);
        (seen.report.records(), codes(&seen).len())
    };
    let thinking =
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":{}}}"#;
    assert_eq!(anthropic(thinking), (1, 0));
    for lost in [r#""00""#, r#"{"text":"00"}"#, r#"[{"type":"text_delta","text":"00"}]"#] {
        let lost = format!(r#"{{"type":"content_block_delta","index":1,"delta":{lost}}}"#);
        assert_eq!(anthropic(&lost), (0, 2), "{lost}");
    }
    let chat = |events: &[String]| lines(TextMode::Records, &[events, &[chunk("{}", "stop")]].concat());
    for empty in [r#"{"content":[{"type":"text"}]}"#, r#"{"content":[{"type":"reference","ids":[1]}]}"#] {
        let seen = chat(&[text("{\"a\":1"), chunk(empty, ""), text("0}\n")]);
        assert_eq!(seen, ["newline {\"a\":10}", "finish stop"], "{empty}");
    }
    // One call under both names.
    let call = r#"{"name":"f","arguments":"{}"}"#;
    let both =
        format!(r#"{{"function_call":{call},"tool_calls":[{{"index":0,"id":"c","function":{call}}}]}}"#);
    assert_eq!(chat(&[chunk(&both, "")]), ["call finish_reason f {} c", "finish stop"]);
    let remark = "data: {\"choices\":[{\"index\":0,\"message\":\"stopped by eos\"}]}\n\n".to_owned();
    assert_eq!(chat(&[text("{\"a\":1"), remark, text("0}\n")]), ["newline {\"a\":10}", "finish stop"]);
}

#[test]
fn a_whole_message_after_deltas_repeats_them() {
    let whole = |members: &str| {
        format!("data: {{\"object\":\"chat.completion\",\"choices\":[{{\"index\":0,{members}}}]}}\n\n")
    };
    let message = r#""finish_reason":"stop","message":{"role":"assistant","reasoning_content":"hm","content":"{\"a\":1}\n{\"b\":2}"}"#;
    let deltas = [chunk(r#"{"reasoning_content":"hm"}"#, ""), text("{\"a\":1}\n"), text("{\"b\":2}")];
    let expected = [r#"newline {"a":1}"#, r#"finish_reason {"b":2}"#, "finish stop", "reasoning hm"];
    assert_eq!(lines(TextMode::Records, &[&deltas[..], &[whole(message)]].concat()), expected);
    assert_eq!(lines(TextMode::Records, &[whole(message)]), expected);
    // Messages in place of deltas are pieces.
    let pieces =
        ["{\\\"a\\\"", ":1}\\n"].map(|text| whole(&format!("\"message\":{{\"content\":\"{text}\"}}")));
    let seen = lines(TextMode::Records, &[&pieces[..], &[chunk("{}", "stop")]].concat());
    assert_eq!(seen, ["newline {\"a\":1}", "finish stop"]);
    // Beside an empty delta, and with an index in a string.
    assert_eq!(lines(TextMode::Records, &[whole(&format!("\"delta\":null,{message}"))]), expected);
    assert_eq!(lines(TextMode::Records, &[whole(&format!("\"delta\":{{}},{message}"))]), expected);
    let choice = |index: &str, text: &str| {
        let text = serde_json::Value::from(text);
        format!(
            "data: {{\"choices\":[{{\"index\":\"{index}\",\"delta\":{{\"content\":{text}}},\"finish_reason\":\"\"}}]}}\n\n"
        )
    };
    let both = [choice("0", "{\"a\":1"), choice("1", "3}\n{\"b\":2}\n"), choice("0", "}\n"), DONE.to_owned()];
    let seen = seen_as(TextMode::Records, &both);
    let records: Vec<_> = seen.summary().into_iter().filter(|line| line.contains("newline")).collect();
    assert_eq!(records, ["1: newline {\"b\":2}", "newline {\"a\":1}"]);
}

#[test]
fn what_is_between_the_elements_of_an_array_may_be_a_lost_part() {
    let part = |text: &str, reason: &str| {
        let text = serde_json::Value::from(text);
        format!(r#"{{"candidates":[{{"content":{{"parts":[{{"text":{text}}}]}}{reason}}}]}}"#)
    };
    let parts = [part("{\"a\":1", ""), part("0}\n{\"b\":2}\n", r#","finishReason":"STOP""#)];
    for (between, records) in
        [(",\n", 2), (", null ,", 2), (",\nInternal error,\n", 1), (",<html>\n", 1), (",\"x\" y,", 1)]
    {
        let wire = format!("[{}]", parts.join(between));
        let seen = at_every_cut(parser_of(Provider::Gemini, TextMode::Records), wire.as_bytes());
        assert_eq!(
            (seen.report.records(), codes(&seen).is_empty()),
            (records, records == 2),
            "{between}: {seen:?}"
        );
    }
}

#[test]
fn a_character_that_looks_like_a_half_is_unchanged() {
    // U+10F03D in place of X: next to halves, in a name, and as an escape.
    let wire = [
        chunk(r#"{"content":"{\"X\":\"\udbfc\udc3d\ud83d"}"#, ""),
        chunk(r#"{"content":"\ude00X\"}\n"}"#, ""),
        chunk(
            r#"{"tool_calls":[{"index":0,"id":"X","function":{"name":"X","arguments":"{\"a\":\"\ud83d"}}]}"#,
            "",
        ),
        chunk(r#"{"tool_calls":[{"index":0,"function":{"arguments":"\ude00X\"}"}}]}"#, "stop"),
    ];
    let wire = wire.map(|chunk| chunk.replace('X', "\u{10f03d}"));
    let expected = [r#"newline {"X":"X😀X"}"#, r#"call finish_reason X {"a":"😀X"} X"#, "finish stop"];
    assert_eq!(lines(TextMode::Records, &wire), expected.map(|line| line.replace('X', "\u{10f03d}")));
}

#[test]
fn half_a_character_waits_for_the_end_of_its_block_or_response() {
    let start = r#"{"type":"message_start","message":{"content":[]}}"#;
    let summary = |events: &[&str]| {
        let wire: String = [start].iter().chain(events).map(|data| format!("data: {data}\n\n")).collect();
        decode(&mut parser_of(Provider::Anthropic, TextMode::Records), [wire.as_bytes()]).summary()
    };
    let delta = |index: u32, text: &str| {
        format!(
            r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"text_delta","text":"{text}"}}}}"#
        )
    };
    let (high, low) = (&delta(0, r#"{\"a\":\"\ud83d"#), &delta(0, r#"\ude00\"}\n"#));
    let stop = r#"{"type":"content_block_stop","index":0}"#;
    let next = r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#;
    let end = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#;
    let last = r#"{"type":"message_stop"}"#;
    let seen = summary(&[high, r#"{"type":"ping"}"#, low, end, last]);
    assert_eq!(seen[..2], [r#"newline {"a":"😀"}"#, "finish stop"]);
    let in_another_block = &delta(1, r#"\ude00\"}\n"#);
    for events in [
        &[high, stop, next, low, end, last][..],
        &[high, end, last],
        &[high, last],
        &[high, start, low, end, last],
        &[high, in_another_block, end, last],
    ] {
        let seen = summary(events);
        assert!(!seen.iter().any(|line| line.contains('😀')), "{seen:?}");
        assert!(seen.iter().any(|line| line.starts_with("rejected invalid_utf8")), "{seen:?}");
    }
}

#[test]
fn text_after_a_cut_does_not_continue_the_record() {
    let wire = [
        text("{\"name\":\"batch\",\"parameters\":{\"calls\":["),
        chunk("{}", "stop"),
        text("{\"name\":\"rm\",\"parameters\":{}},{\"name\":\"rm2\",\"parameters\":{}}]}}\n"),
        text("{\"name\":\"ls\",\"parameters\":{}}\n"),
        chunk("{}", "stop"),
    ];
    let seen = seen_as(TextMode::ToolCalls, &wire);
    let calls: Vec<_> = seen.summary().into_iter().filter(|line| line.starts_with("textual")).collect();
    assert_eq!(calls, ["textual call newline ls {}"]);
}

#[test]
fn an_unreadable_event_makes_nothing_up() {
    let finding = "rejected malformed_json: the event is not JSON: expected an escape: one of `\"\\/bfnrtu`, found a letter (byte 44 of its data); its part of the response is missing";
    let gap = "rejected malformed_json: part of the line may be missing: the input before it was truncated or could not be read";
    let lost = LOST.to_owned();
    let finish = chunk("{}", "stop");
    let check = |wire: &[&String], expected: &[&str]| {
        let wire: Vec<String> = wire.iter().map(|wire| (*wire).clone()).chain([finish.clone()]).collect();
        assert_eq!(lines(TextMode::Records, &wire), [expected, &["finish stop"]].concat(), "{wire:?}");
    };
    // Its line is rejected, the lines around it are not.
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
    // The start of a choice that begins after it may be missing too.
    check(&[&lost, &text("{\"a\":1}\n{\"c\":3}\n")], &[finding, gap, r#"newline {"c":3}"#]);
    // Open calls are rejected; later ones are not.
    check(
        &[&call("a", "f", "{\"x\":"), &lost, &call("", "", "1}")],
        &[finding, "rejected truncated: call 1 (`f`): expected a value, found the end of the input"],
    );
    let unsealed = "rejected unsealed: call 1 (`f`): the arguments are balanced, but the response ended without evidence that they are complete";
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
fn an_event_above_the_limit_is_unreadable() {
    let limits = Limits { sse_event_bytes: 300, ..Limits::default() };
    let options = Options::lenient().limits(limits);
    let wire =
        [text("{\"a\":1}\n{\"b\":\""), text(&"x".repeat(300)), text("\"}\n{\"c\":3}\n"), chunk("{}", "stop")]
            .concat();
    let seen = at_every_cut(ResponseParser::new(Provider::OpenAiChat, options), wire.as_bytes());
    assert_eq!(codes(&seen), [Code::RecordTooLarge, Code::MalformedJson]);
    assert_eq!(seen.report.records(), 2);
}

#[test]
fn bytes_that_are_not_utf8_harm_their_line_or_call() {
    let wire = |before: &str, bad: &str| {
        let mut wire = [before.to_owned(), bad.to_owned(), chunk("{}", "stop")].concat().into_bytes();
        let at = wire.windows(3).position(|window| window == "…".as_bytes()).expect("a place for it");
        wire.splice(at..at + 3, [0xFF, 0xE2, 0x82]);
        at_every_cut(parser(TextMode::Records), &wire)
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
    // Elsewhere in the event it does no harm.
    let seen = wire("", &text("{\"a\":1}\n").replace("choices", "model\":\"…\",\"choices"));
    assert_eq!((codes(&seen), seen.report.records()), (vec![], 1));
}

#[test]
fn deeply_nested_events_are_unreadable_but_not_fatal() {
    let deep = format!("data: {{\"x\":{}}}\n\n", "[".repeat(100_000));
    let seen = decode(
        &mut parser(TextMode::Records),
        [deep.as_bytes(), text("\n{\"a\":1}\n").as_bytes(), DONE.as_bytes()],
    );
    assert_eq!((codes(&seen), seen.report.records()), (vec![Code::MalformedJson, Code::MalformedJson], 1));
}
