//! The deltas of streams recorded from Bedrock, Cohere and Gemini Interactions, at every cut, against results read off by
//! hand.
//!
//! They are in the subfolder `more` of `TOKENLINE_RECORDINGS`.

use std::path::PathBuf;

use crate::common::deltas::{at_every_cut, of_messages, of_sse};
use crate::common::event_stream::event;
use tokenline_llm::Provider;

fn folder() -> PathBuf {
    crate::recorded::folder().join("more")
}

/// Name and expected events.
const EXPECTED: &[(&str, &[&str])] = &[
    (
        "bedrock.json-tool.2",
        &[
            "text 0: Let me generate that JSON for you.",
            "call 1: json json-tool-id",
            r#"arguments 1: {"value":"test"}"#,
            "stop 1 item_stop",
            "finish tool_calls",
        ],
    ),
    (
        "bedrock.json-with-tool.1",
        &[
            "text 0: Calling a tool first.",
            "call 1: get-weather tool-1",
            r#"arguments 1: {"location":"SF"}"#,
            "stop 1 item_stop",
            "text 2: Now JSON.",
            "call 3: json json-tool-id",
            r#"arguments 3: {"result":"data"}"#,
            "stop 3 item_stop",
            "finish tool_calls",
        ],
    ),
    (
        "bedrock.reasoning",
        &[
            "start",
            r#"reasoning: Let me count the r's in "strawberry":⏎⏎s-t-r-a-w-b-e-r-r-y⏎⏎r appears at positions 3, 8, and 9.⏎⏎So there are 3 r's."#,
            r#"text 1: There are **3** r's in "strawberry":⏎⏎1. st**r**awbe**r****r**y"#,
            "stop 1 item_stop",
            "finish stop",
            "usage 51 94 145",
            "Terminator",
        ],
    ),
    (
        "bedrock.text",
        &[
            "start",
            r#"text 0: Let me count the "r"s in "strawberry":⏎⏎s-t-**r**-a-w-b-e-**r**-**r**-y⏎⏎There are **3** r's in "strawberry.""#,
            "stop 0 item_stop",
            "finish stop",
            "usage 22 55 77",
            "Terminator",
        ],
    ),
    // Its metadata come before the stop.
    (
        "bedrock.tool-no-args",
        &[
            "text 0: I'll update the issue list for you.",
            "stop 0 item_stop",
            "call 1: updateIssueList tool-use-id",
            "stop 1 item_stop",
            "usage 100 25 125",
            "finish tool_calls",
            "Terminator",
        ],
    ),
    (
        "cohere.text",
        &[
            "start",
            "text 0: The capital of France is Paris.",
            "usage 507 10 517",
            "stop 0 item_stop",
            "finish stop",
            "Terminator",
        ],
    ),
    (
        "cohere.tool-call",
        &[
            "start",
            "reasoning: I will use the weather tool to find the weather in San Francisco and the cityAttractions tool to find attractions in San Francisco.",
            "call 1: weather weather_e8p4pn45zt0t",
            r#"arguments 1: {"location": "San Francisco"}"#,
            "stop 1 item_stop",
            "call 3: cityAttractions cityAttractions_pyxssbwnq9fq",
            r#"arguments 3: {"city": "San Francisco"}"#,
            "stop 3 item_stop",
            "usage 1549 95 1644",
            "finish tool_calls",
            "Terminator",
        ],
    ),
    (
        "gemini-interactions.basic",
        &[
            "start",
            "text 1: I'm doing great, thank you for asking!⏎⏎How are you doing today? And what can I do for you?",
            "usage 7 141 148",
            "stop 1 item_stop",
            "finish stop",
            "Terminator",
        ],
    ),
    (
        "gemini-interactions.multi-turn-stateless-turn1",
        &[
            "start",
            "text 1: The three largest cities in Spain are:⏎⏎1.  **Madrid**⏎2.  **Barcelona**⏎3.  **Valencia**",
            "usage 10 203 213",
            "stop 1 item_stop",
            "finish stop",
            "Terminator",
        ],
    ),
    (
        "gemini-interactions.tool-call-step1",
        &[
            "start",
            "call 1: getWeather 61nzpsv4",
            r#"arguments 1: {"location":"San Francisco"}"#,
            "stop 1 item_stop",
            "usage 53 80 133",
            "finish tool_calls",
            "Terminator",
        ],
    ),
];

/// Server-sent events with these payloads.
fn sse(payloads: &str) -> Vec<u8> {
    payloads.lines().map(|payload| format!("data: {payload}\n\n")).collect::<String>().into_bytes()
}

/// Messages with these payloads: `{"NAME":PAYLOAD}`, with the name in a header on the wire.
fn messages(payloads: &str) -> Vec<u8> {
    let message = |recorded: &str| {
        let (name, payload) = recorded.strip_prefix("{\"")?.strip_suffix('}')?.split_once("\":")?;
        Some(event(name, payload))
    };
    payloads.lines().flat_map(|recorded| message(recorded).expect("a named payload")).collect()
}

fn seen(name: &str, payloads: &str) -> Vec<String> {
    match name.split_once('.').expect("a provider and a name").0 {
        "bedrock" => at_every_cut(&messages(payloads), |pieces| of_messages(Provider::Bedrock, pieces)),
        "cohere" => at_every_cut(&sse(payloads), |pieces| of_sse(Provider::Cohere, pieces)),
        "gemini-interactions" => {
            at_every_cut(&sse(payloads), |pieces| of_sse(Provider::GeminiInteractions, pieces))
        }
        other => panic!("{other}?"),
    }
}

#[test]
#[ignore = "needs the folder of recordings, TOKENLINE_RECORDINGS"]
fn every_recording_yields_its_expected_events() {
    const PROVIDERS: [&str; 3] = ["bedrock.", "cohere.", "gemini-interactions."];
    let mut names: Vec<String> = std::fs::read_dir(folder())
        .expect("the folder is there")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .filter_map(|name| name.strip_suffix(".txt").map(str::to_owned))
        .filter(|name| PROVIDERS.iter().any(|provider| name.starts_with(provider)))
        .collect();
    names.sort();
    let known: Vec<&str> = EXPECTED.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, known);
    for (name, expected) in EXPECTED {
        let payloads = std::fs::read_to_string(folder().join(format!("{name}.txt"))).expect("it can be read");
        let (opaque, seen): (Vec<_>, Vec<_>) =
            seen(name, &payloads).into_iter().partition(|line| line.starts_with("opaque "));
        assert_eq!(seen, *expected, "{name}");
        // Long signatures, which the next request must contain.
        let is_signed =
            name.contains("reasoning") || name.contains("interactions") || name.ends_with("tool-call");
        assert_eq!(!opaque.is_empty(), is_signed, "{name}: {opaque:?}");
    }
}
