//! Messages about broken rules. They name rules, kinds and parts of the schema, never a value of the record.

use std::collections::HashSet;

use serde_json::Value as Owned;
use tokenline_core::json::{Kind, Object, Value};

use crate::literals::Literals;
use crate::number::{MOST_EXPONENT, has_far_exponent};
use crate::text::{debug, list, quoted, shorten};

/// The message for a number that is not a multiple.
pub(crate) fn multiple(of: &str, value: Value<'_>) -> String {
    if value.as_number().is_some_and(has_far_exponent) {
        return format!(
            "cannot tell whether it is a multiple of {of}: the exponent is beyond {MOST_EXPONENT}"
        );
    }
    format!("not a multiple of {of}")
}

/// The message for a value that has none of these types.
pub(crate) fn wrong_kind(types: &[&str], value: Value<'_>) -> String {
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
pub(crate) fn one_of(constants: &[&Owned], value: Value<'_>, literals: &Literals) -> String {
    let text = value.as_str().filter(|text| text.len() <= MAX_COMPARED);
    let mut strings = constants.iter().filter_map(|constant| constant.as_str());
    let near = text.and_then(|text| nearest(&text, &mut strings));
    let all = accepted(constants, literals);
    match near {
        Some(near) if all.starts_with("must be one of") => format!("{all}; did you mean {}?", quoted(near)),
        _ => all,
    }
}

/// The message that these constants are accepted.
fn accepted(constants: &[&Owned], literals: &Literals) -> String {
    match constants {
        [] => "nothing is allowed here".to_owned(),
        [one] => format!("must be {}", constant(one, literals)),
        several => {
            format!("must be one of {}", list(&mut several.iter().map(|value| constant(value, literals))))
        }
    }
}

/// The message for a missing discriminator.
pub(crate) fn missing_discriminator(name: &str, constants: &[&Owned], literals: &Literals) -> String {
    let name = quoted(name);
    format!("missing {name}, which distinguishes the alternatives: {}", accepted(constants, literals))
}

/// The message if all members that tell alternatives apart are missing.
pub(crate) fn one_of_members(names: &[&str]) -> String {
    format!("must have one of the members {}", list(&mut names.iter().map(|name| quoted(name))))
}

/// The message for a member that the schema does not name, and does not allow.
pub(crate) fn unknown_member(name: &str, known: &mut dyn Iterator<Item = &str>) -> String {
    match nearest(name, known) {
        Some(known) => format!("unknown member; did you mean {}?", quoted(known)),
        None => "unknown member".to_owned(),
    }
}

/// The message for an array with more elements than there are schemas for.
pub(crate) fn too_many_elements(schemas: usize) -> String {
    match schemas {
        0 => "the array must be empty".to_owned(),
        1 => "the array has more than 1 element".to_owned(),
        many => format!("the array has more than {many} elements"),
    }
}

/// The longest name, in bytes, that is compared with others.
const MAX_COMPARED: usize = 64;
/// The most names that one is compared with.
const MAX_KNOWN: usize = 256;

/// The known name that differs least, if that is in case only, or in one letter of three, and in two at most.
pub(crate) fn nearest<'n>(name: &str, known: &mut dyn Iterator<Item = &'n str>) -> Option<&'n str> {
    if name.len() > MAX_COMPARED {
        return None;
    }
    let name = lowercase(name);
    let most = (name.len() / 3).min(2);
    let mut nearest: Option<(usize, &str)> = None;
    for known in known.filter(|known| known.len() <= MAX_COMPARED).take(MAX_KNOWN) {
        let found = (strsim::osa_distance(&name, &lowercase(known)), known);
        if found.0 <= most && nearest.is_none_or(|nearest| found < nearest) {
            nearest = Some(found);
        }
    }
    nearest.map(|(_, known)| known)
}

#[cfg(feature = "jsonschema")]
fn lowercase(name: &str) -> String {
    name.to_lowercase()
}

/// Without the tables of Unicode, 6 KB of WebAssembly.
#[cfg(not(feature = "jsonschema"))]
fn lowercase(name: &str) -> String {
    name.to_ascii_lowercase()
}

pub(crate) fn missing(required: &Owned, value: Value<'_>) -> String {
    let missing = missing_of(required, &member_names(value));
    let plural = if missing.len() == 1 { "" } else { "s" };
    format!("missing required member{plural} {}", list(&mut missing.into_iter()))
}

pub(crate) fn dependent(demands: &Owned, value: Value<'_>) -> String {
    let present = member_names(value);
    for (name, required) in demands.as_object().into_iter().flatten() {
        if present.contains(&**name) && required.is_array() {
            let missing = missing_of(required, &present);
            if !missing.is_empty() {
                return format!("with {} it must have {}", quoted(name), list(&mut missing.into_iter()));
            }
        }
    }
    "members that others require are missing".to_owned()
}

/// The names of the members of an object. There may be as many as are required.
pub(crate) fn member_names(value: Value<'_>) -> HashSet<&str> {
    value.as_object().into_iter().flat_map(Object::iter).map(|(name, _)| name).collect()
}

/// The required names that are not present, quoted.
fn missing_of(required: &Owned, present: &HashSet<&str>) -> Vec<String> {
    let names = required.as_array().into_iter().flatten().filter_map(Owned::as_str);
    names.filter(|name| !present.contains(name)).map(quoted).collect()
}

/// The message for a `$schema` that is no draft.
pub(crate) fn unknown_draft(uri: &str) -> String {
    format!("{} is not one of the drafts 4, 6, 7, 2019-09 and 2020-12", shorten(debug(uri)))
}

/// The message for a reference to another document.
pub(crate) fn outside(uri: &str, has_resources: bool) -> String {
    let and_resources = if has_resources { " and its resources" } else { "" };
    format!("refers to {}, but nothing outside the schema{and_resources} is read", shorten(debug(uri)))
}

/// The message for a reference to a place that does not exist.
pub(crate) fn no_target(pointer: &str) -> String {
    format!("refers to {}, which does not exist", shorten(debug(pointer)))
}

/// The message for a reference to an anchor that does not exist.
pub(crate) fn no_anchor(anchor: &str) -> String {
    format!("refers to the anchor {}, which does not exist", shorten(debug(anchor)))
}

/// The type names of a `type` keyword.
pub(crate) fn names(types: &Owned) -> Vec<&str> {
    match types {
        Owned::String(name) => vec![name],
        Owned::Array(names) => names.iter().filter_map(Owned::as_str).collect(),
        _ => Vec::new(),
    }
}

/// A constant of the schema as JSON, shortened if it is long.
pub(crate) fn constant(value: &Owned, literals: &Literals) -> String {
    shorten(literals.json(value))
}
