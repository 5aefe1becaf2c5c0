//! Checks of schemas for strict modes.

use std::fmt;

use tokenline_core::json::{Kind, Raw, Value};

/// A change that a schema needs for a provider's strict mode.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StrictViolation {
    /// The violated rule.
    pub rule: StrictRule,
    /// JSON Pointer (RFC 6901) into the schema: to the schema that lacks something, or to the member to remove.
    pub pointer: String,
    /// The required change, in one sentence.
    pub message: String,
}

/// A rule of the strict modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StrictRule {
    /// The root is an object, not a choice of schemas: `{"anyOf":[...]}`.
    RootObject,
    /// An object allows no other members, `"additionalProperties": false`: `{"type":"object"}`.
    Closed,
    /// An object requires all its members; optional ones are nullable instead: `{"properties":{"a":{}}}`.
    Required,
    /// An unsupported keyword: `{"allOf":[...]}`.
    Unsupported,
}

/// Keywords that strict modes reject, with a replacement.
const UNSUPPORTED: &[(&str, &str)] = &[
    ("allOf", "merge its schemas into one"),
    ("oneOf", "use `anyOf` instead"),
    ("not", "remove it, and check it after the call"),
    ("if", "express the cases as `anyOf`"),
    ("then", "express the cases as `anyOf`"),
    ("else", "express the cases as `anyOf`"),
    ("dependentRequired", "express the cases as `anyOf`"),
    ("dependentSchemas", "express the cases as `anyOf`"),
    ("dependencies", "express the cases as `anyOf`"),
    ("patternProperties", "list the members, or use an array of objects with name and value"),
];

/// Keywords whose value is a schema, or a list of them.
const SCHEMAS: &[&str] = &[
    "items",
    "prefixItems",
    "anyOf",
    "allOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "additionalItems",
    "unevaluatedItems",
    "unevaluatedProperties",
];
/// Keywords whose value has a schema for each of its members.
const NAMED_SCHEMAS: &[&str] =
    &["properties", "$defs", "definitions", "patternProperties", "dependentSchemas"];

/// The changes that a parameter schema needs for a provider's strict mode, in the order of the schema; empty if it
/// needs none.
///
/// These are the rules of OpenAI's structured outputs, which other providers have adopted: in every object at any
/// depth, `additionalProperties` is `false` and all `properties` are `required`; the root is an object; `anyOf` is the
/// only keyword that combines schemas (<https://platform.openai.com/docs/guides/structured-outputs#supported-schemas>).
/// Limits of size and depth, which change, are not checked.
///
/// ```
/// use tokenline_core::json::Raw;
/// use tokenline_prompt::tools::strict_violations;
///
/// let schema = Raw::new(r#"{"type":"object","properties":{"city":{"type":"string"}},"required":[]}"#)?;
/// let violations: Vec<_> = strict_violations(&schema).iter().map(ToString::to_string).collect();
/// assert_eq!(violations, [
///     "the root: set `additionalProperties` to false",
///     "/required: add `city`; if it is optional, allow `null` instead",
/// ]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn strict_violations(schema: &Raw) -> Vec<StrictViolation> {
    schema.with_value(|root| {
        let mut violations = Violations::default();
        violations.root(root);
        violations.schema(root, "");
        violations.0
    })
}

#[derive(Default)]
struct Violations(Vec<StrictViolation>);

impl Violations {
    fn add(&mut self, rule: StrictRule, pointer: impl Into<String>, message: impl Into<String>) {
        self.0.push(StrictViolation { rule, pointer: pointer.into(), message: message.into() });
    }

    fn root(&mut self, root: Value<'_>) {
        if root.get("anyOf").is_some() {
            self.add(
                StrictRule::RootObject,
                "/anyOf",
                "move the choice into a member: the root must be one object",
            );
        } else if root.get("$ref").is_none() && !allows(root, "object", true) {
            self.add(StrictRule::RootObject, "", "set `type` to \"object\"");
        }
    }

    fn schema(&mut self, schema: Value<'_>, pointer: &str) {
        let Some(members) = schema.as_object() else { return };
        if schema.get("properties").is_some() || allows(schema, "object", false) {
            self.object(schema, pointer);
        }
        for (name, value) in members {
            let at = format!("{pointer}/{}", escaped(name));
            if let Some((_, instead)) = UNSUPPORTED.iter().find(|(keyword, _)| *keyword == name) {
                self.add(StrictRule::Unsupported, &at, format!("`{name}` is not supported: {instead}"));
            }
            if SCHEMAS.contains(&name) || name == "additionalProperties" {
                self.schema(value, &at);
                for (index, schema) in value.as_array().into_iter().flatten().enumerate() {
                    self.schema(schema, &format!("{at}/{index}"));
                }
            } else if NAMED_SCHEMAS.contains(&name) {
                for (name, schema) in value.as_object().into_iter().flatten() {
                    self.schema(schema, &format!("{at}/{}", escaped(name)));
                }
            }
        }
    }

    fn object(&mut self, object: Value<'_>, pointer: &str) {
        match object.get("additionalProperties") {
            Some(value) if value.as_bool() == Some(false) => {}
            Some(_) => {
                self.add(StrictRule::Closed, format!("{pointer}/additionalProperties"), "set it to false");
            }
            None => self.add(StrictRule::Closed, pointer, "set `additionalProperties` to false"),
        }
        let required = object.get("required").and_then(Value::as_array);
        let place = match required {
            Some(_) => format!("{pointer}/required"),
            None => pointer.to_owned(),
        };
        for (name, schema) in object.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let is_required =
                required.into_iter().flatten().any(|entry| entry.as_str().is_some_and(|text| text == name));
            if !is_required {
                let what = match required {
                    Some(_) => format!("add `{name}`"),
                    None => format!("add `{name}` to `required`"),
                };
                let message = if allows(schema, "null", false) {
                    what
                } else {
                    format!("{what}; if it is optional, allow `null` instead")
                };
                self.add(StrictRule::Required, &place, message);
            }
        }
    }
}

/// Whether `type` is or includes this type; `without` is the result for objects without a `type`.
fn allows(schema: Value<'_>, name: &str, without: bool) -> bool {
    match schema.get("type") {
        None => without && schema.get("properties").is_some(),
        Some(kind) if kind.kind() == Kind::Array => {
            kind.as_array().into_iter().flatten().any(|entry| entry.as_str().is_some_and(|text| text == name))
        }
        Some(kind) => kind.as_str().is_some_and(|text| text == name),
    }
}

/// Escapes a name as a token of a JSON Pointer.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

impl fmt::Display for StrictViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.pointer.is_empty() { "the root" } else { &self.pointer };
        write!(f, "{place}: {}", self.message)
    }
}
