//! Every fixture of every provider, mangled: the events are the same however the bytes are cut.

mod common;

use std::path::{Path, PathBuf};

use common::{decode, parser_of};
use tokenline_llm::{AnswerEvent, Provider, TextAs};

/// The fixtures of a provider.
fn fixtures(provider: Provider) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(provider.as_str());
    let mut folders = vec![folder.clone(), folder.join("quirks")];
    folders.retain(|folder| folder.is_dir());
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).expect("it can be read"));
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    // The long recordings have nothing that the others have not.
    files.retain(|file| file.extension().is_some_and(|extension| extension != "txt"));
    files.retain(|file| file.metadata().is_ok_and(|data| data.is_file() && data.len() < 20_000));
    files.sort();
    assert!(files.len() > 20, "{folder:?}");
    files
}

fn mangled(provider: Provider) {
    // xorshift64, so that a failure can be repeated.
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).expect("it is below")
    };
    for file in fixtures(provider) {
        let fixture = std::fs::read(&file).expect("it can be read");
        for round in 0..40 {
            let text_as = [TextAs::Records, TextAs::ToolCalls, TextAs::Text][round % 3];
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
            // Nothing of a call is text, and no call is there without a name.
            for event in &whole.events {
                if let AnswerEvent::ToolCall { call, .. } = event {
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
