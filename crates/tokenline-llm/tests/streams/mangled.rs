//! Every fixture of every provider, mangled: the events do not depend on the cuts.

use crate::common::extent::cases;
use crate::common::{decode, fixtures, parser_of, random};
use tokenline_llm::{Provider, ResponseEvent, TextMode};

fn mangled(provider: Provider) {
    let mut random = random();
    for file in fixtures(provider) {
        let fixture = std::fs::read(&file).expect("it can be read");
        // The long recordings add nothing to the others.
        if fixture.len() >= 20_000 {
            continue;
        }
        for round in 0..cases(15) {
            let text_as = [TextMode::Records, TextMode::ToolCalls, TextMode::Text][round % 3];
            let mut parser = parser_of(provider, text_as);
            let mut wire = fixture.clone();
            for _ in 0..=random(4) {
                let (at, byte) = (random(wire.len()), b"\"\\{}[]:,\n\r \0\xFF\xE2dx1`"[random(18)]);
                match random(5) {
                    0 => wire[at] = byte,
                    1 => wire.insert(at, byte),
                    2 => drop(wire.drain(at..(at + random(40)).min(wire.len()))),
                    3 => drop(wire.splice(at..at, *b"\\ud83d")),
                    _ => wire.extend_from_within(at..(at + random(400)).min(wire.len())),
                }
                if wire.is_empty() {
                    wire.push(byte);
                }
            }
            let whole = decode(&mut parser, [&wire[..]]);
            for size in [1, 7, 1 + random(300)] {
                let seen = decode(&mut parser, wire.chunks(size));
                assert_eq!(seen, whole, "in pieces of {size}: {}", String::from_utf8_lossy(&wire));
            }
            // No part of a call is text, and no call lacks a name.
            for event in &whole.events {
                if let ResponseEvent::ToolCall { call, .. } = event {
                    assert!(!call.name.is_empty() && call.parameters.as_str().starts_with('{'));
                }
            }
        }
    }
}

#[test]
fn openai_chat() {
    mangled(Provider::OpenAiChat);
}

#[test]
fn openai_responses() {
    mangled(Provider::OpenAiResponses);
}

#[test]
fn anthropic() {
    mangled(Provider::Anthropic);
}

#[test]
fn gemini() {
    mangled(Provider::Gemini);
}

#[test]
fn ollama() {
    mangled(Provider::Ollama);
}
