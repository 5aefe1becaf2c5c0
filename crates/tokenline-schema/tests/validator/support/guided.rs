//! Random schemas of the keywords that plans cover.

use serde_json::{Map, Value, json};

use super::near_miss::any;
use super::random::{DRAFTS, Random, number};

pub(super) const NAMES: [&str; 12] = [
    "a",
    "b",
    "c",
    "id",
    "type",
    "kind",
    "é/~",
    "x-1",
    "",
    "\n\"q",
    "a_rather_long_name_1",
    "a_rather_long_name_2",
];
const KINDS: [&str; 4] = ["one", "two", "three", "\u{e9}"];
pub(super) const STRINGS: [&str; 9] = [
    "",
    "a",
    "ab",
    "éé",
    "\u{1F600}\u{1F600}",
    "\t\"\\/",
    "2024-02-29",
    "2024-02-29T10:00:00Z",
    "a@example.com",
];
const PATTERNS: [&str; 9] =
    ["^a", "^a$", "b", "^\\S*$", "^(a|ab)$", "\\p{L}{2}", "^.{2}$", "^x-", "^[a-z_0-9]+$"];
/// Not for the names of members: jsonschema is left alone with those where there is no plan.
const LOOK_AROUND: [&str; 4] = ["^(?!a)", "(?<=a)b", "^(?=.{2}).*@", "^(.)\\1$"];
const FORMATS: [&str; 6] = ["date", "date-time", "email", "uri", "ipv4", "unknown"];

/// Makes schemas of one draft, by its position in [`DRAFTS`].
pub(crate) struct Schemas<'r> {
    pub(crate) random: &'r mut Random,
    pub(crate) draft: usize,
}

impl Schemas<'_> {
    pub(crate) fn schema(&mut self) -> Value {
        let mut schema = match self.subschema(4) {
            Value::Object(schema) => schema,
            other => return other,
        };
        let definitions: Map<_, _> =
            ["d", "e", "f"].map(|name| (name.to_owned(), self.subschema(3))).into_iter().collect();
        schema.insert("$schema".to_owned(), DRAFTS[self.draft].into());
        schema.insert(self.definitions().to_owned(), definitions.into());
        Value::Object(schema)
    }

    fn definitions(&self) -> &'static str {
        if self.draft < 3 { "definitions" } else { "$defs" }
    }

    fn reference(&mut self) -> Value {
        // Below members, references may also lead back.
        let name = if self.random.one_in(6) {
            "#".to_owned()
        } else {
            format!("#/{}/{}", self.definitions(), self.random.pick(&["d", "e", "f"]))
        };
        json!({ "$ref": name })
    }

    fn subschema(&mut self, depth: usize) -> Value {
        match self.random.below(24) {
            0 | 1 if self.draft > 0 => self.random.one_in(3).into(),
            2..=4 => self.reference(),
            5..=7 if depth > 1 => self.union(depth - 1),
            8..=12 if depth > 0 => self.object(depth - 1),
            13 | 14 if depth > 0 => {
                let items = self.subschema(depth - 1);
                json!({"type": "array", "items": items})
            }
            _ => {
                let mut schema = Map::new();
                for _ in 0..=self.random.below(3) {
                    self.rule(&mut schema, depth);
                }
                schema.into()
            }
        }
    }

    /// An object as derived from a type.
    fn object(&mut self, depth: usize) -> Value {
        let properties = self.named(depth, 5);
        let names: Vec<_> = properties.keys().cloned().collect();
        let required: Vec<_> = names.into_iter().filter(|_| self.random.one_in(2)).collect();
        let mut object = json!({"type": "object", "properties": properties});
        if !required.is_empty() {
            object["required"] = required.into();
        }
        if self.random.one_in(3) {
            object["additionalProperties"] = self.additional(depth);
        }
        object
    }

    /// Alternatives, most of which allow certain strings for one member.
    fn union(&mut self, depth: usize) -> Value {
        let keyword = self.random.pick(&["anyOf", "oneOf"]);
        let member = self.random.pick(&["type", "kind"]);
        let count = 2 + self.random.below(3);
        let mut branches = Vec::new();
        for _ in 0..count {
            let mut branch = self.object(depth);
            if self.random.one_in(10) {
                branches.push(self.subschema(depth));
                continue;
            }
            let kind = self.random.pick(&KINDS);
            let other = self.random.pick(&KINDS);
            branch["properties"][member] = match self.random.below(5) {
                0 | 1 if self.draft > 0 => json!({ "const": kind }),
                2 if kind != other => json!({"enum": [kind, other]}),
                3 => json!({"enum": [kind, 1]}),
                _ => json!({"type": "string", "enum": [kind]}),
            };
            if !self.random.one_in(4) {
                let required = branch["required"].as_array().cloned().unwrap_or_default();
                let mut required: Vec<_> = required.into_iter().filter(|name| *name != member).collect();
                required.push(member.into());
                branch["required"] = required.into();
            }
            if self.random.one_in(5) {
                let other = self.subschema(depth);
                branch = json!({"allOf": [branch, other]});
            }
            branches.push(branch);
        }
        json!({ keyword: branches })
    }

    fn additional(&mut self, depth: usize) -> Value {
        if self.random.one_in(2) { false.into() } else { self.subschema(depth) }
    }

    fn named(&mut self, depth: usize, most: usize) -> Map<String, Value> {
        let count = self.random.below(most + 1);
        (0..count).map(|_| (self.random.pick(&NAMES).to_owned(), self.subschema(depth))).collect()
    }

    fn list(&mut self, depth: usize) -> Value {
        let count = 1 + self.random.below(3);
        (0..count).map(|_| self.subschema(depth)).collect()
    }

    fn rule(&mut self, schema: &mut Map<String, Value>, depth: usize) {
        let leaf = depth == 0;
        let below = depth.saturating_sub(1);
        let (keyword, value) = match self.random.below(if leaf { 17 } else { 40 }) {
            0..=2 => (
                "type",
                self.random
                    .pick(&["null", "boolean", "integer", "number", "string", "array", "object"])
                    .into(),
            ),
            3 => (
                "type",
                json!([
                    self.random.pick(&["null", "integer", "boolean"]),
                    self.random.pick(&["string", "number", "object"])
                ]),
            ),
            4 if self.draft > 0 => ("const", self.value()),
            4 | 5 => ("enum", json!([self.value(), format!("{}!", self.random.below(1000)), self.value()])),
            6 => (
                "enum",
                (0..2 + self.random.below(12))
                    .map(|at| format!("{}{at}", if at < 3 { "" } else { "longer than sixteen bytes " }))
                    .collect(),
            ),
            7 => ("minLength", self.random.below(3).into()),
            8 => ("maxLength", self.random.below(4).into()),
            9 if self.random.one_in(3) => ("pattern", self.random.pick(&LOOK_AROUND).into()),
            9 => ("pattern", self.random.pick(&PATTERNS).into()),
            10 => ("minimum", number(self.random)),
            11 => ("maximum", number(self.random)),
            12 if self.draft > 0 => ("exclusiveMinimum", number(self.random)),
            13 if self.draft > 0 => ("exclusiveMaximum", number(self.random)),
            12 | 13 => {
                schema.insert("maximum".to_owned(), number(self.random));
                ("exclusiveMaximum", self.random.one_in(2).into())
            }
            14 => (
                "multipleOf",
                self.random
                    .pick(&[json!(1), json!(2), json!(0.5), json!(0.01), json!(3), json!(1e10)].each_ref())
                    .clone(),
            ),
            15 => ("format", self.random.pick(&FORMATS).into()),
            16 => ("uniqueItems", true.into()),
            17 => {
                // Far more than one word of a set.
                let count = if self.random.one_in(8) { 80 } else { 2 };
                let mut names: Vec<_> = (2..count).map(|at| format!("m{at}")).collect();
                names.extend([
                    NAMES[self.random.below(6)].to_owned(),
                    NAMES[6 + self.random.below(6)].to_owned(),
                ]);
                ("required", names.into())
            }
            18..=20 => ("properties", self.named(below, 4).into()),
            21 | 22 => ("additionalProperties", self.additional(below)),
            23 => {
                let pattern = self.random.pick(&PATTERNS);
                let subschema = self.subschema(below);
                ("patternProperties", json!({ pattern: subschema }))
            }
            24 if self.draft > 0 => ("propertyNames", self.subschema(below)),
            24 => ("minProperties", self.random.below(3).into()),
            25 => (self.random.pick(&["minProperties", "maxProperties"]), self.random.below(4).into()),
            26 => (self.random.pick(&["minItems", "maxItems"]), self.random.below(4).into()),
            27 if self.draft < 4 => ("items", self.list(below)),
            27 => ("prefixItems", self.list(below)),
            28 => ("items", self.subschema(below)),
            29 if self.draft > 0 => {
                if self.random.one_in(2) {
                    schema.insert(
                        self.random.pick(&["minContains", "maxContains"]).to_owned(),
                        self.random.below(3).into(),
                    );
                }
                ("contains", self.subschema(below))
            }
            29 | 30 => ("allOf", self.list(below)),
            31 | 32 => ("anyOf", self.list(below)),
            33 => ("oneOf", self.list(below)),
            34 => ("not", self.subschema(below)),
            35 => {
                for keyword in ["then", "else"] {
                    if self.random.one_in(2) {
                        let branch = self.subschema(below);
                        schema.insert(keyword.to_owned(), branch);
                    }
                }
                ("if", self.subschema(below))
            }
            36 if self.draft >= 3 && self.random.one_in(2) => {
                ("dependentSchemas", self.named(below, 2).into())
            }
            36 if self.draft >= 3 => {
                let (name, other) = (self.random.pick(&NAMES), self.random.pick(&NAMES));
                ("dependentRequired", json!({ name: [other] }))
            }
            36 => {
                let (name, other, subschema) =
                    (self.random.pick(&NAMES), self.random.pick(&NAMES), self.subschema(below));
                ("dependencies", json!({ name: [other], "b": subschema }))
            }
            37 => ("additionalItems", self.subschema(below)),
            _ => {
                let Value::Object(reference) = self.reference() else { return };
                schema.extend(reference);
                return;
            }
        };
        schema.insert(keyword.to_owned(), value);
    }

    fn value(&mut self) -> Value {
        serde_json::from_str(&any(self.random, 1)).unwrap()
    }
}
