//! Nothing: what a plan does not cover is an error that names the keyword.

mod meta;
mod references;

use serde_json::Value as Schema;
use tokenline_core::json::Value;

use crate::draft::Draft;
use crate::error::{SchemaError, SchemaErrorKind};
use crate::messages;
use crate::number::TOO_PRECISE;
use crate::patterns::{Refusal, Undecided};
use crate::place::Document;
use crate::plan::{Outside, Plan};
use crate::pointer;
use crate::validator::Judge;

pub(crate) use meta::check_schema;
pub(crate) use references::References;

/// Whether nothing judges what plans do not cover.
pub(crate) const IS_MISSING: bool = true;

/// The costs of the subschemas. A plan applies each at most once to a value, however many paths lead to it, so all cost the
/// same.
#[derive(Debug, Default)]
pub(crate) struct Costs(());

impl Costs {
    pub(crate) fn of(&self, _: &Schema) -> u64 {
        1
    }
}

pub(crate) fn count(_: &Document, _: u64) -> Result<Costs, SchemaError> {
    Ok(Costs::default())
}

/// A validator for a rule that plans do not implement: there is none.
pub(crate) enum Delegate {}

impl Delegate {
    pub(crate) fn new(_: &Document, _: bool, _: &[(&str, &Schema)]) -> Option<Self> {
        None
    }

    pub(crate) fn is_valid(&self, _: Value<'_>) -> bool {
        match *self {}
    }
}

/// A validator for a schema without a plan: there is none.
pub(crate) enum Whole {}

impl Whole {
    pub(crate) fn fits(&self, _: Value<'_>) -> Result<bool, Box<Undecided>> {
        match *self {}
    }
}

/// A validator for the parts of such a schema: there is none.
pub(crate) enum Parts {}

impl Parts {
    pub(crate) fn new(_: &Document, _: bool) -> Option<Self> {
        None
    }

    pub(crate) fn fits(&self, _: &str, _: Value<'_>) -> Result<bool, Box<Undecided>> {
        match *self {}
    }
}

/// The judge of a schema: its plan.
pub(crate) fn judge(document: &Document, _: bool, plan: Result<Plan, Outside>) -> Result<Judge, SchemaError> {
    plan.map(Judge::Plan).map_err(|outside| error(document, &outside))
}

/// The formats that are judged with the feature, and the first draft with each.
const FORMATS: [(&str, Draft); 12] = [
    ("duration", Draft::Draft201909),
    ("email", Draft::Draft4),
    ("hostname", Draft::Draft4),
    ("ipv6", Draft::Draft4),
    ("iri", Draft::Draft7),
    ("iri-reference", Draft::Draft7),
    ("json-pointer", Draft::Draft6),
    ("regex", Draft::Draft4),
    ("relative-json-pointer", Draft::Draft7),
    ("uri", Draft::Draft4),
    ("uri-reference", Draft::Draft6),
    ("uri-template", Draft::Draft6),
];

/// Whether a format has a rule.
pub(crate) fn has_format(name: &str, draft: Draft) -> bool {
    FORMATS.iter().any(|(format, since)| *format == name && *since <= draft)
}

/// The schemas that a schema may refer to, besides itself: a reference to one of them is not supported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Resources {
    has_some: bool,
}

impl Resources {
    pub(crate) fn new(given: &[(String, Schema)], _: &str) -> Self {
        Self { has_some: !given.is_empty() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.has_some
    }

    pub(crate) fn schemas(&self) -> impl Iterator<Item = &Schema> {
        [].into_iter()
    }
}

/// Why a schema has no plan.
fn error(document: &Document, outside: &Outside) -> SchemaError {
    let Outside { keyword, path } = outside;
    let value = pointer::find(&document.schema, path);
    match keyword.as_str() {
        "$schema" if path == "/$schema" => {
            let uri = value.and_then(Schema::as_str).unwrap_or_default();
            SchemaError::new(SchemaErrorKind::Draft, path, messages::unknown_draft(uri))
        }
        "multipleOf" => SchemaError::new(SchemaErrorKind::Invalid, path, TOO_PRECISE),
        "pattern" | "patternProperties" => {
            let own: Vec<&str> = match value {
                Some(Schema::Object(patterns)) => {
                    patterns.iter().map(|(pattern, _)| pattern.as_str()).collect()
                }
                pattern => pattern.and_then(Schema::as_str).into_iter().collect(),
            };
            let refused = own.into_iter().find_map(|own| Some((own, document.patterns.get(own).err()?)));
            let Some((pattern, refusal)) = refused else { return SchemaError::unsupported(keyword, path) };
            let path = document.pattern_path(pattern).unwrap_or_else(|| path.clone());
            match refusal {
                Refusal::Beyond => SchemaError::unsupported(keyword, path),
                refusal => SchemaError::new(SchemaErrorKind::Pattern, path, refusal.reason()),
            }
        }
        "$ref" => {
            let reference = value.and_then(Schema::as_str).unwrap_or_default();
            references::leads_nowhere(document, reference).map_or_else(
                || SchemaError::unsupported(keyword, path),
                |reason| SchemaError::new(SchemaErrorKind::Reference, path, reason),
            )
        }
        _ => SchemaError::unsupported(keyword, path),
    }
}
