//! The JSON parser compared with serde_json: what it accepts and reads, split at every position.

mod cut;
mod generated;
mod grammar;
mod reading;
mod typed;

use tokenline_core::json::{Parser, Step};

/// Parses the text at once, byte by byte and in two chunks split at every position, and checks that all agree
/// with each other and with serde_json. Returns serde_json's result.
fn check(text: &str) -> Result<serde_json::Value, usize> {
    let mut parser = Parser::new();
    let whole = match parser.parse(text) {
        Ok(value) => Ok((value.to_value().map_err(|error| error.to_string()), value.raw().to_owned())),
        Err(error) => Err(error),
    };
    let expected = serde_json::from_str::<serde_json::Value>(text);
    match (&whole, &expected) {
        (Ok((Ok(value), _)), Ok(expected)) => assert_eq!(value, expected, "{text}"),
        (Err(_), Err(_)) => {}
        // A number beyond f64 is kept as its literal; only reading it as an f64 fails.
        (Ok((Err(error), _)), Err(expected)) => {
            assert_eq!(error, "number out of range");
            assert!(expected.to_string().contains("out of range"), "{text}: {expected}");
        }
        _ => panic!("{text:?}: tape says {whole:?}, serde_json {expected:?}"),
    }

    let finish = |parser: &mut Parser| match parser.finish(text) {
        Step::Complete { end } if text[end..].trim_matches([' ', '\t', '\r', '\n']).is_empty() => {
            Ok(parser.value(text).raw().to_owned())
        }
        Step::Complete { .. } | Step::NeedMore => Err(None),
        Step::Malformed(error) => Err(Some(error)),
    };
    let same = |got: Result<String, Option<_>>, how: &str| match (&whole, got) {
        (Ok((_, raw)), Ok(got)) => assert_eq!(*raw, got, "{how}"),
        (Err(error), Err(Some(got))) => assert_eq!(*error, got, "{how}"),
        (Err(_), Err(None)) => {}
        (whole, got) => panic!("{text:?} {how}: {whole:?} against {got:?}"),
    };
    let boundaries: Vec<usize> = (0..=text.len()).filter(|&at| text.is_char_boundary(at)).collect();
    let mut parser = Parser::new();
    for &at in &boundaries {
        parser.resume(&text[..at]);
    }
    same(finish(&mut parser), "byte by byte");
    assert!(parser.examined() <= text.len() as u64);
    if text.len() < 400 {
        for &at in &boundaries {
            parser.reset();
            parser.resume(&text[..at]);
            same(finish(&mut parser), "in two");
        }
    }
    whole.map(|_| expected.unwrap_or_default()).map_err(|error| error.offset)
}
