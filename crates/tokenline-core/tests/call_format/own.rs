//! Syntaxes of the user's own.

use std::sync::Arc;

use serde_json::{Value, json};
use tokenline_core::call_format::{CallReader, CallStep, CallSyntax, CallText, Opener, ToolCallFormat};
use tokenline_core::{CallFormat, Limits};

use crate::driver::check;

/// `Action: name` and on the next line `Action Input: {...}`, as written by ReAct agents.
#[derive(Debug)]
struct ReAct;

impl ToolCallFormat for ReAct {
    fn name(&self) -> &str {
        "re_act"
    }

    fn openers(&self) -> Vec<Opener> {
        vec!["Action: ".into()]
    }

    fn start(&self, _: &Limits) -> Box<dyn CallReader> {
        Box::new(Reader { searched: 0, lines: Vec::new(), is_over: false })
    }
}

#[derive(Debug)]
struct Reader {
    searched: usize,
    lines: Vec<usize>,
    is_over: bool,
}

impl CallReader for Reader {
    fn read(&mut self, text: &str, is_end: bool) -> CallStep {
        if self.is_over {
            return CallStep::Done { end: 0 };
        }
        while self.lines.len() < 2 {
            match text[self.searched..].find('\n') {
                Some(at) => {
                    self.lines.push(self.searched + at);
                    self.searched += at + 1;
                }
                None if is_end => self.lines.push(text.len()),
                None => {
                    self.searched = text.len();
                    return CallStep::NeedMore;
                }
            }
        }
        let (name, input) = text[..self.lines[1]].split_at(self.lines[0]);
        let Some(input) = input.trim_start().strip_prefix("Action Input: ") else {
            return CallStep::NotACall;
        };
        self.is_over = true;
        match CallText::converted(0..self.lines[1], &name["Action: ".len()..], input, None) {
            Ok(call) => CallStep::Call(call),
            Err(fault) => CallStep::Malformed(fault),
        }
    }
}

#[test]
fn custom_formats() {
    check(
        &CallFormat::Custom(Arc::new(ReAct)),
        &[
            (
                "Thought: I look.\nAction: weather\nAction Input: {\"city\": \"Paris\"}\nAction: now\nAction Input: {}",
                &[
                    r#"{"name":"weather","parameters":{"city": "Paris"}}"#,
                    r#"{"name":"now","parameters":{}}"#,
                ],
            ),
            ("Action: none\nSo I am done.\n", &[]),
            (
                "Action: a\nAction Input: {x}\nAction: b\nAction Input: {}\n",
                &[
                    "malformed_json at 1: expected a name in double quotes or `}`, found a letter",
                    r#"{"name":"b","parameters":{}}"#,
                ],
            ),
        ],
    );
}

#[test]
fn names_and_equality() {
    let own = CallFormat::Custom(Arc::new(ReAct));
    assert_eq!(own.as_str(), "re_act");
    assert_eq!(own, own.clone());
    assert_ne!(own, CallFormat::Custom(Arc::new(ReAct)));
    for format in CallFormat::BUILT_IN {
        assert_eq!(CallFormat::from_name(format.as_str()).as_ref(), Some(format));
    }
    assert_eq!(CallFormat::from_name("re_act"), None);
}

#[test]
fn names_as_people_write_them() {
    for (written, name, family) in [
        ("Qwen/Qwen3-Coder", "function_tag", "qwen3-coder"),
        (" QWEN3\n", "hermes", "qwen3"),
        ("openai/GPT-OSS", "harmony", "gpt-oss"),
        ("MiniMaxAI/MiniMax-M2", "minimax-m2", "minimax-m2"),
        ("Function_Tag", "function_tag", "function_tag"),
        ("AUTO", "auto", "auto"),
    ] {
        let format = CallFormat::from_name(written).expect("a format");
        assert_eq!((format.as_str(), format.family()), (name, family), "{written}");
        assert_eq!(CallFormat::from_name(family), Some(format), "{written}");
    }
    for unknown in ["", "/", "Qwen/", "Qwen/Qwen3-Coder/main", "qwen3 coder", "qwen3-coder-30b"] {
        assert_eq!(CallFormat::from_name(unknown), None, "{unknown}");
    }
}

/// The error of a row that is written as JSON.
fn fault(row: &str) -> String {
    serde_json::from_str::<CallSyntax>(row).expect_err(row).to_string()
}

#[test]
fn a_wrong_row_is_refused_with_its_key_and_what_is_accepted() {
    const READERS: &str = "objects, named, named_line, python, python_line, elements, tool_tag, messages";
    let own = |members: &str| {
        fault(&format!(r#"{{"name": "own", "reads": ["objects"], "call": [["<<", ">>"]], {members}}}"#))
    };
    for (members, expected) in [
        (r#""reads": ["objekts"]"#, format!("`reads`, element 1: unknown reader \"objekts\"; expected one of {READERS}")),
        (r#""reads": "named""#, "`reads`: expected an array of readers, found a string".to_owned()),
        (r#""reads": []"#, format!("`reads` is missing or empty: expected one or more of {READERS}")),
        (
            r#""call": [["<<", ">>"], ["<"]]"#,
            "`call`, element 2: the closing marker is missing; it is \"\" if nothing closes the call".to_owned(),
        ),
        (
            r#""call": ["<<", ">>"]"#,
            "`call`, element 1: expected a pair of strings, [opening marker, closing marker], found a string".to_owned(),
        ),
        (r#""call": []"#, "`block` or `call` must have an opening marker, by which calls are found".to_owned()),
        (r#""needs_block": "yes""#, "`needs_block`: expected true or false, found a string".to_owned()),
        (r#""models": [1]"#, "`models`, element 1: expected a string, found a number".to_owned()),
        (r#""name_end": [""]"#, "`name_end` has an empty marker".to_owned()),
        (r#""markup": ["\n#"]"#, "`markup`: a marker must not begin with a newline, found \"\\n#\"".to_owned()),
        (
            r#""parameter": {"tags": [["<p", "</p>"]], "key_end": [">"], "trim": "all"}"#,
            "`parameter.trim`: unknown value \"all\"; expected one of nothing, newline, everything".to_owned(),
        ),
        (
            r#""parameter": {"tag": []}"#,
            "unknown key `parameter.tag`; the keys are tags, key_end, value, type_tags, type_attribute, trim, json".to_owned(),
        ),
        (r#""parameter": {}"#, "`parameter` needs `tags` and `key_end`".to_owned()),
        (r#""name": """#, "`name` is missing or empty".to_owned()),
    ] {
        assert_eq!(own(members), expected);
    }
    assert!(own(r#""opener": "<<""#).starts_with("unknown key `opener`; the keys are name, models, reads, "));
    let several = fault(r#"{"row": [{"name": "a"}, {"name": "b"}]}"#);
    assert!(
        several.starts_with("unknown key `row`; expected one syntax, without a key around it; "),
        "{several}"
    );
    assert_eq!(fault(r#"[{"name": "a"}]"#), "expected one syntax, an object, found an array of 1 element");
}

#[test]
fn an_example_must_be_a_call_of_its_row() {
    let row = |example: &str| {
        let example = serde_json::Value::from(example);
        format!(
            r#"{{"name": "own", "reads": ["named"], "call": [["<<", ">>"]], "name_end": [":"], "example": {example}}}"#
        )
    };
    for (example, found) in [
        ("weather(city='Paris')", "text: it has no opening marker of `block` or `call`"),
        ("So: <<weather, Paris>>", "text: what follows the marker \"<<\" does not fit the row"),
        ("\n<<weather: {\"city\": Paris}>>", "a reject: 2:21: malformed_json: "),
        ("<<weather: {\"city\"", "a reject: 1:19: truncated: "),
    ] {
        let message = fault(&row(example));
        assert!(message.starts_with(&format!("`example`: expected a call, found {found}")), "{message}");
    }
    assert!(serde_json::from_str::<CallSyntax>(&row("<<weather: {}>>")).is_ok());
    let needs_tool = r#"{"name": "own", "reads": ["named_line"], "name_end": ["\n"], "example": "now\n{}"}"#;
    assert!(serde_json::from_str::<CallSyntax>(needs_tool).is_ok(), "any tool counts as defined");

    let rows: Vec<serde_json::Value> = serde_json::from_str(CallSyntax::built_in_json()).expect("JSON");
    let alone = rows.into_iter().filter(|row| serde_json::from_value::<CallSyntax>(row.clone()).is_err());
    let alone: Vec<_> = alone.map(|row| row["note"].as_str().unwrap_or_default().to_owned()).collect();
    assert_eq!(
        alone,
        ["The messages to a tool, to the user and to itself, around calls, text and reasoning."]
    );
}

/// The message for an unknown key lists the keys that a row may have.
#[test]
fn an_unknown_key_is_answered_with_the_known_ones() {
    let fault = |row: Value| serde_json::from_value::<CallSyntax>(row).expect_err("a faulty row").to_string();
    let listed = |fault: &str| {
        let (_, keys) = fault.split_once("the keys are ").expect("a list");
        keys.split(", ").map(str::to_owned).collect::<Vec<_>>()
    };
    let rows: Vec<Value> = serde_json::from_str(CallSyntax::built_in_json()).expect("rows");
    let used = |rows: Vec<&Value>| {
        rows.iter().filter_map(|row| row.as_object()).flat_map(|row| row.keys().cloned()).collect::<Vec<_>>()
    };

    let keys = listed(&fault(json!({"unknown": 1})));
    assert!(used(rows.iter().collect()).iter().all(|key| keys.contains(key)), "{keys:?}");
    for key in &keys {
        assert!(!fault(json!({ key: null })).contains("unknown key"), "{key}");
    }
    let keys = listed(&fault(json!({"parameter": {"unknown": 1}})));
    assert!(used(rows.iter().map(|row| &row["parameter"]).collect()).iter().all(|key| keys.contains(key)));
    for key in &keys {
        assert!(!fault(json!({"parameter": { key: null }})).contains("unknown key"), "{key}");
    }
}

/// The work for a text is bounded, whatever a user's file has.
#[test]
fn the_number_of_markers_is_bounded() {
    let row = |pairs: usize| {
        let call: Vec<_> =
            (0..pairs).map(|index| [format!("<tag{index}>"), format!("</tag{index}>")]).collect();
        json!({"name": "many", "reads": ["objects"], "call": call}).to_string()
    };
    assert!(serde_json::from_str::<CallSyntax>(&row(32)).is_ok());
    assert_eq!(fault(&row(33)), "66 markers are more than 64, the limit");
}
