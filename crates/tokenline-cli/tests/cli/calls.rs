//! Tool calls in text.

use crate::common::{file, folder, tokenline};

const TOOLS: &str = r#"[
  {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}},
  {"type": "function", "function": {"name": "now"}}
]"#;

#[test]
fn tool_calls_in_tags_and_brackets() {
    let call = "{\"name\":\"weather\",\"parameters\":{\"city\":\"Paris\"}}";
    for text in [
        "So: [weather(city='Paris')]\n",
        "<function=weather>{\"city\":\"Paris\"}</function>",
        "<tool_call>\n{\"name\":\"weather\",\"arguments\":{\"city\":\"Paris\"}}\n</tool_call>\n",
        "[TOOL_CALLS]weather[ARGS]{\"city\":\"Paris\"}",
    ] {
        let run = tokenline(&["parse", "--emit", "tool-calls"], text);
        assert_eq!((run.lines(), &*run.err), (vec![call], ""), "{text}");
    }
    let text = format!("{call}\n<function=weather>{{\"city\":\"Paris\"}}</function>\n");
    let run = tokenline(&["parse", "--emit", "tool-calls", "--format", "function_tag"], &text);
    assert_eq!(run.lines(), [call]);
    assert_eq!(tokenline(&["parse", "--format", "morse"], "").code, 2);
}

#[test]
fn records_and_tool_calls_in_one_text() {
    let folder = folder();
    let tools = file(&folder, "tools.json", TOOLS);
    let schema = file(
        &folder,
        "schema.json",
        r#"{"required":["age"],"additionalProperties":{"type":["integer","string"]}}"#,
    );
    let text = concat!(
        "{\"name\":\"Ada\",\"age\":36}\n",
        "<tool_call>{\"name\":\"now\",\"arguments\":{}}</tool_call>\n",
        "{\"name\":\"weather\",\"parameters\":{\"city\":\"Paris\"}}\n",
        "{\"name\":\"now\",\"age\":7}\n",
        "{\"name\":\"weather\",\"parameters\":{\"town\":\"Rome\"}}\n",
        "{\"name\":\"Bob\"}\n",
    );
    let response = format!(
        "{}\n",
        serde_json::json!({"message": {"content": text}, "done": true, "done_reason": "stop"})
    );
    for (from, input) in [("text", text), ("ollama", &response)] {
        let args = ["parse", "--from", from, "--schema", &schema, "--tools", &tools, "--emit"];
        let run = tokenline(&[&args[..], &["events"]].concat(), input);
        let mut seen = Vec::new();
        for line in run.lines() {
            let event: serde_json::Value = serde_json::from_str(line).expect("an event");
            match event["event"].as_str().expect("its kind") {
                kind @ ("record" | "tool_call") => seen.push(format!("{kind} {}", event["value"])),
                "rejected" => seen.push(event["code"].to_string()),
                _ => {}
            }
        }
        let expected = [
            r#"record {"name":"Ada","age":36}"#,
            r#"tool_call {"name":"now","parameters":{}}"#,
            r#"tool_call {"name":"weather","parameters":{"city":"Paris"}}"#,
            r#"record {"name":"now","age":7}"#,
            r#""invalid_parameters""#,
            r#""schema_violation""#,
        ];
        assert_eq!(seen, expected, "{from}: {}{}", run.out, run.err);

        let run = tokenline(&[&args[..], &["tool-calls"]].concat(), input);
        let calls =
            [r#"{"name":"now","parameters":{}}"#, r#"{"name":"weather","parameters":{"city":"Paris"}}"#];
        assert_eq!(run.lines(), calls);
        assert!(run.err.contains("use --emit events for records and tool calls"), "{}", run.err);
    }
}

#[test]
fn an_option_that_the_call_format_ignores_is_an_error() {
    for (args, message) in [
        (&["--emit", "records"][..], "--call-format needs --emit tool-calls, or --tools with "),
        (&["--emit", "tool-calls", "--mode", "strict"], "--call-format needs --mode lenient: "),
        (
            &["--emit", "tool-calls", "--items", "/calls"],
            "--items needs a --call-format whose calls are JSON objects, ",
        ),
    ] {
        let run = tokenline(&[&["parse", "--call-format", "qwen3-coder"], args].concat(), "{}\n");
        assert_eq!((run.code, &*run.out), (2, ""), "{args:?}");
        assert!(run.err.contains(message), "{}", run.err);
    }
    let text = "{\"calls\":[{\"name\":\"now\",\"arguments\":{}}]}\n";
    let items = ["parse", "--emit", "tool-calls", "--items", "/calls", "--call-format", "jsonl"];
    assert_eq!(tokenline(&items, text).lines(), [r#"{"name":"now","parameters":{}}"#]);
}

#[test]
fn tool_calls_in_text() {
    let folder = folder();
    let tools = file(&folder, "tools.json", TOOLS);
    let text = concat!(
        "I will look.\n",
        "{\"name\":\"weather\",\"parameters\":{\"city\": \"Paris\"},\"call_id\":\"c1\"}\n",
        "{\"parameters\":{\"x\":1e400},\"name\":\"now\",\"error\":\"clock stopped\",\"extra\":1}\n",
        "{\"name\":\"wether\",\"parameters\":{}}\n",
        "{\"name\":\"weather\",\"parameters\":{\"town\":\"Rome\"}}\n",
        "{\"name\":\"weather\",\"parameters\":[]}\n",
        "{\"parameters\":{}}\n",
        "{\"name\":\"now\",\"name\":\"weather\",\"parameters\":{\"city\":\"Oslo\"}}\n",
    );
    let run = tokenline(&["parse", "--emit", "tool-calls", "--tools", &tools], text);
    assert_eq!(run.code, 0, "{}", run.err);
    assert_eq!(
        run.lines(),
        [
            r#"{"name":"weather","parameters":{"city": "Paris"},"call_id":"c1"}"#,
            r#"{"name":"now","parameters":{"x":1e400},"error":"clock stopped"}"#,
        ]
    );
    let codes: Vec<&str> = run.err.lines().filter_map(|line| line.split(": ").nth(1)).collect();
    let expected =
        ["unknown_tool", "invalid_parameters", "invalid_parameters", "missing_field", "duplicate_key"];
    assert_eq!(codes[..5], expected, "{}", run.err);
    assert!(!run.err.contains("Rome") && !run.err.contains("Oslo"), "no values: {}", run.err);

    // Without definitions every name is valid.
    let run = tokenline(&["parse", "--emit", "tool-calls"], text);
    assert_eq!(run.lines().len(), 5);

    let events = tokenline(&["parse", "--emit", "events", "--tools", &tools], text);
    assert_eq!(
        events.lines()[1],
        r#"{"event":"tool_call","line":2,"start":13,"end":77,"completion":"newline","value":{"name":"weather","parameters":{"city": "Paris"},"call_id":"c1"}}"#
    );
    let rejected: serde_json::Value = serde_json::from_str(events.lines()[4]).expect("JSON");
    assert_eq!(
        (&rejected["code"], &rejected["instance_path"]),
        (&"invalid_parameters".into(), &"/parameters".into())
    );
}

#[test]
fn calls_by_other_keys_in_lists_and_coerced() {
    let folder = folder();
    let tools = r#"[{"name": "forecast", "parameters": {"properties": {"days": {"type": "integer"}}}}]"#;
    let tools = file(&folder, "tools.json", tools);
    let text = concat!(
        r#"{"tool_calls":[{"id":"c1","function":{"name":"forecast","arguments":"{\"days\": \"3\"}"}},"#,
        r#"{"tool":"forecast","args":{"days":1}},{"tool":"forecast","args":{"days":"x"}}]}"#,
        "\n{\"tool_calls\":[]}\n",
    );
    let run = tokenline(&["parse", "--emit", "tool-calls", "--tools", &tools], text);
    assert_eq!(run.lines(), [r#"{"name":"forecast","parameters":{"days":1}}"#]);
    assert!(run.err.contains("(at /tool_calls/0/function/arguments/days)"), "{}", run.err);

    let run = tokenline(&["parse", "--emit", "tool-calls", "--tools", &tools, "--coerce"], text);
    assert_eq!(
        run.lines(),
        [
            r#"{"name":"forecast","parameters":{"days": 3},"call_id":"c1"}"#,
            r#"{"name":"forecast","parameters":{"days":1}}"#
        ]
    );
    let run = tokenline(&["parse", "--emit", "events", "--tools", &tools, "--coerce"], text);
    let event: serde_json::Value = serde_json::from_str(run.lines()[0]).expect("JSON");
    assert_eq!(
        event["coerced"],
        serde_json::json!([{"instance_path": "/days", "from": "string", "to": "number"}])
    );
    assert!(!run.lines()[1].contains("coerced"));
    assert_eq!(tokenline(&["parse", "--coerce"], text).code, 2, "there is nothing to coerce to");
}

#[test]
fn a_rejected_call_is_reported_with_its_known_members() {
    let path = format!(
        "{}/../tokenline-llm/fixtures/anthropic/max-tokens-in-tool-without-stop.sse",
        env!("CARGO_MANIFEST_DIR")
    );
    let run = tokenline(&["parse", "--from", "anthropic", "--emit", "events", &path], "");
    assert_eq!(run.code, 0, "{}", run.err);
    let rejected = run.lines().into_iter().find(|line| line.contains(r#""event":"rejected""#)).expect("one");
    let rejected: serde_json::Value = serde_json::from_str(rejected).expect("JSON");
    assert_eq!((&rejected["code"], &rejected["origin"]), (&"truncated".into(), &"arguments".into()));
    assert!(rejected["call_id"].as_str().is_some_and(|id| id.starts_with("toolu_")), "{rejected}");
    let received = rejected["received"].as_str().expect("what was received");
    assert!(received.starts_with('{') && !run.err.contains(received), "{}", run.err);
}

/// A file with the most markers takes about as long as one with a single pair.
#[test]
fn time_does_not_grow_with_the_markers_of_a_file() {
    let folder = folder();
    let text = "word <tag a <b> x < y <tag1x {\"a\":1}\n<tag0>{\"name\":\"w\",\"arguments\":{}}</tag0>\n"
        .repeat(20_000);
    let text = file(&folder, "text", text);
    let time = |pairs: usize| {
        let call: Vec<_> =
            (0..pairs).map(|index| [format!("<tag{index}>"), format!("</tag{index}>")]).collect();
        let row = serde_json::json!({"name": "many", "reads": ["objects"], "call": call});
        let row = file(&folder, "row.json", row.to_string());
        let times = (0..3).map(|_| {
            let start = std::time::Instant::now();
            let run = tokenline(&["parse", "-q", "--emit", "tool-calls", "--call-format", &row, &text], "");
            assert_eq!((run.code, run.lines().len()), (0, 20_000), "{}", run.err);
            start.elapsed()
        });
        times.min().expect("some")
    };
    let (one, most) = (time(1), time(32));
    assert!(most < one * 6, "{most:?}, with one pair {one:?}");
}

#[test]
fn a_name_that_calls_do_not_have_is_not_shown() {
    let folder = folder();
    let tools = file(&folder, "tools.json", r#"[{"name":"weather","parameters":{"type":"object"}}]"#);
    let report = folder.path().join("report").display().to_string();
    let rejects = folder.path().join("rejects").display().to_string();
    let text = "{\"pwd_of_anna\":1,\"pwd_of_anna\":2}\n";
    let args = ["parse", "--emit", "tool-calls", "--tools", &tools];
    let run = tokenline(&[&args[..], &["--report-json", &report, "--reject-file", &rejects]].concat(), text);
    assert!(run.err.starts_with("stdin:1:18: duplicate_key: ") && run.err.contains("(at /*)"), "{}", run.err);
    for file in [report, rejects] {
        let written = std::fs::read_to_string(file).expect("it was written");
        assert!(written.contains("duplicate_key") && !written.contains("anna"), "{written}");
    }
    let shown = tokenline(&[&args[..], &["--show-names"]].concat(), text);
    assert!(shown.err.contains("(at /pwd_of_anna)"), "{}", shown.err);
    let args = ["tools", "parse", "--call-format", "jsonl", "--tools", &tools];
    let run = tokenline(&args, "{\"name\":\"weather\",\"parameters\":{},\"anna\":{\"x\":1,\"x\":2}}\n");
    assert!(run.err.contains("duplicate_key") && run.err.contains("(at /*)"), "{}", run.err);
}
