//! `RawStr` compared with the parser on the same strings, and both with serde_json.

use proptest::prelude::*;
use tokenline_core::json::{Parser, RawStr, Step};

/// Reads the text after an opening quote in both ways.
fn check(rest: &str) {
    let document = format!("\"{rest}");
    let mut parser = Parser::new();
    let expected = match parser.resume(&document) {
        Step::Complete { end } => {
            let text = parser.value(&document).as_str().expect("a string").into_owned();
            // It refuses halves of surrogate pairs.
            if let Ok(other) = serde_json::from_str::<String>(&document[..end]) {
                assert_eq!(text, other, "{rest:?}");
            }
            Some((document[1..end - 1].to_owned(), text))
        }
        Step::NeedMore | Step::Malformed(_) => None,
    };
    let read = RawStr::at_start(rest);
    let found = read.map(|string| (string.as_str().to_owned(), string.unescape().into_owned()));
    assert_eq!(found, expected, "{rest:?}");
    if let Some(read) = read {
        let mut buffer = "of another string".to_owned();
        assert_eq!(read.unescape_in(&mut buffer), read.unescape());
        assert_eq!((read.len(), read.is_empty()), (read.as_str().len(), read.as_str().is_empty()));
    }
}

#[test]
fn ends_and_escapes() {
    for rest in [
        "",
        "\"",
        "\"more\"",
        "a",
        "a\\",
        "a\\\"",
        "a\\\"\"",
        "a\\\\\"b\"",
        r#"\b\f\n\r\t\/\\\"""#,
        r#"\x""#,
        r#"\u""#,
        r#"\u12""#,
        r#"\u12g4""#,
        r#"\u00e9""#,
        r#"\uD83D\uDE00""#,
        r#"\ud83d""#,
        r#"\ud83d\n""#,
        r#"\ud83d\u0041""#,
        r#"\ud83d\ud83d\ude00""#,
        r#"\ude00""#,
        r"\ud83d\ude0",
        "\u{7f}\u{80}é😀\"",
        "a\tb\"",
        "a\nb\"",
        "a\u{1f}\"",
        "sixteen bytes ..\"",
        "more than sixteen bytes, and then \\n\"",
        "more than sixteen bytes, and then \n\"",
    ] {
        check(rest);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn any_text(pieces in prop::collection::vec(
        prop_oneof![
            Just("\\"), Just("\""), Just("\\\""), Just("\\n"), Just("\\u"), Just("\\ud83d"), Just("\\ude00"),
            Just("00e9"), Just("D83"), Just("\\u20ac"), Just("\\ud83d\\ude00"), Just("\\\\"), Just("\\b\\f\\r\\t\\/"), Just("\t"), Just("é"), Just("😀"), Just("abcdefghijklmnop"), Just("x"),
        ],
        0..12,
    )) {
        check(&pieces.concat());
    }
}
