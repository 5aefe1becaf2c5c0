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
    for (args, message) in [
        (
            &["--language", "zh", "--call-format", "qwen3"][..],
            "--language needs --call-format jsonl or single_json: ",
        ),
        (
            &["--language", "en", "--call-format", "function_calling"],
            "--language needs --call-format jsonl or single_json: ",
        ),
        (&["--provider", "ollama"], "--provider needs --call-format function_calling: "),
        (
            &["--provider", "openai-chat", "--call-format", "qwen3"],
            "--provider needs --call-format function_calling: ",
        ),
    ] {
        let run = prompt(args);
        assert_eq!((run.code, &*run.out), (2, ""), "{args:?}");
        assert!(run.err.contains(message), "{}", run.err);
    }
}

#[test]
fn tools_and_results_are_written_for_a_model_family() {
    let folder = folder();
    let tools = file(&folder, "tools.json", TOOLS);
    let prompt =
        |format: &str| tokenline(&["tools", "prompt", "--tools", &tools, "--call-format", format], "");
    let qwen = prompt("qwen3-coder");
    assert!(qwen.out.starts_with("# Tools\n") && qwen.out.contains("<function>\n<name>weather</name>\n"));
    // The example in the prompt is a call for the parser.
    let parsed = tokenline(&["tools", "parse", "--call-format", "qwen3-coder"], &qwen.out);
    let call = r#"{"name":"example_function","parameters":{"example_parameter":"value"}}"#;
    assert_eq!((parsed.code, parsed.lines()), (0, vec![call]));

    let conversation = r#"{"messages": [
        {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "weather", "arguments": {}}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "21 °C, \"mild\""}
    ]}"#;
    let conversation = file(&folder, "conversation.json", conversation);
    let results = |format: &str, file: &str| {
        tokenline(&["tools", "prompt", "--results", file, "--call-format", format], "")
    };
    let run = results("gpt-oss", &conversation);
    let expected =
        "<|start|>functions.weather to=assistant<|channel|>commentary<|message|>21 °C, \"mild\"<|end|>";
    assert_eq!((run.code, &*run.out, &*run.err), (0, expected, ""));
    let expected = "<|im_start|>user\n<tool_response>\n21 °C, \"mild\"\n</tool_response><|im_end|>\n";
    assert_eq!(results("qwen3", &conversation).out, expected);

    let unknown = file(&folder, "unknown.json", r#"[{"role": "tool", "content": ""}]"#);
    let question = file(&folder, "question.json", r#"[{"role": "user", "content": ""}]"#);
    for (run, message) in [
        (prompt("cwm"), "there is no built-in tool prompt for the format `cwm`: "),
        (results("jsonl", &conversation), "results have a text only for a model family"),
        (results("kimi-k2", &unknown), "a result lacks the tool's name or the call's id, "),
        (results("qwen3", &question), "the last message must be a result"),
        (prompt("morse"), "unknown call format 'morse'"),
        (
            tokenline(&["tools", "prompt", "--results", &conversation, "--tools", &tools], ""),
            "cannot be used with",
        ),
    ] {
        assert_eq!((run.code, &*run.out), (2, ""), "{}", run.err);
        assert!(run.err.contains(message), "{message}: {}", run.err);
    }
}

#[test]
fn names_of_call_formats_need_not_be_exact() {
    let text = "<function=now></function>";
    for name in ["qwen3-coder", "Qwen/Qwen3-Coder", " QWEN3-CODER "] {
        let run = tokenline(&["tools", "parse", "--call-format", name], text);
        assert_eq!((run.code, &*run.out), (0, "{\"name\":\"now\",\"parameters\":{}}\n"), "{}", run.err);
        let run = tokenline(&["tools", "formats", name], "");
        assert!(run.out.starts_with("function_tag"), "{}", run.out);
    }
    let folder = folder();
    let tools = file(&folder, "tools.json", TOOLS);
    let prompt = |name: &str| tokenline(&["tools", "prompt", "--tools", &tools, "--call-format", name], "");
    assert_eq!(prompt("google/FunctionGemma").out, prompt("functiongemma").out);

    for (name, nearest) in [
        ("morse", "'morse': `tokenline tools formats` lists all"),
        ("openai/GPT-OSS-20b", "the nearest name is gpt-oss; `tokenline tools formats` lists all"),
        ("Qwen/Qwen3-Coder-30B-A3B", "the nearest names are qwen3-coder, qwen3; "),
        ("deepseek", "the nearest names are deepseek-r1, deepseek-v3, deepseek-v4; "),
        ("qwn3", "the nearest name is qwen3; "),
        ("jsonll", "the nearest name is jsonl; "),
    ] {
        for command in
            [&["parse", "--call-format"][..], &["tools", "prompt", "--call-format"], &["tools", "formats"]]
        {
            let run = tokenline(&[command, &[name]].concat(), "");
            assert_eq!((run.code, &*run.out), (2, ""), "{}", run.err);
            assert!(run.err.contains("unknown call format ") && run.err.contains(nearest), "{}", run.err);
        }
    }
    let native = tokenline(&["parse", "--call-format", "function_calling"], "");
    assert!(native.err.contains("the calls are not in the text"), "{}", native.err);
}

#[test]
fn every_call_format_is_listed_with_what_it_is() {
    let all = tokenline(&["tools", "formats"], "");
    assert!(all.out.starts_with("auto*\n  The syntax of the first complete call, "), "{}", all.out);
    assert!(
        all.out.contains("\n\nsingle_json*\n  One JSON object: ")
            && all.out.contains("\n\ncwm: code-world-model\n")
    );
    assert!(all.out.ends_with("as its chat template does.\n"), "{}", all.out);
    let kimi = tokenline(&["tools", "formats", "kimi-k2"], "").out;
    let entries: Vec<_> = kimi.split("\n\n").collect();
    assert!(entries[0].starts_with("kimi-k2*: kimi-k2.5\n  As the model writes it, "), "{kimi}");
    assert!(entries[1].starts_with("kimi-k2*: kimi-k2.5\n  Where the server strips "), "{kimi}");
    let hyper = tokenline(&["tools", "formats", "hyperclovax"], "").out;
    assert!(!hyper.contains('*'), "no mark, no legend: {hyper}");

    // Each example is a call of its name.
    let entries = all.out.split("\n\n").filter(|entry| entry.contains("\n    "));
    let folder = folder();
    let tools = file(&folder, "tools.json", r#"[{"name": "weather"}, {"name": "now"}]"#);
    for entry in entries {
        let (name, _) = entry.split_once(|c: char| "*:\n".contains(c)).expect("a name");
        let example: String =
            entry.lines().filter_map(|line| Some(format!("{}\n", line.strip_prefix("    ")?))).collect();
        let run = tokenline(&["tools", "parse", "--call-format", name, "--tools", &tools], &example);
        assert!(!run.out.is_empty() && run.err.is_empty(), "{entry}: {}", run.err);
    }

    let json = tokenline(&["tools", "formats", "kimi-k2", "--json"], "");
    assert_eq!((json.lines().len(), json.out.contains("\"name\":\"kimi-k2\"")), (2, true));
    let json = tokenline(&["tools", "formats", "jsonl", "--json"], "");
    assert!(json.err.contains("no file describes the call format 'jsonl'"), "{}", json.err);
}

#[test]
fn the_response_may_begin_inside_reasoning() {
    let text = "[now()]? No:\n</think>\n[weather(city='Oslo')]\n";
    let call = r#"{"name":"weather","parameters":{"city":"Oslo"}}"#;
    for command in [&["tools", "parse"][..], &["parse", "--emit", "tool-calls"]] {
        assert_eq!(tokenline(command, text).lines().len(), 2, "{command:?}");
        let run = tokenline(&[command, &["--in-reasoning"]].concat(), text);
        assert_eq!((run.code, run.lines()), (0, vec![call]), "{command:?}: {}", run.err);
    }
    let strict = tokenline(&["parse", "--in-reasoning", "--mode", "strict"], text);
    assert_eq!(strict.code, 2, "{}", strict.err);
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

#[test]
fn a_syntax_of_ones_own_is_read_from_a_file() {
    let folder = folder();
    let row = "name = \"angle\"\nreads = [\"named\"]\ncall = [[\"<<\", \">>\"]]\nname_end = [\":\"]\n";
    let parse = |name: &str, content: &str| {
        let file = file(&folder, name, content);
        tokenline(&["tools", "parse", "--call-format", &file], "<<now: {}>>")
    };
    let example = "example = \"\"\"\n<<weather: {\"city\": \"Paris\"}>>\n\"\"\"\n";
    let run = parse("angle.toml", &format!("{row}{example}"));
    assert_eq!((run.code, &*run.out), (0, "{\"name\":\"now\",\"parameters\":{}}\n"), "{}", run.err);

    let two = tokenline(&["tools", "formats", "kimi-k2", "--json"], "").out;
    for (name, content, message) in [
        ("example.toml", format!("{row}example = \"now()\""), "`example`: expected a call, found text: "),
        (
            "readers.toml",
            row.replace("named", "name"),
            "`reads`, element 1: unknown reader \"name\"; expected one of objects, ",
        ),
        ("pair.toml", row.replace(", \">>\"", ""), "`call`, element 1: the closing marker is missing; "),
        (
            "key.toml",
            row.replace("name_end", "nameend"),
            "unknown key `nameend`; the keys are name, models, ",
        ),
        (
            "several.toml",
            format!("[[row]]\n{row}\n[[row]]\n{row}"),
            "unknown key `row`; expected one syntax, ",
        ),
        ("two.json", two, "line 2: more text after the syntax; a file describes one"),
        ("bad.toml", "name = \"a\"\nreads = [named]".to_owned(), "line 2: not TOML: "),
        ("bad.json", "{\"name\" \"a\"}".to_owned(), "not JSON: expected `:` at line 1 column 9"),
        ("empty.json", "\n".to_owned(), "the file is empty"),
    ] {
        let run = parse(name, &content);
        assert_eq!((run.code, &*run.out), (2, ""), "{name}");
        assert!(run.err.contains(&format!("{name}: {message}")), "{message}: {}", run.err);
    }
}

#[test]
fn a_bad_byte_loses_a_line_and_not_the_response() {
    let response = b"{\"name\":\"a\",\"parameters\":{}}\n{\"name\":\"b\",\"parameters\":{\"x\":\"\xff\"}}\n{\"name\":\"c\",\"parameters\":{}}\n";
    for format in ["auto", "jsonl", "function_calling"] {
        let run = tokenline(&["tools", "parse", "--call-format", format], response);
        let calls = [r#"{"name":"a","parameters":{}}"#, r#"{"name":"c","parameters":{}}"#];
        assert_eq!((run.code, run.lines()), (0, calls.to_vec()), "{format}: {}", run.err);
        assert!(run.err.contains("stdin:2:32: invalid_utf8: the line is not UTF-8"), "{}", run.err);
        assert_eq!(tokenline(&["tools", "parse", "--call-format", format, "--deny"], response).code, 1);
    }
}
