use tokenline_core::CallFormat;

use crate::driver::{Seen, at_every_split, check, found};

#[test]
fn json_in_tags() {
    let weather = r#"{"name":"weather","parameters":{"city": "Paris"}}"#;
    check(
        &CallFormat::FunctionTag,
        &[
            (r#"<function=weather>{"city": "Paris"}</function>"#, &[weather]),
            (r#"I look. <function name="weather">{"city": "Paris"} </function> So."#, &[weather]),
            (r#"<function name='weather' >{"city": "Paris"}</function>"#, &[weather]),
            (r#"<function="weather">{"city": "Paris"}</function>"#, &[weather]),
            (r#"<function=weather{"city": "Paris"}</function>"#, &[weather]),
            (
                "<function=a>{\n  \"x\": \"</function> } \\\" <function=\"\n}</function><function=b>{}</function>",
                &[
                    r#"{"name":"a","parameters":{   "x": "</function> } \" <function=" }}"#,
                    r#"{"name":"b","parameters":{}}"#,
                ],
            ),
            ("<tool_call><function=a>{}</function></tool_call> done", &[r#"{"name":"a","parameters":{}}"#]),
            // Another payload between the family's own tags.
            (
                "<tool_call>\n{\"name\":\"a\",\"arguments\":{}}\n</tool_call>",
                &[r#"{"name":"a","arguments":{}}"#],
            ),
        ],
    );
}

#[test]
fn a_tag_for_each_parameter() {
    check(
        &CallFormat::FunctionTag,
        &[
            (
                "<tool_call>\n<function=weather>\n<parameter=city>\nParis\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>",
                &[r#"{"name":"weather","parameters":{"city":"Paris","days":"3"}}"#],
            ),
            // One newline at either end is the template's, others belong to the value.
            (
                "<function=write><parameter=text>\n\n  a \"b\" \\ <c>\r\n\n</parameter><parameter name=\"path\">x</parameter></function>",
                &[r#"{"name":"write","parameters":{"text":"\n  a \"b\" \\ <c>\r\n","path":"x"}}"#],
            ),
            ("<function=now>\n</function>", &[r#"{"name":"now","parameters":{}}"#]),
            ("<function=a><parameter=x></parameter></function>", &[r#"{"name":"a","parameters":{"x":""}}"#]),
            // Inside a line, a tag is part of the value.
            (
                "<function=a>\n<parameter=x>\nsee </function> and <parameter=y>\n</parameter>\n</function>",
                &[r#"{"name":"a","parameters":{"x":"see </function> and <parameter=y>"}}"#],
            ),
            (
                "<tool_call>\n<function=a>\n</function>\n<function=b>\n</function>\n</tool_call>",
                &[r#"{"name":"a","parameters":{}}"#, r#"{"name":"b","parameters":{}}"#],
            ),
        ],
    );
}

#[test]
fn tags_inside_values() {
    let doc = "Close it with </parameter> and then </function>, as usual.\\nEnd.";
    let write = format!(r#"{{"name":"write","parameters":{{"path":"doc.md","content":"{doc}"}}}}"#);
    let text = doc.replace("\\n", "\n");
    let head = "<tool_call>\n<function=write>\n<parameter=path>\ndoc.md\n</parameter>\n<parameter=content>\n";
    check(
        &CallFormat::FunctionTag,
        &[
            (&format!("{head}{text}\n</parameter>\n</function>\n</tool_call>"), &[&write]),
            // On lines of their own, in a block.
            (
                "<tool_call>\n<function=a>\n<parameter=x>\n</parameter>\ntext\n</function>\n<b>\n</parameter>\n</function>\n</tool_call>",
                &[r#"{"name":"a","parameters":{"x":"</parameter>\ntext\n</function>\n<b>"}}"#],
            ),
            // White space is not what a value goes on with.
            (
                "<function=a><parameter=x>1</parameter>\n\n  <parameter=y>2 </parameter> </function>",
                &[r#"{"name":"a","parameters":{"x":"1","y":"2 "}}"#],
            ),
            // A call that is open before the next one begins.
            (
                "<function=a><parameter=x>1</parameter> and <function=b><parameter=y>2</parameter></function>",
                &[
                    "malformed_json at 39: expected `<parameter=` or `</function>`, found a letter",
                    r#"{"name":"b","parameters":{"y":"2"}}"#,
                ],
            ),
            (
                "<function=a><parameter=x>see </parameter> and",
                &["truncated at 45: the text ended inside a tool call"],
            ),
        ],
    );
    let glm = CallFormat::from_name("glm").expect("a row");
    check(
        &glm,
        &[(
            "<tool_call>write\n<arg_key>path</arg_key>\n<arg_value>p.py</arg_value>\n<arg_key>content</arg_key>\n<arg_value>END = \"</tool_call>\"\nVAL = \"</arg_value>\"\n</arg_value>\n</tool_call>\nDone.",
            &[
                r#"{"name":"write","parameters":{"path":"p.py","content":"END = \"</tool_call>\"\nVAL = \"</arg_value>\"\n"}}"#,
            ],
        )],
    );
}

#[test]
fn values_without_their_closing_tag() {
    check(
        &CallFormat::FunctionTag,
        &[
            (
                "<tool_call>\n<function=a>\n<parameter=x>\n1\n<parameter=y>\n<p>2</p>\n</function>\n</tool_call>",
                &[r#"{"name":"a","parameters":{"x":"1","y":"<p>2</p>"}}"#],
            ),
            (
                "<function=a>\n<parameter=x>\n1\n</function>\n<function=b>\n<parameter=y>\n2\n</parameter>\n</function>",
                &[r#"{"name":"a","parameters":{"x":"1"}}"#, r#"{"name":"b","parameters":{"y":"2"}}"#],
            ),
            // The text may go on, and the value with it.
            (
                "<function=a>\n<parameter=x>\n1\n</function>\n",
                &[r#"unsealed {"name":"a","parameters":{"x":"1"}}"#],
            ),
        ],
    );
    let glm = CallFormat::from_name("glm").expect("a row");
    check(
        &glm,
        &[(
            "<tool_call>a\n<arg_key>x</arg_key>\n<arg_value>1\n<arg_key>y</arg_key>\n<arg_value>2</arg_value>\n</tool_call>",
            &[r#"{"name":"a","parameters":{"x":"1","y":"2"}}"#],
        )],
    );
}

#[test]
fn text_that_is_not_a_call() {
    check(
        &CallFormat::FunctionTag,
        &[
            ("Write <function=name> and the arguments.", &[]),
            ("Write <function=name>{...}</function>.", &[]),
            ("<function=", &[]),
            ("<function=><function= ><function name=", &[]),
            ("<functional> <function> <function names>", &[]),
            ("<function=a><b>", &[]),
            ("{\"name\":\"a\",\"parameters\":{}}", &[]),
        ],
    );
    let long = format!("<function={}>{{}}</function>", "é".repeat(65));
    assert!(found(&CallFormat::FunctionTag, &long).is_empty(), "a name has at most 128 bytes");
}

#[test]
fn a_malformed_call_affects_only_itself() {
    check(
        &CallFormat::FunctionTag,
        &[
            ("<function=wea", &["truncated at 13: the text ended inside a tool call"]),
            ("<function=a>{\"city\":\"Par", &["truncated at 24: the text ended inside a tool call"]),
            // Complete arguments, and the end of the text where the closing tag should be.
            ("<function=a>{}", &[r#"unsealed {"name":"a","parameters":{}}"#]),
            ("<function=a>{}</func", &[r#"unsealed {"name":"a","parameters":{}}"#]),
            (
                "<function=a>\n<parameter=x>\n1\n</parameter>\n",
                &[r#"unsealed {"name":"a","parameters":{"x":"1"}}"#],
            ),
            ("<function=a>\n<parameter=x>\n1", &["truncated at 28: the text ended inside a tool call"]),
            (
                "<function=a>{\"x\":NaN,\"y\":{}}</function> <function=b>{}</function>",
                &[
                    "malformed_json at 17: expected a value, found a letter",
                    r#"{"name":"b","parameters":{}}"#,
                ],
            ),
            (
                "<function=a>{\"q\":\"x\"},\"limit\":10}</function> <function=b>{}</function>",
                &[
                    "trailing_data at 21: expected `</function>` after the arguments, found `,`",
                    r#"{"name":"b","parameters":{}}"#,
                ],
            ),
            (
                "<function=a>{}\n<function=b>{}</function>",
                &[
                    "trailing_data at 15: expected `</function>` after the arguments, found another character",
                    r#"{"name":"b","parameters":{}}"#,
                ],
            ),
            (
                "<function=a>[1]</function><function=b>{}</function>",
                &[
                    "invalid_parameters at 12: the arguments must be an object",
                    r#"{"name":"b","parameters":{}}"#,
                ],
            ),
            // The line after an unclosed call is still read.
            (
                "<function=a>{\"x\": 1\n<function=b>{}</function>",
                &[
                    "malformed_json at 20: expected `,` or `}`, found another character",
                    r#"{"name":"b","parameters":{}}"#,
                ],
            ),
            // What follows the end of the call may as well be text of the value.
            (
                "<function=a>\n<parameter=x>\n1\n</function>\nSo.\n<function=b>\n</function>",
                &[
                    "malformed_json at 29: a parameter's closing tag is missing",
                    r#"{"name":"b","parameters":{}}"#,
                ],
            ),
            (
                "<function=a><parameter=x>1</parameter><parameter=x>2</parameter></function><function=b></function>",
                // The last counts.
                &[r#"{"name":"a","parameters":{"x":"2"}}"#, r#"{"name":"b","parameters":{}}"#],
            ),
            (
                "<function=a><parameter=x>1</parameter>junk</function>",
                &["malformed_json at 38: expected `<parameter=` or `</function>`, found a letter"],
            ),
        ],
    );
    // At the beginnings of lines.
    let text = "<function=a>{\"x\":NaN\n  \"y\": {\"name\":\"no\"}\n}\nText.\n<function=b>{}</function>";
    let seen = at_every_split(&CallFormat::FunctionTag.detector(), text);
    let Seen::Fault { start: 0, end, .. } = &seen[0] else { panic!("{seen:?}") };
    assert!(text[*end..].starts_with("Text."), "{seen:?}");
    assert_eq!(seen.len(), 2);
}
