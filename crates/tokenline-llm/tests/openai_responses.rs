//! OpenAI Responses: every fixture at every cut, against what was read off it by hand.

mod common;

use common::fixtures::{Expected, Fixtures, as_records, delivered};
use common::{decode, parser_of};
use tokenline_core::Limits;
use tokenline_llm::{AnswerEvent, Delta, FinishReason, OpenAiResponsesDecoder, Provider, TextAs};

/// Name, and what it comes to, its text read as records.
type Simple = (&'static str, &'static [&'static str]);

const CALLS: &[Simple] = &[
    (
        "function-call",
        &[
            r#"call item_stop get_weather {"city":"Zürich","unit":"c"} call_Qm4xT8vWn2Lr7KpZ"#,
            "usage 83 27 110",
            "finish tool_calls",
        ],
    ),
    (
        "parallel-calls-in-turn",
        &[
            r#"call item_stop get_weather {"city":"Lima"} call_Aa1xQ7"#,
            r#"call item_stop get_time {"zone":"America/Lima"} call_Bb2yR8"#,
            "usage 41 19 60",
            "finish tool_calls",
        ],
    ),
    (
        "parallel-calls-interleaved",
        &[
            r#"call item_stop get_time {"zone":"Africa/Accra"} call_Dd4wT0"#,
            r#"call item_stop get_weather {"city":"Accra"} call_Cc3zS9"#,
            "usage 41 19 60",
            "finish tool_calls",
        ],
    ),
    (
        "copilot-changes-item-ids",
        &[
            "note prose",
            r#"call item_stop get_weather {"city":"Oslo"} call_8vTqLm"#,
            "usage 19 45 64",
            "finish tool_calls",
            "reasoning **Looking up Oslo**",
            "text One moment.",
        ],
    ),
    (
        "text-then-call",
        &[
            "note prose",
            r#"call item_stop search {"query":"fjord"} call_Oo5lE1"#,
            "usage 41 19 60",
            "finish tool_calls",
            "text Let me look that up.",
        ],
    ),
    (
        "arguments-done-but-cut",
        &[
            "rejected truncated: call 1 (`multiply`): expected `,` or `}`, found the end of the input",
            "usage 58 16 74",
            "finish length",
        ],
    ),
    (
        "second-call-cut",
        &[
            r#"call item_stop get_weather {"city":"Bergen"} call_Ee5vU1"#,
            "rejected truncated: call 2 (`write_file`): expected the rest of the string, found the end of the input",
            "usage 70 32 102",
            "finish length",
        ],
    ),
    (
        "balanced-call-is-incomplete",
        &[
            "rejected unsealed: call 1 (`search`): the arguments are balanced, but the answer ended without proof that they are whole",
            "usage 30 16 46",
            "finish length",
        ],
    ),
    (
        "arguments-only-in-done",
        &[r#"call item_stop search {"query":"lichen"} call_Hh8sX4"#, "usage 41 19 60", "finish tool_calls"],
    ),
    (
        "call-only-in-item-done",
        &[r#"call item_stop search {"query":"moss"} call_Ii9rY5"#, "usage 41 19 60", "finish tool_calls"],
    ),
    (
        "item-done-missing",
        &["usage 41 19 60", r#"call finish_reason search {"query":"fern"} call_Jj0qZ6"#, "finish tool_calls"],
    ),
    (
        "item-done-in-progress",
        &[
            "usage 41 19 60",
            r#"call finish_reason getInventory {"sku":"sku_123"} call_VgDSZz"#,
            "finish tool_calls",
        ],
    ),
    (
        "item-done-with-other-arguments",
        &[
            "rejected trailing_data: call 1 (`get_weather`): the call came again with other arguments",
            "usage 41 19 60",
            "finish tool_calls",
        ],
    ),
    (
        "all-only-in-completed",
        &[
            r#"newline {"a":1}"#,
            r#"item_stop {"a":2}"#,
            r#"call item_stop get_weather {"city":"Vaduz"} call_Kk1pA7"#,
            "usage 41 19 60",
            "finish tool_calls",
            "reasoning Two things to do.",
        ],
    ),
    (
        "output-index-missing",
        &[r#"call item_stop search {"query":"peat"} call_Pp6kF2"#, "usage 41 19 60", "finish tool_calls"],
    ),
    (
        "call-without-arguments-empty-object",
        &["call item_stop list_files {} call_Mm3nC9", "usage 41 19 60", "finish tool_calls"],
    ),
    (
        "call-without-arguments-empty-text",
        &["usage 41 19 60", "call finish_reason list_files {} call_Nn4mD0", "finish tool_calls"],
    ),
    (
        "call-without-arguments-then-cut",
        &[
            "usage 41 19 60",
            "rejected truncated: call 1 (`list_files`): the answer ended before the arguments began",
            "finish length",
        ],
    ),
    (
        "custom-tool-call",
        &[
            r#"call item_stop write_sql {"input":"SELECT \"name\"\nFROM users WHERE path = 'C:\\tmp'\tAND café = '{'"} call_Qq7jG3"#,
            "usage 41 19 60",
            "finish tool_calls",
        ],
    ),
    (
        "custom-tool-call-without-deltas",
        &[
            "usage 41 19 60",
            r#"call finish_reason write_sql {"input":"SELECT 1"} call_Qq7jG3"#,
            "finish tool_calls",
        ],
    ),
    (
        "custom-tool-call-not-repeated",
        &[
            r#"call item_stop write_sql {"input":"SELECT 2"} call_Qq7jG3"#,
            "usage 41 19 60",
            "finish tool_calls",
        ],
    ),
    (
        "custom-tool-call-item-done-missing",
        &[
            "usage 41 19 60",
            r#"call finish_reason write_sql {"input":"SELECT 3"} call_Qq7jG3"#,
            "finish tool_calls",
        ],
    ),
    (
        "custom-tool-call-only-in-item-done",
        &[
            r#"call item_stop write_sql {"input":"SELECT 4"} call_Qq7jG3"#,
            "usage 41 19 60",
            "finish tool_calls",
        ],
    ),
    (
        "custom-tool-call-with-empty-input",
        &[r#"call item_stop write_sql {"input":""} call_Qq7jG3"#, "usage 41 19 60", "finish tool_calls"],
    ),
    (
        "custom-tool-call-cut",
        &[
            "rejected truncated: call 1 (`write_sql`): expected the rest of the string, found the end of the input",
            "usage 41 19 60",
            "finish length",
        ],
    ),
    (
        "tool-search-then-call",
        &[
            r#"call item_stop get_weather {"city":"Tromsø"} call_Rr8iH4"#,
            "usage 41 19 60",
            "finish tool_calls",
        ],
    ),
    ("calls-of-no-function", &["usage 41 19 60", "finish stop"]),
];

const TEXTS: &[Simple] = &[
    ("text", &[r#"newline {"a":1}"#, r#"item_stop {"a":2}"#, "usage 12 14 26", "finish stop"]),
    (
        "text-parts-are-one-text",
        &[r#"newline {"a":1}"#, r#"newline {"a":2}"#, "usage 41 19 60", "finish stop"],
    ),
    (
        "two-messages",
        &[
            r#"newline {"a":1}"#,
            r#"item_stop {"a":2}"#,
            r#"item_stop {"b":3}"#,
            "usage 41 19 60",
            "finish stop",
        ],
    ),
    ("text-only-in-done", &[r#"newline {"a":1}"#, "usage 41 19 60", "finish stop"]),
    ("text-only-in-part-done", &[r#"newline {"a":1}"#, "usage 41 19 60", "finish stop"]),
    (
        "text-only-in-item-done",
        &[r#"newline {"a":1}"#, r#"newline {"a":2}"#, "usage 41 19 60", "finish stop"],
    ),
    ("refusal", &["usage 41 19 60", "finish stop", "refusal I'm sorry, I can't help with that."]),
    ("refusal-only-in-done", &["usage 41 19 60", "finish stop", "refusal No."]),
    (
        "reasoning-summaries",
        &[
            r#"newline {"a":3}"#,
            "usage 20 150 170",
            "finish stop",
            r#"reasoning **Counting** the rs: {"a":0}**Done**"#,
        ],
    ),
    (
        "reasoning-text",
        &[r#"newline {"a":1}"#, "usage 41 19 60", "finish stop", "reasoning We need to answer."],
    ),
    (
        "reasoning-only-in-item-done",
        &[r#"newline {"a":1}"#, "usage 41 19 60", "finish stop", "reasoning Short. All of it."],
    ),
    ("tools-of-the-server", &[r#"newline {"fjord":"Sognefjord"}"#, "usage 41 19 60", "finish stop"]),
    ("unknown-things", &[r#"newline {"a":1}"#, "usage 41 19 60", "finish stop"]),
    ("queued-and-keepalive", &[r#"newline {"a":1}"#, "usage 41 19 60", "finish stop"]),
    ("type-missing", &[r#"newline {"a":1}"#, r#"item_stop {"a":2}"#, "usage 41 19 60", "finish stop"]),
    ("event-names-missing", &[r#"newline {"a":1}"#, r#"item_stop {"a":2}"#, "usage 41 19 60", "finish stop"]),
];

const ENDS: &[Simple] = &[
    (
        "text-cut",
        &[
            r#"newline {"a":1}"#,
            "rejected truncated: expected a value, found the end of the input",
            "usage 12 16 28",
            "finish length",
            r#"text {"a":"#,
        ],
    ),
    (
        "completed-but-incomplete",
        &[
            r#"newline {"a":1}"#,
            "rejected truncated: expected a value, found the end of the input",
            "finish length",
            r#"text {"a":"#,
        ],
    ),
    (
        "content-filter",
        &[r#"newline {"a":1}"#, r#"end_of_input {"a":2}"#, "usage 12 16 28", "finish content_filter"],
    ),
    ("cancelled", &[r#"newline {"a":1}"#, r#"end_of_input {"a":2}"#, "finish cancelled"]),
    ("done-marker-appended", &[r#"newline {"a":1}"#, "usage 41 19 60", "finish stop"]),
    (
        "second-response-where-one-broke-off",
        &[
            "rejected unsealed: call 1 (`search`): the arguments are balanced, but the answer ended without proof that they are whole",
            r#"call item_stop search {"query":"test","limit":10} call_Xx4cN0"#,
            "usage 41 19 60",
            "finish tool_calls",
        ],
    ),
    (
        "second-response-after-the-first",
        &[
            r#"newline {"a":1}"#,
            "usage 10 5 15",
            "finish stop",
            r#"newline {"a":2}"#,
            "usage 20 5 25",
            "finish stop",
        ],
    ),
];

const INCOMPLETE: &str =
    "rejected stream_incomplete: the stream ended without `response.completed`, or another final event";

/// Those whose source is not complete.
const NO_ENDS: &[Simple] = &[
    (
        "failed",
        &[
            r#"newline {"a":1}"#,
            r#"end_of_input {"a":2}"#,
            "rejected provider_error: The model failed to generate a response.",
        ],
    ),
    (
        "error-then-failed",
        &[
            "rejected provider_error: You exceeded your current quota, please check your plan and billing details.",
        ],
    ),
    (
        "error-without-object",
        &[r#"newline {"a":1}"#, "rejected provider_error: An error occurred while processing your request."],
    ),
    ("error-without-type", &["rejected provider_error: The server is overloaded."]),
    (
        "error-as-text",
        &["rejected provider_error: upstream connect error or disconnect/reset before headers"],
    ),
    (
        "silent-close-in-text",
        &[
            r#"newline {"a":1}"#,
            "rejected truncated: expected `,` or `}`, found the end of the input",
            INCOMPLETE,
            r#"text {"a":2"#,
        ],
    ),
    (
        "silent-close-in-arguments",
        &[
            "rejected truncated: call 1 (`search`): expected the rest of the string, found the end of the input",
            INCOMPLETE,
        ],
    ),
    (
        "silent-close-after-arguments-done",
        &[
            "rejected unsealed: call 1 (`search`): the arguments are balanced, but the answer ended without proof that they are whole",
            INCOMPLETE,
        ],
    ),
    ("silent-close-after-item-done", &[r#"call item_stop search {"query":"wool"} call_Vv2eL8"#, INCOMPLETE]),
    ("done-marker-alone", &[r#"newline {"a":1}"#, r#"item_stop {"a":2}"#, INCOMPLETE]),
];

/// Where something is not known.
const UNKNOWN: &[(&str, &str)] = &[
    ("calls-of-no-function", "item.computer_call (2), item.mcp_approval_request (2)"),
    (
        "unknown-things",
        "event: response.output_text.glow (1), event: response.audio.delta (1), mood (1), item.voice (1), part.data (1), part.output_audio (1)",
    ),
];

const FIXTURES: Fixtures = Fixtures { provider: Provider::OpenAiResponses, ending: ".sse", unknown: UNKNOWN };

fn all() -> Vec<Expected> {
    as_records(&[CALLS, TEXTS, ENDS, NO_ENDS].concat())
}

#[test]
fn calls() {
    FIXTURES.check(&as_records(CALLS), true);
}

#[test]
fn texts() {
    FIXTURES.check(&as_records(TEXTS), true);
}

#[test]
fn ends() {
    FIXTURES.check(&as_records(ENDS), true);
}

#[test]
fn ends_that_are_none() {
    FIXTURES.check(&as_records(NO_ENDS), false);
}

#[test]
fn no_fixture_is_left_out() {
    FIXTURES.are_all(&all(), &[]);
}

#[test]
fn an_answer_that_breaks_off_anywhere_delivers_nothing_else() {
    FIXTURES.break_off(&all());
}

#[test]
fn every_item_has_a_text_of_its_own() {
    let mut parser = parser_of(Provider::OpenAiResponses, TextAs::Records);
    let seen = decode(&mut parser, [&FIXTURES.wire("two-messages")[..]]);
    assert_eq!(delivered(&seen), [r#"0 0 {"a":1}"#, r#"0 0 {"a":2}"#, r#"0 1 {"b":3}"#]);
}

/// The deltas that these data come to.
fn deltas<'a>(data: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut decoder = OpenAiResponsesDecoder::new(&Limits::default());
    let mut deltas = Vec::new();
    for data in data {
        decoder.decode("message", data, |delta| deltas.push(format!("{delta:?}"))).expect("it is JSON");
    }
    deltas
}

#[test]
fn data_that_is_no_object() {
    assert_eq!(deltas(["", " ", "[DONE]"]), [""; 0]);
    let unknown = |name: &str| format!("{:?}", Delta::Unknown { parent: "data", name: name.into() });
    assert_eq!(deltas(["[1]", "whatever", "\"x\""]), ["array", "text", "string"].map(unknown));
    assert_eq!(deltas(["{}"]), [format!("{:?}", Delta::Unknown { parent: "event", name: "message".into() })]);
    let mut decoder = OpenAiResponsesDecoder::new(&Limits::default());
    assert!(decoder.decode("response.completed", "{\"type\":", |_| {}).is_err());
}

#[test]
fn reasons() {
    for (data, reason) in [
        (r#"{"type":"response.completed"}"#, FinishReason::Stop),
        (r#"{"type":"response.completed","response":{"status":"completed"}}"#, FinishReason::Stop),
        (
            r#"{"type":"response.completed","response":{"output":[{"type":"function_call","name":"f","arguments":""}]}}"#,
            FinishReason::ToolCalls,
        ),
        (
            r#"{"type":"response.completed","response":{"status":"cancelled"}}"#,
            FinishReason::other("cancelled"),
        ),
        (r#"{"type":"response.cancelled","response":{}}"#, FinishReason::other("cancelled")),
        (
            r#"{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_tokens"}}}"#,
            FinishReason::Length,
        ),
        (
            r#"{"type":"response.incomplete","response":{"incomplete_details":{"reason":"boredom"}}}"#,
            FinishReason::other("boredom"),
        ),
        (
            r#"{"type":"response.incomplete","response":{"incomplete_details":null}}"#,
            FinishReason::other("incomplete"),
        ),
    ] {
        let end = [format!("{:?}", Delta::Finish { choice: 0, reason }), format!("{:?}", Delta::Terminator)];
        assert!(deltas([data]).ends_with(&end), "{data}");
    }
}

#[test]
fn a_server_that_makes_up_items_fills_no_memory() {
    let mut decoder = OpenAiResponsesDecoder::new(&Limits::default());
    for index in 0..20_000 {
        for kind in ["output_text", "custom_tool_call_input"] {
            let data = format!(r#"{{"type":"response.{kind}.delta","output_index":{index},"delta":"a"}}"#);
            decoder.decode("", &data, |_| {}).expect("it is JSON");
        }
    }
    assert!(format!("{decoder:?}").len() < 100_000);
    decoder.reset();
    let fresh = OpenAiResponsesDecoder::new(&Limits::default());
    let response = |decoder: &OpenAiResponsesDecoder| {
        let shown = format!("{decoder:?}");
        shown[shown.find("response").expect("it is shown")..].to_owned()
    };
    assert_eq!(response(&decoder), response(&fresh));
}

#[test]
fn a_custom_tools_input_is_escaped_in_pieces_of_any_size() {
    let input: String =
        (0..0x250_u32).filter_map(char::from_u32).chain("\u{2028}\u{1F600}".chars()).collect();
    let event = |piece: &str| {
        let data = serde_json::json!({"type": "response.custom_tool_call_input.delta", "output_index": 0, "delta": piece});
        data.to_string()
    };
    let whole = serde_json::json!({"type": "custom_tool_call", "call_id": "c", "name": "f", "input": input, "status": "completed"});
    let done = serde_json::json!({"type": "response.output_item.done", "output_index": 0, "item": whole})
        .to_string();
    let mut wire: String =
        input.chars().map(|char| format!("data: {}\n\n", event(&char.to_string()))).collect();
    wire.push_str(&format!("data: {done}\n\n"));
    let seen = decode(&mut parser_of(Provider::OpenAiResponses, TextAs::Text), [wire.as_bytes()]);
    let AnswerEvent::ToolCall { call, .. } = &seen.events[0] else { panic!("{seen:?}") };
    assert_eq!(call.parameters.to_value().expect("numbers are none")["input"], input);
}

#[test]
fn a_custom_tools_input_that_was_cut_is_no_call() {
    let event = |data: serde_json::Value| format!("data: {data}\n\n");
    let added = serde_json::json!({"type": "response.output_item.added", "output_index": 0,
        "item": {"type": "custom_tool_call", "call_id": "c", "name": "f", "input": ""}});
    let delta = serde_json::json!({"type": "response.custom_tool_call_input.delta", "output_index": 0, "delta": "rm -rf /tm"});
    let item = |input: &str, status: Option<&str>| {
        let mut item =
            serde_json::json!({"type": "custom_tool_call", "call_id": "c", "name": "f", "input": input});
        if let Some(status) = status {
            item["status"] = status.into();
        }
        serde_json::json!({"type": "response.output_item.done", "output_index": 0, "item": item})
    };
    let done = serde_json::json!({"type": "response.custom_tool_call_input.done", "output_index": 0, "input": "rm -rf /tmp/x"});
    let other =
        serde_json::json!({"type": "response.custom_tool_call_input.done", "output_index": 0, "input": "ls"});
    let completed = serde_json::json!({"type": "response.completed", "response": {"status": "completed"}});
    let incomplete = serde_json::json!({"type": "response.incomplete", "response": {
        "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}});
    let calls = |events: &[&serde_json::Value]| {
        let wire: String = [&added, &delta].iter().chain(events).map(|data| event((*data).clone())).collect();
        let mut parser = parser_of(Provider::OpenAiResponses, TextAs::Text);
        delivered(&decode(&mut parser, [wire.as_bytes()]))
    };
    let none: [&str; 0] = [];
    let whole = [r#"0 f {"input":"rm -rf /tmp/x"} Some("c")"#];
    // Without a status nothing but the end of the response proves it.
    assert_eq!(calls(&[&item("rm -rf /tm", None), &incomplete]), none);
    assert_eq!(calls(&[&item("rm -rf /tm", Some("in_progress")), &incomplete]), none);
    assert_eq!(calls(&[&item("rm -rf /tmp/x", None), &completed]), whole);
    assert_eq!(calls(&[&item("rm -rf /tmp/x", Some("completed")), &incomplete]), whole);
    // What is said of it at last counts, if what came is a part of that.
    assert_eq!(calls(&[&done, &completed]), whole);
    assert_eq!(calls(&[&done, &incomplete]), none);
    assert_eq!(calls(&[&other, &completed]), none);
}
