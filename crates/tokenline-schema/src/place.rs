//! A schema document, and the places in it that a value is validated against.

use std::collections::HashSet;
use std::sync::Arc;

use jsonschema::{Draft, Registry};
use serde_json::{Map, Value};

use crate::cost::Costs;
use crate::literals::Literals;
use crate::patterns::{PatternLimits, Patterns};
use crate::pointer;
use crate::resources::Resources;
use crate::rules::introduced;

/// A schema as given, and its draft.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) schema: Value,
    pub(crate) draft: Draft,
    /// The other documents that it may refer to.
    pub(crate) resources: Resources,
    /// The costs of the subschemas, by their addresses in `schema`.
    pub(crate) costs: Costs,
    /// Its numbers as written.
    pub(crate) literals: Arc<Literals>,
    pub(crate) patterns: Arc<Patterns>,
    /// Whether all of it, and its resources, keep the rules of its draft.
    pub(crate) is_one_dialect: bool,
}

/// A subschema and its position.
#[derive(Clone, Debug)]
pub(crate) struct Place<'s> {
    document: &'s Document,
    pub(crate) schema: &'s Value,
    /// JSON Pointer from the document's root.
    pub(crate) pointer: String,
    /// The pointer of the resource that contains it: the target of `#` here.
    base: String,
}

/// How deep `$ref` and `allOf` are followed to collect all schemas that apply at one place.
const FACET_DEPTH: usize = 8;
/// How many schema objects may apply at one place.
const FACETS: usize = 64;

/// The URI of a document without an identifier.
const HOME: &str = "json-schema:///";

impl Document {
    /// A document without resources, whose costs are not known yet.
    pub(crate) fn new(
        schema: Value,
        draft: Draft,
        exact: Vec<(String, String)>,
        limits: PatternLimits,
    ) -> Self {
        let literals = Arc::new(Literals::new(&schema, exact));
        let (resources, costs) = (Resources::default(), Costs::default());
        let patterns = Arc::new(Patterns::new([&schema].into_iter(), limits));
        Self { schema, draft, resources, costs, literals, patterns, is_one_dialect: false }
    }

    /// Whether all of it, and its resources, keep the rules of its draft.
    pub(crate) fn find_dialects(&self) -> bool {
        fn keeps(schema: &Value, draft: Draft) -> bool {
            match schema {
                Value::Object(members) => {
                    let is_own = !members.contains_key("$schema") || Draft::default().detect(schema) == draft;
                    is_own && members.values().all(|value| keeps(value, draft))
                }
                Value::Array(elements) => elements.iter().all(|element| keeps(element, draft)),
                _ => true,
            }
        }
        self.schemas().all(|schema| keeps(schema, self.draft))
    }

    /// The schema and its resources, in a registry with the document's [URI](Self::base_uri).
    pub(crate) fn registry(&self) -> Option<Registry<'_>> {
        let registry = Registry::new().draft(self.draft).retriever(self.resources.clone());
        let resource = self.draft.create_resource_ref(&self.schema);
        registry.add(self.base_uri(), resource).ok()?.prepare().ok()
    }

    /// Whether `$schema` stands anywhere below the root. Such a part may have to keep the rules of its own draft.
    pub(crate) fn has_inner_dialect(&self) -> bool {
        fn has_dialect(value: &Value) -> bool {
            match value {
                Value::Object(object) => object.contains_key("$schema") || object.values().any(has_dialect),
                Value::Array(array) => array.iter().any(has_dialect),
                _ => false,
            }
        }
        self.schema.as_object().is_some_and(|root| root.values().any(has_dialect))
    }

    /// The schema and its resources.
    pub(crate) fn schemas(&self) -> impl Iterator<Item = &Value> {
        [&self.schema].into_iter().chain(self.resources.schemas())
    }

    /// The pointer of the first place with a pattern.
    pub(crate) fn pattern_path(&self, pattern: &str) -> Option<String> {
        self.find(|members, here| {
            if members.get("pattern").is_some_and(|own| own == pattern) {
                return Some(pointer::join(here, "pattern"));
            }
            members.get("patternProperties")?.get(pattern)?;
            Some(pointer::join(&pointer::join(here, "patternProperties"), pattern))
        })
    }

    /// The first that is found in the objects of the schema, each with its pointer.
    pub(crate) fn find<T>(&self, mut find: impl FnMut(&Map<String, Value>, &str) -> Option<T>) -> Option<T> {
        let mut open = vec![(&self.schema, String::new())];
        while let Some((value, here)) = open.pop() {
            match value {
                Value::Object(members) => {
                    let found = find(members, &here);
                    if found.is_some() {
                        return found;
                    }
                    let below = members.iter().map(|(name, value)| (value, pointer::join(&here, name)));
                    open.extend(below.rev());
                }
                Value::Array(elements) => {
                    let at = |(at, value)| (value, pointer::join(&here, &usize::to_string(&at)));
                    open.extend(elements.iter().enumerate().map(at).rev());
                }
                _ => {}
            }
        }
        None
    }

    /// The document's URI.
    pub(crate) fn base_uri(&self) -> String {
        let id = identifier(&self.schema, self.draft).map(|id| id.trim_end_matches('#')).unwrap_or_default();
        if id.contains(':') { id.to_owned() } else { format!("{HOME}{id}") }
    }

    /// All places that validation can reach without leaving the document.
    pub(crate) fn places(&self) -> Vec<Place<'_>> {
        let mut places = Vec::new();
        let mut seen = HashSet::new();
        let mut open = vec![self.root()];
        while let Some(place) = open.pop() {
            if seen.insert(place.pointer.clone()) {
                open.extend(place.children());
                open.extend(place.reference());
                places.push(place);
            }
        }
        places
    }

    pub(crate) fn root(&self) -> Place<'_> {
        Place { document: self, schema: &self.schema, pointer: String::new(), base: String::new() }
    }
}

impl<'s> Place<'s> {
    pub(crate) fn draft(&self) -> Draft {
        self.document.draft
    }

    pub(crate) fn literals(&self) -> &'s Literals {
        &self.document.literals
    }

    pub(crate) fn object(&self) -> Option<&'s Map<String, Value>> {
        self.schema.as_object()
    }

    /// How many steps a verdict may take here.
    pub(crate) fn cost(&self) -> u64 {
        self.document.costs.of(self.schema)
    }

    /// The value of a keyword that applies here. In drafts 4 to 7, `$ref` disables its siblings.
    pub(crate) fn keyword(&self, keyword: &str) -> Option<&'s Value> {
        let object = self.object()?;
        let hidden = self.draft() <= Draft::Draft7 && keyword != "$ref" && object.contains_key("$ref");
        let value = object.get(keyword).filter(|_| !hidden)?;
        let is_later = introduced(keyword).is_some_and(|introduced| self.draft() < introduced);
        (!is_later).then_some(value)
    }

    /// The pointer of a keyword here.
    pub(crate) fn keyword_pointer(&self, keyword: &str) -> String {
        pointer::join(&self.pointer, keyword)
    }

    /// The subschema under a keyword.
    pub(crate) fn child(&self, keyword: &str) -> Option<Self> {
        let schema = self.keyword(keyword)?;
        (schema.is_object() || schema.is_boolean()).then(|| self.below(schema, &[keyword]))
    }

    /// The subschema of this name under a keyword with a map of subschemas.
    pub(crate) fn named_child(&self, keyword: &str, name: &str) -> Option<Self> {
        let schema = self.keyword(keyword)?.as_object()?.get(name)?;
        (schema.is_object() || schema.is_boolean()).then(|| self.below(schema, &[keyword, name]))
    }

    /// The names under a keyword with a map of subschemas.
    pub(crate) fn names(&self, keyword: &str) -> impl Iterator<Item = &'s str> {
        self.keyword(keyword).and_then(Value::as_object).into_iter().flatten().map(|(name, _)| name.as_str())
    }

    /// The subschemas under a keyword with a list of subschemas.
    pub(crate) fn list(&self, keyword: &str) -> Vec<Self> {
        let schemas = self.keyword(keyword).and_then(Value::as_array);
        let at = |(at, schema)| self.below(schema, &[keyword, &usize::to_string(&at)]);
        schemas.into_iter().flatten().enumerate().map(at).collect()
    }

    /// All subschemas of this one, except the targets of references.
    pub(crate) fn children(&self) -> Vec<Self> {
        let single = [
            "additionalItems",
            "additionalProperties",
            "contains",
            "else",
            "if",
            "items",
            "not",
            "propertyNames",
            "then",
            "unevaluatedItems",
            "unevaluatedProperties",
        ];
        let lists = ["allOf", "anyOf", "items", "oneOf", "prefixItems"];
        let maps = ["properties", "patternProperties", "dependentSchemas", "dependencies"];
        let mut children: Vec<_> = single.iter().filter_map(|keyword| self.child(keyword)).collect();
        children.extend(lists.iter().flat_map(|keyword| self.list(keyword)));
        for keyword in maps {
            children.extend(self.names(keyword).filter_map(|name| self.named_child(keyword, name)));
        }
        children
    }

    /// The target of `$ref`, if it is in this document and can be found without its URIs.
    pub(crate) fn reference(&self) -> Option<Self> {
        let fragment = self.keyword("$ref")?.as_str()?.strip_prefix('#')?;
        let base = self.document.schema.pointer(&self.base)?;
        let root = Self {
            document: self.document,
            schema: base,
            pointer: self.base.clone(),
            base: self.base.clone(),
        };
        let fragment = pointer::from_fragment(fragment)?;
        if fragment.is_empty() {
            return Some(root);
        }
        let relative = if fragment.starts_with('/') { fragment } else { root.find_anchor(&fragment)? };
        // Step by step, because a subschema with an `$id` begins a resource of its own.
        let mut place = root;
        for token in relative[1..].split('/') {
            let token = token.replace("~1", "/").replace("~0", "~");
            let schema = match place.schema {
                Value::Object(object) => object.get(&token)?,
                Value::Array(array) => array.get(token.parse::<usize>().ok()?)?,
                _ => return None,
            };
            place = place.below(schema, &[&token]);
        }
        Some(place)
    }

    /// The schema objects that all apply here: this one, its reference's target, and their `allOf`.
    pub(crate) fn facets(&self) -> Vec<Self> {
        let mut facets = Vec::new();
        self.collect_facets(FACET_DEPTH, &mut facets);
        facets
    }

    fn collect_facets(&self, depth: usize, facets: &mut Vec<Self>) {
        if depth == 0 || facets.len() >= FACETS {
            return;
        }
        facets.push(self.clone());
        if let Some(target) = self.reference() {
            target.collect_facets(depth - 1, facets);
        }
        for branch in self.list("allOf") {
            branch.collect_facets(depth - 1, facets);
        }
    }

    fn below(&self, schema: &'s Value, tokens: &[&str]) -> Self {
        let mut pointer = self.pointer.clone();
        for token in tokens {
            pointer::push(&mut pointer, token);
        }
        let begins_resource = identifier(schema, self.draft()).is_some_and(|id| !id.starts_with('#'));
        let base = if begins_resource { pointer.clone() } else { self.base.clone() };
        Self { document: self.document, schema, pointer, base }
    }

    /// The pointer from here to the schema that declares this anchor.
    fn find_anchor(&self, anchor: &str) -> Option<String> {
        let declares = |schema: &Value| {
            let named = |keyword| schema.get(keyword).and_then(Value::as_str) == Some(anchor);
            named("$anchor")
                || named("$dynamicAnchor")
                || identifier(schema, self.draft()).and_then(|id| id.strip_prefix('#')) == Some(anchor)
        };
        let mut open = vec![(self.schema, String::new())];
        while let Some((schema, here)) = open.pop() {
            match schema {
                Value::Object(object) => {
                    if declares(schema) && !here.is_empty() {
                        return Some(here);
                    }
                    open.extend(object.iter().map(|(name, value)| (value, pointer::join(&here, name))));
                }
                Value::Array(array) => {
                    let at = |(at, value)| (value, pointer::join(&here, &usize::to_string(&at)));
                    open.extend(array.iter().enumerate().map(at));
                }
                _ => {}
            }
        }
        None
    }
}

/// The identifier that a schema declares.
pub(crate) fn identifier(schema: &Value, draft: Draft) -> Option<&str> {
    let object = schema.as_object()?;
    // In drafts 4 to 7, `$ref` disables its siblings.
    let hidden = draft <= Draft::Draft7 && object.contains_key("$ref");
    if hidden { None } else { object.get(draft.id_keyword())?.as_str() }
}
