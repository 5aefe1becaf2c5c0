//! Responses in JSON Lines: valid objects are a list, everything else is a warning.

use crate::common::{RESPONSES, cut, entities, manager, objects, schema, warnings};
use serde_json::json;
use tokenline_core::json::Raw;
use tokenline_prompt::{ObjectsWarning, Prompt, PromptManager};

#[test]
fn valid_objects_are_delivered() {
    let manager = manager();
    for (what, response, expected) in RESPONSES {
        let objects = objects(&manager, "extract", response);
        assert_eq!(entities(&objects), *expected, "{what}");
        assert_eq!(objects.report().records(), expected.len() as u64, "{what}");
        assert_eq!(objects.records().len(), expected.len(), "{what}");
    }
}

#[test]
fn invalid_lines_are_warnings_with_line_and_reason() {
    let warn = |response| warnings(&objects(&manager(), "extract", response));
    assert_eq!(warn("```json\n{\"entity\":\"a\"}\n```\n"), [""; 0]);
    let prose = "prose: text without a record";
    assert_eq!(warn("Here:\n{\"entity\":\"a\"}\n7\n"), [format!("1:1: {prose}"), format!("3:1: {prose}")]);
    assert_eq!(
        warn("{\"entity\":\"a\"}\n{\"entity\":NaN}\n[7]\n{\"entity\":7}\n{}\n{\"entity\":\"b\"}\n{\"ent"),
        [
            "2:11: malformed_json: expected a value, found a letter",
            "3:1: not_an_object: expected an object, found an array",
            "4:11: schema_violation: expected type string, found a number (at /entity)",
            "5:1: schema_violation: missing required member `entity`",
            "7:6: truncated: expected the rest of the string, found the end of the input",
        ]
    );
}

#[test]
fn no_object_is_an_empty_list_with_a_warning() {
    let manager = manager();
    for response in ["", "\n\n", "I cannot help with that.", "```json\n```"] {
        let objects = objects(&manager, "extract", response);
        assert!(objects.is_empty());
        let amiss: Vec<_> = objects.warnings().filter(|warning| !warning.is_note()).collect();
        assert_eq!(amiss, [ObjectsWarning::NoObjects], "{response:?}");
        assert_eq!(warnings(&objects).last().unwrap(), "the response contains no valid object");
    }
    let failed = objects(&manager, "extract", "{\"entity\":7}\n");
    assert_eq!(
        warnings(&failed),
        [
            "1:11: schema_violation: expected type string, found a number (at /entity)",
            "the response contains no valid object",
        ]
    );
}

#[test]
fn warnings_that_are_not_kept_are_counted() {
    let response = "{\"entity\":7}\n".repeat(1002) + "{\"entity\":\"a\"}\n";
    let objects = objects(&manager(), "extract", &response);
    assert_eq!(objects.warnings().count(), 1001);
    assert_eq!(warnings(&objects).last().unwrap(), "2 more were rejected");
    assert_eq!(entities(&objects), ["a"]);
}

#[test]
fn literals_and_the_order_of_members_stay() {
    let written = r#"{"z": 1.50, "entity": "\u0061", "a": 123456789012345678901234567890}"#;
    let objects = objects(&manager(), "extract", written);
    assert_eq!(objects[0].as_str(), written);
}

#[test]
fn schema_and_object_schema_give_the_same() {
    let strict = json!({"required": ["nothing has this"]});
    let prompts = [
        Prompt::jsonl("p").with_schema(schema()),
        Prompt::jsonl("p").with_object_schema(schema()),
        Prompt::jsonl("p").with_object_schema(schema()).with_schema(strict),
    ];
    let [one, two, both] = prompts.map(|prompt| PromptManager::new().with_prompt("extract", prompt).unwrap());
    for (what, response, _) in RESPONSES {
        let expected = objects(&one, "extract", response);
        assert_eq!(objects(&two, "extract", response), expected, "{what}");
        assert_eq!(objects(&both, "extract", response), expected, "{what}");
    }
}

#[test]
fn without_a_schema_every_object_is_valid() {
    let manager = PromptManager::new().with_prompt("any", Prompt::jsonl("p")).unwrap();
    let objects = objects(&manager, "any", "{}\n{\"a\":1,\"a\":2}\n[]\n{\"b\":[{}]}");
    assert_eq!(
        objects.iter().map(Raw::as_str).collect::<Vec<_>>(),
        ["{}", "{\"a\":1,\"a\":2}", "{\"b\":[{}]}"]
    );
}

#[test]
fn an_invalid_line_affects_only_itself() {
    let manager = manager();
    let bad = [
        "7",
        "null",
        "\"x\"",
        "```",
        "```json",
        "{\"entity\":NaN}",
        "{entity}",
        "{\"entity\":7}",
        "}",
        "]",
        "# x",
        "{\"entity\":\"x\"},\"limit\":10}",
        "{\"entity\":\"x",
        "",
        "// and so on",
        "[\"entity\"]",
    ];
    for line in bad {
        for end in ["\n", "\r\n"] {
            let response =
                format!("{{\"entity\":\"a\"}}{end}{line}{end}{{\"entity\":\"b\"}}{end}{{\"entity\":\"c\"}}");
            assert_eq!(entities(&objects(&manager, "extract", &response)), ["a", "b", "c"], "{line:?}");
        }
    }
}

#[test]
fn truncation_never_loses_a_complete_line() {
    let manager = manager();
    let lines = (0..12).map(|n| format!("{{\"entity\":\"e{n} \u{e9}\",\"n\":{n}}}\n"));
    let response: String = lines.collect();
    for at in 0..=response.len() {
        let part = cut(&response, at);
        let objects = objects(&manager, "extract", part);
        let whole = part.matches('\n').count();
        assert!(objects.len() >= whole, "{} of {whole} at {at}", objects.len());
        // The last one may be complete without its line feed; nothing is made up.
        let objects = objects.iter().map(Raw::as_str);
        assert!(objects.zip(response.lines()).all(|(object, line)| object == line));
    }
}

#[test]
fn truncated_json_lines_yield_what_a_json_array_loses() {
    let items: Vec<_> = (0..5).map(|n| json!({"entity": format!("e{n}")})).collect();
    let lines: String = items.iter().map(|item| format!("{item}\n")).collect();
    let array = json!(items).to_string();
    let schema = json!({"type": "array", "items": schema()});
    let manager = manager().with_prompt("array", Prompt::json("p").with_schema(schema)).unwrap();

    let whole: Vec<serde_json::Value> = manager.apply("array", array.as_str()).unwrap().into_json().unwrap();
    assert_eq!(whole, items);
    assert_eq!(entities(&objects(&manager, "extract", &lines)).len(), 5);
    for at in 0..array.len() {
        let error = manager.apply("array", &array[..at]).unwrap_err().to_string();
        assert!(error.starts_with("JSON parse fail"), "{error}");
        let part = cut(&lines, at);
        assert!(objects(&manager, "extract", part).len() >= part.matches('\n').count());
    }
}

#[test]
fn a_type_mismatch_is_a_warning() {
    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Short {
        entity: char,
    }
    let objects = objects(
        &manager(),
        "extract",
        "{\"entity\":\"a\"}\n{\"entity\":\"secret\"}\n{\"entity\":\"b\"}\n{\"e",
    );
    let short = objects.typed::<Short>();
    assert_eq!(*short, [Short { entity: 'a' }, Short { entity: 'b' }]);
    assert_eq!(short.records().map(|record| record.line).collect::<Vec<_>>(), [1, 3]);
    assert_eq!(
        warnings(&short),
        [
            "4:4: truncated: expected the rest of the string, found the end of the input",
            "2:11: schema_violation: invalid value: a string, expected a character (at /entity)",
        ]
    );
}
