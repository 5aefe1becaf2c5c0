//! The schema of a list, built from the schema of one item.

use tokenline_core::json::{Raw, Value, View};

use super::Object;
use super::json::Node;

/// Keywords with definitions, which move to the root.
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];

/// The schema of a value with an array of items at a JSON Pointer.
pub(super) fn of(item: &Raw, pointer: &str) -> Raw {
    let tokens = pointer.split('/').skip(1).map(|token| token.replace("~1", "/").replace("~0", "~"));
    let tokens: Vec<String> = tokens.collect();
    let place: String = pointer.split('/').skip(1).map(|token| format!("/properties/{token}")).collect();
    let list = item.with_value(|item| {
        let items = moved(item, &format!("#{place}/items"), true);
        let array = Object::new().with("type", "array").with("items", items);
        let list = tokens.iter().rev().fold(array, |schema, token| {
            Object::new()
                .with("type", "object")
                .with("properties", Object::new().with(token, schema))
                .with("required", vec![token])
                .with("additionalProperties", false)
        });
        let definitions = DEFINITIONS.iter().filter_map(|name| Some((name, item.get(name)?)));
        let list = definitions.fold(list, |list, (name, value)| {
            list.with(name, moved(value, &format!("#{place}/items"), false))
        });
        let draft = item.get("$schema").map(|draft| Node::Text(draft.raw().to_owned()));
        list.with_some("$schema", draft)
    });
    let list = list.to_string();
    Raw::new(&list).unwrap_or_else(|_| item.clone())
}

/// Rewrites references to the item's root for its new position.
fn moved(value: Value<'_>, root: &str, is_root: bool) -> Node {
    match value.view() {
        View::Object(members) => {
            let left = members
                .iter()
                .filter(|(name, _)| !is_root || !(DEFINITIONS.contains(name) || *name == "$schema"));
            let object = left.fold(Object::new(), |object, (name, value)| match value.as_str() {
                Some(reference) if name == "$ref" => object.with(name, target(&reference, root).as_str()),
                _ => object.with(name, moved(value, root, false)),
            });
            object.into()
        }
        View::Array(elements) => {
            Node::Array(elements.iter().map(|value| moved(value, root, false)).collect())
        }
        _ => Node::Text(value.raw().to_owned()),
    }
}

fn target(reference: &str, root: &str) -> String {
    match reference.strip_prefix('#') {
        Some(path) if path.is_empty() || path.starts_with('/') => {
            let is_definition =
                DEFINITIONS.iter().any(|name| path[1.min(path.len())..].split('/').next() == Some(name));
            if is_definition { reference.to_owned() } else { format!("{root}{path}") }
        }
        _ => reference.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_point_to_the_same_schemas() {
        let item = r##"{"$schema":"s","type":"object","properties":{"a~1b":{"$ref":"#/$defs/N"},"me":{"$ref":"#"}},
            "$defs":{"N":{"anyOf":[{"$ref":"#/properties/me"},{"$ref":"other#x"},{"const":1.50}]}}}"##;
        let expected = r##"{"type":"object","properties":{"a":{"type":"object","properties":{"x/y":{"type":"array","items":{"type":"object","properties":{"a~1b":{"$ref":"#/$defs/N"},"me":{"$ref":"#/properties/a/properties/x~1y/items"}}}}},"required":["x/y"],"additionalProperties":false}},"required":["a"],"additionalProperties":false,"$defs":{"N":{"anyOf":[{"$ref":"#/properties/a/properties/x~1y/items/properties/me"},{"$ref":"other#x"},{"const":1.50}]}},"$schema":"s"}"##;
        assert_eq!(of(&Raw::new(item).unwrap(), "/a/x~1y").as_str(), expected);
        assert_eq!(of(&Raw::new("true").unwrap(), "").as_str(), r#"{"type":"array","items":true}"#);
    }
}
