use tokenline_core::CallFormat;

use crate::driver::check;

#[test]
fn lists_of_calls() {
    check(
        &CallFormat::Mistral,
        &[
            (
                r#"[TOOL_CALLS] [{"name": "weather", "arguments": {"city": "Paris"}, "id": "a1b2c3d4e"}, {"name":"now","arguments":{}}]"#,
                &[
                    r#"{"name": "weather", "arguments": {"city": "Paris"}, "id": "a1b2c3d4e"}"#,
                    r#"{"name":"now","arguments":{}}"#,
                ],
            ),
            (r#"[TOOL_CALLS][{"a":"]}"},{"b":1}"#, &[r#"{"a":"]}"}"#, r#"unsealed {"b":1}"#]),
            (r#"[TOOL_CALLS]{"name":"a"}"#, &[r#"unsealed {"name":"a"}"#]),
            ("[TOOL_CALLS] {\"name\":\"a\"}\nThat is it.", &[r#"{"name":"a"}"#]),
        ],
    );
}

#[test]
fn names_before_arguments() {
    check(
        &CallFormat::Mistral,
        &[
            (
                r#"[TOOL_CALLS]weather[ARGS]{"city": "Paris"}[TOOL_CALLS]now{}"#,
                &[
                    r#"{"name":"weather","parameters":{"city": "Paris"}}"#,
                    r#"unsealed {"name":"now","parameters":{}}"#,
                ],
            ),
            (
                "[TOOL_CALLS]weather[CALL_ID]a1b2c3d4e[ARGS]{\"city\":\"[ARGS] }\"}\n",
                &[r#"{"name":"weather","parameters":{"city":"[ARGS] }"},"call_id":"a1b2c3d4e"}"#],
            ),
            ("[TOOL_CALLS]a {\n\"x\": 1\n} ok", &[r#"{"name":"a","parameters":{ "x": 1 }}"#]),
            (
                "[TOOL_CALLS]a{},\n[TOOL_CALLS]b{}\n",
                &[r#"{"name":"a","parameters":{}}"#, r#"{"name":"b","parameters":{}}"#],
            ),
        ],
    );
}

#[test]
fn text_that_is_not_a_call() {
    check(
        &CallFormat::Mistral,
        &[
            ("[TOOL_CALLS]", &[]),
            ("[TOOL_CALLS] is a token.", &[]),
            ("the token [TOOL_CALLS], and", &[]),
            ("[TOOL_CALLS]name{...}", &[]),
            ("[TOOL_CALLS]name[x]", &[]),
            ("[TOOL_CALLS] []", &[]),
            ("[TOOL_", &[]),
            ("[a(x=1)]", &[]),
        ],
    );
}

#[test]
fn a_malformed_call_affects_only_itself() {
    check(
        &CallFormat::Mistral,
        &[
            (
                r#"[TOOL_CALLS] [{"name":"a"},{"na"#,
                &[r#"{"name":"a"}"#, "truncated at 31: the text ended inside a tool call"],
            ),
            ("[TOOL_CALLS]weather", &["truncated at 19: the text ended inside a tool call"]),
            ("[TOOL_CALLS]weather[AR", &["truncated at 22: the text ended inside a tool call"]),
            (
                r#"[TOOL_CALLS]weather[ARGS]{"city":"Par"#,
                &["truncated at 37: the text ended inside a tool call"],
            ),
            (
                r#"[TOOL_CALLS] [{"a":NaN,"b":{"c":"]"}}, 5, {"name":"b"}, "x", {"name":"c"}}, {"name":"d"}] ok"#,
                &[
                    "malformed_json at 19: expected a value, found a letter",
                    "not_an_object at 39: a tool call must be an object",
                    r#"{"name":"b"}"#,
                    "not_an_object at 56: a tool call must be an object",
                    "trailing_data at 73: the object is balanced, but goes on with `}`",
                    r#"{"name":"d"}"#,
                ],
            ),
            (
                "[TOOL_CALLS]a{\"q\":\"x\"},\"limit\":10}\n[TOOL_CALLS]b{}\n",
                &[
                    "trailing_data at 23: the arguments are balanced, but go on with `\"`",
                    r#"{"name":"b","parameters":{}}"#,
                ],
            ),
            (
                "[TOOL_CALLS]a[ARGS]5\n[TOOL_CALLS]b{}\n",
                &[
                    "invalid_parameters at 19: the arguments must be an object",
                    r#"{"name":"b","parameters":{}}"#,
                ],
            ),
        ],
    );
}
