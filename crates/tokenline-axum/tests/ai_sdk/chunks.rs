//! Chunks from recorded responses.

use serde_json::Value;
use tokenline::Provider;
use tokenline::llm::TextMode;
use tokenline_axum::ai_sdk::UiChunk;

use crate::{chunks, fixture, fixtures, grammar, lines, parser};

/// The lines of a fixture, which must be the same at every cut.
fn at_every_cut(provider: Provider, text_as: TextMode, name: &str) -> Vec<String> {
    let body = fixture(&format!("{}/{name}", provider.as_str()));
    let whole = lines(&chunks(parser(provider, text_as), [&body[..]], false));
    let step = body.len().div_ceil(400).max(1);
    for at in (0..=body.len()).step_by(step) {
        let (left, right) = body.split_at(at);
        assert_eq!(lines(&chunks(parser(provider, text_as), [left, right], false)), whole, "{name} at {at}");
    }
    assert_eq!(lines(&chunks(parser(provider, text_as), body.chunks(1), false)), whole, "{name}");
    whole
}

fn expect(provider: Provider, text_as: TextMode, name: &str, expected: &str) {
    let seen = at_every_cut(provider, text_as, name);
    let expected: Vec<&str> = expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(seen, expected, "{name}:\n{}", seen.join("\n"));
}

#[test]
fn print_some() {
    for (provider, name) in [
        (Provider::OpenAiChat, "local-tool-calls.sse"),
        (Provider::OpenAiResponses, "local-tool-calls.sse"), (Provider::OpenAiResponses, "parallel-calls-interleaved.sse"), (Provider::OpenAiResponses, "refusal.sse"), (Provider::Gemini, "two-calls-in-turn.sse"), (Provider::Gemini, "thoughts.sse"), (Provider::Gemini, "malformed-function-call.sse"),
        (Provider::Anthropic, "thinking-then-tool.sse"),
        (Provider::Anthropic, "parallel-tools.sse"),
        (Provider::Anthropic, "local-tool-use.sse"),
        (Provider::Anthropic, "error-in-tool.sse"),
        (Provider::Anthropic, "refusal.sse"),
        (Provider::Anthropic, "max-tokens-in-tool-with-stop.sse"),
        (Provider::Anthropic, "silent-close-in-text.sse"),
        (Provider::Cohere, "parallel-tool-calls.sse"),
    ] {
        if fixtures().join(provider.as_str()).join(name).exists() {
            println!("{name}\n{}\n", at_every_cut(provider, TextMode::Text, name).join("\n"));
        } else { println!("no {name}"); }
    }
    println!("{}", at_every_cut(Provider::Anthropic, TextMode::ToolCalls, "call-in-text.sse").join("\n"));
    println!("{}", at_every_cut(Provider::Anthropic, TextMode::Records, "local-definitions.sse").join("\n"));
    expect(Provider::Anthropic, TextMode::Text, "text.sse", "");
}

/// Every fixture of every provider, whole, cut off and with a source that fails, in every mode.
#[test]
fn every_stream_of_chunks_is_well_formed() {
    let mut checked = 0;
    for &provider in Provider::ALL {
        let mut folders = vec![fixtures().join(provider.as_str())];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let name = path.display().to_string();
                let body = std::fs::read(&path).expect("a fixture");
                for text_as in [TextMode::Text, TextMode::ToolCalls, TextMode::Records] {
                    let cuts = if body.len() > 10_000 { 12 } else { 48 };
                    for cut in (0..=body.len()).rev().step_by(body.len().div_ceil(cuts).max(1)) {
                        for has_failed in [false, true] {
                            let seen = chunks(parser(provider, text_as), [&body[..cut]], has_failed);
                            let of = format!("{name} {text_as:?} cut at {cut}, failed: {has_failed}");
                            grammar::check(&unjoined(&seen), &of);
                            checked += 1;
                        }
                    }
                }
            }
        }
    }
    assert!(checked > 10_000, "{checked}");
}

fn unjoined(chunks: &[UiChunk]) -> Vec<Value> {
    let values = chunks.iter().map(|chunk| {
        let value: Value = serde_json::from_str(&chunk.to_json()).expect("JSON");
        // What is written can be read.
        assert_eq!(serde_json::from_value::<UiChunk>(value.clone()).expect("a chunk"), *chunk);
        value
    });
    values.collect()
}
