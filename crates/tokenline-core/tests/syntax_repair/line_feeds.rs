//! Line feeds in strings: the string goes on in the next line, unless that proves to be one of its own.

use tokenline_core::adapter::Driver;
use tokenline_core::json::Raw;
use tokenline_core::{Event, Limits, Options, Reads, RecordDecoder, TextEvent, TextParser};

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
        let pieces = random.pieces(text.as_bytes(), 9);
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

/// A byte that is not UTF-8 and a limit end a line that may continue a string.
#[test]
fn random_bytes_are_read_the_same_at_any_cut() {
    let mut random = Random::new(55);
    for _ in 0..20_000 {
        let mut bytes = random_text(&mut random).into_bytes();
        for _ in 0..random.below(3) {
            let at = random.below(bytes.len() + 1);
            bytes.insert(at, *random.pick(&[0xFF, 0xC3, 0xEF]));
        }
        let mut options = Options::lenient().repair_syntax(true);
        if random.once_in(3) {
            options = options.limits(Limits { line_bytes: 8 + random.below(40), ..Limits::DEFAULT });
        }
        let decoded = |pieces: &[&[u8]]| {
            let mut decoder = RecordDecoder::new(options.clone());
            let mut seen = Vec::new();
            for piece in pieces {
                let mut rest = *piece;
                loop {
                    let decoded = decoder.decode(rest);
                    let consumed = decoded.consumed;
                    let event = decoded.event.map(|event| format!("{event:?}"));
                    rest = &rest[consumed..];
                    let Some(event) = event else { break };
                    seen.push(event);
                }
            }
            seen.extend(std::iter::from_fn(|| decoder.finish().map(|event| format!("{event:?}"))));
            seen
        };
        let pieces = random.pieces(&bytes, 9);
        assert_eq!(decoded(&pieces), decoded(&[&bytes]), "{:?}", String::from_utf8_lossy(&bytes));
    }
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

#[test]
fn a_line_that_may_continue_a_string_is_held_within_the_limit() {
    let limits = Limits { line_bytes: 1000, ..Limits::DEFAULT };
    let mut decoder = RecordDecoder::new(Options::lenient().repair_syntax(true).limits(limits));
    assert!(decoder.decode(b"{\"a\":\"x\n").event.is_none());
    let (mut most, mut rejected) = (0, 0);
    for _ in 0..10_000 {
        let mut rest = &b"some text, and more of it, "[..];
        while !rest.is_empty() {
            let decoded = decoder.decode(rest);
            rejected += u64::from(matches!(decoded.event, Some(Event::Rejected(_))));
            rest = &rest[decoded.consumed..];
        }
        most = most.max(decoder.held_bytes());
    }
    assert!(most <= 1100, "{most} bytes are held");
    assert_eq!(rejected, 0);
    let mut seen = Vec::new();
    for part in [&b"\n{\"n\":2}\n"[..], b""] {
        let mut rest = part;
        loop {
            let decoded = decoder.decode(rest);
            let Some(event) = decoded.event else { break };
            seen.push(format!("{event:?}"));
            rest = &rest[decoded.consumed..];
        }
    }
    assert!(seen.last().is_some_and(|seen| seen.contains("{\"n\":2}")), "{seen:?}");
}
