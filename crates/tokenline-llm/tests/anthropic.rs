//! Anthropic messages: every fixture at every cut, against what was read off it by hand.

mod common;

use common::fixtures::{Expected, Fixtures};
use common::{at_every_cut, parser_of};
use tokenline_core::{Completion, Limits};
use tokenline_llm::{AnthropicDecoder, Delta, FinishReason, Provider, TextAs};

const CALLS: &[Expected] = &[
    (
        "tool-use",
        TextAs::Records,
        &[
            "usage 472 2 474",
            r#"call item_stop get_weather {"city": "Zürich", "unit": "c"} toolu_01u8jzPde0IgxLd6GncfBAep"#,
            "usage 472 89 561",
            "finish tool_calls",
        ],
    ),
    (
        "text-then-tool",
        TextAs::Records,
        &[
            "usage 389 1 390",
            "note prose",
            r#"call item_stop search {"query": "fjord"} toolu_01GhV8nRc2JxYpT4wLmZs6Kd"#,
            "usage 389 54 443",
            "finish tool_calls",
            "text I'll look that up.",
        ],
    ),
    (
        "parallel-tools",
        TextAs::Records,
        &[
            "usage 610 3 613",
            r#"call item_stop get_weather {"city": "Lima"} toolu_01Ck4pWnX7vTz9sHbRy2Mf5L"#,
            r#"call item_stop get_time {"zone": "America/Lima"} toolu_01Dm6rYqB3wVx8tJcSz4Ng7P"#,
            "usage 610 101 711",
            "finish tool_calls",
        ],
    ),
    (
        "thinking-then-tool",
        TextAs::Records,
        &[
            "usage 702 5 707",
            r#"call item_stop search {"query": "abyss"} toolu_01Ku2zFyK7eDh4bSjAg8Wp3Y"#,
            "usage 702 140 842",
            "finish tool_calls",
            "reasoning I should search.",
        ],
    ),
    (
        "tool-without-arguments",
        TextAs::Records,
        &[
            "usage 565 7 572",
            "usage 565 38 603",
            "call finish_reason list_files {} toolu_01En8tZsD5yXb2vLdUa6Qh9R",
            "finish tool_calls",
        ],
    ),
    (
        "max-tokens-before-arguments",
        TextAs::Records,
        &[
            "usage 565 7 572",
            "usage 565 16 581",
            "rejected truncated: call 1 (`list_files`): the answer ended before the arguments began",
            "finish length",
        ],
    ),
    (
        "max-tokens-in-tool-without-stop",
        TextAs::Records,
        &[
            "usage 401 2 403",
            r#"call item_stop get_weather {"city": "Lyon"} toolu_01Gq4wCvG9bAe6yPfXd2Tk5V"#,
            "usage 401 64 465",
            "rejected truncated: call 2 (`write_file`): expected the rest of the string, found the end of the input",
            "finish length",
        ],
    ),
    (
        "max-tokens-in-tool-with-stop",
        TextAs::Records,
        &[
            "usage 401 2 403",
            "rejected truncated: call 1 (`write_file`): expected the rest of the string, found the end of the input",
            "usage 401 64 465",
            "finish length",
        ],
    ),
    (
        "tool-input-at-the-start",
        TextAs::Records,
        &[
            "usage 120 1 121",
            r#"call item_stop get_weather {"city":"Cork"} toolu_01Lv4bGzL9fEj6cTkBh2Xq5Z"#,
            "usage 120 31 151",
            "finish tool_calls",
        ],
    ),
    (
        "tool-input-at-the-start-and-fragments",
        TextAs::Records,
        &[
            "usage 120 1 121",
            r#"call item_stop get_weather {"city":"Cork","unit":"c"} toolu_01Mw6cHaM3gFk8dUmCj4Yr7A"#,
            "usage 120 31 151",
            "finish tool_calls",
        ],
    ),
    (
        "message-starts-with-content",
        TextAs::Records,
        &[
            "note prose",
            r#"item_stop {"a":1}"#,
            r#"call item_stop get_weather {"city":"Oslo"} toolu_01Nx8dJbN5hGm2eVnDk6Zs9B"#,
            "call item_stop list_files {} toolu_01Py4fLdQ9kJp6gXqFn2Bu5D",
            "usage 812 0 812",
            "usage 812 97 909",
            "finish tool_calls",
            "text Two lookups.⏎",
        ],
    ),
    (
        "server-tools",
        TextAs::Records,
        &[
            "usage 2679 3 2682",
            "note prose",
            "note prose",
            r#"item_stop {"a":1}"#,
            r#"call item_stop save_note {"text": "inlet"} toolu_01Qz6gMeR3mKr8hYsGp4Cv7F"#,
            "usage 10682 187 10869",
            "finish tool_calls",
            "text I'll check.A fjord is an inlet.⏎",
        ],
    ),
    (
        "server-side-blocks",
        TextAs::Records,
        &["usage 1204 2 1206", r#"newline {"a":1}"#, "usage 1204 233 1437", "finish stop"],
    ),
    (
        "call-in-text",
        TextAs::ToolCalls,
        &[
            "usage 88 1 89",
            "note prose",
            "usage 88 27 115",
            r#"textual call item_stop search {"query":"fjord"}"#,
            "finish stop",
            "text Let me see.⏎",
        ],
    ),
    (
        "max-tokens-after-call-in-text",
        TextAs::ToolCalls,
        &[
            "usage 88 1 89",
            "usage 88 20 108",
            "rejected unsealed: the tool call is balanced, but the answer ended without proof that it is whole",
            "finish length",
        ],
    ),
    (
        "block-stop-missing",
        TextAs::Records,
        &[
            "usage 12 1 13",
            r#"newline {"a":1}"#,
            "usage 12 40 52",
            r#"finish_reason {"a":2}"#,
            r#"call finish_reason search {"query": "fjord"} toolu_01Ud6mRjV3rQv8nCwLt4Gz7K"#,
            "finish tool_calls",
        ],
    ),
];

const TEXTS: &[Expected] = &[
    (
        "text",
        TextAs::Records,
        &["usage 12 1 13", r#"newline {"a":1}"#, "usage 12 14 26", r#"item_stop {"a":2}"#, "finish stop"],
    ),
    (
        "cached-prompt",
        TextAs::Records,
        &["usage 11771 1 11772", r#"newline {"a":1}"#, "usage 11771 9 11780", "finish stop"],
    ),
    (
        "trailing-spaces",
        TextAs::Records,
        &["usage 12 1 13", r#"newline {"a":1}"#, "usage 12 14 26", r#"item_stop {"a":2}"#, "finish stop"],
    ),
    (
        "ping-anywhere",
        TextAs::Records,
        &["usage 12 1 13", r#"newline {"a":1}"#, "usage 12 9 21", "finish stop"],
    ),
    (
        "event-names-missing",
        TextAs::Records,
        &["usage 12 1 13", r#"newline {"a":1}"#, "usage 12 14 26", r#"item_stop {"a":2}"#, "finish stop"],
    ),
    (
        "type-missing",
        TextAs::Records,
        &["usage 12 1 13", r#"newline {"a":1}"#, "usage 12 14 26", r#"item_stop {"a":2}"#, "finish stop"],
    ),
    (
        "text-at-the-start",
        TextAs::Records,
        &["usage 12 1 13", r#"newline {"a":1}"#, "usage 12 9 21", "finish stop"],
    ),
    (
        "block-start-missing",
        TextAs::Records,
        &["usage 12 1 13", r#"newline {"a":1}"#, "usage 12 14 26", r#"item_stop {"a":2}"#, "finish stop"],
    ),
    (
        "stop-sequence",
        TextAs::Records,
        &["usage 12 1 13", r#"newline {"a":1}"#, "usage 12 14 26", r#"item_stop {"a":2}"#, "finish stop"],
    ),
    (
        "two-texts",
        TextAs::Records,
        &["usage 12 1 13", r#"item_stop {"a":1}"#, "usage 12 22 34", r#"item_stop {"a":2}"#, "finish stop"],
    ),
    (
        "thinking-then-text",
        TextAs::Records,
        &[
            "usage 46 3 49",
            r#"newline {"a":1}"#,
            "usage 46 41 87",
            "finish stop",
            r#"reasoning The user wants {"a":0}, or so."#,
        ],
    ),
    (
        "citations",
        TextAs::Records,
        &[
            "usage 612 1 613",
            "note prose",
            r#"newline {"a":1}"#,
            "usage 612 33 645",
            "finish stop",
            "text The note says ",
        ],
    ),
    (
        "max-tokens-in-text",
        TextAs::Records,
        &[
            "usage 12 1 13",
            r#"newline {"a":1}"#,
            "usage 12 12 24",
            "rejected truncated: expected the rest of the string, found the end of the input",
            "finish length",
            r#"text {"a":"x"#,
        ],
    ),
    (
        "max-tokens-after-record",
        TextAs::Records,
        &[
            "usage 12 1 13",
            r#"newline {"a":1}"#,
            "usage 12 14 26",
            r#"end_of_input {"a":2}"#,
            "rejected truncated: the answer was cut by its token limit",
            "finish length",
        ],
    ),
    (
        "message-starts-stopped",
        TextAs::Records,
        &[
            r#"newline {"a":1}"#,
            "usage 64 12 76",
            r#"end_of_input {"a":2}"#,
            "rejected truncated: the answer was cut by its token limit",
            "finish length",
        ],
    ),
    (
        "context-window-exceeded",
        TextAs::Records,
        &[
            "usage 199988 1 199989",
            r#"newline {"a":1}"#,
            "usage 199988 12 200000",
            "rejected truncated: expected `:` after the name, found the end of the input",
            "finish length",
            r#"text {"a""#,
        ],
    ),
    (
        "refusal",
        TextAs::Records,
        &[
            "usage 18 1 19",
            "usage 18 5 23",
            "finish content_filter",
            "refusal This request was blocked under the Usage Policy.",
        ],
    ),
    (
        "refusal-in-text",
        TextAs::Records,
        &[
            "usage 18 1 19",
            r#"newline {"a":1}"#,
            "usage 18 15 33",
            r#"end_of_input {"a":2}"#,
            "finish content_filter",
        ],
    ),
    (
        "pause-turn",
        TextAs::Records,
        &[
            "usage 2679 3 2682",
            "note prose",
            r#"item_stop {"a":1}"#,
            "usage 2679 96 2775",
            "finish pause_turn",
            "text Still at it.⏎",
        ],
    ),
];

/// The provider's own, or what stands for it.
const ENDS: &[Expected] = &[
    (
        "stop-reason-missing",
        TextAs::Records,
        &["usage 12 1 13", r#"newline {"a":1}"#, r#"item_stop {"a":2}"#],
    ),
    (
        "stop-reason-null-then-given",
        TextAs::Records,
        &[
            "usage 12 1 13",
            r#"newline {"a":1}"#,
            "usage 12 10 22",
            "usage 12 14 26",
            r#"item_stop {"a":2}"#,
            "finish stop",
        ],
    ),
    (
        "done-after-message-stop",
        TextAs::Records,
        &["usage 12 1 13", r#"newline {"a":1}"#, "usage 12 7 19", "finish stop"],
    ),
    (
        "bedrock-metrics",
        TextAs::Records,
        &["usage 12 1 13", r#"newline {"a":1}"#, "usage 12 7 19", "finish stop"],
    ),
    (
        "second-message-start",
        TextAs::Records,
        &[
            "usage 12 1 13",
            r#"newline {"a":1}"#,
            "rejected truncated: expected `,` or `}`, found the end of the input",
            r#"newline {"a":3}"#,
            "usage 12 14 26",
            r#"item_stop {"a":4}"#,
            "finish stop",
            r#"text {"a":2"#,
        ],
    ),
    (
        "second-message-start-in-tool",
        TextAs::Records,
        &[
            "usage 120 1 121",
            "rejected unsealed: call 1 (`search`): the arguments are balanced, but the answer ended without proof that they are whole",
            r#"call item_stop search {"query": "skerry"} toolu_01Bm4vYsC9yXd6wKdTa2Qg5S"#,
            "usage 120 31 151",
            "finish tool_calls",
        ],
    ),
    (
        "second-message-after-stop",
        TextAs::Records,
        &[
            "usage 12 1 13",
            "usage 12 7 19",
            r#"item_stop {"a":1}"#,
            "finish stop",
            "usage 12 1 13",
            "usage 12 8 20",
            r#"item_stop {"a":2}"#,
            "finish stop",
        ],
    ),
    (
        "unknown-things",
        TextAs::Records,
        &["usage 12 1 13", r#"newline {"a":1}"#, "usage 12 14 26", r#"item_stop {"a":2}"#, "finish stop"],
    ),
];

/// Those whose source is not complete.
const NO_ENDS: &[Expected] = &[
    (
        "second-message-cut",
        TextAs::Records,
        &[
            "usage 12 1 13",
            "usage 12 7 19",
            r#"item_stop {"a":1}"#,
            "finish stop",
            "usage 12 1 13",
            "rejected truncated: expected a value, found the end of the input",
            INCOMPLETE,
            r#"text {"a":"#,
        ],
    ),
    (
        "silent-close-in-text",
        TextAs::Records,
        &[
            "usage 12 1 13",
            r#"newline {"a":1}"#,
            "rejected truncated: expected `,` or `}`, found the end of the input",
            INCOMPLETE,
            r#"text {"a":2"#,
        ],
    ),
    (
        "silent-close-after-text",
        TextAs::Records,
        &["usage 12 1 13", r#"newline {"a":1}"#, r#"end_of_input {"a":2}"#, INCOMPLETE],
    ),
    (
        "silent-close-in-tool",
        TextAs::Records,
        &[
            "usage 120 1 121",
            "rejected truncated: call 1 (`search`): expected the rest of the string, found the end of the input",
            INCOMPLETE,
        ],
    ),
    (
        "silent-close-after-arguments",
        TextAs::Records,
        &[
            "usage 120 1 121",
            "rejected unsealed: call 1 (`search`): the arguments are balanced, but the answer ended without proof that they are whole",
            INCOMPLETE,
        ],
    ),
    (
        "silent-close-after-tool",
        TextAs::Records,
        &[
            "usage 120 1 121",
            r#"call item_stop search {"query": "fjord"} toolu_01Xg4qUnY9uTy6rFzPw2Kc5N"#,
            INCOMPLETE,
        ],
    ),
    (
        "silent-close-after-tool-without-arguments",
        TextAs::Records,
        &[
            "usage 120 1 121",
            "rejected truncated: call 1 (`list_files`): the answer ended before the arguments began",
            INCOMPLETE,
        ],
    ),
    (
        "silent-close-after-stop-reason",
        TextAs::Records,
        &[
            "usage 12 1 13",
            r#"newline {"a":1}"#,
            "usage 12 14 26",
            r#"item_stop {"a":2}"#,
            "finish stop",
            INCOMPLETE,
        ],
    ),
    (
        "error-overloaded",
        TextAs::Records,
        &[
            "usage 12 1 13",
            r#"newline {"a":1}"#,
            "rejected truncated: expected `:` after the name, found the end of the input",
            "rejected provider_error: Overloaded",
            r#"text {"a""#,
        ],
    ),
    (
        "error-in-tool",
        TextAs::Records,
        &[
            "usage 120 1 121",
            "rejected unsealed: call 1 (`search`): the arguments are balanced, but the answer ended without proof that they are whole",
            "rejected provider_error: Internal server error",
        ],
    ),
    (
        "error-first",
        TextAs::Records,
        &["rejected provider_error: This request would exceed your organization's rate limit."],
    ),
    (
        "error-as-text",
        TextAs::Records,
        &["rejected provider_error: upstream connect error or disconnect/reset before headers"],
    ),
    (
        "error-without-type",
        TextAs::Records,
        &["usage 12 1 13", r#"newline {"a":1}"#, "rejected provider_error: Bad gateway"],
    ),
];

const INCOMPLETE: &str = "rejected stream_incomplete: the stream ended without `message_stop`";

/// What they hold that is not known.
const UNKNOWN: &[(&str, &str)] = &[(
    "unknown-things",
    "trace (1), hint (1), event: message_hint (1), content_block.hologram (1), content_block_delta.delta.tint_delta (1), content_block_delta.delta.lang (1), message_delta.delta.mood (1)",
)];

const FIXTURES: Fixtures = Fixtures { provider: Provider::Anthropic, ending: ".sse", unknown: UNKNOWN };

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
    FIXTURES.are_all(&all(), &["text-recorded"]);
}

#[test]
fn an_answer_that_breaks_off_anywhere_delivers_nothing_else() {
    FIXTURES.break_off(&all());
}

#[test]
fn recorded_text_cut_by_the_token_limit() {
    let seen = at_every_cut(parser_of(Provider::Anthropic, TextAs::Text), &FIXTURES.wire("text-recorded"));
    let lines: Vec<_> = (0..31)
        .map(|line| match line {
            3 | 9 | 13 => "<|im_start|>",
            _ if line % 2 == 1 => "<|im_end|>",
            _ => "Assistant, Food and Beverage",
        })
        .collect();
    assert_eq!(
        seen.summary(),
        [
            "usage 101 0 101",
            "usage 101 200 301",
            "rejected truncated: the answer was cut by its token limit",
            "finish length",
            &format!("text {}", lines.join("⏎")),
        ]
    );
    assert!(seen.is_complete && seen.unknown.is_empty());
}

/// The deltas of these events, whose names are as given.
fn deltas(events: &[(&str, &str)]) -> Vec<String> {
    let mut decoder = AnthropicDecoder::new(&Limits::default());
    let mut log = Vec::new();
    for (event, data) in events {
        decoder.decode(event, data, |delta| log.push(format!("{delta:?}"))).expect("it is JSON");
    }
    log
}

#[test]
fn the_type_decides_and_not_the_name() {
    let stop = [format!("{:?}", Delta::Terminator)];
    assert_eq!(deltas(&[("message_start", r#"{"type":"message_stop"}"#)]), stop);
    assert_eq!(deltas(&[("message_stop", r#"{"type":null}"#)]), stop);
    assert_eq!(deltas(&[("message_stop", "{}")]), stop);
}

#[test]
fn data_that_is_no_object() {
    let unknown = |name: &'static str| format!("{:?}", Delta::Unknown { parent: "data", name: name.into() });
    let error = |message: &'static str| format!("{:?}", Delta::Error { message: message.into() });
    assert_eq!(deltas(&[("message_stop", ""), ("message_stop", "[DONE]")]), [""; 0]);
    assert_eq!(deltas(&[("message_stop", "[1]"), ("message", "stop")]), [unknown("array"), unknown("text")]);
    assert_eq!(
        deltas(&[("error", "gone"), ("error", r#""gone""#), ("error", "{}")]),
        [error("gone"), error("gone"), error("no message")]
    );
    for data in [
        r#"{"message":"gone"}"#,
        r#"{"type":"error","message":"gone"}"#,
        r#"{"type":"overloaded_error","message":"gone"}"#,
        r#"{"type":"error","error":{"type":"overloaded_error","message":"gone"}}"#,
        r#"{"error":"gone"}"#,
    ] {
        let log = deltas(&[("error", data)]);
        assert_eq!(log.last(), Some(&error("gone")), "{data}");
    }
    let mut decoder = AnthropicDecoder::new(&Limits::default());
    assert!(decoder.decode("message_stop", r#"{"type":"#, |delta| panic!("{delta:?}")).is_err());
}

/// What becomes of the end of a text block that is followed by these events.
fn text_ends_with(events: &[(&str, &str)]) -> Vec<Option<Completion>> {
    let mut decoder = AnthropicDecoder::new(&Limits::default());
    let mut ends = Vec::new();
    let before = [
        ("", r#"{"type":"content_block_start","index":3,"content_block":{"type":"text","text":"a"}}"#),
        ("", r#"{"type":"content_block_stop","index":3}"#),
    ];
    for (event, data) in before.iter().chain(events) {
        let sink = |delta: Delta<'_>| {
            if let Delta::BlockStop { choice: 0, block: 3, completion } = delta {
                ends.push(completion);
            }
        };
        decoder.decode(event, data, sink).expect("it is JSON");
    }
    ends
}

#[test]
fn the_end_of_a_text_is_held_back() {
    let whole = vec![Some(Completion::ItemStop)];
    let reason = |reason: &str| format!(r#"{{"type":"message_delta","delta":{{"stop_reason":{reason}}}}}"#);
    assert_eq!(text_ends_with(&[]), []);
    assert_eq!(text_ends_with(&[("", r#"{"type":"ping"}"#), ("", &reason("null"))]), []);
    assert_eq!(text_ends_with(&[("", r#"{"type":"message_start","message":{}}"#)]), []);
    for follows in [
        r#"{"type":"content_block_start","index":4,"content_block":{"type":"thinking","thinking":""}}"#,
        r#"{"type":"content_block_start","index":3,"content_block":{"type":"text","text":"b"}}"#,
        r#"{"type":"message_stop"}"#,
        &reason(r#""end_turn""#),
        &reason(r#""tool_use""#),
        &reason(r#""stop_sequence""#),
    ] {
        assert_eq!(text_ends_with(&[("", follows)]), whole, "{follows}");
    }
    for cut in ["max_tokens", "model_context_window_exceeded", "refusal", "pause_turn", "whatever"] {
        let follows = [("", &*reason(&format!("{cut:?}"))), ("", r#"{"type":"message_stop"}"#)];
        assert_eq!(text_ends_with(&follows), [None], "{cut}");
    }
}

#[test]
fn a_server_that_opens_blocks_for_ever_fills_no_memory() {
    let mut decoder = AnthropicDecoder::new(&Limits::default());
    for index in 0..10_000 {
        let start = format!(
            r#"{{"type":"content_block_start","index":{index},"content_block":{{"type":"tool_use","id":"t","name":"n","input":{{"a":1}}}}}}"#
        );
        decoder.decode("", &start, |_| {}).expect("it is JSON");
        let stop = format!(r#"{{"type":"content_block_stop","index":{}}}"#, index + 20_000);
        decoder.decode("", &stop, |_| {}).expect("it is JSON");
    }
    assert!(format!("{decoder:?}").len() < 20_000);
    decoder.reset();
    let fresh = AnthropicDecoder::new(&Limits::default());
    let message = |decoder: &AnthropicDecoder| {
        let shown = format!("{decoder:?}");
        shown[shown.find("message").expect("it is shown")..].to_owned()
    };
    assert_eq!(message(&decoder), message(&fresh));
}

#[test]
fn reasons() {
    for (name, reason) in [
        ("end_turn", FinishReason::Stop),
        ("stop_sequence", FinishReason::Stop),
        ("tool_use", FinishReason::ToolCalls),
        ("max_tokens", FinishReason::Length),
        ("model_context_window_exceeded", FinishReason::Length),
        ("refusal", FinishReason::ContentFilter),
        ("pause_turn", FinishReason::other("pause_turn")),
        ("compaction", FinishReason::other("compaction")),
    ] {
        let data = format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"{name}"}}}}"#);
        assert_eq!(deltas(&[("", &data)]), [format!("{:?}", Delta::Finish { choice: 0, reason })]);
    }
}
