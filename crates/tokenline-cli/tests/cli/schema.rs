//! `tokenline schema`.

use crate::common::{file, folder, tokenline};

#[test]
fn what_a_schema_hides() {
    let folder = folder();
    let schema = file(
        &folder,
        "schema.json",
        "{\n  \"type\": \"object\",\n  \"properties\": {\"age\": {\"minimun\": 0, \"x-unit\": \"years\"}},\n  \"requird\": [\"age\"],\n  \"$defs\": {\"unused\": {\"nullable\": true}}\n}\n",
    );
    let run = tokenline(&["schema", "check", &schema], "");
    assert_eq!((run.code, run.err.as_str()), (1, ""));
    let lines: Vec<_> = run.lines().iter().map(|line| line.replace(&schema, "FILE")).collect();
    assert_eq!(
        lines,
        [
            "FILE:5:36: /$defs/unused/nullable: unknown keyword `nullable`",
            "FILE:3:37: /properties/age/minimun: unknown keyword `minimun`; did you mean `minimum`?",
            "FILE:4:14: /requird: unknown keyword `requird`; did you mean `required`?",
            "FILE:1:1: strict mode: the root: set `additionalProperties` to false",
            "FILE:1:1: strict mode: the root: add `age` to `required`; if it is optional, allow `null` instead",
            "FILE: validation: compiled: 1 subschema",
        ]
    );
}

#[test]
fn the_exit_code_says_what_was_found() {
    let folder = folder();
    for (name, schema, code, strict, line) in [
        (
            "closed.json",
            r#"{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}"#,
            0,
            0,
            "validation: compiled: ",
        ),
        ("open.json", r#"{"type":"object"}"#, 0, 1, "strict mode: the root: "),
        (
            "later.json",
            r##"{"$schema":"http://json-schema.org/draft-07/schema#","prefixItems":[{}]}"##,
            1,
            1,
            "/prefixItems: `prefixItems` is a keyword of draft 2020-12 and later, without effect here",
        ),
        (
            "slow.json",
            r#"{"type":"object","additionalProperties":false,"unevaluatedProperties":false}"#,
            0,
            0,
            "validation: jsonschema, because of `unevaluatedProperties` at /unevaluatedProperties",
        ),
    ] {
        let schema = file(&folder, name, schema);
        let run = tokenline(&["schema", "check", &schema], "");
        assert_eq!(run.code, code, "{name}: {}", run.out);
        assert!(run.out.contains(line), "{name}: {}", run.out);
        assert_eq!(tokenline(&["schema", "check", &schema, "--strict"], "").code, strict, "{name}");
    }
    let broken = file(&folder, "broken.json", r#"{"type":"strin"}"#);
    let run = tokenline(&["schema", "check", &broken], "");
    assert_eq!((run.code, run.out.as_str()), (2, ""));
    assert!(run.err.contains("/type: "), "{}", run.err);
}

#[test]
fn a_schema_in_yaml_is_named_as_such() {
    let folder = folder();
    for (name, text) in [
        ("schema.yaml", "type: object\n"),
        ("schema.json", "# a comment\n$schema: https://json-schema.org/draft/2020-12/schema\n"),
        ("other.json", "---\ntype: object\n"),
    ] {
        let schema = file(&folder, name, text);
        let run = tokenline(&["validate", "--schema", &schema], "{}\n");
        assert_eq!(run.code, 2);
        assert!(run.err.contains("this is YAML, convert it to JSON first"), "{}", run.err);
    }
    let schema = file(&folder, "typo.json", "{type: object}");
    let run = tokenline(&["validate", "--schema", &schema], "{}\n");
    assert!(run.code == 2 && !run.err.contains("YAML"), "{}", run.err);
}
