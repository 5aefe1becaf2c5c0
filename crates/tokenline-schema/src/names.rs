//! The member names that a schema contains. Any other name comes from the record and may be private: a map
//! from e-mail addresses uses them as names.

use std::collections::HashSet;

use serde_json::Value as Schema;
use tokenline_core::json::{Kind, Value};

use crate::pointer;

/// Every member name in the schemas.
pub(crate) fn names<'s>(schemas: impl IntoIterator<Item = &'s Schema>) -> HashSet<Box<str>> {
    let mut names = HashSet::new();
    schemas.into_iter().for_each(|schema| collect(schema, &mut names));
    names
}

fn collect(schema: &Schema, names: &mut HashSet<Box<str>>) {
    match schema {
        Schema::Array(elements) => elements.iter().for_each(|element| collect(element, names)),
        Schema::Object(members) => {
            for (keyword, value) in members {
                match (keyword.as_str(), value) {
                    (
                        "properties" | "dependentSchemas" | "dependentRequired" | "dependencies",
                        Schema::Object(map),
                    ) => {
                        names.extend(map.keys().map(|name| Box::from(name.as_str())));
                        let required = map.values().filter_map(Schema::as_array).flatten();
                        names.extend(required.filter_map(Schema::as_str).map(Box::from));
                    }
                    ("required", Schema::Array(required)) => {
                        names.extend(required.iter().filter_map(Schema::as_str).map(Box::from));
                    }
                    // Data, not schemas.
                    ("const" | "enum" | "default" | "examples", _) => continue,
                    _ => {}
                }
                collect(value, names);
            }
        }
        _ => {}
    }
}

/// The path of a place in `value`, with `*` for each name that is not in `names`.
pub(crate) fn shown(path: &str, value: Value<'_>, names: &HashSet<Box<str>>) -> String {
    let mut shown = String::new();
    let mut here = Some(value);
    for token in path.split('/').skip(1) {
        let name = pointer::unescape(token);
        let is_element = here.is_some_and(|value| value.kind() == Kind::Array);
        let is_shown = is_element || names.contains(name.as_str());
        here = here.and_then(|value| pointer::step_on_tape(value, token));
        pointer::push(&mut shown, if is_shown { &name } else { "*" });
    }
    shown
}
