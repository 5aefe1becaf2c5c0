//! Documents with records, and records with several errors.

use serde_json::json;

use crate::common::{file, folder, tokenline};
use crate::validate::json_of;

#[test]
fn the_items_of_a_document_are_validated() {
    let folder = folder();
    let schema = file(&folder, "schema.json", r#"{"required":["n"],"properties":{"a":{"minimum":1}}}"#);
    let rejects = file(&folder, "rejects", "");
    let document = "{\"x\": [],\n \"items\": [\n  {\"n\": 1},\n  {\"é\": 1, \"a\": 0},\n  5,\n  {\"n\": 1,\n   \"a\": 0}\n]}\n";
    let args = ["validate", "--schema", &schema, "--items", "/items", "--reject-file", &rejects];
    let run = tokenline(&args, document);
    assert_eq!(
        run.lines(),
        [
            "stdin:4:3: schema_violation: missing required member `n`",
            "stdin:5:3: not_an_object: expected an object, found a number",
            "stdin:7:9: schema_violation: less than the minimum 1 (at /a)",
        ]
    );
    assert_eq!((run.code, &*run.err), (1, "stdin: 1 valid item, 3 errors\n"));
    let run = tokenline(&[&args[..], &["--all-errors", "--reject-content"]].concat(), document);
    assert_eq!(run.lines()[1], "stdin:4:18: schema_violation: less than the minimum 1 (at /a)");
    assert_eq!(run.lines().len(), 4);
    let written = std::fs::read_to_string(&rejects).expect("written");
    assert_eq!(written, "{\"é\": 1, \"a\": 0}\n5\n{\"n\":1,\"a\":0}\n");

    // The document is strict JSON; the root is an empty pointer.
    let root = ["validate", "--schema", &schema, "--items", ""];
    assert_eq!(tokenline(&root, "[{\"n\":1},\n{\"n\":2}]").code, 0);
    for (input, error) in [
        ("[{\"n\":1} {\"n\":2}]", "stdin:1:10: malformed_json: "),
        ("[{\"n\":1},\n", "stdin:2:1: truncated: "),
        ("{}", "stdin:1:1: missing_field: no array of items at ``"),
    ] {
        let run = tokenline(&root, input);
        assert!(run.code == 1 && run.out.starts_with(error), "{}{}", run.out, run.err);
    }
    let run = tokenline(&["validate", "--schema", &schema, "--items", "items"], document);
    assert_eq!((run.code, run.err.contains("--items: not a JSON Pointer")), (2, true), "{}", run.err);
}

#[test]
fn a_document_instead_of_lines_says_what_to_do() {
    let folder = folder();
    let schema = file(&folder, "schema.json", "{}");
    let records = ["validate", "--schema", &schema];
    let conversations = ["conversations", "validate"];
    for (input, items, other) in [
        ("[\n{\"a\":1},\n{\"a\":2}\n]\n", "use --items ''", "jq -c '.[]' FILE"),
        ("[{\"a\":1},{\"a\":2}]\n", "use --items ''", "jq -c '.[]' FILE"),
        ("\n{\n  \"a\": 1\n}\n", "with jq -c . FILE, or name", "write each conversation on one line"),
    ] {
        let run = tokenline(&records, input);
        assert_eq!((run.code, run.err.contains(items)), (1, true), "{}", run.err);
        let run = tokenline(&conversations, input);
        assert_eq!((run.code, run.err.contains(other)), (1, true), "{}", run.err);
    }
    for input in ["{\"a\":1}\n{\"a\":\n", "x\n[1]\n", "{\"a\":1"] {
        let run = tokenline(&conversations, input);
        assert!(!run.err.contains("jq"), "{}", run.err);
    }
}

#[test]
fn sarif_has_columns_in_characters_and_paths() {
    let folder = folder();
    let schema = file(&folder, "schema.json", r#"{"properties":{"n":{"type":"integer"}}}"#);
    let args = ["validate", "--schema", &schema, "--format", "sarif"];
    let run = tokenline(&args, "{\"é😀\":1,\"n\":\"x\"}\n");
    let log = json_of(&run.out);
    let result = &log["runs"][0]["results"][0];
    let region = json!({"startLine": 1, "startColumn": 13, "byteOffset": 16});
    assert_eq!(result["locations"][0]["physicalLocation"]["region"], region);
    assert_eq!(result["message"]["text"], "expected type integer, found a string (at /n)");
    assert_eq!(log["runs"][0]["columnKind"], "unicodeCodePoints");
}

#[test]
fn all_errors_of_a_record_are_reported_on_request() {
    let folder = folder();
    let schema = file(
        &folder,
        "schema.json",
        r#"{"required":["n"],"properties":{"a":{"minimum":1},"b":{"type":"string"}}}"#,
    );
    let rejects = file(&folder, "rejects", "");
    let input = "{\"a\":0,\"b\":1}\n{\"n\":1}\nx\n";
    let args = ["validate", "--schema", &schema, "--reject-file", &rejects];
    let run = tokenline(&[&args[..], &["--all-errors"]].concat(), input);
    assert_eq!(
        run.lines()[..3],
        [
            "stdin:1:1: schema_violation: missing required member `n`",
            "stdin:1:6: schema_violation: less than the minimum 1 (at /a)",
            "stdin:1:12: schema_violation: expected type string, found a number (at /b)",
        ]
    );
    assert_eq!((run.lines().len(), &*run.err), (4, "stdin: 1 valid line, 4 errors\n"));
    let written = std::fs::read_to_string(&rejects).expect("written");
    assert_eq!(written.lines().count(), 4);
    assert_eq!(tokenline(&args, input).lines().len(), 2);
    // A line is invalid once, however many errors it has.
    let run =
        tokenline(&[&args[..], &["--all-errors", "--reject-content", "--max-errors", "2"]].concat(), input);
    assert_eq!((run.lines().len(), &*run.err), (2, "stdin: 1 valid line, 4 errors, 2 of them not shown\n"));
    let written = std::fs::read_to_string(&rejects).expect("written");
    assert_eq!(written, "{\"a\":0,\"b\":1}\nx\n");
}
