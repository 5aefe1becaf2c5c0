//! Malformed arrays of records.

use tokenline_core::Options;

use crate::common::{Seen, decode};
use crate::lenient;
use crate::random::Random;

#[test]
fn a_line_of_an_array_that_is_not_utf8_is_one_diagnostic() {
    assert_eq!(
        lenient(b"[{\"a\":1}\xff{\"a\":2}]\nprose\n{\"a\":3}\n"),
        ["invalid_utf8", "(prose)", "newline {\"a\":3}"]
    );
    assert_eq!(
        lenient(b"[{\"a\":1},\xff{\"a\":2}]\n{\"a\":3}\n"),
        ["array_element {\"a\":1}", "invalid_utf8", "newline {\"a\":3}"]
    );
    assert_eq!(
        lenient(b"[\n{\"a\":1},\n{\"a\":\"\xff\"},\n{\"a\":3}\n]\n"),
        ["array_element {\"a\":1}", "invalid_utf8", "newline {\"a\":3}"]
    );
}

/// Records and rejects of a malformed array are in order and apart, so that each byte is reported once.
#[test]
fn faults_of_an_array_are_apart() {
    let spans = |input: &str| -> Vec<(u64, u64, String)> {
        let seen = decode(Options::lenient(), [input.as_bytes()]);
        let spans = seen.iter().filter_map(|event| match event {
            Seen::Record { record, .. } => Some((record.span, "record".to_owned())),
            Seen::Rejected(diagnostic) => Some((diagnostic.span, diagnostic.code.to_string())),
            Seen::Note(_) => None,
        });
        spans.map(|(span, what)| (span.start, span.end, what)).collect()
    };
    // The end of the array is in the rejected part.
    assert_eq!(
        spans("[{\"a\":1}{ :\"s\"null[{\"a\":1} {\"a\":1}]\n"),
        [(1, 8, "record".to_owned()), (8, 35, "malformed_json".to_owned())]
    );
    // It goes on after it, and is left open.
    assert_eq!(
        spans("[{\"a\":1},\n{\"a\":x,,\n{\"a\":2},\n").last(),
        Some(&(26, 28, "truncated".to_owned()))
    );
    let parts: [&str; 19] = [
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "\"a\"",
        "1",
        "NaN",
        "{\"a\":1}",
        "{\"a\":NaN}",
        "\"x",
        "\n",
        " ",
        "{\"a\":{\"b\":2}}",
        "nope",
        "[{\"a\":1}",
        "null",
        "\"s\"",
    ];
    let mut random = Random::new(7);
    for _ in 0..10_000 {
        let mut input = "[".to_owned();
        for _ in 0..2 + random.below(12) {
            input += *random.pick::<&str>(&parts);
        }
        input += *random.pick::<&str>(&["", "]", "]\n", "\n"]);
        let mut reported_to = 0;
        for (start, end, what) in spans(&input) {
            assert!(start >= reported_to && end >= start, "{what} {start}..{end} in {input:?}");
            reported_to = end;
        }
    }
}
