//! Random texts: nothing panics, a repair is JSON, and a closer that is added or dropped could not stand elsewhere.

use tokenline_core::Limits;
use tokenline_core::json::Parser;
use tokenline_core::syntax_repair::EditKind;
use tokenline_core::syntax_repair::RepairOptions;
use tokenline_core::syntax_repair::SyntaxRepair;
use tokenline_core::syntax_repair::Unrepaired;
use tokenline_core::syntax_repair::repair_syntax;

use crate::common::random::Random;
use crate::common::random::VALUE_PARTS;
use crate::generate;
use crate::mutate;

const TEXTS: usize = 20_000;
const RECORDS: usize = 1_500;

const CONFIRMED: RepairOptions = RepairOptions { limits: Limits::DEFAULT, is_end_confirmed: true };

const MORE_PARTS: [&str; 24] = [
    "'",
    "“",
    "”",
    "\\'",
    "\\é",
    "True",
    "None",
    "// x\n",
    "/* x */",
    "/*",
    "{'a':",
    "{“a”:",
    "{a:",
    "\"a\":",
    "'b'",
    "\"é\"",
    "\"\n\"",
    "\"\\\n\"",
    "\u{1}",
    "}}",
    "]]",
    ",}",
    ",]",
    "$",
];

#[test]
fn a_repair_of_soup_is_json() {
    let mut random = Random::new(3);
    let mut repaired = 0;
    for _ in 0..TEXTS {
        let mut text = (*random.pick(&["{", "[", "{\"x\":", ""])).to_owned();
        for _ in 0..random.below(12) {
            let parts: &[&str] = if random.once_in(2) { &VALUE_PARTS } else { &MORE_PARTS };
            text.push_str(parts[random.below(parts.len())]);
        }
        let result = repair_syntax(&text, &CONFIRMED, Some(&mut |_| true));
        match result {
            Ok(repair) => {
                repaired += 1;
                check(&text, &repair);
            }
            Err(Unrepaired::Valid) => assert!(Parser::new().parse(&text).is_ok(), "{text:?}"),
            Err(reason) => assert!(!reason.to_string().is_empty()),
        }
    }
    assert!(repaired > TEXTS / 200, "{repaired} repaired");
}

fn check(text: &str, repair: &SyntaxRepair) {
    assert!(Parser::new().parse(&repair.text).is_ok(), "{text:?}: {:?}", repair.text);
    let mut end = 0;
    for edit in &repair.edits {
        let (from, to) = (edit.span.start as usize, edit.span.end as usize);
        assert!(end <= from && text.get(from..to).is_some(), "{text:?}: {edit:?}");
        end = to;
    }
    assert!(!repair.edits.is_empty());
}

/// Tries each place for the closers, which the repair must not do.
#[test]
fn no_other_place_for_closers_is_overlooked() {
    let mut random = Random::new(4);
    let (mut added, mut dropped) = (0, 0);
    let mutations = ["closer deleted", "closer inserted", "missing_closer", "surplus_closer"].map(|name| {
        let mut all = mutate::LISTED.iter().chain(&mutate::OTHERS);
        all.find(|(other, _)| *other == name).expect("a mutation").1
    });
    for _ in 0..RECORDS {
        let tokens = generate::record(&mut random);
        let mutation = random.pick(&mutations);
        let Some(text) = mutation(&mut random, &tokens) else { continue };
        let Ok(repair) = repair_syntax(&text, &CONFIRMED, Some(&mut |_| true)) else { continue };
        let count = repair.text.len().abs_diff(text.trim_end().len());
        let others = match repair.edits[0].kind {
            EditKind::MissingCloser => {
                added += 1;
                with_closers_elsewhere(&text, count)
            }
            EditKind::SurplusCloser => {
                dropped += 1;
                without_closers_elsewhere(&text, repair.edits[0].span.start as usize)
            }
            _ => continue,
        };
        let value = |text: &str| {
            let mut parser = Parser::new();
            let value = parser.parse(text).ok().filter(|value| value.repeated_name().is_none());
            value.map(|value| value.to_value().expect("a value"))
        };
        let repaired = value(&repair.text);
        for other in others {
            let other_value = value(&other);
            assert!(other_value.is_none() || other_value == repaired, "{text}\n{}\n{other}", repair.text);
        }
    }
    assert!(added > 100 && dropped > 100, "{added} added, {dropped} dropped");
}

/// The texts with some of `count` closers at each place, and the others at the end.
fn with_closers_elsewhere(text: &str, count: usize) -> Vec<String> {
    let mut texts = Vec::new();
    for at in outside_strings(text) {
        for early in 1..=count.min(3) {
            for choice in 0..1_usize << early {
                let closers = (0..early).map(|bit| if choice >> bit & 1 == 1 { '}' } else { ']' });
                let other = format!("{}{}{}", &text[..at], closers.collect::<String>(), &text[at..]);
                for late in 0..1_usize << (count - early).min(4) {
                    let closers = (0..count - early).map(|bit| if late >> bit & 1 == 1 { '}' } else { ']' });
                    texts.push(format!("{other}{}", closers.collect::<String>()));
                }
            }
        }
    }
    texts
}

/// The texts without some of the closers at the end, which begin at `end`, but without as many others.
fn without_closers_elsewhere(text: &str, end: usize) -> Vec<String> {
    let (kept, surplus) = text.split_at(end);
    let surplus = surplus.replace(|character: char| character.is_whitespace(), "");
    let is_closer = |character: char| matches!(character, '}' | ']');
    let mut texts = Vec::new();
    for at in outside_strings(kept).into_iter().filter(|&at| kept[at..].starts_with(is_closer)) {
        let len = kept[at..].chars().take_while(|character| is_closer(*character)).count();
        for early in 1..=len.min(surplus.len()) {
            let other = format!("{}{}", &kept[..at], &kept[at + early..]);
            for choice in 0..1_usize << surplus.len() {
                if choice.count_ones() as usize == early {
                    let late = surplus.char_indices().filter(|(bit, _)| choice >> bit & 1 == 1);
                    texts.push(format!("{other}{}", late.map(|(_, closer)| closer).collect::<String>()));
                }
            }
        }
    }
    texts
}

/// The offsets of the bytes that are not in a string.
fn outside_strings(text: &str) -> Vec<usize> {
    let (mut is_inside, mut is_escaped) = (false, false);
    let mut offsets = Vec::new();
    for (at, byte) in text.bytes().enumerate() {
        if !is_inside {
            offsets.push(at);
        }
        is_inside ^= byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
    }
    offsets
}
