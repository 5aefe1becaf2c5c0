//! Schemas and records designed to cost time or memory, or to leak values.

use std::time::{Duration, Instant};

use crate::extent::cases;
use crate::support::random::{Random, instance, schema};
use crate::support::report;
use serde_json::{Value, json};
use tokenline_core::Validate;
use tokenline_core::json::Parser;
use tokenline_schema::{SchemaErrorKind, SchemaValidator};

/// Far longer than any of these takes, far shorter than exponential work would.
const SOON: Duration = Duration::from_secs(5);

#[test]
fn recursive_alternatives_take_no_exponential_time() {
    let branch = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}, "required": ["a"]});
    for keyword in ["anyOf", "oneOf"] {
        let schema =
            json!({"$ref": "#/$defs/n", "$defs": {"n": {keyword: [branch, branch, {"type": "null"}]}}});
        let text = format!("{}1{}", r#"{"a":"#.repeat(60), "}".repeat(60));
        let start = Instant::now();
        assert_eq!(
            report(&schema, &text),
            format!(" | /$defs/n/{keyword} | matches none of the 3 alternatives")
        );
        assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    }
    // If something distinguishes the alternatives, the report leads all the way down.
    let node = |kind: &str| json!({"type": "object", "properties": {"k": {"const": kind}, "a": {"$ref": "#/$defs/n"}}, "required": ["k", "a"]});
    let schema =
        json!({"$ref": "#/$defs/n", "$defs": {"n": {"anyOf": [node("x"), node("y"), {"type": "null"}]}}});
    let text = format!("{}1{}", r#"{"k":"y","a":"#.repeat(60), "}".repeat(60));
    let start = Instant::now();
    assert!(
        report(&schema, &text)
            .ends_with("/a/a | /$defs/n/anyOf | expected type null or object, found a number")
    );
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
}

#[test]
fn many_required_members_take_little_time() {
    const COUNT: usize = 16_000;
    let names: Vec<String> = (0..COUNT).map(|at| format!("name{at}")).collect();
    let object = |without: usize| {
        let members = names.iter().enumerate().filter(|(at, _)| *at != without);
        let members: Vec<_> = members.map(|(at, name)| format!("\"{name}\":{at}")).collect();
        format!("{{{}}}", members.join(","))
    };
    let is_valid = |validator: &SchemaValidator, text: &str| {
        validator.is_valid(Parser::new().parse(text).expect("JSON"))
    };
    let start = Instant::now();
    let schema = json!({"type": "object", "required": names});
    let validator = SchemaValidator::new(&schema).unwrap();
    assert!(validator.plan().is_compiled());
    assert!(is_valid(&validator, &object(COUNT)));
    for missing in [0, 1024, 10_000, COUNT - 1] {
        assert!(!is_valid(&validator, &object(missing)));
        assert_eq!(
            report(&schema, &object(missing)),
            format!(" | /required | missing required member `name{missing}`")
        );
    }
    // Each of which has a rule of its own.
    let after: serde_json::Map<_, _> =
        (1..COUNT).map(|at| (names[at].clone(), json!([names[at - 1]]))).collect();
    let validator = SchemaValidator::new(&json!({"dependentRequired": after})).unwrap();
    assert!(validator.plan().is_compiled());
    assert!(is_valid(&validator, &object(COUNT)) && is_valid(&validator, &object(COUNT - 1)));
    assert!(!is_valid(&validator, &object(0)) && !is_valid(&validator, &object(10_000)));
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
}

#[test]
fn a_million_elements_take_little_time() {
    let schema = json!({"items": {"type": "string", "minLength": 1}});
    let bad = format!("[{}0]", "0,".repeat(1_000_000));
    let start = Instant::now();
    assert_eq!(report(&schema, &bad), "/0 | /items/type | expected type string, found a number");
    let nearly_good = format!("[{}0]", "\"a\",".repeat(1_000_000));
    assert_eq!(
        report(&schema, &nearly_good),
        "/1000000 | /items/type | expected type string, found a number"
    );
    let members: Vec<_> = (0..200_000).map(|at| format!("\"m{at}\":{}", at % 199_999)).collect();
    let schema =
        json!({"patternProperties": {"^m": {"maximum": 199_997}}, "propertyNames": {"minLength": 2}});
    let text = format!("{{{}}}", members.join(","));
    assert!(report(&schema, &text).starts_with("/m199998 | /patternProperties/^m/maximum"));
    let schema = json!({"uniqueItems": true});
    let numbers: Vec<_> = (0..300_000).map(|at| format!("[{{\"a\":{at},\"b\":0}}]")).collect();
    assert_eq!(report(&schema, &format!("[{}]", numbers.join(","))), "valid");
    assert!(start.elapsed() < 4 * SOON, "{:?}", start.elapsed());
}

#[cfg(feature = "jsonschema")]
#[test]
fn beyond_the_budget_the_report_is_short() {
    // Three hundred schemas on the path to the fault, each of which validates all of it.
    let schema = (0..300).fold(json!({"items": {"maximum": 0}}), |schema, _| json!({"allOf": [schema]}));
    let schema: Value = schema;
    let text = format!("[{}1]", "0,".repeat(200_000));
    let start = Instant::now();
    let report = report(&schema, &text);
    assert!(report.ends_with("/allOf/0 | does not match the schema"), "{report}");
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
}

#[cfg(feature = "jsonschema")]
#[test]
fn huge_unions_do_not_make_each_record_slow() {
    let properties: serde_json::Map<_, _> =
        (0..50).map(|at| (format!("p{at}"), json!({"$ref": "#/$defs/x"}))).collect();
    let branch = |at: usize| {
        let mut branch = json!({"properties": properties, "required": ["k"]});
        branch["properties"]["k"] = json!({"const": at});
        branch
    };
    let branches: Vec<_> = (0..400).map(branch).collect();
    let schema = json!({"oneOf": branches, "$defs": {"x": {"allOf": [{"enum": (0..100).collect::<Vec<_>>()}, {"$ref": "#/$defs/x"}]}}});
    let validator = SchemaValidator::new(&schema).unwrap().show_names(true);
    let mut parser = Parser::new();
    let value = parser.parse(r#"{"k":-1}"#).unwrap();
    assert!(validator.validate(value).is_err());
    let start = Instant::now();
    for _ in 0..100 {
        assert!(validator.validate(value).is_err());
    }
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
}

#[test]
fn a_long_name_with_much_below_it_takes_little_memory() {
    let below: serde_json::Map<_, _> =
        (0..20_000).map(|at| (format!("p{at}"), json!({"type": "string"}))).collect();
    let name = "x".repeat(1 << 20);
    let schema = json!({"properties": {name.as_str(): {"properties": below}}, "required": ["a"]});
    let start = Instant::now();
    let error = SchemaValidator::new(&schema).unwrap_err();
    assert_eq!(error.kind(), SchemaErrorKind::Cost);
    assert_eq!(
        error.to_string(),
        "the pointers of its parts take more than 128 MiB in total; shorten the names"
    );
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
}

#[cfg(feature = "jsonschema")]
#[test]
fn circular_references_end() {
    let schema = json!({"$ref": "#/$defs/a", "$defs": {
        "a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a", "not": {"$ref": "#/$defs/b"}},
    }});
    let start = Instant::now();
    report(&schema, r#"{"a":1}"#);
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
}

#[test]
fn messages_never_hold_the_records_values() {
    // Strings, numbers and names of the record that are in none of these schemas.
    const SECRET: &str = "s3cr3t";
    let mut random = Random(11);
    let mut parser = Parser::new();
    let mut invalid = 0;
    let values: usize = cases(3_000);
    for round in 0..values.div_ceil(4) {
        let schema = schema(&mut random, round % 5);
        let Ok(validator) = SchemaValidator::new(&schema) else { continue };
        for _ in 0..4 {
            let text = instance(&mut random, 3)
                .replace("100", "775533")
                .replace("\"a\"", "\"s3cr3t\"")
                .replace("\"ab", "\"s3cr3t");
            let value = parser.parse(&text).unwrap();
            let Err(violation) = validator.validate(value) else { continue };
            invalid += 1;
            let told = violation.message.contains(SECRET) || violation.message.contains("775533");
            assert!(!told, "{text} against {schema}: {violation:?}");
        }
    }
    assert!(invalid * 4 > values, "{invalid} of {values}");
}

#[test]
fn long_schemas_make_short_messages() {
    let long = "x".repeat(10_000);
    for schema in [
        json!({"const": long}),
        json!({"enum": vec![Value::from(long.as_str()); 1]}),
        json!({"pattern": format!("^{long}$")}),
        json!({"required": (0..1000).map(|at| format!("{long}{at}")).collect::<Vec<_>>()}),
    ] {
        for text in ["\"y\"", "{}"] {
            let report = report(&schema, text);
            assert!(report == "valid" || report.len() < 1000, "{} bytes", report.len());
        }
    }
}
