//! Comparison of values.

use super::tape::{ESCAPED, NodeKind, after};
use super::unescape::unescape;
use super::value::Value;

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
