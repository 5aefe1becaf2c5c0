//! Deltas and snapshots of one growing document.

use serde::Deserialize;
use serde_json::{Value, json};
use tokenline_core::json::{Kind, Parser, Raw, Step};

use crate::apply::Assembled;

/// Reads a document up to each of these lengths, and compares the deltas with the snapshot each time. Returns
/// the deltas and the snapshots.
pub(crate) fn grow(document: &str, ends: impl IntoIterator<Item = usize>) -> (Assembled, Vec<Value>) {
    let mut parser = Parser::new();
    // A parser that was used before must behave like a new one.
    let _ = parser.resume("[{\"left\":\"over");
    while parser.next_delta("[{\"left\":\"over").is_some() {}
    assert!(parser.snapshot("[{\"left\":\"over").is_some());
    parser.reset();
    let mut assembled = Assembled::default();
    let mut snapshots = Vec::new();
    for (turn, end) in ends.into_iter().enumerate() {
        let document = &document[..end];
        let step = parser.resume(document);
        assert!(!matches!(step, Step::Malformed(_)), "{step:?}: {document}");
        // A snapshot changes nothing, whenever it is taken.
        if turn % 2 == 0 {
            let _ = parser.snapshot(document);
        }
        while let Some(delta) = parser.next_delta(document) {
            assembled.apply(delta);
        }
        assert!(parser.next_delta(document).is_none(), "no delta is left");
        let Some(snapshot) = parser.snapshot(document) else {
            assert_eq!(assembled.value, None, "{document}");
            continue;
        };
        let value = snapshot.to_value().unwrap();
        assert_eq!(assembled.value.as_ref(), Some(&value), "{document}");
        assert_eq!(snapshot.is_open(), step == Step::NeedMore);
        // Any way of reading gives the same.
        assert_eq!(serde_json::to_value(snapshot).unwrap(), value, "{document}");
        assert_eq!(serde_json::from_str::<Value>(&snapshot.to_json()).unwrap(), value, "{document}");
        assert_eq!(serde_json::from_str::<Value>(&snapshot.to_single_line()).unwrap(), value, "{document}");
        assert_eq!(snapshot.deserialize::<Value>().unwrap(), value, "{document}");
        assert_eq!(snapshot.deserialize::<Raw>().unwrap().to_value().unwrap(), value, "{document}");
        assert_eq!(Raw::from(snapshot).to_value().unwrap(), value, "{document}");
        snapshots.push(value);
    }
    (assembled, snapshots)
}

/// All positions to split a document at.
pub(crate) fn cuts(document: &str) -> impl Iterator<Item = usize> {
    (0..=document.len()).filter(|at| document.is_char_boundary(*at))
}

/// The deltas of a document, the same for every split.
fn delta_lines(document: &str) -> Vec<String> {
    let (whole, _) = grow(document, [document.len()]);
    assert!(whole.is_whole());
    assert_eq!(whole.value, Some(serde_json::from_str(document).unwrap()));
    let (apart, _) = grow(document, cuts(document));
    assert_eq!(apart.deltas, whole.deltas, "{document}");
    for cut in cuts(document) {
        assert_eq!(grow(document, [cut, document.len()]).0.deltas, whole.deltas, "{cut}: {document}");
    }
    whole.lines()
}

/// The snapshot of a truncated document.
fn snapshot(document: &str) -> Option<Value> {
    let mut parser = Parser::new();
    assert_eq!(parser.resume(document), Step::NeedMore, "{document}");
    let snapshot = parser.snapshot(document).map(|value| value.to_value().unwrap());
    assert_eq!(grow(document, cuts(document)).0.value, snapshot);
    snapshot
}

#[test]
fn growing_values_are_opened_and_closed() {
    let document = r#"{"a":"text","n":-1.50e1,"list":[true,[],{},"",null],"o":{"x":{"y":0}}}"#;
    let expected = [
        " object",
        "/a string",
        "/a + text",
        "/a .",
        "/n = -1.50e1",
        "/list array",
        "/list/0 = true",
        "/list/1 array",
        "/list/1 .",
        "/list/2 object",
        "/list/2 .",
        "/list/3 string",
        "/list/3 .",
        "/list/4 = null",
        "/list .",
        "/o object",
        "/o/x object",
        "/o/x/y = 0",
        "/o/x .",
        "/o .",
        " .",
    ];
    assert_eq!(delta_lines(document), expected);
}

#[test]
fn any_value_may_be_the_root() {
    assert_eq!(delta_lines("[1, 2 ]"), [" array", "/0 = 1", "/1 = 2", " ."]);
    assert_eq!(delta_lines(" \"text\""), [" string", " + text", " ."]);
    assert_eq!(delta_lines("null"), [" = null"]);
    assert_eq!(delta_lines("[[[]]]"), [" array", "/0 array", "/0/0 array", "/0/0 .", "/0 .", " ."]);
}

#[test]
fn a_path_is_a_json_pointer() {
    let document = r#"{"":0,"a/b":{"m~n":[{"~1":1}]},"\u00e9\"\n":2,"\u007e\u002f":3}"#;
    let expected = [
        " object",
        "/ = 0",
        "/a~1b object",
        "/a~1b/m~0n array",
        "/a~1b/m~0n/0 object",
        "/a~1b/m~0n/0/~01 = 1",
        "/a~1b/m~0n/0 .",
        "/a~1b/m~0n .",
        "/a~1b .",
        "/é\"\n = 2",
        "/~0~1 = 3",
        " .",
    ];
    assert_eq!(delta_lines(document), expected);
    // Each pointer leads to its value in the document so far.
    let mut parser = Parser::new();
    for end in cuts(document) {
        let _ = parser.resume(&document[..end]);
        let mut paths = Vec::new();
        while let Some(delta) = parser.next_delta(&document[..end]) {
            paths.push(delta.pointer());
        }
        for path in paths {
            assert!(parser.snapshot(&document[..end]).unwrap().pointer(&path).is_some(), "{path}");
        }
    }
}

#[test]
fn an_index_may_have_any_number_of_digits() {
    let document = format!("[{}0]", "0,".repeat(1234));
    let (assembled, _) = grow(&document, [document.len()]);
    let paths: Vec<_> = assembled.deltas.iter().map(|(path, _)| path.clone()).collect();
    for index in [0, 9, 10, 99, 100, 101, 1000, 1234] {
        assert_eq!(paths[index + 1], format!("/{index}"));
    }
}

#[test]
fn a_repeated_name_starts_over() {
    let document = r#"{"a":"x","a":"y","a":{"b":1},"\u0061":[2],"a":[3],"a":true}"#;
    let expected = [
        " object",
        "/a string",
        "/a + x",
        "/a .",
        "/a string",
        "/a + y",
        "/a .",
        "/a object",
        "/a/b = 1",
        "/a .",
        "/a array",
        "/a/0 = 2",
        "/a .",
        "/a array",
        "/a/0 = 3",
        "/a .",
        "/a = true",
        " .",
    ];
    assert_eq!(delta_lines(document), expected);
}

#[test]
fn a_snapshot_has_the_last_of_repeated_names() {
    // With this many members, names are compared when the object ends.
    let members: String = (0..40).map(|at| format!("\"n{at}\":{at},")).collect();
    let document = format!("{{{members}\"n7\":\"new");
    let mut parser = Parser::new();
    let _ = parser.resume(&document);
    let snapshot = parser.snapshot(&document).unwrap();
    assert_eq!(snapshot.get("n7").unwrap().as_str().unwrap(), "new");
    assert_eq!(snapshot.as_object().unwrap().len(), 41);
}

#[test]
fn nothing_is_split() {
    for (document, expected) in [
        (r#"{"a":"#, json!({})),
        (r#"{"a":""#, json!({ "a": "" })),
        (r#"{"a":"x\"#, json!({ "a": "x" })),
        (r#"{"a":"x\n"#, json!({ "a": "x\n" })),
        (r#"{"a":"x\u"#, json!({ "a": "x" })),
        (r#"{"a":"x\u0"#, json!({ "a": "x" })),
        (r#"{"a":"x\u00e"#, json!({ "a": "x" })),
        (r#"{"a":"x\u00e9"#, json!({ "a": "xé" })),
        (r#"{"a":"x\ud83d"#, json!({ "a": "x" })),
        (r#"{"a":"x\ud83d\"#, json!({ "a": "x" })),
        (r#"{"a":"x\ud83d\u"#, json!({ "a": "x" })),
        (r#"{"a":"x\ud83d\ude0"#, json!({ "a": "x" })),
        (r#"{"a":"x\ud83d\ude00"#, json!({ "a": "x😀" })),
        (r#"{"a":"x\\u00"#, json!({ "a": "x\\u00" })),
        (r#"{"a\u00"#, json!({})),
        (r#"{"a"#, json!({})),
        (r#"{"a""#, json!({})),
        (r#"{"a" :"#, json!({})),
        (r#"{"a":12"#, json!({})),
        (r#"{"a":-"#, json!({})),
        (r#"{"a":12 "#, json!({ "a": 12 })),
        (r#"{"a":tru"#, json!({})),
        (r#"{"a":true"#, json!({ "a": true })),
        (r#"{"a":1,"#, json!({ "a": 1 })),
        (r#"{"a":1,"b"#, json!({ "a": 1 })),
        (r#"{"a":1,"b":{"#, json!({ "a": 1, "b": {} })),
        (r#"{"a":[1,2"#, json!({ "a": [1] })),
        (r#"{"a":[1,"#, json!({ "a": [1] })),
        (r#"{"a":[1,""#, json!({ "a": [1, ""] })),
        (r#"{"a":[[],[{"b":"c"},{"#, json!({ "a": [[], [{ "b": "c" }, {}]] })),
        (r#""x\u00"#, json!("x")),
        ("[", json!([])),
    ] {
        assert_eq!(snapshot(document), Some(expected), "{document}");
    }
    for document in ["", " ", "1", "-", "tr"] {
        assert_eq!(snapshot(document), None, "{document}");
    }
}

#[test]
fn a_snapshot_marks_open_values() {
    let document = r#"{"whole":{"a":"b"},"list":[["x"],["é\t"#;
    let mut parser = Parser::new();
    let _ = parser.resume(document);
    let snapshot = parser.snapshot(document).unwrap();
    let open = |path: &str| snapshot.pointer(path).unwrap().is_open();
    assert!(open("") && open("/list") && open("/list/1") && open("/list/1/0"));
    assert!(!open("/whole") && !open("/whole/a") && !open("/list/0") && !open("/list/0/0"));
    let string = snapshot.pointer("/list/1/0").unwrap();
    assert_eq!((string.as_str().unwrap().as_ref(), string.raw()), ("é\t", "\"é\\t"));
    assert_eq!((string.char_count(), string.kind()), (Some(2), Kind::String));
    assert_eq!(string.to_json(), "\"é\\t\"");
    assert_eq!(snapshot.pointer("/list").unwrap().raw(), &document[26..]);
    assert_eq!(snapshot.pointer("/list").unwrap().as_array().unwrap().len(), 2);
    assert_eq!(snapshot.pointer("/list/0").unwrap().to_json(), "[\"x\"]");
    assert_eq!(snapshot.to_json(), format!("{document}\"]]}}"));
    assert_eq!(snapshot.document(), document);
}

#[test]
fn a_snapshot_is_read_into_a_type() {
    #[derive(Deserialize)]
    #[serde(default)]
    struct Recipe {
        title: String,
        minutes: Option<u32>,
        steps: Vec<String>,
        source: Raw,
    }
    impl Default for Recipe {
        fn default() -> Self {
            let source = Raw::new("null").unwrap();
            Self { title: String::new(), minutes: None, steps: Vec::new(), source }
        }
    }
    let document = r#"{"title":"Soup","source":{"book": 0.90, "page"#;
    let mut parser = Parser::new();
    let _ = parser.resume(document);
    let recipe: Recipe = parser.snapshot(document).unwrap().deserialize().unwrap();
    assert_eq!((recipe.title.as_str(), recipe.minutes, recipe.steps.len()), ("Soup", None, 0));
    assert_eq!(recipe.source, "{\"book\": 0.90}");
    assert_eq!(recipe.source.to_value().unwrap(), json!({ "book": 0.9 }));
}

#[test]
fn every_snapshot_has_an_identity_of_its_own() {
    let mut parser = Parser::new();
    let mut identities = Vec::new();
    let document = r#"{"a":{"b":1}}"#;
    for end in 1..=document.len() {
        let _ = parser.resume(&document[..end]);
        identities.push(parser.snapshot(&document[..end]).unwrap().identity());
    }
    let count = identities.len();
    identities.sort_unstable();
    identities.dedup();
    assert_eq!(identities.len(), count);
}

#[test]
fn malformed_documents_yield_no_deltas() {
    let document = r#"{"a":1,"b":nope}"#;
    let mut parser = Parser::new();
    let _ = parser.resume(&document[..8]);
    while parser.next_delta(&document[..8]).is_some() {}
    assert!(matches!(parser.resume(document), Step::Malformed(_)));
    assert!(parser.next_delta(document).is_none());
    assert!(parser.snapshot(document).is_none());
    parser.reset();
    assert!(parser.snapshot("").is_none());
    assert_eq!(parser.resume("[]"), Step::Complete { end: 2 });
    assert_eq!(parser.snapshot("[]").unwrap().raw(), "[]");
    assert!(parser.next_delta("[]").unwrap().is_at(""));
}
