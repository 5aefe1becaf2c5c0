//! Reports of invalid records: the rule, the two paths, the offset, the message.

use crate::support::check;
use serde_json::json;

#[test]
fn each_rule_has_its_message() {
    let mut schema = json!({"properties": {
        "type": {"type": "string"},
        "types": {"type": ["string", "null", "integer"]},
        "whole": {"type": "integer"},
        "const": {"const": {"a": [1]}},
        "enum": {"enum": ["red", "green", null]},
        "length": {"minLength": 2, "maxLength": 3},
        "range": {"minimum": 1, "maximum": 10},
        "open": {"exclusiveMinimum": 1, "exclusiveMaximum": 10},
        "cents": {"multipleOf": 0.01},
        "pattern": {"pattern": "^[a-z]+$"},
        "format": {"format": "date"},
        "items": {"minItems": 1, "maxItems": 2, "uniqueItems": true},
        "members": {"minProperties": 1, "maxProperties": 2},
        "required": {"required": ["entity", "definition"]},
        "depends": {"dependentRequired": {"a": ["b", "c"]}},
        "not": {"not": {"type": "null"}},
        "never": false,
        "names": {"propertyNames": {"maxLength": 2}},
        "closed": {"properties": {"a": true}, "patternProperties": {"^x-": {"type": "number"}}, "additionalProperties": false},
        "rest": {"additionalProperties": {"type": "string"}},
        "tuple": {"prefixItems": [{"type": "string"}, {"type": "number"}], "items": false},
        "list": {"items": {"type": "string"}},
        "contains": {"contains": {"type": "string"}, "maxContains": 1},
        "if": {"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"required": ["c"]}},
        "schemas": {"dependentSchemas": {"a": {"required": ["b"]}}},
        "unevaluated": {"allOf": [{"properties": {"a": true}}], "unevaluatedProperties": false},
        "all": {"allOf": [{"minimum": 1}, {"maximum": 2}]},
        "ref": {"$ref": "#/$defs/a~1b%25"},
    }, "$defs": {"a/b%": {"type": "string"}}});
    let unevaluated = (
        r#"{"unevaluated":{"a":1,"b":1}}"#,
        "/unevaluated | /properties/unevaluated/unevaluatedProperties | has members that no part of the schema allows",
    );
    if cfg!(feature = "jsonschema") {
        check(&schema, &[unevaluated]);
    } else {
        schema["properties"]["unevaluated"] = true.into();
    }
    check(
        &schema,
        &[
            (r#"{"type":1}"#, "/type | /properties/type/type | expected type string, found a number"),
            (
                r#"{"types":[]}"#,
                "/types | /properties/types/type | expected type string, null or integer, found an array",
            ),
            (
                r#"{"whole":1.5}"#,
                "/whole | /properties/whole/type | expected type integer, found a number that is not an integer",
            ),
            (r#"{"const":{"a":[2]}}"#, r#"/const | /properties/const/const | must be {"a":[1]}"#),
            (r#"{"enum":"blue"}"#, r#"/enum | /properties/enum/enum | must be one of "red", "green", null"#),
            (
                r#"{"enum":"Greeen"}"#,
                r#"/enum | /properties/enum/enum | must be one of "red", "green", null; did you mean `green`?"#,
            ),
            (
                r#"{"length":"é"}"#,
                "/length | /properties/length/minLength | fewer characters than minLength 2: has 1",
            ),
            (
                r#"{"length":"\u00e9éé\n"}"#,
                "/length | /properties/length/maxLength | more characters than maxLength 3: has 4",
            ),
            (r#"{"range":0.5}"#, "/range | /properties/range/minimum | less than the minimum 1"),
            (r#"{"range":1e400}"#, "/range | /properties/range/maximum | more than the maximum 10"),
            (
                r#"{"open":1}"#,
                "/open | /properties/open/exclusiveMinimum | not more than the exclusiveMinimum 1",
            ),
            (
                r#"{"open":10.0}"#,
                "/open | /properties/open/exclusiveMaximum | not less than the exclusiveMaximum 10",
            ),
            (r#"{"cents":1.005}"#, "/cents | /properties/cents/multipleOf | not a multiple of 0.01"),
            (
                r#"{"pattern":"A"}"#,
                r#"/pattern | /properties/pattern/pattern | does not match the pattern "^[a-z]+$""#,
            ),
            (
                r#"{"format":"2024-02-30"}"#,
                r#"/format | /properties/format/format | is not of the format "date""#,
            ),
            (
                r#"{"items":[]}"#,
                "/items | /properties/items/minItems | fewer elements than minItems 1: has 0",
            ),
            (
                r#"{"items":[1,2,3]}"#,
                "/items | /properties/items/maxItems | more elements than maxItems 2: has 3",
            ),
            (
                r#"{"items":[1,1.0]}"#,
                "/items | /properties/items/uniqueItems | two elements are equal, but they must be unique",
            ),
            (
                r#"{"members":{}}"#,
                "/members | /properties/members/minProperties | fewer than minProperties 1: has 0",
            ),
            (
                r#"{"members":{"a":1,"b":2,"c":3}}"#,
                "/members | /properties/members/maxProperties | more than maxProperties 2: has 3",
            ),
            (
                r#"{"required":{"entity":1}}"#,
                "/required | /properties/required/required | missing required member `definition`",
            ),
            (
                r#"{"required":{}}"#,
                "/required | /properties/required/required | missing required members `entity`, `definition`",
            ),
            (
                r#"{"depends":{"a":1,"b":1}}"#,
                "/depends | /properties/depends/dependentRequired | with `a` it must have `c`",
            ),
            (r#"{"not":null}"#, "/not | /properties/not/not | matches what `not` forbids"),
            (r#"{"never":null}"#, "/never | /properties/never | the schema does not allow anything here"),
            (
                r#"{"names":{"ab":1,"abc":1}}"#,
                "/names/abc | /properties/names/propertyNames | the member's name breaks the rules for names",
            ),
            (
                r#"{"closed":{"a":1,"x-1":1,"b/c":1}}"#,
                "/closed/b~1c | /properties/closed/additionalProperties | unknown member",
            ),
            (
                r#"{"closed":{"a":1,"x-1":"1"}}"#,
                "/closed/x-1 | /properties/closed/patternProperties/^x-/type | expected type number, found a string",
            ),
            (
                r#"{"rest":{"a":"","b":1}}"#,
                "/rest/b | /properties/rest/additionalProperties/type | expected type string, found a number",
            ),
            (
                r#"{"tuple":["a","b"]}"#,
                "/tuple/1 | /properties/tuple/prefixItems/1/type | expected type number, found a string",
            ),
            (
                r#"{"tuple":["a",1,2]}"#,
                "/tuple/2 | /properties/tuple/items | the array has more than 2 elements",
            ),
            (
                r#"{"list":["a",{}]}"#,
                "/list/1 | /properties/list/items/type | expected type string, found an object",
            ),
            (
                r#"{"contains":["a","b"]}"#,
                "/contains | /properties/contains/contains | the number of elements that match `contains` is wrong",
            ),
            (r#"{"if":{"a":1}}"#, "/if | /properties/if/then/required | missing required member `b`"),
            (r#"{"if":{"b":1}}"#, "/if | /properties/if/else/required | missing required member `c`"),
            (
                r#"{"schemas":{"a":1}}"#,
                "/schemas | /properties/schemas/dependentSchemas/a/required | missing required member `b`",
            ),
            (r#"{"all":3}"#, "/all | /properties/all/allOf/1/maximum | more than the maximum 2"),
            (r#"{"ref":3}"#, "/ref | /$defs/a~1b%/type | expected type string, found a number"),
        ],
    );
    check(&json!({"required": ["a"]}), &[(" {}", " | /required | missing required member `a`")]);
    check(&json!(false), &[("1", " |  | the schema does not allow anything here")]);
}

#[test]
fn unknown_members_and_the_nearest_known_one() {
    let names = ["id", "entity", "définition", "created_at", "createdBy"];
    let properties =
        names.map(|name| (name.to_owned(), json!(true))).into_iter().collect::<serde_json::Map<_, _>>();
    let schema = json!({"properties": properties, "additionalProperties": false});
    let long = "entity".repeat(20);
    for (name, known) in [
        ("entty", Some("entity")),
        ("Entity", Some("entity")),
        ("entiyt", Some("entity")),
        ("definition", Some("définition")),
        ("createdAt", Some("created_at")),
        ("created_by", Some("createdBy")),
        ("ID", Some("id")),
        // Too different.
        ("ix", None),
        ("x", None),
        ("entities_", None),
        ("", None),
        ("ada@example.com", None),
        (&long, None),
    ] {
        let message = match known {
            Some(known) => format!("unknown member; did you mean `{known}`?"),
            None => "unknown member".to_owned(),
        };
        let record = json!({ name: 1 }).to_string();
        check(&schema, &[(&record, &format!("/{name} | /additionalProperties | {message}"))]);
    }
    check(
        &json!({"additionalProperties": false}),
        &[(r#"{"a":1}"#, "/a | /additionalProperties | unknown member")],
    );
    check(&json!({"items": false}), &[("[1,2]", "/0 | /items | the array must be empty")]);
    check(
        &json!({"prefixItems": [true], "items": false}),
        &[("[1,2,3]", "/1 | /items | the array has more than 1 element")],
    );
}

#[cfg(feature = "jsonschema")]
#[test]
fn places_behind_references() {
    let cases = [
        // Anchors, identifiers and nested resources.
        (
            json!({"items": {"$ref": "#x"}, "$defs": {"a": {"$anchor": "x", "type": "null"}}}),
            "/0 | /$defs/a/type | expected type null, found a number",
        ),
        (
            json!({"$schema": "http://json-schema.org/draft-07/schema#", "items": {"$ref": "#x"}, "definitions": {"a": {"$id": "#x", "type": "null"}}}),
            "/0 | /definitions/a/type | expected type null, found a number",
        ),
        (
            json!({"$schema": "http://json-schema.org/draft-04/schema#", "id": "http://example.com/a#", "items": {"$ref": "#x"}, "definitions": {"a": {"id": "#x", "type": "null"}}}),
            "/0 | /definitions/a/type | expected type null, found a number",
        ),
        (
            json!({"$id": "https://example.com/a", "items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"type": "null"}}}),
            "/0 | /$defs/a/type | expected type null, found a number",
        ),
        (
            json!({"$id": "https://example.com/a", "items": {"$id": "b", "$ref": "#/$defs/a", "$defs": {"a": {"type": "null"}}}, "$defs": {"a": true}}),
            "/0 | /items/$defs/a/type | expected type null, found a number",
        ),
        // Not followed, but reported if everything else fits.
        (
            json!({"$id": "https://example.com/a", "items": {"$ref": "b"}, "$defs": {"a": {"$id": "b", "type": "null"}}}),
            "/0 | /items/$ref | does not match the schema referred to",
        ),
        (
            json!({"items": {"$dynamicRef": "#x"}, "$defs": {"a": {"$dynamicAnchor": "x", "type": "null"}}}),
            "/0 | /items/$dynamicRef | does not match the schema referred to",
        ),
        // In older drafts `$ref` disables its siblings.
        (
            json!({"$schema": "http://json-schema.org/draft-07/schema#", "items": {"$ref": "#/definitions/a", "type": "string"}, "definitions": {"a": {"maximum": 0}}}),
            "/0 | /definitions/a/maximum | more than the maximum 0",
        ),
        (
            json!({"items": {"$ref": "#/x/0/%7B%22"}, "x": [{"{\"": {"type": "null"}}]}),
            "/0 | /x/0/{\"/type | expected type null, found a number",
        ),
        (
            json!({"$recursiveAnchor": true, "$schema": "https://json-schema.org/draft/2019-09/schema", "type": ["array", "null"], "items": {"$recursiveRef": "#"}}),
            "/0 | /items/$recursiveRef | does not match the schema referred to",
        ),
    ];
    for (schema, expected) in cases {
        check(&schema, &[("[1]", expected)]);
    }
}

/// Only names in the schema are shown; the offset and the rule still identify the place.
#[test]
fn names_that_the_schema_does_not_contain_are_hidden() {
    use tokenline_core::Validate as _;
    let schema = json!({
        "properties": {
            "a/b": {"additionalProperties": {"items": {"properties": {"n": {"type": "integer"}}}}},
            "by_id": {"patternProperties": {"^[0-9]+$": {"type": "null"}}},
        },
        "required": ["tag"],
    });
    let validator = tokenline_schema::SchemaValidator::new(&schema).unwrap();
    let mut parser = tokenline_core::json::Parser::new();
    for (text, path) in [
        (r#"{"tag":1,"a/b":{"secret":[0,{"n":"x"}]}}"#, "/a~1b/*/1/n"),
        (r#"{"tag":1,"by_id":{"49555":1}}"#, "/by_id/*"),
        (r#"{"tag":1,"x":{"tag":[{"y":1,"y":2}]}}"#, "/*/tag/0/*"),
    ] {
        let value = parser.parse(text).unwrap();
        let violation = validator.validate(value).unwrap_err();
        assert_eq!(violation.instance_path, path, "{text}");
        assert_eq!(validator.violations(value, 9)[0].instance_path, path, "{text}");
        assert!(!violation.to_string().contains("secret"), "{violation}");
    }
}
