//! How records look: by that a part of one is told from a record.

use serde::{Deserialize, Serialize};

use super::fingerprint::Fingerprint;

/// Names that are remembered of each kind.
const NAMES: usize = 16;

/// How the records delivered so far look.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Shape {
    /// The names that they begin with, of all records.
    names: Vec<Fingerprint>,
    /// The names that objects within them begin with.
    inner: Vec<Fingerprint>,
    /// Whether one was written over several lines.
    pub(super) has_lines: bool,
    /// The first member of the very first.
    first: Option<Fingerprint>,
    /// Whether two that are different have the same first member, so that it does not tell them apart.
    has_equal_first: bool,
}

/// The first member of a record: its name, and all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct First {
    pub(super) name: Fingerprint,
    pub(super) member: Fingerprint,
}

impl Shape {
    /// A record goes out. The text is canonical, and `earlier` are the first members of those that are remembered.
    pub(super) fn deliver(
        &mut self,
        text: &str,
        mut earlier: impl Iterator<Item = Fingerprint>,
    ) -> Option<First> {
        for name in inner_names(text) {
            remember(&mut self.inner, name);
        }
        let first = first(text)?;
        remember(&mut self.names, first.name);
        self.has_equal_first |=
            self.first == Some(first.member) || earlier.any(|earlier| earlier == first.member);
        self.first.get_or_insert(first.member);
        Some(first)
    }

    /// Whether it is not known how records begin.
    pub(super) fn is_unknown(&self) -> bool {
        self.names.is_empty()
    }

    /// Whether records begin with that name.
    pub(super) fn is_usual(&self, name: Fingerprint) -> bool {
        self.names.contains(&name)
    }

    /// Whether objects within the records, or within the one that is open, may be taken for records.
    pub(super) fn is_like_within(&self, open: &str) -> bool {
        let is_name = |name: &Fingerprint| self.names.contains(name);
        let first = first_name(open).map(Fingerprint::of);
        self.inner.len() >= NAMES
            || self.inner.iter().any(|name| is_name(name) || first == Some(*name))
            || inner_names(open).any(|name| is_name(&name) || first == Some(name))
    }

    /// Whether a record with that first member, which is none of those delivered, is the first of them or one of
    /// `earlier` in other words.
    pub(super) fn is_changed(
        &self,
        member: Fingerprint,
        mut earlier: impl Iterator<Item = Fingerprint>,
    ) -> bool {
        !self.has_equal_first && (self.first == Some(member) || earlier.any(|earlier| earlier == member))
    }
}

fn remember(names: &mut Vec<Fingerprint>, name: Fingerprint) {
    if names.len() < NAMES && !names.contains(&name) {
        names.push(name);
    }
}

/// The first member of a record. `None` if it has none.
pub(super) fn first(record: &str) -> Option<First> {
    let name = first_name(record)?;
    let (mut depth, mut in_string, mut is_escaped) = (0, false, false);
    let end = record.find(|char| {
        if in_string {
            in_string = is_escaped || char != '"';
            is_escaped = char == '\\' && !is_escaped;
            return false;
        }
        match char {
            '"' => in_string = true,
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            _ => {}
        }
        depth == 0 || (depth == 1 && char == ',')
    })?;
    Some(First { name: Fingerprint::of(name), member: Fingerprint::of(&record[1..end]) })
}

/// The name that an object begins with, if it is there to its end, as it is written.
pub(super) fn first_name(object: &str) -> Option<&str> {
    let name = object.strip_prefix('{')?.trim_ascii_start().strip_prefix('"')?;
    let mut is_escaped = false;
    let end = name.find(|char| {
        let is_end = char == '"' && !is_escaped;
        is_escaped = char == '\\' && !is_escaped;
        is_end
    })?;
    Some(&name[..end])
}

/// The names that objects within a record begin with.
fn inner_names(record: &str) -> impl Iterator<Item = Fingerprint> + '_ {
    let (mut in_string, mut is_escaped) = (false, false);
    let objects = record.char_indices().filter_map(move |(at, char)| {
        if in_string {
            in_string = is_escaped || char != '"';
            is_escaped = char == '\\' && !is_escaped;
        } else if char == '"' {
            in_string = true;
        }
        (!in_string && char == '{' && at > 0).then_some(at)
    });
    objects.filter_map(|at| first_name(&record[at..])).map(Fingerprint::of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_member_is_found() {
        let member = |record| first(record).map(|first| first.member);
        for record in ["{\"a\":{\"b\":[1,\"}\\\"\"]}}", "{\"a\":{\"b\":[1,\"}\\\"\"]},\"c\":1}"] {
            assert_eq!(member(record), Some(Fingerprint::of("\"a\":{\"b\":[1,\"}\\\"\"]}")), "{record}");
        }
        assert_eq!((first("{}"), first("{\"a\":1")), (None, None));
        assert_eq!(first_name("{ \"a\\\"b\": 1}"), Some("a\\\"b"));
        let names: Vec<_> = inner_names("{\"a\":[{\"b\":\"{\\\"x\"},{},{\"c\":{\"d\"").collect();
        assert_eq!(names, ["b", "c", "d"].map(Fingerprint::of));
    }
}
