//! Messages about broken rules. They name rules, kinds and parts of the schema, never a value of the record.

use serde_json::Value as Owned;
use tokenline_core::json::{Array, Kind, Value};

use crate::number::{MOST_EXPONENT, has_far_exponent};
use crate::tape::distinct_len;
use crate::text::{list, quoted, shorten};

/// The message for a value that breaks the rule `keyword: demand`; `number` is a demand that is one.
pub(super) fn rule(keyword: &str, demand: &Owned, number: Option<&str>, value: Value<'_>) -> String {
    // As the schema writes it.
    let number = || shorten(number.map_or_else(|| demand.to_string(), str::to_owned));
    let length = || value.char_count().unwrap_or(0);
    let elements = || value.as_array().map_or(0, Array::len);
    let members = || value.as_object().map_or(0, distinct_len);
    match keyword {
        "type" => wrong_kind(&names(demand), value),
        "const" => format!("must be {}", constant(demand)),
        "enum" => one_of(demand.as_array().into_iter().flatten()),
        "required" => missing(demand, value),
        "dependentRequired" | "dependencies" => dependent(demand, value),
        "minProperties" => format!("fewer than minProperties {demand}: has {}", members()),
        "maxProperties" => format!("more than maxProperties {demand}: has {}", members()),
        "minItems" => format!("fewer elements than minItems {demand}: has {}", elements()),
        "maxItems" => format!("more elements than maxItems {demand}: has {}", elements()),
        "uniqueItems" => "two elements are equal, but they must be unique".to_owned(),
        "minLength" => format!("fewer characters than minLength {demand}: has {}", length()),
        "maxLength" => format!("more characters than maxLength {demand}: has {}", length()),
        "pattern" => format!("does not match the pattern {}", constant(demand)),
        "format" => format!("is not of the format {}", constant(demand)),
        "contentEncoding" => format!("is not encoded as {}", constant(demand)),
        "contentMediaType" => format!("is not of the media type {}", constant(demand)),
        "minimum" => format!("less than the minimum {}", number()),
        "maximum" => format!("more than the maximum {}", number()),
        "exclusiveMinimum" => format!("not more than the exclusiveMinimum {}", number()),
        "exclusiveMaximum" => format!("not less than the exclusiveMaximum {}", number()),
        "multipleOf" if value.as_number().is_some_and(has_far_exponent) => {
            format!(
                "cannot tell whether it is a multiple of {}: the exponent is beyond {MOST_EXPONENT}",
                number()
            )
        }
        "multipleOf" => format!("not a multiple of {}", number()),
        _ => format!("breaks `{keyword}`"),
    }
}

/// The message for a value that has none of these types.
pub(super) fn wrong_kind(types: &[&str], value: Value<'_>) -> String {
    let found = match value.kind() {
        Kind::Number if types.contains(&"integer") => "a number that is not an integer",
        kind => kind.with_article(),
    };
    match types {
        [] => format!("no type is allowed, found {found}"),
        [one] => format!("expected type {one}, found {found}"),
        [rest @ .., last] => format!("expected type {} or {last}, found {found}", rest.join(", ")),
    }
}

/// The message for a value that equals none of these constants.
pub(super) fn one_of<'v>(constants: impl Iterator<Item = &'v Owned>) -> String {
    let constants: Vec<_> = constants.collect();
    match constants.as_slice() {
        [] => "nothing is allowed here".to_owned(),
        [one] => format!("must be {}", constant(one)),
        several => format!("must be one of {}", list(several.iter().map(|value| constant(value)))),
    }
}

/// The message for a missing discriminator.
pub(super) fn missing_discriminator<'v>(name: &str, constants: impl Iterator<Item = &'v Owned>) -> String {
    let name = quoted(name);
    format!("missing {name}, which distinguishes the alternatives: {}", one_of(constants))
}

/// The message if all members that tell alternatives apart are missing.
pub(super) fn one_of_members<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<_> = names.map(quoted).collect();
    format!("must have one of the members {}", list(names.into_iter()))
}

fn missing(required: &Owned, value: Value<'_>) -> String {
    let names = required.as_array().into_iter().flatten().filter_map(Owned::as_str);
    let missing: Vec<_> = names.filter(|name| value.get(name).is_none()).map(quoted).collect();
    let plural = if missing.len() == 1 { "" } else { "s" };
    format!("missing required member{plural} {}", list(missing.into_iter()))
}

fn dependent(demands: &Owned, value: Value<'_>) -> String {
    for (name, required) in demands.as_object().into_iter().flatten() {
        if value.get(name).is_some() && required.is_array() {
            let required = required.as_array().into_iter().flatten().filter_map(Owned::as_str);
            let missing: Vec<_> = required.filter(|name| value.get(name).is_none()).map(quoted).collect();
            if !missing.is_empty() {
                return format!("with {} it must have {}", quoted(name), list(missing.into_iter()));
            }
        }
    }
    "members that others require are missing".to_owned()
}

/// The type names of a `type` keyword.
pub(super) fn names(types: &Owned) -> Vec<&str> {
    match types {
        Owned::String(name) => vec![name],
        Owned::Array(names) => names.iter().filter_map(Owned::as_str).collect(),
        _ => Vec::new(),
    }
}

/// A constant of the schema as JSON, shortened if it is long.
fn constant(value: &Owned) -> String {
    shorten(value.to_string())
}
