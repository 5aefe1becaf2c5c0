//! The crate `jsonschema`, over the tape.

mod cost;
mod errors;
mod keywords;
mod resources;
mod tape;

use std::sync::Arc;

use jsonschema::{
    Draft as TheirDraft, PatternOptions, Registry, Retrieve, Uri, ValidationOptions, Validator, uri,
};
use serde_json::{Map, Value as Schema, json};
use tokenline_core::json::{Parser, Value};

use crate::draft::Draft;
use crate::error::SchemaError;
use crate::patterns::{PATTERN_SIZE, Undecided};
use crate::place::Document;
use crate::plan::{Outside, Plan};
use crate::validator::Judge;
pub(crate) use cost::{Costs, count};
pub(crate) use resources::Resources;
use tape::{Tape, TapeNode};

/// Whether nothing judges what plans do not cover.
pub(crate) const IS_MISSING: bool = false;

/// Options for building validators.
type Options<'i> = ValidationOptions<'i, Arc<dyn Retrieve>, Tape>;

/// A validator for a rule of which jsonschema alone judges.
pub(crate) struct Delegate(Validator<Tape>);

impl Delegate {
    /// For a schema with nothing but these keywords.
    pub(crate) fn new(
        document: &Document,
        assert_formats: bool,
        keywords: &[(&str, &Schema)],
    ) -> Option<Self> {
        let rule =
            keywords.iter().map(|(keyword, value)| ((*keyword).to_owned(), (*value).clone())).collect();
        let options = options(document, assert_formats).with_draft(theirs(document.draft));
        options.build(&Schema::Object(rule)).ok().map(Self)
    }

    pub(crate) fn is_valid(&self, value: Value<'_>) -> bool {
        self.0.is_valid(value.into())
    }
}

/// A validator for a whole schema.
pub(crate) struct Whole(Validator<Tape>);

impl Whole {
    pub(crate) fn fits(&self, value: Value<'_>) -> Result<bool, Box<Undecided>> {
        keywords::verdict(|| self.0.is_valid(value.into()))
    }
}

/// A validator for each part of a schema.
///
/// The parts are the properties of one object schema, each named by its pointer. To ask whether a value fits a part, the
/// value is presented as the member of that name in an object that is on no tape. So all parts share the targets of their
/// references, and compiling them stays linear.
pub(crate) struct Parts {
    validator: Validator<Tape>,
    /// A parser that has parsed [`EMPTY`].
    empty: Parser,
}

const EMPTY: &str = "{}";

impl Parts {
    pub(crate) fn new(document: &Document, assert_formats: bool) -> Option<Self> {
        let base = document.base_uri();
        let registry = registry(document)?;
        let parts: Map<_, _> = document
            .places()
            .into_iter()
            .map(|place| {
                let reference = format!("{base}#{}", to_fragment(&place.pointer));
                (place.pointer, json!({ "$ref": reference }))
            })
            .collect();
        let schema = json!({ "$schema": dialect(document.draft), "properties": parts });
        let options = options(document, assert_formats)
            .with_draft(theirs(document.draft))
            .with_base_uri("json-schema:///tokenline/subschema_validator");
        let validator = options.with_registry(&registry).build(&schema).ok()?;
        let mut empty = Parser::new();
        empty.parse(EMPTY).ok()?;
        Some(Self { validator, empty })
    }

    /// Whether a value fits the part with this pointer.
    pub(crate) fn fits(&self, pointer: &str, value: Value<'_>) -> Result<bool, Box<Undecided>> {
        keywords::verdict(|| {
            let part = (pointer, value);
            self.validator.is_valid(TapeNode::object_of(&part, self.empty.value(EMPTY)))
        })
    }
}

/// Nothing is known of a schema before its plan: jsonschema checks it with that.
pub(crate) fn check_schema(_: &Document) -> Result<(), SchemaError> {
    Ok(())
}

/// The judge of a schema: its plan, if it has one.
pub(crate) fn judge(
    document: &Document,
    assert_formats: bool,
    plan: Result<Plan, Outside>,
) -> Result<Judge, SchemaError> {
    let options = options(document, assert_formats);
    let judge = match plan {
        // A plan has found all references and compiled all patterns, so only the draft's rules can be broken.
        Ok(plan) if !has_inner_dialect(&document.schema) => {
            jsonschema::meta::validate(&document.schema).map(|()| Judge::Plan(plan))
        }
        Ok(plan) => options.build(&document.schema).map(|_| Judge::Plan(plan)),
        Err(outside) => {
            options.build(&document.schema).map(|validator| Judge::Whole(Whole(validator), outside))
        }
    };
    judge.map_err(|error| errors::explain(document, &error))
}

/// Whether a format may have a rule. jsonschema knows which ones do.
pub(crate) fn has_format(_: &str, _: Draft) -> bool {
    true
}

/// The references of a document and its resources.
pub(crate) struct References<'d> {
    registry: Registry<'d>,
    base_uri: String,
}

impl<'d> References<'d> {
    /// Resolves all of them, also in parts that nothing refers to. `None` if one leads nowhere.
    pub(crate) fn new(document: &'d Document) -> Option<Self> {
        Some(Self { registry: registry(document)?, base_uri: document.base_uri() })
    }

    /// The scope of the document's root.
    pub(crate) fn scope(&self) -> Option<Scope<'_>> {
        let base_uri = Arc::new(uri::from_str(&self.base_uri).ok()?);
        Some(Scope { registry: &self.registry, base_uri })
    }
}

/// The place of a schema among the identifiers around it, which its references depend on.
#[derive(Clone)]
pub(crate) struct Scope<'r> {
    registry: &'r Registry<'r>,
    base_uri: Arc<Uri<String>>,
}

impl<'r> Scope<'r> {
    /// That of a subschema in this scope.
    pub(crate) fn of(&self, subschema: &Schema, draft: Draft) -> Self {
        let resource = theirs(draft).create_resource_ref(subschema);
        let resolver = self.registry.resolver((*self.base_uri).clone()).in_subresource(resource);
        resolver.map_or_else(|_| self.clone(), |resolver| Self { base_uri: resolver.base_uri(), ..*self })
    }

    /// The target of a reference in this scope, and its scope.
    pub(crate) fn find(&self, reference: &str) -> Option<(&'r Schema, Self)> {
        let target = self.registry.resolver((*self.base_uri).clone()).lookup(reference).ok()?;
        Some((target.contents(), Self { base_uri: target.resolver().base_uri(), ..*self }))
    }

    /// Whether a reference means the same in both.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.base_uri == other.base_uri
    }
}

/// The schema and its resources, with the document's URI.
fn registry(document: &Document) -> Option<Registry<'_>> {
    let draft = theirs(document.draft);
    let registry = Registry::new().draft(draft).retriever(document.resources.clone());
    registry.add(document.base_uri(), draft.create_resource_ref(&document.schema)).ok()?.prepare().ok()
}

fn options(document: &Document, assert_formats: bool) -> Options<'static> {
    let patterns = PatternOptions::regex().size_limit(PATTERN_SIZE).dfa_size_limit(PATTERN_SIZE);
    let options = jsonschema::options_for::<Tape>()
        .with_retriever(document.resources.clone())
        .with_base_uri(document.base_uri())
        .with_pattern_options(patterns)
        .should_validate_formats(assert_formats);
    // A dialect in the document may have other keywords.
    if is_one_dialect(document) { keywords::with_own(options, document) } else { options }
}

/// Whether all of a document, and its resources, keep the rules of its draft.
fn is_one_dialect(document: &Document) -> bool {
    fn keeps(schema: &Schema, draft: Draft) -> bool {
        match schema {
            Schema::Object(members) => {
                let is_own = !members.contains_key("$schema") || Draft::of(schema) == Some(draft);
                is_own && members.values().all(|value| keeps(value, draft))
            }
            Schema::Array(elements) => elements.iter().all(|element| keeps(element, draft)),
            _ => true,
        }
    }
    document.schemas().all(|schema| keeps(schema, document.draft))
}

/// Whether `$schema` stands anywhere below the root. Such a part may have to keep the rules of its own draft.
fn has_inner_dialect(schema: &Schema) -> bool {
    fn has_dialect(value: &Schema) -> bool {
        match value {
            Schema::Object(object) => object.contains_key("$schema") || object.values().any(has_dialect),
            Schema::Array(array) => array.iter().any(has_dialect),
            _ => false,
        }
    }
    schema.as_object().is_some_and(|root| root.values().any(has_dialect))
}

/// A pointer as a URI's fragment, without the `#`.
fn to_fragment(pointer: &str) -> String {
    let mut fragment = String::with_capacity(pointer.len());
    for &byte in pointer.as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/~-._$".contains(&byte) {
            fragment.push(char::from(byte));
        } else {
            fragment.push_str(&format!("%{byte:02X}"));
        }
    }
    fragment
}

fn theirs(draft: Draft) -> TheirDraft {
    match draft {
        Draft::Draft4 => TheirDraft::Draft4,
        Draft::Draft6 => TheirDraft::Draft6,
        Draft::Draft7 => TheirDraft::Draft7,
        Draft::Draft201909 => TheirDraft::Draft201909,
        Draft::Draft202012 => TheirDraft::Draft202012,
    }
}

fn dialect(draft: Draft) -> &'static str {
    match draft {
        Draft::Draft4 => "http://json-schema.org/draft-04/schema#",
        Draft::Draft6 => "http://json-schema.org/draft-06/schema#",
        Draft::Draft7 => "http://json-schema.org/draft-07/schema#",
        Draft::Draft201909 => "https://json-schema.org/draft/2019-09/schema",
        Draft::Draft202012 => "https://json-schema.org/draft/2020-12/schema",
    }
}
