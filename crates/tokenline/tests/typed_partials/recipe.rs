//! A record with a field for every kind of value and attribute, and random ones as a model might write them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokenline::Partial;

/// One field for every kind of value and attribute.
#[derive(Debug, PartialEq, Serialize, Deserialize, Partial)]
#[partial(derive(PartialEq, Serialize))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Recipe {
    pub(crate) title: String,
    pub(crate) servings: u32,
    pub(crate) is_vegan: Option<bool>,
    pub(crate) level: Level,
    pub(crate) steps: Vec<Step>,
    pub(crate) tags: Vec<String>,
    pub(crate) ratings: Vec<f64>,
    pub(crate) levels: Vec<Level>,
    pub(crate) author: Option<Author>,
    pub(crate) notes: BTreeMap<String, String>,
    #[serde(rename = "src", alias = "source")]
    #[partial(when_complete)]
    pub(crate) source: String,
    #[partial(when_complete)]
    pub(crate) range: Option<(u32, u32)>,
    pub(crate) media: Vec<Media>,
    pub(crate) shape: Option<Shape>,
    #[serde(default, skip)]
    pub(crate) ignored: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Partial)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Level {
    Easy,
    VeryHard,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Partial)]
#[partial(derive(PartialEq, Serialize))]
pub(crate) struct Step {
    pub(crate) text: String,
    pub(crate) minutes: Option<f64>,
    pub(crate) substeps: Vec<Step>,
}

/// Required members: an author without them is not there.
#[derive(Debug, PartialEq, Serialize, Deserialize, Partial)]
#[partial(derive(PartialEq, Serialize))]
pub(crate) struct Author {
    #[partial(required)]
    pub(crate) name: String,
    #[partial(required)]
    pub(crate) id: u64,
    pub(crate) about: String,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Partial)]
#[partial(derive(PartialEq, Serialize))]
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum Media {
    Photo { url: String, alt: Option<String> },
    Video(Video),
    Nothing,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Partial)]
#[partial(derive(PartialEq, Serialize))]
pub(crate) struct Video {
    pub(crate) seconds: f64,
    pub(crate) title: String,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Partial)]
#[partial(derive(PartialEq, Serialize))]
pub(crate) enum Shape {
    Round { radius: f64 },
    Square(Author),
    Named(String),
    Other,
}

pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    pub(crate) fn flip(&mut self) -> bool {
        self.below(2) == 0
    }

    pub(crate) fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.below(4)).map(|_| item(self)).collect()
    }

    pub(crate) fn text(&mut self) -> String {
        let words =
            ["soup", "a \"b\"", "é", "𝄞!", "\n", "", "{x}", "\\", "long enough to be cut in the middle"];
        self.list(|random| words[random.below(words.len() as u64) as usize]).concat()
    }

    pub(crate) fn number(&mut self) -> f64 {
        self.below(10_000) as f64 / 8.0
    }

    pub(crate) fn level(&mut self) -> Level {
        if self.flip() { Level::Easy } else { Level::VeryHard }
    }

    pub(crate) fn step(&mut self, depth: u32) -> Step {
        let substeps = if depth == 0 { Vec::new() } else { self.list(|random| random.step(depth - 1)) };
        Step { text: self.text(), minutes: self.flip().then(|| self.number()), substeps }
    }

    pub(crate) fn author(&mut self) -> Author {
        Author { name: self.text(), id: self.below(1_000_000), about: self.text() }
    }

    pub(crate) fn media(&mut self) -> Media {
        match self.below(3) {
            0 => Media::Photo { url: self.text(), alt: self.flip().then(|| self.text()) },
            1 => Media::Video(Video { seconds: self.number(), title: self.text() }),
            _ => Media::Nothing,
        }
    }

    pub(crate) fn shape(&mut self) -> Shape {
        match self.below(4) {
            0 => Shape::Round { radius: self.number() },
            1 => Shape::Square(self.author()),
            2 => Shape::Named(self.text()),
            _ => Shape::Other,
        }
    }

    pub(crate) fn recipe(&mut self) -> Recipe {
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
    pub(crate) fn written(&mut self, value: &Value, out: &mut String) {
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

pub(crate) fn is_known(name: &str) -> bool {
    ["title", "text", "name", "url", "seconds"].contains(&name)
}
