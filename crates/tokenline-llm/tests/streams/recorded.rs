//! Streams recorded from the real providers, at every cut, against results read off by hand.
//!
//! The recordings are not part of this repository. `TOKENLINE_RECORDINGS` names their folder: one file per stream,
//! named `<provider>.<what>.txt`, with one event's data per line; and complete bodies in `local`. If you have the
//! folder: `cargo test -p tokenline-llm --test recorded -- --ignored`.

use std::path::{Path, PathBuf};

use crate::common::{Seen, at_every_cut, decode, fixture, parser_of};
use serde_json::Value;
use tokenline_llm::{Provider, ResponseEvent, TextMode};

pub(crate) fn folder() -> PathBuf {
    std::env::var_os("TOKENLINE_RECORDINGS").expect("TOKENLINE_RECORDINGS names the folder").into()
}

pub(crate) fn provider(name: &str) -> Provider {
    let named = |provider: &&Provider| name.starts_with(&format!("{}.", provider.as_str()));
    *Provider::ALL.iter().find(named).unwrap_or_else(|| panic!("{name} is of no provider"))
}

/// The body with these payloads, framed for the provider.
pub(crate) fn body(provider: Provider, payloads: &str) -> Vec<u8> {
    let frame = |payload: &str| {
        // Some of the recorded payloads are not JSON; their events have no name here.
        let payload_type = serde_json::from_str::<Value>(payload)
            .ok()
            .and_then(|payload| Some(payload.get("type")?.as_str()?.to_owned()));
        match (provider, payload_type) {
            (Provider::Anthropic | Provider::OpenAiResponses, Some(name)) => {
                format!("event: {name}\ndata: {payload}\n\n")
            }
            _ => format!("data: {payload}\n\n"),
        }
    };
    payloads.lines().filter(|payload| !payload.trim().is_empty()).map(frame).collect::<String>().into_bytes()
}

/// Name, whether it is complete, and its events when read as plain text.
const EXPECTED: &[(&str, bool, &[&str])] = &[
    (
        "anthropic.json-output-format.1",
        true,
        &[
            "usage 313 1 314",
            "usage 313 305 618",
            "finish stop",
            "text 1267 {\"characters\":[{\"name\":\"Theron Ironheart ... rves to be robbed.\"}]}",
        ],
    ),
    (
        "anthropic.json-tool.1",
        true,
        &[
            "usage 849 10 859",
            r#"call item_stop json {"elements": [{"location": "San Francisco", "temperature": 58, "condition": "sunny"}]} toolu_01KFbKqPYSuAKujiL6mTfzYA"#,
            "usage 849 47 896",
            "finish tool_calls",
        ],
    ),
    (
        "anthropic.refusal",
        true,
        &[
            "usage 18 1 19",
            "usage 18 5 23",
            "note refused",
            "finish content_filter",
            "refusal This request triggered restrictions on violative cyber content and was blocked under Anthropic's Usage Policy.",
        ],
    ),
    (
        "anthropic.text",
        true,
        &[
            "usage 12 1 13",
            "usage 12 30 42",
            "finish stop",
            "text Hello! I'm doing well, thank you for asking. How are you doing today? Is there anything I can help you with?",
        ],
    ),
    (
        "anthropic.tool-no-args",
        true,
        &[
            "usage 565 7 572",
            "usage 565 48 613",
            "call finish_reason updateIssueList {} toolu_01QE1WLsSVp5hy5Q3GmGTmjP",
            "finish tool_calls",
            "text I'll update the issue list for you.",
        ],
    ),
    (
        "gemini.reasoning",
        true,
        &[
            "usage 9 266 275",
            "usage 9 285 294",
            "finish stop",
            "text There are **3** \"r\"s in strawberry.⏎⏎Here is the breakdown: st**r**awbe**rr**y.",
        ],
    ),
    (
        "gemini.stream-tool-call-arguments",
        true,
        &[
            r#"call item_stop getWeather {"location":"Boston"} synthetic synthetic_1"#,
            r#"call item_stop getWeather {"location":"San Francisco"} synthetic synthetic_2"#,
            "usage 26 155 181",
            "finish stop",
        ],
    ),
    (
        "gemini.text",
        true,
        &[
            "usage 9 190 199",
            "usage 9 208 217",
            "finish stop",
            "text There are **3** \"r\"s in strawberry.⏎⏎st**r**awbe**rr**y",
        ],
    ),
    (
        "gemini.tool-call",
        true,
        &[
            r#"call item_stop weather {"location":"San Francisco"} synthetic synthetic_1"#,
            "usage 29 60 89",
            "finish stop",
        ],
    ),
    ("openai-chat.azure-model-router", true, &["finish stop", "usage 15 78 93", "text Capital of Denmark."]),
    (
        "openai-chat.deepseek-tool-call",
        true,
        &[
            r#"call finish_reason weather {"location": "San Francisco"} call_00_ioIn7yN9p1ZOMNpDLwd4MgAF"#,
            "finish tool_calls",
            "usage 339 83 422",
            "reasoning 191 The user is asking for the weather in Sa ... et to \"San Francisco\".",
        ],
    ),
    (
        "openai-chat.groq-tool-call",
        true,
        &["call finish_reason weather {} tk85n1k4m", "finish tool_calls", "usage 210 15 225"],
    ),
    (
        "openai-chat.mistral-incremental-tool-call",
        true,
        &[
            r#"call finish_reason webSearchTool {"query": "current Berlin weather"} chatcmpl-tool-9f149c74c42f265b"#,
            "finish tool_calls",
            "usage 171 14 185",
        ],
    ),
    (
        "openai-chat.mistral-tool-call",
        true,
        &[
            r#"call finish_reason weather {"location": "San Francisco"} gSIMJiOkT"#,
            "finish tool_calls",
            "usage 124 22 146",
        ],
    ),
    (
        "openai-chat.text",
        true,
        &[
            "finish stop",
            "usage 16 300 316",
            "text 1730 **Holiday Name:** Harmony Day⏎⏎**Date:** ... es and mutual respect.",
        ],
    ),
    (
        "openai-responses.github-copilot-id-rotation.1",
        true,
        &[
            "usage 19 105 124",
            "finish stop",
            "reasoning **Counting character occurrences**",
            "text There are **3** letter **“r”**s in **“strawberry.”**⏎⏎Breakdown: **s t r a w b e r r y**  ⏎You can see **r** at positions **3, 8, and 9**.",
        ],
    ),
    (
        "openai-responses.openai-custom-tool.1",
        true,
        &[
            r#"call item_stop write_sql {"input":"SELECT * FROM users WHERE age > 25"} call_custom_sql_001"#,
            "usage 50 20 70",
            "finish tool_calls",
        ],
    ),
    (
        "openai-responses.openai-error.1",
        false,
        &[
            "rejected provider_error: You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.",
        ],
    ),
    (
        "openai-responses.openai-tool-search.1",
        true,
        &[
            r#"call item_stop get_weather {"location":"San Francisco, CA","unit":"fahrenheit"} call_pddfxhfOx4gY56zn4vIIEbFp"#,
            "usage 640 46 686",
            "finish tool_calls",
        ],
    ),
    // Its first and last payload lack a brace: their content is missing, but the call is not.
    (
        "openai-responses.parallel-tool-call-wrapper.1",
        false,
        &[
            "rejected malformed_json: the event is not JSON: expected `,` or `}`, found the end of the input (byte 507 of its data); its part of the response is missing",
            r#"call item_stop parallel {"tool_uses":[{"recipient_name":"functions.weather","parameters":{"location":"San Francisco"}},{"recipient_name":"functions.cityAttractions","parameters":{"city":"Rome"}}]} call_parallel"#,
            "rejected malformed_json: the event is not JSON: expected `,` or `}`, found the end of the input (byte 649 of its data); its part of the response is missing",
            "rejected stream_incomplete: the stream ended without `response.completed`, or another final event",
        ],
    ),
    // Its item is still `in_progress` when done: the end of the response proves the call.
    (
        "openai-responses.programmatic-tool-calling.1",
        true,
        &[
            "usage 631 87 718",
            r#"call finish_reason getInventory {"sku":"sku_123"} call_VgDSZztLociNcutQZWkC2fmL"#,
            "finish tool_calls",
        ],
    ),
];

/// Long texts are shown by length, start and end.
fn shorten(line: String) -> String {
    let Some((kind, text)) = line.split_once(' ').filter(|(kind, _)| matches!(*kind, "text" | "reasoning"))
    else {
        return line;
    };
    let chars: Vec<char> = text.chars().collect();
    if chars.len() < 150 {
        return line;
    }
    let (first, last): (String, String) =
        (chars[..40].iter().collect(), chars[chars.len() - 22..].iter().collect());
    let len = text.len() - 2 * text.matches('⏎').count();
    format!("{kind} {len} {} ... {}", first.trim_end(), last.trim_start())
}

fn seen(provider: Provider, wire: &[u8]) -> Seen {
    at_every_cut(parser_of(provider, TextMode::Text), wire)
}

#[test]
#[ignore = "needs the folder of recordings, TOKENLINE_RECORDINGS"]
fn every_recording_yields_its_expected_events() {
    let folder = folder();
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .filter_map(|name| name.strip_suffix(".txt").map(str::to_owned))
        .collect();
    names.sort();
    let known: Vec<&str> = EXPECTED.iter().map(|(name, ..)| *name).collect();
    assert_eq!(names, known);
    for (name, is_complete, expected) in EXPECTED {
        let payloads = std::fs::read_to_string(folder.join(format!("{name}.txt"))).expect("it can be read");
        let provider = provider(name);
        let seen = seen(provider, &body(provider, &payloads));
        let lines: Vec<String> = seen.summary().into_iter().map(shorten).collect();
        assert_eq!(lines, *expected, "{name}");
        assert_eq!(seen.is_complete, *is_complete, "{name}");
        assert_eq!(seen.unknown, "", "{name}");
    }
}

#[test]
#[ignore = "needs the folder of recordings, TOKENLINE_RECORDINGS"]
fn complete_bodies_yield_their_expected_events() {
    for entry in std::fs::read_dir(folder().join("local")).expect("the folder is there") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("UTF-8").to_owned();
        let Some(name) = name.strip_suffix(".sse") else { continue };
        let wire = std::fs::read(&path).expect("it can be read");
        let provider = provider(name);
        let seen = seen(provider, &wire);
        assert!(seen.is_complete && seen.unknown.is_empty(), "{name}: {}", seen.unknown);
        assert!(seen.events.iter().any(|event| matches!(event, ResponseEvent::Text { .. })), "{name}");
        // Our own, covered in more detail by the fixtures.
        let own = match name.split_once('.').expect("a provider and a name") {
            ("anthropic", what) => format!("anthropic/{what}-recorded.sse"),
            (of, what) => format!("{of}/{what}.sse"),
        };
        assert!(Path::new(&own).extension().is_some() && fixture(&own) == wire, "{own}");
    }
}

#[test]
#[ignore = "needs the folder of recordings, TOKENLINE_RECORDINGS"]
fn a_truncated_recording_yields_nothing_else() {
    let folder = folder();
    for (name, ..) in EXPECTED {
        let payloads = std::fs::read_to_string(folder.join(format!("{name}.txt"))).expect("it can be read");
        let provider = provider(name);
        let wire = body(provider, &payloads);
        let mut parser = parser_of(provider, TextMode::Text);
        let calls = |seen: &Seen| -> Vec<String> {
            let is_call = |event: &&ResponseEvent<_>| matches!(event, ResponseEvent::ToolCall { .. });
            let text = |event: &ResponseEvent<_>| match event {
                ResponseEvent::ToolCall { call, .. } => format!("{} {}", call.name, call.parameters),
                _ => String::new(),
            };
            seen.events.iter().filter(is_call).map(text).collect()
        };
        let whole = calls(&decode(&mut parser, [&wire[..]]));
        for end in (0..wire.len()).step_by(wire.len().div_ceil(400)) {
            let cut = calls(&decode(&mut parser, [&wire[..end]]));
            assert_eq!(cut, whole[..cut.len()], "{name} up to {end}");
        }
    }
}
