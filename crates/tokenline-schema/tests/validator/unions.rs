//! A discriminated union is reported as its intended alternative.

use crate::support::check;
use serde_json::json;

#[test]
fn by_a_constant() {
    let schema = json!({"oneOf": [
        {
            "type": "object",
            "properties": {"type": {"const": "definition"}, "entity": {"type": "string"}, "definition": {"type": "string"}},
            "required": ["type", "entity", "definition"],
        },
        {
            "type": "object",
            "properties": {"type": {"const": "relationship"}, "subject": {"type": "string"}, "object-entity": {"type": "boolean"}},
            "required": ["type", "subject", "object-entity"],
        },
    ]});
    check(
        &schema,
        &[
            (
                r#"{"type":"definition","entity":1,"definition":"x"}"#,
                "/entity | /oneOf/0/properties/entity/type | expected type string, found a number",
            ),
            (
                r#"{"type":"definition","entity":"x"}"#,
                " | /oneOf/0/required | missing required member `definition`",
            ),
            (
                r#"{"object-entity":"x","subject":"x","type":"relationship"}"#,
                "/object-entity | /oneOf/1/properties/object-entity/type | expected type boolean, found a string",
            ),
            (
                r#"{"\u0074ype":"rel\u0061tionship"}"#,
                " | /oneOf/1/required | missing required members `subject`, `object-entity`",
            ),
            (r#"{"type":"attribute"}"#, r#"/type | /oneOf | must be one of "definition", "relationship""#),
            (r#"{"type":7}"#, r#"/type | /oneOf | must be one of "definition", "relationship""#),
            (
                r#"{"entity":"x"}"#,
                r#" | /oneOf | missing `type`, which distinguishes the alternatives: must be one of "definition", "relationship""#,
            ),
            ("[]", " | /oneOf | expected type object, found an array"),
        ],
    );
}

#[test]
fn by_enums_numbers_and_optional_members() {
    let schema = json!({"anyOf": [
        {"properties": {"v": {"enum": [1, 2]}, "x": {"type": "string"}}},
        {"properties": {"v": {"enum": [3]}, "y": {"type": "string"}}, "required": ["y"]},
    ]});
    check(
        &schema,
        &[
            (r#"{"v":2.0,"x":1}"#, "/x | /anyOf/0/properties/x/type | expected type string, found a number"),
            (r#"{"v":3}"#, " | /anyOf/1/required | missing required member `y`"),
            (r#"{"v":4}"#, "/v | /anyOf | must be one of 1, 2, 3"),
            // It is optional, so its absence means nothing; the second cannot be intended without `y`.
            (r#"{"x":1}"#, "/x | /anyOf/0/properties/x/type | expected type string, found a number"),
            (r#"{"x":1,"y":2}"#, " | /anyOf | matches none of the 2 alternatives"),
        ],
    );
}

#[test]
fn many_constants_are_listed_in_part() {
    let branches: Vec<_> =
        (0..30).map(|at| json!({"properties": {"k": {"const": at}}, "required": ["k"]})).collect();
    check(
        &json!({"oneOf": branches}),
        &[(r#"{"k":-1}"#, "/k | /oneOf | must be one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 20 more")],
    );
}

#[test]
fn nested_and_behind_references() {
    let schema = json!({
        "properties": {"shapes": {"items": {"$ref": "#/$defs/shape"}}},
        "$defs": {
            "shape": {"oneOf": [{"$ref": "#/$defs/circle"}, {"$ref": "#/$defs/group"}]},
            "circle": {"allOf": [{"$ref": "#/$defs/tag"}, {"properties": {"tag": {"const": "circle"}, "r": {"type": "number"}}}]},
            "group": {
                "properties": {"tag": {"$ref": "#/$defs/grouptag"}, "of": {"items": {"$ref": "#/$defs/shape"}}},
                "required": ["tag", "of"],
            },
            "grouptag": {"const": "group"},
            "tag": {"required": ["tag"]},
        },
    });
    check(
        &schema,
        &[
            (
                r#"{"shapes":[{"tag":"circle","r":"1"}]}"#,
                "/shapes/0/r | /$defs/circle/allOf/1/properties/r/type | expected type number, found a string",
            ),
            (
                r#"{"shapes":[{"tag":"group","of":[{"tag":"group","of":[]},{"tag":"group","of":[{"tag":"circle"},{"tag":"square"}]}]}]}"#,
                r#"/shapes/0/of/1/of/1/tag | /$defs/shape/oneOf | must be one of "circle", "group""#,
            ),
            (
                r#"{"shapes":[{}]}"#,
                r#"/shapes/0 | /$defs/shape/oneOf | missing `tag`, which distinguishes the alternatives: must be one of "circle", "group""#,
            ),
        ],
    );
}

#[test]
fn by_two_members() {
    let branch = |a: &str, b: &str, name: &str| json!({"properties": {"a": {"const": a}, "b": {"const": b}}, "required": ["a", "b", name]});
    let schema = json!({"oneOf": [branch("1", "1", "x"), branch("1", "2", "y"), branch("2", "1", "z")]});
    check(
        &schema,
        &[
            (r#"{"a":"1","b":"2"}"#, " | /oneOf/1/required | missing required member `y`"),
            (r#"{"a":"2","b":"1"}"#, " | /oneOf/2/required | missing required member `z`"),
            (r#"{"a":"1","b":"3"}"#, r#"/b | /oneOf | must be one of "1", "2""#),
            (
                r#"{"a":"1"}"#,
                r#" | /oneOf | missing `b`, which distinguishes the alternatives: must be one of "1", "2""#,
            ),
            // Each is allowed in some alternative, both together in none.
            (r#"{"a":"2","b":"2","z":1}"#, "/b | /oneOf/2/properties/b/const | must be \"1\""),
        ],
    );
}

#[test]
fn by_kind() {
    let schema = json!({"anyOf": [{"type": "null"}, {"type": "integer", "minimum": 1}, {"type": ["object"], "required": ["a"]}, {"enum": ["x", "y"]}]});
    check(
        &schema,
        &[
            ("{}", " | /anyOf/2/required | missing required member `a`"),
            ("0", " | /anyOf/1/minimum | less than the minimum 1"),
            ("\"z\"", " | /anyOf/3/enum | must be one of \"x\", \"y\""),
            ("true", " | /anyOf | expected type integer, null, object or string, found a boolean"),
        ],
    );
    check(
        &json!({"oneOf": [{"const": "a"}, {"const": "b"}, {"enum": ["c", 1]}]}),
        &[
            ("\"d\"", " | /oneOf | must be one of \"a\", \"b\", \"c\", 1"),
            ("{}", " | /oneOf | must be one of \"a\", \"b\", \"c\", 1"),
        ],
    );
    // Rules for members do not apply to a string.
    check(
        &json!({"anyOf": [
            {"properties": {"k": {"const": 1}}, "required": ["k"], "minLength": 3},
            {"properties": {"k": {"const": 2}}, "required": ["k"], "pattern": "^a"},
        ]}),
        &[("\"b\"", " | /anyOf | matches none of the 2 alternatives")],
    );
    // Without any of this nothing distinguishes the alternatives.
    check(
        &json!({"anyOf": [{"minLength": 3}, {"pattern": "^a"}]}),
        &[("\"b\"", " | /anyOf | matches none of the 2 alternatives")],
    );
    check(
        &json!({"oneOf": [{"minimum": 1}, {"maximum": 5}, {"maximum": 7}]}),
        &[("3", " | /oneOf | matches 3 of 3 alternatives, but must match exactly one")],
    );
    check(
        &json!({"anyOf": [{"type": "number", "minimum": 5}, {"allOf": [{"type": "number"}, {"type": "integer"}], "minimum": 3}]}),
        &[
            ("1", " | /anyOf | matches none of the 2 alternatives"),
            ("\"\"", " | /anyOf | expected type integer or number, found a string"),
        ],
    );
}

#[test]
fn some_alternatives_without_constants() {
    let schema = json!({"anyOf": [
        {"properties": {"type": {"const": "a"}}, "required": ["type"]},
        {"properties": {"type": {"const": "b"}, "x": {"type": "null"}}, "required": ["type"]},
        {"properties": {"type": {"type": "null"}}, "required": ["type", "other"]},
    ]});
    check(
        &schema,
        &[
            (r#"{"type":"b","x":1}"#, "/x | /anyOf/1/properties/x/type | expected type null, found a number"),
            (r#"{"type":"c"}"#, " | /anyOf/2/required | missing required member `other`"),
        ],
    );
}

#[cfg(feature = "schemars")]
mod derived {
    use schemars::JsonSchema;
    use serde::Deserialize;
    use tokenline_core::Validate;
    use tokenline_core::json::Parser;
    use tokenline_schema::SchemaValidator;

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only their schemas are used")]
    #[serde(tag = "type", rename_all = "snake_case")]
    enum Tagged {
        Definition { entity: String, definition: String },
        Relation(Relation),
        Nothing,
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only their schemas are used")]
    struct Relation {
        subject: String,
        weight: Option<f64>,
        inner: Option<Box<Tagged>>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only their schemas are used")]
    enum External {
        Unit,
        Other,
        One(u8),
        Named { x: i32 },
    }

    fn report<T: JsonSchema>(text: &str) -> String {
        let validator = SchemaValidator::for_type::<T>().unwrap();
        let mut parser = Parser::new();
        match validator.validate(parser.parse(text).unwrap()) {
            Ok(()) => "valid".to_owned(),
            Err(violation) => {
                format!("{} | {} | {}", violation.instance_path, violation.schema_path, violation.message)
            }
        }
    }

    #[test]
    fn internally_tagged() {
        for (text, expected) in [
            (r#"{"type":"nothing"}"#, "valid"),
            (
                r#"{"type":"definition","entity":"x","definition":1}"#,
                "/definition | /oneOf/0/properties/definition/type | expected type string, found a number",
            ),
            (
                r#"{"type":"relation","weight":"x","subject":""}"#,
                "/weight | /$defs/Relation/properties/weight/type | expected type number or null, found a string",
            ),
            (
                r#"{"type":"relation","subject":"","inner":{"type":"definition"}}"#,
                "/inner | /oneOf/0/required | missing required members `entity`, `definition`",
            ),
            (r#"{"type":"else"}"#, r#"/type | /oneOf | must be one of "definition", "relation", "nothing""#),
        ] {
            assert_eq!(report::<Tagged>(text), expected, "{text}");
        }
    }

    #[test]
    fn externally_tagged() {
        for (text, expected) in [
            (r#""Unit""#, "valid"),
            (r#"{"One":256}"#, "/One | /oneOf/1/properties/One/maximum | more than the maximum 255"),
            (
                r#"{"Named":{"x":"y"}}"#,
                "/Named/x | /oneOf/2/properties/Named/properties/x/type | expected type integer, found a string",
            ),
            (r#""Third""#, r#" | /oneOf/0/enum | must be one of "Unit", "Other""#),
            (r#"{"Fourth":1}"#, " | /oneOf | must have one of the members `One`, `Named`"),
        ] {
            assert_eq!(report::<External>(text), expected, "{text}");
        }
    }
}
