//! The keywords that validate a value without subschemas: a row each, in the order in which they are reported.
//!
//! A new one is a row here, is read in `plan/keywords.rs`, and is checked in the module of the values that it is for, such
//! as `plan/string.rs`.

use serde_json::{Map, Value as Owned};
use tokenline_core::json::{Array, Value};

use crate::draft::Draft;
use crate::literals::Literals;
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
    message: Message,
}

/// A message: a text, and what follows it.
enum Message {
    Text(&'static str),
    /// The value of the keyword.
    Constant(&'static str),
    /// The number of the keyword.
    Number(&'static str),
    /// That, and how many there are.
    Count(&'static str, fn(Value<'_>) -> usize),
    /// The number of the keyword, or with a flag another text and the number.
    Bound(&'static str, &'static str, &'static str),
    Own(fn(&Broken<'_>) -> String),
}

use Message::{Bound, Constant, Count, Number, Own, Text};

pub(crate) static RULES: &[RuleKeyword] = &[
    RuleKeyword::new("type", Draft::Draft4, Own(|broken| wrong_kind(&names(broken.demand), broken.value))),
    RuleKeyword::new("const", Draft::Draft6, Constant("must be")).deep(),
    RuleKeyword::new(
        "enum",
        Draft::Draft4,
        Own(|broken| one_of(&broken.elements(), broken.value, broken.literals)),
    )
    .deep(),
    RuleKeyword::new("required", Draft::Draft4, Own(|broken| missing(broken.demand, broken.value))),
    RuleKeyword::new("minProperties", Draft::Draft4, Count("fewer than minProperties", members)),
    RuleKeyword::new("maxProperties", Draft::Draft4, Count("more than maxProperties", members)),
    RuleKeyword::new(
        "dependentRequired",
        Draft::Draft201909,
        Own(|broken| dependent(broken.demand, broken.value)),
    ),
    RuleKeyword::new("dependencies", Draft::Draft4, Own(|broken| dependent(broken.demand, broken.value))),
    RuleKeyword::new("minItems", Draft::Draft4, Count("fewer elements than minItems", elements)),
    RuleKeyword::new("maxItems", Draft::Draft4, Count("more elements than maxItems", elements)),
    RuleKeyword::new("uniqueItems", Draft::Draft4, Text("two elements are equal, but they must be unique"))
        .deep(),
    RuleKeyword::new("minLength", Draft::Draft4, Count("fewer characters than minLength", length)),
    RuleKeyword::new("maxLength", Draft::Draft4, Count("more characters than maxLength", length)),
    RuleKeyword::new("pattern", Draft::Draft4, Constant("does not match the pattern")),
    RuleKeyword::new("format", Draft::Draft4, Constant("is not of the format")),
    RuleKeyword::new("contentEncoding", Draft::Draft6, Constant("is not encoded as")),
    RuleKeyword::new("contentMediaType", Draft::Draft6, Constant("is not of the media type")),
    RuleKeyword::new("minimum", Draft::Draft4, Bound("less than the minimum", "exclusiveMinimum", NOT_MORE)),
    RuleKeyword::new("maximum", Draft::Draft4, Bound("more than the maximum", "exclusiveMaximum", NOT_LESS)),
    RuleKeyword::new("exclusiveMinimum", Draft::Draft6, Number(NOT_MORE)),
    RuleKeyword::new("exclusiveMaximum", Draft::Draft6, Number(NOT_LESS)),
    RuleKeyword::new("multipleOf", Draft::Draft4, Own(|broken| multiple(&broken.number(), broken.value))),
];

const NOT_MORE: &str = "not more than the exclusiveMinimum";
const NOT_LESS: &str = "not less than the exclusiveMaximum";

impl RuleKeyword {
    const fn new(name: &'static str, since: Draft, message: Message) -> Self {
        Self { name, since, is_deep: false, message }
    }

    const fn deep(self) -> Self {
        Self { is_deep: true, ..self }
    }

    /// The message for a value that breaks it.
    pub(crate) fn message(&self, broken: &Broken<'_>) -> String {
        match &self.message {
            Own(message) => message(broken),
            Text(text) => (*text).to_owned(),
            Constant(text) => format!("{text} {}", constant(broken.demand, broken.literals)),
            Bound(_, flag, text) if broken.has_flag(flag) => format!("{text} {}", broken.number()),
            Number(text) | Bound(text, ..) => format!("{text} {}", broken.number()),
            Count(text, count) => format!("{text} {}: has {}", broken.number(), count(broken.value)),
        }
    }
}

/// A broken rule.
pub(crate) struct Broken<'a> {
    /// The value of the keyword.
    pub(crate) demand: &'a Owned,
    /// The numbers in it as the schema writes them.
    pub(crate) literals: &'a Literals,
    /// The keywords beside it.
    pub(crate) beside: Option<&'a Map<String, Owned>>,
    pub(crate) value: Value<'a>,
}

impl Broken<'_> {
    /// Whether a limit is exclusive, which a flag beside it says in draft 4.
    fn has_flag(&self, name: &str) -> bool {
        self.beside.and_then(|keywords| keywords.get(name)).and_then(Owned::as_bool) == Some(true)
    }

    fn number(&self) -> String {
        shorten(self.literals.number(self.demand).unwrap_or_default().into_owned())
    }

    /// The elements of the keyword's list.
    fn elements(&self) -> Vec<&Owned> {
        self.demand.as_array().map_or(&[][..], Vec::as_slice).iter().collect()
    }
}

fn length(value: Value<'_>) -> usize {
    value.char_count().unwrap_or(0)
}

fn elements(value: Value<'_>) -> usize {
    value.as_array().map_or(0, Array::len)
}

fn members(value: Value<'_>) -> usize {
    value.as_object().map_or(0, distinct_len)
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
