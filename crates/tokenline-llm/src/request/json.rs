//! JSON written member by member: keeps the order, and embeds existing JSON verbatim.

use std::fmt;
use std::mem;

use tokenline_core::json::{Parser, Raw, Value};

/// An object, its members in the order in which they were set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Object(Vec<(String, Node)>);

#[derive(Clone, Debug)]
pub(crate) enum Node {
    /// A scalar, or JSON that is already serialized.
    Text(String),
    Array(Vec<Node>),
    Object(Object),
}

impl Object {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<Node>) -> Self {
        self.set(name, value);
        self
    }

    /// Sets the member if there is a value.
    pub(crate) fn with_some(self, name: &str, value: Option<impl Into<Node>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Sets the member unless the value is empty.
    pub(crate) fn with_any(self, name: &str, value: impl Into<Node>) -> Self {
        let value = value.into();
        if value.is_empty() { self } else { self.with(name, value) }
    }

    /// Adds the members of a JSON object, byte for byte.
    pub(crate) fn with_members_of(self, object: Option<&Raw>) -> Self {
        let Some(object) = object else { return self };
        object.with_value(|value| {
            let members = value.as_object().into_iter().flatten();
            members.fold(self, |all, (name, value)| all.with(name, Node::Text(value.raw().to_owned())))
        })
    }

    pub(crate) fn set(&mut self, name: &str, value: impl Into<Node>) {
        let value = value.into();
        match self.0.iter_mut().find(|(key, _)| key == name) {
            Some((_, node)) => *node = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(key, _)| key == name)
    }

    /// Renames a member, unless one with the new name exists.
    #[cfg(feature = "client")]
    pub(crate) fn rename(&mut self, from: &str, to: &str) {
        if self.has(to) {
            return;
        }
        if let Some((name, _)) = self.0.iter_mut().find(|(name, _)| name == from) {
            to.clone_into(name);
        }
    }

    /// Sets the members of `other`; objects on both sides are merged.
    pub(crate) fn merge(&mut self, other: &serde_json::Map<String, serde_json::Value>) {
        for (name, value) in other {
            let mine = self.0.iter_mut().find(|(key, _)| key == name).map(|(_, node)| node);
            match (mine, value) {
                (Some(Node::Object(mine)), serde_json::Value::Object(value)) => mine.merge(value),
                _ => self.set(name, value.clone()),
            }
        }
    }
}

/// The members whose text may also be a list of blocks.
const TEXTS: [&str; 2] = ["content", "system"];

impl Object {
    /// Sets what the keys lead to: the names of members, and the indices of elements, of which `-` is the last. Only the
    /// last key may name a new member. A text becomes a list of one block, of this type, if the keys lead into it and the
    /// API has blocks there. Returns false if they lead nowhere.
    pub(crate) fn set_at(&mut self, keys: &[String], value: Node, text_block: &str) -> bool {
        let Some((name, rest)) = keys.split_first() else { return false };
        if rest.is_empty() {
            self.set(name, value);
            return true;
        }
        let is_assistant = self
            .0
            .iter()
            .any(|(key, role)| key == "role" && matches!(role, Node::Text(role) if role == "\"assistant\""));
        let Some((_, node)) = self.0.iter_mut().find(|(key, _)| key == name) else { return false };
        if TEXTS.contains(&&**name) {
            // OpenAI's Responses tell what a model wrote from what it reads.
            let is_output = is_assistant && text_block == "input_text";
            node.split_into_blocks(if is_output { "output_text" } else { text_block });
        }
        node.set_at(rest, value, text_block)
    }
}

impl Node {
    /// Makes a text a list of one block.
    fn split_into_blocks(&mut self, kind: &str) {
        if let Self::Text(text) = self
            && text.starts_with('"')
        {
            let block = Object::new().with("type", kind).with("text", Self::Text(mem::take(text)));
            *self = Self::Array(vec![Self::Object(block)]);
        }
    }

    /// Takes JSON that is already serialized apart, one level.
    fn open(&mut self) {
        let Self::Text(text) = self else { return };
        let mut parser = Parser::new();
        let Ok(value) = parser.parse(text) else { return };
        let node = |value: Value<'_>| Self::Text(value.raw().to_owned());
        let opened = match (value.as_object(), value.as_array()) {
            (Some(members), _) => {
                let members = members.into_iter().map(|(name, value)| (name.to_string(), node(value)));
                Self::Object(Object(members.collect()))
            }
            (_, Some(elements)) => Self::Array(elements.into_iter().map(node).collect()),
            _ => return,
        };
        *self = opened;
    }

    fn set_at(&mut self, keys: &[String], value: Node, text_block: &str) -> bool {
        self.open();
        match (self, keys) {
            (Self::Object(object), keys) => object.set_at(keys, value, text_block),
            (Self::Array(nodes), [index, rest @ ..]) if !rest.is_empty() => {
                let index = if index == "-" { nodes.len().checked_sub(1) } else { index.parse().ok() };
                let node = index.and_then(|index| nodes.get_mut(index));
                node.is_some_and(|node| node.set_at(rest, value, text_block))
            }
            _ => false,
        }
    }
}

impl IntoIterator for Object {
    type Item = (String, Node);
    type IntoIter = std::vec::IntoIter<(String, Node)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl Node {
    fn is_empty(&self) -> bool {
        match self {
            Self::Text(text) => text.is_empty() || text == "\"\"",
            Self::Array(nodes) => nodes.is_empty(),
            Self::Object(object) => object.0.is_empty(),
        }
    }
}

impl From<&str> for Node {
    fn from(text: &str) -> Self {
        Self::Text(string(text))
    }
}

impl From<&String> for Node {
    fn from(text: &String) -> Self {
        Self::Text(string(text))
    }
}

impl From<bool> for Node {
    fn from(value: bool) -> Self {
        Self::Text(value.to_string())
    }
}

impl From<u64> for Node {
    fn from(value: u64) -> Self {
        Self::Text(value.to_string())
    }
}

impl From<u32> for Node {
    fn from(value: u32) -> Self {
        Self::Text(value.to_string())
    }
}

impl From<f64> for Node {
    fn from(value: f64) -> Self {
        Self::Text(serde_json::Value::from(value).to_string())
    }
}

impl Node {
    /// JSON as received, byte for byte.
    pub(crate) fn verbatim(raw: &Raw) -> Self {
        Self::Text(raw.as_str().to_owned())
    }
}

impl From<&Raw> for Node {
    fn from(raw: &Raw) -> Self {
        Self::Text(raw.to_single_line().into_owned())
    }
}

impl From<serde_json::Value> for Node {
    fn from(value: serde_json::Value) -> Self {
        Self::Text(value.to_string())
    }
}

impl From<Object> for Node {
    fn from(object: Object) -> Self {
        Self::Object(object)
    }
}

impl<N: Into<Node>> From<Vec<N>> for Node {
    fn from(nodes: Vec<N>) -> Self {
        Self::Array(nodes.into_iter().map(N::into).collect())
    }
}

fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (at, (name, node)) in self.0.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            write!(f, "{comma}{}:{node}", string(name))?;
        }
        f.write_str("}")
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Object(object) => object.fmt(f),
            Self::Array(nodes) => {
                f.write_str("[")?;
                for (at, node) in nodes.iter().enumerate() {
                    let comma = if at > 0 { "," } else { "" };
                    write!(f, "{comma}{node}")?;
                }
                f.write_str("]")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_order_and_extras_are_merged() {
        let schema = Raw::new("{ \"z\": 1.50,\n \"a\": [] }").unwrap();
        let mut object = Object::new()
            .with("model", "a\"b")
            .with("schema", &schema)
            .with("options", Object::new().with("seed", 1u64).with("top_p", 0.5))
            .with_some("stop", None::<u64>)
            .with_any("system", "");
        let extra = serde_json::json!({"options": {"seed": 2, "mirostat": 1}, "model": null, "more": [true]});
        object.merge(extra.as_object().unwrap());
        let expected = r#"{"model":null,"schema":{"z":1.50,"a":[]},"options":{"seed":2,"top_p":0.5,"mirostat":1},"more":[true]}"#;
        assert_eq!(object.to_string(), expected);
    }

    #[test]
    fn members_are_set_where_the_keys_lead() {
        let object = || {
            let blocks = vec![Object::new().with("text", "a"), Object::new().with("text", "b")];
            let raw = Raw::new("{\"a\":[1.50,{}]}").unwrap();
            Object::new().with("system", "Be brief.").with("blocks", blocks).with("n", 1u64).with("raw", &raw)
        };
        let set = |keys: &[&str]| {
            let mut object = object();
            let keys: Vec<_> = keys.iter().map(|key| (*key).to_owned()).collect();
            object.set_at(&keys, true.into(), "text").then(|| object.to_string())
        };
        let whole = object().to_string();
        let changed = |from: &str, to: &str| Some(whole.replace(from, to));
        assert_eq!(set(&["x"]), changed("[1.50,{}]}}", "[1.50,{}]},\"x\":true}"));
        assert_eq!(set(&["raw", "a", "1", "x"]), changed("{}", "{\"x\":true}"));
        assert_eq!(set(&["n"]), changed("\"n\":1", "\"n\":true"));
        for last in ["-", "1"] {
            let expected = changed("{\"text\":\"b\"}", "{\"text\":\"b\",\"x\":true}");
            assert_eq!(set(&["blocks", last, "x"]), expected);
        }
        let block = "[{\"type\":\"text\",\"text\":\"Be brief.\",\"x\":true}]";
        assert_eq!(set(&["system", "0", "x"]), changed("\"Be brief.\"", block));
        let nowhere: [&[&str]; 10] = [
            &["blocks", "0", "text", "0", "x"],
            &["raw", "a", "0", "x"],
            &[],
            &["y", "x"],
            &["n", "x"],
            &["blocks", "x"],
            &["blocks", "2", "x"],
            &["blocks", "0"],
            &["system", "1", "x"],
            &["blocks", "0", "y", "x"],
        ];
        for keys in nowhere {
            assert_eq!(set(keys), None, "{keys:?}");
        }
    }
}
