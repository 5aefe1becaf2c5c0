//! Gemini's Interactions API: the deltas of its events.

use crate::common::deltas::{of_body, of_events};
use tokenline_core::Limits;
use tokenline_llm::Provider;
use tokenline_llm::providers::EventDecoder;

fn deltas(events: &[&str]) -> Vec<String> {
    let events: Vec<(&str, &str)> = events.iter().map(|data| ("message", *data)).collect();
    of_events(Provider::GeminiInteractions, &events)
}

fn body(body: &str) -> Vec<String> {
    of_body(Provider::GeminiInteractions, body)
}

const CREATED: &str = r#"{"event_type":"interaction.created","interaction":{"id":"v1","status":"in_progress","object":"interaction"}}"#;
const OUTPUT: &str = r#"{"event_type":"step.start","index":1,"step":{"type":"model_output"}}"#;
const CALL: &str = r#"{"event_type":"step.start","index":1,"step":{"type":"function_call","id":"c","signature":"","name":"now","arguments":{}}}"#;
const STOP: &str = r#"{"event_type":"step.stop","index":1}"#;

fn delta(delta: &str) -> String {
    format!(r#"{{"event_type":"step.delta","index":1,"delta":{delta}}}"#)
}

fn text(text: &str) -> String {
    delta(&format!(r#"{{"type":"text","text":"{text}"}}"#))
}

fn arguments(text: &str) -> String {
    delta(&format!(r#"{{"type":"arguments_delta","arguments":{}}}"#, serde_json::Value::from(text)))
}

fn completed(status: &str) -> String {
    format!(r#"{{"event_type":"interaction.completed","interaction":{{"id":"v1","status":"{status}"}}}}"#)
}

#[test]
fn the_type_takes_precedence_over_the_name() {
    let end = completed("completed");
    let expected = ["finish stop", "Terminator"];
    assert_eq!(of_events(Provider::GeminiInteractions, &[("step.start", &end)]), expected);
    let nameless = end.replace(r#""event_type":"interaction.completed","#, "");
    assert_eq!(of_events(Provider::GeminiInteractions, &[("interaction.completed", &nameless)]), expected);
}

#[test]
fn data_that_is_not_an_object() {
    assert_eq!(deltas(&["", "[DONE]"]), [""; 0]);
    assert_eq!(of_events(Provider::GeminiInteractions, &[("done", "[DONE]")]), [""; 0]);
    assert_eq!(deltas(&["[1]", "stop"]), ["unknown data.array", "unknown data.text"]);
    let mut decoder = EventDecoder::new(Provider::GeminiInteractions, &Limits::default());
    assert!(decoder.decode("message", r#"{"index":"#, |delta| panic!("{delta:?}")).is_err());
}

#[test]
fn thoughts_are_reasoning_with_signatures() {
    let events = [
        r#"{"event_type":"step.start","index":1,"step":{"type":"thought","signature":"a","summary":[{"type":"text","text":"a"}]}}"#,
        &delta(r#"{"type":"thought_summary","content":{"type":"text","text":"b"}}"#),
        &delta(r#"{"type":"thought_summary","content":{"type":"text","text":"c"}}"#),
        &delta(r#"{"type":"thought_summary","content":"d"}"#),
        &delta(r#"{"type":"thought_signature","signature":"e"}"#),
        STOP,
        &completed("completed"),
    ];
    assert_eq!(
        deltas(&events),
        ["reasoning: abcd", r#"opaque {"signature":"e"}"#, "finish stop", "Terminator"]
    );
}

#[test]
fn the_end_of_a_text_is_held_back() {
    let held = [OUTPUT, &text("a"), STOP];
    assert_eq!(deltas(&held), ["text 1: a"]);
    assert_eq!(
        deltas(&[
            held[0],
            held[1],
            held[2],
            r#"{"event_type":"interaction.status_update","status":"in_progress"}"#
        ]),
        ["text 1: a"]
    );
    for (status, stop) in [
        ("completed", "item_stop"),
        ("requires_action", "item_stop"),
        ("incomplete", "cut"),
        ("failed", "cut"),
        ("cancelled", "cut"),
    ] {
        let end = completed(status);
        assert_eq!(deltas(&[held[0], held[1], held[2], &end])[1], format!("stop 1 {stop}"), "{status}");
    }
    assert_eq!(deltas(&[held[0], held[1], held[2], CALL])[1], "stop 1 item_stop");
}

/// The end of the interaction decides whether a call without arguments is complete.
#[test]
fn calls_with_missing_events() {
    let stop = "stop 1 item_stop";
    assert_eq!(deltas(&[CALL, STOP]), ["call 1: now c", stop]);
    assert_eq!(
        deltas(&[CALL, &arguments("{\"a\""), &arguments(":1}"), STOP])[1..],
        [r#"arguments 1: {"a":1}"#, stop]
    );
    assert_eq!(deltas(&[&arguments("{}"), STOP]), ["arguments 1: {}", stop]);
    assert_eq!(
        deltas(&[CALL, &arguments("{"), &completed("incomplete")])[1..3],
        ["arguments 1: {", "finish length"]
    );
    // Arguments at the start are used unless others follow.
    let whole = CALL.replace("{}", r#"{"a": 1}"#);
    assert_eq!(deltas(&[&whole, STOP])[1..], [r#"arguments 1, whole: {"a": 1}"#, stop]);
    let others = r#"{"b":2}"#;
    assert_eq!(deltas(&[&whole, &arguments(others), STOP])[1..], [r#"arguments 1: {"b":2}"#, stop]);
    // A placeholder says nothing.
    assert_eq!(
        deltas(&[&whole, &arguments("{}"), STOP])[1..],
        ["arguments 1: {}", r#"arguments 1, whole: {"a": 1}"#, stop]
    );
    let object = delta(r#"{"type":"arguments_delta","arguments":{"a": 1}}"#);
    assert_eq!(deltas(&[CALL, &object])[1..], [r#"arguments 1: {"a": 1}"#]);
}

#[test]
fn calls_run_by_the_server_are_skipped() {
    for tool in ["google_search_call", "code_execution_result", "mcp_server_tool_call", "user_input"] {
        let start = format!(r#"{{"event_type":"step.start","index":1,"step":{{"type":"{tool}","x":1}}}}"#);
        let events = [&*start, &arguments("{}"), &text("a"), &delta(r#"{"type":"whatever"}"#), STOP];
        assert_eq!(deltas(&events), [""; 0], "{tool}");
        assert_eq!(deltas(&[&delta(&format!(r#"{{"type":"{tool}"}}"#))]), [""; 0], "{tool}");
    }
}

#[test]
fn unknown_members_are_counted_and_unreadable_ones_told() {
    for (event, expected) in [
        (r#"{"event_type":"step.pause","index":1}"#, &["unknown event.step.pause"][..]),
        (
            r#"{"event_type":"interaction.status_update","interaction_id":"v1","status":"in_progress","event_id":"e"}"#,
            &[],
        ),
        (r#"{"event_type":"step.stop","index":9,"x":1}"#, &["unknown .x"]),
        (r#"{"event_type":"step.start","step":{"type":"computer_call"}}"#, &["unknown step.computer_call"]),
        (r#"{"event_type":"step.start","step":{}}"#, &["unknown step.no type"]),
        (r#"{"event_type":"step.start","step":{"type":"model_output","x":1}}"#, &["unknown step.x"]),
        (
            r#"{"event_type":"step.start","step":{"type":"model_output","content":[{"type":"image","data":"AA"},7]}}"#,
            &[
                "unknown step.content[].data",
                "unknown step.content[].image",
                "unreadable step.content[]: number",
            ],
        ),
        (r#"{"event_type":"step.delta","delta":{"type":"image"}}"#, &["unknown step.delta.delta.image"]),
        (r#"{"event_type":"step.delta","delta":{"text":"a"}}"#, &["unknown step.delta.delta.no type"]),
        (
            r#"{"event_type":"step.delta","delta":{"type":"text","text":1,"x":1}}"#,
            &["unreadable step.delta.delta.text: number", "unknown step.delta.delta.x"],
        ),
        (
            r#"{"event_type":"step.delta","delta":{"type":"thought_summary","content":{"type":"image"}}}"#,
            &["unknown step.content[].image"],
        ),
        (r#"{"event_type":"step.delta"}"#, &[]),
    ] {
        assert_eq!(deltas(&[event]), expected, "{event}");
    }
}

#[test]
fn errors() {
    let gone = ["error gone"];
    for data in [
        r#"{"event_type":"error","error":{"code":"x","message":"gone"}}"#,
        r#"{"event_type":"error","error":"gone"}"#,
        r#"{"error":{"message":"gone","status":"x"}}"#,
        r#"{"event_type":"interaction.completed","interaction":{"status":"failed","error":{"message":"gone"}}}"#,
        r#"{"event_type":"interaction.failed","interaction":{"status":"failed","error":{"message":"gone"}}}"#,
    ] {
        assert_eq!(deltas(&[data]), gone, "{data}");
    }
    assert_eq!(of_events(Provider::GeminiInteractions, &[("error", "gone")]), gone);
    assert_eq!(deltas(&[r#"{"event_type":"error"}"#]), ["error no message"]);
}

#[test]
fn statuses_and_usage() {
    for (status, reason) in [
        ("completed", "stop"),
        ("", "stop"),
        ("requires_action", "tool_calls"),
        ("incomplete", "length"),
        ("cancelled", "cancelled"),
    ] {
        assert_eq!(deltas(&[&completed(status)]), [&format!("finish {reason}"), "Terminator"]);
    }
    assert_eq!(deltas(&[CALL, STOP, &completed("completed")])[2..], ["finish tool_calls", "Terminator"]);
    // The status identifies the end, whatever the event's name.
    let end = completed("requires_action");
    assert_eq!(deltas(&[&end.replace("completed", "requires_action")]), ["finish tool_calls", "Terminator"]);
    let running = completed("in_progress").replace("interaction.completed", "interaction.news");
    assert_eq!(deltas(&[&running]), ["unknown event.interaction.news"]);
    for (usage, expected) in [
        (
            r#"{"total_tokens":99,"total_input_tokens":7,"total_output_tokens":26,"total_tool_use_tokens":3,"total_thought_tokens":4}"#,
            "usage 10 30 99",
        ),
        (r#"{"total_output_tokens":26}"#, "usage ? 26 ?"),
        (r#"{"total_cached_tokens":26}"#, "finish stop"),
    ] {
        let event = format!(
            r#"{{"event_type":"interaction.completed","interaction":{{"status":"completed","usage":{usage}}}}}"#
        );
        assert_eq!(deltas(&[&event])[0], expected);
    }
}

#[test]
fn a_second_interaction_in_the_stream_starts_over() {
    assert_eq!(deltas(&[CREATED, CREATED]), ["start", "start"]);
    assert_eq!(
        deltas(&[CREATED, OUTPUT, &text("a"), CREATED, OUTPUT, &text("b"), STOP, &completed("completed")]),
        [
            "start",
            "text 1: a",
            "Restart",
            "start",
            "text 1: b",
            "stop 1 item_stop",
            "finish stop",
            "Terminator"
        ]
    );
}

const STEPS: &str = r#"[{"type":"thought","signature":"s","summary":[{"type":"text","text":"Hm."}]},{"type":"google_search_call","arguments":{"queries":["x"]}},{"type":"model_output","content":[{"type":"text","text":"H"},{"type":"text","text":"i","annotations":[]}]},{"type":"function_call","id":"c","name":"now","arguments":{}},{"type":"function_call","id":"d","name":"now","arguments":{"a": 1}}]"#;

#[test]
fn complete_responses() {
    let said = [
        "start",
        "reasoning: Hm.",
        r#"opaque {"signature":"s"}"#,
        "text 2: Hi",
        "stop 2 item_stop",
        "call 3: now c",
        "arguments 3, whole: {}",
        "stop 3 item_stop",
        "call 4: now d",
        r#"arguments 4, whole: {"a": 1}"#,
    ];
    let response = |status: &str, steps: &str| {
        format!(
            r#"{{"id":"v1","object":"interaction","status":"{status}","model":"m","steps":{steps},"usage":{{"total_input_tokens":1,"total_output_tokens":2,"total_tokens":3}}}}"#
        )
    };
    let end = ["stop 4 item_stop", "usage 1 2 3", "finish tool_calls", "Terminator"];
    assert_eq!(body(&response("requires_action", STEPS)), [&said[..], &end].concat());
    let cut = ["usage 1 2 3", said[9], "finish length", "Terminator"];
    assert_eq!(body(&response("incomplete", STEPS)), [&said[..9], &cut].concat());
    // The end contains everything: it completes what was streamed.
    let completed = format!(
        r#"{{"event_type":"interaction.completed","interaction":{}}}"#,
        response("requires_action", STEPS)
    );
    assert_eq!(deltas(&[CREATED, &completed]), body(&response("requires_action", STEPS)));
    assert_eq!(
        deltas(&[CREATED, OUTPUT, &text("a"), &completed])[1..],
        [
            "text 1: a",
            "call -, whole: now c",
            "call -, whole: now d",
            r#"WholeText { choice: 0, block: 1, part: 0, text: "Hi" }"#,
            "usage 1 2 3",
            "finish tool_calls",
            "Terminator"
        ]
    );

    let outputs = r#"{"status":"completed","outputs":[{"type":"thought","signature":"s"},{"type":"text","text":"Hi"}]}"#;
    let signature = r#"opaque {"signature":"s"}"#;
    assert_eq!(
        body(outputs),
        ["start", signature, "text 1: Hi", "stop 1 item_stop", "finish stop", "Terminator"]
    );
    assert_eq!(
        body(&outputs.replace("completed", "incomplete")),
        ["start", signature, "text 1: Hi", "finish length", "Terminator"]
    );
    assert_eq!(body(r#"{"status":"in_progress","id":"v1"}"#), ["start"]);
    assert_eq!(body(r#"{"error":{"code":400,"message":"gone"}}"#), ["error gone"]);
    assert_eq!(body(r#"{"x":1}"#), ["unknown data.no response"]);
    assert_eq!(body(r#"{"status":"failed","error":{"message":"gone"}}"#), ["start", "error gone"]);
}

#[test]
fn endless_steps_do_not_fill_the_memory() {
    let mut decoder = EventDecoder::new(Provider::GeminiInteractions, &Limits::default());
    for index in 0..10_000 {
        let start = CALL.replace(r#""index":1"#, &format!(r#""index":{index}"#)).replace("{}", r#"{"a":1}"#);
        decoder.decode("", &start, |_| {}).expect("it is JSON");
        let stop = STOP.replace('1', &(index + 20_000).to_string());
        decoder.decode("", &stop, |_| {}).expect("it is JSON");
    }
    assert!(format!("{decoder:?}").len() < 20_000);
    decoder.reset();
    let shown = |decoder: &EventDecoder| {
        let shown = format!("{decoder:?}");
        shown[shown.find("reader").expect("it is shown")..].to_owned()
    };
    assert_eq!(shown(&decoder), shown(&EventDecoder::new(Provider::GeminiInteractions, &Limits::default())));
}
