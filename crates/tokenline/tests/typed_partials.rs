//! Records in their own type while they grow.
#![cfg(all(feature = "derive", feature = "codec"))]
#![expect(dead_code, reason = "of many types only the partial is read")]

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokenline::json::{Parser, Value as Tape};
use tokenline::{Event, FieldState, JsonlParser, Options, Partial, PartialBuilder};

/// One field for every kind of value and attribute.
#[derive(Debug, PartialEq, Serialize, Deserialize, Partial)]
#[partial(derive(PartialEq, Serialize))]
#[serde(rename_all = "camelCase")]
struct Recipe {
    title: String,
    servings: u32,
    is_vegan: Option<bool>,
    level: Level,
    steps: Vec<Step>,
    tags: Vec<String>,
    ratings: Vec<f64>,
    levels: Vec<Level>,
    author: Option<Author>,
    notes: BTreeMap<String, String>,
    #[serde(rename = "src", alias = "source")]
    #[partial(when_complete)]
    source: String,
    #[partial(when_complete)]
    range: Option<(u32, u32)>,
    media: Vec<Media>,
    shape: Option<Shape>,
    #[serde(default, skip)]
    ignored: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Partial)]
#[serde(rename_all = "snake_case")]
enum Level {
    Easy,
    VeryHard,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Partial)]
#[partial(derive(PartialEq, Serialize))]
struct Step {
    text: String,
    minutes: Option<f64>,
    substeps: Vec<Step>,
}

/// Required members: an author without them is not there.
#[derive(Debug, PartialEq, Serialize, Deserialize, Partial)]
#[partial(derive(PartialEq, Serialize))]
struct Author {
    #[partial(required)]
    name: String,
    #[partial(required)]
    id: u64,
    about: String,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Partial)]
#[partial(derive(PartialEq, Serialize))]
#[serde(tag = "type", rename_all = "lowercase")]
enum Media {
    Photo { url: String, alt: Option<String> },
    Video(Video),
    Nothing,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Partial)]
#[partial(derive(PartialEq, Serialize))]
struct Video {
    seconds: f64,
    title: String,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Partial)]
#[partial(derive(PartialEq, Serialize))]
enum Shape {
    Round { radius: f64 },
    Square(Author),
    Named(String),
    Other,
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn flip(&mut self) -> bool {
        self.below(2) == 0
    }

    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.below(4)).map(|_| item(self)).collect()
    }

    fn text(&mut self) -> String {
        let words =
            ["soup", "a \"b\"", "é", "𝄞!", "\n", "", "{x}", "\\", "long enough to be cut in the middle"];
        self.list(|random| words[random.below(words.len() as u64) as usize]).concat()
    }

    fn number(&mut self) -> f64 {
        self.below(10_000) as f64 / 8.0
    }

    fn level(&mut self) -> Level {
        if self.flip() { Level::Easy } else { Level::VeryHard }
    }

    fn step(&mut self, depth: u32) -> Step {
        let substeps = if depth == 0 { Vec::new() } else { self.list(|random| random.step(depth - 1)) };
        Step { text: self.text(), minutes: self.flip().then(|| self.number()), substeps }
    }

    fn author(&mut self) -> Author {
        Author { name: self.text(), id: self.below(1_000_000), about: self.text() }
    }

    fn media(&mut self) -> Media {
        match self.below(3) {
            0 => Media::Photo { url: self.text(), alt: self.flip().then(|| self.text()) },
            1 => Media::Video(Video { seconds: self.number(), title: self.text() }),
            _ => Media::Nothing,
        }
    }

    fn shape(&mut self) -> Shape {
        match self.below(4) {
            0 => Shape::Round { radius: self.number() },
            1 => Shape::Square(self.author()),
            2 => Shape::Named(self.text()),
            _ => Shape::Other,
        }
    }

    fn recipe(&mut self) -> Recipe {
        Recipe {
            title: self.text(),
            servings: self.below(100) as u32,
            is_vegan: self.flip().then(|| self.flip()),
            level: self.level(),
            steps: self.list(|random| random.step(2)),
            tags: self.list(Self::text),
            ratings: self.list(Self::number),
            levels: self.list(Self::level),
            author: self.flip().then(|| self.author()),
            notes: self.list(|random| (random.text(), random.text())).into_iter().collect(),
            source: self.text(),
            range: self.flip().then(|| (self.below(5) as u32, self.below(5) as u32)),
            media: self.list(Self::media),
            shape: self.flip().then(|| self.shape()),
            ignored: 0,
        }
    }

    /// The record as a model might write it: members in any order, some that nobody asked for, white space.
    fn written(&mut self, value: &Value, out: &mut String) {
        let space = if self.below(4) == 0 { " " } else { "" };
        match value {
            Value::Object(members) => {
                let mut members: Vec<(String, Value)> =
                    members.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
                for at in (1..members.len()).rev() {
                    members.swap(at, self.below(at as u64 + 1) as usize);
                }
                // A map takes any name, and an object with a variant's name has no other.
                if self.below(4) == 0 && members.len() > 1 && members.iter().any(|(name, _)| is_known(name)) {
                    members.insert(
                        self.below(members.len() as u64) as usize,
                        ("more".into(), json!([{"title": "x"}])),
                    );
                }
                out.push('{');
                for (at, (name, value)) in members.iter().enumerate() {
                    let comma = if at > 0 { "," } else { "" };
                    write!(out, "{comma}{space}{}{space}:", json!(name)).unwrap();
                    self.written(value, out);
                }
                out.push('}');
            }
            Value::Array(elements) => {
                out.push('[');
                for (at, element) in elements.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { space });
                    self.written(element, out);
                }
                out.push(']');
            }
            scalar => write!(out, "{space}{scalar}{space}").unwrap(),
        }
    }
}

fn is_known(name: &str) -> bool {
    ["title", "text", "name", "url", "seconds"].contains(&name)
}

/// What the partial has to be, by its documentation, read from a snapshot of the same text: written a second time, in
/// the simplest way. Members that are not there are left out.
mod expected {
    use super::*;

    type Fields<'a> = &'a [(&'a str, fn(Tape<'_>) -> Option<Value>)];

    pub(super) fn text(value: Tape<'_>) -> Option<Value> {
        value.as_str().map(|text| json!(text))
    }

    /// What appears once it is complete.
    fn whole(value: Tape<'_>) -> Option<Value> {
        (!is_open(value)).then(|| serde_json::from_str(&value.to_json()).unwrap())
    }

    fn number(value: Tape<'_>) -> Option<Value> {
        value.as_number().map(|_| json!(value.to_json().parse::<f64>().unwrap()))
    }

    fn is_open(value: Tape<'_>) -> bool {
        value.is_open()
    }

    fn list(value: Tape<'_>, item: fn(Tape<'_>) -> Option<Value>) -> Option<Value> {
        Some(value.as_array()?.iter().filter_map(item).collect())
    }

    fn object(value: Tape<'_>, required: &[&str], fields: Fields<'_>) -> Option<Value> {
        let mut members = Map::new();
        for (name, member) in value.as_object()?.iter() {
            if let Some((_, read)) = fields.iter().find(|(field, _)| *field == name)
                && let Some(value) = read(member)
            {
                members.insert((*name).to_owned(), value);
            }
        }
        required.iter().all(|name| members.contains_key(*name)).then_some(Value::Object(members))
    }

    fn step(value: Tape<'_>) -> Option<Value> {
        object(value, &[], &[("text", text), ("minutes", number), ("substeps", |value| list(value, step))])
    }

    fn author(value: Tape<'_>) -> Option<Value> {
        object(value, &["name", "id"], &[("name", text), ("id", whole), ("about", text)])
    }

    fn media(value: Tape<'_>) -> Option<Value> {
        let tag = value.get("type").filter(|tag| !tag.is_open())?.as_str()?.into_owned();
        let fields: Fields<'_> = match &*tag {
            "photo" => &[("url", text), ("alt", text)],
            "video" => &[("seconds", number), ("title", text)],
            _ => &[],
        };
        let mut members = json!({ "type": tag });
        members.as_object_mut()?.append(object(value, &[], fields)?.as_object_mut()?);
        Some(members)
    }

    fn shape(value: Tape<'_>) -> Option<Value> {
        let Some(members) = value.as_object() else {
            return text(value).filter(|_| !value.is_open());
        };
        let (name, data) = members.iter().next()?;
        let data = match name {
            "Round" => object(data, &[], &[("radius", number)]),
            "Square" => author(data),
            _ => text(data),
        };
        Some(json!({ name: data? }))
    }

    fn notes(value: Tape<'_>) -> Option<Value> {
        let members =
            value.as_object()?.iter().filter_map(|(name, value)| Some(((*name).to_owned(), text(value)?)));
        Some(Value::Object(members.collect()))
    }

    pub(super) fn recipe(value: Tape<'_>) -> Option<Value> {
        object(
            value,
            &[],
            &[
                ("title", text),
                ("servings", whole),
                ("isVegan", whole),
                ("level", whole),
                ("steps", |value| list(value, step)),
                ("tags", |value| list(value, text)),
                ("ratings", |value| list(value, number)),
                ("levels", |value| list(value, whole)),
                ("author", author),
                ("notes", notes),
                ("src", whole),
                ("range", whole),
                ("media", |value| list(value, media)),
                ("shape", shape),
            ],
        )
    }
}

/// Without members that are `null` or, for lists, empty: a partial does not tell these from absent ones.
fn without_absent(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| (name.clone(), without_absent(value)));
            Value::Object(members.filter(|(_, value)| !value.is_null() && *value != json!([])).collect())
        }
        Value::Array(elements) => elements.iter().map(without_absent).collect(),
        scalar => scalar.clone(),
    }
}

/// Whether `after` is `before` and more.
fn has_grown(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            before.iter().all(|(name, value)| after.get(name).is_some_and(|after| has_grown(value, after)))
        }
        (Value::Array(before), Value::Array(after)) => {
            before.len() <= after.len()
                && before.iter().zip(after).all(|(before, after)| has_grown(before, after))
        }
        (Value::String(before), Value::String(after)) => after.starts_with(&**before),
        (before, after) => before == after,
    }
}

#[test]
fn at_every_cut_the_partial_is_what_there_is_and_only_grows() {
    let mut random = Random(7);
    for _ in 0..200 {
        let recipe = random.recipe();
        let mut text = String::new();
        random.written(&serde_json::to_value(&recipe).unwrap(), &mut text);

        let (mut parser, mut builder) = (Parser::new(), PartialBuilder::<Recipe>::new());
        let mut before = json!({});
        for end in (0..=text.len()).filter(|&end| text.is_char_boundary(end)) {
            let document = &text[..end];
            let _ = parser.resume(document);
            let mut has_changed = false;
            while let Some(delta) = parser.next_delta(document) {
                has_changed |= builder.apply(delta);
            }
            let partial =
                builder.partial().map(|partial| without_absent(&serde_json::to_value(partial).unwrap()));
            let expected = parser.snapshot(document).and_then(expected::recipe);
            assert_eq!(partial, expected.as_ref().map(without_absent), "{document}");
            let partial = partial.unwrap_or_else(|| json!({}));
            assert!(has_grown(&before, &partial), "{before} {partial}");
            assert!(has_changed || before == partial, "a change was not told: {before} {partial}");
            before = partial;
        }
        assert_eq!(before, without_absent(&serde_json::to_value(&recipe).unwrap()));
        assert_eq!(serde_json::from_str::<Recipe>(&text).unwrap(), recipe);
    }
}

#[test]
fn nothing_that_a_model_writes_makes_it_fail() {
    let mut random = Random(11);
    let values =
        ["1", "\"x\"", "null", "[]", "{}", "[[1]]", "{\"title\":{\"x\":[\"y\"]}}", "true", "[{\"type\":1}]"];
    let names =
        ["title", "steps", "author", "media", "shape", "notes", "level", "type", "name", "Round", "more"];
    for _ in 0..2_000 {
        let mut text = String::from("{");
        for at in 0..random.below(6) {
            let comma = if at > 0 { "," } else { "" };
            let name = names[random.below(names.len() as u64) as usize];
            let mut value = values[random.below(values.len() as u64) as usize].to_owned();
            for _ in 0..random.below(3) {
                let inner = names[random.below(names.len() as u64) as usize];
                value = match random.below(3) {
                    0 => format!("[{value},{value}]"),
                    1 => format!("{{\"{inner}\":{value},\"type\":\"photo\"}}"),
                    _ => format!("{{\"{inner}\":{value}}}"),
                };
            }
            write!(text, "{comma}\"{name}\":{value}").unwrap();
        }
        text.push_str("}\n");
        for options in [Options::lenient(), Options::strict()] {
            let mut parser = JsonlParser::new(options.partials(true));
            let mut builder = PartialBuilder::<Recipe>::new();
            for chunk in text.as_bytes().chunks(1 + random.below(9) as usize) {
                parser.push(chunk);
                while let Some(event) = parser.next_event() {
                    match event {
                        Event::Partial(partial) => {
                            builder.apply(partial.value);
                        }
                        Event::Record(record) => {
                            // What can be read into the type is there at the end.
                            if let Ok(recipe) = record.value.deserialize::<Recipe>() {
                                let partial = serde_json::to_value(builder.partial()).unwrap();
                                let recipe = serde_json::to_value(&recipe).unwrap();
                                assert_eq!(without_absent(&partial), without_absent(&recipe));
                            }
                            builder.take();
                        }
                        _ => {}
                    }
                }
            }
        }
    }
}

#[derive(Deserialize, Partial)]
struct Form {
    #[partial(state)]
    name: String,
    #[partial(state, when_complete)]
    email: String,
    #[partial(state)]
    hobbies: Vec<String>,
    #[partial(skip)]
    secret: Option<String>,
}

#[test]
fn a_field_knows_whether_it_is_complete() {
    let text = r#"{"name":"Ada","email":"a@b","hobbies":["x"],"secret":"s"}"#;
    let mut states = Vec::new();
    let (mut parser, mut builder) = (Parser::new(), PartialBuilder::<Form>::new());
    for end in 0..=text.len() {
        let _ = parser.resume(&text[..end]);
        let mut has_changed = false;
        while let Some(delta) = parser.next_delta(&text[..end]) {
            has_changed |= builder.apply(delta);
        }
        if let Some(form) = builder.partial() {
            let state = (form.name.as_str(), form.email.as_str(), form.hobbies.as_str());
            if states.last() != Some(&state) {
                assert!(has_changed, "a change was not told: {state:?}");
                states.push(state);
            }
        }
    }
    assert_eq!(
        states,
        [
            ("pending", "pending", "pending"),
            ("growing", "pending", "pending"),
            ("complete", "pending", "pending"),
            ("complete", "complete", "pending"),
            ("complete", "complete", "growing"),
            ("complete", "complete", "complete"),
        ]
    );
    let form = builder.partial().unwrap();
    assert_eq!((form.name.value().unwrap().as_str(), form.hobbies.is_complete()), ("Ada", true));
    assert_eq!(form.email, FieldState::Complete("a@b".to_owned()));
}

#[derive(Deserialize, Partial)]
struct Reply {
    #[partial(required)]
    kind: Level,
    text: String,
}

#[test]
fn there_is_no_snapshot_before_what_is_required() {
    let text = r#"{"text":"abc","kind":"easy"}"#;
    let (mut parser, mut builder) = (Parser::new(), PartialBuilder::<Reply>::new());
    for end in 0..=text.len() {
        let _ = parser.resume(&text[..end]);
        let mut has_changed = false;
        while let Some(delta) = parser.next_delta(&text[..end]) {
            has_changed |= builder.apply(delta);
        }
        let is_there = end >= text.len() - 1;
        assert_eq!(builder.partial().is_some(), is_there, "{}", &text[..end]);
        assert!(is_there || !has_changed);
    }
    assert_eq!(builder.partial().unwrap().text.as_deref(), Some("abc"));
}

/// Counted in steps, not in seconds: what a delta costs does not depend on what there is already.
#[test]
fn long_names_and_deep_records_cost_no_more() {
    let name = "n".repeat(100_000);
    let mut text = format!("{{\"notes\":{{\"{name}\":\"");
    let start = text.len();
    text.push_str(&"ab".repeat(50_000));
    text.push_str("\"}}");
    let (mut parser, mut builder) = (Parser::new(), PartialBuilder::<Recipe>::new());
    for end in (start..=text.len()).step_by(2).chain([text.len()]) {
        let _ = parser.resume(&text[..end]);
        while let Some(delta) = parser.next_delta(&text[..end]) {
            builder.apply(delta);
        }
        if end < text.len() - 2 {
            assert_eq!(builder.partial().unwrap().notes.as_ref().unwrap().len(), 0);
        }
    }
    let notes = builder.partial().unwrap().notes.as_ref().unwrap();
    assert_eq!(notes[&name].len(), 100_000);
}

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
    r#Raw { a: Option<Box<Self>> },
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

#[tokio::test]
async fn prose_that_began_like_a_record_is_discarded() {
    let chunks = ["Write {", "id} in the URL.\n{\"text\":\"a", "b\"}\n"];
    let body = futures_util::stream::iter(chunks.map(Ok::<_, std::io::Error>));
    let mut partials = tokenline::JsonlStreamParser::<_, BTreeMap<String, String>>::new(body).partials();
    let mut seen = Vec::new();
    while let Some(event) = partials.next().await {
        seen.push(match event.unwrap() {
            tokenline::PartialEvent::Growing(partial) => format!("{partial:?}"),
            tokenline::PartialEvent::Complete(record) => format!("complete {:?}", record.value),
            tokenline::PartialEvent::Rejected(diagnostic) => diagnostic.code.to_string(),
            tokenline::PartialEvent::Discarded => "discarded".to_owned(),
        });
    }
    assert_eq!(seen, ["{}", "discarded", "{\"text\": \"a\"}", "complete {\"text\": \"ab\"}"]);
    assert!(partials.partial().is_none());
}

#[cfg(feature = "llm")]
#[tokio::test]
async fn the_settings_of_a_response_apply_to_its_partials() {
    use tokenline::{PartialEvent, Provider, ResponseParser, ResponseStream};

    let event = |content: &str| {
        let content = json!(content);
        format!("data: {{\"choices\":[{{\"delta\":{{\"content\":{content}}}}}]}}\n\n")
    };
    let text =
        ["{\"rows\":[{\"text\":\"a", "b\"},{\"text\":1},{\"te", "xt\":\"c\"},{\"text\":\"d\"}]}"].map(event);
    let body = futures_util::stream::iter(text.map(Ok::<_, std::io::Error>));
    let options = Options::lenient().items("/rows").unwrap();
    let parser = ResponseParser::<tokenline::json::Raw>::new(Provider::OpenAiChat, options)
        .with_max_records(2)
        .with_repair(|rejected| Some(rejected.text.replace('1', "\"one\"")));
    let mut partials = ResponseStream::new(body, parser).partials::<BTreeMap<String, String>>();
    let mut seen = Vec::new();
    while let Some(event) = partials.next().await {
        seen.push(match event.unwrap() {
            PartialEvent::Growing(partial) => format!("{partial:?}"),
            PartialEvent::Complete(record) => format!("complete {:?}", record.value),
            other => format!("{other:?}"),
        });
    }
    assert_eq!(seen, ["{\"text\": \"a\"}", "complete {\"text\": \"ab\"}", "complete {\"text\": \"one\"}"]);
}
