use proptest::prelude::*;
use tokenline_core::call_format::{CallDetector, ObjectRole};
use tokenline_core::json::{Parser, Value};
use tokenline_core::{CallFormat, Code, ValidateCall, Violation};

use crate::driver::{Seen, at_every_split, found, read};
use crate::extent::cases;

struct Weather;

impl ValidateCall for Weather {
    fn validate_call(&self, name: &str, parameters: Value<'_>) -> Result<(), Box<Violation>> {
        match name {
            "weather" => Ok(()),
            _ => Err(Box::new(Violation::new(Code::UnknownTool, parameters.range().start, "no such tool"))),
        }
    }
}

fn auto() -> CallDetector {
    CallFormat::Auto.detector()
}

fn with_tools() -> CallDetector {
    auto().with_tools(Weather)
}

fn summaries(detector: &CallDetector, text: &str) -> Vec<String> {
    at_every_split(detector, text).iter().map(Seen::summary).collect()
}

#[test]
fn the_first_complete_call_settles_what_is_uncertain() {
    let c = r#"{"name":"c","parameters":{}}"#;
    let (a, b) = (r#"{"name":"a","parameters":{}}"#, r#"{"name":"b","parameters":{}}"#);
    for (text, expected) in [
        (
            "<function=a>{}</function> [x(y=1)] <TOOLCALL>{\"name\":\"b\"}</TOOLCALL><function=b>{}</function>",
            vec![a, r#"{"name":"b"}"#, b],
        ),
        ("[a(), b()] <function=c>{}</function>", vec![a, b, c]),
        ("[TOOL_CALLS]a{}\n[c()]\n[TOOL_CALLS]b{}\n", vec![a, b]),
        ("<tool_call>{\"name\":\"a\"}</tool_call> [b()]", vec![r#"{"name":"a"}"#]),
        (
            "<tool_call>\n<function=a>\n</function>\n</tool_call><tool_call><function=b>{}</function></tool_call>",
            vec![a, b],
        ),
        // An opener proves nothing.
        ("<tool_call> [TOOL_CALLS] <function=name> [f(x)] [a(), b()]", vec![a, b]),
    ] {
        assert_eq!(summaries(&auto(), text), expected, "{text}");
    }
    // A malformed call proves nothing.
    let text = "<function=c>{\"x\":NaN}</function> [a(), b()]";
    assert_eq!(summaries(&auto(), text)[1..], [a, b]);
}

#[test]
fn a_line_of_code_is_a_call_only_of_a_known_tool() {
    assert!(summaries(&auto(), "plot(x=1)\nweather(city='Paris')\n").is_empty());
    assert_eq!(
        summaries(&with_tools(), "plot(x=1)\nweather(city='Paris')\n"),
        [r#"{"name":"weather","parameters":{"city":"Paris"}}"#]
    );
}

#[test]
fn a_tag_is_a_call_only_of_a_known_tool() {
    let weather = r#"{"name":"weather","parameters":{"city":"Paris"}}"#;
    let now = |city: &str| format!(r#"{{"name":"weather","parameters":{{"city":"{city}"}}}}"#);
    for (text, expected) in [
        (
            "<ul>\n<li>1</li>\n</ul>\n<weather>\n<city>Paris</city>\n</weather>\nDone.",
            vec![weather.to_owned()],
        ),
        (
            "I look.\n  <weather><city>\nParis\n</city></weather> <weather></weather>",
            vec![weather.to_owned()],
        ),
        ("<weather>\n</weather>", vec![r#"{"name":"weather","parameters":{}}"#.to_owned()]),
        // A closing tag inside a value, and one that is missing.
        (
            "<weather>\n<city>\nend it with </city>, </weather>\n</city>\n</weather>",
            vec![now("end it with </city>, </weather>")],
        ),
        (
            "<weather>\n<city>Oslo\n</weather>\n<weather>\n<city>Paris</city>\n</weather>",
            vec!["malformed_json at 21: a parameter's closing tag is missing".to_owned(), weather.to_owned()],
        ),
        ("<weather>\n<city>Paris</city>\n", vec![format!("unsealed {weather}")]),
        ("<weather>\n<city>Pa", vec!["truncated at 18: the text ended inside a tool call".to_owned()]),
        // Words in text.
        ("<weather> is a tool.\n<weather>, too\nSee <weather><city>Paris</city></weather>", vec![]),
        ("<weather", vec![]),
    ] {
        assert_eq!(summaries(&with_tools(), text), expected, "{text}");
        assert!(summaries(&auto(), text).is_empty(), "{text}");
    }
}

#[test]
fn a_list_of_code_is_a_call_only_of_a_known_tool_where_tools_are_defined() {
    let weather = r#"{"name":"weather","parameters":{"city":"Paris"}}"#;
    let plot = r#"{"name":"plot","parameters":{"x":1}}"#;
    let text = "[plot(x=1)]\n[weather(city='Paris'), plot(x=1)]\n";
    // Once the format is known, an unknown tool counts as well.
    assert_eq!(summaries(&with_tools(), text), [weather, plot]);
    assert_eq!(summaries(&auto(), text), [plot, weather, plot]);
}

#[test]
fn objects_are_calls_if_they_look_like_it() {
    for (object, alone, with_weather) in [
        (r#"{"name":"weather","parameters":{}}"#, true, true),
        (r#"{"tool":"a","args":1}"#, true, true),
        (r#"{"type":"function","function":{"name":"a","arguments":"{}"}}"#, true, true),
        (r#"{"tool_calls":[{"name":"a"},{"name":"a","input":{}}]}"#, true, true),
        (r#"{"name":"weather"}"#, false, true),
        (r#"{"name":"Paris","population":2}"#, false, false),
        (r#"{"arguments":{}}"#, false, false),
        (r#"{"name":7,"arguments":{}}"#, false, false),
        (r#"{"tool_calls":[]}"#, false, false),
    ] {
        let mut parser = Parser::new();
        let value = parser.parse(object).unwrap();
        for (mut detector, expected, has_tools) in
            [(auto(), alone, false), (with_tools(), with_weather, true)]
        {
            assert!(detector.reads_objects());
            let role = if expected { ObjectRole::Call } else { ObjectRole::Data };
            assert_eq!(detector.admit_object(value), role, "{object}");
            // A call of a tool that is not defined settles nothing.
            let is_settled = expected && (alone != with_weather || object.contains("weather") || !has_tools);
            assert_eq!(detector.committed(), is_settled.then_some("jsonl"), "{object}");
            assert!(detector.reads_objects() && !detector.openers().is_empty());
            detector.reset();
            assert!(detector.committed().is_none() && !detector.openers().is_empty());
        }
        for format in [CallFormat::Jsonl, CallFormat::SingleJson] {
            assert_eq!(format.detector().admit_object(value), ObjectRole::Call, "it was asked for");
        }
        for format in [CallFormat::Hermes, CallFormat::Pythonic] {
            let mut detector = format.detector();
            assert!(!detector.reads_objects() && detector.admit_object(value) == ObjectRole::Text);
            assert_eq!(detector.committed(), Some(format.as_str()));
        }
    }
}

#[test]
fn a_syntax_without_need_of_markers_has_calls_in_plain_objects() {
    let mut parser = Parser::new();
    let mut admits = |name: &str, text: &str| {
        let mut detector = CallFormat::from_name(name).unwrap().detector();
        let admits = detector.admit_object(parser.parse(text).unwrap());
        assert_ne!(detector.openers().is_empty(), name != "jsonl", "a chosen format stays");
        admits
    };
    let (call, data) = (r#"{"name":"f","parameters":{"x":1}}"#, r#"{"name":"Paris","population":2}"#);
    for (name, text, role) in [
        ("llama3", call, ObjectRole::Call),
        ("llama-3.3", call, ObjectRole::Call),
        ("llama3", data, ObjectRole::Data),
        ("qwen3", call, ObjectRole::Text),
        ("cohere", call, ObjectRole::Text),
        ("jsonl", data, ObjectRole::Call),
    ] {
        assert_eq!(admits(name, text), role, "{name} {text}");
    }
}

#[test]
fn after_a_call_in_tags_an_object_is_a_call_of_a_defined_tool() {
    let mut parser = Parser::new();
    let text = "<tool_call>";
    for (mut detector, weather, other) in [
        (auto(), ObjectRole::Unsettled, ObjectRole::Unsettled),
        (with_tools(), ObjectRole::Call, ObjectRole::Text),
    ] {
        let call = parser.parse(r#"{"name":"weather","parameters":{}}"#).unwrap();
        let index = detector.openers().formats_at(text, true)[0];
        assert!(detector.admit_call(index, call));
        assert_eq!(detector.committed(), Some("hermes"));
        assert_eq!(detector.admit_object(call), weather);
        assert_eq!(detector.admit_object(parser.parse(r#"{"name":"a","parameters":{}}"#).unwrap()), other);
        assert_eq!(detector.admit_object(parser.parse(r#"{"city":"Paris"}"#).unwrap()), ObjectRole::Text);
    }
}

/// Parts of texts, in and out of order.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "<tool_call>",
        "</tool_call>",
        "<function=",
        "a>",
        "f>",
        "</function>",
        "<parameter=",
        "x>",
        "</parameter>",
        "[TOOL_CALLS]",
        "[ARGS]",
        "[CALL_ID]",
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        "\"",
        "'",
        "'''",
        "\\",
        "\\u00e9",
        "\\x4",
        ",",
        ":",
        "=",
        "\n",
        " ",
        "  ",
        "a",
        "f",
        "é",
        "1",
        "-",
        "1.5",
        "e3",
        "True",
        "None",
        "null",
        "x=1",
        "f(x=1)",
        "[f(x=",
        "{\"name\":\"a\",\"parameters\":{}}",
        "{\"x\":1}",
        "\"x\":",
        "text",
        "'a'",
        "\"b\"",
        "<",
        ">",
        "😀",
        "[f()",
        "weather(",
        "<function name=\"a\">",
        "\r\n",
    ]);
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(128), ..ProptestConfig::default() })]

    #[test]
    fn any_split_gives_the_same(text in pieces(), cuts in prop::collection::vec(0_usize..200, 0..6)) {
        for format in CallFormat::BUILT_IN {
            let whole = read(format.detector(), [text.as_str()]);
            let mut cuts: Vec<usize> = cuts.iter().copied().filter(|at| text.is_char_boundary(*at)).collect();
            cuts.sort_unstable();
            let mut pieces = Vec::new();
            let mut from = 0;
            for at in cuts.into_iter().chain([text.len()]) {
                pieces.push(&text[from..at]);
                from = at;
            }
            prop_assert_eq!(read(format.detector(), pieces), whole);
            if text.len() < 60 {
                at_every_split(&format.detector(), &text);
            }
        }
        at_every_split(&with_tools(), &text);
    }

    #[test]
    fn writing_and_reading_round_trip(texts in prop::collection::vec(any::<String>(), 1..4), number in any::<f64>()) {
        prop_assume!(number.is_finite());
        let json = |text: &str| serde_json::Value::from(text).to_string();
        let python = |text: &str| format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n"));
        let members: Vec<_> = texts.iter().enumerate().map(|(at, text)| format!("\"k{at}\":{}", json(text))).collect();
        let arguments: Vec<_> = texts.iter().enumerate().map(|(at, text)| format!("k{at}={}", python(text))).collect();
        let object = format!("{{{},\"n\":{number:?}}}", members.join(","));
        let expected = format!("{{\"name\":\"f\",\"parameters\":{object}}}");
        let expected: serde_json::Value = serde_json::from_str(&expected).unwrap();
        for (format, text) in [
            (CallFormat::Hermes, format!("<tool_call>{{\"name\":\"f\",\"parameters\":{object}}}</tool_call>")),
            (CallFormat::Mistral, format!("[TOOL_CALLS]f[ARGS]{object}\n")),
            (CallFormat::FunctionTag, format!("<function=f>{object}</function>")),
            (CallFormat::Pythonic, format!("[f({}, n={number:?})]", arguments.join(", "))),
        ] {
            let found = found(&format, &text);
            prop_assert_eq!(found.len(), 1, "{}: {:?}", text, found);
            let call: serde_json::Value = serde_json::from_str(&found[0]).expect("a call");
            prop_assert_eq!(&call, &expected, "{}", text);
        }
    }
}
