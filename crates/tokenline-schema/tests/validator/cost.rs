//! Schemas whose references and combinators multiply: rejected, or validated quickly.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokenline_core::Validate;
use tokenline_core::json::Parser;
use tokenline_schema::{SchemaErrorKind, SchemaOptions, SchemaValidator, ToolSet};

/// Far longer than any of these takes, far shorter than following all paths would.
const SOON: Duration = Duration::from_secs(5);

/// `$defs`, each made from a reference to the next.
fn chain(length: usize, link: impl Fn(Value) -> Value, last: Value) -> Value {
    let reference = |at: usize| json!({"$ref": format!("#/$defs/n{at}")});
    let mut defs: serde_json::Map<_, _> =
        (0..length).map(|at| (format!("n{at}"), link(reference(at + 1)))).collect();
    defs.insert(format!("n{length}"), last);
    json!({"$ref": "#/$defs/n0", "$defs": defs})
}

type Link = fn(Value) -> Value;

/// The ways in which a schema can lead to two references.
fn links() -> Vec<(&'static str, Link)> {
    vec![
        ("anyOf", |next| json!({"anyOf": [next, next]})),
        ("oneOf", |next| json!({"oneOf": [next, next]})),
        ("allOf", |next| json!({"allOf": [next, next]})),
        ("if", |next| json!({"if": next, "then": next, "else": next})),
        ("not", |next| json!({"not": {"allOf": [next, {"not": next}]}})),
        ("dependentSchemas", |next| json!({"dependentSchemas": {"a": next, "b": next}})),
        ("dependencies", |next| json!({"dependencies": {"a": next, "b": next}})),
        ("$ref", |next| json!({"$ref": next["$ref"], "anyOf": [next]})),
        ("unevaluatedProperties", |next| json!({"allOf": [next, next], "unevaluatedProperties": false})),
        (
            "properties",
            |next| json!({"anyOf": [{"properties": {"a": next}}, {"properties": {"a": next}}, {"properties": {"a": next}}]}),
        ),
        ("patternProperties", |next| json!({"properties": {"a": next}, "patternProperties": {"a": next}})),
        ("items", |next| json!({"items": next, "contains": next})),
        ("prefixItems", |next| json!({"allOf": [{"prefixItems": [next]}, {"prefixItems": [next]}]})),
    ]
}

#[track_caller]
fn rejected(schema: &Value, what: &str) -> tokenline_schema::SchemaError {
    let start = Instant::now();
    let error = SchemaValidator::new(schema).expect_err(what);
    assert_eq!(error.kind(), SchemaErrorKind::Cost, "{what}: {error}");
    assert!(start.elapsed() < SOON, "{what}: {:?}", start.elapsed());
    error
}

#[test]
fn multiplying_schemas_are_rejected_at_once() {
    for (what, link) in links() {
        let error = rejected(&chain(30, link, json!({"type": "integer"})), what);
        assert!(error.to_string().contains("references and combinators multiply"), "{what}: {error}");
    }
    let error = rejected(&chain(30, links()[0].1, json!(true)), "anyOf");
    assert_eq!(
        error.to_string(),
        "/$defs/n19: references and combinators multiply: one value could be validated on 8189 paths, more than 4096; \
         refer to a subschema once, not from several alternatives"
    );
    // Far more paths than can be counted.
    rejected(&chain(20_000, links()[0].1, json!(true)), "a long chain");
}

#[test]
fn all_kinds_of_references_multiply() {
    let multiply = |reference: &dyn Fn(usize) -> Value, definition: &dyn Fn(usize, Value) -> Value| {
        let next = |at: usize| json!({"anyOf": [reference(at + 1), reference(at + 1)]});
        let defs: serde_json::Map<_, _> = (0..=30)
            .map(|at| (format!("n{at}"), definition(at, if at < 30 { next(at) } else { json!({}) })))
            .collect();
        let mut schema = reference(0);
        schema["$defs"] = defs.into();
        schema["$id"] = "https://example.com/".into();
        schema
    };
    let with = |keyword: &str, name: String, mut schema: Value| {
        schema[keyword] = name.into();
        schema
    };
    let name = |at: usize| format!("n{at}");
    let anchors =
        multiply(&|at| json!({"$ref": format!("#n{at}")}), &|at, schema| with("$anchor", name(at), schema));
    rejected(&anchors, "anchors");
    let ids = multiply(&|at| json!({"$ref": format!("n{at}")}), &|at, schema| with("$id", name(at), schema));
    rejected(&ids, "identifiers");
    let uris =
        multiply(&|at| json!({"$ref": format!("https://example.com/#/$defs/n{at}")}), &|_, schema| schema);
    rejected(&uris, "URIs");
    let dynamic = multiply(&|at| json!({"$dynamicRef": format!("#n{at}")}), &|at, schema| {
        with("$dynamicAnchor", name(at), schema)
    });
    rejected(&dynamic, "dynamic references");
}

#[test]
fn accepted_schemas_validate_quickly() {
    for (what, link) in links() {
        for last in [json!({"type": "string"}), json!({"not": {"type": "string"}})] {
            // As long as allowed.
            let (validator, length) = (1..30)
                .rev()
                .find_map(|length| {
                    Some((SchemaValidator::new(&chain(length, link, last.clone())).ok()?, length))
                })
                .expect("a short one passes");
            assert!(length >= 6, "{what}: {length}");
            let mut parser = Parser::new();
            let nested = [["[", "]"], ["{\"a\":", "}"]]
                .map(|[open, close]| open.repeat(length) + "1" + &close.repeat(length));
            for text in ["1", r#"{"a":1,"b":2}"#, &nested[0], &nested[1]] {
                let value = parser.parse(text).unwrap();
                let start = Instant::now();
                assert_eq!(validator.validate(value).is_ok(), validator.is_valid(value));
                assert!(validator.violations(value, 100).len() <= 100);
                assert!(start.elapsed() < 2 * SOON, "{what} {length} {text}: {:?}", start.elapsed());
            }
        }
    }
}

#[test]
fn schemas_that_do_not_multiply_pass() {
    // Many alternatives, and many references to one.
    let constants: Vec<_> = (0..20_000).map(|at| json!({"const": at})).collect();
    let codes = json!({"$ref": "#/$defs/code"});
    let long = json!({"anyOf": [codes, {"items": codes}], "$defs": {"code": {"oneOf": constants}}});
    assert!(SchemaValidator::new(&long).is_ok());
    // Alternatives that refer to each other, further down.
    let names: Vec<_> = (0..20).map(|at| format!("n{at}")).collect();
    let expression: Vec<_> = names.iter().map(|name| json!({"$ref": format!("#/$defs/{name}")})).collect();
    let node = |name: &String| {
        let operand = json!({"$ref": "#/$defs/expression"});
        let node = json!({"properties": {"kind": {"const": name}, "left": operand, "right": operand}});
        (name.clone(), node)
    };
    let mut defs: serde_json::Map<_, _> = names.iter().map(node).collect();
    defs.insert("expression".to_owned(), json!({"oneOf": expression}));
    assert!(SchemaValidator::new(&json!({"$ref": "#/$defs/expression", "$defs": defs})).is_ok());
    // Nested structs that share no member of the record.
    let wide =
        |next: Value| json!({"properties": {"a": next, "b": next, "c": next}, "additionalProperties": false});
    assert!(SchemaValidator::new(&chain(60, wide, json!(true))).is_ok());
    // A schema that refers to itself, and to the rules of its own draft.
    let own = json!({"$ref": "https://json-schema.org/draft/2020-12/schema", "not": {"$ref": "#/not"}});
    assert!(SchemaValidator::new(&own).is_ok());
}

#[test]
fn the_limit_can_be_set() {
    let schema = chain(30, |next| json!({"allOf": [next, {"properties": {"a": next}}]}), json!(true));
    assert!(SchemaValidator::new(&schema).is_err());
    assert!(SchemaOptions::new().max_paths(1 << 40).build(&schema).is_ok());
    let short = chain(5, links()[0].1, json!(true));
    assert!(SchemaOptions::new().max_paths(0).build(&short).is_ok(), "16 for each subschema");
    let short = chain(10, links()[0].1, json!(true));
    assert!(SchemaValidator::new(&short).is_ok());
    assert!(SchemaOptions::new().max_paths(0).build(&short).is_err());
}

#[test]
fn the_error_names_the_tool() {
    let parameters = chain(30, links()[0].1, json!(true));
    let error =
        ToolSet::from_json_str(&json!([{"name": "get", "parameters": parameters}]).to_string()).unwrap_err();
    assert_eq!((error.kind(), error.tool()), (SchemaErrorKind::Cost, Some("get")), "{error}");
}
