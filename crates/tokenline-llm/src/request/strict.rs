//! Schemas for the providers' strict modes.

use tokenline_core::ToolDefinition;
use tokenline_core::json::{Raw, Value};

use super::Object;
use super::json::Node;

/// A provider's strict mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strict {
    /// Accepts bounds of numbers and arrays, and patterns.
    WithBounds,
    /// Accepts no bounds.
    WithoutBounds,
}

/// Keywords that every strict mode accepts.
const KEPT: &[&str] = &["type", "description", "enum"];
/// Keywords that some strict modes accept.
const BOUNDS: &[&str] = &[
    "pattern",
    "multipleOf",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minItems",
    "maxItems",
];
/// Keywords that no strict mode accepts. They move into the description; validation still enforces them.
const DESCRIBED: &[&str] =
    &["minLength", "maxLength", "uniqueItems", "minProperties", "maxProperties", "format"];
/// Keywords without effect on validation.
const DROPPED: &[&str] =
    &["$schema", "$id", "$comment", "title", "default", "examples", "deprecated", "readOnly", "writeOnly"];
/// String formats that every strict mode accepts.
const FORMATS: &[&str] =
    &["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

impl Strict {
    /// The schema with all members required and no others allowed, in the original order. What matches the result
    /// matches the schema too, except for rules that the strict mode cannot express. `None` if no such schema exists:
    /// an object with arbitrary members, alternatives at the root, an optional member that is neither nullable nor has
    /// a default.
    pub(crate) fn of(self, schema: &Raw) -> Option<Object> {
        schema.with_value(|schema| {
            let is_object = schema.get("type").and_then(Value::as_str).is_some_and(|kind| kind == "object");
            if is_object { self.schema(schema) } else { None }
        })
    }

    /// Adds a tool's parameters to `object` as the member `name`: strict if the tool asks for it and its schema allows
    /// it. Returns whether they are strict.
    pub(crate) fn parameters(self, tool: &ToolDefinition, object: Object, name: &str) -> (Object, bool) {
        let schema = if tool.strict { self.of(&tool.parameters) } else { None };
        match schema {
            Some(schema) => (object.with(name, schema), true),
            None => (object.with(name, &tool.parameters), false),
        }
    }

    fn schema(self, schema: Value<'_>) -> Option<Object> {
        let members = schema.as_object()?;
        if let Some(reference) = schema.get("$ref") {
            // `$ref` must stand alone.
            return Some(Object::new().with("$ref", verbatim(reference)));
        }
        if !["type", "enum", "const", "anyOf", "oneOf"].iter().any(|name| members.get(name).is_some()) {
            return None;
        }
        let mut strict = Object::new();
        let mut notes = Vec::new();
        for (name, value) in members {
            match name {
                "properties" => strict.set(name, self.properties(schema, value)?),
                // Written with the properties.
                "required" => {}
                "additionalProperties" if value.as_bool() == Some(false) => {}
                "items" => strict.set(name, self.schema(value)?),
                "const" => strict.set("enum", Node::Array(vec![verbatim(value)])),
                "anyOf" | "oneOf" => {
                    let schemas = value.as_array()?.iter().map(|schema| self.schema(schema));
                    strict.set("anyOf", schemas.collect::<Option<Vec<_>>>()?);
                }
                "$defs" | "definitions" => {
                    let all = value.as_object()?.iter();
                    let all = all.map(|(name, schema)| Some((name, self.schema(schema)?)));
                    let all = all.collect::<Option<Vec<_>>>()?.into_iter();
                    strict.set(name, all.fold(Object::new(), |all, (name, schema)| all.with(name, schema)));
                }
                "format" if value.as_str().is_some_and(|format| FORMATS.contains(&&*format)) => {
                    strict.set(name, verbatim(value));
                }
                _ if KEPT.contains(&name) => strict.set(name, verbatim(value)),
                _ if BOUNDS.contains(&name) && self == Self::WithBounds => strict.set(name, verbatim(value)),
                _ if BOUNDS.contains(&name) || DESCRIBED.contains(&name) => {
                    notes.push(format!("{name}: {}", value.raw()));
                }
                _ if DROPPED.contains(&name) => {}
                _ => return None,
            }
        }
        if allows(schema, "object") {
            // Without `properties` any member is allowed.
            let properties = schema.get("properties")?.as_object()?;
            let required: Vec<Node> = properties.iter().map(|(name, _)| Node::from(name)).collect();
            strict.set("required", required);
            strict.set("additionalProperties", false);
        }
        if !notes.is_empty() {
            let description = schema.get("description").and_then(Value::as_str).unwrap_or_default();
            let notes = format!("{description} ({})", notes.join(", "));
            strict.set("description", notes.trim_start());
        }
        Some(strict)
    }

    fn properties(self, schema: Value<'_>, properties: Value<'_>) -> Option<Object> {
        let is_required = |name: &str| {
            let required = schema.get("required").and_then(Value::as_array);
            required.is_some_and(|all| all.iter().any(|its| its.as_str().is_some_and(|its| its == name)))
        };
        let mut strict = Object::new();
        for (name, property) in properties.as_object()? {
            // The model must write it, so there must be a value that means the same as its absence.
            if !is_required(name) && !is_nullable(property) && property.get("default").is_none() {
                return None;
            }
            strict.set(name, self.schema(property)?);
        }
        Some(strict)
    }
}

fn is_nullable(schema: Value<'_>) -> bool {
    let choices = ["anyOf", "oneOf"].iter().filter_map(|name| schema.get(name)?.as_array());
    allows(schema, "null") || choices.flatten().any(is_nullable)
}

/// Whether the keyword `type` includes this type.
fn allows(schema: Value<'_>, kind: &str) -> bool {
    let is_kind = |value: Value<'_>| value.as_str().is_some_and(|its| its == kind);
    schema
        .get("type")
        .is_some_and(|its| is_kind(its) || its.as_array().is_some_and(|all| all.iter().any(is_kind)))
}

fn verbatim(value: Value<'_>) -> Node {
    Node::Text(value.to_single_line().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strict(mode: Strict, schema: &str) -> Option<String> {
        mode.of(&Raw::new(schema).unwrap()).map(|schema| schema.to_string())
    }

    #[test]
    fn every_member_is_required_in_its_order() {
        let schema = r##"{"$schema":"x","title":"T","type":"object","properties":{
            "z":{"type":["integer","null"],"format":"uint8","minimum":0,"maximum":255},
            "a":{"description":"Names","type":"array","items":{"$ref":"#/$defs/N","description":"one"},"default":[]},
            "kind":{"oneOf":[{"const":"x","type":"string"},{"type":"null"}]}},
            "$defs":{"N":{"type":"object","properties":{"at":{"type":"string","format":"date","minLength":1}},"required":["at"]}}}"##;
        let expected = r##"{"type":"object","properties":{"z":{"type":["integer","null"],"minimum":0,"maximum":255,"description":"(format: \"uint8\")"},"a":{"description":"Names","type":"array","items":{"$ref":"#/$defs/N"}},"kind":{"anyOf":[{"enum":["x"],"type":"string"},{"type":"null"}]}},"$defs":{"N":{"type":"object","properties":{"at":{"type":"string","format":"date","description":"(minLength: 1)"}},"required":["at"],"additionalProperties":false}},"required":["z","a","kind"],"additionalProperties":false}"##;
        assert_eq!(strict(Strict::WithBounds, schema).unwrap(), expected);
        let without = strict(Strict::WithoutBounds, schema).unwrap();
        assert!(
            without.contains(r#""description":"(format: \"uint8\", minimum: 0, maximum: 255)""#),
            "{without}"
        );
        // A strict schema stays unchanged.
        assert_eq!(strict(Strict::WithBounds, expected).unwrap(), expected);
    }

    #[test]
    fn schemas_without_a_strict_form_are_left_alone() {
        for schema in [
            r#"{"type":"object"}"#,
            r#"{"type":"array","items":{"type":"string"}}"#,
            r#"{"anyOf":[{"type":"object","properties":{}}]}"#,
            r#"{"type":"object","properties":{"a":{"type":"string"}}}"#,
            r#"{"type":"object","properties":{"a":true},"required":["a"]}"#,
            r#"{"type":"object","properties":{"a":{}},"required":["a"]}"#,
            r#"{"type":"object","properties":{},"additionalProperties":{"type":"string"}}"#,
            r#"{"type":"object","properties":{},"patternProperties":{"a":{}}}"#,
            r#"{"type":"object","properties":{"a":{"not":{}}},"required":["a"]}"#,
        ] {
            assert_eq!(strict(Strict::WithBounds, schema), None, "{schema}");
        }
    }
}
