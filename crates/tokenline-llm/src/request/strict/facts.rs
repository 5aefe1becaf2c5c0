//! Facts about the values that a schema allows.

use std::collections::{HashMap, HashSet};
use std::ops::BitOr;

use tokenline_core::json::{Kind, Value};

use super::Node;

/// A set of types. Numbers are two: integers and others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Types(u8);

impl Types {
    const NULL: Self = Self(1);
    const BOOLEAN: Self = Self(2);
    const INTEGER: Self = Self(4);
    const FRACTION: Self = Self(8);
    const NUMBER: Self = Self(12);
    pub(super) const STRING: Self = Self(16);
    pub(super) const ARRAY: Self = Self(32);
    pub(super) const OBJECT: Self = Self(64);

    const NAMES: [(&str, Self); 7] = [
        ("null", Self::NULL),
        ("boolean", Self::BOOLEAN),
        ("number", Self::NUMBER),
        ("integer", Self::INTEGER),
        ("string", Self::STRING),
        ("array", Self::ARRAY),
        ("object", Self::OBJECT),
    ];

    fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(type_name, _)| *type_name == name).map(|(_, types)| *types)
    }

    /// The types that the value of the keyword `type` names, if all are known and none is repeated.
    pub(super) fn of_keyword(value: Value<'_>) -> Option<Self> {
        let Some(all) = value.as_array() else { return Self::named(&value.as_str()?) };
        let names = all.iter().map(Value::as_str).collect::<Option<Vec<_>>>()?;
        let is_repeated = |(at, name)| names[..at].contains(name);
        if names.is_empty() || names.iter().enumerate().any(is_repeated) {
            return None;
        }
        names.iter().try_fold(Self::default(), |types, name| Some(types | Self::named(name)?))
    }

    pub(super) fn of_value(value: Value<'_>) -> Self {
        match value.kind() {
            Kind::Null => Self::NULL,
            Kind::Bool => Self::BOOLEAN,
            Kind::Number => {
                let is_integer = value.raw().parse().is_ok_and(|number: f64| number.fract() == 0.0);
                if is_integer { Self::INTEGER } else { Self::FRACTION }
            }
            Kind::String => Self::STRING,
            Kind::Array => Self::ARRAY,
            Kind::Object => Self::OBJECT,
        }
    }

    /// The types that a keyword restricts, if it restricts only some.
    pub(super) fn of_rule(keyword: &str) -> Option<Self> {
        Some(match keyword {
            "pattern" | "minLength" | "maxLength" => Self::STRING,
            "multipleOf" | "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => Self::NUMBER,
            "items" | "prefixItems" | "additionalItems" | "unevaluatedItems" | "contains" | "minContains"
            | "maxContains" | "minItems" | "maxItems" | "uniqueItems" => Self::ARRAY,
            "properties"
            | "required"
            | "additionalProperties"
            | "patternProperties"
            | "propertyNames"
            | "minProperties"
            | "maxProperties"
            | "dependencies"
            | "dependentRequired"
            | "dependentSchemas"
            | "unevaluatedProperties" => Self::OBJECT,
            _ => return None,
        })
    }

    pub(super) fn overlaps(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) fn contains(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }

    /// The keyword `type`.
    pub(super) fn to_node(self) -> Node {
        let is_number = self.overlaps(Self::FRACTION);
        let is_named = |types: Self| match types {
            Self::NUMBER => is_number,
            Self::INTEGER => !is_number && self.overlaps(types),
            _ => self.overlaps(types),
        };
        let mut names: Vec<Node> = Self::NAMES
            .iter()
            .filter(|(_, types)| is_named(*types))
            .map(|(name, _)| Node::from(*name))
            .collect();
        if names.len() == 1 { names.remove(0) } else { Node::Array(names) }
    }
}

impl BitOr for Types {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The references that are followed from one schema to the next, and the alternatives and members that are compared
/// inside one another. What lies deeper counts as unknown.
const DEPTH: u8 = 16;

/// A schema, for questions about its subschemas.
pub(super) struct Facts<'s> {
    root: Value<'s>,
    /// The references in each definition, by the reference to it.
    references: HashMap<String, Vec<String>>,
}

impl<'s> Facts<'s> {
    pub(super) fn new(root: Value<'s>) -> Self {
        let mut references = HashMap::new();
        for keyword in ["$defs", "definitions"] {
            for (name, schema) in root.get(keyword).and_then(Value::as_object).into_iter().flatten() {
                let mut all = Vec::new();
                collect_references(schema, &mut all);
                references.insert(format!("#/{keyword}/{}", name.replace('~', "~0").replace('/', "~1")), all);
            }
        }
        Self { root, references }
    }

    pub(super) fn is_root(&self, schema: Value<'s>) -> bool {
        schema.identity() == self.root.identity()
    }

    /// The schema that the value of `$ref` leads to: the root or a definition.
    pub(super) fn target(&self, reference: Value<'s>) -> Option<Value<'s>> {
        let reference = reference.as_str()?;
        if reference == "#" {
            return Some(self.root);
        }
        let pointer = self.references.contains_key(&*reference).then(|| reference.strip_prefix('#'))??;
        self.root.pointer(pointer)
    }

    /// Whether the schema that the value of `$ref` leads to contains itself.
    pub(super) fn is_recursive(&self, reference: Value<'s>) -> bool {
        let Some(start) = reference.as_str() else { return false };
        let (mut seen, mut open) = (HashSet::new(), vec![&*start]);
        while let Some(next) = open.pop() {
            for inner in self.references.get(next).into_iter().flatten() {
                if *inner == start || inner == "#" {
                    return true;
                }
                if seen.insert(inner) {
                    open.push(inner);
                }
            }
        }
        start == "#"
    }

    /// The schema itself: what a reference or an `allOf` with one schema stands for. `None` if it leads to itself.
    pub(super) fn resolve(&self, mut schema: Value<'s>) -> Option<Value<'s>> {
        for _ in 0..DEPTH {
            schema = match schema.get("$ref") {
                Some(reference) => self.target(reference)?,
                None => match only(schema) {
                    Some(inner) => inner,
                    None => return Some(schema),
                },
            };
        }
        None
    }

    fn branches(&self, schema: Value<'s>) -> Option<Vec<Value<'s>>> {
        let branches = ["anyOf", "oneOf"].iter().find_map(|keyword| schema.get(keyword)?.as_array())?;
        Some(branches.iter().collect())
    }

    /// The types of a schema with alternatives or an `allOf`, whatever its own `type` is.
    pub(super) fn without_type(&self, schema: Value<'s>) -> Option<Types> {
        match self.branches(schema) {
            Some(branches) => self.types_of_all(&branches, DEPTH),
            None => self.types(only(schema)?, DEPTH),
        }
    }

    fn types_of_all(&self, branches: &[Value<'s>], depth: u8) -> Option<Types> {
        let depth = depth.checked_sub(1)?;
        let mut branches = branches.iter();
        branches.try_fold(Types::default(), |all, branch| Some(all | self.types(*branch, depth)?))
    }

    /// The types of the values that the schema allows, and perhaps others.
    fn types(&self, schema: Value<'s>, depth: u8) -> Option<Types> {
        let schema = self.resolve(schema)?;
        if let Some(branches) = self.branches(schema) {
            return self.types_of_all(&branches, depth);
        }
        match values(schema) {
            Some(values) => {
                Some(values.into_iter().fold(Types::default(), |all, value| all | Types::of_value(value)))
            }
            None => Types::of_keyword(schema.get("type")?),
        }
    }

    pub(super) fn allows_null(&self, schema: Value<'s>) -> bool {
        self.types(schema, DEPTH).is_some_and(|types| types.overlaps(Types::NULL))
    }

    /// Whether no value matches both schemas, as far as types, listed values and required members tell.
    pub(super) fn are_disjoint(&self, a: Value<'s>, b: Value<'s>) -> bool {
        self.exclude_each_other(a, b, DEPTH)
    }

    fn exclude_each_other(&self, a: Value<'s>, b: Value<'s>, depth: u8) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        let (Some(a), Some(b)) = (self.resolve(a), self.resolve(b)) else { return false };
        for (one, other) in [(a, b), (b, a)] {
            if let Some(branches) = self.branches(one) {
                return branches.into_iter().all(|branch| self.exclude_each_other(branch, other, depth));
            }
        }
        let (Some(types), Some(others)) = (self.types(a, depth), self.types(b, depth)) else { return false };
        if !types.overlaps(others) {
            return true;
        }
        if let (Some(values), Some(others)) = (values(a), values(b)) {
            return !values.iter().any(|value| others.iter().any(|other| is_same(*value, *other)));
        }
        // Two objects differ if both require a member whose values differ.
        let has_others = (Types::NULL | Types::BOOLEAN | Types::NUMBER | Types::STRING | Types::ARRAY).0
            & types.0
            & others.0;
        let members = a.get("properties").and_then(Value::as_object).into_iter().flatten();
        has_others == 0
            && members.into_iter().any(|(name, member)| {
                let other = b.get("properties").and_then(|all| all.get(name));
                is_required(a, name)
                    && is_required(b, name)
                    && other.is_some_and(|other| self.exclude_each_other(member, other, depth))
            })
    }
}

fn collect_references(value: Value<'_>, all: &mut Vec<String>) {
    for (name, member) in value.as_object().into_iter().flatten() {
        match member.as_str() {
            Some(reference) if name == "$ref" => all.push(reference.into_owned()),
            _ => collect_references(member, all),
        }
    }
    for element in value.as_array().into_iter().flatten() {
        collect_references(element, all);
    }
}

/// The only schema of `allOf`.
pub(super) fn only(schema: Value<'_>) -> Option<Value<'_>> {
    let mut all = schema.get("allOf")?.as_array()?.iter();
    all.next().filter(|_| all.next().is_none())
}

/// The values that `enum`, `const` and `type` allow, if they are listed.
pub(super) fn values(schema: Value<'_>) -> Option<Vec<Value<'_>>> {
    let listed = schema.get("enum").and_then(Value::as_array).map(|values| values.iter().collect::<Vec<_>>());
    let constant = schema.get("const");
    let mut values = listed.or_else(|| constant.map(|value| vec![value]))?;
    let types = schema.get("type").and_then(Types::of_keyword);
    values.retain(|value| {
        constant.is_none_or(|constant| is_same(*value, constant))
            && types.is_none_or(|types| types.overlaps(Types::of_value(*value)))
    });
    Some(values)
}

fn is_required(schema: Value<'_>, name: &str) -> bool {
    let mut required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    required.any(|entry| entry.as_str().is_some_and(|text| text == name))
}

/// Whether two scalars are equal, as JSON Schema compares them: 1 is 1.0. Containers may count as equal.
fn is_same(a: Value<'_>, b: Value<'_>) -> bool {
    match (a.kind(), b.kind()) {
        (Kind::String, Kind::String) => a.as_str() == b.as_str(),
        (Kind::Number, Kind::Number) => {
            let parsed = |value: Value<'_>| value.raw().parse::<i128>().ok();
            match (parsed(a), parsed(b)) {
                (Some(a), Some(b)) => a == b,
                _ => a.raw().parse::<f64>().ok() == b.raw().parse::<f64>().ok(),
            }
        }
        (Kind::Array, Kind::Array) | (Kind::Object, Kind::Object) => true,
        _ => a.kind() == b.kind() && a.raw() == b.raw(),
    }
}
