use tokenline_core::CallFormat;

use crate::driver::{Seen, at_every_split, check};

#[test]
fn objects_in_tags() {
    check(
        &CallFormat::Hermes,
        &[
            (
                "Let me look.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>\nDone.",
                &[r#"{"name": "weather", "arguments": {"city": "Paris"}}"#],
            ),
            (
                "<tool_call>{\"name\":\"a\",\"arguments\":{}}</tool_call><tool_call>{\"name\":\"b\",\"arguments\":{}}</tool_call>",
                &[r#"{"name":"a","arguments":{}}"#, r#"{"name":"b","arguments":{}}"#],
            ),
            // Tags inside strings end nothing.
            (
                r#"<tool_call>{"name":"a","arguments":{"x":"</tool_call> } \" <tool_call>"}}</tool_call>"#,
                &[r#"{"name":"a","arguments":{"x":"</tool_call> } \" <tool_call>"}}"#],
            ),
            // Several in one pair of tags, in a row or as a list.
            (
                "<tool_call>\n{\"name\":\"a\"}\n{\"name\":\"b\"}, {\"name\":\"c\"}\n</tool_call>",
                &[r#"{"name":"a"}"#, r#"{"name":"b"}"#, r#"{"name":"c"}"#],
            ),
            (
                "<tool_call>[{\"name\":\"a\"}, {\"name\":\"b\"}]</tool_call>",
                &[r#"{"name":"a"}"#, r#"{"name":"b"}"#],
            ),
            // The closing tag was used as a stop sequence.
            ("<tool_call>{\"name\":\"a\"}", &[r#"unsealed {"name":"a"}"#]),
            ("<tool_call>{\"name\":\"a\"}\n", &[r#"{"name":"a"}"#]),
            ("<tool_call>{\"name\":\"a\"}</tool", &[r#"{"name":"a"}"#]),
            (
                "<tool_call>{\"name\":\"a\"}<tool_call>{\"name\":\"b\"}",
                &[r#"{"name":"a"}"#, r#"unsealed {"name":"b"}"#],
            ),
        ],
    );
}

#[test]
fn objects_as_python_writes_them() {
    check(
        &CallFormat::Hermes,
        &[
            (
                "<tool_call>\n{'name': 'search', 'arguments': {'query': \"it's sunny\", 'active': True}}\n</tool_call>",
                &[r#"{"name":"search","arguments":{"query":"it's sunny","active":true}}"#],
            ),
            (
                "<tool_call>{\"name\": \"a\", \"arguments\": {\"x\": None, \"y\": (1, 'b'), \"z\": False}} {'name': 'b'}</tool_call>",
                &[r#"{"name": "a", "arguments": {"x": null,"y":[1,"b"],"z":false}}"#, r#"{"name":"b"}"#],
            ),
            (
                "<tool_call>{'name': 'a', 'text': '1\n\n2'}</tool_call><tool_call>{\"name\":\"b\"}</tool_call>",
                &[r#"{"name":"a","text":"1\n\n2"}"#, r#"{"name":"b"}"#],
            ),
            (
                "<tool_call>{\"name\": \"a\", \"arguments\": {\"x\": \"\\u00e9\\/\", \"y\": [1, 'b'], 'z': [{}, None, ], }}</tool_call>",
                &[r#"{"name": "a", "arguments": {"x": "\u00e9\/", "y": [1, "b"],"z":[{},null]}}"#],
            ),
            // In a string of JSON, there is no newline.
            (
                "<tool_call>{\"name\": \"a\", \"x\": True, \"y\": \"1\n2\"}</tool_call>\n<tool_call>{\"name\":\"b\"}</tool_call>",
                &["malformed_json at 30: expected a value, found a letter", r#"{"name":"b"}"#],
            ),
            (
                "<tool_call>{'name': 'a', 'x': 'y}</tool_call>\n<tool_call>{\"name\":\"b\"}</tool_call>",
                &[
                    "malformed_json at 12: expected a name in double quotes or `}`, found a single quote",
                    r#"{"name":"b"}"#,
                ],
            ),
            ("<tool_call>{'name': 'a', 'x': 'y", &["truncated at 32: the text ended inside a tool call"]),
            ("Write <tool_call>{'...'}</tool_call>.", &[]),
        ],
    );
}

#[test]
fn text_that_is_not_a_call() {
    check(
        &CallFormat::Hermes,
        &[
            ("{\"name\":\"a\",\"arguments\":{}}\n", &[]),
            ("Put it into <tool_call> and </tool_call>.", &[]),
            ("Write <tool_call>{...}</tool_call>.", &[]),
            ("<tool_call>", &[]),
            ("<tool_call> [1]", &[]),
            ("<tool_call><function=a>{}</function></tool_call>", &[]),
            ("<tool_ca", &[]),
        ],
    );
}

#[test]
fn a_malformed_call_affects_only_itself() {
    check(
        &CallFormat::Hermes,
        &[
            ("<tool_call>{\"name\":\"a", &["truncated at 21: the text ended inside a tool call"]),
            (
                "<tool_call>{\"name\":\"a\",\"arguments\":{\"x\":NaN,\"y\":{\"name\":\"no\"}}}</tool_call><tool_call>{\"name\":\"b\"}</tool_call>",
                &["malformed_json at 40: expected a value, found a letter", r#"{"name":"b"}"#],
            ),
            (
                "<tool_call>{\"q\":\"x\"},\"limit\":10}</tool_call>\n<tool_call>{\"name\":\"b\"}</tool_call>",
                &["trailing_data at 21: the object is balanced, but goes on with `\"`", r#"{"name":"b"}"#],
            ),
            // A newline in a string, and no closing tag.
            (
                "<tool_call>{\"code\":\"a\nb\"}\n<tool_call>{\"name\":\"b\"}</tool_call>",
                &[
                    "malformed_json at 21: expected the rest of the string, found the end of the line (control characters must be escaped)",
                    r#"{"name":"b"}"#,
                ],
            ),
            // Text on the next line is still read.
            (
                "<tool_call>{\"name\":\"a\",\n<tool_call>{\"name\":\"b\"}</tool_call>",
                &[
                    "malformed_json at 24: expected a name in double quotes, found another character",
                    r#"{"name":"b"}"#,
                ],
            ),
        ],
    );
}

#[test]
fn positions_are_those_of_the_objects() {
    let text = "é <tool_call> {\"name\":\"a\"} </tool_call> <tool_call>{\"x\":}</tool_call>.";
    let seen = at_every_split(&CallFormat::Hermes.detector(), text);
    let Seen::Call { start, written, .. } = &seen[0] else { panic!("{seen:?}") };
    assert_eq!((*start, written.as_str()), (15, r#"{"name":"a"}"#));
    let Seen::Fault { start, at, end, .. } = &seen[1] else { panic!("{seen:?}") };
    assert_eq!((&text[*start..*end], &text[*at..*at + 1]), (r#"{"x":}"#, "}"));
}
