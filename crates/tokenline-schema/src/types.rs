//! Types that people write into tool definitions, and JSON Schema does not know.

use serde_json::{Map, Value};

/// Replaces the types of programming languages by those that they mean, and lists what was replaced.
pub(crate) fn replace_types(schema: &mut Value) -> Vec<String> {
    let mut replaced = Vec::new();
    replace(schema, &mut String::new(), &mut replaced);
    replaced
}

/// The type that is meant, empty for any.
fn meant(name: &str) -> Option<&'static str> {
    Some(match name {
        "float" | "double" | "decimal" => "number",
        "int" | "long" => "integer",
        "str" | "text" => "string",
        "bool" => "boolean",
        "dict" | "map" | "struct" => "object",
        "list" | "tuple" | "set" => "array",
        "None" | "NoneType" => "null",
        "any" => "",
        _ => return None,
    })
}

fn replace(schema: &mut Value, path: &mut String, replaced: &mut Vec<String>) {
    let Value::Object(members) = schema else { return };
    replace_type(members, path, replaced);
    for (keyword, value) in members.iter_mut() {
        let len = path.len();
        path.push('/');
        path.push_str(keyword);
        match (keyword.as_str(), value) {
            ("properties" | "patternProperties" | "$defs" | "definitions", Value::Object(schemas)) => {
                for (name, schema) in schemas {
                    let len = path.len();
                    path.push('/');
                    path.push_str(name);
                    replace(schema, path, replaced);
                    path.truncate(len);
                }
            }
            ("items" | "prefixItems" | "anyOf" | "oneOf" | "allOf", Value::Array(schemas)) => {
                for schema in schemas {
                    replace(schema, path, replaced);
                }
            }
            ("items" | "additionalProperties" | "not" | "contains", schema) => {
                replace(schema, path, replaced);
            }
            _ => {}
        }
        path.truncate(len);
    }
}

fn replace_type(members: &mut Map<String, Value>, path: &str, replaced: &mut Vec<String>) {
    let Some(kind) = members.get_mut("type") else { return };
    let mut is_any = false;
    let mut one = |kind: &mut Value| {
        let Some(name) = kind.as_str() else { return };
        let Some(meant) = meant(name) else { return };
        replaced.push(match meant {
            "" => format!("`{name}` at {path}/type is read as any type"),
            _ => format!("`{name}` at {path}/type is read as `{meant}`"),
        });
        is_any |= meant.is_empty();
        *kind = Value::from(meant);
    };
    match kind {
        Value::Array(names) => names.iter_mut().for_each(&mut one),
        kind => one(kind),
    }
    if is_any {
        members.remove("type");
    }
}
