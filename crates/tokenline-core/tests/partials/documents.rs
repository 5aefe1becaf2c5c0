//! Deltas and snapshots of one document that grows.

use serde::Deserialize;
use serde_json::{Value, json};
use tokenline_core::json::{Kind, Parser, Raw, Step};

use crate::apply::Told;

/// Reads a document that grows to each of these lengths, and holds what is told against the snapshot
/// each time. What was told of it, and the snapshots.
pub(crate) fn grow(document: &str, ends: impl IntoIterator<Item = usize>) -> (Told, Vec<Value>) {
    let mut parser = Parser::new();
    // A parser that was used before is as good as new.
    let _ = parser.resume("[{\"left\":\"over");
    while parser.next_delta("[{\"left\":\"over").is_some() {}
    assert!(parser.snapshot("[{\"left\":\"over").is_some());
    parser.reset();
    let mut told = Told::default();
    let mut snapshots = Vec::new();
    for (turn, end) in ends.into_iter().enumerate() {
        let document = &document[..end];
        let step = parser.resume(document);
        assert!(!matches!(step, Step::Malformed(_)), "{step:?}: {document}");
        // A snapshot changes nothing, wherever it comes.
        if turn % 2 == 0 {
            let _ = parser.snapshot(document);
        }
        while let Some(delta) = parser.next_delta(document) {
            told.apply(delta);
        }
        assert!(parser.next_delta(document).is_none(), "all is told");
        let Some(snapshot) = parser.snapshot(document) else {
            assert_eq!(told.value, None, "{document}");
            continue;
        };
        let value = snapshot.to_value().unwrap();
        assert_eq!(told.value.as_ref(), Some(&value), "{document}");
        assert_eq!(snapshot.is_open(), step == Step::NeedMore);
        // However it is read, it is the same.
        assert_eq!(serde_json::to_value(snapshot).unwrap(), value, "{document}");
        assert_eq!(serde_json::from_str::<Value>(&snapshot.to_json()).unwrap(), value, "{document}");
        assert_eq!(serde_json::from_str::<Value>(&snapshot.to_single_line()).unwrap(), value, "{document}");
        assert_eq!(snapshot.deserialize::<Value>().unwrap(), value, "{document}");
        assert_eq!(snapshot.deserialize::<Raw>().unwrap().to_value().unwrap(), value, "{document}");
        assert_eq!(Raw::from(snapshot).to_value().unwrap(), value, "{document}");
        snapshots.push(value);
    }
    (told, snapshots)
}

/// Where a document may be cut.
pub(crate) fn cuts(document: &str) -> impl Iterator<Item = usize> {
    (0..=document.len()).filter(|at| document.is_char_boundary(*at))
}

/// What is told of a document, the same for every cut.
fn told(document: &str) -> Vec<String> {
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

/// The snapshot of a document that stops there.
fn snapshot(document: &str) -> Option<Value> {
    let mut parser = Parser::new();
    assert_eq!(parser.resume(document), Step::NeedMore, "{document}");
    let snapshot = parser.snapshot(document).map(|value| value.to_value().unwrap());
    assert_eq!(grow(document, cuts(document)).0.value, snapshot);
    snapshot
}

#[test]
fn what_grows_is_opened_and_closed() {
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
    assert_eq!(told(document), expected);
}

#[test]
fn any_value_may_be_the_root() {
    assert_eq!(told("[1, 2 ]"), [" array", "/0 = 1", "/1 = 2", " ."]);
    assert_eq!(told(" \"text\""), [" string", " + text", " ."]);
    assert_eq!(told("null"), [" = null"]);
    assert_eq!(told("[[[]]]"), [" array", "/0 array", "/0/0 array", "/0/0 .", "/0 .", " ."]);
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
    assert_eq!(told(document), expected);
    // Each leads to what it is about, from where the document stops.
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
    let (told, _) = grow(&document, [document.len()]);
    let paths: Vec<_> = told.deltas.iter().map(|(path, _)| path.clone()).collect();
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
    assert_eq!(told(document), expected);
}

#[test]
fn of_a_repeated_name_a_snapshot_has_the_last() {
    // Of this many members, names are compared when the object ends.
    let members: String = (0..40).map(|at| format!("\"n{at}\":{at},")).collect();
    let document = format!("{{{members}\"n7\":\"new");
    let mut parser = Parser::new();
    let _ = parser.resume(&document);
    let snapshot = parser.snapshot(&document).unwrap();
    assert_eq!(snapshot.get("n7").unwrap().as_str().unwrap(), "new");
    assert_eq!(snapshot.as_object().unwrap().len(), 41);
}

#[test]
fn nothing_is_cut_in_two() {
    for (document, told) in [
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
        assert_eq!(snapshot(document), Some(told), "{document}");
    }
    for document in ["", " ", "1", "-", "tr"] {
        assert_eq!(snapshot(document), None, "{document}");
    }
}

#[test]
fn a_snapshot_tells_what_may_grow() {
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
fn nothing_is_told_of_what_is_malformed() {
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
