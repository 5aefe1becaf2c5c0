//! Cohere chat: the deltas of its events.

use crate::common::deltas::{of_body, of_events};
use tokenline_core::Limits;
use tokenline_llm::Provider;
use tokenline_llm::providers::EventDecoder;

fn deltas(events: &[&str]) -> Vec<String> {
    let events: Vec<(&str, &str)> = events.iter().map(|data| ("message", *data)).collect();
    of_events(Provider::Cohere, &events)
}

const START: &str = r#"{"type":"message-start","id":"m","delta":{"message":{"role":"assistant","content":[],"tool_plan":"","tool_calls":[],"citations":[]}}}"#;
const CONTENT: &str =
    r#"{"type":"content-start","index":0,"delta":{"message":{"content":{"type":"text","text":""}}}}"#;
const CONTENT_END: &str = r#"{"type":"content-end","index":0}"#;
const CALL: &str = r#"{"type":"tool-call-start","index":0,"delta":{"message":{"tool_calls":{"id":"c","type":"function","function":{"name":"now","arguments":""}}}}}"#;
const CALL_END: &str = r#"{"type":"tool-call-end","index":0}"#;

fn text(text: &str) -> String {
    format!(r#"{{"type":"content-delta","index":0,"delta":{{"message":{{"content":{{"text":"{text}"}}}}}}}}"#)
}

fn arguments(text: &str) -> String {
    let text = serde_json::Value::from(text);
    format!(
        r#"{{"type":"tool-call-delta","index":0,"delta":{{"message":{{"tool_calls":{{"function":{{"arguments":{text}}}}}}}}}}}"#
    )
}

fn end(reason: &str) -> String {
    format!(r#"{{"type":"message-end","delta":{{"finish_reason":"{reason}"}}}}"#)
}

#[test]
fn the_type_takes_precedence_over_the_name() {
    let end = end("COMPLETE");
    let expected = ["finish stop", "Terminator"];
    assert_eq!(of_events(Provider::Cohere, &[("message-start", &end)]), expected);
    let nameless = end.replace(r#""type":"message-end","#, "");
    assert_eq!(of_events(Provider::Cohere, &[("message-end", &nameless)]), expected);
    let null = end.replace(r#""message-end""#, "null");
    assert_eq!(of_events(Provider::Cohere, &[("message-end", &null)]), expected);
}

#[test]
fn data_that_is_not_an_object() {
    assert_eq!(deltas(&["", "[DONE]", " "]), [""; 0]);
    assert_eq!(deltas(&["[1]", "stop"]), ["unknown data.array", "unknown data.text"]);
    let mut decoder = EventDecoder::new(Provider::Cohere, &Limits::default());
    assert!(decoder.decode("message", r#"{"type":"#, |delta| panic!("{delta:?}")).is_err());
}

#[test]
fn contents_and_calls_are_blocks_of_their_own() {
    let events =
        [START, CONTENT, &text("Hi"), CONTENT_END, CALL, &arguments("{}"), CALL_END, &end("TOOL_CALL")];
    assert_eq!(
        deltas(&events),
        [
            "start",
            "text 0: Hi",
            "stop 0 item_stop",
            "call 1: now c",
            "arguments 1: {}",
            "stop 1 item_stop",
            "finish tool_calls",
            "Terminator",
        ]
    );
}

#[test]
fn thinking_and_plans_are_reasoning() {
    let events = [
        r#"{"type":"content-start","index":0,"delta":{"message":{"content":{"type":"thinking","thinking":"a"}}}}"#,
        r#"{"type":"content-delta","index":0,"delta":{"message":{"content":{"thinking":"b"}}}}"#,
        r#"{"type":"content-delta","index":0,"delta":{"message":{"content":{"thinking":"c"}}}}"#,
        CONTENT_END,
        r#"{"type":"tool-plan-delta","delta":{"message":{"tool_plan":"d"}}}"#,
        r#"{"type":"tool-plan-delta","delta":{"message":{"tool_plan":"e"}}}"#,
        r#"{"type":"tool-plan-delta","delta":{"message":{"tool_plan":null}}}"#,
    ];
    assert_eq!(deltas(&events), ["reasoning: abc", "opaque \"tool_plan\"", "reasoning: de"]);
}

#[test]
fn the_end_of_a_text_is_held_back() {
    let held = [CONTENT, &text("a"), CONTENT_END];
    assert_eq!(deltas(&held), ["text 0: a"]);
    for (reason, stop) in [
        ("COMPLETE", "item_stop"),
        ("STOP_SEQUENCE", "item_stop"),
        ("TOOL_CALL", "item_stop"),
        ("MAX_TOKENS", "cut"),
        ("TIMEOUT", "cut"),
        ("ERROR", "cut"),
    ] {
        let end = end(reason);
        assert_eq!(deltas(&[held[0], held[1], held[2], &end])[1], format!("stop 0 {stop}"), "{reason}");
    }
    for follows in [CONTENT, CALL] {
        assert_eq!(deltas(&[held[0], held[1], held[2], follows])[1], "stop 0 item_stop");
    }
}

/// The end of the message decides whether a call without arguments is complete.
#[test]
fn calls_with_missing_events() {
    let stop = "stop 1 item_stop";
    assert_eq!(deltas(&[CALL, CALL_END]), ["call 1: now c", stop]);
    assert_eq!(deltas(&[&arguments("{}"), CALL_END]), ["arguments 1: {}", stop]);
    assert_eq!(
        deltas(&[CALL, &arguments("{"), &end("MAX_TOKENS")])[1..3],
        ["arguments 1: {", "finish length"]
    );
    let whole = CALL.replace(r#""arguments":"""#, r#""arguments":{"a": 1}"#);
    assert_eq!(deltas(&[&whole, CALL_END]), ["call 1: now c", r#"arguments 1: {"a": 1}"#, stop]);
    // It may have been the end of a text.
    assert_eq!(deltas(&[CONTENT_END, &end("COMPLETE")])[0], "stop 0 item_stop");
}

#[test]
fn unknown_members_are_counted_and_unreadable_ones_told() {
    for (event, expected) in [
        (r#"{"type":"ping"}"#, &["unknown event.ping"][..]),
        (r#"{"type":"citation-start","index":0,"delta":{"message":{"citations":{"start":1}}}}"#, &[]),
        (r#"{"type":"citation-end","index":0}"#, &[]),
        (r#"{"type":"debug","prompt":"a"}"#, &["unknown .prompt"]),
        (r#"{"type":"content-end","index":9,"x":1}"#, &["unknown .x"]),
        (r#"{"type":"content-delta","index":0,"delta":[],"logprobs":{}}"#, &["unknown .delta: array"]),
        (
            r#"{"type":"content-delta","delta":{"x":1,"message":{"y":1}}}"#,
            &["unknown delta.x", "unknown delta.message.y"],
        ),
        (r#"{"type":"content-delta","delta":{"message":1}}"#, &["unreadable delta.message: number"]),
        (
            r#"{"type":"content-delta","delta":{"message":{"content":{"text":1,"x":1}}}}"#,
            &["unreadable delta.message.content.text: number", "unknown delta.message.content.x"],
        ),
        (
            r#"{"type":"content-start","delta":{"message":{"content":{"type":"image","text":"a"}}}}"#,
            &["unknown delta.message.content.image"],
        ),
        (
            r#"{"type":"tool-call-delta","delta":{"message":{"tool_calls":{"x":1,"function":{"y":1}}}}}"#,
            &["unknown delta.message.tool_calls.x", "unknown delta.message.tool_calls.function.y"],
        ),
        (
            r#"{"type":"tool-call-delta","delta":{"message":{"tool_calls":{"function":7}}}}"#,
            &["unreadable delta.message.tool_calls.function: number"],
        ),
        (
            r#"{"type":"tool-plan-delta","delta":{"message":{"tool_plan":7}}}"#,
            &["unknown delta.message.tool_plan: number"],
        ),
    ] {
        assert_eq!(deltas(&[event]), expected, "{event}");
    }
    // A content of an unknown kind contains no text.
    let image = CONTENT.replace(r#""text","text":"""#, r#""image""#);
    assert_eq!(deltas(&[&image, &text("a"), CONTENT_END, CONTENT, &text("b")])[1..], ["text 0: b"]);
}

#[test]
fn errors() {
    let gone = ["error gone"];
    for data in [
        r#"{"message":"gone"}"#,
        r#"{"error":"gone"}"#,
        r#"{"error":{"message":"gone"}}"#,
        r#"{"id":"1","message":"gone"}"#,
    ] {
        assert_eq!(deltas(&[data]), gone, "{data}");
    }
    assert_eq!(of_events(Provider::Cohere, &[("error", "gone")]), gone);
    assert_eq!(deltas(&[r#"{"type":"debug","message":"a"}"#]), [""; 0]);
    assert_eq!(of_events(Provider::Cohere, &[("error", "{}")]), ["error no message"]);
    // The end of a failed message is not a clean end: it proves nothing complete.
    let failed = r#"{"type":"message-end","delta":{"error":"gone","finish_reason":"ERROR"}}"#;
    assert_eq!(deltas(&[failed]), ["finish error", "error gone"]);
    assert_eq!(deltas(&[&end("ERROR")]), ["finish error"]);
}

#[test]
fn reasons_and_usage() {
    for (name, reason) in [
        ("COMPLETE", "stop"),
        ("STOP_SEQUENCE", "stop"),
        ("TOOL_CALL", "tool_calls"),
        ("MAX_TOKENS", "length"),
        ("TIMEOUT", "TIMEOUT"),
    ] {
        assert_eq!(deltas(&[&end(name)]), [&format!("finish {reason}"), "Terminator"]);
    }
    assert_eq!(deltas(&[&end("")]), ["Terminator"]);
    for (usage, expected) in [
        (
            r#"{"tokens":{"input_tokens":3,"output_tokens":4},"billed_units":{"input_tokens":1}}"#,
            Some("usage 3 4 7"),
        ),
        (r#"{"billed_units":{"input_tokens":1,"output_tokens":2,"search_units":9}}"#, Some("usage 1 2 3")),
        (r#"{"tokens":{"input_tokens":3},"billed_units":{"output_tokens":2}}"#, Some("usage 3 2 5")),
        (r#"{"tokens":{"output_tokens":4}}"#, Some("usage ? 4 ?")),
        (r#"{"cached_tokens":3}"#, None),
        ("null", None),
    ] {
        let event = format!(r#"{{"type":"message-end","delta":{{"usage":{usage}}}}}"#);
        let expected: Vec<&str> = expected.into_iter().chain(["Terminator"]).collect();
        assert_eq!(deltas(&[&event]), expected, "{usage}");
    }
}

#[test]
fn a_second_message_in_the_stream_starts_over() {
    let events = [START, CONTENT, &text("a"), START, CONTENT, &text("b"), CONTENT_END, &end("COMPLETE")];
    assert_eq!(
        deltas(&events),
        [
            "start",
            "text 0: a",
            "Restart",
            "start",
            "text 0: b",
            "stop 0 item_stop",
            "finish stop",
            "Terminator"
        ]
    );
}

#[test]
fn complete_responses() {
    let message = r#"{"role":"assistant","tool_plan":"Look.","content":[{"type":"thinking","thinking":"Hm."},{"type":"text","text":"Hi"}],"tool_calls":[{"id":"c","type":"function","function":{"name":"now","arguments":"{}"}},{"id":"d","type":"function","function":{"name":"now","arguments":"{\"a\":1}"}}],"citations":[]}"#;
    let said = [
        "start",
        "opaque \"tool_plan\"",
        "reasoning: Look.Hm.",
        "text 2: Hi",
        "stop 2 item_stop",
        "call 1: now c",
        "arguments 1, whole: {}",
        "stop 1 item_stop",
        "call 3: now d",
        r#"arguments 3, whole: {"a":1}"#,
    ];
    let end = |tail: &[&'static str]| [&said[..], tail].concat();
    assert_eq!(of_body(Provider::Cohere, message), end(&["stop 3 item_stop", "Terminator"]));
    let body = |reason: &str| {
        format!(
            r#"{{"id":"1","finish_reason":"{reason}","message":{message},"usage":{{"tokens":{{"input_tokens":1,"output_tokens":2}}}},"logprobs":[]}}"#
        )
    };
    assert_eq!(
        of_body(Provider::Cohere, &body("TOOL_CALL")),
        end(&["stop 3 item_stop", "usage 1 2 3", "finish tool_calls", "Terminator"])
    );
    // The last part before a limit is not proven complete.
    assert_eq!(
        of_body(Provider::Cohere, &body("MAX_TOKENS")),
        [&said[..9], &["usage 1 2 3", r#"arguments 3, whole: {"a":1}"#, "finish length", "Terminator"],]
            .concat()
    );
    let text = r#"{"finish_reason":"MAX_TOKENS","message":{"role":"assistant","content":"Hi"}}"#;
    assert_eq!(
        of_body(Provider::Cohere, text),
        ["start", "text 0: Hi", "stop 0 cut", "finish length", "Terminator"]
    );
    assert_eq!(
        of_body(Provider::Cohere, r#"{"id":"1","message":"invalid api token"}"#),
        ["error invalid api token"]
    );
    assert_eq!(of_body(Provider::Cohere, r#"{"x":1}"#), ["unknown data.no response"]);
}

#[test]
fn endless_blocks_do_not_fill_the_memory() {
    let mut decoder = EventDecoder::new(Provider::Cohere, &Limits::default());
    for index in 0..10_000 {
        let start = CALL.replace(r#""index":0"#, &format!(r#""index":{index}"#));
        decoder.decode("", &start, |_| {}).expect("it is JSON");
        let stop = format!(r#"{{"type":"content-end","index":{index}}}"#);
        decoder.decode("", &stop, |_| {}).expect("it is JSON");
    }
    decoder
        .decode("", &CALL.replace(r#""index":0"#, r#""index":18446744073709551615"#), |_| {})
        .expect("JSON");
    assert!(format!("{decoder:?}").len() < 20_000);
    decoder.reset();
    let shown = |decoder: &EventDecoder| {
        let shown = format!("{decoder:?}");
        shown[shown.find("reader").expect("it is shown")..].to_owned()
    };
    assert_eq!(shown(&decoder), shown(&EventDecoder::new(Provider::Cohere, &Limits::default())));
}
