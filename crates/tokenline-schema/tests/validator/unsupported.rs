//! Schemas that need the feature `jsonschema`, without it.

use serde_json::{Value, json};
use tokenline_core::ValidateCall;
use tokenline_core::json::Parser;
use tokenline_schema::{SchemaErrorKind, SchemaOptions, SchemaValidator, ToolSet};

use crate::support::random::DRAFTS;
use crate::support::{check, supported};

#[test]
fn the_error_names_the_keyword_and_its_place() {
    let cases = [
        (
            json!({"properties": {"a": {"unevaluatedProperties": false}}}),
            "/properties/a/unevaluatedProperties",
        ),
        (json!({"unevaluatedItems": false}), "/unevaluatedItems"),
        (json!({"items": {"$dynamicRef": "#x"}, "$dynamicAnchor": "x"}), "/items/$dynamicRef"),
        (json!({"$schema": DRAFTS[3], "items": {"$recursiveRef": "#"}}), "/items/$recursiveRef"),
        (json!({"items": {"$id": "https://example.com/a", "type": "string"}}), "/items/$id"),
        (json!({"items": {"$schema": DRAFTS[2], "type": "string"}}), "/items/$schema"),
        (
            json!({"items": {"$ref": "https://example.com/b"}, "$defs": {"b": {"$id": "https://example.com/b"}}}),
            "/items/$ref",
        ),
        (json!({"$ref": "#"}), "/$ref"),
        (json!({"anyOf": [{"type": "string"}, {"$ref": "#"}]}), "/anyOf"),
        (json!({"properties": {"a": {"format": "email"}}}), "/properties/a/format"),
        (json!({"$schema": DRAFTS[2], "contentEncoding": "base64"}), "/contentEncoding"),
        (json!({"pattern": "^(?!a)"}), "/pattern"),
        (json!({"pattern": "\\p{L}+"}), "/pattern"),
        (json!({"patternProperties": {"a": {}, "\\bb": {}}}), "/patternProperties/\\bb"),
    ];
    for (schema, path) in cases {
        let error = SchemaValidator::new(&schema).unwrap_err();
        let token = path.trim_end_matches("/\\bb");
        let keyword = token.rsplit_once('/').unwrap().1;
        assert_eq!((error.kind(), error.path()), (SchemaErrorKind::Unsupported, path), "{schema}: {error}");
        assert_eq!(error.keyword(), Some(keyword), "{schema}");
        let expected = format!("{path}: the keyword `{keyword}` needs the feature `jsonschema`");
        assert_eq!(error.to_string(), expected, "{schema}");
        supported(&schema, &[]);
    }
    let error = "{\n \"format\": \"uri\"}".parse::<SchemaValidator>().unwrap_err();
    assert_eq!(error.position(), Some((2, 12)));
}

#[test]
fn other_faults_are_no_unsupported_keywords() {
    use SchemaErrorKind::{Draft, Invalid, Pattern, Reference};
    let cases = [
        (json!({"pattern": "("}), Pattern),
        (json!({"pattern": "(?!("}), Pattern),
        (json!({"pattern": "\\p{L}[^]"}), Pattern),
        (json!({"$ref": "#/nowhere"}), Reference),
        (json!({"$ref": "#nowhere"}), Reference),
        (json!({"$ref": "https://example.com/a"}), Reference),
        (json!({"$schema": "https://example.com/mine", "type": "mine"}), Draft),
        (json!({"multipleOf": 0}), Invalid),
        (json!({"unevaluatedProperties": 7}), Invalid),
        (json!({"$defs": {"a": {"type": "strin"}}}), Invalid),
    ];
    for (schema, kind) in cases {
        let error = SchemaValidator::new(&schema).unwrap_err();
        assert_eq!((error.kind(), error.keyword()), (kind, None), "{schema}: {error}");
        let weaker = SchemaOptions::new().ignore_unsupported(true).build(&schema);
        // The caller's validator may know where that leads.
        let is_elsewhere = schema["$ref"] == "https://example.com/a";
        assert_eq!(weaker.is_ok(), is_elsewhere, "{schema}: {weaker:?}");
    }
    let deep = (0..1100).fold(json!({"type": "string"}), |schema, _| json!({"items": schema}));
    let error = SchemaValidator::new(&deep).unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (Invalid, "the schema is nested deeper than 1024 containers")
    );
}

/// The keywords that are ignored, and for each text whether it fits.
fn ignoring(schema: &Value, texts: &[(&str, bool)]) -> Vec<String> {
    let validator = SchemaOptions::new().ignore_unsupported(true).build(schema).unwrap();
    let mut parser = Parser::new();
    for (text, fits) in texts {
        assert_eq!(validator.is_valid(parser.parse(text).unwrap()), *fits, "{text} against {schema}");
    }
    let mut ignored: Vec<_> =
        validator.ignored_keywords().iter().map(|ignored| ignored.path.clone()).collect();
    ignored.sort_unstable();
    ignored
}

#[test]
fn what_is_ignored_leaves_the_rest() {
    let email = json!({"type": "string", "format": "email"});
    let cases = [
        (
            json!({"properties": {"a": email, "b": {"type": "number"}}, "required": ["a"]}),
            &["/properties/a/format"][..],
            &[(r#"{"a":"x"}"#, true), (r#"{"a":7}"#, false), (r#"{"a":"","b":""}"#, false), ("{}", false)][..],
        ),
        (
            json!({"required": ["a"], "unevaluatedProperties": false}),
            &["/unevaluatedProperties"],
            &[(r#"{"a":1,"b":2}"#, true), ("{}", false)],
        ),
        // Negated, directly and further down.
        (
            json!({"type": "string", "not": email}),
            &["/not", "/not/format"],
            &[(r#""a""#, true), ("1", false)],
        ),
        (
            json!({"not": {"properties": {"a": {"items": email}}}, "type": "object"}),
            &["/not", "/not/properties/a/items/format"],
            &[("{}", true), ("[]", false)],
        ),
        (
            json!({"allOf": [{"not": {"not": email}}]}),
            &["/allOf/0/not", "/allOf/0/not/not", "/allOf/0/not/not/format"],
            &[("1", true)],
        ),
        (
            json!({"not": {"$ref": "#/$defs/a"}, "$defs": {"a": email}}),
            &["/$defs/a/format", "/not"],
            &[(r#""a""#, true)],
        ),
        (json!({"not": {"$ref": "https://example.com/a"}}), &["/not", "/not/$ref"], &[("1", true)]),
        (json!({"not": {"$id": "a", "type": "string"}}), &["/not", "/not/$id"], &[(r#""a""#, true)]),
        (
            json!({"if": email, "then": {"maxLength": 3}, "else": false}),
            &["/if", "/if/format"],
            &[(r#""abcd""#, true), ("1", true)],
        ),
        // Beside a condition, nothing is lost.
        (
            json!({"if": {"type": "string"}, "then": {"format": "email", "maxLength": 3}}),
            &["/then/format"],
            &[(r#""abcd""#, false), ("1", true)],
        ),
        // One of the alternatives must still fit.
        (
            json!({"oneOf": [email, {"type": "string", "maxLength": 2}]}),
            &["/oneOf", "/oneOf/0/format"],
            &[(r#""a""#, true), (r#""abc""#, true), ("1", false)],
        ),
        (
            json!({"oneOf": [
                {"properties": {"type": {"const": "mail"}, "to": email}, "required": ["type"]},
                {"properties": {"type": {"const": "call"}, "to": {"type": "number"}}, "required": ["type"]},
            ]}),
            &["/oneOf", "/oneOf/0/properties/to/format"],
            &[
                (r#"{"type":"mail","to":"x"}"#, true),
                (r#"{"type":"mail","to":1}"#, false),
                (r#"{"type":"call","to":"x"}"#, false),
                (r#"{"type":"else"}"#, false),
            ],
        ),
        (
            json!({"anyOf": [email, {"type": "null"}]}),
            &["/anyOf/0/format"],
            &[(r#""a""#, true), ("1", false)],
        ),
        (
            json!({"contains": email, "minContains": 2, "maxContains": 2}),
            &["/contains/format", "/maxContains"],
            &[(r#"["a","b","c"]"#, true), (r#"["a"]"#, false)],
        ),
        (json!({"contains": email}), &["/contains/format"], &[(r#"["a"]"#, true), ("[1]", false)]),
        // Members whose names match the pattern are not additional.
        (
            json!({"patternProperties": {"^\\p{L}": {"type": "number"}}, "additionalProperties": false, "maxProperties": 1}),
            &["/additionalProperties", "/patternProperties"],
            &[(r#"{"é":1}"#, true), (r#"{"é":1,"a":1}"#, false)],
        ),
        // Up to draft 7, the siblings of a reference have no effect.
        (
            json!({"$schema": DRAFTS[2], "items": {"$ref": "https://example.com/a", "type": "string"}}),
            &["/items/$ref"],
            &[("[1]", true), ("{}", true)],
        ),
        (
            json!({"items": {"$ref": "https://example.com/a", "type": "string"}}),
            &["/items/$ref"],
            &[("[1]", false)],
        ),
        (json!({"$ref": "#", "type": "string"}), &["/$ref"], &[("1", true)]),
        (
            json!({"propertyNames": {"not": {"format": "email"}, "maxLength": 1}}),
            &["/propertyNames/not", "/propertyNames/not/format"],
            &[(r#"{"a":1}"#, true), (r#"{"ab":1}"#, false)],
        ),
        (
            json!({"dependentSchemas": {"a": {"not": {"required": ["b"], "properties": {"b": email}}}}}),
            &["/dependentSchemas/a/not", "/dependentSchemas/a/not/properties/b/format"],
            &[(r#"{"a":1,"b":"x"}"#, true)],
        ),
    ];
    for (schema, expected, texts) in cases {
        assert_eq!(ignoring(&schema, texts), expected, "{schema}");
    }
}

/// What is ignored is not a reason either.
#[test]
fn reasons_are_of_the_rest() {
    let schema = json!({
        "not": {"format": "email"},
        "oneOf": [{"format": "email"}, {"maxLength": 9}],
        "if": {"format": "email"}, "then": false, "else": false,
        "maxLength": 3,
    });
    let options = SchemaOptions::new().ignore_unsupported(true);
    let validator = options.clone().build(&schema).unwrap();
    let mut parser = Parser::new();
    let violations = validator.violations(parser.parse(r#""abcd""#).unwrap(), 10);
    let paths: Vec<_> = violations.iter().map(|violation| &*violation.schema_path).collect();
    assert_eq!(paths, ["/maxLength"]);
    let schema =
        json!({"patternProperties": {"^(?=a)": true}, "additionalProperties": false, "required": ["b"]});
    let validator = options.build(&schema).unwrap();
    let violations = validator.violations(parser.parse(r#"{"a":1}"#).unwrap(), 10);
    let paths: Vec<_> = violations.iter().map(|violation| &*violation.schema_path).collect();
    assert_eq!(paths, ["/required"]);
    // Where a keyword has no effect, it is not missed.
    let schema = json!({"not": {"additionalItems": {"format": "email"}}, "maxItems": 1});
    assert!(SchemaValidator::new(&schema).is_ok());
}

#[test]
fn many_circles_and_many_keywords_take_little_time() {
    let circles: serde_json::Map<_, _> = (0..40)
        .map(|at| (format!("c{at}"), json!({"allOf": [{"$ref": format!("#/$defs/c{at}")}]})))
        .collect();
    let uses: Vec<_> = (0..40).map(|at| json!({"$ref": format!("#/$defs/c{at}")})).collect();
    let formats: serde_json::Map<_, _> =
        (0..5000).map(|at| (format!("p{at}"), json!({"format": "email"}))).collect();
    let schema =
        json!({"items": {"anyOf": uses}, "properties": formats, "$defs": circles, "required": ["a"]});
    let start = std::time::Instant::now();
    let ignored = ignoring(&schema, &[("{}", false), (r#"{"a":1}"#, true)]);
    assert_eq!(ignored.len(), 5040);
    assert!(start.elapsed() < std::time::Duration::from_secs(10), "{:?}", start.elapsed());
}

#[test]
fn numbers_of_the_schema_are_kept() {
    let text = r#"{"maximum":1.50,"minimum":-1e400,"enum":[1,0.1,-0,12345678901234567890123,{"a":[2.5]}],"maxLength":3.0}"#;
    let validator: SchemaValidator = text.parse().unwrap();
    let expected = json!({"maximum": 1.5, "minimum": f64::MIN, "enum": [1, 0.1, -0.0, 12345678901234567890123.0_f64, {"a": [2.5]}], "maxLength": 3.0});
    assert_eq!(*validator.schema(), expected);
    let given = json!({"maximum": 1.5, "enum": [1, 0.1, 3e300]});
    let validator = SchemaValidator::new(&given).unwrap();
    assert_eq!(*validator.schema(), given);
    let mut parser = Parser::new();
    for (text, fits) in [("1", true), ("0.10", true), ("3e300", false), ("0.5", false), ("1.5", false)] {
        assert_eq!(validator.is_valid(parser.parse(text).unwrap()), fits, "{text}");
    }
    check(&json!({"enum": [1.5, {"a": 0.25}]}), &[("0.5", r#" | /enum | must be one of 1.5, {"a":0.25}"#)]);
    check(&json!({"maximum": 1.5}), &[("1.6", " | /maximum | more than the maximum 1.5")]);
    check(
        &json!({"anyOf": [
            {"properties": {"v": {"const": 1.5}, "x": {"type": "string"}}, "required": ["v"]},
            {"properties": {"v": {"const": 2.5}, "x": {"type": "number"}}, "required": ["v"]},
        ]}),
        &[
            (r#"{"v":1.50,"x":1}"#, "/x | /anyOf/0/properties/x/type | expected type string, found a number"),
            (r#"{"v":0.5}"#, "/v | /anyOf | must be one of 1.5, 2.5"),
        ],
    );
}

#[test]
fn formats_of_no_draft_are_ignored() {
    for format in ["int32", "uint", "double", "binary"] {
        assert!(SchemaValidator::new(&json!({"format": format})).is_ok());
    }
    assert!(SchemaValidator::new(&json!({"$schema": DRAFTS[0], "format": "uuid"})).is_ok());
    assert!(SchemaOptions::new().assert_formats(false).build(&json!({"format": "email"})).is_ok());
}

#[test]
fn tools_with_unsupported_schemas_reject_their_calls_or_ignore_keywords() {
    let text = r#"[{"name":"mail","parameters":{"properties":{"to":{"type":"string","format":"email"}}}},{"name":"now"}]"#;
    let tools = ToolSet::from_json_str(text).unwrap();
    let unsupported: Vec<_> = tools.unsupported().map(|(name, error)| (name, error.keyword())).collect();
    assert_eq!(unsupported, [("mail", Some("format"))]);
    assert_eq!(
        tools.warnings(),
        [
            "tool `mail`: /properties/to/format: the keyword `format` needs the feature `jsonschema`; its calls are rejected"
        ]
    );
    let mut parser = Parser::new();
    assert!(tools.validate_call("mail", parser.parse("{}").unwrap()).is_err());
    assert!(tools.validate_call("now", parser.parse("{}").unwrap()).is_ok());

    let options = SchemaOptions::new().ignore_unsupported(true);
    let tools = ToolSet::from_json_str_with_options(text, options.clone()).unwrap();
    assert_eq!(tools.unsupported().count(), 0);
    assert_eq!(tools.warnings(), ["tool `mail`: /properties/to/format: the keyword `format` is not checked"]);
    let ignored: Vec<_> = tools.ignored_keywords().map(|(name, ignored)| (name, &*ignored.path)).collect();
    assert_eq!(ignored, [("mail", "/properties/to/format")]);
    assert!(tools.validate_call("mail", parser.parse(r#"{"to":"x"}"#).unwrap()).is_ok());
    assert!(tools.validate_call("mail", parser.parse(r#"{"to":1}"#).unwrap()).is_err());
    let tools = ToolSet::with_options(tools.definitions(), options).unwrap();
    assert_eq!(tools.ignored_keywords().count(), 1);
}
