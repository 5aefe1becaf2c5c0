//! Arguments that arrive as values, each with its path.

use std::borrow::Cow;
use std::collections::BTreeMap;

/// A value of a call's arguments, or a part of one, as Gemini streams them (`partialArgs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartialArgument<'a> {
    /// Its path in the arguments: a JSONPath of names and indexes, such as `$.stops[0].city` or `$['a b']`.
    pub path: &'a str,
    /// The value.
    pub value: PartialValue<'a>,
    /// Whether more of the text at this path follows.
    pub has_more: bool,
}

/// The value at the path of a [`PartialArgument`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartialValue<'a> {
    /// A string, or more of it.
    Text(&'a str),
    /// A number, `true`, `false` or `null`, as a JSON literal.
    Literal(&'a str),
}

/// The arguments assembled so far.
#[derive(Default)]
pub(super) struct PartialArgs {
    root: Node,
    /// The path of the text that continues.
    open: Option<Box<str>>,
}

#[derive(Default)]
enum Node {
    #[default]
    Empty,
    Literal(Box<str>),
    Text(String),
    Object(Box<Members>),
    Array(Vec<Node>),
}

#[derive(Default)]
struct Members {
    list: Vec<(Box<str>, Node)>,
    /// The positions of names in the list; used once there are many.
    places: BTreeMap<Box<str>, usize>,
}

/// Why a value cannot be stored at its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Misplaced {
    Path,
    Gap,
    Conflict,
    Interrupted,
    TooDeep,
}

impl Misplaced {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Path => "an argument's path is not valid",
            Self::Gap => "an argument's path skips an element of an array",
            Self::Conflict => "two arguments have the same path",
            Self::Interrupted => "an argument should continue, but another one followed",
            Self::TooDeep => "an argument's path is too deep",
        }
    }
}

/// The size of a node without its texts, in bytes: an upper bound.
const NODE: usize = 192;
/// Up to this many members are searched linearly.
const FEW: usize = 16;

impl Members {
    /// The member with this name, and whether it is new.
    fn member(&mut self, name: &str) -> (&mut Node, bool) {
        let known = if self.places.is_empty() {
            self.list.iter().position(|(key, _)| **key == *name)
        } else {
            self.places.get(name).copied()
        };
        let at = known.unwrap_or(self.list.len());
        if known.is_none() {
            if at < FEW {
                self.list.reserve_exact(1);
            }
            self.list.push((name.into(), Node::Empty));
            if at >= FEW {
                let first = if at == FEW { 0 } else { at };
                for (at, (name, _)) in (first..).zip(&self.list[first..]) {
                    self.places.insert(name.clone(), at);
                }
            }
        }
        (&mut self.list[at].1, known.is_none())
    }
}

impl PartialArgs {
    /// Whether a text was to continue, and did not.
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Stores the value at its path. Returns how many more bytes are held.
    pub(super) fn set(&mut self, part: &PartialArgument<'_>, max_depth: usize) -> Result<usize, Misplaced> {
        let has_more = match self.open.take() {
            Some(open) if *open != *part.path => return Err(Misplaced::Interrupted),
            open => open.is_some(),
        };
        let mut held = 0;
        let mut node = &mut self.root;
        let mut rest = part.path.strip_prefix('$').filter(|rest| !rest.is_empty()).ok_or(Misplaced::Path)?;
        let mut depth = 0;
        while !rest.is_empty() {
            let (step, after) = Step::read(rest).ok_or(Misplaced::Path)?;
            (rest, depth) = (after, depth + 1);
            if depth > max_depth {
                return Err(Misplaced::TooDeep);
            }
            node = match step {
                Step::Name(name) => {
                    if matches!(node, Node::Empty) {
                        *node = Node::Object(Box::default());
                    }
                    let Node::Object(members) = node else { return Err(Misplaced::Conflict) };
                    let (member, is_new) = members.member(&name);
                    if is_new {
                        held += 2 * name.len() + NODE;
                    }
                    member
                }
                Step::Index(index) => {
                    if matches!(node, Node::Empty) {
                        *node = Node::Array(Vec::new());
                    }
                    let Node::Array(elements) = node else { return Err(Misplaced::Conflict) };
                    if index == elements.len() {
                        held += NODE;
                        if index < FEW {
                            elements.reserve_exact(1);
                        }
                        elements.push(Node::Empty);
                    }
                    elements.get_mut(index).ok_or(Misplaced::Gap)?
                }
            };
        }
        match (&mut *node, part.value) {
            (Node::Empty, PartialValue::Text(text)) => *node = Node::Text(text.to_owned()),
            (Node::Text(before), PartialValue::Text(text)) if has_more => before.push_str(text),
            (Node::Empty, PartialValue::Literal(literal)) => *node = Node::Literal(literal.into()),
            _ => return Err(Misplaced::Conflict),
        }
        if part.has_more {
            self.open = Some(part.path.into());
        }
        let (PartialValue::Text(value) | PartialValue::Literal(value)) = part.value;
        Ok(held + value.len())
    }

    /// The JSON text of the arguments.
    pub(super) fn to_json(&self) -> String {
        let mut out = String::new();
        match &self.root {
            Node::Empty => out.push_str("{}"),
            root => root.write(&mut out),
        }
        out
    }
}

impl Node {
    fn write(&self, out: &mut String) {
        let mut comma = "";
        match self {
            // A value that was rejected leaves its node empty.
            Self::Empty => out.push_str("null"),
            Self::Literal(literal) => out.push_str(literal),
            Self::Text(text) => write_text(text, out),
            Self::Object(members) => {
                out.push('{');
                for (name, node) in &members.list {
                    out.push_str(std::mem::replace(&mut comma, ","));
                    write_text(name, out);
                    out.push(':');
                    node.write(out);
                }
                out.push('}');
            }
            Self::Array(elements) => {
                out.push('[');
                for node in elements {
                    out.push_str(std::mem::replace(&mut comma, ","));
                    node.write(out);
                }
                out.push(']');
            }
        }
    }
}

fn write_text(text: &str, out: &mut String) {
    out.push_str(&serde_json::to_string(text).expect("a string is JSON"));
}

/// A step of a path.
enum Step<'a> {
    Name(Cow<'a, str>),
    Index(usize),
}

impl<'a> Step<'a> {
    /// Reads the first step of a path, and returns the rest.
    fn read(path: &'a str) -> Option<(Self, &'a str)> {
        if let Some(path) = path.strip_prefix('.') {
            let end = path.find(['.', '[']).unwrap_or(path.len());
            let (name, rest) = path.split_at(end);
            return (!name.is_empty()).then_some((Self::Name(name.into()), rest));
        }
        let path = path.strip_prefix('[')?;
        let quote = path.chars().next().filter(|char| matches!(char, '\'' | '"'));
        let Some(quote) = quote else {
            let (index, rest) = path.split_once(']')?;
            let is_index = index.bytes().all(|byte| byte.is_ascii_digit());
            return Some((Self::Index(index.parse().ok().filter(|_| is_index)?), rest));
        };
        let mut name = String::new();
        let mut chars = path[1..].char_indices();
        while let Some((at, char)) = chars.next() {
            match char {
                '\\' => name.push(chars.next()?.1),
                _ if char == quote => {
                    let rest = path[1 + at + 1..].strip_prefix(']')?;
                    return Some((Self::Name(name.into()), rest));
                }
                _ => name.push(char),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold(parts: &[(&str, &str, bool)]) -> Result<String, Misplaced> {
        let mut partial = PartialArgs::default();
        for &(path, value, has_more) in parts {
            let value = match value.strip_prefix('#') {
                Some(literal) => PartialValue::Literal(literal),
                None => PartialValue::Text(value),
            };
            partial.set(&PartialArgument { path, value, has_more }, 8)?;
        }
        Ok(partial.to_json())
    }

    #[test]
    fn values_are_put_where_their_paths_say() {
        let parts = [
            ("$.city", "Zür", true),
            ("$.city", "ich\"", true),
            ("$.city", "", false),
            ("$.stops[0].b", "#1.50", false),
            ("$.stops[0].a", "#null", false),
            ("$.stops[1]['x.y\\'']", "t", false),
            ("$[\"z\"][0][0]", "#true", false),
            ("$.stops[0].c", "late", false),
        ];
        assert_eq!(
            fold(&parts).unwrap(),
            r#"{"city":"Zürich\"","stops":[{"b":1.50,"a":null,"c":"late"},{"x.y'":"t"}],"z":[[true]]}"#
        );
        assert_eq!(fold(&[]).unwrap(), "{}");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (parts, expected) in [
            (&[("city", "a", false)][..], Misplaced::Path),
            (&[("$", "a", false)], Misplaced::Path),
            (&[("$.", "a", false)], Misplaced::Path),
            (&[("$.a..b", "a", false)], Misplaced::Path),
            (&[("$.a[", "a", false)], Misplaced::Path),
            (&[("$.a[-1]", "a", false)], Misplaced::Path),
            (&[("$.a[+1]", "a", false)], Misplaced::Path),
            (&[("$.a[]", "a", false)], Misplaced::Path),
            (&[("$['a'", "a", false)], Misplaced::Path),
            (&[("$.a[99999999999999999999]", "a", false)], Misplaced::Path),
            (&[("$.a[1]", "a", false)], Misplaced::Gap),
            (&[("$.a", "a", false), ("$.a", "b", false)], Misplaced::Conflict),
            (&[("$.a", "a", false), ("$.a.b", "b", false)], Misplaced::Conflict),
            (&[("$.a[0]", "a", false), ("$.a.b", "b", false)], Misplaced::Conflict),
            (&[("$.a", "a", true), ("$.a", "#1", false)], Misplaced::Conflict),
            (&[("$.a", "a", true), ("$.b", "b", false)], Misplaced::Interrupted),
            (&[("$.a.a.a.a.a.a.a.a.a", "a", false)], Misplaced::TooDeep),
        ] {
            assert_eq!(fold(parts).unwrap_err(), expected, "{parts:?}");
        }
    }

    #[test]
    fn many_members_take_linear_time() {
        let mut partial = PartialArgs::default();
        for name in 0..200_000 {
            let path = format!("$.a{name}");
            let part = PartialArgument { path: &path, value: PartialValue::Literal("1"), has_more: false };
            partial.set(&part, 8).unwrap();
        }
        assert!(partial.to_json().ends_with(r#""a199999":1}"#));
    }
}
