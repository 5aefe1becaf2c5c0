//! Members of objects on the tape, and strings that are on none.

use std::collections::HashMap;

use tokenline_core::json::{self, Parser, Value};

use crate::text::push_json_string;

/// Holds a lone string, such as a member's name, while it is validated.
#[derive(Default)]
pub(crate) struct StringBuffer {
    text: String,
    parser: Parser,
}

impl StringBuffer {
    /// Puts `string` on a tape of its own.
    pub(crate) fn with<T>(&mut self, string: &str, f: impl FnOnce(Value<'_>) -> T) -> T {
        self.text.clear();
        // With the shortest escapes, no name gets longer than in its document.
        push_json_string(&mut self.text, string);
        match self.parser.parse(&self.text) {
            Ok(value) => f(value),
            Err(error) => unreachable!("a string with its escapes is JSON: {error}"),
        }
    }
}

/// The members of an object; of repeated names, only the last.
#[inline]
pub(crate) fn distinct_members(object: json::Object<'_>) -> Members<'_> {
    if object.has_repeated_name() {
        return without_repeats(object);
    }
    Members::InOrder(object.iter())
}

/// The number of members of an object, counting each name once.
#[inline]
pub(crate) fn distinct_len(object: json::Object<'_>) -> usize {
    if object.has_repeated_name() { distinct_members(object).count() } else { object.len() }
}

#[cold]
fn without_repeats(object: json::Object<'_>) -> Members<'_> {
    let mut last = HashMap::new();
    for (at, (name, _)) in object.iter().enumerate() {
        last.insert(name, at);
    }
    let is_last = |(at, (name, _)): &(usize, (&str, Value<'_>))| last.get(name) == Some(at);
    let distinct: Vec<_> = object.iter().enumerate().filter(is_last).map(|(_, member)| member).collect();
    Members::Listed(Box::new(distinct.into_iter()))
}

/// The members of an object; of repeated names, only the last.
#[derive(Clone)]
pub(crate) enum Members<'a> {
    InOrder(json::Members<'a>),
    /// If names are repeated.
    Listed(Box<std::vec::IntoIter<(&'a str, Value<'a>)>>),
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, Value<'a>);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::InOrder(members) => members.next(),
            Self::Listed(members) => members.next(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_string_can_stand_alone() {
        let mut buffer = StringBuffer::default();
        for string in ["", "a\"b\\c/", "\0\u{8}\t\n\u{b}\u{c}\r\u{10}\u{1f}\u{7f}", "é\u{1F600}"] {
            buffer.with(string, |value| assert_eq!(value.as_str().as_deref(), Some(string)));
        }
    }

    #[test]
    fn of_repeated_names_the_last_is_the_member() {
        let mut parser = Parser::new();
        let value = parser.parse(r#"{"a":1,"b":2,"a":3,"\u0062":4,"c":5}"#).unwrap();
        let object = value.as_object().unwrap();
        assert_eq!(distinct_len(object), 3);
        let members: Vec<_> = distinct_members(object).map(|(name, value)| (name, value.raw())).collect();
        assert_eq!(members, [("a", "3"), ("b", "4"), ("c", "5")]);
    }
}
