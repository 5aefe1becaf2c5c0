//! The JSON parser against serde_json: what it accepts, what it reads, at every cut.

use proptest::prelude::*;
use tokenline_core::json::{Kind, Parser, Raw, Step};

/// Parses whole, byte by byte and in two pieces at every cut, and checks that all agree with each
/// other and with serde_json. The result is serde_json's view.
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
        // A number beyond f64 is kept as its literal and fails only who asks for an f64.
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

/// From RFC 8259's grammar, with the cases that JSONTestSuite calls `y_`.
const VALID: &[&str] = &[
    "[]",
    "[ ]",
    "{}",
    "{ }",
    " [1] ",
    "[[]   ]",
    "[\"\"]",
    "[1\n,2]",
    "\t{\"a\" : [ ] }\r\n",
    "null",
    "true",
    "false",
    "0",
    "-0",
    "-1",
    "42",
    "1.5",
    "-0.1",
    "1e5",
    "1E5",
    "1e+5",
    "1e-5",
    "1.5E+10",
    "0e1",
    "0e+1",
    "0.0",
    "123e65",
    "20e1",
    "1E-2",
    "123.456e78",
    "-0.000000000000000000000000000000000000000000000000000000001",
    "[null, 1, \"1\", {}]",
    "[1,null,null,null,2]",
    "[2] ",
    "\"asd\"",
    "\"\"",
    "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]",
    "[\"\\u0060\\u012a\\u12AB\"]",
    "[\"\\uD801\\udc37\"]",
    "[\"\\ud83d\\ude39\\ud83d\\udc8d\"]",
    "[\"\\u0000\"]",
    "[\"\\\\u0000\"]",
    "[\"\\\"\"]",
    "[\"a/*b*/c/*d//e\"]",
    "[\"\\\\a\"]",
    "[\"\\\\n\"]",
    "[\"\\u0012\"]",
    "[\"\\uFFFF\"]",
    "[\"asd \"]",
    "[\"\\uDBFF\\uDFFF\"]",
    "[\"new\\u00A0line\"]",
    "[\"\u{10ffff}\"]",
    "[\"\u{ffff}\"]",
    "[\"\\u0821\"]",
    "[\"\\u0123\"]",
    "[\"\u{2028}\"]",
    "[\"\u{2029}\"]",
    "[\"π\"]",
    "[\"\u{1bfff}\"]",
    "[\"\\u0061\\u30af\\u30EA\\u30b9\"]",
    "[\"\u{7f}\"]",
    "[\"a\u{7f}a\"]",
    "[\"\\uA66D\"]",
    "[\"€𝄞\"]",
    "[\"aa\"]",
    "{\"asd\":\"sdf\", \"dfg\":\"fgh\"}",
    "{\"asd\":\"sdf\"}",
    "{\"a\":\"b\",\"a\":\"c\"}",
    "{\"a\":\"b\",\"a\":\"b\"}",
    "{\"\":0}",
    "{\"foo\\u0000bar\": 42}",
    "{ \"min\": -1.0e+28, \"max\": 1.0e+28 }",
    "{\"x\":[{\"id\": \"xxxxxxxx\"}], \"id\": \"xxxxxxxx\"}",
    "{\"a\":[]}",
    "{\"title\":\"\\u041f\\u043e\\u043b\\u0442\"}",
    "{\n\"a\": \"b\"\n}",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775808",
    "-9223372036854775809",
    "123456789012345678901234567890",
    "0.1234567890123456789",
    "1e-400",
    "2.2250738585072014e-308",
    "-0.0",
    "-0e5",
    "1e400",
    "-1e400",
    "[1e400]",
    "{\"a\":1,\"\\u0061\":2}",
    "{\"a\\n\":1,\"b\":{\"\\ud83d\\ude00\":2}}",
];

/// The cases that JSONTestSuite calls `n_`, and their like.
const INVALID: &[&str] = &[
    "",
    " ",
    "[1 true]",
    "[\"\": 1]",
    "[\"\"],",
    "[,1]",
    "[1,,2]",
    "[\"x\",,]",
    "[\"x\"]]",
    "[\"\",]",
    "[\"x\"",
    "[x",
    "[3[4]]",
    "[1:2]",
    "[,]",
    "[-]",
    "[   , \"\"]",
    "[\"a\",\n4\n,1,",
    "[1,]",
    "[1,,]",
    "[\"\u{b}a\"\\f]",
    "[*]",
    "[\"\"",
    "[1,",
    "[1,\n1\n,1",
    "[{}",
    "[fals]",
    "[nul]",
    "[tru]",
    "[truee]",
    "nan",
    "[NaN]",
    "[Inf]",
    "[Infinity]",
    "[-Infinity]",
    "[-NaN]",
    "[++1234]",
    "[+1]",
    "[+Inf]",
    "[-01]",
    "[-1.0.]",
    "[-2.]",
    "[.-1]",
    "[.2e-3]",
    "[0.1.2]",
    "[0.3e+]",
    "[0.3e]",
    "[0.e1]",
    "[0E+]",
    "[0E]",
    "[0e+]",
    "[0e]",
    "[1.0e+]",
    "[1.0e-]",
    "[1.0e]",
    "[1 000.0]",
    "[1eE2]",
    "[2.e+3]",
    "[2.e-3]",
    "[2.e3]",
    "[9.e+]",
    "[0x1]",
    "[0x42]",
    "[1+2]",
    "[0x]",
    "[-foo]",
    "[- 1]",
    "[-012]",
    "[-.123]",
    "[-1x]",
    "[1ea]",
    "[1.]",
    "[.123]",
    "[1.2a-3]",
    "[1.8011670033376514H-308]",
    "[012]",
    "01",
    "1.",
    "-",
    "1e",
    "2 3",
    "[\"x\", truth]",
    "{[: \"x\"}\n",
    "{\"x\", null}",
    "{\"x\"::\"b\"}",
    "{\"a\":\"a\" 123}",
    "{key: 'value'}",
    "{\"a\":",
    "{\"a\"",
    "{:\"b\"}",
    "{\"a\" \"b\"}",
    "{1:1}",
    "{null:null}",
    "{\"id\":0,,,,,}",
    "{'a':0}",
    "{\"id\":0,}",
    "{\"a\":\"b\"}/**/",
    "{\"a\":\"b\"}#",
    "{\"a\":\"b\",,\"c\":\"d\"}",
    "{a: \"b\"}",
    "{\"a\":\"a",
    "{ \"foo\" : \"bar\", \"a\" }",
    "{\"a\":\"b\"}}",
    "{\"a\":true} \"x\"",
    "[\"\\uD800\\\"]",
    "[\"\\uD800\\u\"]",
    "[\"\\uD800\\u1\"]",
    "[\"\\uD800\\u1x\"]",
    "[é]",
    "[\"\\\u{0}\"]",
    "[\"\\x00\"]",
    "[\"\\\\\\\"]",
    "[\"\\\t\"]",
    "[\"\\🌀\"]",
    "[\"\\\"]",
    "[\"\\u00A\"]",
    "[\"\\uD834\\uDd\"]",
    "[\"\\a\"]",
    "[\"\\uqqqq\"]",
    "[\"\\uD800\"]",
    "[\"\\uDC00\"]",
    "[\"\\uD800\\uD800\"]",
    "[\"\\uD800\\n\"]",
    "[\"\\uDd1e\\uD834\"]",
    "[\"a\u{0}a\"]",
    "[\"new\nline\"]",
    "[\"\t\"]",
    "\"",
    "['single quote']",
    "abc",
    "\"\\",
    "\"a\\u",
    "<.>",
    "[<null>]",
    "[1]x",
    "[1]]",
    "[\"asd]",
    "aå",
    "[True]",
    "1]",
    "{\"x\": true,",
    "[][]",
    "]",
    "\u{feff}{}",
    "å",
    "[",
    "[1",
    "{",
    "}",
    "{]",
    "[}",
    "{\"a\":1]",
    "[1}",
    "\u{2060}",
    "[\u{c}]",
    "[\u{a0}1]",
    "*",
    "{\"a\":\"b\"}#{}",
    "[\"\\u{41}\"]",
    "[\\u000A\"\"]",
    "[\"a\"",
    "nulll",
    "nul",
    "tru e",
    "\"a\" \"b\"",
    "// c\n1",
    "{\"a\":undefined}",
    "--1",
    "1e1.5",
    "0x10",
    "1_000",
];

#[test]
fn accepts_and_reads_what_the_grammar_allows() {
    for text in VALID {
        assert!(check(text).is_ok(), "{text}");
    }
}

#[test]
fn rejects_what_the_grammar_does_not_allow() {
    for text in INVALID {
        assert!(check(text).is_err(), "{text}");
    }
}

#[test]
fn nests_as_deep_as_serde_json() {
    for (depth, accepted) in [(1, true), (127, true), (128, false)] {
        for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[{\"a\":", "}]")] {
            let depth = if open.len() > 5 { depth / 2 + usize::from(depth == 128) } else { depth };
            let inner = if open == "[" { "" } else { "1" };
            let text = format!("{}{inner}{}", open.repeat(depth), close.repeat(depth));
            let accepted = if open.len() > 5 { depth * 2 <= 127 } else { accepted };
            assert_eq!(check(&text).is_ok(), accepted, "{text}");
        }
    }
}

#[test]
fn says_where_and_what_was_expected() {
    let cases = [
        ("{\"a\":NaN}", "expected a value, found a letter at line 1 column 6"),
        ("{\n  \"a\" 1}", "expected `:` after the name, found a number at line 2 column 7"),
        ("[1,2", "expected `,` or `]`, found the end of the input at line 1 column 5"),
        ("{\"a\":1,}", "expected a name in double quotes, found `}` at line 1 column 8"),
        (
            "[\"a\nb\"]",
            "expected the rest of the string, found the end of the line (control characters must be escaped) at line 1 column 4",
        ),
        ("[\"\\ud800x\"]", "expected the low half of a surrogate pair, found a letter at line 1 column 9"),
        ("{} {}", "expected the end of the document, found `{` at line 1 column 4"),
        ("-", "expected a digit, found the end of the input at line 1 column 2"),
    ];
    for (text, message) in cases {
        assert_eq!(Parser::new().parse(text).unwrap_err().to_string(), message);
    }
    let deep = "[".repeat(200);
    let error = Parser::new().parse(&deep).unwrap_err();
    assert_eq!(
        (error.offset, error.description().as_str()),
        (127, "expected less nesting: the depth limit is reached")
    );
}

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
fn a_number_beyond_f64_fails_only_who_asks() {
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

mod typed {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use tokenline_core::json::Parser;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(tag = "type", rename_all = "lowercase")]
    enum Tagged {
        Definition { entity: String },
        Relation { weight: f64, ok: Option<bool> },
    }

    #[derive(Debug, Deserialize, PartialEq)]
    enum External {
        Unit,
        New(u8),
        Tuple(u8, String),
        Struct { a: i64 },
    }

    #[derive(Debug, Deserialize, PartialEq)]
    struct Borrowed<'a> {
        a: &'a str,
        #[serde(borrow)]
        b: std::borrow::Cow<'a, str>,
        c: (u8, char),
        d: BTreeMap<u16, Option<i8>>,
        #[serde(default)]
        e: Vec<f32>,
        f: (),
    }

    /// What the type makes of the text, compared with serde_json.
    fn both<'de, T: Deserialize<'de> + std::fmt::Debug + PartialEq>(
        parser: &'de mut Parser,
        text: &'de str,
    ) -> Option<T> {
        let ours = parser.parse(text).unwrap().deserialize::<T>();
        let theirs = serde_json::from_str::<T>(text);
        assert_eq!(ours.as_ref().ok(), theirs.as_ref().ok(), "{text}: {ours:?} {theirs:?}");
        ours.ok()
    }

    #[test]
    fn reads_types_as_serde_json_does() {
        let p = &mut Parser::new();
        assert!(both::<Tagged>(&mut p.clone(), r#"{"type":"definition","entity":"DNA"}"#).is_some());
        assert!(both::<Tagged>(&mut p.clone(), r#"{"weight":1,"type":"relation","ok":null}"#).is_some());
        assert!(both::<Tagged>(&mut p.clone(), r#"{"type":"other"}"#).is_none());
        assert!(both::<Tagged>(&mut p.clone(), r#"{"type":0,"entity":"DNA"}"#).is_none());
        for key in ["1", "01", "+1", "-0", "0", "x", "1.0"] {
            both::<BTreeMap<i32, i32>>(&mut p.clone(), &format!("{{\"{key}\":2}}"));
        }
        for text in [
            r#""Unit""#,
            r#"{"New":7}"#,
            r#"{"Tuple":[1,"x"]}"#,
            r#"{"Struct":{"a":-5}}"#,
            r#"{"Unit":null}"#,
        ] {
            assert!(both::<External>(&mut p.clone(), text).is_some(), "{text}");
        }
        for text in [
            r#""New""#,
            r#"{"New":300}"#,
            r#"{"Tuple":[1]}"#,
            r#"{"Struct":[]}"#,
            "{}",
            "5",
            r#"{"Unit":null,"New":1}"#,
        ] {
            assert!(both::<External>(&mut p.clone(), text).is_none(), "{text}");
        }
        let text = r#"{"a":"plain","b":"esc\n","c":[1,"é"],"d":{"7":null,"8":-1},"e":[1,2.5],"f":null}"#;
        assert!(both::<Borrowed<'_>>(&mut p.clone(), text).is_some());
        assert!(both::<Borrowed<'_>>(&mut p.clone(), &text.replace("plain", "pl\\u0061in")).is_none());
        for text in ["-1", "255", "256", "1.0", "1e2", "\"1\"", "null", "true", "[]", "-0"] {
            both::<u8>(&mut p.clone(), text);
            both::<i64>(&mut p.clone(), text);
            both::<f64>(&mut p.clone(), text);
            both::<Option<f32>>(&mut p.clone(), text);
            both::<bool>(&mut p.clone(), text);
            both::<String>(&mut p.clone(), text);
            both::<()>(&mut p.clone(), text);
            both::<serde_json::Value>(&mut p.clone(), text);
        }
    }

    #[test]
    fn errors_name_the_place_and_not_the_value() {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Strict {
            #[allow(dead_code, reason = "only read by serde")]
            list: Vec<u8>,
        }
        let mut parser = Parser::new();
        let value = parser.parse(r#"{"list":[1,"secret"]}"#).unwrap();
        let error = value.deserialize::<Strict>().unwrap_err();
        assert_eq!(error.to_string(), "invalid type: a string, expected u8");
        assert_eq!(value.pointer_at(error.offset().unwrap()), "/list/1");
        let value = parser.parse(r#"{"list":[],"secret":1}"#).unwrap();
        assert_eq!(
            value.deserialize::<Strict>().unwrap_err().to_string(),
            "unknown field, expected one of `list`"
        );
    }
}

/// Text that is near JSON: the pieces of the grammar in random order.
fn soup() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"",
        "\\",
        "\"a\"",
        "\"b\":",
        "1",
        "-",
        "0",
        ".5",
        "e",
        "E+",
        "true",
        "fal",
        "null",
        " ",
        "\n",
        "\\u00e9",
        "\\ud83d",
        "\\ude00",
        "é",
        "\t",
        "\"\\n\"",
        "{\"a\":1}",
        "[1,2]",
    ]);
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn json_value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<u64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        ".{0,40}".prop_map(Into::into),
    ];
    leaf.prop_recursive(5, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Into::into),
            prop::collection::btree_map("[a-c\\\\\"é]{0,3}", inner, 0..8)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn agrees_on_soup(text in soup()) {
        let _ = check(&text);
    }

    #[test]
    fn agrees_on_valid_documents_and_their_mutations(value in json_value(), pretty in any::<bool>(), at in any::<prop::sample::Index>(), byte in 0x20u8..0x7f) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        prop_assert!(check(&text).is_ok());
        let mut bytes = text.into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(mutated) = String::from_utf8(bytes) {
            let _ = check(&mutated);
        }
    }
}
