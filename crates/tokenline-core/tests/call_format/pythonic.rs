use tokenline_core::CallFormat;

use crate::driver::{Seen, at_every_split, check};

#[test]
fn lists_of_calls() {
    check(
        &CallFormat::Pythonic,
        &[
            (
                r#"[weather(city="Paris", days=3), now()]"#,
                &[
                    r#"{"name":"weather","parameters":{"city":"Paris","days":3}}"#,
                    r#"{"name":"now","parameters":{}}"#,
                ],
            ),
            (
                "So: [\n  f( flag = True , off=False, none=None, list=[1, 'a', [ ],], obj={'k': 1.5, \"l\": {}} ,),\n  module.g(t=true, n=null),\n]\nDone.",
                &[
                    r#"{"name":"f","parameters":{"flag":true,"off":false,"none":null,"list":[1,"a",[]],"obj":{"k":1.5,"l":{}}}}"#,
                    r#"{"name":"module.g","parameters":{"t":true,"n":null}}"#,
                ],
            ),
            ("[now()]", &[r#"{"name":"now","parameters":{}}"#]),
            (
                "[f(x=1)]\n[g(x=-2.50e+3)]",
                &[r#"{"name":"f","parameters":{"x":1}}"#, r#"{"name":"g","parameters":{"x":-2.50e3}}"#],
            ),
            // Brackets and quotes in strings end nothing.
            (
                r#"[f(x=")], g(y='1')]", y='"]'), g()]"#,
                &[
                    r#"{"name":"f","parameters":{"x":")], g(y='1')]","y":"\"]"}}"#,
                    r#"{"name":"g","parameters":{}}"#,
                ],
            ),
            ("<|python_start|>[f(x=1)]<|python_end|>", &[r#"{"name":"f","parameters":{"x":1}}"#]),
            // A tuple is a list, and a value in parentheses is the value.
            (
                "[mark(size=(800, 600), one=(1,), none=(), at=((-1.5, 'a'), (2)), text=('b'), all=[(1, 2), (3)])]",
                &[
                    r#"{"name":"mark","parameters":{"size":[800,600],"one":[1],"none":[],"at":[[-1.5,"a"],2],"text":"b","all":[[1,2],3]}}"#,
                ],
            ),
        ],
    );
}

#[test]
fn strings_follow_python() {
    check(
        &CallFormat::Pythonic,
        &[
            (
                r#"[f(a='it\'s \"x\"', b="\x41\u00e9\U0001F600\101\0", c='\ud83d\ude00', d='\/ \d \t\n\\')]"#,
                &[
                    r#"{"name":"f","parameters":{"a":"it's \"x\"","b":"Aé😀A\u0000","c":"😀","d":"\\/ \\d \t\n\\"}}"#,
                ],
            ),
            (
                "[f(a='''one\ntwo ' '' \\''' end''', b=\"\"\"\"\"\", c='', d=\"\"\"say \"hi\" \"\"\")]",
                &[
                    r#"{"name":"f","parameters":{"a":"one\ntwo ' '' ''' end","b":"","c":"","d":"say \"hi\" "}}"#,
                ],
            ),
            (
                "[f(a='tab\there', b='one\\\ntwo', c='日本語')]",
                &[r#"{"name":"f","parameters":{"a":"tab\there","b":"onetwo","c":"日本語"}}"#],
            ),
            (
                r#"[f(a='\ud83d'), g()]"#,
                &[
                    "malformed_json at 6: expected the low half of a surrogate pair",
                    r#"{"name":"g","parameters":{}}"#,
                ],
            ),
            (
                r#"[f(a='\xZZ'), g()]"#,
                &[
                    "malformed_json at 6: expected a hexadecimal digit of an escape",
                    r#"{"name":"g","parameters":{}}"#,
                ],
            ),
            (
                r#"[f(a='\N{DASH}'), g()]"#,
                &[
                    "malformed_json at 6: characters by their names are not known",
                    r#"{"name":"g","parameters":{}}"#,
                ],
            ),
            ("[f(a='one\ntwo'), g()]", &["malformed_json at 9: a string ends with its line"]),
            // Between markers, a string may have lines.
            (
                "<|python_start|>[f(a='one\n\n  \"two\" \n', b=\"3\n\")]<|python_end|>",
                &[r#"{"name":"f","parameters":{"a":"one\n\n  \"two\" \n","b":"3\n"}}"#],
            ),
            (
                "<|python_start|>[f(a='one)]<|python_end|>\nIt's done.",
                &["malformed_json at 41: a string ends with its line"],
            ),
        ],
    );
}

#[test]
fn one_call_that_is_a_line() {
    check(
        &CallFormat::Pythonic,
        &[
            ("weather(city=\"Paris\")", &[r#"unsealed {"name":"weather","parameters":{"city":"Paris"}}"#]),
            (
                "Well:\n  weather(city='a\"b', n=[1]) \r\nText",
                &[r#"{"name":"weather","parameters":{"city":"a\"b","n":[1]}}"#],
            ),
            ("now()\n", &[r#"{"name":"now","parameters":{}}"#]),
            ("call weather(city=\"Paris\")\n", &[]),
            ("weather(city=\"Paris\") is how\n", &[]),
            ("weather(city=\"Paris\"\n)", &[]),
            ("weather(Paris)\nplot(x, y)\nif(x=1) {\n", &[]),
            ("weather(city=\"Par", &["truncated at 17: the text ended inside a tool call"]),
            ("weather(ci", &[]),
            ("weather", &[]),
        ],
    );
}

#[test]
fn text_that_is_not_a_call() {
    check(
        &CallFormat::Pythonic,
        &[
            ("[1, 2] [] [ ] [\"a\"] [{\"name\":\"a\"}]", &[]),
            ("[see the docs (x=1)] [note] [link(s)] [f(x, y)] [f(x=y)] [f(...)] [f(x=...)] [f(-x)]", &[]),
            ("[print()](print.md) [print(\"x\")", &["invalid_parameters at 27: an argument has no name"]),
            ("[print(x=1)](print.md)", &[]),
            ("[weather(city", &[]),
            ("[[[[[[f(", &[]),
            ("[3f(x=1)] [-f(x=1)] [f (x=1)]", &[]),
        ],
    );
}

#[test]
fn a_malformed_call_affects_only_itself() {
    check(
        &CallFormat::Pythonic,
        &[
            (
                "[a(x=1), b(\"two\"), c(y=3)]",
                &[
                    r#"{"name":"a","parameters":{"x":1}}"#,
                    "invalid_parameters at 11: an argument has no name",
                    r#"{"name":"c","parameters":{"y":3}}"#,
                ],
            ),
            (
                "[a(x=1), b(two), c(y=3)]",
                &[
                    r#"{"name":"a","parameters":{"x":1}}"#,
                    "invalid_parameters at 11: an argument has no name",
                    r#"{"name":"c","parameters":{"y":3}}"#,
                ],
            ),
            (
                "[a(x=1, x=2), b()]",
                &["malformed_json at 8: an argument is given twice", r#"{"name":"b","parameters":{}}"#],
            ),
            (
                "[a(x=1, y=foo(z=')')), b()]",
                &[
                    "malformed_json at 10: expected a literal, found a letter",
                    r#"{"name":"b","parameters":{}}"#,
                ],
            ),
            (
                "[a(x=0x10), b()]",
                &[
                    "malformed_json at 5: expected a decimal number, found a number",
                    r#"{"name":"b","parameters":{}}"#,
                ],
            ),
            (
                "[a(x=[1, <2, 3>]), b()]",
                &[
                    "malformed_json at 9: expected a literal, found another character",
                    r#"{"name":"b","parameters":{}}"#,
                ],
            ),
            (
                "[a(x={1: 2}), b()]",
                &[
                    "malformed_json at 6: expected a string or `}`, found a number",
                    r#"{"name":"b","parameters":{}}"#,
                ],
            ),
            (
                "[a(x='one' 'two'), b()]",
                &[
                    "malformed_json at 11: expected `,` or `)`, found a single quote",
                    r#"{"name":"b","parameters":{}}"#,
                ],
            ),
            ("[a(x=1) b()]", &["malformed_json at 8: expected `,` or `]`, found a letter"]),
            (
                "[a(x=1), 5, b()]",
                &[
                    r#"{"name":"a","parameters":{"x":1}}"#,
                    "malformed_json at 9: expected a call, found a number",
                    r#"{"name":"b","parameters":{}}"#,
                ],
            ),
            (
                "[a(x=1), b(y='cut",
                &[
                    r#"{"name":"a","parameters":{"x":1}}"#,
                    "truncated at 17: the text ended inside a tool call",
                ],
            ),
            ("[a(x=1", &["truncated at 6: the text ended inside a tool call"]),
            ("[a(x=1)", &[r#"unsealed {"name":"a","parameters":{"x":1}}"#]),
            ("[a(x=1),", &[r#"{"name":"a","parameters":{"x":1}}"#]),
            (
                "[a(x='one\nText.\n[b()]",
                &["malformed_json at 9: a string ends with its line", r#"{"name":"b","parameters":{}}"#],
            ),
        ],
    );
}

#[test]
fn positions_are_those_of_the_calls() {
    let text = "é [a(x=1), b(\"(\", y), c()]";
    let seen = at_every_split(&CallFormat::Pythonic.detector(), text);
    let Seen::Call { start, written, .. } = &seen[0] else { panic!("{seen:?}") };
    assert_eq!((*start, written.as_str()), (4, "a(x=1)"));
    let Seen::Fault { start, at, end, .. } = &seen[1] else { panic!("{seen:?}") };
    assert_eq!((&text[*start..*end], &text[*at..*at + 3]), ("b(\"(\", y)", "\"(\""));
    let Seen::Call { written, .. } = &seen[2] else { panic!("{seen:?}") };
    assert_eq!(written, "c()");
}
