//! Schemas for the providers' strict modes.

mod facts;

use std::collections::HashSet;

use tokenline_core::ToolDefinition;
use tokenline_core::json::{Raw, Value};

use self::facts::{Facts, Types};
use super::Object;
use super::json::Node;

/// A provider's strict mode: a subset of JSON Schema, in which every object is closed and every value has a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strict {
    /// Bounds of numbers and arrays, patterns, recursion; all members are required:
    /// <https://platform.openai.com/docs/guides/structured-outputs#supported-schemas>.
    OpenAi,
    /// No bounds but `minItems` up to 1, no recursion; members may be optional:
    /// <https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations>. Bedrock's
    /// subset is the same: <https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html>.
    Anthropic,
}

/// The reason that a schema has no strict form.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StrictError {
    pub(crate) keyword: String,
    /// JSON Pointer to the schema that has the keyword, or lacks it.
    pub(crate) pointer: String,
    pub(crate) reason: &'static str,
}

impl StrictError {
    fn new(keyword: &str, reason: &'static str) -> Self {
        Self { keyword: keyword.to_owned(), pointer: String::new(), reason }
    }

    /// The same error, seen from the schema that contains the subschema.
    fn under(mut self, tokens: &[&str]) -> Self {
        let tokens = tokens.iter().map(|token| format!("/{}", token.replace('~', "~0").replace('/', "~1")));
        self.pointer.insert_str(0, &tokens.collect::<String>());
        self
    }
}

type Strictly<T> = Result<T, StrictError>;

const UNSUPPORTED: &str = "strict schemas do not support it";
const BESIDE: &str = "it restricts a value that has alternatives or a reference, too";
const UNTYPED: &str = "it is missing, and every value of a strict schema has a type";

/// Bounds that OpenAI enforces.
const BOUNDS: &[&str] =
    &["multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems"];
/// Rules that no strict mode enforces.
const UNENFORCED: &[&str] = &["minLength", "maxLength", "uniqueItems", "minProperties", "maxProperties"];
/// Keywords without effect on validation.
const ANNOTATIONS: &[&str] = &[
    "$schema",
    "$comment",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
];
/// String formats that every strict mode enforces.
const FORMATS: &[&str] =
    &["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];
/// Other formats that JSON Schema defines; the rest are annotations.
const OTHER_FORMATS: &[&str] = &[
    "uri",
    "uri-reference",
    "uri-template",
    "iri",
    "iri-reference",
    "idn-email",
    "idn-hostname",
    "json-pointer",
    "relative-json-pointer",
    "regex",
];

impl Strict {
    /// The schema in the strict mode's form, with the same meaning.
    pub(crate) fn exact(self, schema: &Raw) -> Strictly<Object> {
        self.rewrite(schema, true)
    }

    /// The schema in the strict mode's form: with the same meaning if possible. Else objects that are open only because
    /// `additionalProperties` is missing are closed, members that may be null or have a default are required, and rules
    /// that the mode does not enforce, such as lengths, move into the description: validation still enforces them.
    pub(crate) fn of(self, schema: &Raw) -> Strictly<Object> {
        self.exact(schema).or_else(|_| self.rewrite(schema, false))
    }

    /// Adds a tool's parameters to `object` as the member `name`: strict if the tool asks for it and its schema allows
    /// it. Returns whether they are strict.
    pub(crate) fn parameters(self, tool: &ToolDefinition, object: Object, name: &str) -> (Object, bool) {
        let schema = if tool.strict { self.of(&tool.parameters).ok() } else { None };
        match schema {
            Some(schema) => (object.with(name, schema), true),
            None => (object.with(name, &tool.parameters), false),
        }
    }

    fn rewrite(self, schema: &Raw, is_exact: bool) -> Strictly<Object> {
        schema.with_value(|root| Rewriter { mode: self, is_exact, facts: Facts::new(root) }.root(root))
    }
}

struct Rewriter<'s> {
    mode: Strict,
    /// The result must have the same meaning.
    is_exact: bool,
    facts: Facts<'s>,
}

impl<'s> Rewriter<'s> {
    fn root(&self, root: Value<'s>) -> Strictly<Object> {
        // A reference may not stand at the root.
        let (top, place) = match root.get("$ref") {
            Some(reference) => {
                self.reference(root, reference)?;
                (self.facts.target(reference).unwrap_or(root), reference.as_str().unwrap_or_default())
            }
            None => (root, "#".into()),
        };
        let is_object = |kind: Value<'_>| kind.as_str().is_some_and(|kind| kind == "object");
        let strict = if top.get("type").is_some_and(is_object) {
            self.schema(top)
        } else {
            Err(StrictError::new("type", "the root of a strict schema is an object"))
        };
        let mut strict = strict
            .map_err(|error| StrictError { pointer: format!("{}{}", &place[1..], error.pointer), ..error })?;
        if top.identity() != root.identity() {
            for name in ["$defs", "definitions"] {
                if let Some(definitions) = root.get(name) {
                    strict.set(name, self.named(name, definitions)?);
                }
            }
        }
        Ok(strict)
    }

    fn schema(&self, schema: Value<'s>) -> Strictly<Object> {
        let Some(members) = schema.as_object() else { return Err(StrictError::new("type", UNTYPED)) };
        if let Some(reference) = members.get("$ref") {
            self.reference(schema, reference)?;
            return Ok(Object::new().with("$ref", verbatim(reference)));
        }
        let mut combining =
            ["anyOf", "oneOf", "allOf"].into_iter().filter(|name| members.get(name).is_some());
        match (combining.next(), combining.next()) {
            (None, _) => self.typed(schema),
            (Some("allOf"), None) => self.only(schema),
            (Some(keyword), None) => self.choice(schema, keyword),
            (_, Some(other)) => Err(StrictError::new(other, BESIDE)),
        }
    }

    /// Checks a reference, which must stand alone.
    fn reference(&self, schema: Value<'s>, reference: Value<'s>) -> Strictly<()> {
        self.stands_alone(schema, "$ref")?;
        if self.facts.target(reference).is_none() {
            return Err(StrictError::new("$ref", "it leads to none of the schema's definitions"));
        }
        if self.facts.resolve(schema).is_none() {
            return Err(StrictError::new("$ref", "it leads to itself"));
        }
        if self.mode == Strict::Anthropic && self.facts.is_recursive(reference) {
            return Err(StrictError::new("$ref", "the schema is recursive"));
        }
        Ok(())
    }

    /// Checks that no keyword beside this one has an effect. A type may repeat those of the alternatives.
    fn stands_alone(&self, schema: Value<'s>, keyword: &str) -> Strictly<()> {
        for (name, value) in schema.as_object().into_iter().flatten() {
            let is_allowed = match name {
                "$defs" | "definitions" => true,
                "$id" => self.facts.is_root(schema),
                "type" if keyword != "$ref" => {
                    let inner = self.facts.without_type(schema);
                    Types::of_keyword(value).zip(inner).is_some_and(|(types, inner)| types.contains(inner))
                }
                _ => name == keyword || is_annotation(name),
            };
            if !is_allowed {
                return Err(StrictError::new(name, BESIDE));
            }
        }
        Ok(())
    }

    /// `allOf` with one schema.
    fn only(&self, schema: Value<'s>) -> Strictly<Object> {
        self.stands_alone(schema, "allOf")?;
        let inner = facts::only(schema).ok_or_else(|| StrictError::new("allOf", UNSUPPORTED))?;
        let mut strict = self.schema(inner).map_err(|error| error.under(&["allOf", "0"]))?;
        if let Some(description) = description(schema).filter(|_| !strict.has("$ref")) {
            strict.set("description", verbatim(description));
        }
        Ok(strict)
    }

    fn choice(&self, schema: Value<'s>, keyword: &str) -> Strictly<Object> {
        self.stands_alone(schema, keyword)?;
        let branches = schema.get(keyword).and_then(Value::as_array).filter(|branches| !branches.is_empty());
        let branches: Vec<_> =
            branches.ok_or_else(|| StrictError::new(keyword, UNSUPPORTED))?.iter().collect();
        let rewritten = branches.iter().enumerate().map(|(at, branch)| {
            self.schema(*branch).map_err(|error| error.under(&[keyword, &at.to_string()]))
        });
        let rewritten = rewritten.collect::<Strictly<Vec<_>>>()?;
        // Each alternative has a type, or leads to one.
        if self.facts.without_type(schema).is_none() {
            return Err(StrictError::new(keyword, "it leads to itself"));
        }
        if keyword == "oneOf" {
            let pairs =
                branches.iter().enumerate().flat_map(|(at, a)| branches[..at].iter().map(move |b| (a, b)));
            if !pairs.into_iter().all(|(a, b)| self.facts.are_disjoint(*a, *b)) {
                return Err(StrictError::new(keyword, "several of its alternatives may match"));
            }
        }
        let strict = Object::new().with_some("description", description(schema).map(verbatim));
        Ok(strict.with("anyOf", rewritten))
    }

    fn typed(&self, schema: Value<'s>) -> Strictly<Object> {
        let declared = match schema.get("type") {
            Some(types) => {
                let types = Types::of_keyword(types);
                Some(types.ok_or_else(|| StrictError::new("type", "it names something that is not a type"))?)
            }
            None => None,
        };
        let values = facts::values(schema);
        let types = match &values {
            Some(values) if values.is_empty() => return Err(StrictError::new("enum", "it allows no value")),
            Some(values) => values.iter().fold(Types::default(), |all, value| all | Types::of_value(*value)),
            None => declared.ok_or_else(|| StrictError::new("type", UNTYPED))?,
        };
        if values.is_some() && types.overlaps(Types::ARRAY | Types::OBJECT) {
            return Err(StrictError::new("enum", "a strict schema can list neither arrays nor objects"));
        }
        let listed = values.map(|values| values.into_iter().map(verbatim).collect::<Vec<_>>());
        // The types of listed values are known, and are never those of containers.
        let is_inferred =
            declared.is_none_or(|all| listed.is_some() && all.overlaps(Types::ARRAY | Types::OBJECT));

        let mut strict = Object::new();
        let mut notes = Vec::new();
        for (name, value) in schema.as_object().into_iter().flatten() {
            match name {
                "type" => strict.set(name, if is_inferred { types.to_node() } else { verbatim(value) }),
                "enum" | "const" => {
                    if is_inferred {
                        strict.set("type", types.to_node());
                    }
                    strict.set("enum", listed.clone().unwrap_or_default());
                }
                "description" => strict.set(name, verbatim(value)),
                "$defs" | "definitions" if self.facts.is_root(schema) => {
                    strict.set(name, self.named(name, value)?);
                }
                // Only those at the root can be referred to.
                "$defs" | "definitions" => {}
                "$id" if self.facts.is_root(schema) => {}
                _ if is_annotation(name) => {}
                "format" => match value.as_str() {
                    Some(format) if types.overlaps(Types::STRING) && self.has_format(&format) => {
                        strict.set(name, verbatim(value));
                    }
                    Some(format)
                        if self.is_exact && types.overlaps(Types::STRING) && is_defined_format(&format) =>
                    {
                        return Err(StrictError::new(name, UNSUPPORTED));
                    }
                    _ => notes.push((name, value)),
                },
                _ if !types
                    .overlaps(Types::of_rule(name).ok_or_else(|| StrictError::new(name, UNSUPPORTED))?) => {}
                "properties" => strict.set(name, self.named(name, value)?),
                // Written below, in this place.
                "required" => strict.set(name, Vec::<Node>::new()),
                "additionalProperties" if value.as_bool() == Some(false) => strict.set(name, false),
                "items" => {
                    let items = self.schema(value).map_err(|error| error.under(&[name]))?;
                    strict.set(name, items);
                }
                _ if !is_rule(name) => return Err(StrictError::new(name, UNSUPPORTED)),
                _ if has_no_effect(name, value) => {}
                _ if self.enforces(name, value) => strict.set(name, verbatim(value)),
                _ if self.is_exact => return Err(StrictError::new(name, UNSUPPORTED)),
                _ => notes.push((name, value)),
            }
        }
        if types.overlaps(Types::OBJECT) {
            self.close(schema, &mut strict)?;
        }
        if types.overlaps(Types::ARRAY) && schema.get("items").is_none() {
            return Err(StrictError::new("items", "it is missing, and every element has a type"));
        }
        if !notes.is_empty() {
            let notes =
                notes.iter().map(|(name, value)| format!("{name}: {}", value.raw())).collect::<Vec<_>>();
            let description = schema.get("description").and_then(Value::as_str).unwrap_or_default();
            strict.set("description", format!("{description} ({})", notes.join(", ")).trim_start());
        }
        Ok(strict)
    }

    /// Writes which members an object has, and that it has no others.
    fn close(&self, schema: Value<'s>, strict: &mut Object) -> Strictly<()> {
        let is_closed = schema.get("additionalProperties").is_some();
        let properties = schema.get("properties").and_then(Value::as_object);
        if properties.is_none() && !is_closed {
            return Err(StrictError::new(
                "properties",
                "it is missing, and strict objects list their members",
            ));
        }
        if !is_closed && self.is_exact {
            return Err(StrictError::new("additionalProperties", "it is missing, and must be `false`"));
        }
        let listed = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        let listed: HashSet<_> = listed.filter_map(Value::as_str).collect();
        let has = |name: &str| properties.is_some_and(|properties| properties.get(name).is_some());
        if !listed.iter().all(|name| has(name)) {
            return Err(StrictError::new("required", "it names a member that `properties` lacks"));
        }
        let mut required: Vec<Node> = Vec::new();
        for (name, property) in properties.into_iter().flatten() {
            // The model can write a value that means the same as the member's absence.
            let can_be_required = || property.get("default").is_some() || self.facts.allows_null(property);
            if listed.contains(name) || !self.is_exact && can_be_required() {
                required.push(Node::from(name));
            } else if self.mode == Strict::OpenAi {
                let reason =
                    "members are required, and this one is optional: let it be null, or give it a default";
                return Err(StrictError::new("required", reason).under(&["properties", name]));
            }
        }
        if properties.is_none() {
            strict.set("properties", Object::new());
        }
        strict.set("required", required);
        strict.set("additionalProperties", false);
        Ok(())
    }

    /// The schemas of the members of `all`, the value of `keyword`.
    fn named(&self, keyword: &str, all: Value<'s>) -> Strictly<Object> {
        let all = all.as_object().ok_or_else(|| StrictError::new(keyword, "it is not an object"))?;
        let mut strict = Object::new();
        for (name, schema) in all {
            strict.set(name, self.schema(schema).map_err(|error| error.under(&[keyword, name]))?);
        }
        Ok(strict)
    }

    fn has_format(&self, format: &str) -> bool {
        FORMATS.contains(&format) || self.mode == Strict::Anthropic && format == "uri"
    }

    fn enforces(&self, name: &str, value: Value<'_>) -> bool {
        match self.mode {
            Strict::OpenAi if name == "pattern" => value.as_str().is_some_and(|pattern| is_plain(&pattern)),
            Strict::OpenAi => BOUNDS.contains(&name) && value.as_number().is_some(),
            Strict::Anthropic => name == "minItems" && value.raw() == "1",
        }
    }
}

fn is_annotation(name: &str) -> bool {
    ANNOTATIONS.contains(&name) || name.starts_with("x-")
}

/// Whether the keyword can move into the description.
fn is_rule(name: &str) -> bool {
    name == "pattern" || BOUNDS.contains(&name) || UNENFORCED.contains(&name)
}

fn is_defined_format(format: &str) -> bool {
    FORMATS.contains(&format) || OTHER_FORMATS.contains(&format)
}

fn has_no_effect(name: &str, value: Value<'_>) -> bool {
    let is_zero = value.raw() == "0" && ["minItems", "minLength", "minProperties"].contains(&name);
    is_zero || name == "uniqueItems" && value.as_bool() == Some(false)
}

/// Whether a pattern has only what all engines for constrained decoding support: no assertions but `^` and `$`, and no
/// references to groups.
fn is_plain(pattern: &str) -> bool {
    let mut rest = pattern;
    while let Some(at) = rest.find(['\\', '(']) {
        let is_special = match rest.as_bytes()[at] {
            b'(' => rest[at..].starts_with("(?") && !rest[at..].starts_with("(?:"),
            _ => rest[at + 1..].starts_with(|c: char| "bBkpP".contains(c) || ('1'..='9').contains(&c)),
        };
        if is_special {
            return false;
        }
        // Skips an escaped backslash or bracket.
        let escaped = rest[at..].chars().take(if rest.as_bytes()[at] == b'\\' { 2 } else { 1 });
        rest = &rest[at + escaped.map(char::len_utf8).sum::<usize>()..];
    }
    true
}

fn description(schema: Value<'_>) -> Option<Value<'_>> {
    schema.get("description").filter(|description| description.as_str().is_some())
}

fn verbatim(value: Value<'_>) -> Node {
    Node::Text(value.to_single_line().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strict(mode: Strict, schema: &str) -> Option<String> {
        mode.of(&Raw::new(schema).unwrap()).ok().map(|schema| schema.to_string())
    }

    #[test]
    fn every_member_is_required_in_its_order() {
        let schema = r##"{"$schema":"x","title":"T","type":"object","properties":{
            "z":{"type":["integer","null"],"format":"uint8","minimum":0,"maximum":255},
            "a":{"description":"Names","type":"array","items":{"$ref":"#/$defs/N","description":"one"},"default":[]},
            "kind":{"oneOf":[{"const":"x","type":"string"},{"type":"null"}]}},
            "$defs":{"N":{"type":"object","properties":{"at":{"type":"string","format":"date","minLength":1}},"required":["at"]}}}"##;
        let expected = r##"{"type":"object","properties":{"z":{"type":["integer","null"],"minimum":0,"maximum":255,"description":"(format: \"uint8\")"},"a":{"description":"Names","type":"array","items":{"$ref":"#/$defs/N"}},"kind":{"anyOf":[{"enum":["x"],"type":"string"},{"type":"null"}]}},"$defs":{"N":{"type":"object","properties":{"at":{"type":"string","format":"date","description":"(minLength: 1)"}},"required":["at"],"additionalProperties":false}},"required":["z","a","kind"],"additionalProperties":false}"##;
        assert_eq!(strict(Strict::OpenAi, schema).unwrap(), expected);
        let without = strict(Strict::Anthropic, schema).unwrap();
        assert!(
            without.contains(r#""description":"(format: \"uint8\", minimum: 0, maximum: 255)""#),
            "{without}"
        );
        // A strict schema stays unchanged.
        assert_eq!(strict(Strict::OpenAi, expected).unwrap(), expected);
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
            assert_eq!(strict(Strict::OpenAi, schema), None, "{schema}");
        }
    }
}
