//! Chunks from recorded responses.

use serde_json::Value;
use tokenline::Provider;
use tokenline::llm::TextMode;
use tokenline_axum::ai_sdk::{ChunkWriter, UiChunk};

use crate::extent::positions;
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
fn calls_begin_grow_and_end_also_interleaved() {
    let expected = r#"
        start
        start-step
        tool-input-start call_Cc3zS9 get_weather
        tool-input-start call_Dd4wT0 get_time
        tool-input-delta call_Cc3zS9 {"ci
        tool-input-delta call_Dd4wT0 {"zo
        tool-input-delta call_Cc3zS9 ty":"Ac
        tool-input-delta call_Dd4wT0 ne":"Africa/Accra"
        tool-input-delta call_Cc3zS9 cra"
        tool-input-delta call_Dd4wT0 }
        tool-input-delta call_Cc3zS9 }
        tool-input-available call_Cc3zS9 get_weather {"city":"Accra"}
        tool-input-available call_Dd4wT0 get_time {"zone":"Africa/Accra"}
        finish-step
        finish tool-calls"#;
    expect(Provider::OpenAiChat, TextMode::Text, "quirks/parallel-calls-interleaved.sse", expected);
    let expected = r#"
        start
        start-step
        tool-input-start call_cV32xj1xQTMOi25CSDCXASxW4el94bEo get_weather
        tool-input-delta call_cV32xj1xQTMOi25CSDCXASxW4el94bEo {"city": "Paris", "unit": "c"}
        tool-input-available call_cV32xj1xQTMOi25CSDCXASxW4el94bEo get_weather {"city":"Paris","unit":"c"}
        tool-input-start call_lhwYOKn2WJbDWfzXqwGmxsTd1gACeldD get_weather
        tool-input-delta call_lhwYOKn2WJbDWfzXqwGmxsTd1gACeldD {"city": "Rome", "unit": "c"}
        tool-input-available call_lhwYOKn2WJbDWfzXqwGmxsTd1gACeldD get_weather {"city":"Rome","unit":"c"}
        finish-step
        finish tool-calls"#;
    expect(Provider::OpenAiResponses, TextMode::Text, "local-tool-calls.sse", expected);
    let expected = r#"
        start
        start-step
        tool-input-start toolu_01Ck4pWnX7vTz9sHbRy2Mf5L get_weather
        tool-input-delta toolu_01Ck4pWnX7vTz9sHbRy2Mf5L {"city": "Lima"}
        tool-input-available toolu_01Ck4pWnX7vTz9sHbRy2Mf5L get_weather {"city":"Lima"}
        tool-input-start toolu_01Dm6rYqB3wVx8tJcSz4Ng7P get_time
        tool-input-delta toolu_01Dm6rYqB3wVx8tJcSz4Ng7P {"zone": "America/Lima"}
        tool-input-available toolu_01Dm6rYqB3wVx8tJcSz4Ng7P get_time {"zone":"America/Lima"}
        finish-step
        finish tool-calls"#;
    expect(Provider::Anthropic, TextMode::Text, "parallel-tools.sse", expected);
    // The provider gives no ids.
    let expected = r#"
        start
        start-step
        tool-input-start synthetic_1 get_weather
        tool-input-delta synthetic_1 {"city":"Accra"}
        tool-input-available synthetic_1 get_weather {"city":"Accra"}
        tool-input-start synthetic_2 get_weather
        tool-input-delta synthetic_2 {"city":"Accra"}
        tool-input-available synthetic_2 get_weather {"city":"Accra"}
        finish-step
        finish stop"#;
    expect(Provider::Gemini, TextMode::Text, "two-calls-in-turn.sse", expected);
}

#[test]
fn reasoning_and_text_are_parts_in_order() {
    let expected = r#"
        start
        start-step
        reasoning-start reasoning-1
        reasoning-delta reasoning-1 I should search.
        reasoning-end reasoning-1
        tool-input-start toolu_01Ku2zFyK7eDh4bSjAg8Wp3Y search
        tool-input-delta toolu_01Ku2zFyK7eDh4bSjAg8Wp3Y {"query": "abyss"}
        tool-input-available toolu_01Ku2zFyK7eDh4bSjAg8Wp3Y search {"query":"abyss"}
        finish-step
        finish tool-calls"#;
    expect(Provider::Anthropic, TextMode::Text, "thinking-then-tool.sse", expected);
    let expected = r#"
        start
        start-step
        reasoning-start reasoning-1
        reasoning-delta reasoning-1 **Counting the letters**⏎⏎I see {"a":0}, or so.⏎
        reasoning-end reasoning-1
        text-start text-2
        text-delta text-2 {"a":3}⏎
        text-end text-2
        finish-step
        finish stop"#;
    expect(Provider::Gemini, TextMode::Text, "thoughts.sse", expected);
    let expected = r#"
        start
        start-step
        text-start text-1
        text-delta text-1 I'll look that up.
        text-end text-1
        tool-input-start tooluse_a weather
        tool-input-delta tooluse_a {"city": "Lima"}
        tool-input-available tooluse_a weather {"city":"Lima"}
        tool-input-start tooluse_b time
        tool-input-delta tooluse_b {"zone": "America/Lima"}
        tool-input-available tooluse_b time {"zone":"America/Lima"}
        finish-step
        finish tool-calls"#;
    expect(Provider::Bedrock, TextMode::Text, "text-then-tool-uses.messages", expected);
    // A choice other than the first is not for the page.
    let expected = r#"
        start
        start-step
        text-start text-1
        text-delta text-1 {"a":1}⏎
        text-end text-1
        finish-step
        finish length"#;
    expect(Provider::OpenAiChat, TextMode::Text, "quirks/two-choices.sse", expected);
}

#[test]
fn refusals_are_text() {
    let expected = "
        start
        start-step
        text-start text-1
        text-delta text-1 I'm sorry, I can't help with that.
        text-end text-1
        finish-step
        finish stop";
    expect(Provider::OpenAiResponses, TextMode::Text, "refusal.sse", expected);
}

#[test]
fn failures_close_what_is_open_before_the_error() {
    let expected = r#"
        start
        start-step
        tool-input-start toolu_01Zj8sWqA5wVb2tHbRy6Ne9Q search
        tool-input-delta toolu_01Zj8sWqA5wVb2tHbRy6Ne9Q {"query": "fjord"}
        tool-input-error toolu_01Zj8sWqA5wVb2tHbRy6Ne9Q search {"query":"fjord"} not run: the arguments are balanced, but the response ended without evidence that they are complete
        error 13:1 of the wire: provider_error: Internal server error
        finish-step
        finish error"#;
    expect(Provider::Anthropic, TextMode::Text, "error-in-tool.sse", expected);
    let expected = r#"
        start
        start-step
        text-start text-1
        text-delta text-1 {"a":1}⏎{"a":2
        text-end text-1
        error 10:1 of the wire: stream_incomplete: the stream ended without `message_stop`
        finish-step
        finish error"#;
    expect(Provider::Anthropic, TextMode::Text, "silent-close-in-text.sse", expected);
    // The token limit is not an error. The call is rejected; its input is what arrived, as a string.
    let expected = r#"
        start
        start-step
        tool-input-start toolu_01Js8yExJ5dCg2aRhZf6Vn9X write_file
        tool-input-delta toolu_01Js8yExJ5dCg2aRhZf6Vn9X {"path": "a.txt", "text": "Once upon
        tool-input-error toolu_01Js8yExJ5dCg2aRhZf6Vn9X write_file {"path": "a.txt", "text": "Once upon not run: expected the rest of the string, found the end of the input⏎⏎Received:⏎{"path": "a.txt", "text": "Once upon
        finish-step
        finish length"#;
    expect(Provider::Anthropic, TextMode::Text, "max-tokens-in-tool-with-stop.sse", expected);
    let expected = "
        start
        start-step
        error 1:1 of the wire: malformed_json: the model wrote a tool call that the provider could not parse, so none of it was sent
        finish-step
        finish error";
    expect(Provider::Gemini, TextMode::Text, "malformed-function-call.sse", expected);
}

#[test]
fn errors_are_masked_by_default() {
    let mut parser = parser(Provider::Anthropic, TextMode::Text);
    let mut writer = ChunkWriter::new();
    parser.push(fixture("anthropic/error-overloaded.sse"));
    parser.finish();
    while let Some(event) = parser.next_event() {
        writer.push(&event);
    }
    writer.finish();
    writer.finish();
    let chunks: Vec<UiChunk> = std::iter::from_fn(|| writer.next_chunk()).collect();
    assert!(lines(&chunks).contains(&"error An error occurred.".to_owned()), "{chunks:?}");
}

#[test]
fn calls_and_records_in_the_text_are_chunks() {
    let expected = r#"
        start
        start-step
        text-start text-1
        text-delta text-1 Let me see.⏎
        text-end text-1
        tool-input-start call_1 search
        tool-input-delta call_1 {"query":"fjord"}
        tool-input-available call_1 search {"query":"fjord"}
        finish-step
        finish stop"#;
    expect(Provider::Anthropic, TextMode::ToolCalls, "call-in-text.sse", expected);
    let expected = r#"
        start
        start-step
        data-record {"entity":"Planet","definition":"A planet in the solar system."}
        data-record {"entity":"River","definition":"A river in the ocean."}
        data-record {"entity":"Desert","definition":"A desert in the desert."}
        data-record {"entity":"Glacier","definition":"A glacier in the ocean."}
        finish-step
        finish stop"#;
    expect(Provider::Anthropic, TextMode::Records, "local-definitions.sse", expected);
}

/// A handler may give up anywhere: the parser does not get to say what is incomplete.
#[test]
fn a_writer_that_stops_early_closes_what_is_open() {
    let body = fixture("anthropic/tool-use.sse");
    let mut ends = std::collections::BTreeSet::new();
    for cut in 0..=body.len() {
        let mut parser = parser(Provider::Anthropic, TextMode::Text);
        let mut writer = ChunkWriter::new();
        parser.push(&body[..cut]);
        while let Some(event) = parser.next_event() {
            writer.push(&event);
        }
        writer.finish();
        let chunks: Vec<UiChunk> = std::iter::from_fn(|| writer.next_chunk()).collect();
        grammar::check(&unjoined(&chunks), &format!("stopped at {cut}"));
        ends.extend(lines(&chunks).iter().rev().nth(2).map(|line| line[..14].to_owned()));
    }
    assert!(ends.contains("tool-input-err") && ends.contains("tool-input-ava"), "{ends:?}");
}

#[test]
fn white_space_alone_is_no_part() {
    let delta = |delta: Value| format!("data: {}\n\n", serde_json::json!({"choices": [{"delta": delta}]}));
    let text = |text: &str| delta(serde_json::json!({"content": text}));
    let call = serde_json::json!([{"id": "c", "function": {"name": "now", "arguments": "{}"}}]);
    let body = [text("\n"), text(" "), delta(serde_json::json!({"tool_calls": call}))].concat();
    let seen = lines(&chunks(parser(Provider::OpenAiChat, TextMode::Text), [body.as_bytes()], false));
    assert!(!seen.iter().any(|line| line.starts_with("text-")), "{seen:?}");
    let body = [text("\n"), text("\n"), text("Hi"), text(" ")].concat();
    let seen = lines(&chunks(parser(Provider::OpenAiChat, TextMode::Text), [body.as_bytes()], false));
    assert_eq!(seen[2..5], ["text-start text-1", "text-delta text-1 ⏎⏎Hi ", "text-end text-1"]);
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
                let name = path.to_str().expect("UTF-8").to_owned();
                let body = fixture(&name);
                for text_as in [TextMode::Text, TextMode::ToolCalls, TextMode::Records] {
                    let cuts = if body.len() > 10_000 { 3 } else { 10 };
                    for cut in positions(body.len(), cuts) {
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
    assert!(checked > 2_000, "{checked}");
}

fn unjoined(chunks: &[UiChunk]) -> Vec<Value> {
    chunks.iter().map(|chunk| serde_json::from_str(&chunk.to_json()).expect("JSON")).collect()
}
