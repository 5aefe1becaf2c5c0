//! Limits on memory and work.

use tokenline_core::{Code, json};
use tokenline_llm::{ResponseEvent, ResponseParser, TextMode};

use crate::common::{decode, parser, text};
use crate::{DONE, codes};

#[test]
fn memory_is_bounded() {
    // Endless choices, each with a text.
    let wire: String = (0..1000)
        .map(|index| {
            format!("data: {{\"choices\":[{{\"index\":{index},\"delta\":{{\"content\":\"{{}}\\n\"}}}}]}}\n\n")
        })
        .collect();
    let seen = decode(&mut parser(TextMode::Records), [wire.as_bytes(), DONE.as_bytes()]);
    assert_eq!((codes(&seen), seen.report.records()), (vec![Code::RecordTooLarge], 128));
    // An endless line: one diagnostic, and what follows is delivered.
    let mut parser = parser(TextMode::Records);
    let piece = text(&"x".repeat(100_000));
    let wire = [text("{\"a\":\"")]
        .into_iter()
        .chain(vec![piece; 200])
        .chain([text("\"}\n{\"b\":2}\n"), DONE.to_owned()]);
    let wire = wire.collect::<String>();
    let seen = decode(&mut parser, wire.as_bytes().chunks(4096));
    assert_eq!((codes(&seen), seen.report.records()), (vec![Code::LineTooLong], 1));
    // An event of 64 MB is rejected, and so is its line.
    let wire =
        [text("{\"a\":1}\n"), text(&"x".repeat(64 << 20)), text("\n{\"b\":2}\n"), DONE.to_owned()].concat();
    let seen = decode(&mut parser, wire.as_bytes().chunks(1 << 16));
    assert_eq!((codes(&seen), seen.report.records()), (vec![Code::LineTooLong, Code::MalformedJson], 2));
}

#[test]
fn an_event_of_tiny_records_is_read_as_they_are_taken() {
    let one = text(&"{}\n".repeat(100_000));
    let mut parser = parser(TextMode::Records);
    for _ in 0..3 {
        parser.push(one.as_bytes());
    }
    parser.push(DONE.as_bytes());
    parser.finish();
    let waiting = |parser: &ResponseParser<json::Raw>| {
        let debug = format!("{parser:?}");
        let count = debug.split_once("events: ").expect("a count").1;
        count
            .split(|char: char| !char.is_ascii_digit())
            .next()
            .expect("a number")
            .parse::<usize>()
            .expect("a number")
    };
    let mut records = 0;
    let mut most = waiting(&parser);
    while let Some(event) = parser.next_event() {
        records += usize::from(matches!(event, ResponseEvent::Record { .. }));
        if records % 1000 == 0 {
            most = most.max(waiting(&parser));
            assert!(records == 300_000 || !parser.is_complete());
        }
    }
    assert!((1000..5000).contains(&most), "{most}");
    assert_eq!(records, 300_000);
    assert!(parser.is_complete() && parser.report().is_complete());
}
