//! Keywords that are left out of a plan that does not cover them.

use std::collections::HashMap;
use std::fmt;

use serde_json::Value as Schema;

use crate::pointer;
use crate::tree::{self, address};

/// A keyword that is not checked, because it needs the feature `jsonschema`, or depends on one that does: see
/// [`SchemaOptions::ignore_unsupported`](crate::SchemaOptions::ignore_unsupported).
///
/// Its text shows both members.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IgnoredKeyword {
    /// The keyword.
    pub keyword: String,
    /// JSON Pointer to it, from the schema's root.
    pub path: String,
}

impl fmt::Display for IgnoredKeyword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: the keyword `{}` is not checked", self.path, self.keyword)
    }
}

/// The keywords that can be left out. Without them, a schema accepts more values.
const IGNORABLE: [&str; 22] = [
    "$dynamicRef",
    "$id",
    "$recursiveRef",
    "$ref",
    "$schema",
    "additionalProperties",
    "allOf",
    "anyOf",
    "contentEncoding",
    "contentMediaType",
    "dependencies",
    "dependentSchemas",
    "format",
    "id",
    "if",
    "maxContains",
    "not",
    "oneOf",
    "pattern",
    "patternProperties",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Some of the ignorable keywords of one schema: a bit each, and one for the whole schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeywordSet(u32);

impl KeywordSet {
    /// The whole schema: it accepts every value.
    const ALL: Self = Self(1 << 31);

    fn of(keyword: &str) -> Option<Self> {
        let at = IGNORABLE.iter().position(|known| *known == keyword)?;
        Some(Self(1 << at))
    }

    fn keywords(self) -> impl Iterator<Item = &'static str> {
        IGNORABLE
            .into_iter()
            .enumerate()
            .filter_map(move |(at, keyword)| (self.0 >> at & 1 == 1).then_some(keyword))
    }

    pub(crate) fn contains(self, keyword: &str) -> bool {
        self.0 != 0 && (self.has_all() || Self::of(keyword).is_some_and(|keyword| self.0 & keyword.0 != 0))
    }

    /// Whether a keyword has no effect at all. Of `oneOf` it has one: one of the alternatives must fit.
    pub(crate) fn hides(self, keyword: &str) -> bool {
        self.contains(keyword) && (keyword != "oneOf" || self.has_all())
    }

    pub(crate) fn has_all(self) -> bool {
        self.0 & Self::ALL.0 != 0
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// Keywords that a compiler leaves out, by the addresses of their schemas.
#[derive(Debug, Default)]
pub(crate) struct Omitted {
    sets: HashMap<usize, KeywordSet>,
    /// How many they are.
    len: usize,
}

impl Omitted {
    pub(crate) fn of(&self, schema: &Schema) -> KeywordSet {
        if self.sets.is_empty() {
            return KeywordSet::default();
        }
        self.sets.get(&address(schema)).copied().unwrap_or_default()
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Adds a keyword of a schema. Returns whether it is one that can be left out, and new.
    pub(crate) fn add(&mut self, schema: &Schema, keyword: &str) -> bool {
        KeywordSet::of(keyword).is_some_and(|keyword| self.insert(schema, keyword))
    }

    /// Adds the whole schema, because of one of its keywords.
    pub(crate) fn add_all(&mut self, schema: &Schema, keyword: &str) -> bool {
        KeywordSet::of(keyword)
            .is_some_and(|keyword| self.insert(schema, KeywordSet(keyword.0 | KeywordSet::ALL.0)))
    }

    fn insert(&mut self, schema: &Schema, added: KeywordSet) -> bool {
        let set = self.sets.entry(address(schema)).or_default();
        let is_new = set.0 | added.0 != set.0;
        set.0 |= added.0;
        self.len += usize::from(is_new);
        is_new
    }
}

/// The keywords that a plan leaves out, by the pointers of their schemas.
#[derive(Debug, Default)]
pub(crate) struct Ignored {
    sets: HashMap<Box<str>, KeywordSet>,
    keywords: Vec<IgnoredKeyword>,
}

impl Ignored {
    pub(crate) fn new(root: &Schema, omitted: &Omitted) -> Self {
        let mut ignored = Self::default();
        if omitted.sets.is_empty() {
            return ignored;
        }
        tree::visit(root, &mut |schema, here| {
            let set = omitted.of(schema);
            if set.is_empty() {
                return false;
            }
            let here = here.pointer();
            for keyword in set.keywords() {
                let path = pointer::join(&here, keyword);
                ignored.keywords.push(IgnoredKeyword { keyword: keyword.to_owned(), path });
            }
            ignored.sets.insert(here.into(), set);
            false
        });
        ignored
    }

    /// Those of the schema with this pointer.
    pub(crate) fn of(&self, pointer: &str) -> KeywordSet {
        if self.sets.is_empty() {
            return KeywordSet::default();
        }
        self.sets.get(pointer).copied().unwrap_or_default()
    }

    /// All of them, those of a schema before those of the schemas in it.
    pub(crate) fn keywords(&self) -> &[IgnoredKeyword] {
        &self.keywords
    }

    /// The same for a compiler of the same document.
    pub(crate) fn omitted(&self, root: &Schema) -> Omitted {
        let mut omitted = Omitted::default();
        for (path, set) in &self.sets {
            if let Some(schema) = pointer::find(root, path) {
                omitted.insert(schema, *set);
            }
        }
        omitted
    }
}
