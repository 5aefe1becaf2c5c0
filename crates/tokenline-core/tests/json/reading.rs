//! Reading values: members, literals, positions.

use tokenline_core::json::{Kind, LoneSurrogates, Parser, Raw};

use crate::check;

#[test]
fn notices_repeated_names_however_they_are_written() {
    let repeated = |text: &str| {
        let mut parser = Parser::new();
        parser.parse(text).unwrap().repeated_name()
    };
    assert_eq!(repeated(r#"{"a":1,"b":2}"#), None);
    assert_eq!(repeated(r#"{"a":1,"a":2}"#), Some(7));
    assert_eq!(repeated(r#"{"a":1,"\u0061":2}"#), Some(7));
    assert_eq!(repeated(r#"{"\u0061b":1,"ab":2}"#), Some(13));
    assert_eq!(repeated(r#"{"a":{"a":1},"b":{"a":1}}"#), None);
    assert_eq!(repeated(r#"[{"a":1},{"a":1}]"#), None);
    assert_eq!(repeated(r#"{"a":{"x":1,"x":2},"b":3}"#), Some(12));
    assert_eq!(repeated(r#"{"a":[{"b":1}],"c":1,"a":2}"#), Some(21));
    for count in [2, 31, 32, 33, 34, 100, 1000] {
        let members: Vec<String> = (0..count).map(|i| format!("\"member{i}\":{{\"x\":{i}}}")).collect();
        let clean = format!("{{{}}}", members.join(","));
        assert_eq!(repeated(&clean), None, "{count}");
        for at in [0, count / 2, count - 1] {
            let text = format!("{},\"member{at}\":0}}", &clean[..clean.len() - 1]);
            assert_eq!(repeated(&text), Some(clean.len()), "{count} {at}");
            assert_eq!(check(&text).unwrap()[format!("member{at}")], 0);
        }
    }
}

#[test]
fn the_last_of_repeated_names_wins() {
    let mut parser = Parser::new();
    let value = parser.parse(r#"{"a":1,"b":0,"a":2}"#).unwrap();
    assert_eq!(value.get("a").unwrap().raw(), "2");
    assert_eq!(value.as_object().unwrap().len(), 3);
}

#[test]
fn reads_without_loss() {
    let mut parser = Parser::new();
    let text = r#" {"s":"a\u00e9\n\ud83d\ude00","n":-0.90,"big":123456789012345678901234567890,"o":{"~/":[true,null]}} "#;
    let value = parser.parse(text).unwrap();
    assert_eq!(value.get("s").unwrap().as_str().unwrap(), "aé\n😀");
    assert_eq!(value.get("s").unwrap().char_count(), Some(4));
    assert_eq!(value.get("n").unwrap().raw(), "-0.90");
    let big = value.get("big").unwrap().as_number().unwrap();
    assert_eq!((big.as_u64(), big.as_str()), (None, "123456789012345678901234567890"));
    assert_eq!(
        value.get("big").unwrap().deserialize::<u128>().unwrap(),
        123_456_789_012_345_678_901_234_567_890
    );
    assert!(value.get("big").unwrap().deserialize::<u64>().is_err());
    let element = value.pointer("/o/~0~1/1").unwrap();
    assert_eq!(element.kind(), Kind::Null);
    assert_eq!(value.pointer_at(element.range().start), "/o/~0~1/1");
    assert_eq!(value.pointer("/o/~0~1/01").map(tokenline_core::json::Value::kind), None);
    assert_eq!(Raw::from(value).as_str(), text.trim());
    assert_eq!(value.deserialize::<Raw>().unwrap().as_str(), text.trim());
    assert_eq!(serde_json::from_str::<Raw>(" [1.50] ").unwrap().as_str(), "[1.5]");
}

#[test]
fn one_value_fits_on_one_line() {
    let on_one = |text: &str| Raw::new(text).unwrap().to_single_line().into_owned();
    assert_eq!(on_one(" {\"a\": 1.0 } "), "{\"a\": 1.0 }");
    assert_eq!(
        on_one("{\r\n\t\"a b\": [ 1.0,\n \"x\\\" \\\\\" ],\n \"\\u000a\": {} }"),
        "{\"a b\":[1.0,\"x\\\" \\\\\"],\"\\u000a\":{}}"
    );
}

#[test]
fn a_number_beyond_f64_fails_only_as_f64() {
    let mut parser = Parser::new();
    let value = parser.parse(r#"{"a":1e400,"b":1}"#).unwrap();
    assert_eq!(value.get("a").unwrap().raw(), "1e400");
    assert_eq!(value.get("a").unwrap().as_number().unwrap().to_f64_saturating(), f64::INFINITY);
    assert!(value.to_value().is_err());
    #[derive(serde::Deserialize)]
    struct OnlyB {
        b: u8,
    }
    assert_eq!(value.deserialize::<OnlyB>().unwrap().b, 1);
}

#[test]
fn reads_lone_surrogates_on_request() {
    // High and low halves, a backslash, and a replacement character.
    const UNITS: [u16; 6] = [0xD83D, 0xDBFF, 0xDE00, 0xDC00, 0x5C, 0xFFFD];
    let mut parser = Parser::new();
    for number in 0..UNITS.len().pow(4) {
        let units: Vec<u16> =
            (0..4).map(|digit| UNITS[number / UNITS.len().pow(digit) % UNITS.len()]).collect();
        let string: String = units.iter().map(|unit| format!("\\u{unit:04X}")).collect();
        let document = format!(r#"{{"{string}":"{string}","":"\\ud83d"}}"#);
        let text = String::from_utf16_lossy(&units);
        let has_lone = String::from_utf16(&units).is_err();
        let value = parser.parse_lossy(&document).unwrap();
        let member = value.get(&text).unwrap();
        assert_eq!(member.as_str().unwrap(), text);
        assert_eq!(member.char_count(), Some(text.chars().count()));
        let low = Some(units[0]).filter(|unit| (0xDC00..0xE000).contains(unit));
        let high = Some(units[3]).filter(|unit| (0xD800..0xDC00).contains(unit));
        assert_eq!(member.lone_surrogates(), has_lone.then_some(LoneSurrogates { low, high }));
        let other = value.get("").unwrap();
        assert_eq!(other.as_str().unwrap(), r"\ud83d");
        assert_eq!(other.lone_surrogates(), has_lone.then(LoneSurrogates::default));
        assert_eq!(parser.parse(&document).is_err(), has_lone);
    }
    for bad in [r#""\ud83d"#, r#""\ud83"#, r#""\ud83d\x""#, r#""\ud83d\u12""#, r#"["\ude00"}"#] {
        assert!(parser.parse_lossy(bad).is_err(), "{bad}");
    }
    let error = parser.parse_lossy("\"\\ud83d\t\"").unwrap_err();
    assert_eq!(error.offset, 7);
}
