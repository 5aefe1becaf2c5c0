//! Verdicts over the tape equal jsonschema's over `serde_json::Value`.

use crate::extent::cases;
use crate::support::random::{DRAFTS, Random, instance, is_unclear_in_draft_4, schema};
use crate::support::supported;
use jsonschema::PatternOptions;
use serde_json::{Value, json};
use tokenline_core::json::Parser;
use tokenline_core::{Code, Validate};
use tokenline_schema::{SchemaErrorKind, SchemaOptions, SchemaValidator};

fn options() -> jsonschema::ValidationOptions<'static> {
    jsonschema::options()
        .offline()
        .with_pattern_options(PatternOptions::regex())
        .should_validate_formats(true)
}

fn reference(schema: &Value) -> Result<jsonschema::Validator, String> {
    options().build(schema).map_err(|error| error.to_string())
}

#[test]
fn equal_jsonschemas_for_random_schemas() {
    let mut random = Random(7);
    let mut parser = Parser::new();
    let (mut valid, mut invalid, mut plain) = (0, 0, 0);
    let values: usize = cases(20_000);
    for round in 0..values.div_ceil(20) {
        let schema = schema(&mut random, round % DRAFTS.len());
        let Ok(reference) = reference(&schema) else {
            SchemaValidator::new(&schema).expect_err("both refuse the schema");
            continue;
        };
        let Some(validator) = supported(&schema, &[]).map(|it| it.show_names(true)) else {
            let texts = (0..20).map(|_| instance(&mut random, 3));
            let fits = |text: &String| reference.is_valid(&serde_json::from_str(text).unwrap());
            let is_clear = |text: &String| round % DRAFTS.len() > 0 || !is_unclear_in_draft_4(text);
            supported(&schema, &texts.filter(is_clear).filter(fits).collect::<Vec<_>>());
            continue;
        };
        for _ in 0..20 {
            let text = instance(&mut random, 3);
            if round % DRAFTS.len() == 0 && is_unclear_in_draft_4(&text) {
                continue;
            }
            let expected = reference.is_valid(&serde_json::from_str(&text).unwrap());
            // One parser for all: a repeated identity would bring back an old verdict.
            let value = parser.parse(&text).unwrap();
            assert_eq!(validator.is_valid(value), expected, "{text} against {schema}");
            let Err(violation) = validator.validate(value) else {
                assert!(expected, "{text} against {schema}");
                valid += 1;
                continue;
            };
            invalid += 1;
            plain += usize::from(violation.message == "does not match the schema");
            assert!(
                !expected && violation.code == Code::SchemaViolation,
                "{text} against {schema}: {violation}"
            );
            let place = value.pointer(&violation.instance_path);
            assert_eq!(
                place.map(|place| place.range().start),
                Some(violation.offset),
                "{text} against {schema}: {violation}"
            );
            assert!(
                schema.pointer(&violation.schema_path).is_some(),
                "{text} against {schema}: {violation:?}"
            );
        }
    }
    assert!(valid * 16 > values * 3 && invalid * 16 > values * 3, "{valid} valid, {invalid} invalid");
    assert!(plain * 1000 < invalid, "{plain} of {invalid} without a reason");
}

/// A reported rule is broken where it is reported, also when it is validated alone.
#[test]
fn reported_rules_are_broken() {
    let mut random = Random(8);
    let mut parser = Parser::new();
    let mut checked = 0;
    let values: usize = cases(4_000);
    for round in 0..values.div_ceil(10) {
        let schema = schema(&mut random, round % DRAFTS.len());
        let Ok(validator) = SchemaValidator::new(&schema).map(|it| it.show_names(true)) else { continue };
        let parts = options().build_map(&schema).unwrap();
        for _ in 0..10 {
            let text = instance(&mut random, 3);
            if round % DRAFTS.len() == 0 && is_unclear_in_draft_4(&text) {
                continue;
            }
            let value = parser.parse(&text).unwrap();
            let Err(violation) = validator.validate(value) else { continue };
            // This one validates names, which are not values of the instance.
            if violation.schema_path.ends_with("/propertyNames") {
                continue;
            }
            let whole = serde_json::from_str::<Value>(&text).unwrap();
            let part = whole.pointer(&violation.instance_path).unwrap();
            let breaks =
                |path: &str| parts.get(&format!("#{path}")).is_some_and(|schema| !schema.is_valid(part));
            // The path leads to a rule of a schema, or to a schema.
            let parent = violation.schema_path.rsplit_once('/').map_or("", |(parent, _)| parent);
            assert!(
                breaks(&violation.schema_path) || breaks(parent),
                "{text} against {schema}: {violation:?}"
            );
            checked += 1;
        }
    }
    let least = if cfg!(feature = "jsonschema") { 3 } else { 5 };
    assert!(checked * least > values, "{checked} of {values}");
}

#[test]
fn drafts_differ() {
    let cases: [(Value, &str, [bool; 5]); 13] = [
        (json!({"type": "integer"}), "1", [true; 5]),
        (json!({"type": "integer"}), "1.0", [false, true, true, true, true]),
        (json!({"type": "integer"}), "1e2", [false, true, true, true, true]),
        (json!({"type": "integer"}), "-0", [true; 5]),
        (json!({"type": "integer"}), "1e19", [false, true, true, true, true]),
        (json!({"type": "integer"}), "123456789012345678901234567890", [true; 5]),
        (json!({"const": 1}), "2", [true, false, false, false, false]),
        (json!({"if": {"const": 1}, "then": false}), "1", [true, true, false, false, false]),
        (json!({"dependentRequired": {"a": ["b"]}}), r#"{"a":1}"#, [true, true, true, false, false]),
        (json!({"prefixItems": [{"type": "string"}]}), "[1]", [true, true, true, true, false]),
        (
            json!({"definitions": {"x": {}}, "$ref": "#/definitions/x", "type": "string"}),
            "1",
            [true, true, true, false, false],
        ),
        (json!({"format": "date"}), r#""2024-02-30""#, [false; 5]),
        (json!({"format": "email"}), r#""nobody""#, [false; 5]),
    ];
    let mut parser = Parser::new();
    for (schema, text, expected) in cases {
        for (dialect, expected) in DRAFTS.iter().zip(expected) {
            let mut schema = schema.clone();
            schema["$schema"] = (*dialect).into();
            let Some(validator) = supported(&schema, &[]) else { continue };
            assert_eq!(validator.is_valid(parser.parse(text).unwrap()), expected, "{text} against {schema}");
        }
    }
    let four =
        |rule: &str| SchemaValidator::new(&json!({"$schema": DRAFTS[0], "minimum": 1, rule: true})).unwrap();
    assert!(four("other").is_valid(parser.parse("1").unwrap()));
    assert!(!four("exclusiveMinimum").is_valid(parser.parse("1").unwrap()));
    let violation = four("exclusiveMinimum").validate(parser.parse("1").unwrap()).unwrap_err();
    assert_eq!(violation.message, "not more than the exclusiveMinimum 1");
}

#[test]
fn formats_can_be_turned_off() {
    let schema = json!({"$schema": DRAFTS[2], "format": "date", "minLength": 3});
    let validator = SchemaOptions::new().assert_formats(false).build(&schema).unwrap();
    let mut parser = Parser::new();
    assert!(validator.is_valid(parser.parse(r#""today""#).unwrap()));
    assert!(!SchemaValidator::new(&schema).unwrap().is_valid(parser.parse(r#""today""#).unwrap()));
    let violation = validator.validate(parser.parse(r#""no""#).unwrap()).unwrap_err();
    assert_eq!(violation.schema_path, "/minLength");
}

#[test]
fn duplicate_keys_are_rejected_first() {
    let schema = json!({"properties": {"a": {"type": "string"}}, "maxProperties": 1});
    let validator = SchemaValidator::new(&schema).unwrap().show_names(true);
    let lenient = SchemaOptions::new().allow_duplicate_keys(true).build(&schema).unwrap();
    let mut parser = Parser::new();
    for (text, last_fits) in [(r#"{"a":1,"\u0061":"x"}"#, true), (r#"{"a":"x","a":1}"#, false)] {
        let value = parser.parse(text).unwrap();
        let violation = validator.validate(value).unwrap_err();
        assert_eq!((violation.code, violation.instance_path.as_str()), (Code::DuplicateKey, "/a"), "{text}");
        assert_eq!(&text[violation.offset..][..1], "\"");
        assert!(!validator.is_valid(value));
        // If they may pass, the last one is validated.
        assert_eq!(lenient.is_valid(value), last_fits, "{text}");
        assert_eq!(lenient.validate(value).is_ok(), last_fits, "{text}");
    }
    // Also deep inside a value that no rule examines.
    let value = parser.parse(r#"{"b":[{"c":{"d":1,"e":2,"d":3}}]}"#).unwrap();
    assert_eq!(validator.validate(value).unwrap_err().instance_path, "/b/0/c/d");
}

/// An identity belongs to one record only: verdicts remembered for a recursive schema must not be reused for
/// the next record on the same tape.
#[test]
fn verdicts_do_not_leak_from_record_to_record() {
    let schema = json!({
        "$ref": "#/$defs/tree",
        "$defs": {"tree": {"anyOf": [
            {"type": "object", "properties": {"l": {"$ref": "#/$defs/tree"}, "r": {"$ref": "#/$defs/tree"}}, "required": ["l", "r"]},
            {"type": "object", "properties": {"v": {"type": "integer"}}, "required": ["v"]},
        ]}},
    });
    let validator = SchemaValidator::new(&schema).unwrap();
    let reference = reference(&schema).unwrap();
    let mut random = Random(9);
    let mut parser = Parser::new();
    let mut invalid = 0;
    for _ in 0..3000 {
        let text = tree(&mut random, 6);
        let expected = reference.is_valid(&serde_json::from_str(&text).unwrap());
        assert_eq!(validator.validate(parser.parse(&text).unwrap()).is_ok(), expected, "{text}");
        assert_eq!(validator.is_valid(Parser::new().parse(&text).unwrap()), expected, "{text}");
        invalid += usize::from(!expected);
    }
    assert!((500..2500).contains(&invalid), "{invalid}");
}

fn tree(random: &mut Random, depth: usize) -> String {
    if depth == 0 || random.one_in(4) {
        return if random.one_in(24) { r#"{"v":"x"}"#.to_owned() } else { r#"{"v":1}"#.to_owned() };
    }
    format!(r#"{{"l":{},"r":{}}}"#, tree(random, depth - 1), tree(random, depth - 1))
}

#[test]
fn nothing_outside_is_read() {
    for reference in ["https://example.com/a.json", "file:///etc/passwd", "other.json#/x"] {
        let error = SchemaValidator::new(&json!({"items": {"$ref": reference}})).unwrap_err();
        assert_eq!((error.kind(), error.path()), (SchemaErrorKind::Reference, "/items/$ref"), "{error}");
    }
}

#[test]
fn validators_are_shared_between_threads() {
    let validator = SchemaValidator::new(&json!({"items": {"type": "integer"}})).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let validator = validator.clone();
            scope.spawn(move || {
                let mut parser = Parser::new();
                for _ in 0..500 {
                    assert!(validator.validate(parser.parse("[1]").unwrap()).is_ok());
                    let violation = validator.validate(parser.parse("[1,true]").unwrap()).unwrap_err();
                    assert_eq!(violation.instance_path, "/1");
                }
            });
        }
    });
}
