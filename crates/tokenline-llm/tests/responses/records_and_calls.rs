//! Records and tool calls in one text.

use tokenline_core::json::Raw;
use tokenline_core::{Code, Options};
use tokenline_llm::{Provider, ResponseEvent, ResponseParser, TextMode};
use tokenline_schema::{SchemaValidator, ToolSet};

use crate::common::{at_every_cut, call, chunk, text};

const SCHEMA: &str = r#"{"properties":{"name":{"type":"string"},"age":{"type":"integer"}},"required":["name","age"],"additionalProperties":false}"#;
const TOOLS: &str = r#"[{"name":"weather","parameters":{"properties":{"city":{"type":"string"}},"required":["city"]}},{"name":"now"}]"#;

fn parser() -> ResponseParser<Raw> {
    ResponseParser::new(Provider::OpenAiChat, Options::lenient()).with_options(|options| {
        options
            .text_as(TextMode::RecordsAndToolCalls)
            .text_and_reasoning()
            .validator(SCHEMA.parse::<SchemaValidator>().expect("a schema"))
            .tools(ToolSet::from_json_str(TOOLS).expect("tools"))
    })
}

/// The records, calls, rejects and texts of a response, the same at every cut.
fn read(wire: &str) -> Vec<String> {
    let seen = at_every_cut(parser(), wire.as_bytes());
    let mut lines: Vec<String> = Vec::new();
    for event in seen.events {
        match event {
            ResponseEvent::Record { record, .. } => lines.push(record.value.to_string()),
            ResponseEvent::ToolCall { call, .. } => lines.push(format!("{}({})", call.name, call.parameters)),
            ResponseEvent::RejectedCall { call, .. } => {
                lines.push(format!("call {:?}: {}", call.name.as_deref(), call.diagnostic));
            }
            ResponseEvent::Rejected { diagnostic, .. } => lines.push(diagnostic.to_string()),
            ResponseEvent::Note { diagnostic, .. } if diagnostic.code == Code::CallInText => {
                lines.push(diagnostic.code.to_string());
            }
            ResponseEvent::Text { text, .. } => {
                match lines.last_mut().filter(|last| last.starts_with("> ")) {
                    Some(last) => last.push_str(&text),
                    None => lines.push(format!("> {text}")),
                }
            }
            _ => {}
        }
    }
    lines
}

fn read_text(content: &str) -> Vec<String> {
    read(&(text(content) + &chunk("{}", "stop") + "data: [DONE]\n\n"))
}

#[test]
fn calls_are_calls_and_every_other_object_is_a_record() {
    assert_eq!(
        read_text(concat!(
            "Two people, then the weather.\n",
            "{\"name\":\"Ada\",\"age\":36}\n",
            "{\"name\":\"weather\",\"arguments\":{\"city\":\"Paris\"}}\n",
            "<tool_call>{\"name\":\"now\",\"arguments\":{}}</tool_call>\n",
            "{\"name\":\"Bob\",\"age\":7}\n",
            "{\"name\":\"weather\",\"parameters\":{\"city\":\"Rome\"}}\n",
            "{\"name\":\"Eve\",\"age\":1}\n",
        )),
        [
            "> Two people, then the weather.\n",
            "{\"name\":\"Ada\",\"age\":36}",
            "weather({\"city\":\"Paris\"})",
            "now({})",
            "{\"name\":\"Bob\",\"age\":7}",
            "weather({\"city\":\"Rome\"})",
            "{\"name\":\"Eve\",\"age\":1}"
        ]
    );
}

#[test]
fn the_schema_is_for_records_and_the_tools_are_for_calls() {
    assert_eq!(
        read_text(concat!(
            "{\"name\":\"Ada\"}\n",
            "{\"name\":\"weather\",\"parameters\":{\"town\":\"Rome\"}}\n",
            "[TOOL_CALLS] [{\"name\":\"weather\",\"arguments\":{\"city\":\"Oslo\"}}]\n",
            // Without arguments, a tool's name is a name.
            "{\"name\":\"now\",\"age\":1}\n",
            // No tool has that name.
            "{\"name\":\"search\",\"arguments\":{}}\n",
            "<tool_call>{\"name\":\"search\",\"arguments\":{}}</tool_call>\n",
        )),
        [
            "1:1: schema_violation: missing required member `age`",
            "> {\"name\":\"Ada\"}\n",
            "call Some(\"weather\"): 2:32: invalid_parameters: missing required member `city` (at /parameters)",
            "weather({\"city\":\"Oslo\"})",
            "{\"name\":\"now\",\"age\":1}",
            "5:1: schema_violation: missing required member `age`",
            "> {\"name\":\"search\",\"arguments\":{}}\n<tool_call>",
            "call Some(\"search\"): 6:20: unknown_tool: no such tool; defined tools: `weather`, `now` (at /name)",
        ]
    );
}

#[test]
fn a_malformed_object_is_a_call_only_with_the_name_of_a_tool() {
    assert_eq!(
        read_text("{\"name\":\"Ada\",\"age\":x}\n{\"name\":\"weather\",\"arguments\":{\"city\":x}}\n"),
        [
            "1:21: malformed_json: expected a value, found a letter",
            "> {\"name\":\"Ada\",\"age\":x}\n",
            "call Some(\"weather\"): 2:39: malformed_json: expected a value, found a letter"
        ]
    );
}

#[test]
fn what_the_text_quotes_is_no_call() {
    let quoted = "```python\n{\"name\":\"weather\",\"arguments\":{\"city\":\"Paris\"}}\n```\n{\"name\":\"Ada\",\"age\":36}\n";
    let lines = read_text(quoted);
    assert!(!lines.iter().any(|line| line.starts_with("weather(")), "{lines:?}");
    assert_eq!(lines.last().map(String::as_str), Some("{\"name\":\"Ada\",\"age\":36}"));
}

#[test]
fn beside_native_calls_only_a_marked_one_is_a_call() {
    let wire = call("a", "now", "{}")
        + &text("{\"name\":\"weather\",\"arguments\":{\"city\":\"Paris\"}}\n{\"name\":\"Ada\",\"age\":36}\n")
        + &chunk("{}", "tool_calls")
        + "data: [DONE]\n\n";
    let mut lines = read(&wire);
    lines.retain(|line| !line.starts_with("> "));
    assert_eq!(lines, ["call_in_text", "{\"name\":\"Ada\",\"age\":36}", "now({})"]);
}

#[test]
fn a_call_is_not_invalid_while_it_is_open() {
    let mut parser = parser().with_options(|options| options.parse_text(Options::lenient().partials(true)));
    let mut invalid = Vec::new();
    for piece in [
        "{\"name\":\"weather\",\"arg",
        "uments\":{\"city\":\"Paris\"",
        "}}\n{\"name\":\"Ada\",\"x\":1,",
        "\"y\":2}\n",
    ] {
        parser.push(text(piece));
        while let Some(event) = parser.next_event() {
            match event {
                ResponseEvent::Invalid { diagnostic, .. } => invalid.push(diagnostic.to_string()),
                ResponseEvent::ToolCall { call, .. } => assert_eq!(call.name, "weather"),
                _ => {}
            }
        }
    }
    assert_eq!(invalid, ["2:19: schema_violation: unknown member (at /*)"]);
}
