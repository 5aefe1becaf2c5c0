//! Every fixture of every provider, at every cut, against `expected.txt` in its folder, which is written by hand.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::common::extent::positions;
use crate::common::{Seen, at_every_cut, decode, delivered, fixture, fixtures, folder, parser_of};
use tokenline_core::CompletedBy;
use tokenline_llm::{Provider, ResponseEvent, TextMode};

/// Recordings with tests of their own.
const RECORDED: [&str; 5] =
    ["definitions.sse", "fenced-mixed.sse", "tool-calls-in-text.sse", "truncated.sse", "text-recorded.sse"];

/// The expected events of a fixture.
struct Expected {
    name: String,
    text_as: TextMode,
    is_complete: bool,
    lines: Vec<String>,
    unknown: String,
}

fn expected(provider: Provider) -> Vec<Expected> {
    let file = String::from_utf8(fixture(&format!("{}/expected.txt", provider.as_str()))).expect("UTF-8");
    let mut all: Vec<Expected> = Vec::new();
    for line in file.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(head) = line.strip_prefix("== ") {
            let (head, is_complete) = match head.strip_suffix(", not complete") {
                Some(head) => (head, false),
                None => (head, true),
            };
            let (name, text_as) = match head.split_once(" as ") {
                None => (head, TextMode::Records),
                Some((name, "tool-calls")) => (name, TextMode::ToolCalls),
                Some((name, "text")) => (name, TextMode::Text),
                Some((_, other)) => panic!("as {other}?"),
            };
            let (name, unknown) = (name.to_owned(), String::new());
            all.push(Expected { name, text_as, is_complete, lines: Vec::new(), unknown });
            continue;
        }
        let fixture = all.last_mut().expect("it is about a fixture");
        match line.strip_prefix("unknown: ") {
            Some(unknown) => unknown.clone_into(&mut fixture.unknown),
            None => fixture.lines.push(line.to_owned()),
        }
    }
    all
}

fn wire(provider: Provider, name: &str) -> Vec<u8> {
    fixture(&format!("{}/{name}", provider.as_str()))
}

/// Each fixture yields the expected events, however it is cut.
fn check(provider: Provider) {
    for Expected { name, text_as, is_complete, lines, unknown } in expected(provider) {
        let seen = at_every_cut(parser_of(provider, text_as), &wire(provider, &name));
        assert_eq!(seen.summary(), lines, "{name}");
        assert_eq!(seen.is_complete, is_complete, "{name}");
        assert_eq!(seen.unknown, unknown, "{name}");
    }
}

/// Truncated after any byte, each fixture yields only events that the complete one yields.
fn break_off(provider: Provider) {
    for Expected { name, text_as, .. } in expected(provider) {
        let wire = wire(provider, &name);
        let mut parser = parser_of(provider, text_as);
        let whole = delivered(&decode(&mut parser, [&wire[..]]));
        for end in positions(wire.len().saturating_sub(1), 200) {
            let seen = decode(&mut parser, [&wire[..end]]);
            let cut = delivered(&seen);
            // The proof that completes a native call must have arrived.
            let is_over = match provider {
                Provider::OpenAiChat => seen.is_complete,
                _ => seen.events.iter().any(|event| matches!(event, ResponseEvent::Finish { .. })),
            };
            let needs_end = |event: &ResponseEvent<_>| {
                matches!(event, ResponseEvent::ToolCall { record: None, call, .. }
                    if !matches!(call.completion, CompletedBy::NextItem | CompletedBy::ItemStop))
            };
            assert!(is_over || !seen.events.iter().any(needs_end), "{name} up to {end}");
            match provider {
                // Events at the end of the stream may come after later ones.
                Provider::Gemini => {
                    assert!(cut.iter().all(|item| whole.contains(item)), "{name} up to {end}");
                }
                _ => assert_eq!(cut, whole[..cut.len()], "{name} up to {end}"),
            }
        }
    }
}

#[test]
fn every_fixture_is_covered() {
    for provider in Provider::ALL {
        let folder = folder(*provider);
        let name = |path: &PathBuf| path.strip_prefix(&folder).expect("below").to_string_lossy().into_owned();
        let files = fixtures(*provider);
        let files: BTreeSet<String> =
            files.iter().map(name).filter(|name| !RECORDED.contains(&name.as_str())).collect();
        let checked: BTreeSet<String> = expected(*provider).into_iter().map(|fixture| fixture.name).collect();
        assert_eq!(files, checked);
    }
}

macro_rules! providers {
    ($($name:ident: $provider:ident,)+) => {$(
        mod $name {
            use super::{Provider, break_off, check};

            #[test]
            fn every_fixture_yields_its_expected_events() {
                check(Provider::$provider);
            }

            #[test]
            fn a_response_truncated_anywhere_yields_nothing_else() {
                break_off(Provider::$provider);
            }
        }
    )+};
}

providers! {
    openai_chat: OpenAiChat,
    openai_responses: OpenAiResponses,
    anthropic: Anthropic,
    gemini: Gemini,
    ollama: Ollama,
}

/// With text deltas, each text comes whole, whatever it is read as, before the events that it yields.
#[test]
fn text_deltas_are_the_text() {
    for provider in Provider::ALL.iter().copied() {
        for Expected { name, .. } in expected(provider) {
            let wire = wire(provider, &name);
            let texts = |seen: &Seen, deltas: bool| {
                let mut texts = BTreeMap::<(u64, u64), String>::new();
                let mut ends = BTreeMap::<(u64, u64), u64>::new();
                for event in &seen.events {
                    match event {
                        ResponseEvent::TextDelta { choice, block, start, text } if deltas => {
                            let whole = texts.entry((*choice, *block)).or_default();
                            // 0 where a block begins again.
                            let next = ends.insert((*choice, *block), start + text.len() as u64).unwrap_or(0);
                            assert!(*start == next || *start == 0, "{name}: {start}");
                            whole.push_str(text);
                        }
                        ResponseEvent::Text { choice, block, text } if !deltas => {
                            texts.entry((*choice, *block)).or_default().push_str(text);
                        }
                        _ => {}
                    }
                }
                texts
            };
            let plain = texts(&decode(&mut parser_of(provider, TextMode::Text), [&wire[..]]), false);
            for text_as in [TextMode::Records, TextMode::ToolCalls] {
                let mut without = parser_of(provider, text_as);
                let expected = decode(&mut without, [&wire[..]]).events;
                let mut parser =
                    parser_of(provider, text_as).with_options(tokenline_llm::ResponseOptions::text_deltas);
                for size in [1, 7, wire.len().max(1)] {
                    let seen = decode(&mut parser, wire.chunks(size));
                    assert_eq!(texts(&seen, true), plain, "{name} in pieces of {size}");
                    let is_other =
                        |event: &ResponseEvent<_>| !matches!(event, ResponseEvent::TextDelta { .. });
                    let others: Vec<_> =
                        seen.events.iter().filter(|event| is_other(event)).cloned().collect();
                    assert_eq!(others, expected, "{name} in pieces of {size}");
                    assert!(parser.held_bytes() <= wire.len() as u64, "{name}");
                }
            }
        }
    }
}
