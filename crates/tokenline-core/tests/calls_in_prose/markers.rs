//! Markers without a call: around noise, cut, and in any order.

use tokenline_core::call_format::CallSyntax;

use crate::random::Random;
use crate::{cases, chunkings, read, summary};

/// Texts between markers that are not calls.
const NOISE: [&str; 12] =
    ["w", "search", "city=Paris", "q: 1", "{x}", "(a, b)", "...", "é", "search(", "\n", "key value", "\"q\""];

#[test]
fn markers_around_noise_are_never_silent() {
    let is_pair = |pair: &&(String, String)| pair.0.starts_with('<') && pair.1.len() > 3;
    let rows = CallSyntax::built_in().iter();
    let pairs: Vec<(&str, &(String, String))> = rows
        .flat_map(|row| {
            let calls = row.call.iter().filter(|_| !row.needs_block);
            row.block.iter().chain(calls).filter(is_pair).map(|pair| (row.name.as_str(), pair))
        })
        .collect();
    let call = "<tool_call>{\"name\":\"search\",\"arguments\":{\"q\":1}}</tool_call>";
    for seed in 0..cases() {
        let mut random = Random::new(seed);
        let (name, (open, close)) = *random.pick(&pairs);
        let noise: Vec<&str> = (0..1 + random.below(4)).map(|_| *random.pick(&NOISE[..])).collect();
        let noise = noise.join(" ");
        let text = format!("w0x\n{open}{noise}{close}\n{call}\n");
        let found = read(&text, &[&text], true);
        for pieces in chunkings(&mut random, &text) {
            assert_eq!(read(&text, &pieces, true), found, "seed {seed}, {name}, {pieces:?}");
        }
        let last = ("search".to_owned(), "{\"q\":1}".to_owned());
        let is_read = found.calls.last() == Some(&last);
        let is_told = found.calls.len() > 1 || !found.rejected.is_empty();
        assert!(is_read && (is_told || noise.trim().is_empty()), "seed {seed}, {name}:\n{text}\n{found:#?}");
    }
}

/// Scraps between markers and around them.
const GLUE: [&str; 14] =
    ["", "", "", " ", "\n", ">", ">>", "<", "[", "`", "```", "\n\n", "search", "weather"];

#[test]
fn markers_in_any_order_do_not_depend_on_cuts() {
    let rows = CallSyntax::built_in().iter();
    let markers: Vec<&str> = rows
        .flat_map(|row| row.call.iter().chain(&row.block).flat_map(|(open, close)| [open, close]))
        .map(String::as_str)
        .filter(|marker| !marker.is_empty())
        .collect();
    for seed in 0..cases() {
        let mut random = Random::new(seed ^ 0x4D41);
        let mut text = String::new();
        for _ in 0..1 + random.below(6) {
            let marker = *random.pick(&markers);
            let len = if random.once_in(4) { random.below(marker.len() + 1) } else { marker.len() };
            text.push_str(marker.get(..len).unwrap_or(marker));
            let between: &[&str] = if random.once_in(3) { &NOISE } else { &GLUE };
            text.push_str(random.pick::<&str>(between));
        }
        let has_tools = random.once_in(2);
        let found = read(&text, &[&text], has_tools);
        for pieces in chunkings(&mut random, &text) {
            assert_eq!(read(&text, &pieces, has_tools), found, "seed {seed}, {pieces:?}");
        }
    }
}

#[test]
fn a_marker_before_what_may_be_another_is_the_same_in_any_chunks() {
    for text in [
        "<atem:invoke name=)<TOOLCALL>>>>>>>>>>\u{1e}\u{1e}>",
        "<tool_call>x <function=search>> >>>",
        "a <tool_call> weat",
    ] {
        summary(text, false);
        summary(text, true);
    }
}

#[test]
fn markers_around_noise_are_rejected_or_text() {
    for (text, expected) in [
        ("<tool_call>weather city=Paris</tool_call>\n", vec!["malformed_json 0..41"]),
        ("So <tool_call>weather city=Paris</tool_call>\n", vec!["malformed_json 3..44"]),
        ("<|tool_call_start|>oh no<|tool_call_end|>", vec!["malformed_json 0..41"]),
        ("The <tool_call> and </tool_call> tags", vec![]),
        ("`<tool_call>weather city=Paris</tool_call>`\n", vec![]),
    ] {
        assert_eq!(summary(text, true), expected, "{text}");
    }
}
