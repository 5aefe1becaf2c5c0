//! Keywords of a schema that have no effect: misspelled, out of place, or of a later draft.

use std::collections::HashSet;
use std::fmt;

use crate::draft::Draft;
use crate::messages::nearest;
use crate::place::{Document, Place};
use crate::rules::{introduced, keywords};
use crate::text::quoted;

/// A keyword of a schema without effect on validation, which is no annotation either: `{"requird":["a"]}`.
///
/// Its text shows the path and, if it is misspelled, the nearest keyword.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownKeyword {
    /// The keyword as written.
    pub keyword: String,
    /// JSON Pointer to it, from the schema's root.
    pub path: String,
    /// The keyword that was probably meant.
    pub nearest: Option<&'static str>,
    /// The first draft that has it, if that is later than the schema's.
    pub since: Option<&'static str>,
}

impl fmt::Display for UnknownKeyword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.path)?;
        let keyword = quoted(&self.keyword);
        match (self.since, self.nearest) {
            (Some(since), _) => write!(f, "{keyword} is a keyword of {since} and later, without effect here"),
            (None, Some(nearest)) => write!(f, "unknown keyword {keyword}; did you mean `{nearest}`?"),
            (None, None) => write!(f, "unknown keyword {keyword}"),
        }
    }
}

/// Keywords without effect on a verdict.
const ANNOTATIONS: &[&str] = &[
    "$anchor",
    "$comment",
    "$defs",
    "$dynamicAnchor",
    "$id",
    "$recursiveAnchor",
    "$schema",
    "$vocabulary",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "default",
    "definitions",
    "deprecated",
    "description",
    "examples",
    "id",
    "readOnly",
    "title",
    "writeOnly",
];
/// Keywords with an effect only beside others.
const COMPANIONS: &[&str] = &["else", "maxContains", "minContains", "then"];
/// The prefix of OpenAPI's extensions.
const EXTENSION: &str = "x-";

/// The unknown keywords of all subschemas, in the order of their paths.
pub(crate) fn unknown_keywords(document: &Document) -> Vec<UnknownKeyword> {
    let draft = document.root().draft();
    let mut unknown = Vec::new();
    for place in all_places(document) {
        for keyword in place.object().into_iter().flat_map(|members| members.keys()) {
            let since = introduced(keyword);
            let has_no_rule = ANNOTATIONS.iter().chain(COMPANIONS).any(|known| known == keyword);
            if has_no_rule || keyword.starts_with(EXTENSION) || since.is_some_and(|since| since <= draft) {
                continue;
            }
            let mut known =
                keywords().map(|(name, _)| name).chain(ANNOTATIONS.iter().chain(COMPANIONS).copied());
            unknown.push(UnknownKeyword {
                keyword: keyword.clone(),
                path: place.keyword_pointer(keyword),
                nearest: if since.is_none() { nearest(keyword, &mut known) } else { None },
                since: since.map(Draft::name),
            });
        }
    }
    unknown.sort_by(|one, other| one.path.cmp(&other.path));
    unknown
}

/// All subschemas, those that nothing refers to among them.
fn all_places(document: &Document) -> Vec<Place<'_>> {
    let mut places = Vec::new();
    let mut seen = HashSet::new();
    let mut open = vec![document.root()];
    while let Some(place) = open.pop() {
        if !seen.insert(place.pointer.clone()) {
            continue;
        }
        open.extend(place.children());
        open.extend(place.reference());
        for keyword in ["$defs", "definitions"] {
            open.extend(place.names(keyword).filter_map(|name| place.named_child(keyword, name)));
        }
        places.push(place);
    }
    places
}
