//! `tokenline tools`.

use crate::common::{file, folder, tokenline};

const TOOLS: &str = r#"[{"name":"weather","description":"The weather of a city.","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}]"#;

#[test]
fn tools_are_described_to_a_model() {
    let folder = folder();
    let tools = file(&folder, "tools.json", TOOLS);
    let prompt = |args: &[&str]| tokenline(&[&["tools", "prompt", "--tools", &tools], args].concat(), "");
    let english = prompt(&[]);
    assert_eq!(english.code, 0);
    assert!(english.out.starts_with("Call tools in the following JSON Lines format"), "{}", english.out);
    assert!(
        english.out.contains("- weather: The weather of a city.")
            && english.out.contains("\"required\":[\"city\"]")
    );
    let chinese = prompt(&["--language", "zh", "--format", "single_json"]);
    assert!(chinese.out.starts_with("请按以下JSON格式调用工具："), "{}", chinese.out);
    let native = prompt(&["--format", "function_calling", "--provider", "ollama"]);
    assert!(
        native.out.starts_with("[{\"type\":\"function\",\"function\":{\"name\":\"weather\""),
        "{}",
        native.out
    );
    assert_eq!(tokenline(&["tools", "prompt"], "").code, 2);
    assert_eq!(prompt(&["--format", "morse"]).code, 2);
}

#[test]
fn calls_are_parsed_in_every_format() {
    let folder = folder();
    let tools = file(&folder, "tools.json", TOOLS);
    let call = "{\"name\":\"weather\",\"parameters\":{\"city\":\"Oslo\"}}";
    let escaped = call.replace('"', "\\\"");
    for (format, response) in [
        ("auto", format!("Sure:\n{call}\n")),
        ("auto", "[weather(city='Oslo')]".to_owned()),
        ("jsonl", format!("```\n{call}\n```")),
        ("single_json", format!("{call}\n")),
        ("function_calling", format!(r#"{{"choices":[{{"message":{{"content":"{escaped}","tool_calls":[]}}}}]}}"#)),
        (
            "function_calling",
            r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"weather","args":{"city":"Oslo"}}}]}}]}"#
                .to_owned(),
        ),
    ] {
        let run = tokenline(&["tools", "parse", "--format", format, "--tools", &tools], &response);
        assert_eq!((run.code, run.lines(), &*run.err), (0, vec![call], ""), "{format}: {response}");
    }
    let text = format!(
        "{{\"name\":\"weather\",\"parameters\":{{\"city\":1}}}}\n{{\"name\":\"fly\",\"parameters\":{{}}}}\n{call}\n{{\"name\":"
    );
    let run = tokenline(&["tools", "parse", "--tools", &tools], &text);
    assert_eq!((run.code, run.lines()), (0, vec![call]));
    assert_eq!(
        run.err.lines().collect::<Vec<_>>(),
        [
            "stdin:1:40: invalid_parameters: expected type string, found a number (at /parameters/city)",
            "stdin:2:9: unknown_tool: no such tool; defined tools: `weather` (at /name)",
            "stdin:4:9: truncated: expected a value, found the end of the input",
            "stdin: 1 tool call, 3 rejected",
        ]
    );
    assert_eq!(tokenline(&["tools", "parse", "--tools", &tools, "--deny"], &text).code, 1);
}
