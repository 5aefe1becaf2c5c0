//! The work of deltas and snapshots is counted, not timed: it does not grow with the record.

use tokenline_core::json::Parser;
use tokenline_core::{JsonlParser, Options};

const TOKEN: usize = 4;

/// An order with many items, of at least so many bytes.
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

/// The most that is looked at for one token.
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
fn a_push_costs_what_it_brings() {
    for with_snapshots in [false, true] {
        let small = most_for_a_token(&order(2_000), with_snapshots);
        let large = most_for_a_token(&order(500_000), with_snapshots);
        assert_eq!(large, small);
        // Twice the token, the name that ends in it, and what is open.
        assert!(large <= 2 * TOKEN as u64 + 8 + 4 * u64::from(with_snapshots), "{large}");
    }
}

#[test]
fn so_does_a_push_of_records() {
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

/// A long name is looked at once, not with everything that is below it.
#[test]
fn a_long_path_is_built_once() {
    let document = format!("{{\"{}\":[{}0]}}", "name".repeat(10_000), "0,".repeat(10_000));
    let mut parser = Parser::new();
    let _ = parser.resume(&document);
    let mut deltas = 0;
    while let Some(delta) = parser.next_delta(&document) {
        assert!(delta.path.is_empty() || delta.path.len() > 40_000);
        deltas += 1;
    }
    assert_eq!(deltas, 10_005);
    assert!(parser.examined() <= 2 * document.len() as u64);
}
