//! The keywords that validate a value without subschemas: a row each, in the order in which they are reported.
//!
//! A new one is a row here, is read in `plan/keywords.rs`, and is checked in the module of the values that it is for, such
//! as `plan/string.rs`.

use jsonschema::Draft;
use serde_json::{Map, Value as Owned};
use tokenline_core::json::{Array, Value};

use crate::messages::{constant, dependent, missing, multiple, names, one_of, wrong_kind};
use crate::tape::distinct_len;
use crate::text::shorten;

/// A keyword, and the message about a value that breaks it. Messages name rules, kinds and parts of the schema, never a
/// value of the record.
pub(crate) struct RuleKeyword {
    pub(crate) name: &'static str,
    /// The first draft with it.
    since: Draft,
    /// Whether it examines the complete value, not only its surface.
    pub(crate) is_deep: bool,
    message: fn(&Broken<'_>) -> String,
}

pub(crate) static RULES: &[RuleKeyword] = &[
    RuleKeyword::new("type", Draft::Draft4, |broken| wrong_kind(&names(broken.demand), broken.value)),
    RuleKeyword::new("const", Draft::Draft6, |broken| format!("must be {}", constant(broken.demand))).deep(),
    RuleKeyword::new("enum", Draft::Draft4, |broken| {
        one_of(broken.demand.as_array().into_iter().flatten(), broken.value)
    })
    .deep(),
    RuleKeyword::new("required", Draft::Draft4, |broken| missing(broken.demand, broken.value)),
    RuleKeyword::new("minProperties", Draft::Draft4, |broken| {
        format!("fewer than minProperties {}: has {}", broken.demand, broken.members())
    }),
    RuleKeyword::new("maxProperties", Draft::Draft4, |broken| {
        format!("more than maxProperties {}: has {}", broken.demand, broken.members())
    }),
    RuleKeyword::new("dependentRequired", Draft::Draft201909, |broken| {
        dependent(broken.demand, broken.value)
    }),
    RuleKeyword::new("dependencies", Draft::Draft4, |broken| dependent(broken.demand, broken.value)),
    RuleKeyword::new("minItems", Draft::Draft4, |broken| {
        format!("fewer elements than minItems {}: has {}", broken.demand, broken.elements())
    }),
    RuleKeyword::new("maxItems", Draft::Draft4, |broken| {
        format!("more elements than maxItems {}: has {}", broken.demand, broken.elements())
    }),
    RuleKeyword::new("uniqueItems", Draft::Draft4, |_| {
        "two elements are equal, but they must be unique".to_owned()
    })
    .deep(),
    RuleKeyword::new("minLength", Draft::Draft4, |broken| {
        format!("fewer characters than minLength {}: has {}", broken.demand, broken.length())
    }),
    RuleKeyword::new("maxLength", Draft::Draft4, |broken| {
        format!("more characters than maxLength {}: has {}", broken.demand, broken.length())
    }),
    RuleKeyword::new("pattern", Draft::Draft4, |broken| {
        format!("does not match the pattern {}", constant(broken.demand))
    }),
    RuleKeyword::new("format", Draft::Draft4, |broken| {
        format!("is not of the format {}", constant(broken.demand))
    }),
    RuleKeyword::new("contentEncoding", Draft::Draft6, |broken| {
        format!("is not encoded as {}", constant(broken.demand))
    }),
    RuleKeyword::new("contentMediaType", Draft::Draft6, |broken| {
        format!("is not of the media type {}", constant(broken.demand))
    }),
    RuleKeyword::new("minimum", Draft::Draft4, |broken| {
        if broken.has_flag("exclusiveMinimum") {
            format!("not more than the exclusiveMinimum {}", broken.number())
        } else {
            format!("less than the minimum {}", broken.number())
        }
    }),
    RuleKeyword::new("maximum", Draft::Draft4, |broken| {
        if broken.has_flag("exclusiveMaximum") {
            format!("not less than the exclusiveMaximum {}", broken.number())
        } else {
            format!("more than the maximum {}", broken.number())
        }
    }),
    RuleKeyword::new("exclusiveMinimum", Draft::Draft6, |broken| {
        format!("not more than the exclusiveMinimum {}", broken.number())
    }),
    RuleKeyword::new("exclusiveMaximum", Draft::Draft6, |broken| {
        format!("not less than the exclusiveMaximum {}", broken.number())
    }),
    RuleKeyword::new("multipleOf", Draft::Draft4, |broken| multiple(&broken.number(), broken.value)),
];

impl RuleKeyword {
    const fn new(name: &'static str, since: Draft, message: fn(&Broken<'_>) -> String) -> Self {
        Self { name, since, is_deep: false, message }
    }

    const fn deep(self) -> Self {
        Self { is_deep: true, ..self }
    }

    /// The message for a value that breaks it.
    pub(crate) fn message(&self, broken: &Broken<'_>) -> String {
        (self.message)(broken)
    }
}

/// A broken rule.
pub(crate) struct Broken<'a> {
    /// The value of the keyword.
    pub(crate) demand: &'a Owned,
    /// That, if it is a number, as the schema writes it.
    pub(crate) number: Option<&'a str>,
    /// The keywords beside it.
    pub(crate) beside: Option<&'a Map<String, Owned>>,
    pub(crate) value: Value<'a>,
}

impl Broken<'_> {
    /// Whether a limit is exclusive, which a flag beside it says in draft 4.
    fn has_flag(&self, name: &str) -> bool {
        self.beside.and_then(|keywords| keywords.get(name)) == Some(&Owned::Bool(true))
    }

    fn number(&self) -> String {
        shorten(self.number.map_or_else(|| self.demand.to_string(), str::to_owned))
    }

    fn length(&self) -> usize {
        self.value.char_count().unwrap_or(0)
    }

    fn elements(&self) -> usize {
        self.value.as_array().map_or(0, Array::len)
    }

    fn members(&self) -> usize {
        self.value.as_object().map_or(0, distinct_len)
    }
}

/// Keywords with subschemas that a verdict may depend on, and the first draft with each.
const APPLICATORS: &[(&str, Draft)] = &[
    ("$ref", Draft::Draft4),
    ("additionalItems", Draft::Draft4),
    ("additionalProperties", Draft::Draft4),
    ("allOf", Draft::Draft4),
    ("anyOf", Draft::Draft4),
    ("items", Draft::Draft4),
    ("not", Draft::Draft4),
    ("oneOf", Draft::Draft4),
    ("patternProperties", Draft::Draft4),
    ("properties", Draft::Draft4),
    ("contains", Draft::Draft6),
    ("propertyNames", Draft::Draft6),
    ("if", Draft::Draft7),
    ("$recursiveRef", Draft::Draft201909),
    ("dependentSchemas", Draft::Draft201909),
    ("unevaluatedItems", Draft::Draft201909),
    ("unevaluatedProperties", Draft::Draft201909),
    ("$dynamicRef", Draft::Draft202012),
    ("prefixItems", Draft::Draft202012),
];

/// The keywords that a verdict may depend on, and the first draft with each.
pub(crate) fn keywords() -> impl Iterator<Item = (&'static str, Draft)> {
    RULES.iter().map(|rule| (rule.name, rule.since)).chain(APPLICATORS.iter().copied())
}

/// The first draft with a keyword that a verdict may depend on.
pub(crate) fn introduced(keyword: &str) -> Option<Draft> {
    keywords().find(|(name, _)| *name == keyword).map(|(_, since)| since)
}
