//! Random and hostile records, at every cut.

use std::fmt::Write as _;

use serde_json::json;
use tokenline::json::Parser;
use tokenline::{Event, JsonlParser, Options, Partial, PartialBuilder, PartialText};

use crate::expected;
use crate::extent::cases;
use crate::recipe::{Random, Recipe};
use crate::{has_grown, without_absent};

#[test]
fn at_every_cut_the_partial_is_what_there_is_and_only_grows() {
    let mut random = Random(7);
    for _ in 0..cases(60) {
        let recipe = random.recipe();
        let mut text = String::new();
        random.written(&serde_json::to_value(&recipe).unwrap(), &mut text);

        let (mut parser, mut builder) = (Parser::new(), PartialBuilder::<Recipe>::new());
        let (mut of_text, mut of_deltas) = (PartialText::<Recipe>::new(), PartialText::<Recipe>::new());
        let (mut before, mut from) = (json!({}), 0);
        for end in (0..=text.len()).filter(|&end| text.is_char_boundary(end)) {
            let document = &text[..end];
            let _ = parser.resume(document);
            let mut has_changed = false;
            while let Some(delta) = parser.next_delta(document) {
                has_changed |= builder.apply(delta);
                of_deltas.apply(&delta.to_owned());
            }
            assert_eq!(of_text.push(&text[from..end]), has_changed, "{document}");
            from = end;
            let json =
                |partial| serde_json::to_value::<Option<&<Recipe as Partial>::Partial>>(partial).unwrap();
            assert_eq!(json(of_text.partial()), json(builder.partial()), "{document}");
            assert_eq!(json(of_deltas.partial()), json(builder.partial()), "{document}");
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
    for _ in 0..cases(1_000) {
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
            let mut of_deltas = PartialText::<Recipe>::new();
            for chunk in text.as_bytes().chunks(1 + random.below(9) as usize) {
                parser.push(chunk);
                while let Some(event) = parser.next_event() {
                    match event {
                        Event::Partial(partial) => {
                            let owned = partial.value.to_owned();
                            assert_eq!(builder.apply(partial.value), of_deltas.apply(&owned), "{text}");
                            let json = |partial| {
                                serde_json::to_value::<Option<&<Recipe as Partial>::Partial>>(partial)
                            };
                            assert_eq!(json(of_deltas.partial()).unwrap(), json(builder.partial()).unwrap());
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

#[test]
fn a_value_without_a_type_grows_as_the_snapshot_does() {
    let mut random = Random(13);
    for _ in 0..cases(60) {
        let recipe = random.recipe();
        let mut text = String::new();
        random.written(&serde_json::to_value(&recipe).unwrap(), &mut text);
        let (mut parser, mut builder) = (Parser::new(), PartialBuilder::<serde_json::Value>::new());
        for end in (0..=text.len()).filter(|&end| text.is_char_boundary(end)) {
            let document = &text[..end];
            let _ = parser.resume(document);
            while let Some(delta) = parser.next_delta(document) {
                let before = builder.partial().cloned();
                let has_changed = builder.apply(delta);
                assert!(has_changed || before.as_ref() == builder.partial(), "{document}");
            }
            let snapshot = parser.snapshot(document).map(|value| value.to_json().into_owned());
            let snapshot = snapshot.map(|json| serde_json::from_str::<serde_json::Value>(&json).unwrap());
            assert_eq!(builder.partial(), snapshot.as_ref(), "{document}");
        }
        assert_eq!(builder.take(), Some(serde_json::from_str(&text).unwrap()));
    }
}
