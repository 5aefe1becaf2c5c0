//! Gemini: every fixture at every cut, against what was read off it by hand.

mod common;

use common::fixtures::{Expected, Fixtures, as_records};
use tokenline_core::{Completion, Limits};
use tokenline_llm::{Delta, FinishReason, GeminiDecoder, Provider};

/// Name, and what it comes to, its text read as records.
type Simple = (&'static str, &'static [&'static str]);

const CALLS: &[Simple] = &[
    (
        "call.sse",
        &[
            r#"call item_stop get_weather {"city":"Zürich","unit":"c"} minted minted_1"#,
            "usage 29 60 89",
            "finish stop",
        ],
    ),
    (
        "two-calls-in-one-chunk.sse",
        &[
            r#"call item_stop get_weather {"city":"Lima"} minted minted_1"#,
            r#"call item_stop get_time {"zone":"America/Lima"} minted minted_2"#,
            "usage 40 30 70",
            "finish stop",
        ],
    ),
    (
        "two-calls-in-turn.sse",
        &[
            r#"call item_stop get_weather {"city":"Accra"} minted minted_1"#,
            "usage 40 15 55",
            r#"call item_stop get_weather {"city":"Accra"} minted minted_2"#,
            "usage 40 30 70",
            "finish stop",
        ],
    ),
    (
        "calls-with-ids.sse",
        &[
            r#"call item_stop get_weather {"city":"Rome"} k3v9tq1x"#,
            r#"call item_stop get_weather {"city":"Bari"} m8w2zr5y"#,
            "usage 40 30 70",
            "finish stop",
        ],
    ),
    (
        "calls-without-arguments.sse",
        &[
            "call item_stop list_folders {} minted minted_2",
            "usage 12 8 20",
            "call finish_reason list_files {} minted minted_1",
            "finish stop",
        ],
    ),
    (
        "call-without-arguments-then-cut.sse",
        &[
            "usage 12 8 20",
            "usage 12 16 28",
            "rejected truncated: call 1 (`list_files`): the answer ended before the arguments began",
            "finish length",
        ],
    ),
    (
        "call-then-cut.sse",
        &[
            r#"call item_stop search {"query":"lichen"} minted minted_1"#,
            "usage 12 16 28",
            "note prose",
            "rejected truncated: the answer was cut by its token limit",
            "finish length",
            "text and th",
        ],
    ),
    (
        "call-with-literals.sse",
        &[
            r#"call item_stop pay {"amount": 0.90, "big": 12345678901234567890, "note": "caf\u00e9"} minted minted_1"#,
            "usage 9 4 13",
            "finish stop",
        ],
    ),
    (
        "text-then-call.sse",
        &[
            r#"call item_stop search {"query":"fjord"} minted minted_1"#,
            "usage 31 20 51",
            "note prose",
            "finish stop",
            "text Let me look that up.",
        ],
    ),
];

const STREAMED_CALLS: &[Simple] = &[
    (
        "streamed-arguments.sse",
        &[
            r#"call item_stop getWeather {"location":"Boston"} minted minted_1"#,
            r#"call item_stop getWeather {"location":"San Francisco"} minted minted_2"#,
            "usage 26 155 181",
            "finish stop",
        ],
    ),
    (
        "streamed-arguments-of-every-kind.sse",
        &[
            concat!(
                r#"call item_stop plan_trip {"title":"Fjord \"tour\"\n","#,
                r#""stops":[{"city":"Bergen","nights":2},{"city":"Ålesund","nights":1.50,"notes":null}],"#,
                r#""limits":{"per day":[[-1e3,false]]},"car":true,"guide":null} minted minted_1"#
            ),
            "usage 26 155 181",
            "finish stop",
        ],
    ),
    (
        "streamed-arguments-in-one-chunk.sse",
        &[
            r#"call item_stop getWeather {"location":"Oslo"} minted minted_1"#,
            "usage 26 155 181",
            "finish stop",
        ],
    ),
    (
        "streamed-arguments-end-in-the-last-part.sse",
        &[
            r#"call item_stop getWeather {"location":"Oslo"} minted minted_1"#,
            "usage 26 155 181",
            "finish stop",
        ],
    ),
    (
        "streamed-arguments-without-end.sse",
        &[
            r#"call next_item getWeather {"location":"Oslo"} minted minted_1"#,
            "usage 26 155 181",
            r#"call finish_reason getTime {"zone":"Europe/Oslo"} minted minted_2"#,
            "finish stop",
        ],
    ),
    (
        "streamed-arguments-then-whole-call.sse",
        &[
            r#"call next_item getWeather {"location":"Oslo"} minted minted_1"#,
            r#"call item_stop getTime {"zone":"Europe/Oslo"} minted minted_2"#,
            "usage 26 155 181",
            "finish stop",
        ],
    ),
    (
        "streamed-arguments-none.sse",
        &["usage 26 155 181", "call finish_reason listFiles {} minted minted_1", "finish stop"],
    ),
    (
        "streamed-arguments-cut.sse",
        &[
            "usage 26 155 181",
            "rejected truncated: call 1 (`getWeather`): the arguments were to go on, found the end",
            "finish length",
        ],
    ),
    (
        "streamed-arguments-cut-between-values.sse",
        &[
            "usage 26 155 181",
            "rejected truncated: call 1 (`getWeather`): the arguments were to go on, found the end",
            "finish length",
        ],
    ),
    (
        "streamed-arguments-stop-in-string.sse",
        &[
            "usage 26 155 181",
            "rejected truncated: call 1 (`getWeather`): the arguments were to go on, found the end",
            "finish stop",
        ],
    ),
    (
        "streamed-arguments-of-an-unknown-kind.sse",
        &[
            "rejected truncated: call 1 (`getWeather`): the arguments were to go on, found the end",
            "usage 26 155 181",
            "finish stop",
        ],
    ),
    (
        "streamed-arguments-without-name.sse",
        &["rejected missing_field: call 1: it does not name a tool", "usage 26 155 181", "finish stop"],
    ),
];

const TEXTS: &[Simple] = &[
    (
        "text.sse",
        &[
            "usage 9 190 199",
            r#"newline {"a":1}"#,
            "usage 9 196 205",
            r#"finish_reason {"a":2}"#,
            "finish stop",
        ],
    ),
    (
        "thoughts.sse",
        &[
            "usage 9 ? 9",
            r#"newline {"a":3}"#,
            "usage 9 262 271",
            "finish stop",
            "reasoning **Counting the letters**⏎⏎I see {\"a\":0}, or so.⏎",
        ],
    ),
    (
        "early-stop-then-more.sse",
        &[r#"newline {"a":1}"#, "usage 9 12 21", r#"finish_reason {"b":2}"#, "finish stop"],
    ),
    (
        "stop-on-every-chunk.sse",
        &[
            "usage 9 2 11",
            r#"newline {"a":1}"#,
            "usage 9 8 17",
            "usage 9 12 21",
            r#"finish_reason {"a":2}"#,
            "finish stop",
        ],
    ),
    ("unspecified-reason.sse", &[r#"newline {"a":1}"#, "usage 9 12 21", "finish stop"]),
    (
        "two-candidates.sse",
        &[
            r#"1: call item_stop search {"query":"x"} minted minted_1"#,
            r#"1: newline {"b":2}"#,
            r#"newline {"a":1}"#,
            "usage 9 12 21",
            "rejected truncated: the answer was cut by its token limit",
            "finish length",
            "1: finish stop",
        ],
    ),
    ("code-execution.sse", &[r#"newline {"a":0}"#, "usage 39 12 51", "finish stop"]),
    ("unknown-things.sse", &[r#"newline {"a":1}"#, "finish stop"]),
    (
        "code-assist-envelope.sse",
        &[
            r#"newline {"a":1}"#,
            r#"call item_stop search {"query":"wool"} minted minted_1"#,
            "usage 9 12 21",
            "finish stop",
        ],
    ),
    (
        "array-pretty.json",
        &[
            "usage 9 3 12",
            r#"newline {"a":1}"#,
            "usage 9 11 20",
            r#"call item_stop search {"query":"[{\"x"} minted minted_1"#,
            "usage 9 20 29",
            r#"finish_reason {"brackets":"]}["}"#,
            "finish stop",
        ],
    ),
    (
        "array-compact.json",
        &[
            "usage 9 3 12",
            r#"newline {"a":1}"#,
            "usage 9 11 20",
            r#"call item_stop search {"query":"[{\"x"} minted minted_1"#,
            "usage 9 20 29",
            r#"finish_reason {"brackets":"]}["}"#,
            "finish stop",
        ],
    ),
];

const ENDS: &[Simple] = &[
    (
        "max-tokens-in-text.sse",
        &[
            r#"newline {"a":1}"#,
            "usage 9 16 25",
            "rejected truncated: expected a value, found the end of the input",
            "finish length",
            r#"text {"a":"#,
        ],
    ),
    (
        "stop-after-max-tokens.sse",
        &[
            r#"newline {"a":1}"#,
            "usage 9 12 21",
            r#"end_of_input {"a":2}"#,
            "rejected truncated: the answer was cut by its token limit",
            "finish length",
        ],
    ),
    (
        "safety.sse",
        &[r#"newline {"a":1}"#, "usage 9 12 21", r#"end_of_input {"a":2}"#, "finish content_filter"],
    ),
    ("recitation.sse", &[r#"newline {"a":1}"#, "usage 9 12 21", "finish content_filter"]),
    (
        "malformed-function-call.sse",
        &[
            "usage 2595 ? 2595",
            "rejected malformed_json: the model wrote a tool call that the provider could not read; nothing of it was sent",
            "finish malformed_call",
        ],
    ),
    (
        "unexpected-tool-call.sse",
        &[
            "usage 51 ? 51",
            "rejected malformed_json: the model wrote a tool call that the provider could not read; nothing of it was sent",
            "finish malformed_call",
        ],
    ),
    ("language.sse", &[r#"newline {"a":1}"#, "usage 9 12 21", "finish LANGUAGE"]),
    ("prompt-blocked.sse", &["usage 7 ? 7", "finish content_filter"]),
    (
        "prompt-blocked-with-message.sse",
        &["usage 7 ? 7", "finish content_filter", "refusal The prompt was blocked."],
    ),
    ("done-marker-appended.sse", &[r#"newline {"a":1}"#, "usage 9 12 21", "finish stop"]),
];

const INCOMPLETE: &str = "rejected stream_incomplete: the stream ended without a `finishReason`";

/// Those whose source is not complete.
const NO_ENDS: &[Simple] = &[
    (
        "error.sse",
        &[
            r#"newline {"a":1}"#,
            r#"end_of_input {"a":2}"#,
            "rejected provider_error: The model is overloaded. Please try again later.",
        ],
    ),
    (
        "error-after-call.sse",
        &[
            r#"call item_stop search {"query":"lichen"} minted minted_1"#,
            "rejected provider_error: An internal error has occurred.",
        ],
    ),
    (
        "silent-close-in-text.sse",
        &[
            r#"newline {"a":1}"#,
            "usage 9 12 21",
            "rejected truncated: expected `,` or `}`, found the end of the input",
            INCOMPLETE,
            r#"text {"a":2"#,
        ],
    ),
    (
        "silent-close-in-chunk.sse",
        &[
            r#"newline {"a":1}"#,
            "rejected truncated: the stream ended inside a server-sent event, 64 bytes after its start",
            INCOMPLETE,
        ],
    ),
    (
        "silent-close-after-call.sse",
        &[r#"call item_stop search {"query":"lichen"} minted minted_1"#, "usage 9 12 21", INCOMPLETE],
    ),
    (
        "streamed-arguments-silent-close.sse",
        &[
            "rejected truncated: call 1 (`getWeather`): the arguments were to go on, found the end",
            INCOMPLETE,
        ],
    ),
    (
        "streamed-arguments-silent-close-after-value.sse",
        &[
            "rejected truncated: call 1 (`getWeather`): the arguments were to go on, found the end",
            INCOMPLETE,
        ],
    ),
    (
        "array-silent-close.json",
        &[
            "usage 9 3 12",
            r#"newline {"a":1}"#,
            "usage 9 11 20",
            r#"end_of_input {"brackets":"]}["}"#,
            INCOMPLETE,
        ],
    ),
    (
        "array-silent-close-in-element.json",
        &[
            "usage 9 3 12",
            r#"newline {"a":1}"#,
            "usage 9 11 20",
            "rejected truncated: the stream ended inside an object, 132 bytes after its start",
            r#"end_of_input {"brackets":"]}["}"#,
            INCOMPLETE,
        ],
    ),
    (
        "array-error.json",
        &[
            "usage 9 3 12",
            "rejected truncated: expected a value, found the end of the input",
            "rejected provider_error: The model is overloaded. Please try again later.",
            r#"text {"a":"#,
        ],
    ),
    ("array-of-an-error.json", &["rejected provider_error: API key not valid. Please pass a valid API key."]),
];

/// Where something is not known.
const UNKNOWN: &[(&str, &str)] = &[
    (
        "streamed-arguments-of-an-unknown-kind.sse",
        "candidates[].content.parts[].functionCall.partialArgs[].structValue (1)",
    ),
    (
        "unknown-things.sse",
        "weather (1), candidates[].mood (1), candidates[].content.parts[].glow (1), candidates[].content.parts[].inlineData (1), candidates[].content.parts[].fileData (1)",
    ),
];

const FIXTURES: Fixtures = Fixtures { provider: Provider::Gemini, ending: "", unknown: UNKNOWN };

fn all() -> Vec<Expected> {
    as_records(&[CALLS, STREAMED_CALLS, TEXTS, ENDS, NO_ENDS].concat())
}

#[test]
fn calls() {
    FIXTURES.check(&as_records(CALLS), true);
}

#[test]
fn streamed_calls() {
    FIXTURES.check(&as_records(STREAMED_CALLS), true);
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

/// The deltas that these data come to.
fn deltas<'a>(data: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut decoder = GeminiDecoder::new(&Limits::default());
    let mut deltas = Vec::new();
    for data in data {
        decoder.decode("message", data, |delta| deltas.push(format!("{delta:?}"))).expect("it is JSON");
    }
    decoder.finish(|delta| deltas.push(format!("{delta:?}")));
    decoder.finish(|delta| panic!("{delta:?}"));
    deltas
}

#[test]
fn data_that_is_no_object() {
    assert_eq!(deltas(["", " ", "[DONE]", "{}"]), [""; 0]);
    let unknown = |name: &str| format!("{:?}", Delta::Unknown { parent: "data", name: name.into() });
    assert_eq!(deltas(["[1]", "whatever", "\"x\""]), ["array", "text", "string"].map(unknown));
    let mut decoder = GeminiDecoder::new(&Limits::default());
    assert!(decoder.decode("message", "{\"candidates\":", |_| {}).is_err());
    let error = Delta::Error { message: "no healthy upstream".into() };
    decoder
        .decode("error", "no healthy upstream", |delta| assert_eq!(delta, error))
        .expect("it need not be JSON");
}

#[test]
fn reasons() {
    for (name, reason) in [
        ("STOP", Some(FinishReason::Stop)),
        ("MAX_TOKENS", Some(FinishReason::Length)),
        ("SAFETY", Some(FinishReason::ContentFilter)),
        ("RECITATION", Some(FinishReason::ContentFilter)),
        ("BLOCKLIST", Some(FinishReason::ContentFilter)),
        ("PROHIBITED_CONTENT", Some(FinishReason::ContentFilter)),
        ("SPII", Some(FinishReason::ContentFilter)),
        ("IMAGE_SAFETY", Some(FinishReason::ContentFilter)),
        ("MALFORMED_FUNCTION_CALL", Some(FinishReason::MalformedCall)),
        ("UNEXPECTED_TOOL_CALL", Some(FinishReason::MalformedCall)),
        ("LANGUAGE", Some(FinishReason::other("LANGUAGE"))),
        ("OTHER", Some(FinishReason::other("OTHER"))),
        ("FINISH_REASON_UNSPECIFIED", None),
        ("", None),
    ] {
        let data = format!(r#"{{"candidates":[{{"finishReason":"{name}"}}]}}"#);
        let mut expected = vec![format!("{:?}", Delta::Start { choice: 0 })];
        expected.extend(reason.map(|reason| format!("{:?}", Delta::Finish { choice: 0, reason })));
        assert_eq!(deltas([&*data]), expected);
    }
}

#[test]
fn a_part_of_a_call_that_is_not_understood_leaves_it_cut() {
    for part in [
        r#"{"jsonPath":"$.a"}"#,
        r#"{"stringValue":"a"}"#,
        r#"{"jsonPath":"$.a","numberValue":"NaN"}"#,
        r#"{"jsonPath":"$.a","stringValue":"a","boolValue":true}"#,
        "7",
    ] {
        let data = format!(
            r#"{{"candidates":[{{"content":{{"parts":[{{"functionCall":{{"name":"f","partialArgs":[{part}]}}}}]}}}}]}}"#
        );
        let cut = format!("{:?}", Delta::BlockStop { choice: 0, block: 1, completion: None });
        let whole =
            format!("{:?}", Delta::BlockStop { choice: 0, block: 1, completion: Some(Completion::ItemStop) });
        let deltas = deltas([&*data]);
        assert!(deltas.ends_with(&[cut, whole]), "{part}: {deltas:?}");
    }
}

#[test]
fn a_server_that_makes_up_candidates_fills_no_memory() {
    let mut decoder = GeminiDecoder::new(&Limits::default());
    for index in 0..10_000 {
        let data = format!(r#"{{"candidates":[{{"index":{index},"finishReason":"STOP"}}]}}"#);
        decoder.decode("message", &data, |_| {}).expect("it is JSON");
    }
    let mut ends = 0;
    decoder.finish(|_| ends += 1);
    assert_eq!(ends, 128);
    decoder.reset();
    assert!(format!("{decoder:?}").contains("Candidates([])"));
}

#[test]
fn lines_before_an_array_are_counted_once() {
    let seen = common::at_every_cut(
        common::parser_of(Provider::Gemini, tokenline_llm::TextAs::Records),
        b"\n[\n\n{\n\n[\n\n\n",
    );
    assert_eq!(seen.report.diagnostics()[0].line, 4);
}
