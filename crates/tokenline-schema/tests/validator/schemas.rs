//! Unusable schemas, and their errors.

use serde_json::{Value, json};
use tokenline_schema::{SchemaError, SchemaErrorKind, SchemaValidator};

fn error_of(schema: &Value) -> SchemaError {
    SchemaValidator::new(schema).expect_err("refused")
}

#[test]
fn the_place_and_the_reason_in_one_line() {
    use SchemaErrorKind::{Draft, Invalid, Pattern, Reference};
    let types = r#""array", "boolean", "integer", "null", "number", "object", "string""#;
    let too_large = "the pattern takes more than 1024 KiB; shorten it, above all its repetitions";
    let malformed = "the pattern is malformed";
    let unsupported =
        r"the pattern has something that is not supported: write `[^]` as `[\s\S]`, a literal `{` as `\{`";
    let cases = [
        (
            json!({"properties": {"a": {"type": "strin"}}}),
            Invalid,
            format!(r#"/properties/a/type: "strin" is not one of {types}"#),
        ),
        (
            json!({"properties": {"a": {"type": ["string", "nul"]}}}),
            Invalid,
            format!(r#"/properties/a/type/1: "nul" is not one of {types}"#),
        ),
        (json!({"type": 5}), Invalid, format!("/type: 5 is not one of {types}")),
        (json!({"minLength": "x"}), Invalid, r#"/minLength: "x" is not of type "integer""#.to_owned()),
        (
            json!({"items": {"minItems": -1}}),
            Invalid,
            "/items/minItems: -1 is less than the minimum of 0".to_owned(),
        ),
        (json!({"required": "a"}), Invalid, r#"/required: "a" is not of type "array""#.to_owned()),
        (
            json!({"properties": {"a": 5}}),
            Invalid,
            r#"/properties/a: 5 is not of types "boolean", "object""#.to_owned(),
        ),
        (json!("x"), Invalid, r#""x" is not of types "boolean", "object""#.to_owned()),
        (
            json!({"items": {"$ref": "https://example.com/a"}}),
            Reference,
            r#"/items/$ref: refers to "https://example.com/a", but nothing outside the schema is read"#
                .to_owned(),
        ),
        (
            json!({"items": {"$ref": "#/$defs/x%20y"}}),
            Reference,
            r##"/items/$ref: refers to "/$defs/x%20y", which does not exist"##.to_owned(),
        ),
        (
            json!({"items": {"$ref": "#x"}}),
            Reference,
            r#"/items/$ref: refers to the anchor "x", which does not exist"#.to_owned(),
        ),
        (json!({"pattern": "((a{99}){99}){99}"}), Pattern, format!("/pattern: {too_large}")),
        (json!({"pattern": "a[^]"}), Pattern, format!("/pattern: {unsupported}")),
        (json!({"pattern": "\\p{L}a{,2}"}), Pattern, format!("/pattern: {unsupported}")),
        (json!({"pattern": "(?!b)[^]*c"}), Pattern, format!("/pattern: {unsupported}")),
        (json!({"pattern": "a(b{,2}"}), Pattern, format!("/pattern: {malformed}")),
        (json!({"pattern": "[a"}), Pattern, format!("/pattern: {malformed}")),
        (
            json!({"properties": {"a": {"pattern": "(?=((a{99}){99}){99})"}}}),
            Pattern,
            format!("/properties/a/pattern: {too_large}"),
        ),
        (json!({"pattern": "("}), Pattern, format!("/pattern: {malformed}")),
        (json!({"patternProperties": {"(?=a": {}}}), Pattern, format!("/patternProperties/(?=a: {malformed}")),
        (
            json!({"patternProperties": {"(a)\\1": {}}, "unevaluatedProperties": false}),
            Pattern,
            "/patternProperties/(a)\\1: the pattern is malformed, too large, or has look-around or a back-reference \
             beside `unevaluatedProperties` or another keyword without a plan"
                .to_owned(),
        ),
        (
            json!({"items": {"multipleOf": 1e300, "maximum": 1}, "pattern": "("}),
            Pattern,
            format!("/pattern: {malformed}"),
        ),
        (
            json!({"$schema": "https://example.com/mine"}),
            Draft,
            r#"/$schema: "https://example.com/mine" is not one of the drafts 4, 6, 7, 2019-09 and 2020-12"#
                .to_owned(),
        ),
    ];
    for (schema, kind, expected) in cases {
        let error = error_of(&schema);
        assert!(schema.pointer(error.path()).is_some(), "{schema}: {error}");
        if cfg!(not(feature = "jsonschema")) && error.kind() == SchemaErrorKind::Unsupported {
            assert_eq!(kind, Pattern, "{schema}: {error}");
            continue;
        }
        if cfg!(not(feature = "jsonschema")) && kind == Invalid {
            // The words are ours.
            assert_eq!(error.kind(), kind, "{schema}: {error}");
            let is_there = error.path().is_empty() || expected.starts_with(&format!("{}: ", error.path()));
            assert!(is_there, "{error} is not {expected}");
            continue;
        }
        assert_eq!((error.kind(), error.to_string()), (kind, expected), "{schema}");
    }
}

#[test]
fn older_drafts_are_validated_by_their_own_rules() {
    let four = json!({"$schema": "http://json-schema.org/draft-04/schema#", "exclusiveMinimum": 5});
    let expected = if cfg!(feature = "jsonschema") {
        r#"/exclusiveMinimum: 5 is not of type "boolean""#
    } else {
        "with `exclusiveMinimum` it must have `minimum`"
    };
    assert_eq!(error_of(&four).to_string(), expected);
    let seven = json!({"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "any"}]});
    assert_eq!(error_of(&seven).path(), "/items/0/type");
    // Recursive `anyOf` in the draft's own rules, deep inside the schema.
    let deep = (0..50).fold(json!({"type": "any"}), |schema, _| json!({"items": schema}));
    let mut deep = deep;
    deep["$schema"] = "http://json-schema.org/draft-07/schema#".into();
    let error = error_of(&deep);
    let path = format!("{}/type", "/items".repeat(50));
    if cfg!(feature = "jsonschema") {
        assert_eq!(error.path(), path);
    } else {
        // As far as the search for a reason goes.
        assert!(path.starts_with(error.path()) && error.path().len() > 100, "{error}");
    }
}

#[test]
fn a_schemas_text_is_placed_by_line_and_column() {
    let error = "{\n  \"properties\": {\n    \"a\": {\"type\": \"strin\"}\n  }\n}"
        .parse::<SchemaValidator>()
        .unwrap_err();
    assert_eq!(error.position(), Some((3, 19)));
    let expected = if cfg!(feature = "jsonschema") { "\"string\"" } else { "did you mean `string`?" };
    assert!(error.to_string().ends_with(&format!("{expected} at line 3 column 19")), "{error}");
    let error = "{\"type\": }".parse::<SchemaValidator>().unwrap_err();
    assert_eq!(error.kind(), SchemaErrorKind::Syntax);
    assert_eq!(error.to_string(), "expected a value, found `}` at line 1 column 10");
    let error = "{\"multipleOf\": 1e999}".parse::<SchemaValidator>().unwrap_err();
    assert_eq!(error.kind(), SchemaErrorKind::Invalid, "{error}");
    assert_eq!(
        error.to_string(),
        "/multipleOf: the number has more than 400 digits, or an exponent beyond 400 at line 1 column 16"
    );
    assert!("{\"maximum\": 1e999}".parse::<SchemaValidator>().is_ok());
    assert!("{}".parse::<SchemaValidator>().is_ok());
    assert!("true".parse::<SchemaValidator>().is_ok());
}

#[test]
fn a_reason_is_short_and_on_one_line() {
    let long = "x\n".repeat(10_000);
    for schema in [
        json!({"type": long}),
        json!({"minLength": long}),
        json!({"$ref": long}),
        json!({"$schema": long}),
        json!({"$id": long}),
    ] {
        let Err(error) = SchemaValidator::new(&schema) else { continue };
        let text = error.to_string();
        assert!(text.len() < 600 && !text.contains('\n'), "{text}");
    }
}
