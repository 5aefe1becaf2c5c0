//! Verdicts on all parts of a schema, and on each of their rules alone.
//!
//! The rules have plans, and the parts as well if the schema has one. Otherwise the parts become the properties of one
//! object schema for jsonschema, each named by its pointer. To ask whether a value fits a part, the value is presented as
//! the member of that name in an object that is on no tape. So all parts share the targets of their references, and
//! compiling them stays linear.

use std::sync::Arc;

use jsonschema::{Draft, Retrieve, ValidationOptions, Validator};
use serde_json::{Map, Value as Owned, json};
use tokenline_core::json::{Parser, Value};

use crate::keywords;
use crate::patterns::{Patterns, Undecided};
use crate::place::{Document, Place};
use crate::plan::{Delegate, Parts, compile_parts};
use crate::pointer;
use crate::tape::{Tape, TapeNode};

pub(crate) struct SubschemaValidator {
    parts: Parts,
    /// If the parts have no plans.
    jsonschema: Option<Validator<Tape>>,
    patterns: Arc<Patterns>,
    /// A parser that has parsed [`EMPTY`].
    empty: Parser,
}

const EMPTY: &str = "{}";

/// Options for building validators.
pub(crate) type Options<'i> = ValidationOptions<'i, Arc<dyn Retrieve>, Tape>;

impl SubschemaValidator {
    /// Compiles every part of a schema that has already been compiled as a whole. `None` if that fails
    /// unexpectedly.
    pub(crate) fn new(
        document: &Document,
        options: Options<'static>,
        has_plan: bool,
        assert_formats: bool,
        delegate: Delegate<'_>,
    ) -> Option<Self> {
        let parts = compile_parts(document, has_plan, assert_formats, delegate).ok()?;
        let jsonschema = if has_plan { None } else { Some(with_jsonschema(document, options)?) };
        let mut empty = Parser::new();
        empty.parse(EMPTY).ok()?;
        Some(Self { parts, jsonschema, patterns: Arc::clone(&document.patterns), empty })
    }

    /// Whether a value fits the schema at a place.
    pub(super) fn fits(&self, place: &Place<'_>, value: Value<'_>) -> Result<bool, Box<Undecided>> {
        if let Some(verdict) = self.parts.fits(&place.pointer, value) {
            return verdict;
        }
        let Some(validator) = &self.jsonschema else { return Ok(true) };
        keywords::verdict(|| {
            let part = (place.pointer.as_str(), value);
            validator.is_valid(TapeNode::object_of(&part, self.empty.value(EMPTY)))
        })
    }

    /// Whether a value keeps one rule of the schema at a place.
    pub(super) fn keeps(
        &self,
        place: &Place<'_>,
        keyword: &str,
        value: Value<'_>,
    ) -> Result<bool, Box<Undecided>> {
        self.parts.keeps(&place.pointer, keyword, value)
    }

    /// Whether a member's name matches a pattern of `patternProperties`.
    pub(super) fn matches(&self, regex: &str, name: &str) -> Result<bool, Box<Undecided>> {
        self.patterns.get(regex).map_or(Ok(false), |pattern| pattern.matches(name))
    }
}

/// A validator of the parts of a document, each by its pointer.
fn with_jsonschema(document: &Document, options: Options<'static>) -> Option<Validator<Tape>> {
    let base = document.base_uri();
    let registry = document.registry()?;
    let parts: Map<_, _> = document
        .places()
        .into_iter()
        .map(|place| {
            let reference = format!("{base}#{}", pointer::to_fragment(&place.pointer));
            (place.pointer, json!({ "$ref": reference }))
        })
        .collect();
    let schema: Owned = json!({ "$schema": dialect(document.draft), "properties": parts });
    let options =
        options.with_draft(document.draft).with_base_uri("json-schema:///tokenline/subschema_validator");
    options.with_registry(&registry).build(&schema).ok()
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
