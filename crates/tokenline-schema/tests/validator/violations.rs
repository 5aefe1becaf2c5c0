//! All violations of a value at once.

use tokenline_core::Validate;
use tokenline_core::json::Parser;
use tokenline_schema::SchemaValidator;

/// The paths of the violations: in the value, and to the rule.
fn violations(schema: &str, value: &str, at_most: usize) -> Vec<(String, String)> {
    let validator: SchemaValidator = schema.parse().expect(schema);
    let mut parser = Parser::new();
    let value = parser.parse(value).expect(value);
    let found = validator.violations(value, at_most);
    assert_eq!(found.is_empty(), validator.validate(value).is_ok(), "{schema}");
    assert!(found.len() <= at_most.max(1));
    found.into_iter().map(|violation| (violation.instance_path, violation.schema_path)).collect()
}

fn rules(schema: &str, value: &str) -> Vec<String> {
    violations(schema, value, 100).into_iter().map(|(_, rule)| rule).collect()
}

#[test]
fn every_rule_at_every_place_in_their_order() {
    let schema = r#"{"required":["z"],"minProperties":3,"properties":{"b":{"items":{"type":"string","minLength":2}},"a":false}}"#;
    let found = violations(schema, r#"{"a":1,"b":["x",2,"ok"]}"#, 100);
    let found: Vec<_> = found.iter().map(|(path, rule)| (path.as_str(), rule.as_str())).collect();
    assert_eq!(
        found,
        [
            ("", "/required"),
            ("", "/minProperties"),
            ("/a", "/properties/a"),
            ("/b/0", "/properties/b/items/minLength"),
            ("/b/1", "/properties/b/items/type"),
        ]
    );
}

#[test]
fn other_violations_are_listed_too() {
    for (schema, value, expected) in [
        (
            r#"{"required":["z"],"if":{"required":["a"]},"then":{"required":["b"]}}"#,
            r#"{"a":1}"#,
            &["/required", "/then/required"][..],
        ),
        (
            r#"{"anyOf":[{"type":"string"},{"type":"integer"}],"required":["q"]}"#,
            "{}",
            &["/required", "/anyOf"],
        ),
        (r#"{"required":["z"],"not":{"required":["a"]}}"#, r#"{"a":1}"#, &["/required", "/not"]),
        (
            r#"{"if":{"required":["a"]},"then":{"required":["b"],"properties":{"a":{"type":"string"},"c":false}}}"#,
            r#"{"a":1,"c":2}"#,
            &["/then/required", "/then/properties/a/type", "/then/properties/c"],
        ),
        // Once, although it is referred to twice.
        (
            r##"{"allOf":[{"$ref":"#/$defs/x"},{"$ref":"#/$defs/x"}],"$defs":{"x":{"type":"string"}}}"##,
            "1",
            &["/$defs/x/type"],
        ),
        (r#"{"contains":{"const":1}}"#, "[2]", &["/contains"]),
    ] {
        assert_eq!(rules(schema, value), expected, "{schema}");
    }
}

#[test]
fn at_most_as_many_as_requested_and_at_least_one() {
    let numbers = format!("[{}]", vec!["1"; 2000].join(","));
    for at_most in [1, 7, 1000, 5000] {
        assert_eq!(violations(r#"{"items":{"type":"string"}}"#, &numbers, at_most).len(), at_most.min(2000));
    }
    let nested = format!("[{}]", vec![r#"{"a":{"b":1}}"#; 1000].join(","));
    let schema = r#"{"items":{"properties":{"a":{"properties":{"b":{"type":"string"}}}}}}"#;
    assert_eq!(violations(schema, &nested, 1000).len(), 1000);
    // A long path to the fault.
    let links: String =
        (0..600).map(|at| format!(r##""d{at}":{{"$ref":"#/$defs/d{}"}},"##, at + 1)).collect();
    let schema = format!(r##"{{"$ref":"#/$defs/d0","$defs":{{{links}"d600":{{"type":"string"}}}}}}"##);
    assert_eq!(violations(&schema, "1", 100).len(), 1);
}
