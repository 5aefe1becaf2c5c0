//! Line feeds in strings: the string goes on in the next line, unless that proves to be one of its own.

use tokenline_core::adapter::Driver;
use tokenline_core::json::Raw;
use tokenline_core::{Options, Reads, TextEvent, TextParser};

use crate::common::random::Random;
use crate::delivered::{at_every_cut, driver, read};

fn unrepaired() -> Driver<Raw> {
    Driver::new(Options::lenient())
}

#[test]
fn a_line_feed_in_a_string_is_repaired() {
    for (text, expected) in [
        ("{\"a\":\"x\ny\"}\n{\"n\":2}\n", vec!["1:1 {\"a\":\"x\\ny\"}", "3:1 {\"n\":2}"]),
        (
            "{\"a\":\"x\n\nThen.\",\"b\":1}\n{\"n\":2}\n",
            vec!["1:1 {\"a\":\"x\\n\\nThen.\",\"b\":1}", "4:1 {\"n\":2}"],
        ),
        (
            "{\"a\":\"- one\n- two\n1. three\"\n}\n{\"n\":2}\n",
            vec!["1:1 {\"a\":\"- one\\n- two\\n1. three\"\n}", "5:1 {\"n\":2}"],
        ),
        ("{\"a\":\"x\n  y\nz\"}\n{\"n\":2}\n", vec!["1:1 {\"a\":\"x\\n  y\\nz\"}", "4:1 {\"n\":2}"]),
        ("{\"a\":\"x\r\ny\"}\r\n{\"n\":2}\r\n", vec!["1:1 {\"a\":\"x\\r\\ny\"}", "3:1 {\"n\":2}"]),
    ] {
        let (seen, report) = at_every_cut(driver, text);
        let records: Vec<&str> =
            seen.iter().map(|line| line.split(" control_character").next().unwrap()).collect();
        assert_eq!(records, expected, "{text:?}");
        assert_eq!(report.rejected(), 0);
    }
}

#[test]
fn a_string_that_is_left_open_costs_no_other_record() {
    for text in [
        "{\"a\":\"x\n{\"n\":2}\n",
        "{\"a\":\"x\nHere it is: {\"n\":2}\n",
        "{\"a\":\"x\n- {\"n\":2}\n",
        "{\"a\":\"x\nOne more.\n\n1. {\"n\":2}\n",
        "{\"a\":\"x\n```json\n{\"n\":2}\n```\n",
        "{\"a\":\"x\nSee \"this\" and {\"n\":2}\n",
        "{\"a\":\"x\n[{\"n\":2}]\n",
    ] {
        let (seen, report) = at_every_cut(driver, text);
        assert!(
            seen.iter().any(|line| line.contains("{\"n\":2}") && !line.contains("malformed")),
            "{text:?}: {seen:?}"
        );
        assert_eq!((report.records(), report.rejected()), (1, 1), "{text:?}: {seen:?}");
        let without = at_every_cut(unrepaired, text).0;
        let records = |seen: &[String]| {
            seen.iter().filter(|line| line.contains("{\"n\":2}")).cloned().collect::<Vec<_>>()
        };
        assert_eq!(records(&seen), records(&without));
    }
}

/// Parts of lines. A record has a number of its own.
const PARTS: [&str; 16] = [
    "{\"a\":\"x",
    "{\"a\":\"x\",\"b\":\"y",
    "{\"a\":[{\"b\":\"x",
    "y",
    "Then ",
    "\"",
    "\"}",
    "\"}]}",
    "\",",
    "- ",
    "  ",
    "\\",
    "{\"n\":#}",
    "Here: {\"n\":#}",
    "[{\"n\":#}]",
    "\n",
];

#[test]
fn random_texts_lose_nothing_to_an_open_string() {
    let mut random = Random::new(54);
    let mut repaired = 0;
    for _ in 0..20_000 {
        let text = random_text(&mut random);
        let (seen, report) = read(driver(), &[text.as_bytes()]);
        let mut pieces = Vec::new();
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            let (piece, after) = rest.split_at((1 + random.below(9)).min(rest.len()));
            pieces.push(piece);
            rest = after;
        }
        assert_eq!(read(driver(), &pieces), (seen.clone(), report.clone()), "{text:?}");
        assert_eq!(texts(&pieces), texts(&[text.as_bytes()]), "{text:?}");
        repaired += report.repaired();
        for record in read(unrepaired(), &[text.as_bytes()]).0 {
            let Some((_, number)) = record.split_once(" {\"n\":") else { continue };
            let value = format!("{{\"n\":{number}");
            let line = text.lines().find(|line| line.contains(&value)).expect("its line");
            // A quote before it may close the string, no text begins like a member, and a line that is indented deeper
            // belongs to a reject.
            let before = line.split(&value).next().unwrap_or_default();
            let may_continue = before.contains('"')
                || line.trim_start().starts_with([',', ':', '}', ']'])
                || line.starts_with(' ');
            assert!(
                may_continue || seen.iter().any(|seen| seen.contains(&value)),
                "{value} is lost in {text:?}: {seen:?}"
            );
        }
    }
    assert!(repaired > 500, "{repaired}");
}

/// The text for people, and the number of records.
fn texts(pieces: &[&[u8]]) -> (String, u64) {
    let mut parser = TextParser::<Raw>::from_driver(&driver(), Reads::Records);
    let mut text = String::new();
    let mut take = |parser: &mut TextParser<Raw>| {
        while let Some(event) = parser.next_event() {
            if let TextEvent::Text(piece) = event {
                text += &piece;
            }
        }
    };
    for piece in pieces {
        parser.push(piece);
        take(&mut parser);
    }
    parser.finish();
    take(&mut parser);
    (text, parser.report().records())
}

fn random_text(random: &mut Random) -> String {
    let mut text = String::new();
    for number in 0..2 + random.below(14) {
        text += &random.pick(&PARTS).replace('#', &number.to_string());
        if random.once_in(2) {
            text.push('\n');
        }
    }
    text
}
