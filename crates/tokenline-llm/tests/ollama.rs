//! Ollama: every fixture at every cut, against what was read off it by hand.

mod common;

use common::fixtures::{Expected, Fixtures};
use tokenline_core::Completion;
use tokenline_core::json::Parser;
use tokenline_llm::{Delta, OllamaDecoder, Provider, TextAs};

const CALLS: &[Expected] = &[
    (
        "call",
        TextAs::Records,
        &[
            r#"call item_stop get_weather {"city":"Zürich","unit":"c"} call_v8k2m4qx"#,
            "usage 161 27 188",
            "finish stop",
        ],
    ),
    (
        "call-without-id",
        TextAs::Records,
        &[r#"call item_stop get_weather {"city":"Oslo"} minted minted_1"#, "usage 161 24 185", "finish stop"],
    ),
    (
        "calls-in-one-line",
        TextAs::Records,
        &[
            r#"call item_stop get_weather {"city":"Lima"} call_a1b2c3d4"#,
            r#"call item_stop get_time {"zone":"America/Lima"} call_e5f6g7h8"#,
            "usage 190 52 242",
            "finish stop",
        ],
    ),
    (
        "calls-in-several-lines",
        TextAs::Records,
        &[
            r#"call item_stop get_weather {"city":"Rome"} call_j9k0m1n2"#,
            r#"call item_stop get_weather {"city":"Bari"} call_p3q4r5s6"#,
            r#"call item_stop get_weather {"city":"Rome"} call_t7u8v9w0"#,
            "usage 190 75 265",
            "finish stop",
        ],
    ),
    (
        "same-call-twice-without-id",
        TextAs::Records,
        &[
            r#"call item_stop roll_dice {"sides":6} minted minted_1"#,
            r#"call item_stop roll_dice {"sides":6} minted minted_2"#,
            "usage 120 40 160",
            "finish stop",
        ],
    ),
    (
        "call-without-arguments",
        TextAs::Records,
        &["call item_stop list_files {} call_x1y2z3a4", "usage 133 15 148", "finish stop"],
    ),
    (
        "call-with-null-arguments",
        TextAs::Records,
        &["usage 133 15 148", "call finish_reason list_files {} minted minted_1", "finish stop"],
    ),
    (
        "arguments-as-text",
        TextAs::Records,
        &[
            r#"call item_stop search {"query": "fjord", "limit": 1.50} minted minted_1"#,
            "usage 133 22 155",
            "finish stop",
        ],
    ),
    (
        "arguments-that-are-no-object",
        TextAs::Records,
        &[
            "rejected invalid_parameters: call 1 (`search`): the arguments must be an object, found array",
            "usage 133 18 151",
            "finish stop",
        ],
    ),
    (
        "text-then-call",
        TextAs::Records,
        &[
            r#"call item_stop search {"query":"fjord"} call_b5c6d7e8"#,
            "usage 151 33 184",
            "note prose",
            "finish stop",
            "text Let me look that up.",
        ],
    ),
    (
        "thinking-then-call",
        TextAs::Records,
        &[
            r#"call item_stop search {"query":"abyss"} call_f9g0h1j2"#,
            "usage 171 60 231",
            "finish stop",
            "reasoning I should search.",
        ],
    ),
    (
        "call-in-the-last-line",
        TextAs::Records,
        &[r#"call item_stop search {"query":"peat"} call_k3m4n5p6"#, "usage 133 21 154", "finish stop"],
    ),
    (
        "length-after-call",
        TextAs::Records,
        &[
            r#"call item_stop search {"query":"fjord"} call_q7r8s9t0"#,
            "usage 133 32 165",
            "rejected truncated: expected `:` after the name, found the end of the input",
            "finish length",
            r#"text {"a""#,
        ],
    ),
    (
        "call-in-text",
        TextAs::ToolCalls,
        &[
            "note prose",
            "usage 99 29 128",
            r#"textual call finish_reason search {"query":"fjord"}"#,
            "finish stop",
            "text Let me see.⏎",
        ],
    ),
    (
        "length-after-call-in-text",
        TextAs::ToolCalls,
        &[
            "usage 26 16 42",
            "rejected unsealed: the tool call is balanced, but the answer ended without proof that it is whole",
            "finish length",
        ],
    ),
];

const TEXTS: &[Expected] = &[
    (
        "text",
        TextAs::Records,
        &[r#"newline {"a":1}"#, "usage 26 14 40", r#"finish_reason {"a":2}"#, "finish stop"],
    ),
    (
        "format-json-schema",
        TextAs::Records,
        &[r#"newline { "city": "Zürich",  "size": 4.5e5 }"#, "usage 44 25 69", "finish stop", "text ⏎  "],
    ),
    (
        "thinking",
        TextAs::Records,
        &[
            r#"newline {"a":1}"#,
            "usage 24 22 46",
            "finish stop",
            r#"reasoning The user wants {"a":0}, or so."#,
        ],
    ),
    (
        "thinking-in-content",
        TextAs::Records,
        &[
            "note prose",
            "note prose",
            "note prose",
            r#"newline {"a":1}"#,
            "usage 24 30 54",
            "finish stop",
            "text <think>⏎One object will do.⏎</think>⏎⏎",
        ],
    ),
    (
        "whole-answer-in-one-line",
        TextAs::Records,
        &[r#"newline {"a":1}"#, "usage 26 14 40", r#"finish_reason {"a":2}"#, "finish stop"],
    ),
    ("cached-prompt", TextAs::Records, &[r#"newline {"a":1}"#, "usage ? 6 ?", "finish stop"]),
    ("remote-model", TextAs::Records, &[r#"newline {"a":1}"#, "usage 74 41 115", "finish stop"]),
    ("logprobs", TextAs::Records, &[r#"newline {"a":1}"#, "usage 26 14 40", "finish stop"]),
    (
        "generate",
        TextAs::Records,
        &[r#"newline {"a":1}"#, "usage 26 14 40", r#"finish_reason {"a":2}"#, "finish stop"],
    ),
    (
        "generate-thinking",
        TextAs::Records,
        &[r#"newline {"a":1}"#, "usage 26 14 40", "finish stop", "reasoning One will do."],
    ),
    (
        "length-cuts-text",
        TextAs::Records,
        &[
            r#"newline {"a":1}"#,
            "usage 26 8 34",
            "rejected truncated: expected the rest of the string, found the end of the input",
            "finish length",
            r#"text {"a":"x"#,
        ],
    ),
    (
        "length-after-record",
        TextAs::Records,
        &[
            r#"newline {"a":1}"#,
            "usage 26 13 39",
            r#"end_of_input {"a":2}"#,
            "rejected truncated: the answer was cut by its token limit",
            "finish length",
        ],
    ),
];

/// The provider's own, or what stands for it.
const ENDS: &[Expected] = &[
    (
        "done-reason-missing",
        TextAs::Records,
        &[r#"newline {"a":1}"#, "usage 26 13 39", r#"finish_reason {"a":2}"#, "finish stop"],
    ),
    ("load", TextAs::Records, &["finish load"]),
    (
        "last-line-without-line-feed",
        TextAs::Records,
        &[r#"newline {"a":1}"#, "usage 26 14 40", r#"finish_reason {"a":2}"#, "finish stop"],
    ),
    (
        "blank-lines",
        TextAs::Records,
        &[r#"newline {"a":1}"#, "usage 26 14 40", r#"finish_reason {"a":2}"#, "finish stop"],
    ),
    (
        "error-null-is-none",
        TextAs::Records,
        &[r#"newline {"a":1}"#, "usage 26 14 40", r#"finish_reason {"a":2}"#, "finish stop"],
    ),
    (
        "line-that-is-no-json",
        TextAs::Records,
        &[
            r#"newline {"a":1}"#,
            "rejected malformed_json: an event that is not JSON: expected a value, found another character (byte 0 of its data); its part of the answer is lost",
            "rejected malformed_json: a part of the line may be missing: what came before it was cut off or could not be read",
            r#"newline {"a":3}"#,
            "usage 26 14 40",
            "finish stop",
            r#"text {"a":2}⏎"#,
        ],
    ),
    ("more-after-done", TextAs::Records, &[r#"newline {"a":1}"#, "usage 26 14 40", "finish stop"]),
    (
        "unknown-things",
        TextAs::Records,
        &[
            r#"newline {"a":1}"#,
            r#"call item_stop search {"query":"fjord"} minted minted_1"#,
            r#"newline {"a":2}"#,
            "usage 26 14 40",
            "finish stop",
        ],
    ),
];

/// Those whose source is not complete.
const NO_ENDS: &[Expected] = &[
    (
        "error-line",
        TextAs::Records,
        &[
            r#"newline {"a":1}"#,
            "rejected truncated: expected `:` after the name, found the end of the input",
            "rejected provider_error: an error was encountered while running the model: unexpected EOF",
            r#"text {"a""#,
        ],
    ),
    (
        "error-after-call",
        TextAs::Records,
        &[
            r#"call item_stop search {"query":"fjord"} call_y5z6a7b8"#,
            "rejected provider_error: llama runner process has terminated: signal: killed",
        ],
    ),
    (
        "error-alone",
        TextAs::Records,
        &[r#"rejected provider_error: model "qwen9" not found, try pulling it first"#],
    ),
    (
        "silent-close-in-text",
        TextAs::Records,
        &[
            r#"newline {"a":1}"#,
            "rejected truncated: expected `,` or `}`, found the end of the input",
            INCOMPLETE,
            r#"text {"a":2"#,
        ],
    ),
    (
        "silent-close-after-record",
        TextAs::Records,
        &[r#"newline {"a":1}"#, r#"end_of_input {"a":2}"#, INCOMPLETE],
    ),
    (
        "silent-close-after-call",
        TextAs::Records,
        &[r#"call item_stop search {"query":"fjord"} call_c9d0e1f2"#, INCOMPLETE],
    ),
    (
        "silent-close-in-line",
        TextAs::Records,
        &[
            r#"newline {"a":1}"#,
            "rejected truncated: the stream ended inside an object, 116 bytes after its start",
            INCOMPLETE,
        ],
    ),
];

const INCOMPLETE: &str = "rejected stream_incomplete: the stream ended without `done: true`";

/// What they hold that is not known.
const UNKNOWN: &[(&str, &str)] = &[
    ("more-after-done", "data: after the end (1)"),
    (
        "unknown-things",
        "queue (1), message.mood (1), message.tool_calls[].weight (1), message.tool_calls[].function.strict (1), energy (1)",
    ),
];

const FIXTURES: Fixtures = Fixtures { provider: Provider::Ollama, ending: ".ndjson", unknown: UNKNOWN };

fn all() -> Vec<Expected> {
    [CALLS, TEXTS, ENDS, NO_ENDS].concat()
}

#[test]
fn calls() {
    FIXTURES.check(CALLS, true);
}

#[test]
fn texts() {
    FIXTURES.check(TEXTS, true);
}

#[test]
fn ends() {
    FIXTURES.check(ENDS, true);
}

#[test]
fn ends_that_are_none() {
    FIXTURES.check(NO_ENDS, false);
}

#[test]
fn no_fixture_is_left_out() {
    FIXTURES.are_all(&all(), &[]);
}

#[test]
fn an_answer_that_breaks_off_anywhere_delivers_nothing_else() {
    FIXTURES.break_off(&all());
}

/// The deltas of these lines.
fn deltas(lines: &[&str]) -> Vec<String> {
    let (mut json, mut decoder) = (Parser::new(), OllamaDecoder::new());
    let mut log = Vec::new();
    for line in lines {
        decoder.decode(json.parse(line).expect("it is JSON"), |delta| log.push(format!("{delta:?}")));
    }
    log
}

#[test]
fn calls_are_numbered_from_1_so_that_their_ends_are_not_the_texts() {
    let line = r#"{"message":{"tool_calls":[{"function":{"name":"ls","index":0}},{"function":{"name":"ls","index":0}}]}}"#;
    let log = deltas(&[line, line]);
    let stop = |block| {
        let completion = Some(Completion::ItemStop);
        format!("{:?}", Delta::BlockStop { choice: 0, block, completion })
    };
    let stops: Vec<_> = log.iter().filter(|delta| delta.starts_with("BlockStop")).cloned().collect();
    assert_eq!(stops, [stop(1), stop(2), stop(3), stop(4)]);

    let (mut json, mut decoder) = (Parser::new(), OllamaDecoder::new());
    for _ in 0..2 {
        let mut blocks = Vec::new();
        let sink = |delta: Delta<'_>| {
            if let Delta::BlockStop { block, .. } = delta {
                blocks.push(block);
            }
        };
        decoder.decode(json.parse(line).expect("it is JSON"), sink);
        assert_eq!(blocks, [1, 2]);
        decoder.reset();
    }
}

#[test]
fn what_is_of_another_kind_is_counted() {
    let unknown = |parent: &'static str, name: &'static str| {
        format!("{:?}", Delta::Unknown { parent, name: name.into() })
    };
    let start = format!("{:?}", Delta::Start { choice: 0 });
    for (line, expected) in [
        ("[1]", vec![unknown("data", "array")]),
        (r#"{"message":"a"}"#, vec![start.clone(), unknown("", "message: string")]),
        (r#"{"message":null}"#, vec![start.clone()]),
        (r#"{"done":"yes"}"#, vec![start.clone(), unknown("", "done: string")]),
        (r#"{"response":1}"#, vec![start.clone(), unknown("", "response: number")]),
        (
            r#"{"message":{"content":null,"thinking":7}}"#,
            vec![start.clone(), unknown("message", "thinking: number")],
        ),
        (r#"{"message":{"tool_calls":{}}}"#, vec![start.clone(), unknown("message", "tool_calls: object")]),
        (
            r#"{"message":{"tool_calls":[1]}}"#,
            vec![start.clone(), unknown("message", "tool_calls[]: number")],
        ),
        (
            r#"{"message":{"tool_calls":[{"function":"ls"}]}}"#,
            vec![start.clone(), unknown("message.tool_calls[]", "function: string")],
        ),
        (
            r#"{"message":{"tool_calls":[{}]}}"#,
            vec![start.clone(), unknown("message.tool_calls[]", "no function")],
        ),
    ] {
        assert_eq!(deltas(&[line]), expected, "{line}");
    }
}
