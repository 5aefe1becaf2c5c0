//! The work of deltas and snapshots is counted, not timed: it does not grow with the record.

use tokenline_core::json::{Change, Key, Parser};
use tokenline_core::{Event, JsonlParser, Options};

const TOKEN: usize = 4;

/// An order with many items, of at least this many bytes.
fn order(bytes: usize) -> String {
    let mut out = r#"{"id":"order_1","items":["#.to_owned();
    while out.len() < bytes {
        let count = out.len();
        out += &format!(
            r#"{{"name":"large \"box\" \u00e9 {count}","quantity":{count},"tags":["a","b"],"size":{{"w":1.5}}}},"#
        );
    }
    out += r#"{}],"note":""#;
    while out.len() < 2 * bytes {
        out += "and a note that is one long string, ";
    }
    out + "\"}\n"
}

/// The most bytes examined for one token.
fn most_for_a_token(document: &str, with_snapshots: bool) -> u64 {
    let mut parser = Parser::new();
    let (mut most, mut before) = (0, 0);
    for end in (TOKEN..document.len()).step_by(TOKEN) {
        let document = &document[..end];
        let _ = parser.resume(document);
        while parser.next_delta(document).is_some() {}
        if with_snapshots {
            let _ = parser.snapshot(document);
        }
        most = most.max(parser.examined() - before);
        before = parser.examined();
    }
    most
}

#[test]
fn a_push_costs_its_new_bytes() {
    for with_snapshots in [false, true] {
        let small = most_for_a_token(&order(2_000), with_snapshots);
        let large = most_for_a_token(&order(500_000), with_snapshots);
        assert_eq!(large, small);
        // Twice the token, the name that ends in it, and the open containers.
        assert!(large <= 2 * TOKEN as u64 + 8 + 4 * u64::from(with_snapshots), "{large}");
    }
}

#[test]
fn a_push_of_records_costs_its_new_bytes() {
    let most = |bytes| {
        let mut parser = JsonlParser::new(Options::lenient().partials(true));
        let (mut most, mut before) = (0, 0);
        for piece in order(bytes).as_bytes().chunks(TOKEN) {
            parser.push(piece.to_vec());
            while parser.next_event().is_some() {}
            let _ = parser.snapshot();
            most = most.max(parser.decoder().examined() - before);
            before = parser.decoder().examined();
        }
        most
    };
    let small = most(2_000);
    assert_eq!(most(500_000), small);
    assert!(small <= 3 * TOKEN as u64 + 12, "{small}");
}

/// Records with paths far longer than their values.
fn long_paths() -> [String; 3] {
    let name = "name".repeat(5_000);
    // All different, so that each is examined when names are compared.
    let members: Vec<_> = (0..20_000).map(|member| format!("\"{member}\":0")).collect();
    let many = format!("{{\"{name}\":{{{}}}}}\n", members.join(","));
    let escaped = format!("{{\"\\n{name}\":[{}0]}}\n", "\"\\n\",".repeat(20_000));
    let level = format!("{{\"a\":[1,\"text\"],\"{}\":", "~/".repeat(2_000));
    let deep = format!("{}{{}}{}\n", level.repeat(126), "}".repeat(126));
    [many, escaped, deep]
}

/// A name is examined once, not for everything below it.
#[test]
fn the_work_does_not_grow_with_the_path() {
    for document in long_paths() {
        let mut parser = Parser::new();
        let mut deltas = 0;
        for end in [document.len() / 3, document.len()] {
            let _ = parser.resume(&document[..end]);
            while let Some(delta) = parser.next_delta(&document[..end]) {
                // Searching for one place does not grow either.
                assert!(!delta.is_at("/name/0/tags"));
                assert!(delta.depth < 128);
                deltas += 1;
            }
        }
        assert!(deltas > 126 * 7, "{deltas}");
        assert!(parser.examined() <= 2 * document.len() as u64);
    }
}

/// Deltas contain only what is new: names, text and literals together are no longer than the document.
#[test]
fn deltas_are_no_longer_than_the_document() {
    for document in long_paths() {
        for piece in [7, document.len()] {
            let mut parser = JsonlParser::new(Options::strict().partials(true));
            let mut yielded = 0;
            for piece in document.as_bytes().chunks(piece) {
                parser.push(piece.to_vec());
                while let Some(event) = parser.next_event() {
                    let Event::Partial(partial) = event else { continue };
                    yielded += match (partial.value.change, partial.value.key) {
                        (Change::Open(_), Some(Key::Name(name))) => name.len(),
                        (Change::Append(text), _) => text.len(),
                        (Change::Set(value), Some(Key::Name(name))) => name.len() + value.raw().len(),
                        (Change::Set(value), _) => value.raw().len(),
                        _ => 0,
                    };
                }
            }
            assert!(
                yielded > document.len() / 4 && yielded <= document.len(),
                "{yielded} of {}",
                document.len()
            );
        }
    }
}
