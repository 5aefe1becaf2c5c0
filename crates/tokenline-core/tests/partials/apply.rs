//! Applies deltas to plain data, as a user would, and checks that each is valid.

use serde_json::Value;
use tokenline_core::json::{Change, Key, Kind, ValueDelta};

/// A document assembled from its deltas.
#[derive(Clone, Debug, Default)]
pub(crate) struct Assembled {
    /// The document so far.
    pub(crate) value: Option<Value>,
    /// The deltas by their JSON Pointers, adjacent appends joined.
    pub(crate) deltas: Vec<(String, Step)>,
    /// The keys of the open values, by depth, and their pointers.
    open: Vec<(Option<Token>, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Open(Kind),
    Append(String),
    Set(String),
    Close,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Name(String),
    Index(usize),
}

impl Assembled {
    /// Applies a delta by its depth and key, and checks its pointer.
    pub(crate) fn apply(&mut self, delta: ValueDelta<'_>) {
        let depth = delta.depth;
        let key = delta.key.map(|key| match key {
            Key::Name(name) => Token::Name(name.to_owned()),
            Key::Index(index) => Token::Index(index),
        });
        let step = match delta.change {
            Change::Open(kind) => {
                assert_eq!(depth, self.open.len(), "in the innermost open container");
                self.put(key.as_ref(), empty(kind));
                let pointer = self.pointer(key.as_ref());
                self.open.push((key.clone(), pointer));
                Step::Open(kind)
            }
            Change::Append(text) => {
                assert!(!text.is_empty(), "an append has something");
                assert_eq!(depth + 1, self.open.len(), "to the innermost open value");
                match self.innermost() {
                    Value::String(string) => string.push_str(text),
                    other => panic!("no string is open: {other:?}"),
                }
                Step::Append(text.to_owned())
            }
            Change::Set(value) => {
                assert_eq!(depth, self.open.len(), "in the innermost open container");
                self.put(key.as_ref(), value.to_value().unwrap());
                Step::Set(value.raw().to_owned())
            }
            Change::Close => {
                assert_eq!(depth + 1, self.open.len(), "the innermost open value");
                Step::Close
            }
        };
        let pointer = match &step {
            Step::Set(_) => self.pointer(key.as_ref()),
            _ => {
                let (opened_as, pointer) = self.open.last().expect("it is open");
                assert_eq!(opened_as, &key, "each delta of a value has its key");
                pointer.clone()
            }
        };
        if step == Step::Close {
            self.open.pop();
        }
        check_pointer(&delta, &pointer);
        match (self.deltas.last_mut(), &step) {
            (Some((last, Step::Append(before))), Step::Append(more)) if *last == pointer => {
                before.push_str(more);
            }
            _ => self.deltas.push((pointer, step)),
        }
    }

    /// Whether everything opened has been closed.
    pub(crate) fn is_whole(&self) -> bool {
        self.open.is_empty() && self.value.is_some()
    }

    /// One line per delta.
    pub(crate) fn lines(&self) -> Vec<String> {
        let line = |(path, step): &(String, Step)| match step {
            Step::Open(kind) => format!("{path} {}", kind.as_str()),
            Step::Append(text) => format!("{path} + {text}"),
            Step::Set(literal) => format!("{path} = {literal}"),
            Step::Close => format!("{path} ."),
        };
        self.deltas.iter().map(line).collect()
    }

    /// The pointer of a value in the innermost open container.
    fn pointer(&self, key: Option<&Token>) -> String {
        let parent = self.open.last().map_or("", |(_, pointer)| pointer);
        match key {
            None => String::new(),
            Some(Token::Name(name)) => format!("{parent}/{}", name.replace('~', "~0").replace('/', "~1")),
            Some(Token::Index(index)) => format!("{parent}/{index}"),
        }
    }

    fn innermost(&mut self) -> &mut Value {
        let root = self.value.as_mut().expect("the root began");
        self.open.iter().fold(root, |value, (key, _)| match key {
            None => value,
            Some(Token::Name(name)) => &mut value[name],
            Some(Token::Index(index)) => &mut value[index],
        })
    }

    fn put(&mut self, key: Option<&Token>, new: Value) {
        let Some(key) = key else {
            assert!(self.value.is_none(), "the root begins once");
            self.value = Some(new);
            return;
        };
        match (self.innermost(), key) {
            (Value::Object(members), Token::Name(name)) => {
                members.insert(name.clone(), new);
            }
            (Value::Array(elements), Token::Index(index)) => {
                assert_eq!(*index, elements.len());
                elements.push(new);
            }
            (other, key) => panic!("no container for {key:?}: {other:?}"),
        }
    }
}

/// Checks that a delta's pointer is this one.
fn check_pointer(delta: &ValueDelta<'_>, pointer: &str) {
    assert_eq!(delta.pointer(), pointer);
    assert!(delta.is_at(pointer), "{pointer}");
    assert_eq!(delta.keys().count(), delta.depth);
    assert_eq!(delta.keys().last(), delta.key);
    if let Some((at, _)) = pointer.char_indices().next_back() {
        assert!(!delta.is_at(&pointer[..at]), "{pointer} is longer");
    }
    let longer = pointer.to_owned() + ["/", "0", "~", "/0"][pointer.len() % 4];
    assert!(!delta.is_at(&longer), "{pointer} is shorter");
}

fn empty(kind: Kind) -> Value {
    match kind {
        Kind::Object => Value::Object(serde_json::Map::new()),
        Kind::Array => Value::Array(Vec::new()),
        Kind::String => Value::String(String::new()),
        other => panic!("{other:?} does not grow"),
    }
}
