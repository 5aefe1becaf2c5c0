//! Calls written into a text.

use tokenline_core::call_format::{CallReader, CallStep, CallText, Opener, ToolCallFormat};
use tokenline_core::{CallFormat, Code, Limits};
use tokenline_prompt::tools::ToolCallParser;

use crate::common::{described, every_way, parser, streamed_alike};
use crate::core_common::cases;

#[test]
fn the_standard_format() {
    let text = "{\"name\": \"weather\", \"parameters\": {\"city\": \"Paris\"}}\n{\"name\": \"now\", \"parameters\": {\"zone\": \"CET\"}}\n";
    let (calls, rejected) = described(&every_way(&parser("jsonl"), text));
    assert_eq!(
        calls,
        [
            r#"{"name":"weather","parameters":{"city":"Paris"}}"#,
            r#"{"name":"now","parameters":{"zone":"CET"}}"#,
        ]
    );
    assert!(rejected.is_empty());
}

#[test]
fn a_call_id_is_kept() {
    let text = "{\"name\": \"now\", \"parameters\": {}, \"call_id\": \"call_123\"}\n{\"name\": \"now\", \"parameters\": {}, \"call_id\": \"call_456\"}\n";
    let parsed = every_way(&parser("jsonl"), text);
    let ids: Vec<_> = parsed.calls.iter().map(|call| call.call_id.as_deref().unwrap()).collect();
    assert_eq!(ids, ["call_123", "call_456"]);
}

#[test]
fn a_call_is_delivered_with_its_error() {
    let text = "{\"name\": \"now\", \"parameters\": {}, \"error\": \"参数验证失败\"}\n{\"name\": \"now\", \"parameters\": {}}\n";
    let parsed = every_way(&parser("jsonl"), text);
    assert_eq!(parsed.calls[0].error.as_ref().unwrap(), "\"参数验证失败\"");
    assert_eq!(parsed.calls[1].error, None);
}

#[test]
fn an_invalid_line_affects_only_itself_and_is_reported_with_its_position() {
    let text = [
        r#"{"name": "weather", "parameters": {"city": "Paris"}}"#,
        r#"{"name": "weather", "parameters": {"city": }}"#,
        r#"{"name": "weather", "parameters": {}}"#,
        r#"{"name": "weather", "parameters": {"city": 7}}"#,
        r#"{"name": "wether", "parameters": {}, "call_id": "c5"}"#,
        r#"{"parameters": {}}"#,
        r#"{"name": "now", "zone": "UTC"}"#,
        r#"{"name": "now", "parameters": "{\"zone\": "}"#,
        r#"[1]"#,
        r#"7"#,
        r#""now""#,
        r#""#,
        r#"{"name": "now", "parameters": {}}"#,
        r#"{"name": "now", "parameters": {"#,
    ]
    .join("\n");
    let parsed = every_way(&parser("jsonl"), &text);
    let (calls, rejected) = described(&parsed);
    assert_eq!(
        calls,
        [r#"{"name":"weather","parameters":{"city":"Paris"}}"#, r#"{"name":"now","parameters":{}}"#,]
    );
    assert_eq!(
        rejected,
        [
            "2:44: malformed_json: expected a value, found `}`",
            "3:35: invalid_parameters: missing required member `city` (at /parameters)",
            "4:44: invalid_parameters: expected type string, found a number (at /parameters/city)",
            "5:10: unknown_tool: no such tool; did you mean `weather`? Defined tools: `weather`, `now` (at /name)",
            "6:1: missing_field: a tool call needs a `name`",
            "7:1: invalid_parameters: a tool call needs `parameters`",
            "8:31: invalid_parameters: the `parameters` are a string that is not JSON: expected a value, found the end of the input (at /parameters)",
            "9:1: not_an_object: expected an object, found an array",
            "14:32: truncated: expected a name in double quotes or `}`, found the end of the input",
        ]
    );
    assert_eq!(parsed.rejected[3].name.as_deref(), Some("wether"));
    assert_eq!(parsed.rejected[3].call_id.as_deref(), Some("c5"));
    assert_eq!(parsed.rejected[0].received, r#"{"name": "weather", "parameters": {"city": }}"#);
    assert_eq!((parsed.report.tool_calls(), parsed.report.rejected()), (2, 9), "{:?}", parsed.report);
    assert_eq!(parsed.report.by_code()[&Code::InvalidParameters], 4);
}

#[test]
fn prose_and_code_fences_are_skipped() {
    let text = "Sure, I call them:\n```json\n{\"name\": \"now\", \"parameters\": {}}\n```\nThere.\n";
    let parsed = every_way(&parser("jsonl"), text);
    assert_eq!((parsed.calls.len(), parsed.rejected.len()), (1, 0));
    assert_eq!(parsed.report.notes(), 2);
}

#[test]
fn several_calls_on_a_line_are_an_error() {
    let line = r#"{"name": "now", "parameters": {}} {"name": "now", "parameters": {"zone": "CET"}}"#;
    let parser = parser("jsonl");
    assert_eq!(streamed_alike(&parser, line).calls.len(), 2);
    let rejected = parser.parse_line(line).unwrap().unwrap_err();
    assert_eq!(
        rejected.to_string(),
        "1:1: trailing_data: the line contains several tool calls instead of one"
    );
    for blank in ["", "\n", "Sure:", "```json"] {
        assert!(parser.parse_line(blank).is_none(), "{blank}");
    }
}

#[test]
fn a_single_object_over_several_lines() {
    let text = "```json\n{\n    \"name\": \"weather\",\n    \"parameters\": {\n        \"city\": \"Paris\"\n    }\n}\n```";
    let parsed = streamed_alike(&parser("single_json"), text);
    assert_eq!(described(&parsed).0, [r#"{"name":"weather","parameters":{"city":"Paris"}}"#]);
    let list =
        r#"{"tool_calls": [{"name": "weather", "parameters": "{\"city\": "}, {"tool": "now", "args": {}}]}"#;
    let parsed = streamed_alike(&parser("single_json"), list);
    assert_eq!((parsed.calls.len(), parsed.rejected.len()), (1, 1));
}

#[test]
fn the_formats_of_models() {
    for (format, text) in [
        ("hermes", r#"<tool_call>{"name": "weather", "arguments": {"city": "Paris"}}</tool_call>"#),
        ("mistral", r#"[TOOL_CALLS] [{"name": "weather", "arguments": {"city": "Paris"}}]"#),
        ("function_tag", r#"<function=weather>{"city": "Paris"}</function>"#),
        ("pythonic", r#"[weather(city="Paris")]"#),
    ] {
        for format in [format, "auto"] {
            let parsed = streamed_alike(&parser(format), text);
            assert_eq!((parsed.calls.len(), parsed.rejected.len()), (1, 0), "{format}: {parsed:?}");
        }
    }
}

/// `@now {}`
#[derive(Debug)]
struct AtSign;

#[derive(Debug)]
struct AtSignReader(bool);

impl ToolCallFormat for AtSign {
    fn name(&self) -> &str {
        "at_sign"
    }
    fn openers(&self) -> Vec<Opener> {
        vec!["@".into()]
    }
    fn start(&self, _: &Limits) -> Box<dyn CallReader> {
        Box::new(AtSignReader(false))
    }
}

impl CallReader for AtSignReader {
    fn read(&mut self, text: &str, is_end: bool) -> CallStep {
        if self.0 {
            return CallStep::Done { end: 0 };
        }
        let end = match text.find('\n') {
            Some(end) => end,
            None if is_end => text.len(),
            None => return CallStep::NeedMore,
        };
        let Some((name, parameters)) = text[1..end].split_once(' ') else { return CallStep::NotACall };
        self.0 = true;
        match CallText::converted(0..end, name, parameters, None) {
            Ok(call) => CallStep::Call(call),
            Err(fault) => CallStep::Malformed(fault),
        }
    }
}

#[test]
fn a_custom_format() {
    let format = CallFormat::custom(AtSign);
    let parser = ToolCallParser::new(format);
    let text = "I look:\n@weather {\"city\": \"Paris\"}\n@now {\n@now {}\n";
    let (calls, rejected) = described(&every_way(&parser, text));
    assert_eq!(calls.len(), 2, "{rejected:?}");
    assert_eq!(rejected.len(), 1);
}

#[test]
fn truncated_calls_are_not_released() {
    let parser = parser("jsonl");
    let text = "{\"name\": \"now\", \"parameters\": {}}\n{\"name\": \"now\", \"parameters\": {}, \"call_id\": \"c2\"}";
    assert_eq!(parser.parse(text).calls.len(), 2);
    let cut = parser.parse_truncated(text);
    assert_eq!((cut.calls.len(), cut.rejected.len()), (1, 1));
    assert_eq!(cut.rejected[0].diagnostic.code, Code::Unsealed);
    assert_eq!(cut.rejected[0].call_id.as_deref(), Some("c2"));
}

#[test]
fn the_check_of_json_lines_reports_line_and_reason() {
    let parser = parser("jsonl");
    let good = "{\"name\": \"now\", \"parameters\": {}}\n\n{\"name\": \"weather\", \"parameters\": {\"city\": \"Oslo\"}}\n";
    assert!(parser.validate_jsonl(good).is_empty());
    let text = [
        "Sure:",
        "```json",
        r#"{"name": "now", "parameters": {}}"#,
        r#"{"name": "now", "parameters": {}},"#,
        r#"{"name": "wether", "parameters": {}}"#,
        r#"{"name": "weather", "parameters": {"city": 7}}"#,
        r#"{"name": 7, "parameters": {}}"#,
        r#"["now"]"#,
        r#"{"name": "now", "parameters": {"#,
    ]
    .join("\n");
    let findings: Vec<_> =
        parser.validate_jsonl(&text).iter().map(|finding| (finding.line, finding.code)).collect();
    assert_eq!(
        findings,
        [
            (1, Code::MalformedJson),
            (2, Code::MalformedJson),
            (4, Code::TrailingData),
            (5, Code::UnknownTool),
            (6, Code::InvalidParameters),
            (7, Code::MissingField),
            (8, Code::NotAnObject),
            (9, Code::Truncated),
        ]
    );
}

#[test]
fn diagnostics_do_not_repeat_values_and_are_bounded() {
    let text = "{\"name\": \"weather\", \"parameters\": {\"city\": 424242}}\n{\"name\": \"now\", \"parameters\": \"secret\"}\n{\"name\": secret}\n";
    for rejected in described(&every_way(&parser("jsonl"), text)).1 {
        assert!(!rejected.contains("secret") && !rejected.contains("424242"), "{rejected}");
    }
    let limits = Limits { diagnostics: 2, ..Limits::default() };
    let parsed = parser("jsonl").with_limits(limits).parse(text);
    assert_eq!((parsed.rejected.len(), parsed.report.rejected(), parsed.report.dropped()), (2, 3, 1));
}

/// Typical model output, with or without calls: at once and in chunks, the results agree.
#[test]
fn every_fixture_of_records() {
    let mut texts = 0;
    for case in cases::all() {
        let Ok(text) = String::from_utf8(case.input) else { continue };
        if text.len() <= 600 {
            texts += 1;
            streamed_alike(&parser("jsonl"), &text);
            streamed_alike(&ToolCallParser::new(CallFormat::Auto), &text);
        }
    }
    assert!(texts > 400, "{texts}");
}

#[test]
fn the_text_may_begin_inside_reasoning() {
    let call = r#"{"name":"now","parameters":{}}"#;
    let text = format!("{call}? No:\n</think>\n{call}\n");
    let content = serde_json::Value::from(text.as_str());
    let body = format!(r#"{{"choices":[{{"message":{{"content":{content}}}}}]}}"#);
    for (calling, response) in [("auto", &text), ("function_calling", &body)] {
        let parser = parser(calling);
        assert_eq!(parser.parse(response).calls.len(), 2, "{calling}");
        let parser = parser.in_reasoning(true);
        assert_eq!(parser.parse(response).calls.len(), 1, "{calling}");
        assert!(parser.parse_line(call).is_some(), "a line does not begin there");
    }
    assert_eq!(streamed_alike(&parser("auto").in_reasoning(true), &text).calls.len(), 1);
}
