//! Text is conserved: beside records, calls, reasoning and markup, the text events are the response's text, once and in
//! order; and no event depends on how the text is cut into deltas.

use serde_json::json;
use tokenline_core::json::{Raw, Value};
use tokenline_core::{Code, Options, ValidateCall, Violation};
use tokenline_llm::{Provider, ResponseEvent, ResponseParser, TextMode};

use crate::DONE;
use crate::common::extent::cases;
use crate::common::random;

/// The parts of random texts; `#` stands for a word of its own.
const PARTS: &[&str] = &[
    "#",
    "# #",
    "\n",
    "\n",
    "\n",
    "\n\n",
    "\r\n",
    " ",
    "  ",
    "\n  ",
    ",",
    "[",
    "[",
    "]",
    "]\n",
    "}",
    "{",
    ":",
    "\"#\"",
    "- ",
    "1. ",
    "7",
    "null",
    "[1]",
    "[#]",
    "{#}",
    "é#",
    "{\"a\":\"#\"}",
    "{\"a\":\"#\"}\n",
    "{\"a\":\"#\"},\n",
    "{\"a\":#}",
    "{\"a\":#}\n",
    "{\"a\":\"#\"}}\n",
    "{\"a\":\"#\"",
    "{\"a\":",
    "{\n\"a\":\"#\"\n}\n",
    "{\n\"a\":\"#\",\n#\n}\n",
    "[{\"a\":\"#\"},{\"a\":\"#\"}]\n",
    "[\n{\"a\":\"#\"}\n# #\n",
    "# [\n{\"a\":\"#\"}, #\n",
    "{\"a\":{\"b\":\"#\"}}\n",
    "{\"name\":\"f\",\"parameters\":{\"x\":\"#\"}}\n",
    "{\"name\":\"f\",\"parameters\":{\"x\":#}}\n",
    "{\"name\":\"f\",\"parameters\":{\"x\":\"#\"",
    "\n```json\n",
    "\n```\n",
    "\n```python\n",
    "<think>",
    "<think># #",
    "</think>",
    "<think>#\n#</think>\n",
    "<tool_call>",
    "</tool_call>",
    "<tool_call>\n{\"name\":\"f\",\"arguments\":{\"x\":\"#\"}}\n</tool_call>\n",
];

/// Markup that is neither text nor a part of a record: besides it, brackets, commas, white space and list markers.
const MARKUP: [&str; 6] = ["```json", "```python", "<think>", "</think>", "<tool_call>", "</tool_call>"];

pub(crate) fn random_text(random: &mut impl FnMut(usize) -> usize) -> String {
    let mut words = 0;
    let mut text = String::new();
    for _ in 0..=random(8) {
        for char in PARTS[random(PARTS.len())].chars() {
            match char {
                '#' => {
                    words += 1;
                    text += &word(words);
                }
                char => text.push(char),
            }
        }
    }
    text
}

/// The word with this number.
fn word(number: u32) -> String {
    let digits = format!("{number:x}");
    let letters = digits.chars().map(|digit| (b'a' + digit.to_digit(16).expect("a digit") as u8) as char);
    format!("q{}z", letters.collect::<String>())
}

/// The parts of a text that must be conserved, without markup.
fn content(text: &str) -> String {
    let mut text = text.to_owned();
    for markup in MARKUP {
        text = text.replace(markup, "");
    }
    text.retain(|char| char.is_alphabetic() || matches!(char, '"' | ':' | '{' | '}'));
    text
}

/// Whether characters of `all`, in their order, are the part.
fn is_part(part: &str, all: &str) -> bool {
    let mut rest = all.chars();
    part.chars().all(|char| rest.any(|other| other == char))
}

/// How the text comes.
#[derive(Clone, Copy, Debug)]
enum Wire {
    OpenAi,
    Anthropic,
    Body,
}

fn body(wire: Wire, pieces: &[&str], reason: &str) -> String {
    match wire {
        Wire::OpenAi => {
            let event = |piece: &&str| {
                let event = json!({"choices": [{"index": 0, "delta": {"content": piece}}]});
                format!("data: {event}\n\n")
            };
            let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
            pieces.iter().map(event).collect::<String>() + &format!("data: {end}\n\n") + DONE
        }
        Wire::Anthropic => {
            let event = |event: serde_json::Value| {
                let kind = event["type"].as_str().unwrap_or_default();
                format!("event: {kind}\ndata: {event}\n\n")
            };
            let delta = |piece: &&str| {
                event(json!({"type": "content_block_delta", "index": 0,
                    "delta": {"type": "text_delta", "text": piece}}))
            };
            let reason = if reason == "length" { "max_tokens" } else { "end_turn" };
            event(
                json!({"type": "message_start", "message": {"id": "m", "role": "assistant", "content": []}}),
            ) + &event(json!({"type": "content_block_start", "index": 0,
                    "content_block": {"type": "text", "text": ""}}))
                + &pieces.iter().map(delta).collect::<String>()
                + &event(json!({"type": "content_block_stop", "index": 0}))
                + &event(json!({"type": "message_delta", "delta": {"stop_reason": reason}}))
                + &event(json!({"type": "message_stop"}))
        }
        Wire::Body => {
            let message = json!({"role": "assistant", "content": pieces.concat()});
            json!({"choices": [{"index": 0, "message": message, "finish_reason": reason}]}).to_string()
        }
    }
}

/// The events of a response; texts that follow each other are joined.
fn read(parser: &mut ResponseParser<Raw>, body: &str) -> Vec<ResponseEvent<Raw>> {
    parser.reset();
    parser.push(body);
    let mut events = Vec::new();
    let mut take = |parser: &mut ResponseParser<Raw>| {
        while let Some(event) = parser.next_event() {
            match (events.last_mut(), event) {
                (Some(ResponseEvent::Text { text, .. }), ResponseEvent::Text { text: more, .. })
                | (
                    Some(ResponseEvent::Reasoning { text, .. }),
                    ResponseEvent::Reasoning { text: more, .. },
                ) => text.push_str(&more),
                // How a record grows depends on the deltas.
                (_, ResponseEvent::Partial { .. } | ResponseEvent::PartialDiscarded { .. }) => {}
                (_, event) => events.push(event),
            }
        }
    };
    take(parser);
    parser.finish();
    take(parser);
    events
}

/// The parts of the text that the events hold.
fn told(events: &[ResponseEvent<Raw>], text: &str) -> String {
    let part = |record: tokenline_core::Span| &text[record.start as usize..record.end as usize];
    let mut told = String::new();
    for event in events {
        match event {
            ResponseEvent::Text { text, .. } | ResponseEvent::Reasoning { text, .. } => told += text,
            ResponseEvent::Record { record, .. } => told += part(record.span),
            ResponseEvent::ToolCall { record: Some(record), .. } => told += part(record.span),
            ResponseEvent::RejectedCall { call, .. } => {
                // It is converted unless it is JSON.
                let is_written = text.contains(&call.received);
                told += if is_written { &call.received } else { part(call.diagnostic.span) };
            }
            _ => {}
        }
    }
    told
}

/// The text in pieces of one character, or of random lengths.
pub(crate) fn random_pieces<'a>(
    text: &'a str,
    random: &mut impl FnMut(usize) -> usize,
    most: usize,
) -> Vec<&'a str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let len = 1 + random(most);
        let end = rest.char_indices().nth(len).map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// The faults in the events of a text.
fn fault(
    text: &str,
    parsers: &mut [ResponseParser<Raw>; 2],
    has_items: bool,
    reason: &str,
    random: &mut impl FnMut(usize) -> usize,
) -> Option<String> {
    let [openai, anthropic] = parsers;
    let whole = read(openai, &body(Wire::Body, &[text], reason));
    let told = told(&whole, text);
    let (told_of, all) = (content(&told), content(text));
    // The surroundings of items are not text.
    let is_conserved = if has_items { is_part(&told_of, &all) } else { told_of == all };
    if !is_conserved {
        return Some(format!("told {told:?}: {whole:#?}"));
    }
    let (parser, wire, whole) = if text.len().is_multiple_of(4) {
        let whole = read(anthropic, &body(Wire::Anthropic, &[text], reason));
        (anthropic, Wire::Anthropic, whole)
    } else {
        (openai, Wire::OpenAi, whole)
    };
    for most in [1, 8] {
        let pieces = random_pieces(text, random, most);
        let seen = read(parser, &body(wire, &pieces, reason));
        if seen != whole {
            return Some(format!("{wire:?} {pieces:?}: {seen:#?}\nwhole: {whole:#?}"));
        }
    }
    None
}

/// The tool `f`.
pub(crate) struct Tool;

impl ValidateCall for Tool {
    fn validate_call(&self, name: &str, parameters: Value<'_>) -> Result<(), Box<Violation>> {
        match name {
            "f" => Ok(()),
            _ => Err(Box::new(Violation::new(Code::UnknownTool, parameters.range().start, "no such tool"))),
        }
    }
}

fn conserves(options: &Options, text_as: TextMode, has_tools: bool) {
    let parser = |provider| {
        let parser = ResponseParser::new(provider, options.clone())
            .with_options(|options| options.text_as(text_as).text_and_reasoning());
        if has_tools { parser.with_options(|options| options.tools(Tool)) } else { parser }
    };
    let mut parsers = [parser(Provider::OpenAiChat), parser(Provider::Anthropic)];
    let mut random = random();
    let mut faults: Vec<(String, String)> = Vec::new();
    let texts: usize = cases(2_000);
    for at in 0..texts {
        let text = random_text(&mut random);
        let reason = if at % 4 == 0 { "length" } else { "stop" };
        if let Some(fault) = fault(&text, &mut parsers, options.looks_for_items(), reason, &mut random) {
            faults.push((text, fault));
        }
    }
    let shortest = faults.iter().min_by_key(|(text, _)| text.len());
    if let Some((text, fault)) = shortest {
        panic!("{} of {texts} texts, such as {text:?}: {fault}", faults.len());
    }
}

#[test]
fn the_text_beside_records_is_conserved() {
    conserves(&Options::lenient(), TextMode::Records, false);
}

#[test]
fn the_text_beside_calls_is_conserved() {
    conserves(&Options::lenient(), TextMode::ToolCalls, false);
}

#[test]
fn the_text_beside_calls_of_defined_tools_is_conserved() {
    conserves(&Options::lenient(), TextMode::ToolCalls, true);
}

#[test]
fn the_text_beside_records_and_calls_is_conserved() {
    conserves(&Options::lenient(), TextMode::RecordsAndToolCalls, true);
}

#[test]
fn the_text_is_conserved_where_calls_are_native() {
    conserves(&Options::lenient(), TextMode::NativeCalls, true);
}

#[test]
fn the_text_beside_items_is_conserved() {
    conserves(&Options::lenient().items("/a").expect("a pointer"), TextMode::Records, false);
}

#[test]
fn the_text_beside_partial_records_is_conserved() {
    conserves(&Options::lenient().partials(true), TextMode::Records, false);
}

/// The events of a text, one line each, without notes.
fn lines(text_as: TextMode, text: &str) -> Vec<String> {
    let mut parser = ResponseParser::new(Provider::OpenAiChat, Options::lenient())
        .with_options(|options| options.text_as(text_as).text_and_reasoning());
    let whole = read(&mut parser, &body(Wire::Body, &[text], "stop"));
    for most in 1..=text.len() {
        let pieces = random_pieces(text, &mut |_| most - 1, most);
        assert_eq!(read(&mut parser, &body(Wire::OpenAi, &pieces, "stop")), whole, "{pieces:?}");
    }
    let line = |event| match event {
        ResponseEvent::Text { text, .. } => Some(format!("text {text:?}")),
        ResponseEvent::Reasoning { text, .. } => Some(format!("reasoning {text:?}")),
        ResponseEvent::Record { record, .. } => Some(format!("record {}", record.value)),
        ResponseEvent::Rejected { diagnostic, .. } => Some(diagnostic.code.to_string()),
        ResponseEvent::RejectedCall { call, .. } => {
            Some(format!("rejected {}: {}", call.name.unwrap_or_default(), call.received))
        }
        _ => None,
    };
    whole.into_iter().filter_map(line).collect()
}

#[test]
fn the_text_of_a_reject_is_told_once() {
    for (text, expected) in [
        ("{\"a\":NaN}\n", &["malformed_json", "text \"{\\\"a\\\":NaN}\\n\""][..]),
        ("{\"a\":1}\n{\"b\":NaN}", &["record {\"a\":1}", "malformed_json", "text \"{\\\"b\\\":NaN}\""]),
        // A record that an array left open contains is not text, and the text after it follows once.
        ("[\n{\"id\":7}\nthe end\n", &["record {\"id\":7}", "malformed_json", "text \"the end\\n\""]),
        (
            "See [\n{\"id\":1}, then\n",
            &["text \"See\"", "record {\"id\":1}", "malformed_json", "text \", then\\n\""],
        ),
        ("[1, 2, {\"a\":1}]\n", &["not_an_object", "text \"[1, 2\"", "record {\"a\":1}"]),
        ("é {\"a\":1} é\n", &["text \"é \"", "record {\"a\":1}", "text \" é\\n\""]),
        ("\u{feff}{\"a\":1}\n", &["record {\"a\":1}"]),
        // Truncated reasoning is not text.
        ("<think>hm", &["reasoning \"hm\"", "truncated"]),
    ] {
        assert_eq!(lines(TextMode::Records, text), expected, "{text}");
    }
    let call = "{\"name\":\"f\",\"parameters\":{\"x\":bad}}";
    let expected = [format!("rejected f: {call}"), "text \"So.\"".to_owned()];
    assert_eq!(lines(TextMode::ToolCalls, &format!("{call}\nSo.")), expected);
}
