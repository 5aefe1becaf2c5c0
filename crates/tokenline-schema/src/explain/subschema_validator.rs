//! Verdicts on all parts of a schema, from one compiled validator.
//!
//! The parts become the properties of one object schema, each named by its pointer. To ask whether a value
//! fits a part, the value is presented as the member of that name in an object that is on no tape. So all
//! parts share the targets of their references, and compiling them stays linear.

use std::collections::HashSet;
use std::sync::Arc;

use jsonschema::{Draft, Retrieve, ValidationOptions, Validator};
use serde_json::{Map, Value as Owned, json};
use tokenline_core::json::{Parser, Value};

use crate::place::{Document, Place};
use crate::pointer;
use crate::tape::{Tape, TapeNode};

/// Keywords that validate a value without subschemas, in the order in which they are reported.
pub(super) const RULES: &[&str] = &[
    "type",
    "const",
    "enum",
    "required",
    "minProperties",
    "maxProperties",
    "dependentRequired",
    "dependencies",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "contentEncoding",
    "contentMediaType",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
];

pub(crate) struct SubschemaValidator {
    validator: Validator<Tape>,
    /// A parser that has parsed [`EMPTY`].
    empty: Parser,
}

const EMPTY: &str = "{}";

/// Options for building validators.
pub(crate) type Options<'i> = ValidationOptions<'i, Arc<dyn Retrieve>, Tape>;

impl SubschemaValidator {
    /// Compiles every part of a schema that has already been compiled as a whole. `None` if that fails
    /// unexpectedly.
    pub(crate) fn new(document: &Document, options: Options<'static>) -> Option<Self> {
        let draft = document.draft;
        let base = document.base_uri();
        let registry = document.registry()?;
        let schema = json!({ "$schema": dialect(draft), "properties": parts(document, &base) });
        let options = options.with_draft(draft).with_base_uri("json-schema:///tokenline/subschema_validator");
        let validator = options.with_registry(&registry).build(&schema).ok()?;
        let mut empty = Parser::new();
        empty.parse(EMPTY).ok()?;
        Some(Self { validator, empty })
    }

    /// Whether a value fits the schema at a place.
    pub(super) fn fits(&self, place: &Place<'_>, value: Value<'_>) -> bool {
        self.ask(&schema_name(&place.pointer), value)
    }

    /// Whether a value keeps one rule of the schema at a place.
    pub(super) fn keeps(&self, place: &Place<'_>, keyword: &str, value: Value<'_>) -> bool {
        self.ask(&rule_name(&place.pointer, keyword), value)
    }

    /// Whether a member's name matches a pattern of `patternProperties`.
    pub(super) fn matches(&self, regex: &str, name: Value<'_>) -> bool {
        self.ask(&pattern_name(regex), name)
    }

    fn ask(&self, part: &str, value: Value<'_>) -> bool {
        self.validator.is_valid(TapeNode::object_of(&(part, value), self.empty.value(EMPTY)))
    }
}

fn schema_name(pointer: &str) -> String {
    format!("#{pointer}")
}

fn rule_name(pointer: &str, keyword: &str) -> String {
    format!("={pointer}/{keyword}")
}

fn pattern_name(regex: &str) -> String {
    format!("~{regex}")
}

fn dialect(draft: Draft) -> &'static str {
    match draft {
        Draft::Draft4 => "http://json-schema.org/draft-04/schema#",
        Draft::Draft6 => "http://json-schema.org/draft-06/schema#",
        Draft::Draft7 => "http://json-schema.org/draft-07/schema#",
        Draft::Draft201909 => "https://json-schema.org/draft/2019-09/schema",
        _ => "https://json-schema.org/draft/2020-12/schema",
    }
}

/// The parts of a document by name, each a schema.
fn parts(document: &Document, base: &str) -> Map<String, Owned> {
    let mut parts = Map::new();
    let mut seen = HashSet::new();
    let mut open = vec![document.root()];
    while let Some(place) = open.pop() {
        if !seen.insert(place.pointer.clone()) {
            continue;
        }
        let reference = format!("{base}#{}", pointer::to_fragment(&place.pointer));
        parts.insert(schema_name(&place.pointer), json!({ "$ref": reference }));
        for keyword in RULES {
            if let Some(schema) = rule_alone(&place, keyword) {
                parts.insert(rule_name(&place.pointer, keyword), schema);
            }
        }
        for regex in place.names("patternProperties") {
            parts.insert(pattern_name(regex), json!({ "pattern": regex }));
        }
        open.extend(place.children());
        open.extend(place.reference());
    }
    parts
}

/// A schema with one rule, and the keywords that the rule depends on.
fn rule_alone(place: &Place<'_>, keyword: &str) -> Option<Owned> {
    let value = place.keyword(keyword)?;
    let mut schema = Map::new();
    match keyword {
        // Only its lists of names; its schemas are places of their own.
        "dependencies" => {
            let lists = value.as_object()?.iter().filter(|(_, value)| value.is_array());
            schema
                .insert(keyword.to_owned(), lists.map(|(name, list)| (name.clone(), list.clone())).collect());
            return Some(Owned::Object(schema));
        }
        // In draft 4 a flag, not a rule.
        "exclusiveMinimum" | "exclusiveMaximum" if value.is_boolean() => return None,
        _ => schema.insert(keyword.to_owned(), value.clone()),
    };
    let companion = match keyword {
        "minimum" => "exclusiveMinimum",
        "maximum" => "exclusiveMaximum",
        "contentMediaType" => "contentEncoding",
        _ => return Some(Owned::Object(schema)),
    };
    let companion =
        place.keyword(companion).filter(|value| !value.is_number()).map(|value| (companion, value));
    schema.extend(companion.map(|(name, value)| (name.to_owned(), value.clone())));
    Some(Owned::Object(schema))
}
