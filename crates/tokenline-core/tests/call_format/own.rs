use std::sync::Arc;

use tokenline_core::call_format::{CallReader, CallStep, CallText, Opener, ToolCallFormat};
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
