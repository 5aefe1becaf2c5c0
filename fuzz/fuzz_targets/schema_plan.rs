//! A compiled plan gives jsonschema's verdict. The first line is a schema and the second a value, or else both are made
//! from the bytes, so that they have something to do with each other.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Number, Value, json};
use tokenline_core::Validate;
use tokenline_core::json::Parser;
use tokenline_schema::{SchemaOptions, SchemaValidator};

const DRAFTS: [&str; 5] = [
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
];
const NAMES: [&str; 6] = ["a", "b", "type", "é", "", "a name of some length"];
const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];
const TEXTS: [&str; 12] = [
    "null",
    "true",
    "0",
    "-0",
    "1",
    "1.0",
    "1.5",
    "18446744073709551616",
    "1e300",
    "\"a\"",
    "\"\\u0061b\"",
    "\"2024-02-29\"",
];

fuzz_target!(|data: &[u8]| {
    let lines = std::str::from_utf8(data).ok().and_then(|text| text.split_once('\n'));
    let written =
        lines.and_then(|(schema, value)| Some((serde_json::from_str(schema).ok()?, value.to_owned())));
    let (schema, text): (Value, String) = written.unwrap_or_else(|| {
        let mut bytes = Bytes(data);
        let draft = bytes.below(DRAFTS.len());
        let mut schema = bytes.schema(3);
        if let Value::Object(members) = &mut schema {
            members.insert("$schema".to_owned(), DRAFTS[draft].into());
            let definitions = json!({"d": bytes.schema(2), "e": bytes.schema(2)});
            members.insert("definitions".to_owned(), definitions);
        }
        let text = bytes.value(3);
        (schema, text)
    });
    let options = SchemaOptions::new().allow_duplicate_keys(true).max_paths(256);
    let Ok(validator) = options.build(&schema) else { return };
    if !validator.plan().is_compiled() {
        return;
    }
    let mut parser = Parser::new();
    let Ok(value) = parser.parse(&text) else { return };
    // Numbers beyond f64, which serde_json refuses.
    let Ok(owned) = serde_json::from_str(&text) else { return };
    let reference = jsonschema::options()
        .offline()
        .with_pattern_options(jsonschema::PatternOptions::regex())
        .should_validate_formats(true)
        .build(&schema)
        .expect("both compile it");
    if reads_as_written(&schema, &owned) {
        assert_eq!(validator.is_valid(value), reference.is_valid(&owned), "{text} against {schema}");
    }
    let strict = SchemaOptions::new().max_paths(256).build(&schema).expect("the same schema");
    validate_while_it_arrives(&strict, &text, data);
});

/// Whether serde_json keeps what decides. jsonschema compares floats with the numbers of the schema, ours the decimals that
/// are written. In draft 4 an integer is what is written as one: `-0`, a float for serde_json, is one for ours alone, and
/// `1e300` for jsonschema alone.
fn reads_as_written(schema: &Value, value: &Value) -> bool {
    let is_long = |number: &Number| {
        number.is_f64() && number.as_f64().is_some_and(|float| float.abs() >= 2_f64.powi(53))
    };
    let is_draft4 = schema.get("$schema").is_some_and(|draft| draft == DRAFTS[0]);
    let has_integers = || schema.to_string().contains("integer");
    !(has_number(value, is_long) && has_number(schema, |_| true))
        && !(is_draft4 && has_number(value, Number::is_f64) && has_integers())
}

fn has_number(value: &Value, is_such: fn(&Number) -> bool) -> bool {
    match value {
        Value::Number(number) => is_such(number),
        Value::Array(elements) => elements.iter().any(|element| has_number(element, is_such)),
        Value::Object(members) => members.values().any(|member| has_number(member, is_such)),
        _ => false,
    }
}

/// The verdict is the same while the text arrives in chunks, and never taken back.
fn validate_while_it_arrives(validator: &SchemaValidator, text: &str, sizes: &[u8]) {
    let mut parser = Parser::new();
    let expected = validator.validate(parser.parse(text).expect("it was parsed"));
    parser.reset();
    let mut open = validator.open().expect("a plan");
    let (mut end, mut is_invalid) = (0, false);
    let mut sizes = sizes.iter().rev().cycle();
    while end < text.len() {
        end += 1 + usize::from(*sizes.next().unwrap_or(&0) % 16);
        end = (end..).find(|at| text.is_char_boundary((*at).min(text.len()))).unwrap_or(end).min(text.len());
        let _ = parser.resume(&text[..end]);
        let Some(snapshot) = parser.snapshot(&text[..end]) else { continue };
        let is_now_invalid = open.advance(snapshot).is_err();
        assert!(is_now_invalid || !is_invalid, "taken back: {text} against {}", validator.schema());
        is_invalid = is_now_invalid;
    }
    let _ = parser.finish(text);
    let verdict = open.finish(parser.value(text));
    assert_eq!(verdict, expected, "{text} against {}", validator.schema());
    assert!(verdict.is_err() || !is_invalid, "{text} against {}", validator.schema());
}

/// Bytes as choices; zeros at the end.
struct Bytes<'d>(&'d [u8]);

impl Bytes<'_> {
    fn below(&mut self, limit: usize) -> usize {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first as usize % limit
    }

    fn pick<'t>(&mut self, from: &[&'t str]) -> &'t str {
        from[self.below(from.len())]
    }

    fn number(&mut self) -> Value {
        serde_json::from_str(TEXTS[2 + self.below(7)]).expect("a number")
    }

    fn schemas(&mut self, depth: usize) -> Value {
        (0..=self.below(3)).map(|_| self.schema(depth)).collect()
    }

    fn named(&mut self, depth: usize) -> Value {
        (0..self.below(4))
            .map(|_| (self.pick(&NAMES).to_owned(), self.schema(depth)))
            .collect::<Map<_, _>>()
            .into()
    }

    fn schema(&mut self, depth: usize) -> Value {
        let mut schema = Map::new();
        for _ in 0..self.below(4) {
            let below = depth.saturating_sub(1);
            let (keyword, value) = match self.below(if depth == 0 { 14 } else { 30 }) {
                0 | 1 => ("type", self.pick(&TYPES).into()),
                2 => ("type", json!([TYPES[self.below(3)], TYPES[3 + self.below(4)]])),
                3 => ("const", serde_json::from_str(&self.value(1)).expect("JSON")),
                4 => (
                    "enum",
                    json!([
                        self.pick(&NAMES),
                        format!("{} {}", self.below(9), self.pick(&NAMES)),
                        self.number()
                    ]),
                ),
                5 => (
                    self.pick(&[
                        "minLength",
                        "maxLength",
                        "minItems",
                        "maxItems",
                        "minProperties",
                        "maxProperties",
                    ]),
                    self.below(4).into(),
                ),
                6 => ("pattern", self.pick(&["^a", "b$", "^(a|ab)$", "^\\S*$", "^.{1,2}$", "\\d"]).into()),
                7 => (
                    self.pick(&["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]),
                    self.number(),
                ),
                8 => ("multipleOf", [json!(1), json!(2), json!(0.5), json!(1e10)][self.below(4)].clone()),
                9 => ("format", self.pick(&["date", "email", "uri", "ipv4"]).into()),
                10 => ("required", json!([NAMES[self.below(3)], NAMES[3 + self.below(3)]])),
                11 => ("uniqueItems", true.into()),
                12 => ("$ref", self.pick(&["#", "#/definitions/d", "#/definitions/e"]).into()),
                13 => ("additionalProperties", false.into()),
                14..=17 => ("properties", self.named(below)),
                18 => (
                    self.pick(&[
                        "additionalProperties",
                        "propertyNames",
                        "contains",
                        "not",
                        "additionalItems",
                    ]),
                    self.schema(below),
                ),
                19 => ("patternProperties", json!({ self.pick(&["^a", "", "e$"]): self.schema(below) })),
                20 | 21 => ("items", self.schema(below)),
                22 => (self.pick(&["items", "prefixItems"]), self.schemas(below)),
                23..=25 => (self.pick(&["allOf", "anyOf", "oneOf"]), self.schemas(below)),
                26 => {
                    let kinds: Vec<_> =
                        (0..2 + self.below(3)).map(|_| (self.pick(&NAMES), self.schema(below))).collect();
                    let branch = |(kind, schema)| json!({"properties": {"type": {"enum": [kind]}, "a": schema}, "required": ["type"]});
                    (self.pick(&["anyOf", "oneOf"]), kinds.into_iter().map(branch).collect())
                }
                27 => {
                    schema.insert(self.pick(&["then", "else"]).to_owned(), self.schema(below));
                    ("if", self.schema(below))
                }
                28 => (self.pick(&["dependencies", "dependentSchemas"]), self.named(below)),
                _ => (self.pick(&["minContains", "maxContains"]), self.below(3).into()),
            };
            schema.insert(keyword.to_owned(), value);
        }
        schema.into()
    }

    fn value(&mut self, depth: usize) -> String {
        match self.below(if depth == 0 { 2 } else { 5 }) {
            0 | 1 => self.pick(&TEXTS).to_owned(),
            2 => {
                let elements: Vec<_> = (0..self.below(5)).map(|_| self.value(depth - 1)).collect();
                format!("[{}]", elements.join(","))
            }
            // Names may be repeated.
            _ => {
                let members: Vec<_> = (0..self.below(5))
                    .map(|_| format!("\"{}\":{}", self.pick(&NAMES), self.value(depth - 1)))
                    .collect();
                format!("{{{}}}", members.join(","))
            }
        }
    }
}
