//! Amazon Bedrock's ConverseStream: the deltas of its events.

use crate::common::deltas::{at_every_cut, of_body, of_events, of_messages};
use crate::common::event_stream::{event, exception};
use tokenline_core::Limits;
use tokenline_llm::Provider;
use tokenline_llm::providers::EventDecoder;

fn deltas(events: &[(&str, &str)]) -> Vec<String> {
    of_events(Provider::Bedrock, events)
}

fn body(body: &str) -> Vec<String> {
    of_body(Provider::Bedrock, body)
}

const START: (&str, &str) = ("messageStart", r#"{"p":"abcdef","role":"assistant"}"#);
const CALL: (&str, &str) = (
    "contentBlockStart",
    r#"{"contentBlockIndex":1,"p":"abc","start":{"toolUse":{"name":"now","toolUseId":"c"}}}"#,
);
const STOP: (&str, &str) = ("contentBlockStop", r#"{"contentBlockIndex":1,"p":"abcd"}"#);
const METADATA: (&str, &str) = (
    "metadata",
    r#"{"metrics":{"latencyMs":9},"p":"ab","usage":{"inputTokens":1,"outputTokens":2,"totalTokens":3}}"#,
);

fn delta(delta: &str) -> (&'static str, String) {
    ("contentBlockDelta", format!(r#"{{"contentBlockIndex":1,"delta":{delta},"p":"abcdefgh"}}"#))
}

fn text(text: &str) -> (&'static str, String) {
    delta(&format!(r#"{{"text":"{text}"}}"#))
}

fn input(text: &str) -> (&'static str, String) {
    delta(&format!(r#"{{"toolUse":{{"input":{}}}}}"#, serde_json::Value::from(text)))
}

fn stop(reason: &str) -> (&'static str, String) {
    ("messageStop", format!(r#"{{"p":"abc","stopReason":"{reason}"}}"#))
}

fn of<'a>((event, data): &'a (&'static str, String)) -> (&'static str, &'a str) {
    (event, data)
}

#[test]
fn a_stream_of_messages() {
    let wire = [START, of(&text("Hi")), STOP, of(&stop("end_turn")), METADATA]
        .map(|(name, payload)| event(name, payload))
        .concat();
    let seen = at_every_cut(&wire, |pieces| of_messages(Provider::Bedrock, pieces));
    assert_eq!(seen, ["start", "text 1: Hi", "stop 1 item_stop", "finish stop", "usage 1 2 3", "Terminator"]);
    let wire = [event(START.0, START.1), exception("throttlingException", r#"{"message":"slow"}"#)].concat();
    let seen = at_every_cut(&wire, |pieces| of_messages(Provider::Bedrock, pieces));
    assert_eq!(seen, ["start", "error throttlingException: slow"]);
}

#[test]
fn data_that_is_not_an_object() {
    assert_eq!(deltas(&[("messageStop", ""), ("messageStop", " ")]), [""; 0]);
    assert_eq!(
        deltas(&[("messageStop", "[1]"), ("message", "stop")]),
        ["unknown data.array", "unknown data.text"]
    );
    let mut decoder = EventDecoder::new(Provider::Bedrock, &Limits::default());
    assert!(decoder.decode("messageStop", r#"{"p":"#, |delta| panic!("{delta:?}")).is_err());
}

#[test]
fn reasoning_and_its_signature() {
    let events = [
        delta(r#"{"reasoningContent":{"text":"a"}}"#),
        delta(r#"{"reasoningContent":{"text":"b"}}"#),
        delta(r#"{"reasoningContent":{"signature":"s"}}"#),
        delta(r#"{"reasoningContent":{"redactedContent":"AA=="}}"#),
    ];
    let mut events: Vec<(&str, &str)> = events.iter().map(of).collect();
    events.push(STOP);
    assert_eq!(
        deltas(&events),
        ["reasoning: ab", r#"opaque {"signature":"s"}"#, r#"opaque {"redactedContent":"AA=="}"#]
    );
}

#[test]
fn the_end_of_a_text_is_held_back() {
    let text = text("a");
    assert_eq!(deltas(&[of(&text), STOP]), ["text 1: a"]);
    for (reason, end) in [
        ("end_turn", "item_stop"),
        ("stop_sequence", "item_stop"),
        ("tool_use", "item_stop"),
        ("max_tokens", "cut"),
        ("model_context_window_exceeded", "cut"),
        ("guardrail_intervened", "cut"),
        ("malformed_model_output", "cut"),
    ] {
        assert_eq!(deltas(&[of(&text), STOP, of(&stop(reason))])[1], format!("stop 1 {end}"), "{reason}");
    }
    let next = ("contentBlockDelta", r#"{"contentBlockIndex":2,"delta":{"text":"b"}}"#);
    assert_eq!(deltas(&[of(&text), STOP, next]), ["text 1: a", "stop 1 item_stop", "text 2: b"]);
    assert_eq!(deltas(&[of(&text), STOP, CALL])[1], "stop 1 item_stop");
    // Not every model sends the start of a text, which carries no information.
    let start = ("contentBlockStart", r#"{"contentBlockIndex":1,"start":{}}"#);
    assert_eq!(deltas(&[start, of(&text), STOP, CALL])[..2], ["text 1: a", "stop 1 item_stop"]);
}

/// The end of the message decides whether a call without arguments is complete.
#[test]
fn calls_with_missing_events() {
    let end = "stop 1 item_stop";
    assert_eq!(deltas(&[CALL, of(&input("")), STOP]), ["call 1: now c", end]);
    assert_eq!(
        deltas(&[CALL, of(&input("{\"a\"")), of(&input(":1}")), STOP])[1..],
        [r#"arguments 1: {"a":1}"#, end]
    );
    assert_eq!(deltas(&[of(&input("{}")), STOP]), ["arguments 1: {}", end]);
    assert_eq!(
        deltas(&[CALL, of(&input("{")), of(&stop("max_tokens"))])[1..],
        ["arguments 1: {", "finish length"]
    );
}

#[test]
fn calls_run_by_the_server_are_skipped() {
    let server = (
        "contentBlockStart",
        r#"{"contentBlockIndex":1,"start":{"toolUse":{"name":"search","toolUseId":"s","type":"server_tool_use"}}}"#,
    );
    assert_eq!(deltas(&[server, of(&input("{}")), STOP]), [""; 0]);
    let result = ("contentBlockStart", r#"{"contentBlockIndex":1,"start":{"toolResult":{"toolUseId":"s"}}}"#);
    assert_eq!(
        deltas(&[result, of(&text("a")), of(&delta(r#"{"toolResult":[{"text":"b"}]}"#)), STOP]),
        [""; 0]
    );
    assert_eq!(deltas(&[of(&delta(r#"{"citation":{"title":"a"}}"#))]), [""; 0]);
}

#[test]
fn unknown_members_are_counted_and_unreadable_ones_told() {
    for ((name, data), expected) in [
        (("pause", r#"{"x":1}"#), &["unknown .x", "unknown event.pause"][..]),
        (("contentBlockStop", r#"{"contentBlockIndex":9,"x":1}"#), &["unknown .x"]),
        (("contentBlockStart", r#"{"start":{"audio":{}}}"#), &["unknown contentBlockStart.start.audio"]),
        (("contentBlockDelta", r#"{"delta":{"audio":{}}}"#), &["unknown contentBlockDelta.delta.audio"]),
        (
            ("contentBlockDelta", r#"{"delta":{"text":7}}"#),
            &["unreadable contentBlockDelta.delta.text: number"],
        ),
        (("contentBlockDelta", r#"{"delta":{"toolUse":{"x":1}}}"#), &["unknown toolUse.x"]),
        (("contentBlockDelta", r#"{"delta":{"reasoningContent":{"x":1}}}"#), &["unknown reasoningContent.x"]),
        (("contentBlockDelta", "{}"), &[]),
        (("metadata", r#"{"trace":{},"performanceConfig":{},"serviceTier":{}}"#), &[]),
    ] {
        assert_eq!(deltas(&[(name, data)]), expected, "{data}");
    }
    // A block of an unknown kind contains no text.
    let audio = ("contentBlockStart", r#"{"contentBlockIndex":1,"start":{"audio":{}}}"#);
    assert_eq!(deltas(&[audio, of(&text("a"))]).len(), 1);
    // Events that match an earlier one keep their name.
    assert_eq!(deltas(&[of(&text("a")), ("pause", &text("a").1)])[1..], ["unknown event.pause"]);
}

#[test]
fn exceptions_are_errors() {
    for (name, data, expected) in [
        ("throttlingException", r#"{"message":"slow down"}"#, "throttlingException: slow down"),
        (
            "modelStreamErrorException",
            r#"{"message":"a","originalStatusCode":500}"#,
            "modelStreamErrorException: a",
        ),
        ("internalServerException", "{}", "internalServerException: no message"),
        ("validationException", "not JSON", "not JSON"),
        ("error", "500: gone", "500: gone"),
        ("error", r#"{"message":"gone"}"#, "gone"),
    ] {
        assert_eq!(deltas(&[(name, data)]), [format!("error {expected}")]);
    }
}

#[test]
fn reasons_usage_and_the_end() {
    for (name, reason) in [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("tool_use", "tool_calls"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("guardrail_intervened", "content_filter"),
        ("content_filtered", "content_filter"),
        ("malformed_tool_use", "malformed_call"),
        ("malformed_model_output", "malformed_model_output"),
    ] {
        assert_eq!(deltas(&[of(&stop(name))]), [format!("finish {reason}")]);
    }
    assert_eq!(deltas(&[("messageStop", "{}"), METADATA]), ["usage 1 2 3", "Terminator"]);
    // In either order, the two of them end the stream.
    let stop = stop("end_turn");
    assert_eq!(deltas(&[of(&stop), METADATA]), ["finish stop", "usage 1 2 3", "Terminator"]);
    assert_eq!(deltas(&[METADATA, of(&stop)]), ["usage 1 2 3", "finish stop", "Terminator"]);
    for (usage, expected) in [
        (
            r#"{"inputTokens":1,"cacheReadInputTokens":5,"cacheWriteInputTokens":7,"outputTokens":2,"totalTokens":15}"#,
            &["usage 13 2 15"][..],
        ),
        (r#"{"outputTokens":2}"#, &["usage ? 2 ?"]),
        ("{}", &[]),
    ] {
        assert_eq!(deltas(&[("metadata", &format!(r#"{{"usage":{usage}}}"#))]), expected);
    }
}

#[test]
fn a_second_message_in_the_stream_starts_over() {
    assert_eq!(
        deltas(&[START, of(&text("a")), START, of(&text("b")), STOP, of(&stop("end_turn"))]),
        ["start", "text 1: a", "Restart", "start", "text 1: b", "stop 1 item_stop", "finish stop"]
    );
}

const CONTENT: &str = r#"[{"reasoningContent":{"reasoningText":{"text":"Hm.","signature":"s"}}},{"reasoningContent":{"redactedContent":"AA=="}},{"citationsContent":{"content":[{"text":"H"},{"text":"i"}],"citations":[]}},{"toolUse":{"toolUseId":"s","name":"search","input":{},"type":"server_tool_use"}},{"toolUse":{"toolUseId":"c","name":"now","input":{}}},{"toolUse":{"toolUseId":"d","name":"now","input":{"a": 1}}}]"#;

#[test]
fn complete_responses() {
    let said = [
        "start",
        "reasoning: Hm.",
        r#"opaque {"signature":"s"}"#,
        r#"opaque {"redactedContent":"AA=="}"#,
        "text 2: Hi",
        "stop 2 item_stop",
        "call 4: now c",
        "arguments 4, whole: {}",
        "stop 4 item_stop",
        "call 5: now d",
        r#"arguments 5, whole: {"a": 1}"#,
    ];
    let message = format!(r#"{{"role":"assistant","content":{CONTENT}}}"#);
    assert_eq!(body(&message), [&said[..], &["stop 5 item_stop", "Terminator"]].concat());
    let response = |reason: &str| {
        format!(
            r#"{{"metrics":{{"latencyMs":9}},"output":{{"message":{message}}},"stopReason":"{reason}","usage":{{"inputTokens":1,"outputTokens":2,"totalTokens":3}}}}"#
        )
    };
    let end = ["stop 5 item_stop", "usage 1 2 3", "finish tool_calls", "Terminator"];
    assert_eq!(body(&response("tool_use")), [&said[..], &end].concat());
    let cut = ["usage 1 2 3", said[10], "finish length", "Terminator"];
    assert_eq!(body(&response("max_tokens")), [&said[..10], &cut].concat());
    let text =
        r#"{"output":{"message":{"role":"assistant","content":[{"text":"Hi"}]}},"stopReason":"max_tokens"}"#;
    assert_eq!(body(text), ["start", "text 0: Hi", "finish length", "Terminator"]);
    for (content, unknown) in [
        (r#"[{"image":{}}]"#, &["unknown content[].image"][..]),
        (r#"[{"text":7}]"#, &["unreadable content[].text: number"]),
        (r#"[{"toolResult":{}}]"#, &[]),
        (r#""Hi""#, &["unreadable message.content: string"]),
    ] {
        let body = body(&format!(r#"{{"content":{content}}}"#));
        assert_eq!(
            body[1..body.len() - 1].iter().filter(|line| line.starts_with("un")).collect::<Vec<_>>(),
            unknown
        );
    }
    assert_eq!(
        body(r#"{"message":"The security token is invalid."}"#),
        ["error The security token is invalid."]
    );
    assert_eq!(body(r#"{"Message":"gone"}"#), ["error gone"]);
    assert_eq!(body(r#"{"x":1}"#), ["unknown data.no response"]);
}

#[test]
fn endless_blocks_do_not_fill_the_memory() {
    let mut decoder = EventDecoder::new(Provider::Bedrock, &Limits::default());
    for index in 0..10_000 {
        let at = |data: &str, index: u64| data.replace(r#"Index":1"#, &format!(r#"Index":{index}"#));
        decoder.decode(CALL.0, &at(CALL.1, index), |_| {}).expect("it is JSON");
        decoder.decode(STOP.0, &at(STOP.1, index + 20_000), |_| {}).expect("it is JSON");
    }
    assert!(format!("{decoder:?}").len() < 20_000);
    decoder.reset();
    let shown = |decoder: &EventDecoder| {
        let shown = format!("{decoder:?}");
        shown[shown.find("reader").expect("it is shown")..].to_owned()
    };
    assert_eq!(shown(&decoder), shown(&EventDecoder::new(Provider::Bedrock, &Limits::default())));
}
