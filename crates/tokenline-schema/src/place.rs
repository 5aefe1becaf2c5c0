//! A schema document, and the places in it that a value is validated against.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::draft::Draft;
use crate::error::{SchemaError, SchemaErrorKind};
use crate::fallback::{Costs, Resources};
use crate::ignored::Ignored;
use crate::literals::Literals;
use crate::patterns::{PatternLimits, Patterns};
use crate::pointer;
use crate::rules::introduced;
use crate::tree::{self, Here};

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
    /// The keywords that its plan leaves out.
    pub(crate) ignored: Ignored,
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

/// The most bytes of the pointers of all parts of a schema. Compiling takes several times as much memory,
/// which one long name with many subschemas below it could exhaust.
const MAX_POINTERS: usize = 128 << 20;

/// The URI of a document without an identifier.
const HOME: &str = "json-schema:///";

/// Finds something in an object of a schema.
type Find<'f> = &'f mut dyn FnMut(&Map<String, Value>, &Here<'_, '_>) -> Option<String>;

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
        Self { schema, draft, resources, costs, literals, patterns, ignored: Ignored::default() }
    }

    /// Checks that the pointers of all parts take no more than [`MAX_POINTERS`] bytes.
    pub(crate) fn check_pointers(&self) -> Result<(), SchemaError> {
        if self.schemas().map(tree::pointers).fold(0, usize::saturating_add) <= MAX_POINTERS {
            return Ok(());
        }
        let limit = MAX_POINTERS >> 20;
        let reason =
            format!("the pointers of its parts take more than {limit} MiB in total; shorten the names");
        Err(SchemaError::new(SchemaErrorKind::Cost, "", reason))
    }

    /// The schema and its resources.
    pub(crate) fn schemas(&self) -> impl Iterator<Item = &Value> {
        [&self.schema].into_iter().chain(self.resources.schemas())
    }

    /// The pointer of the first place with a pattern.
    pub(crate) fn pattern_path(&self, pattern: &str) -> Option<String> {
        self.find(&mut |members, here| {
            if members.get("pattern").is_some_and(|own| own == pattern) {
                return Some(pointer::join(&here.pointer(), "pattern"));
            }
            members.get("patternProperties")?.get(pattern)?;
            Some(pointer::join(&pointer::join(&here.pointer(), "patternProperties"), pattern))
        })
    }

    /// The first that is found in the objects of the schema, each with its pointer.
    pub(crate) fn find(&self, find: Find<'_>) -> Option<String> {
        let mut found = None;
        tree::visit(&self.schema, &mut |value, here| {
            found = value.as_object().and_then(|members| find(members, here));
            found.is_some()
        });
        found
    }

    /// The document's URI.
    pub(crate) fn base_uri(&self) -> String {
        let id = identifier(&self.schema, self.draft).map(|id| id.trim_end_matches('#')).unwrap_or_default();
        if id.contains(':') { id.to_owned() } else { format!("{HOME}{id}") }
    }

    /// All places that validation can reach without leaving the document.
    pub(crate) fn places(&self) -> Vec<Place<'_>> {
        let mut places = Vec::new();
        let mut seen: HashSet<Box<str>> = HashSet::new();
        let mut open = vec![self.root()];
        while let Some(place) = open.pop() {
            if seen.insert(place.pointer.as_str().into()) {
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
        let hidden = hidden || self.document.ignored.of(&self.pointer).hides(keyword);
        let value = object.get(keyword).filter(|_| !hidden)?;
        let is_later = introduced(keyword).is_some_and(|introduced| self.draft() < introduced);
        (!is_later).then_some(value)
    }

    /// Whether the plan leaves out a keyword here, or a part of its effect.
    pub(crate) fn ignores(&self, keyword: &str) -> bool {
        self.document.ignored.of(&self.pointer).contains(keyword)
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
        let base = pointer::find(&self.document.schema, &self.base)?;
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
        let relative =
            if fragment.starts_with('/') { fragment } else { find_anchor(base, self.draft(), &fragment)? };
        // Step by step, because a subschema with an `$id` begins a resource of its own.
        let mut place = root;
        for token in relative[1..].split('/') {
            let schema = pointer::step(place.schema, token)?;
            place = place.below(schema, &[&pointer::unescape(token)]);
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
}

/// The pointer of the schema that declares an anchor.
pub(crate) fn find_anchor(root: &Value, draft: Draft, anchor: &str) -> Option<String> {
    let mut found = None;
    tree::visit(root, &mut |schema, here| {
        let keyword = |keyword: &str| schema.get(keyword).and_then(Value::as_str);
        let is_declared = match draft {
            Draft::Draft4 | Draft::Draft6 | Draft::Draft7 => {
                keyword(draft.id_keyword()).and_then(|id| id.strip_prefix('#')) == Some(anchor)
            }
            Draft::Draft201909 => keyword("$anchor") == Some(anchor),
            Draft::Draft202012 => [keyword("$anchor"), keyword("$dynamicAnchor")].contains(&Some(anchor)),
        };
        if is_declared {
            found = Some(here.pointer()).filter(|pointer| !is_data(pointer));
        }
        found.is_some()
    });
    found
}

/// Whether there is no schema at a pointer, but a part of a value.
fn is_data(pointer: &str) -> bool {
    let mut is_map = false;
    pointer.split('/').skip(1).any(|token| {
        let is_keyword = !std::mem::take(&mut is_map);
        is_map = is_keyword
            && [
                "properties",
                "patternProperties",
                "$defs",
                "definitions",
                "dependentSchemas",
                "dependencies",
            ]
            .contains(&token);
        is_keyword && ["const", "enum", "default", "examples"].contains(&token)
    })
}

/// The identifier that a schema declares.
pub(crate) fn identifier(schema: &Value, draft: Draft) -> Option<&str> {
    let object = schema.as_object()?;
    // In drafts 4 to 7, `$ref` disables its siblings.
    let hidden = draft <= Draft::Draft7 && object.contains_key("$ref");
    if hidden { None } else { object.get(draft.id_keyword())?.as_str() }
}
