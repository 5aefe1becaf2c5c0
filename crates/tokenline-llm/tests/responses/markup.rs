//! Text around calls in tags, in arrays, and on several lines: it contains no part of a call.

use tokenline_core::Options;
use tokenline_core::json::Raw;
use tokenline_llm::{Provider, ResponseEvent, ResponseParser, TextMode};

use crate::common::random;

fn events(content: &str, size: usize) -> (String, Vec<String>) {
    let text = serde_json::Value::from(content);
    let body = format!(
        "{{\"message\":{{\"role\":\"assistant\",\"content\":{text}}},\"done\":false}}\n{{\"message\":{{\"content\":\"\"}},\"done\":true,\"done_reason\":\"stop\"}}\n"
    );
    let mut parser = ResponseParser::<Raw>::new(Provider::Ollama, Options::lenient())
        .with_options(|options| options.text_as(TextMode::ToolCalls).text_and_reasoning());
    let (mut shown, mut calls) = (String::new(), Vec::new());
    let mut take = |parser: &mut ResponseParser<Raw>| {
        while let Some(event) = parser.next_event() {
            match event {
                ResponseEvent::Text { text, .. } => shown += &text,
                ResponseEvent::ToolCall { call, .. } => {
                    calls.push(format!("{} {}", call.name, call.parameters));
                }
                ResponseEvent::RejectedCall { call, .. } => {
                    calls.push(format!("rejected {}", call.diagnostic.code));
                }
                _ => {}
            }
        }
    };
    for piece in body.as_bytes().chunks(size) {
        parser.push(piece);
        take(&mut parser);
    }
    parser.finish();
    take(&mut parser);
    (shown, calls)
}

#[test]
fn calls_do_not_show_in_the_text() {
    let paris = "weather {\"city\":\"Paris\"}";
    let json = "{\"name\":\"weather\",\"arguments\":{\"city\":\"Paris\"}}";
    for (content, shown, calls) in [
        (format!("I look.\n<tool_call>\n{json}\n</tool_call>\n"), "I look.\n", vec![paris]),
        (format!("<tool_call>{json}</tool_call> So."), " So.", vec![paris]),
        ("I look. [weather(city='Paris')]\nDone.".to_owned(), "I look.\nDone.", vec![paris]),
        (format!("[{json},\n {json}]\nDone."), "Done.", vec![paris, paris]),
        (format!("Two:\n[\n  {json},\n  {json}\n]\nDone."), "Two:\nDone.", vec![paris, paris]),
        (
            "So:\n{\n  \"name\": \"weather\",\n  \"arguments\": {\"city\":\"Paris\"}\n}\nDone.".to_owned(),
            "So:\nDone.",
            vec![paris],
        ),
        (
            "<function=weather>\n<parameter=city>\nParis\n</parameter>\n</function>\n".to_owned(),
            "",
            vec![paris],
        ),
        ("See [the docs](x) or <b>this</b>.\n".to_owned(), "See [the docs](x) or <b>this</b>.\n", vec![]),
    ] {
        for size in [1, 7, 4096] {
            let (seen, found) = events(&content, size);
            assert_eq!(found, calls, "{content}");
            assert_eq!(seen.trim_start_matches('\n'), shown, "{content} in pieces of {size}");
        }
    }
}

#[test]
fn a_malformed_call_on_several_lines_is_rejected_in_order() {
    for (content, shown, calls) in [
        (
            "<tool_call>\n{\"name\":\"w\",\n \"arguments\":{\"a\":1,}\n}\n</tool_call>\nSo.",
            "So.",
            &["rejected malformed_json"][..],
        ),
        ("[{\"name\"\n", "", &["rejected truncated"]),
        (
            "Hello\n{\"name\":\"w\",\n \"arguments\":{\"a\":1,}\n}\nBye\n",
            "Hello\nBye",
            &["rejected malformed_json"],
        ),
        ("{\n \"name\":\"w\",\n \"arguments\":{\"a\":\"x\n", "", &["rejected malformed_json"]),
    ] {
        for size in [1, 7, 4096] {
            let (seen, found) = events(content, size);
            assert_eq!(found, calls, "{content} in pieces of {size}");
            assert_eq!(seen.trim_matches('\n'), shown, "{content} in pieces of {size}");
        }
    }
}

/// Random combinations of typical model output.
#[test]
fn random_output_does_not_depend_on_the_chunks() {
    const PARTS: &[&str] = &[
        "<tool_call>",
        "</tool_call>",
        "\n",
        "\n ",
        "{\"name\"",
        ":\"w\",",
        "\"arguments\":{",
        "\"a\":1",
        ",",
        "}",
        "[",
        "]",
        "Text",
        "```json",
        "```",
        "<think>",
        "</think>",
        "{\"x\":",
        "[TOOL_CALLS]",
        "[w(a=1)]",
        "<function=w>",
        "</function>",
        "{\"name\":\"w\",\"arguments\":{}}",
        "é",
    ];
    let mut random = random();
    for _ in 0..3_000 {
        let content: String = (0..random(14)).map(|_| PARTS[random(PARTS.len())]).collect();
        let whole = events(&content, 4096);
        for size in [1, 5] {
            assert_eq!(events(&content, size), whole, "{content} in pieces of {size}");
        }
    }
}
