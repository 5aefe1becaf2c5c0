//! Arrays and objects on the tape, and what they contain.

use super::names;
use super::tape::{OPEN, REPEATED};
use super::value::Value;

/// A JSON array on the tape.
#[derive(Clone, Copy, Debug)]
pub struct Array<'a>(pub(super) Value<'a>);

impl<'a> Array<'a> {
    /// The number of elements.
    #[inline]
    #[must_use]
    pub fn len(self) -> usize {
        self.0.tape.member_count(self.0.index)
    }

    /// Whether it is empty.
    #[inline]
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0.node().count() == 0
    }

    /// Its elements in order.
    #[inline]
    #[must_use]
    pub fn iter(self) -> Elements<'a> {
        self.iter_from(None)
    }

    /// The elements from a [position](Elements::position) on, of an earlier snapshot of the document. `None` stands for
    /// the start.
    #[inline]
    #[must_use]
    pub fn iter_from(self, position: Option<u32>) -> Elements<'a> {
        Elements { next: self.0.at(position.unwrap_or(self.0.index + 1)), end: self.0.node().link }
    }
}

impl<'a> IntoIterator for Array<'a> {
    type Item = Value<'a>;
    type IntoIter = Elements<'a>;

    fn into_iter(self) -> Elements<'a> {
        self.iter()
    }
}

/// The elements of an [`Array`].
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    next: Value<'a>,
    end: u32,
}

impl Elements<'_> {
    /// The position on the tape of the next element, or of the one that may come.
    #[inline]
    #[must_use]
    pub fn position(&self) -> u32 {
        self.next.index
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Value<'a>;

    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn next(&mut self) -> Option<Value<'a>> {
        let value = self.next;
        if value.index >= self.end {
            return None;
        }
        self.next.index = value.tape.after(value.index);
        Some(value)
    }
}

/// A JSON object on the tape.
#[derive(Clone, Copy, Debug)]
pub struct Object<'a>(pub(super) Value<'a>);

impl<'a> Object<'a> {
    /// The object as a value.
    #[inline]
    #[must_use]
    pub fn value(self) -> Value<'a> {
        self.0
    }

    /// The number of members; repeated names count each time.
    #[inline]
    #[must_use]
    pub fn len(self) -> usize {
        self.0.tape.member_count(self.0.index)
    }

    /// Whether it is empty.
    #[inline]
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0.node().count() == 0
    }

    /// Its members in order, repeated names included.
    #[inline]
    #[must_use]
    pub fn iter(self) -> Members<'a> {
        self.iter_from(None)
    }

    /// The members from a [position](Members::position) on, of an earlier snapshot of the document. `None` stands for
    /// the start.
    #[inline]
    #[must_use]
    pub fn iter_from(self, position: Option<u32>) -> Members<'a> {
        Members { next: self.0.at(position.unwrap_or(self.0.index + 1)), end: self.0.node().link }
    }

    /// The member with this name; the last one if the name is repeated. Searches linearly.
    #[inline]
    #[must_use]
    pub fn get(self, name: &str) -> Option<Value<'a>> {
        let mut named = self.iter().filter(|(other, _)| *other == name).map(|(_, value)| value);
        // Of a large open object, it is not known whether a name is repeated.
        if self.0.node().has(REPEATED | OPEN) { named.last() } else { named.next() }
    }

    /// Its members, each name once, with the last of its values. In an order that depends on the names only.
    pub(crate) fn distinct(self) -> Vec<(&'a str, Value<'a>)> {
        let Value { tape, text, .. } = self.0;
        let name = |member: u32| tape.name(text, member);
        let mut members = self.iter();
        let mut sorted: Vec<(u32, u32)> = Vec::new();
        loop {
            let member = members.position();
            let Some((name, _)) = members.next() else { break };
            sorted.push((names::hash(name.as_bytes(), 0, name.len()), member));
        }
        names::sort_by_name(&mut sorted, &|member| name(member).as_bytes());
        let mut distinct: Vec<(&str, Value<'_>)> = Vec::with_capacity(sorted.len());
        for (_, member) in sorted {
            let (name, value) = (name(member), self.0.at(member + 1));
            match distinct.last_mut() {
                Some((last, last_value)) if *last == name => *last_value = value,
                _ => distinct.push((name, value)),
            }
        }
        distinct
    }

    /// Whether two of its own members have the same name. Of a large object, known once it is complete.
    #[inline]
    #[must_use]
    pub fn has_repeated_name(self) -> bool {
        self.0.node().has(REPEATED)
    }
}

impl<'a> IntoIterator for Object<'a> {
    type Item = (&'a str, Value<'a>);
    type IntoIter = Members<'a>;

    fn into_iter(self) -> Members<'a> {
        self.iter()
    }
}

/// The members of an [`Object`].
#[derive(Clone, Debug)]
pub struct Members<'a> {
    pub(super) next: Value<'a>,
    pub(super) end: u32,
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, Value<'a>);

    // `inline(always)`: otherwise the compiler does not inline it in the hot loop of validation. Not for WebAssembly,
    // where size counts: many loops use it.
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn next(&mut self) -> Option<(&'a str, Value<'a>)> {
        let key = self.next;
        let value = self.next_value()?;
        Some((key.tape.name(key.text, key.index), value))
    }
}

impl<'a> Members<'a> {
    /// Whether there are no more, for now.
    #[inline]
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.next.index >= self.end
    }

    /// The position on the tape of the next member, or of the one that may come.
    #[inline]
    #[must_use]
    pub fn position(&self) -> u32 {
        self.next.index
    }

    /// The value of the next member.
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn next_value(&mut self) -> Option<Value<'a>> {
        if self.is_done() {
            return None;
        }
        let value = self.next.at(self.next.index + 1);
        self.next.index = value.tape.after(value.index);
        Some(value)
    }
}
