//! Comparison of values.

use super::number::Number;
use super::tape::{ESCAPED, NodeKind, after};
use super::unescape::unescape;
use super::value::{Value, View};

impl Value<'_> {
    /// Whether both values are the same: the same members in the same order, the same strings after their escapes are
    /// decoded, and numbers with the same digits. Linear, and does not recurse.
    pub(crate) fn is_same(self, other: Value<'_>) -> bool {
        let nodes = |value: Value<'_>| value.index..after(&value.tape.nodes, value.index);
        let (nodes, other_nodes) = (nodes(self), nodes(other));
        nodes.len() == other_nodes.len()
            && nodes.zip(other_nodes).all(|(index, other_index)| {
                is_same_node(self.at(index), other.at(other_index), self.index, other.index)
            })
    }

    /// Whether it [converts](Value::to_value): its numbers are in range.
    pub(crate) fn is_convertible(self) -> bool {
        let mut nodes = self.index..after(&self.tape.nodes, self.index);
        nodes.all(|index| self.at(index).as_number().is_none_or(Number::is_in_range))
    }

    /// Whether both values are equal once they are [converted](Value::to_value): the order of members does not matter, and
    /// of several with the same name, the last counts. Recurses, as deep as the parser's limit.
    pub(crate) fn is_equal(self, other: Value<'_>) -> bool {
        match (self.view(), other.view()) {
            (View::Array(one), View::Array(other)) => {
                one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.is_equal(other))
            }
            (View::Object(one), View::Object(other)) => {
                let (one, other) = (one.distinct(), other.distinct());
                let is_equal = |((name, one), (other_name, other)): (&(_, Value<'_>), &(_, _))| {
                    name == other_name && one.is_equal(*other)
                };
                one.len() == other.len() && one.iter().zip(&other).all(is_equal)
            }
            (View::Number(one), View::Number(other)) => one.is_equal(other),
            (View::String(one), View::String(other)) => one == other,
            (View::Bool(one), View::Bool(other)) => one == other,
            (View::Null, View::Null) => true,
            _ => false,
        }
    }
}

/// Whether two nodes are the same, apart from the nodes in them. `base` and `other_base` are the nodes of their roots.
fn is_same_node(value: Value<'_>, other: Value<'_>, base: u32, other_base: u32) -> bool {
    let (node, other_node) = (value.node(), other.node());
    let (raw, other_raw) = (&value.text[node.range()], &other.text[other_node.range()]);
    node.kind() == other_node.kind()
        && match node.kind() {
            NodeKind::Null | NodeKind::False | NodeKind::True => true,
            NodeKind::Number => raw == other_raw,
            NodeKind::String | NodeKind::Key if node.has(ESCAPED) || other_node.has(ESCAPED) => {
                unescape(raw) == unescape(other_raw)
            }
            NodeKind::String | NodeKind::Key => raw == other_raw,
            NodeKind::Array | NodeKind::Object => node.link - base == other_node.link - other_base,
        }
}

#[cfg(test)]
mod tests {
    use crate::json::Parser;

    const TEXTS: [&str; 32] = [
        "null",
        "true",
        "false",
        "0",
        "-0",
        "0.0",
        "-0.0",
        "1",
        "1.0",
        "1.00",
        "1e0",
        "100",
        "1e2",
        "18446744073709551615",
        "18446744073709551616",
        "18446744073709551616.0",
        "-9223372036854775808",
        "-9223372036854775809",
        "1e999",
        r#""a""#,
        r#""\u0061""#,
        "[]",
        "[1,2]",
        "[1, 2]",
        "[2,1]",
        "{}",
        r#"{"a":1,"b":[]}"#,
        r#"{"b":[],"a":1}"#,
        r#"{"a":2,"b":[],"\u0061":1}"#,
        r#"{"a":1,"b":[],"c":null}"#,
        r#"{"a":1e999,"a":1,"b":[]}"#,
        r#"{"a":1.0,"b":[]}"#,
    ];

    #[test]
    fn equal_are_values_that_convert_to_the_same() {
        let (mut parser, mut other_parser) = (Parser::new(), Parser::new());
        for text in TEXTS {
            for other in TEXTS {
                let one = parser.parse(text).expect("JSON");
                let other = other_parser.parse(other).expect("JSON");
                let is_equal = one.is_convertible() && other.is_convertible() && one.is_equal(other);
                let converted = one.to_value().ok().zip(other.to_value().ok());
                assert_eq!(
                    is_equal,
                    converted.is_some_and(|(one, other)| one == other),
                    "{text} {}",
                    other.raw()
                );
            }
        }
    }

    #[test]
    fn many_members_are_compared() {
        let object = |names: &mut dyn Iterator<Item = u32>| {
            let members: Vec<_> = names.map(|name| format!("\"{name}\":{name}")).collect();
            format!("{{{}}}", members.join(","))
        };
        let (mut parser, mut other_parser) = (Parser::new(), Parser::new());
        let (up, down) = (object(&mut (0..500)), object(&mut (0..500).rev()));
        assert!(parser.parse(&up).expect("JSON").is_equal(other_parser.parse(&down).expect("JSON")));
        let fewer = object(&mut (0..499));
        assert!(!parser.parse(&up).expect("JSON").is_equal(other_parser.parse(&fewer).expect("JSON")));
    }
}
