//! Every fixture at every cut, against what was read off it by hand.

mod common;

use std::collections::BTreeSet;
use std::path::Path;

use common::fixtures::delivered;
use common::{at_every_cut, decode, fixture, parser};
use tokenline_core::Completion;
use tokenline_llm::{AnswerEvent, TextAs};

/// Name, what its text is read as, what it comes to.
type Expected = (&'static str, TextAs, &'static [&'static str]);

const CALLS: &[Expected] = &[
    (
        "tool-call-fragments",
        TextAs::Records,
        &[
            r#"call finish_reason get_weather {"city":"Zürich","unit":"c"} call_9pRkTfvQ0Zc3mXaB7LdWuEy1"#,
            "finish tool_calls",
            "usage 83 17 100",
        ],
    ),
    (
        "tool-call-header-in-first-chunk",
        TextAs::Records,
        &[
            r#"call finish_reason get_weather {"city":"Oslo"} call_Yw2mGh8sKq4DnVtA6bJxCeR0"#,
            "finish tool_calls",
        ],
    ),
    (
        "parallel-calls-in-turn",
        TextAs::Records,
        &[
            r#"call finish_reason get_weather {"city":"Lima"} call_Aa1xQ7"#,
            r#"call finish_reason get_time {"zone":"America/Lima"} call_Bb2yR8"#,
            "finish tool_calls",
        ],
    ),
    (
        "parallel-calls-interleaved",
        TextAs::Records,
        &[
            r#"call finish_reason get_weather {"city":"Accra"} call_Cc3zS9"#,
            r#"call finish_reason get_time {"zone":"Africa/Accra"} call_Dd4wT0"#,
            "finish tool_calls",
        ],
    ),
    (
        "text-then-call",
        TextAs::Records,
        &[
            "note prose",
            r#"call finish_reason search {"query":"fjord"} call_Ee5vU1"#,
            "finish tool_calls",
            "text Let me look that up.",
        ],
    ),
    (
        "call-without-arguments-empty-object",
        TextAs::Records,
        &["call finish_reason list_files {} call_Ff6uV2", "finish tool_calls"],
    ),
    (
        "call-without-arguments-empty-text",
        TextAs::Records,
        &["call finish_reason list_files {} call_Gg7tW3", "finish tool_calls"],
    ),
    (
        "arguments-go-on-after-the-root",
        TextAs::Records,
        &[
            "rejected trailing_data: call 1 (`search`): the arguments are balanced, but go on with `,`",
            "finish tool_calls",
        ],
    ),
    (
        "length-cuts-arguments",
        TextAs::Records,
        &[
            "rejected unsealed: call 1 (`get_weather`): the arguments are balanced, but the answer ended without proof that they are whole",
            "rejected truncated: call 2 (`write_file`): expected the rest of the string, found the end of the input",
            "finish length",
            "usage 90 40 130",
        ],
    ),
    (
        "mistral-whole-call",
        TextAs::Records,
        &[
            r#"call finish_reason get_weather {"city": "Lyon"} gSIMJiOkT"#,
            "finish tool_calls",
            "usage 124 22 146",
        ],
    ),
    (
        "mistral-whole-parallel-calls-without-index",
        TextAs::Records,
        &[
            r#"call next_item get_weather {"city": "Nice"} pQ2aB7xKd"#,
            r#"call finish_reason get_weather {"city": "Lille"} rT9cV4mLz"#,
            "finish tool_calls",
            "usage 124 22 146",
        ],
    ),
    (
        "mistral-repeats-empty-name",
        TextAs::Records,
        &[
            r#"call finish_reason search {"query": "cathedral height"} chatcmpl-tool-9f149c74"#,
            "finish tool_calls",
            "usage 124 22 146",
        ],
    ),
    (
        "groq-whole-call",
        TextAs::Records,
        &[
            r#"call finish_reason get_weather {"city":"Bergen"} tk85n1k4m"#,
            "finish tool_calls",
            "usage 210 14 224",
        ],
    ),
    (
        "alibaba-continues-with-empty-id",
        TextAs::Records,
        &[
            r#"call finish_reason search {"query": "West Lake"} call_4b1c0e6ea9a24b9c8f"#,
            "finish tool_calls",
            "usage 190 19 209",
        ],
    ),
    (
        "llama-cpp-brace-in-header",
        TextAs::Records,
        &[r#"call finish_reason search {"query":"peat"} Zy3LkVqT8sWn0RbJ"#, "finish tool_calls"],
    ),
    (
        "vllm-function-null",
        TextAs::Records,
        &[r#"call finish_reason search {"query": "wool felt"} chatcmpl-tool-6b2f"#, "finish tool_calls"],
    ),
    (
        "gemini-parallel-calls-share-index",
        TextAs::Records,
        &[
            r#"call next_item get_weather {"city":"Rome"} function-call-1124"#,
            r#"call finish_reason get_weather {"city":"Bari"} function-call-9073"#,
            "finish tool_calls",
            "usage 71 32 103",
        ],
    ),
    (
        "gemini-parallel-calls-share-index-without-id",
        TextAs::Records,
        &[
            r#"call next_item get_weather {"city":"Turin"} minted minted_1"#,
            r#"call finish_reason get_weather {"city":"Genoa"} minted minted_2"#,
            "finish tool_calls",
        ],
    ),
    (
        "openrouter-cut-arguments-called-tool-calls",
        TextAs::Records,
        &[
            "rejected truncated: call 1 (`write_file`): expected the rest of the string, found the end of the input",
            "finish length",
            "usage 41 12 53",
        ],
    ),
    (
        "deepseek-reasoning-then-call",
        TextAs::Records,
        &[
            r#"call finish_reason search {"query": "abyss"} call_00_ioIb4rTV"#,
            "finish tool_calls",
            "usage 339 48 387",
            "reasoning I should search.",
        ],
    ),
];

const TEXTS: &[Expected] = &[
    (
        "usage-chunk",
        TextAs::Records,
        &[r#"newline {"a":1}"#, "finish stop", "usage 12 5 17", r#"text {"a":1}⏎"#],
    ),
    (
        "length-cuts-text",
        TextAs::ToolCalls,
        &[
            r#"textual call newline search {"query":"a"}"#,
            "rejected truncated: expected the rest of the string, found the end of the input",
            "finish length",
            r#"text {"name":"search","parameters":{"query":"a"}}⏎{"name":"search","parameters":{"query":"b"#,
        ],
    ),
    ("refusal", TextAs::Records, &["finish stop", "refusal I'm sorry, I can't help with that."]),
    (
        "two-choices",
        TextAs::Records,
        &[
            r#"1: newline {"b":2}"#,
            r#"newline {"a":1}"#,
            "1: finish stop",
            "rejected truncated: the answer was cut by its token limit",
            "finish length",
            r#"text {"a":1}⏎"#,
            r#"1: text {"b":2}⏎"#,
        ],
    ),
    (
        "deepseek-reasoning-content",
        TextAs::Records,
        &[
            r#"newline {"a":1}"#,
            "finish stop",
            "usage 19 30 49",
            r#"reasoning The user wants {"a":0}, or so."#,
            r#"text {"a":1}⏎"#,
        ],
    ),
    (
        "openrouter-reasoning",
        TextAs::Records,
        &[
            r#"newline {"a":1}"#,
            "finish stop",
            "usage 41 12 53",
            "reasoning Think first.",
            r#"text {"a":1}⏎"#,
        ],
    ),
    (
        "mistral-content-parts",
        TextAs::Records,
        &[
            r#"newline {"a":1}"#,
            r#"newline {"a":2}"#,
            "finish stop",
            "usage 124 22 146",
            r#"reasoning One object {"a":0} will do."#,
            r#"text {"a":1}⏎{"a":2}⏎"#,
        ],
    ),
    (
        "azure-opens-without-choices",
        TextAs::Records,
        &[r#"newline {"a":1}"#, "finish stop", r#"text {"a":1}⏎"#],
    ),
    (
        "azure-content-filter",
        TextAs::Records,
        &[
            r#"newline {"a":1}"#,
            "rejected truncated: expected a value, found the end of the input",
            "finish content_filter",
            r#"text {"a":1}⏎{"a":"#,
        ],
    ),
    ("vllm-empty-tool-calls", TextAs::Records, &[r#"newline {"a":1}"#, "finish stop", r#"text {"a":1}⏎"#]),
    ("venice-null-tool-calls", TextAs::Records, &[r#"newline {"a":1}"#, "finish stop", r#"text {"a":1}⏎"#]),
    (
        "empty-finish-reason",
        TextAs::Records,
        &[r#"newline {"a":1}"#, r#"finish_reason {"a":2}"#, "finish stop", r#"text {"a":1}⏎{"a":2}"#],
    ),
];

const ENDS: &[Expected] = &[
    (
        "openrouter-keep-alive-comments",
        TextAs::Records,
        &[r#"newline {"a":1}"#, r#"newline {"a":2}"#, "finish stop", r#"text {"a":1}⏎{"a":2}⏎"#],
    ),
    ("no-space-after-colon", TextAs::Records, &[r#"newline {"a":1}"#, "finish stop", r#"text {"a":1}⏎"#]),
    (
        "openrouter-two-terminal-chunks",
        TextAs::Records,
        &[r#"newline {"a":1}"#, "finish stop", "usage 41 12 53", r#"text {"a":1}⏎"#],
    ),
    (
        "finish-reason-without-done",
        TextAs::Records,
        &[r#"newline {"a":1}"#, r#"finish_reason {"a":2}"#, "finish stop", r#"text {"a":1}⏎{"a":2}"#],
    ),
    (
        "done-without-finish-reason",
        TextAs::Records,
        &[r#"newline {"a":1}"#, r#"terminator {"a":2}"#, r#"text {"a":1}⏎{"a":2}"#],
    ),
    (
        "silent-close-in-text",
        TextAs::Records,
        &[
            r#"newline {"a":1}"#,
            "rejected truncated: expected `,` or `}`, found the end of the input",
            INCOMPLETE,
            r#"text {"a":1}⏎{"a":2"#,
        ],
    ),
    (
        "silent-close-in-arguments",
        TextAs::Records,
        &[
            "rejected truncated: call 1 (`search`): expected the rest of the string, found the end of the input",
            INCOMPLETE,
        ],
    ),
    (
        "silent-close-after-whole-arguments",
        TextAs::Records,
        &[
            "rejected unsealed: call 1 (`search`): the arguments are balanced, but the answer ended without proof that they are whole",
            INCOMPLETE,
        ],
    ),
    (
        "error-object",
        TextAs::Records,
        &[
            r#"newline {"a":1}"#,
            "rejected truncated: expected a value, found the end of the input",
            "rejected provider_error: The server had an error while processing your request. Sorry about that!",
            r#"text {"a":1}⏎{"a":"#,
        ],
    ),
    (
        "vllm-error-object",
        TextAs::Records,
        &[
            r#"newline {"a":1}"#,
            "rejected provider_error: EngineCore encountered an issue. See stack trace (above) for the root cause.",
            r#"text {"a":1}⏎"#,
        ],
    ),
    (
        "openrouter-error-beside-choices",
        TextAs::Records,
        &[
            r#"newline {"a":1}"#,
            "finish error",
            "rejected provider_error: Upstream error from Anthropic: overloaded",
            r#"text {"a":1}⏎"#,
        ],
    ),
    ("error-null-is-none", TextAs::Records, &[r#"newline {"a":1}"#, "finish stop", r#"text {"a":1}⏎"#]),
];

const INCOMPLETE: &str = "rejected stream_incomplete: the stream ended without a finish reason or `[DONE]`";

/// Those whose source is not complete.
const NOT_COMPLETE: [&str; 6] = [
    "silent-close-in-text",
    "silent-close-in-arguments",
    "silent-close-after-whole-arguments",
    "error-object",
    "vllm-error-object",
    "openrouter-error-beside-choices",
];

fn check((name, text_as, expected): Expected) {
    let wire = fixture(&format!("openai-chat/quirks/{name}.sse"));
    let seen = at_every_cut(parser(text_as), &wire);
    // The text beside records, and then all of it.
    let is_text = |line: &String| line.contains("text ") && !line.contains("rejected");
    let mut lines = seen.summary();
    lines.retain(|line| !is_text(line));
    let whole = decode(&mut parser(TextAs::Text), [&wire[..]]).summary();
    let reasoning = lines.iter().position(|line| line.starts_with("reasoning ")).unwrap_or(lines.len());
    lines.splice(reasoning..reasoning, whole.into_iter().filter(is_text));
    lines.sort_by_key(|line| (line.starts_with("reasoning "), is_text(line)));
    let mut expected = expected.to_vec();
    expected.sort_by_key(|line| (line.starts_with("reasoning "), is_text(&(*line).to_owned())));
    assert_eq!(lines, expected, "{name}");
    assert_eq!(seen.is_complete, !NOT_COMPLETE.contains(&name), "{name}");
    assert_eq!(seen.unknown, "", "{name}");
}

#[test]
fn native_tool_calls() {
    CALLS.iter().copied().for_each(check);
}

#[test]
fn text_reasoning_and_refusals() {
    TEXTS.iter().copied().for_each(check);
}

#[test]
fn framing_ends_and_errors() {
    ENDS.iter().copied().for_each(check);
}

#[test]
fn no_fixture_is_left_out() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/openai-chat/quirks");
    let files: BTreeSet<String> = std::fs::read_dir(folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("an entry").path())
        .map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned())
        .collect();
    let checked = [CALLS, TEXTS, ENDS].concat().iter().map(|(name, ..)| (*name).to_owned()).collect();
    assert_eq!(files, checked);
}

#[test]
fn an_answer_that_breaks_off_anywhere_delivers_nothing_else() {
    for (name, text_as, _) in [CALLS, TEXTS, ENDS].concat() {
        let wire = fixture(&format!("openai-chat/quirks/{name}.sse"));
        let mut parser = parser(text_as);
        let whole = delivered(&decode(&mut parser, [&wire[..]]));
        for end in 0..wire.len() {
            let seen = decode(&mut parser, [&wire[..end]]);
            let cut = delivered(&seen);
            assert_eq!(cut, whole[..cut.len()], "{name} up to {end}");
            let is_open = |event: &AnswerEvent<_>| {
                matches!(event, AnswerEvent::ToolCall { record: None, call, .. }
                if call.completion != Completion::NextItem)
            };
            assert!(seen.is_complete || !seen.events.iter().any(is_open), "{name} up to {end}");
        }
    }
}

/// The lines that are neither text nor usage.
fn recorded(name: &str, text_as: TextAs) -> Vec<String> {
    let seen = at_every_cut(parser(text_as), &fixture(&format!("openai-chat/{name}")));
    assert!(seen.is_complete);
    assert_eq!(seen.unknown, "");
    let mut lines = seen.summary();
    lines.retain(|line| !line.starts_with("text ") && !line.starts_with("usage "));
    lines
}

#[test]
fn recorded_definitions() {
    let definition = |entity: &str, definition: &str| {
        format!(r#"newline {{"type": "definition", "entity": "{entity}", "definition": "{definition}"}}"#)
    };
    assert_eq!(
        recorded("definitions.sse", TextAs::Records),
        [
            definition(
                "photosynthesis",
                "The process where an enzyme catalyzes reactions by breaking down organic molecules into simpler forms."
            ),
            definition("chlorophyll", "A protein that is a precursor to the growth of cells."),
            definition(
                "mitochondria",
                "The organelle in which mitochondria are found and where energy-producing reactions take place."
            ),
            definition("DNA", "A long, circular molecule that carries genetic information."),
            definition(
                "RNA",
                "An RNA molecule that is used as a messenger in cells and serves to store or transfer genetic information."
            ),
            definition("ribosome", "The organelle that contains the ribosome."),
            definition(
                "cell membrane",
                "A semipermeable layer of a cell's outer covering, which allows water and other molecules to pass through."
            ),
            definition("café au lait", "The name for the French word 'au lait', meaning milk."),
            "finish stop".to_owned(),
        ]
    );
}

#[test]
fn recorded_records_in_a_fence() {
    let lines = recorded("fenced-mixed.sse", TextAs::Records);
    assert_eq!(lines.len(), 9);
    for (line, start) in lines.iter().zip([
        r#"newline {"type": "definition", "entity": "DNA", "#,
        r#"newline {"type": "relationship", "subject": "DNA", "predicate": "located_in", "object": "cell nucleus", "object-entity": true}"#,
        r#"newline {"type": "definition", "entity": "RNA", "#,
        r#"newline {"type": "relationship", "subject": "RNA", "predicate": "transcribed_from", "object": "DNA", "object-entity": true}"#,
        r#"newline {"type": "definition", "entity": "chlorophyll", "#,
        r#"newline {"type": "relationship", "subject": "chlorophyll", "predicate": "absorbs", "object": "sunlight", "object-entity": true}"#,
        r#"newline {"type": "definition", "entity": "mitochondria", "#,
        r#"newline {"type": "relationship", "subject": "mitochondria", "predicate": "produce", "object": "ATP", "object-entity": true}"#,
        "finish stop",
    ]) {
        assert!(line.starts_with(start), "{line}");
    }
}

#[test]
fn recorded_tool_calls_in_text() {
    assert_eq!(
        recorded("tool-calls-in-text.sse", TextAs::ToolCalls),
        [
            r#"textual call newline search {"query": "photosynthesis function", "limit": 1} call_1"#,
            r#"textual call newline search {"query": "chlorophyll pigment synthase function", "limit": 3} call_2"#,
            r#"textual call newline search {"query": "mitochondria ATP synthetase function", "limit": 1} call_3"#,
            r#"textual call newline search {"query": "cell nucleus function", "limit": 2} call_4"#,
            "finish stop",
        ]
    );
}

#[test]
fn recorded_text_cut_by_the_token_limit() {
    assert_eq!(
        recorded("truncated.sse", TextAs::Records),
        [
            r#"newline {"entity": "Café au Lait", "definition": "Coffee, Milk, & Other Beverages"}"#,
            r#"newline {"entity": "Cafe au Lait", "definition": "Milk and other beverages"}"#,
            r#"newline {"entity": "Caramel Chocolate Cake", "definition": "Chocolate cake"}"#,
            r#"newline {"entity": "Cake with caramel sauce", "definition": "Cauliflower cakes"}"#,
            "rejected truncated: expected the rest of the string, found the end of the input",
            "finish length",
        ]
    );
}
