//! The parser accepts the same documents as serde_json and reads the same values, for any chunks.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tokenline_core::json::{Parser, Step};

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut parser = Parser::new();
    let ours = parser.parse(text).map(|value| value.to_value().map_err(|error| error.to_string()));
    let accepted = ours.is_ok();
    match (ours, serde_json::from_str::<serde_json::Value>(text)) {
        (Ok(Ok(ours)), Ok(theirs)) => assert_eq!(ours, theirs),
        (Err(_), Err(_)) => {}
        (Ok(Err(message)), Err(theirs)) => {
            assert_eq!(message, "number out of range");
            assert!(theirs.to_string().contains("out of range"), "{theirs}");
        }
        (ours, theirs) => panic!("{ours:?} against {theirs:?}"),
    }
    parser.reset();
    for (at, _) in text.char_indices() {
        parser.resume(&text[..at]);
    }
    let whole = match parser.finish(text) {
        Step::Complete { end } => text[end..].bytes().all(|byte| b" \t\r\n".contains(&byte)),
        _ => false,
    };
    assert_eq!(whole, accepted);
});
