//! The shapes that `serde` gives types.

use std::cell::Cell;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokenline::json::Parser;
use tokenline::partial::PartialStep;
use tokenline::{Partial, PartialBuilder};

use crate::recipe::Step;
use crate::without_absent;

mod hex {
    use serde::{Deserialize as _, Deserializer, de::Error as _};

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
        let text = String::deserialize(deserializer)?;
        u32::from_str_radix(&text, 16).map_err(D::Error::custom)
    }
}

/// The shapes that `serde` gives types, and what holds other types.
#[derive(Deserialize, Partial)]
#[partial(derive(Serialize))]
#[serde(rename_all = "kebab-case")]
struct Shapes {
    #[serde(alias = "heading")]
    the_title: Name,
    #[serde(deserialize_with = "hex::deserialize")]
    the_color: u32,
    #[partial(state)]
    next: Option<Box<Node>>,
    sizes: std::collections::HashMap<String, Vec<u8>>,
    pair: Pair,
    event: Event2,
    loose: Loose,
    r#type: String,
    any: Value,
}

#[derive(Deserialize, Partial)]
struct Name(String);

#[derive(Deserialize, Partial)]
#[partial(derive(Serialize))]
struct Node {
    name: Name,
    next: Option<Box<Node>>,
}

#[derive(Clone, Debug, Serialize, Deserialize, Partial)]
struct Pair(u8, String);

/// A tagged enum in a tagged enum, in one object.
#[derive(Deserialize, Partial)]
#[partial(derive(Serialize))]
#[serde(tag = "kind", rename_all = "SCREAMING_SNAKE_CASE")]
enum Event2 {
    KeyPress(Key),
    Idle,
}

#[derive(Deserialize, Partial)]
#[partial(derive(Serialize))]
#[serde(tag = "key", rename_all_fields = "camelCase")]
enum Key {
    Char { the_char: String },
    Enter,
}

#[derive(Clone, Debug, Serialize, Deserialize, Partial)]
#[serde(untagged)]
enum Loose {
    Number(f64),
    Text(String),
}

#[test]
fn every_shape_grows_as_it_is_written() {
    let text = r#"{"heading":"Ab","the-color":"ff","next":{"name":"x","next":{"name":"yz","next":null}},"sizes":{"a":[1,2]},"pair":[7,"p"],"event":{"theChar":"q","key":"Char","kind":"KEY_PRESS"},"loose":"L","type":"T","any":{"deep":[1]}}"#;
    let (mut parser, mut builder) = (Parser::new(), PartialBuilder::<Shapes>::new());
    let mut at = |end: &str| {
        let end = text.find(end).unwrap() + end.len();
        let _ = parser.resume(&text[..end]);
        while let Some(delta) = parser.next_delta(&text[..end]) {
            builder.apply(delta);
        }
        without_absent(&serde_json::to_value(builder.partial()).unwrap())
    };
    let pending = json!({"state": "pending"});
    assert_eq!(at("\"A"), json!({"the-title": "A", "next": pending}));
    assert_eq!(at("\"f"), json!({"the-title": "Ab", "next": pending}));
    let seen = at("\"ff\"");
    assert_eq!(seen, json!({"the-title": "Ab", "the-color": 255, "next": pending}));
    let next = json!({"state": "growing", "value": {"name": "x", "next": {"name": "y"}}});
    assert_eq!(at("\"y")["next"], next);
    assert_eq!(at("null}}")["next"]["state"], "complete");
    assert_eq!(at("[1,")["sizes"], json!({"a": [1]}));
    assert_eq!(at("[7,").get("pair"), None);
    assert_eq!(at("\"p\"]")["pair"], json!([7, "p"]));
    // The tags come last, and what came before them is there then.
    assert_eq!(at("\"Char\"").get("event"), None);
    assert_eq!(at("KEY_PRESS\"")["event"], json!({"kind": "KEY_PRESS", "key": "Char", "theChar": "q"}));
    assert_eq!(at("\"loose\":\"L").get("loose"), None);
    let end = at("[1]}}");
    assert_eq!((&end["loose"], &end["type"], &end["any"]), (&json!("L"), &json!("T"), &json!({"deep": [1]})));
}

fn partial_of<T: Partial<Partial: Serialize>>(text: &str) -> Value {
    let (mut parser, mut builder) = (Parser::new(), PartialBuilder::<T>::new());
    for end in (0..=text.len()).filter(|&end| text.is_char_boundary(end)) {
        let _ = parser.resume(&text[..end]);
        while let Some(delta) = parser.next_delta(&text[..end]) {
            let (before, has_changed) =
                (serde_json::to_value(builder.partial()).unwrap(), builder.apply(delta));
            let after = serde_json::to_value(builder.partial()).unwrap();
            assert!(has_changed || before == after, "a change was not told: {before} {after}");
        }
    }
    let partial = without_absent(&serde_json::to_value(builder.partial()).unwrap());
    // In one chunk all of it is on the tape before the first delta.
    let (mut parser, mut builder) = (Parser::new(), PartialBuilder::<T>::new());
    let _ = parser.resume(text);
    while let Some(delta) = parser.next_delta(text) {
        builder.apply(delta);
    }
    assert_eq!(partial, without_absent(&serde_json::to_value(builder.partial()).unwrap()));
    partial
}

#[derive(Deserialize, Partial)]
#[partial(derive(Serialize), name = "TaggedSoFar")]
#[serde(tag = "type")]
enum Tagged {
    Map(BTreeMap<String, String>),
    Any(Value),
    Inner(Inner),
    Strict(Strict),
    r#Raw { a: Option<Box<Self>>, k: Option<Counted> },
}

#[derive(Deserialize, Partial)]
#[serde(tag = "type")]
enum Endless {
    Boxed(Box<Self>),
}

#[derive(Deserialize, Partial)]
#[partial(derive(Serialize))]
enum Inner {
    Named(String),
    Other,
    Hex(#[serde(deserialize_with = "hex::deserialize")] u32),
    Whole(#[partial(when_complete)] String),
}

#[derive(Clone, Debug, Serialize, Deserialize, Partial)]
#[partial(when_complete)]
#[serde(deny_unknown_fields)]
struct Strict {
    a: u8,
}

#[test]
fn a_tag_is_not_part_of_the_data() {
    // It would be its own data, again and again.
    let text = r#"{"a":1,"type":"Boxed"}"#;
    let (mut parser, mut builder) = (Parser::new(), PartialBuilder::<Endless>::new());
    let _ = parser.resume(text);
    while let Some(delta) = parser.next_delta(text) {
        builder.apply(delta);
    }
    assert!(builder.partial().is_none());
    for text in [r#"{"type":"Map","a":"b"}"#, r#"{"a":"b","type":"Map"}"#] {
        assert_eq!(partial_of::<Tagged>(text), json!({"type": "Map", "a": "b"}));
    }
    assert_eq!(partial_of::<Tagged>(r#"{"a":[1],"type":"Any"}"#), json!({"type": "Any", "a": [1]}));
    assert_eq!(
        partial_of::<Tagged>(r#"{"Named":"abc","type":"Inner"}"#),
        json!({"type": "Inner", "Named": "abc"})
    );
    assert_eq!(partial_of::<Tagged>(r#"{"a":1,"type":"Strict"}"#), json!({"type": "Strict", "a": 1}));
    assert_eq!(partial_of::<Inner>(r#"{"Other":null}"#), json!("Other"));
    assert_eq!(partial_of::<Inner>(r#"{"Hex":"1f"}"#), json!({"Hex": 31}));
    assert_eq!(partial_of::<Inner>(r#"{"Whole":"1f"#), Value::Null);
    // What a repeated name takes away is told.
    assert_eq!(partial_of::<Step>(r#"{"minutes":1,"minutes":"x"}"#), json!({}));
}

thread_local! {
    static STEPS: Cell<usize> = const { Cell::new(0) };
}

/// Counts the steps that reach it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Counted(Vec<u8>);

impl Partial for Counted {
    type Partial = Self;
    type Field = Option<Self>;

    fn apply(slot: &mut Option<Self>, step: &mut PartialStep<'_, '_>) {
        STEPS.set(STEPS.get() + 1);
        step.when_complete(slot);
    }
}

#[test]
fn nested_objects_whose_tags_come_last_take_linear_time() {
    let depth = 100;
    let mut text = format!("{}{{\"k\":[{}],", "{\"a\":".repeat(depth), "0,".repeat(50_000) + "0");
    text += &format!("\"type\":\"Raw\"}}{}", ",\"type\":\"Raw\"}".repeat(depth));
    let (mut parser, mut builder) = (Parser::new(), PartialBuilder::<Tagged>::new());
    for end in (0..text.len()).step_by(64 * 1024).chain([text.len()]) {
        let _ = parser.resume(&text[..end]);
        while let Some(delta) = parser.next_delta(&text[..end]) {
            builder.apply(delta);
        }
    }
    // Once, and not once for every object around it.
    assert_eq!(STEPS.get(), 50_001 + 2);
    let mut value = &serde_json::to_value(builder.partial()).unwrap();
    for _ in 0..depth {
        value = &value["a"];
    }
    assert_eq!(value["type"], "Raw");
}

macro_rules! with_many_fields {
    ($($field:ident)*) => {
        #[derive(Deserialize, Partial)]
        #[partial(derive(Serialize))]
        struct Many {
            #[partial(required)]
            id: String,
            $($field: Option<u8>,)*
        }
    };
}

with_many_fields! {
    a0 a1 a2 a3 a4 a5 a6 a7 a8 a9 b0 b1 b2 b3 b4 b5 b6 b7 b8 b9 c0 c1 c2 c3 c4 c5 c6 c7 c8 c9 d0 d1 d2 d3 d4 d5 d6 d7
    d8 d9 e0 e1 e2 e3 e4 e5 e6 e7 e8 e9 f0 f1 f2 f3 f4 f5 f6 f7 f8 f9 g0 g1 g2 g3 g4 g5 g6 g7 g8 g9
}

#[test]
fn a_struct_has_as_many_fields_as_it_likes() {
    assert_eq!(partial_of::<Many>(r#"{"a0":1,"g9":1}"#), Value::Null);
    assert_eq!(partial_of::<Many>(r#"{"a0":1,"g9":2,"id":"x"}"#), json!({"a0": 1, "g9": 2, "id": "x"}));
}

#[derive(Deserialize, Partial)]
#[partial(derive(Serialize))]
struct Listed {
    #[partial(required)]
    tags: Vec<String>,
}

#[test]
fn a_string_is_no_list() {
    assert_eq!(partial_of::<Listed>(r#"{"tags":"abc"}"#), Value::Null);
}
