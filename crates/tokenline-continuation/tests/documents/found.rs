//! Where the value is does not depend on how the text came, and is where the scanner says.

use crate::random::{Random, VALUE_PARTS};
use tokenline_continuation::{
    ContextOptions, ContinuationFailure, Document, Join, MergeOptions, Status, merge,
};
use tokenline_core::{Code, Event, JsonlParser, Options};

#[derive(Debug, PartialEq)]
enum Found {
    Nothing,
    Whole(String),
    Cut,
    Rejected,
}

/// The result of the scanner for a complete text.
fn found(text: &str) -> Found {
    let mut parser = JsonlParser::new(Options::lenient().whole_values(true));
    parser.push(text.to_owned());
    parser.finish();
    while let Some(event) = parser.next_event() {
        match event {
            Event::Record(record) => return Found::Whole(record.value.raw().to_owned()),
            Event::Rejected(reject) if reject.code == Code::Truncated => return Found::Cut,
            Event::Rejected(_) => return Found::Rejected,
            _ => {}
        }
    }
    Found::Nothing
}

#[test]
fn the_value_is_where_the_scanner_says() {
    let mut random = Random::new(7);
    let options = ContextOptions::default();
    let mut undecided = 0;
    for _ in 0..100_000 {
        let len = 1 + random.below(12);
        let text: String = (0..len).map(|_| *random.pick(&VALUE_PARTS)).collect();
        let document = Document::of(&text);
        let mut growing = Document::new();
        for character in text.chars() {
            growing.push(character.encode_utf8(&mut [0; 4]));
            if random.once_in(4) {
                growing = growing.clone();
            }
        }
        assert_eq!(growing.status(), document.status(), "{text:?}");
        assert_eq!(growing.contexts(&options), document.contexts(&options), "{text:?}");
        // A think block may go on, and a fence may be closed after the cut.
        if text.contains("<think>") || text.contains("[THINK]") || text.contains("``") {
            continue;
        }
        let status = document.status();
        let fits = match found(&text) {
            // What looks like prose before the value is not known to be before its line ends.
            Found::Whole(_) | Found::Cut if status == Status::Empty && !text.ends_with('\n') => {
                undecided += 1;
                true
            }
            // White space may begin the line of a fence that ends what is cut before it.
            Found::Nothing | Found::Rejected if status == Status::Open => {
                text.trim_end().ends_with(document.text().trim_end())
            }
            Found::Nothing => status == Status::Empty,
            Found::Whole(raw) => status == Status::Complete && document.text().trim_end() == raw,
            Found::Cut => status == Status::Open,
            Found::Rejected => matches!(status, Status::Malformed(_)),
        };
        assert!(fits, "{text:?}: {status:?} {:?} and {:?}", document.text(), found(&text));
    }
    assert!(undecided < 5, "{undecided}");
}

/// The scanner finds prose, and then a value, in what the first parser has read already.
#[test]
fn a_value_behind_an_event_is_found_in_any_pieces() {
    let text = "[\n\"{\"{\n";
    for size in 1..=text.len() {
        let mut growing = Document::new();
        for piece in text.as_bytes().chunks(size) {
            growing.push(std::str::from_utf8(piece).unwrap());
        }
        assert_eq!(growing.status(), Document::of(text).status(), "{size}");
    }
}

/// The line of a fragment decides that what came before it, and looked like prose, is the value.
#[test]
fn a_fragment_may_show_that_the_document_is_before_it() {
    let (base, fragment) = ("o{'[{}]", "\u{1}\n");
    let mut document = Document::of(base);
    assert_eq!(document.status(), Status::Empty);
    let report = document.merge(fragment, &MergeOptions::default());
    assert_eq!((document.text(), report.end), ("[{}]", 0));
}

/// A few bytes of a long overlap that was asked for may be there by chance.
#[test]
fn a_short_part_of_the_requested_overlap_proves_nothing() {
    let base = r#"{"rows":[{"id":1},{"id":2"#;
    let rest = r#","x":1}]}"#;
    for (overlap, requested_overlap, join) in [
        (r#""id":2"#, Some(20), Join::Failed(ContinuationFailure::Unproven)),
        (r#""id":2"#, Some(6), Join::Exact),
        (r#""id":2"#, None, Join::Exact),
        (r#",{"id":2"#, Some(20), Join::Partial),
    ] {
        let options = MergeOptions { requested_overlap, ..MergeOptions::default() };
        let merged = merge(base, &format!("{overlap}{rest}"), &options);
        assert_eq!(merged.join, join, "{overlap} of {requested_overlap:?}");
    }
}
