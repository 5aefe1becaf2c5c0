//! Responses with one JSON value.

use serde_json::json;
use tokenline_core::Code;
use tokenline_core::json::Raw;
use tokenline_prompt::{JsonResponseErrorKind, Prompt, PromptError, PromptManager, Response};

fn manager() -> PromptManager {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
    let manager = PromptManager::new().with_prompt("any", Prompt::json("p")).unwrap();
    manager.with_prompt("object", Prompt::json("p").with_schema(schema)).unwrap()
}

#[test]
fn the_value_is_found() {
    let manager = manager();
    for (response, expected) in [
        // Alone.
        ("{\"b\": 1.50, \"a\": 1}", "{\"b\": 1.50, \"a\": 1}"),
        (" \n[1, 2]\r\n", "[1, 2]"),
        ("42", "42"),
        ("\"text\"", "\"text\""),
        ("null\n", "null"),
        ("\u{feff}{}", "{}"),
        ("{\"md\":\"```json\\n{}\\n```\"}", "{\"md\":\"```json\\n{}\\n```\"}"),
        // In a code fence: the first one.
        ("```json\n{\"a\":1}\n```", "{\"a\":1}"),
        ("```\n{\"a\":1}\n```\n", "{\"a\":1}"),
        ("Sure [of it]:\n\n```JSON\r\n[1,\r\n2]\r\n```\nDone {x}.", "[1,\r\n2]"),
        ("```json\n{\"a\":1}\n```\nor\n```json\n{\"a\":2}\n```", "{\"a\":1}"),
        ("```json {\"a\":1} ```", "{\"a\":1}"),
        ("```{\"a\":1}```", "{\"a\":1}"),
        ("Here: ```json\n{\"a\":1}\n```", "{\"a\":1}"),
        ("- as a list:\n  ```json\n  {\"a\":1}\n  ```", "{\"a\":1}"),
        ("```json\n{\"a\":1}", "{\"a\":1}"),
        ("```json\n\"text\"\n```", "\"text\""),
        ("```\n42\n```", "42"),
        ("```json\n{\"a\":1}\n{\"a\":2}\n```", "{\"a\":1}"),
        ("```python\nprint()\n```\n```json\n{}\n```", "{}"),
        ("The schema is {\"type\":\"object\"}:\n```json\n{\"a\":1}\n```", "{\"a\":1}"),
        ("````json\n{}\n````", "{}"),
        ("```json\n{\"a\":\"``` in it\"}\n```", "{\"a\":\"``` in it\"}"),
        // In prose: the first object or array.
        ("The answer is {\"a\":1}.", "{\"a\":1}"),
        ("The answer is {\"a\":1}, as you asked.", "{\"a\":1}"),
        ("{\"a\":1} {\"a\":2}", "{\"a\":1}"),
        ("I use {x}: {\"a\":1}", "{\"a\":1}"),
        ("{\"a\":NaN} was wrong, {\"a\":1} is right", "{\"a\":1}"),
        ("Result = {\"s\":\"```\"} then", "{\"s\":\"```\"}"),
        ("7 of them [1]: [{\"a\":1},2]", "[{\"a\":1},2]"),
        ("{\"a\":1},\n", "{\"a\":1}"),
        // After thinking aloud.
        ("<think>{\"a\":0}?</think>\n{\"a\":1}", "{\"a\":1}"),
        ("<think>\n```json\n{\"a\":0}\n```\n</think>\n\nThus {\"a\":1}", "{\"a\":1}"),
        ("[THINK][0][/THINK]42", "42"),
        // Text in which a tag is never closed.
        ("Okay.\n<think>\n```json\n{\"a\":0}\n```\n", "{\"a\":0}"),
    ] {
        let found: Raw = manager
            .apply("any", response)
            .unwrap_or_else(|error| panic!("{response:?}: {error}"))
            .into_json()
            .unwrap();
        assert_eq!(found, expected, "{response:?}");
    }
}

#[test]
fn a_response_without_a_value_is_a_parse_failure() {
    let manager = manager();
    for (response, offset, code, expected) in [
        ("", 0, Code::MalformedJson, "the response is empty at line 1, column 1"),
        ("I cannot.\nSorry.", 0, Code::MalformedJson, "the response contains no JSON at line 1, column 1"),
        ("{\"a\":", 5, Code::Truncated, "expected a value, found the end of the input at line 1, column 6"),
        (
            "Sure:\n{\"a\":\n  [1,",
            17,
            Code::Truncated,
            "expected a value, found the end of the input at line 3, column 6",
        ),
        (
            "{\"a\":NaN,\"b\":{\"c\":1}}",
            5,
            Code::MalformedJson,
            "expected a value, found a letter at line 1, column 6",
        ),
        (
            "{a: {\"b\":1}}",
            1,
            Code::MalformedJson,
            "expected a name in double quotes or `}`, found a letter at line 1, column 2",
        ),
        (
            "{\"a\":1,\n \"b\":x,\n \"c\":{}\n}\n",
            13,
            Code::MalformedJson,
            "expected a value, found a letter at line 2, column 6",
        ),
        (
            "{\"query\":\"x\"},\"limit\":10}",
            14,
            Code::TrailingData,
            "the object is balanced, but the line goes on with `\"` at line 1, column 15",
        ),
        ("```json\n```", 0, Code::MalformedJson, "the response contains no JSON at line 1, column 1"),
        ("[1] and 42", 0, Code::MalformedJson, "the response contains no JSON at line 1, column 1"),
        (
            "[\n{\"a\":1},\n{\"b\":x}\n]",
            1,
            Code::MalformedJson,
            "expected a value or `]`, found the end of the line at line 1, column 2",
        ),
        (
            "{\"a\":[\n{\"b\":1},\n{\"c\":",
            6,
            Code::Truncated,
            "expected a value or `]`, found the end of the line at line 1, column 7",
        ),
        (
            "```json\n{\"a\":[1,\n```",
            16,
            Code::MalformedJson,
            "expected a value, found the end of the line at line 2, column 9",
        ),
        ("\u{feff}{\"a\":x}", 8, Code::MalformedJson, "expected a value, found a letter at line 1, column 6"),
        (
            "\u{e9}: {\"a\":\u{e9}}",
            9,
            Code::MalformedJson,
            "expected a value, found a non-ASCII character at line 1, column 10",
        ),
    ] {
        let error = manager.apply("any", response).unwrap_err();
        assert_eq!(error.to_string(), format!("JSON parse fail: {expected}"), "{response:?}");
        let PromptError::Response(error) = error else { panic!("{error:?}") };
        assert_eq!(error.kind(), JsonResponseErrorKind::JsonParse);
        assert_eq!((error.offset(), error.diagnostic().code), (offset, code), "{response:?}");
    }
}

#[test]
fn a_value_that_violates_the_schema_is_a_validation_failure() {
    let manager = manager();
    assert_eq!(manager.apply("object", "{\"a\":1}").unwrap().into_json::<Raw>().unwrap(), "{\"a\":1}");
    for (response, offset, expected) in [
        ("[]", 0, "expected type object, found an array at line 1, column 1"),
        ("{}", 0, "missing required member `a` at line 1, column 1"),
        (
            "Sure:\n```json\n{\n  \"a\": \"secret\"\n}\n```",
            23,
            "expected type integer, found a string (at /a) at line 4, column 8",
        ),
        ("{\"a\":1,\"a\":2}", 7, "an object has two members of this name (at /a) at line 1, column 8"),
    ] {
        let error = manager.apply("object", response).unwrap_err();
        assert_eq!(error.to_string(), format!("Schema validation fail: {expected}"));
        let PromptError::Response(error) = error else { panic!("{error:?}") };
        assert_eq!((error.kind(), error.offset()), (JsonResponseErrorKind::SchemaValidation, offset));
    }
    let PromptError::Response(error) = manager.apply("object", "x {\"a\":\"y\"}").unwrap_err() else {
        panic!()
    };
    let finding = error.diagnostic();
    assert_eq!(
        (finding.instance_path.as_deref(), finding.schema_path.as_deref()),
        (Some("/a"), Some("/properties/a/type"))
    );
    assert_eq!((finding.span.start, finding.span.end, finding.line, finding.column), (2, 11, 1, 8));
}

#[test]
fn no_cut_of_a_value_yields_another() {
    let manager = manager();
    let value = "{\"a\": [1, {\"b\": \"}{\\\"\"}], \"c\": {\"d\": true}}";
    for before in ["", "Here: ", "```json\n", "I use {x}.\n"] {
        let response = format!("{before}{value}");
        for at in 0..response.len() {
            let error = manager.apply("any", &response[..at]).unwrap_err();
            assert!(error.to_string().starts_with("JSON parse fail: "), "{at}: {error}");
        }
        assert_eq!(manager.apply("any", response).unwrap().into_json::<Raw>().unwrap(), value);
    }
}

#[test]
fn many_openers_take_linear_time() {
    let manager = manager();
    for opener in ["[", "{", "{\"a\":[", "[}", "{x} "] {
        let response = opener.repeat(200_000 / opener.len());
        assert!(manager.apply("any", response).is_err());
    }
}

#[test]
fn values_in_think_blocks_are_skipped() {
    let manager = manager();
    let read = |response: &str| match manager.apply("any", response)? {
        Response::Json(value) => Ok(value.to_value().unwrap()),
        other => panic!("{other:?}"),
    };
    for response in [
        "<think>I could say {\"a\":0}</think>{\"a\":1}",
        "<think>\n```json\n{\"a\":0}\n```\n</think>\n```json\n{\"a\":1}\n```",
        "Okay.\n <think>{\"a\":0}</think>\n{\"a\":1}",
        "\u{feff}<think></think>\n<think>[0]</think> {\"a\":1}",
        "See `<think>`: {\"a\":1}",
    ] {
        assert_eq!(read(response), Ok::<_, PromptError>(json!({"a": 1})), "{response}");
    }
    for response in ["<think>I could say {\"a\":0}", "\n\n<think>\n```json\n{\"a\":0}\n```\n"] {
        let error = read(response).unwrap_err().to_string();
        assert!(
            error.starts_with("JSON parse fail: the input ends while the model is still thinking"),
            "{error}"
        );
    }
}

#[test]
fn backticks_in_prose_are_not_code_fences() {
    let manager = manager();
    for response in [
        "Run ```ls``` first. {\"a\":1}",
        "Inline ```code``` then\n```json\n{\"a\":1}\n```",
        "Note ```json is a fence. {\"a\":1}",
        "Here: ```json {\"a\":1}``` and ```json {\"a\":2}```",
    ] {
        let value: Raw = manager.apply("any", response).unwrap().into_json().unwrap();
        assert_eq!(value.to_compact(), "{\"a\":1}", "{response}");
    }
}

#[test]
fn prose_full_of_braces_takes_linear_time() {
    let manager = manager();
    for unit in ["Text {x} ", "[}", "{\"a}", "```", "<think>", "{{\"a\"}}", "``` {x"] {
        let response = unit.repeat(300_000) + "\n{\"a\":1}";
        // This would take minutes if each brace scanned the text around it.
        drop(manager.apply("any", response));
    }
}
