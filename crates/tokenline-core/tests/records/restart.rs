//! Reading on after a restart, at the line of the record that was stored last.

use proptest::prelude::*;
use tokenline_core::{JsonlParser, LentEvent, Options};

/// The text and place of each event, without the evidence that it is complete.
fn events(mut parser: JsonlParser, text: &str) -> Vec<(String, u64, u64, u64)> {
    parser.push(text);
    let mut events = Vec::new();
    let mut has_ended = false;
    loop {
        match parser.next_event() {
            Some(LentEvent::Record(record)) => {
                events.push((
                    record.value.raw().to_owned(),
                    record.line,
                    record.line_start(),
                    record.span.end,
                ));
            }
            Some(LentEvent::Rejected(diagnostic)) => {
                events.push((
                    diagnostic.to_string(),
                    diagnostic.line,
                    diagnostic.span.start,
                    diagnostic.span.end,
                ));
            }
            Some(_) => {}
            None if has_ended => return events,
            None => {
                parser.finish();
                has_ended = true;
            }
        }
    }
}

fn line() -> impl Strategy<Value = String> {
    let record = prop::sample::select(vec!["{\"a\":1}", "{\"b\":\"\u{e9}]\"}", "{}", "{\"c\":{\"d\":[{}]}}"]);
    let records = prop::collection::vec(record, 1..4);
    let space = prop::sample::select(vec!["", " ", "\t"]);
    let separator = prop::sample::select(vec![",", ", ", " ,"]);
    prop_oneof![
        (space, record_line()).prop_map(|(space, line)| format!("{space}{line}{space}")),
        (records, separator).prop_map(|(records, separator)| format!("[{}]", records.join(separator))),
    ]
}

fn record_line() -> impl Strategy<Value = String> {
    let lines = [
        "{\"a\":1}",
        "{\"b\":\"\u{e9}\"}",
        "",
        "{\"a\":x}",
        "not JSON",
        "{\"a\":1} {\"a\":2}",
        "{\n\"a\":\n1}",
    ];
    prop::sample::select(lines.map(str::to_owned).to_vec())
}

proptest! {
    /// Whatever was stored last, what follows it comes with the same place.
    #[test]
    fn nothing_is_lost_and_nothing_moves(
        lines in prop::collection::vec(line(), 1..6),
        ending in prop::sample::select(vec!["\n", "\r\n"]),
        has_mark in prop::bool::ANY,
        is_strict in prop::bool::ANY,
    ) {
        let text = format!("{}{}{ending}", if has_mark { "\u{feff}" } else { "" }, lines.join(ending));
        let parser = || JsonlParser::new(if is_strict { Options::strict() } else { Options::lenient() });
        let whole = events(parser(), &text);
        for (at, (_, line, line_start, end)) in whole.iter().enumerate() {
            if !text[..*end as usize].ends_with('}') {
                continue;
            }
            let rest = events(parser().starting_at(*line, *line_start), &text[*line_start as usize..]);
            let rest: Vec<_> = rest.into_iter().filter(|(.., to)| to > end).collect();
            prop_assert_eq!(&rest, &whole[at + 1..], "{:?} from {}", text, line_start);
        }
    }
}
