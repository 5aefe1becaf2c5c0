//! The shape cache changes nothing but the speed.
//!
//! The same stream is read twice, with white space after the first brace of each event. With the same white space,
//! events match earlier shapes; with different white space of the same length, none does. All results must agree,
//! including positions and counts.

use crate::common::{Seen, decode, fixtures, parser_of, random};
use tokenline_llm::{Provider, TextMode};

/// Bytes of white space in each event.
const BLANKS: usize = 16;

/// The stream with white space in each event: different in each, or the same in all.
fn with_blanks(wire: &[u8], is_same: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(wire.len() * 2);
    for (number, line) in wire.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let data = line.strip_prefix(b"data:").unwrap_or(line).trim_ascii_start();
        let (before, after) = line.split_at(line.len() - data.len());
        out.extend_from_slice(before);
        if data.first() == Some(&b'{') {
            let number = if is_same { 0 } else { number + 1 };
            out.push(b'{');
            out.extend((0..BLANKS).map(|bit| if number >> bit & 1 == 0 { b' ' } else { b'\t' }));
            out.extend_from_slice(&data[1..]);
        } else {
            out.extend_from_slice(after);
        }
    }
    out
}

/// Reads a stream with and without matching shapes.
fn check(provider: Provider, wire: &[u8]) -> Seen {
    assert!(wire.len() < 1 << BLANKS, "a number for each line");
    let [alike, different] = [true, false].map(|is_same| with_blanks(wire, is_same));
    let mut seen = None;
    for text_as in [TextMode::Records, TextMode::ToolCalls, TextMode::Text] {
        let mut parser = parser_of(provider, text_as);
        let expected = decode(&mut parser, [&different[..]]);
        let found = decode(&mut parser, [&alike[..]]);
        assert_eq!(found, expected, "{}", String::from_utf8_lossy(wire));
        // The shapes of the previous stream are still cached.
        assert_eq!(decode(&mut parser, [&alike[..]]), expected, "{}", String::from_utf8_lossy(wire));
        seen = Some(found);
    }
    seen.expect("it was read")
}

/// Mutations of an event, so that it nearly matches the one before.
const PIECES: &[&str] = &[
    "\"",
    "\\",
    "\\\"",
    "\\n",
    "\\x",
    "\\u00e9",
    "\\ud83d",
    "\\ude00",
    "\\ud83d\\ude00",
    "\u{10f03d}",
    "\t",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "0",
    "7",
    "-",
    ".5",
    "e3",
    "null",
    "true",
    "\"\"",
    "{}",
    "é",
    "😀",
    " ",
    "x",
    ",\"x\":1",
    "\"content\":\"y\",",
    "\"delta\":\"z\",",
    "\"text\":\"\",",
    "\"output_index\":1,",
    "\"index\":2,",
    "\"id\":\"\",",
    "\"error\":\"no\",",
    "\"done\":true,",
    "\"type\":\"ping\",",
    "\"created\":01,",
];

/// Each event, followed by a few variants.
fn varied(events: &[u8], end: &[u8], random: &mut impl FnMut(usize) -> usize) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = events;
    while !rest.is_empty() {
        let len =
            rest.windows(end.len()).position(|window| window == end).map_or(rest.len(), |at| at + end.len());
        let (event, after) = rest.split_at(len);
        rest = after;
        out.extend_from_slice(event);
        for _ in 0..random(4) {
            let mut copy = event.to_vec();
            for _ in 0..=random(2) {
                let room = copy.len().saturating_sub(end.len());
                if room == 0 {
                    break;
                }
                // Half of the time at the start or end of a string or number.
                let mut at = random(room);
                if random(2) == 0 {
                    let is_edge = |at: &usize| matches!(copy[*at], b'"' | b',' | b'}' | b':');
                    at = (at..room).find(is_edge).unwrap_or(at) + random(2);
                }
                let removed = if random(3) == 0 { random(4).min(room.saturating_sub(at)) } else { 0 };
                copy.splice(at..at + removed, PIECES[random(PIECES.len())].bytes());
            }
            out.extend_from_slice(&copy);
        }
    }
    out
}

fn check_all(provider: Provider, end: &[u8]) {
    let mut random = random();
    for file in fixtures(provider) {
        let wire = std::fs::read(&file).expect("it can be read");
        if wire.len() >= 1 << BLANKS {
            continue;
        }
        check(provider, &wire);
        for _ in 0..15 {
            let varied = varied(&wire, end, &mut random);
            if varied.len() < 1 << BLANKS {
                check(provider, &varied);
            }
        }
    }
}

#[test]
fn openai_chat() {
    check_all(Provider::OpenAiChat, b"\n\n");
}

#[test]
fn openai_responses() {
    check_all(Provider::OpenAiResponses, b"\n\n");
}

#[test]
fn anthropic() {
    check_all(Provider::Anthropic, b"\n\n");
}

#[test]
fn gemini() {
    check_all(Provider::Gemini, b"\n\n");
}

#[test]
fn ollama() {
    check_all(Provider::Ollama, b"\n");
}

/// The events of a stream whose cached shapes have a different meaning by now.
fn events(provider: Provider, data: &[&str]) -> Vec<String> {
    let wire: String = match provider {
        Provider::Ollama => data.iter().map(|data| format!("{data}\n")).collect(),
        _ => data.iter().map(|data| format!("data: {data}\n\n")).collect(),
    };
    check(provider, wire.as_bytes()).summary()
}

#[test]
fn a_block_that_became_a_server_tool() {
    let start = |kind: &str| {
        format!(
            r#"{{"type":"content_block_start","index":0,"content_block":{{"type":"{kind}","id":"a","name":"f"}}}}"#
        )
    };
    let json = |text: &str| {
        format!(
            r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"input_json_delta","partial_json":"{text}"}}}}"#
        )
    };
    let stop = r#"{"type":"content_block_stop","index":0}"#;
    let end = r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#;
    let data = [
        &start("tool_use"),
        &json("{"),
        &json("}"),
        stop,
        &start("server_tool_use"),
        &json("{"),
        &json("}"),
        stop,
        end,
        r#"{"type":"message_stop"}"#,
    ];
    assert_eq!(events(Provider::Anthropic, &data), ["call item_stop f {} a", "finish tool_calls"]);
}

#[test]
fn an_item_that_is_not_the_latest() {
    let delta = |index: &str, text: &str| {
        format!(r#"{{"type":"response.function_call_arguments.delta"{index},"delta":"{text}"}}"#)
    };
    let item = |index: u32| {
        format!(
            r#"{{"type":"response.output_item.added","output_index":{index},"item":{{"type":"function_call","call_id":"c{index}","name":"f","arguments":""}}}}"#
        )
    };
    let data = [
        &item(0),
        &delta(r#","output_index":0"#, "{"),
        &item(1),
        &delta(r#","output_index":0"#, " "),
        // The previous event determines its item.
        &delta("", "}"),
        &delta(r#","output_index":1"#, "{"),
        &delta(r#","output_index":1"#, "}"),
        r#"{"type":"response.completed","response":{"status":"completed"}}"#,
    ];
    let expected = ["call finish_reason f { } c0", "call finish_reason f {} c1", "finish tool_calls"];
    assert_eq!(events(Provider::OpenAiResponses, &data), expected);
}

#[test]
fn several_choices_and_texts() {
    let chunk = |choice: u32, delta: &str| {
        format!(
            r#"{{"created":1700000000,"choices":[{{"index":{choice},"delta":{delta},"finish_reason":null}}]}}"#
        )
    };
    let mut data = Vec::new();
    for round in 0..30 {
        for choice in 0..4 {
            data.push(chunk(choice, &format!(r#"{{"content":"{round} "}}"#)));
            data.push(chunk(
                choice,
                &format!(r#"{{"reasoning_content":"r{round}","reasoning":"r{round}"}}"#),
            ));
        }
    }
    // Empty, so that the other one is used.
    data.push(chunk(3, r#"{"reasoning_content":"","reasoning":"r29"}"#));
    data.push("[DONE]".to_owned());
    let data: Vec<&str> = data.iter().map(String::as_str).collect();
    let seen = events(Provider::OpenAiChat, &data);
    let text: String = (0..30).map(|round| format!("{round} ")).collect();
    assert!(seen.contains(&format!("text {text}")) && seen.contains(&format!("3: text {text}")), "{seen:?}");
    assert!(seen.iter().any(|line| line.ends_with("r28r29r29")), "{seen:?}");
}

#[test]
fn an_event_that_nearly_matches_but_is_not_json() {
    let chunk = |created: &str, text: &str| {
        format!(
            r#"{{"created":{created},"choices":[{{"index":0,"delta":{{"content":"{text}"}}}}],"obfuscation":"x"}}"#
        )
    };
    for bad in [chunk("017", "b"), chunk("-", "b"), chunk("17", "\\x"), chunk("17", "\\ud83d\\u0041\t")] {
        let data = [&chunk("17", "a"), &chunk("18", "a"), &bad, &chunk("19", "a"), "[DONE]"];
        let seen = events(Provider::OpenAiChat, &data);
        assert!(seen.iter().any(|line| line.starts_with("rejected malformed_json")), "{bad}: {seen:?}");
        assert!(seen.contains(&"text aaa".to_owned()), "{bad}: {seen:?}");
    }
}
