//! Values deserialized into types, compared with serde_json.

use std::collections::BTreeMap;

use serde::Deserialize;
use tokenline_core::json::{Parser, Raw};
use tokenline_core::{Code, Event, JsonlParser, Limits, Options};

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

/// Deserializes the text, and compares the result with serde_json's.
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
    for text in
        [r#""Unit""#, r#"{"New":7}"#, r#"{"Tuple":[1,"x"]}"#, r#"{"Struct":{"a":-5}}"#, r#"{"Unit":null}"#]
    {
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
fn errors_name_the_position_and_not_the_value() {
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

#[derive(Deserialize)]
struct Node {
    #[serde(default)]
    children: Vec<Node>,
}

/// Deserializing recurses, so the deepest nesting allowed must fit the stack of a spawned thread.
#[test]
fn no_limit_allows_more_depth_than_the_stack_holds() {
    let read = || {
        let limits = Limits { depth: usize::MAX, ..Limits::default() };
        let nested = |pairs: usize| format!("{}{}", r#"{"children":["#.repeat(pairs), "]}".repeat(pairs));
        let deepest = nested(Limits::MAX_DEPTH / 2);
        let mut parser = Parser::new().with_limits(&limits);
        let value = parser.parse(&deepest).expect("as deep as it may be");
        let (mut depth, mut node) = (0, value.deserialize::<Node>().expect("a node"));
        while let Some(child) = node.children.pop() {
            (depth, node) = (depth + 1, child);
        }
        assert_eq!(depth, Limits::MAX_DEPTH / 2 - 1);
        let read = value.to_value().expect("a value");
        assert_eq!(read.to_string(), deepest);
        assert_eq!(value.deserialize::<serde_json::Value>().expect("a value"), read);
        assert_eq!(Raw::from(value).to_value().expect("a value"), read);

        let too_deep = format!("[{deepest}]");
        assert!(parser.parse(&too_deep).is_err());
        let mut records = JsonlParser::new(Options::strict().limits(limits));
        records.push(format!("{deepest}\n{{\"a\":{deepest}}}\n"));
        assert!(matches!(records.next_event(), Some(Event::Record(record)) if record.value.raw() == deepest));
        assert!(
            matches!(records.next_event(), Some(Event::Rejected(reject)) if reject.code == Code::TooDeep)
        );
    };
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(read).expect("a thread");
    thread.join().expect("no panic");
}
