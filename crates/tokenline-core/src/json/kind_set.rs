//! Sets of kinds of JSON value.

use super::tape::{Node, NodeKind};
use super::value::{Kind, Value};

/// A set of [kinds](Kind) of JSON value; [`Value::is_one_of`] tests for all of them at once.
///
/// ```
/// use tokenline_core::json::{Kind, KindSet, Parser};
///
/// let containers = KindSet::of(Kind::Array).with(Kind::Object);
/// let mut parser = Parser::new();
/// assert!(parser.parse("[]")?.is_one_of(containers));
/// assert!(!parser.parse("7")?.is_one_of(containers));
/// # Ok::<(), tokenline_core::json::SyntaxError>(())
/// ```
// A bit for each kind of node on the tape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct KindSet(u8);

impl KindSet {
    /// No kind.
    pub const NONE: Self = Self(0);
    /// All six kinds.
    pub const ALL: Self = Self(u8::MAX);

    /// Only this kind.
    #[inline]
    #[must_use]
    pub const fn of(kind: Kind) -> Self {
        Self(match kind {
            Kind::Null => 1 << NodeKind::Null as u8,
            Kind::Bool => 1 << NodeKind::False as u8 | 1 << NodeKind::True as u8,
            Kind::Number => 1 << NodeKind::Number as u8,
            Kind::String => 1 << NodeKind::String as u8 | 1 << NodeKind::Key as u8,
            Kind::Array => 1 << NodeKind::Array as u8,
            Kind::Object => 1 << NodeKind::Object as u8,
        })
    }

    /// This set with another kind.
    #[inline]
    #[must_use]
    pub const fn with(self, kind: Kind) -> Self {
        Self(self.0 | Self::of(kind).0)
    }

    /// This set without a kind.
    #[inline]
    #[must_use]
    pub const fn without(self, kind: Kind) -> Self {
        Self(self.0 & !Self::of(kind).0)
    }

    /// Whether the kind is in it.
    #[inline]
    #[must_use]
    pub const fn contains(self, kind: Kind) -> bool {
        self.0 & Self::of(kind).0 != 0
    }

    /// Whether the kind of a node is in it.
    #[inline(always)]
    pub(super) fn has_node(self, node: &Node) -> bool {
        self.0 >> (node.meta & 7) & 1 != 0
    }
}

impl Value<'_> {
    /// Whether its kind is in the set.
    #[inline(always)]
    #[must_use]
    pub fn is_one_of(self, kinds: KindSet) -> bool {
        kinds.has_node(&self.node())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Parser;

    #[test]
    fn a_value_is_of_its_kind_only() {
        const KINDS: [Kind; 6] =
            [Kind::Null, Kind::Bool, Kind::Number, Kind::String, Kind::Array, Kind::Object];
        let mut parser = Parser::new();
        for text in ["null", "true", "false", "1", "-1.5e3", r#""""#, "[1]", r#"{"a":1}"#] {
            let value = parser.parse(text).unwrap();
            for kind in KINDS {
                let is = value.kind() == kind;
                assert_eq!(value.is_one_of(KindSet::of(kind)), is, "{text} {kind:?}");
                assert_eq!(value.is_one_of(KindSet::ALL.without(kind)), !is, "{text} {kind:?}");
                assert_eq!(value.is_one_of(KindSet::NONE.with(kind)), is, "{text} {kind:?}");
                assert_eq!(KindSet::of(value.kind()).contains(kind), is, "{text} {kind:?}");
            }
        }
    }
}
