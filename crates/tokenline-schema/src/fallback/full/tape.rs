//! The tape as jsonschema sees it: implements its traits for [`Value`], so that records are validated without
//! building a `serde_json::Value`.

use std::borrow::Cow;

use jsonschema::JsonType;
use jsonschema::json::{Array, Json, JsonNumber, Node, NodeIdentity, Object};
use serde_json::Value as Owned;
use tokenline_core::json::{self, Kind, Number, Value, View};

use crate::compare;
use crate::number::{Decimal, round};
use crate::tape::{Members, StringBuffer, distinct_len, distinct_members};

/// The representation of the tape.
pub(crate) struct Tape;

impl Json for Tape {
    type Node<'a> = TapeNode<'a>;
    type PreparedKey = Box<str>;
    type StringBuffer = StringBuffer;

    // A lookup iterates over the object's members, so one pass for all required names is cheaper unless the
    // object is much larger than the schema expects.
    const KEYS_PER_LOOKUP: usize = 64;

    fn prepare_key(key: &str) -> Box<str> {
        key.into()
    }

    fn with_string_node<T>(buffer: &mut StringBuffer, string: &str, f: impl FnOnce(TapeNode<'_>) -> T) -> T {
        buffer.with(string, |value| f(value.into()))
    }
}

/// A value on a tape, or an object that is on no tape, used to ask one validator for a verdict on a part of
/// its schema (see [`Parts`](super::Parts)). One type for both, because jsonschema is compiled once
/// for each.
#[derive(Clone, Copy)]
pub(crate) struct TapeNode<'a> {
    value: Value<'a>,
    /// If set, `value` is an empty object, and this is the only member of the object.
    member: Option<&'a (&'a str, Value<'a>)>,
}

impl<'a> From<Value<'a>> for TapeNode<'a> {
    #[inline]
    fn from(value: Value<'a>) -> Self {
        Self { value, member: None }
    }
}

impl<'a> TapeNode<'a> {
    /// The value; an empty object if it is on no tape.
    pub(crate) fn value(&self) -> Value<'a> {
        self.value
    }

    /// An object with `member` as its only member; `empty` is an empty object.
    pub(crate) fn object_of(member: &'a (&'a str, Value<'a>), empty: Value<'a>) -> Self {
        Self { value: empty, member: Some(member) }
    }
}

impl<'a> Node<'a, Tape> for TapeNode<'a> {
    type Object = TapeObject<'a>;
    type Array = TapeArray<'a>;
    type Number = TapeNumber<'a>;

    #[inline]
    fn as_object(&self) -> Option<TapeObject<'a>> {
        self.value.as_object().map(|object| TapeObject { object, member: self.member })
    }

    #[inline]
    fn as_array(&self) -> Option<TapeArray<'a>> {
        self.value.as_array().map(TapeArray)
    }

    #[inline]
    fn as_string(&self) -> Option<Cow<'a, str>> {
        self.value.as_str()
    }

    #[inline]
    fn as_number(&self) -> Option<TapeNumber<'a>> {
        self.value.as_number().map(TapeNumber)
    }

    #[inline]
    fn as_boolean(&self) -> Option<bool> {
        self.value.as_bool()
    }

    #[inline]
    fn is_null(&self) -> bool {
        self.value.is_null()
    }

    #[inline]
    fn is_number(&self) -> bool {
        self.value.kind() == Kind::Number
    }

    #[inline]
    fn is_string(&self) -> bool {
        self.value.kind() == Kind::String
    }

    #[inline]
    fn json_type(&self) -> JsonType {
        match self.value.kind() {
            Kind::Null => JsonType::Null,
            Kind::Bool => JsonType::Boolean,
            Kind::Number => JsonType::Number,
            Kind::String => JsonType::String,
            Kind::Array => JsonType::Array,
            Kind::Object => JsonType::Object,
        }
    }

    #[inline]
    fn string_length(&self) -> Option<u64> {
        self.value.char_count().map(|count| count as u64)
    }

    fn equals_value(&self, expected: &Owned) -> bool {
        compare::equals(self.value, expected, &|number| Cow::Owned(number.to_string()))
    }

    fn to_value(&self) -> Cow<'a, Owned> {
        Cow::Owned(match self.member {
            None => to_owned(self.value),
            Some((name, value)) => serde_json::json!({ *name: to_owned(*value) }),
        })
    }

    #[inline]
    fn identity(&self) -> Option<NodeIdentity> {
        // A generation is never reused, so an identity means one value for ever, and verdicts are remembered
        // by it. Not for an object that is on no tape: all of those share one empty object.
        if self.member.is_some() {
            return None;
        }
        let (generation, index) = self.value.identity();
        Some(NodeIdentity::tagged(generation as usize, index))
    }
}

/// For texts about a value, which this crate never requests from jsonschema.
fn to_owned(value: Value<'_>) -> Owned {
    match value.view() {
        View::Null => Owned::Null,
        View::Bool(value) => value.into(),
        View::Number(number) => Owned::Number(TapeNumber(number).to_number().into_owned()),
        View::String(value) => value.into(),
        View::Array(array) => array.into_iter().map(to_owned).collect(),
        View::Object(object) => Owned::Object(
            object.into_iter().map(|(name, member)| (name.to_owned(), to_owned(member))).collect(),
        ),
    }
}

/// The object of a [`TapeNode`].
pub(crate) struct TapeObject<'a> {
    object: json::Object<'a>,
    member: Option<&'a (&'a str, Value<'a>)>,
}

impl<'a> Object<'a, Tape> for TapeObject<'a> {
    type Node = TapeNode<'a>;
    type MemberName = &'a str;
    type MembersIter = TapeMembers<'a>;

    #[inline]
    fn len(&self) -> usize {
        distinct_len(self.object) + usize::from(self.member.is_some())
    }

    #[inline]
    fn get(&self, key: &Box<str>) -> Option<TapeNode<'a>> {
        match self.member {
            None => self.object.get(key).map(TapeNode::from),
            Some((name, value)) => (**key == **name).then(|| TapeNode::from(*value)),
        }
    }

    #[inline]
    fn members(&self) -> TapeMembers<'a> {
        TapeMembers(match self.member {
            None => distinct_members(self.object),
            Some(member) => Members::Listed(Box::new(vec![*member].into_iter())),
        })
    }
}

/// The members of a [`TapeObject`].
pub(crate) struct TapeMembers<'a>(Members<'a>);

impl<'a> Iterator for TapeMembers<'a> {
    type Item = (&'a str, TapeNode<'a>);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(name, value)| (name, value.into()))
    }
}

/// The array of a [`TapeNode`].
pub(crate) struct TapeArray<'a>(json::Array<'a>);

impl<'a> Array<'a, Tape> for TapeArray<'a> {
    type Node = TapeNode<'a>;
    type ElementsIter = TapeElements<'a>;

    #[inline]
    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline]
    fn elements(&self) -> Self::ElementsIter {
        TapeElements(self.0.iter())
    }

    fn is_unique(&self) -> bool {
        compare::is_unique(self.0)
    }
}

/// The elements of a [`TapeArray`]. Not a `Map` with a function pointer, because that would be called per
/// element.
pub(crate) struct TapeElements<'a>(json::Elements<'a>);

impl<'a> Iterator for TapeElements<'a> {
    type Item = TapeNode<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(TapeNode::from)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

/// A number of the tape as jsonschema sees it.
#[derive(Clone, Copy)]
pub(crate) struct TapeNumber<'a>(Number<'a>);

impl JsonNumber for TapeNumber<'_> {
    #[inline]
    fn as_u64(&self) -> Option<u64> {
        self.0.as_u64()
    }

    #[inline]
    fn as_i64(&self) -> Option<i64> {
        self.0.as_i64()
    }

    #[inline]
    fn as_f64(&self) -> Option<f64> {
        Some(round(self.0.as_str())).filter(|number| number.is_finite())
    }

    fn as_str(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.0.as_str())
    }

    fn to_number(&self) -> Cow<'_, serde_json::Number> {
        // Only error texts use it, and those are not built from the tape.
        let number = self.0.to_number().or_else(|| {
            let limit = if self.0.as_str().starts_with('-') { f64::MIN } else { f64::MAX };
            serde_json::Number::from_f64(limit)
        });
        Cow::Owned(number.unwrap_or_else(|| 0.into()))
    }

    fn is_integer(&self) -> bool {
        self.0.is_written_as_integer() || Decimal::new(self.0.as_str()).is_whole()
    }

    fn is_written_as_integer(&self) -> bool {
        self.0.is_written_as_integer()
    }
}

#[cfg(test)]
mod tests {
    use jsonschema::json::conformance;
    use tokenline_core::json::Parser;

    use super::*;

    #[test]
    fn the_tape_keeps_the_contract_of_the_traits() {
        let text = conformance::document().to_string();
        let mut parser = Parser::new();
        conformance::assert_conformance::<Tape>(&parser.parse(&text).unwrap().into());
    }
}
