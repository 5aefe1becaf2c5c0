//! Random responses, and the messages that answer them.

use serde_json::{Value, json};
use tokenline_core::Options;
use tokenline_core::json::Raw;
use tokenline_llm::request::Message;
use tokenline_llm::{Provider, ResponseEvent, ResponseParser, TextMode};

use crate::common::chunk;

pub(super) type Random<'r> = &'r mut dyn FnMut(usize) -> usize;

pub(super) const NAMES: [&str; 9] = [
    "search",
    "functions.search",
    "\u{641c}\u{7d22}",
    "a23456789b23456789c23456789d23456789e23456789f23456789g23456789h234567",
    "search ",
    "9lives",
    "a:b-c_d",
    "mcp/tool name",
    "\u{e9}",
];
pub(super) const TEXTS: [&str; 6] = ["\n\n", " ", "Look: ", "A.\n", "\u{a0}", "\u{6587}"];

pub(super) fn pick(random: Random<'_>, all: &[&str]) -> String {
    all[random(all.len())].to_owned()
}

pub(super) fn arguments(random: Random<'_>) -> String {
    pick(random, &["{}", r#"{"q":"x"}"#, r#"{"q":"#, "7", r#"["a"]"#, r#"{"q":"\n"}"#])
}

pub(super) fn openai_chat(random: Random<'_>) -> String {
    let mut wire = String::new();
    let mut index = 0;
    for at in 0..random(6) {
        let delta = match random(6) {
            0 => json!({"content": pick(random, &TEXTS)}),
            1 => json!({"reasoning_content": format!("r{at}. ")}),
            2 => json!({"reasoning": format!("r{at}. ")}),
            3 => {
                json!({"reasoning_details": [{"type": "reasoning.encrypted", "data": format!("secret{at}")}]})
            }
            _ => {
                index += 1;
                let id = pick(random, &["call_", "functions.search:", "\u{fc} ", ""]);
                let id = if id.is_empty() { Value::Null } else { json!(format!("{id}{index}")) };
                let function = json!({"name": pick(random, &NAMES), "arguments": arguments(random)});
                json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]})
            }
        };
        wire += &chunk(&delta.to_string(), "");
    }
    wire + &chunk("{}", if random(4) == 0 { "length" } else { "stop" }) + "data: [DONE]\n\n"
}

pub(super) fn anthropic(random: Random<'_>) -> String {
    let mut events = vec![json!({"type": "message_start", "message": {"role": "assistant", "content": []}})];
    for index in 0..random(6) {
        let (block, delta) = match random(5) {
            0 => (
                json!({"type": "thinking", "thinking": ""}),
                json!({"type": "signature_delta", "signature": format!("secret{index}")}),
            ),
            1 => (
                json!({"type": "redacted_thinking", "data": format!("secret{index}")}),
                json!({"type": "signature_delta", "signature": ""}),
            ),
            2 => (
                json!({"type": "text", "text": ""}),
                json!({"type": "text_delta", "text": pick(random, &TEXTS)}),
            ),
            _ => (
                json!({"type": "tool_use", "id": format!("toolu_{index}"), "name": pick(random, &NAMES), "input": {}}),
                json!({"type": "input_json_delta", "partial_json": arguments(random)}),
            ),
        };
        events.push(json!({"type": "content_block_start", "index": index, "content_block": block}));
        events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}));
    events.push(json!({"type": "message_stop"}));
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

pub(super) fn gemini(random: Random<'_>) -> String {
    let parts: Vec<Value> = (0..random(6))
        .map(|at| match random(6) {
            0 => json!({"text": format!("r{at}. "), "thought": true}),
            1 => json!({"text": "", "thoughtSignature": format!("secret{at}")}),
            2 => json!({"text": pick(random, &TEXTS)}),
            3 => json!({"functionCall": {"name": pick(random, &NAMES), "args": {}}, "thoughtSignature": format!("secret{at}")}),
            _ => json!({"functionCall": {"name": pick(random, &NAMES), "args": {"q": "x"}}}),
        })
        .collect();
    let content = json!({"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]});
    format!("data: {content}\n\n")
}

/// The message of the response, and what answers its calls.
pub(super) fn read(random: Random<'_>, provider: Provider, wire: &str) -> (Message, Vec<Message>) {
    let parser = ResponseParser::<Raw>::new(provider, Options::lenient())
        .with_options(|options| options.text_as(TextMode::Text));
    let mut parser = parser.with_options(tokenline_llm::ResponseOptions::keep_message);
    parser.push(wire);
    parser.finish();
    let mut answers = Vec::new();
    while let Some(event) = parser.next_event() {
        match event {
            ResponseEvent::ToolCall { call, .. } => {
                let result = pick(random, &["21", "", "\n", r#"{"a":1}"#, "no such city"]);
                answers.push(Message::tool_result(&call, result));
            }
            ResponseEvent::RejectedCall { call, .. } => {
                answers.extend(Message::rejected(&call).map(|(_, why)| why));
            }
            _ => {}
        }
    }
    (parser.message(0).unwrap_or_else(|| Message::assistant("", [])), answers)
}
