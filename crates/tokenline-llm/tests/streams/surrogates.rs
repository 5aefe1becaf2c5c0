//! Texts that a server splits at UTF-16 units are restored.

use std::fmt::Write as _;

use tokenline_llm::{Provider, TextMode};

use crate::common::{decode, parser_of, random};

/// Emoji, characters that resemble halves, and characters that JSON escapes.
const CHARS: &[char] =
    &['a', '"', '\\', '\n', 'é', '😀', '🏳', '\u{200d}', '\u{10f03d}', '\u{10ffff}', '\u{10000}'];

/// The inside of a JSON string; the units of surrogate pairs are always escaped, as JavaScript does for halves.
fn escaped(units: &[u16], random: &mut impl FnMut(usize) -> usize) -> String {
    let mut json = String::new();
    for unit in units {
        match char::from_u32(u32::from(*unit)) {
            Some(char) if !matches!(char, '"' | '\\' | '\n') && random(2) == 0 => json.push(char),
            _ => write!(json, "\\u{unit:04x}").expect("it is a string"),
        }
    }
    json
}

/// The text, split at these units.
fn pieces(text: &str, cuts: &[usize], random: &mut impl FnMut(usize) -> usize) -> Vec<String> {
    let units: Vec<u16> = text.encode_utf16().collect();
    let mut ends: Vec<usize> = cuts.iter().map(|cut| (*cut).min(units.len())).collect();
    ends.push(units.len());
    let starts = [0].into_iter().chain(ends.clone());
    starts.zip(&ends).map(|(start, end)| escaped(&units[start..*end], random)).collect()
}

/// A stream with the text, also as reasoning and in a call, if the provider has these. `cut` splits a text.
fn wire(provider: Provider, text: &str, mut cut: impl FnMut(&str) -> Vec<String>) -> String {
    let arguments = serde_json::json!({ "a": text }).to_string();
    let (texts, thoughts) = (cut(text), cut(text));
    // Arguments are values in Gemini, complete in Ollama, and JSON text in the others.
    let values = if provider == Provider::Gemini { cut(text) } else { cut(&arguments) };
    let mut data = Vec::new();
    match provider {
        Provider::OpenAiChat => {
            let chunk = |delta: String| format!(r#"{{"choices":[{{"index":0,"delta":{delta}}}]}}"#);
            for ((text, thought), value) in texts.iter().zip(&thoughts).zip(&values) {
                data.push(chunk(format!(r#"{{"reasoning":"{thought}","content":"{text}"}}"#)));
                let function = format!(r#"{{"name":"f","arguments":"{value}"}}"#);
                data.push(chunk(format!(r#"{{"tool_calls":[{{"index":0,"function":{function}}}]}}"#)));
            }
            data.push(r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#.to_owned());
        }
        Provider::OpenAiResponses => {
            let delta = |kind: &str, item: u8, text: &str| {
                format!(r#"{{"type":"response.{kind}.delta","output_index":{item},"delta":"{text}"}}"#)
            };
            for (item, kind) in [(1, "function_call"), (2, "custom_tool_call")] {
                data.push(format!(
                    r#"{{"type":"response.output_item.added","output_index":{item},"item":{{"type":"{kind}","call_id":"c{item}","name":"f"}}}}"#
                ));
            }
            for ((text, thought), value) in texts.iter().zip(&thoughts).zip(&values) {
                data.push(delta("reasoning_text", 3, thought));
                data.push(delta("output_text", 0, text));
                data.push(delta("function_call_arguments", 1, value));
                data.push(delta("custom_tool_call_input", 2, thought));
            }
            data.push(r#"{"type":"response.completed","response":{"status":"completed"}}"#.to_owned());
        }
        Provider::Anthropic => {
            data.push(r#"{"type":"message_start","message":{"content":[]}}"#.to_owned());
            for (index, kind, delta, pieces) in [
                (0, "thinking", r#""type":"thinking_delta","thinking""#, &thoughts),
                (1, "text", r#""type":"text_delta","text""#, &texts),
                (2, "tool_use", r#""type":"input_json_delta","partial_json""#, &values),
            ] {
                data.push(format!(
                    r#"{{"type":"content_block_start","index":{index},"content_block":{{"type":"{kind}","id":"c","name":"f"}}}}"#
                ));
                data.extend(pieces.iter().map(|piece| {
                    format!(
                        r#"{{"type":"content_block_delta","index":{index},"delta":{{{delta}:"{piece}"}}}}"#
                    )
                }));
                data.push(format!(r#"{{"type":"content_block_stop","index":{index}}}"#));
            }
            data.push(r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#.to_owned());
            data.push(r#"{"type":"message_stop"}"#.to_owned());
        }
        Provider::Gemini => {
            let parts = |parts: String| {
                format!(r#"{{"candidates":[{{"index":0,"content":{{"parts":[{parts}]}}}}]}}"#)
            };
            data.push(parts(r#"{"functionCall":{"name":"f","willContinue":true}}"#.to_owned()));
            for ((text, thought), value) in texts.iter().zip(&thoughts).zip(&values) {
                let text = format!(r#"{{"text":"{thought}","thought":true}},{{"text":"{text}"}}"#);
                let value = format!(r#"{{"jsonPath":"$.a","stringValue":"{value}","willContinue":true}}"#);
                let call = format!(r#"{{"functionCall":{{"partialArgs":[{value}],"willContinue":true}}}}"#);
                data.push(parts(format!("{text},{call}")));
            }
            let last = r#"{"jsonPath":"$.a","stringValue":""}"#;
            data.push(parts(format!(r#"{{"functionCall":{{"partialArgs":[{last}]}}}}"#)));
            data.push(r#"{"candidates":[{"index":0,"finishReason":"STOP"}]}"#.to_owned());
        }
        Provider::Ollama => {
            for (text, thought) in texts.iter().zip(&thoughts) {
                data.push(format!(
                    r#"{{"message":{{"content":"{text}","thinking":"{thought}"}},"done":false}}"#
                ));
            }
            let call = format!(r#"{{"function":{{"name":"f","arguments":{arguments}}}}}"#);
            data.push(format!(r#"{{"message":{{"tool_calls":[{call}]}},"done":true}}"#));
        }
        Provider::Cohere => {
            let event = |kind: &str, index: u8, message: String| {
                format!(r#"{{"type":"{kind}","index":{index},"delta":{{"message":{message}}}}}"#)
            };
            let content = |of: &str| format!(r#"{{"content":{{"type":"{of}","{of}":""}}}}"#);
            data.push(event("content-start", 0, content("thinking")));
            data.push(event("content-start", 1, content("text")));
            let function = r#"{"tool_calls":{"id":"c","function":{"name":"f","arguments":""}}}"#;
            data.push(event("tool-call-start", 0, function.to_owned()));
            for ((text, thought), value) in texts.iter().zip(&thoughts).zip(&values) {
                data.push(event("content-delta", 0, format!(r#"{{"content":{{"thinking":"{thought}"}}}}"#)));
                data.push(event("content-delta", 1, format!(r#"{{"content":{{"text":"{text}"}}}}"#)));
                let function = format!(r#"{{"tool_calls":{{"function":{{"arguments":"{value}"}}}}}}"#);
                data.push(event("tool-call-delta", 0, function));
            }
            data.push(r#"{"type":"tool-call-end","index":0}"#.to_owned());
            data.push(r#"{"type":"message-end","delta":{"finish_reason":"TOOL_CALL"}}"#.to_owned());
        }
        Provider::GeminiInteractions => {
            let event = |kind: &str, index: u8, member: &str, value: String| {
                format!(r#"{{"event_type":"{kind}","index":{index},"{member}":{value}}}"#)
            };
            data.push(event("step.start", 0, "step", r#"{"type":"thought"}"#.to_owned()));
            data.push(event("step.start", 1, "step", r#"{"type":"model_output"}"#.to_owned()));
            let call = r#"{"type":"function_call","id":"c","name":"f","arguments":{}}"#;
            data.push(event("step.start", 2, "step", call.to_owned()));
            for ((text, thought), value) in texts.iter().zip(&thoughts).zip(&values) {
                let content = format!(r#"{{"type":"text","text":"{thought}"}}"#);
                let summary = format!(r#"{{"type":"thought_summary","content":{content}}}"#);
                data.push(event("step.delta", 0, "delta", summary));
                data.push(event("step.delta", 1, "delta", format!(r#"{{"type":"text","text":"{text}"}}"#)));
                let arguments = format!(r#"{{"type":"arguments_delta","arguments":"{value}"}}"#);
                data.push(event("step.delta", 2, "delta", arguments));
            }
            data.push(r#"{"event_type":"step.stop","index":2}"#.to_owned());
            let end = r#"{"event_type":"interaction.completed","interaction":{"status":"completed"}}"#;
            data.push(end.to_owned());
        }
        other => unreachable!("{other:?}"),
    }
    let end = if provider == Provider::Ollama { ("", "\n") } else { ("data: ", "\n\n") };
    data.iter().map(|data| format!("{}{data}{}", end.0, end.1)).collect()
}

#[test]
fn a_text_split_at_any_unit_is_restored() {
    let mut random = random();
    // Bedrock's JSON is framed in binary messages, and read like the others'.
    for provider in Provider::ALL.iter().filter(|provider| **provider != Provider::Bedrock) {
        let mut parser = parser_of(*provider, TextMode::Text);
        for _ in 0..60 {
            let text: String = (0..=random(6)).map(|_| CHARS[random(CHARS.len())]).collect();
            let mut seen = |cuts: &[usize], random: &mut _| {
                let wire = wire(*provider, &text, |text| pieces(text, cuts, random));
                (decode(&mut parser, [wire.as_bytes()]).summary(), wire)
            };
            let (whole, wire) = seen(&[], &mut random);
            let shown = text.replace('\n', "⏎");
            assert!(whole.contains(&format!("text {shown}")), "{whole:?}: {wire}");
            assert!(whole.contains(&format!("reasoning {shown}")), "{whole:?}: {wire}");
            let arguments = serde_json::json!({ "a": text }).to_string();
            assert!(whole.iter().any(|line| line.contains(&format!("f {arguments}"))), "{whole:?}: {wire}");
            let units = arguments.encode_utf16().count();
            for first in 0..=units {
                let second = first + random(units + 1 - first);
                for cuts in
                    [&[first][..], &[first, first], &[first, (first + 1).min(units)], &[first, second]]
                {
                    let (cut, wire) = seen(cuts, &mut random);
                    assert_eq!(cut, whole, "{wire}");
                }
            }
        }
    }
}
