//! Schemas for the providers' strict modes.

use tokenline_core::json::Raw;
use tokenline_prompt::tools::{StrictRule, strict_violations};

fn violations(schema: &str) -> Vec<String> {
    strict_violations(&Raw::new(schema).unwrap()).iter().map(ToString::to_string).collect()
}

#[test]
fn a_strict_schema_has_no_violations() {
    let schema = r##"{
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": ["integer", "null"]},
            "places": {"type": "array", "items": {"$ref": "#/$defs/place"}},
            "additionalProperties": {"enum": ["object", {"type": "object"}]}
        },
        "required": ["city", "days", "places", "additionalProperties"],
        "additionalProperties": false,
        "$defs": {"place": {"anyOf": [
            {"type": "object", "properties": {}, "additionalProperties": false},
            {"type": "null"}
        ]}}
    }"##;
    assert_eq!(violations(schema), Vec::<String>::new());
}

#[test]
fn objects_at_any_depth_are_checked() {
    let object = r#"{"type": "object", "properties": {"a": {"type": "string"}}}"#;
    for (wrapped, pointer) in [
        (r#""properties": {"b/c~": OBJECT}, "required": ["b/c~"]"#, "/properties/b~1c~0"),
        (
            r#""properties": {"b": {"type": "array", "items": OBJECT}}, "required": ["b"]"#,
            "/properties/b/items",
        ),
        (
            r#""properties": {"b": {"prefixItems": [true, OBJECT]}}, "required": ["b"]"#,
            "/properties/b/prefixItems/1",
        ),
        (
            r#""properties": {"b": {"anyOf": [{"type": "null"}, OBJECT]}}, "required": ["b"]"#,
            "/properties/b/anyOf/1",
        ),
        (r#""$defs": {"d": {"items": OBJECT}}"#, "/$defs/d/items"),
        (r#""definitions": {"d": OBJECT}"#, "/definitions/d"),
    ] {
        let schema = format!(
            r#"{{"type": "object", "additionalProperties": false, {}}}"#,
            wrapped.replace("OBJECT", object)
        );
        assert_eq!(
            violations(&schema),
            [
                format!("{pointer}: set `additionalProperties` to false"),
                format!("{pointer}: add `a` to `required`; if it is optional, allow `null` instead"),
            ]
        );
    }
}

#[test]
fn each_violation_names_the_place_to_change() {
    let schema = r#"{
        "properties": {
            "a": {"type": ["object", "null"], "additionalProperties": {"type": "object"}},
            "b": {"type": ["string", "null"]},
            "c": {"oneOf": [{"allOf": []}]}
        },
        "required": ["a"],
        "if": {}, "patternProperties": {"^x": {}}
    }"#;
    let found = strict_violations(&Raw::new(schema).unwrap());
    let found: Vec<_> = found.iter().map(|found| (found.rule, &*found.pointer, &*found.message)).collect();
    assert_eq!(
        found,
        [
            (StrictRule::Closed, "", "set `additionalProperties` to false"),
            (StrictRule::Required, "/required", "add `b`"),
            (StrictRule::Required, "/required", "add `c`; if it is optional, allow `null` instead"),
            (StrictRule::Closed, "/properties/a/additionalProperties", "set it to false"),
            (StrictRule::Closed, "/properties/a/additionalProperties", "set `additionalProperties` to false"),
            (StrictRule::Unsupported, "/properties/c/oneOf", "`oneOf` is not supported: use `anyOf` instead"),
            (
                StrictRule::Unsupported,
                "/properties/c/oneOf/0/allOf",
                "`allOf` is not supported: merge its schemas into one"
            ),
            (StrictRule::Unsupported, "/if", "`if` is not supported: express the cases as `anyOf`"),
            (
                StrictRule::Unsupported,
                "/patternProperties",
                "`patternProperties` is not supported: list the members, or use an array of objects with name and value"
            ),
        ]
    );
}

#[test]
fn the_root_is_an_object() {
    assert_eq!(
        violations(r#"{"anyOf": []}"#),
        ["/anyOf: move the choice into a member: the root must be one object"]
    );
    for schema in ["{}", "true", r#"{"type": "string"}"#] {
        assert_eq!(violations(schema), ["the root: set `type` to \"object\""], "{schema}");
    }
}
