//! The deltas of a document as plain data, and what they come to.

use serde_json::Value;
use tokenline_core::json::{Change, Delta, Kind};

/// A document that is told in deltas.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    /// What was told so far.
    pub(crate) value: Option<Value>,
    /// The deltas, appends that follow each other joined.
    pub(crate) deltas: Vec<(String, Step)>,
    /// The paths of what was opened and not closed.
    open: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Open(Kind),
    Append(String),
    Set(String),
    Close,
}

impl Told {
    /// Applies a delta, and checks that it is one that may come now.
    pub(crate) fn apply(&mut self, delta: Delta<'_>) {
        let path = delta.path;
        let step = match delta.change {
            Change::Open(kind) => {
                self.put(path, empty(kind));
                self.open.push(path.to_owned());
                Step::Open(kind)
            }
            Change::Append(text) => {
                assert!(!text.is_empty(), "an append has something");
                assert_eq!(self.open.last().map(String::as_str), Some(path), "to the open string");
                match self.value.as_mut().and_then(|value| value.pointer_mut(path)) {
                    Some(Value::String(string)) => string.push_str(text),
                    other => panic!("no string at {path}: {other:?}"),
                }
                Step::Append(text.to_owned())
            }
            Change::Set(value) => {
                self.put(path, value.to_value().unwrap());
                Step::Set(value.raw().to_owned())
            }
            Change::Close => {
                assert_eq!(self.open.pop().as_deref(), Some(path), "what was opened last");
                Step::Close
            }
        };
        match (self.deltas.last_mut(), &step) {
            (Some((last, Step::Append(before))), Step::Append(more)) if last == path => before.push_str(more),
            _ => self.deltas.push((path.to_owned(), step)),
        }
    }

    /// Whether all that was opened is closed.
    pub(crate) fn is_whole(&self) -> bool {
        self.open.is_empty() && self.value.is_some()
    }

    /// One line a delta.
    pub(crate) fn lines(&self) -> Vec<String> {
        let line = |(path, step): &(String, Step)| match step {
            Step::Open(kind) => format!("{path} {}", kind.as_str()),
            Step::Append(text) => format!("{path} + {text}"),
            Step::Set(literal) => format!("{path} = {literal}"),
            Step::Close => format!("{path} ."),
        };
        self.deltas.iter().map(line).collect()
    }

    fn put(&mut self, path: &str, new: Value) {
        let Some((parent, token)) = path.rsplit_once('/') else {
            assert!(self.value.is_none(), "the root begins once");
            self.value = Some(new);
            return;
        };
        assert_eq!(self.open.last().map(String::as_str), Some(parent), "in the open container");
        match self.value.as_mut().and_then(|value| value.pointer_mut(parent)) {
            Some(Value::Object(members)) => {
                members.insert(token.replace("~1", "/").replace("~0", "~"), new);
            }
            Some(Value::Array(elements)) => {
                assert_eq!(token, elements.len().to_string());
                elements.push(new);
            }
            other => panic!("no container at {parent}: {other:?}"),
        }
    }
}

fn empty(kind: Kind) -> Value {
    match kind {
        Kind::Object => Value::Object(serde_json::Map::new()),
        Kind::Array => Value::Array(Vec::new()),
        Kind::String => Value::String(String::new()),
        other => panic!("{other:?} does not grow"),
    }
}
