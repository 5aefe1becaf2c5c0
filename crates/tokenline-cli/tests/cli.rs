//! The program, run as a user runs it.

mod common;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use common::{file, fixture, folder, tokenline};

const ANSWER: &str =
    "Sure:\n```json\n{\"a\": 1.50, \"b\":\"\\u00e9\"},\n{\"a\":NaN}\n{\"a\":\"x\"}\n```\n{\"a\":2";

#[test]
fn records_are_written_with_their_own_bytes() {
    let run = tokenline(&["parse"], ANSWER);
    assert_eq!(run.code, 0);
    assert_eq!(run.lines(), ["{\"a\": 1.50, \"b\":\"\\u00e9\"}", "{\"a\":\"x\"}"]);
    assert_eq!(
        run.err.lines().collect::<Vec<_>>(),
        [
            "stdin:4:6: malformed_json: expected a value, found a letter",
            "stdin:7:7: truncated: expected `,` or `}`, found the end of the input",
            "stdin: 2 records, 2 rejected, 1 line of prose",
        ]
    );
    assert_eq!(tokenline(&["parse", "--deny"], ANSWER).code, 1);
    assert_eq!(tokenline(&["parse", "--deny"], "{}\n").code, 0);
}

#[test]
fn it_stops_at_so_many_records() {
    let folder = folder();
    let report = folder.path().join("report.json");
    let args = ["parse", "--max-records", "1", "--deny", "--report-json", report.to_str().expect("UTF-8")];
    let run = tokenline(&args, ANSWER);
    assert_eq!((run.code, run.lines(), &*run.err), (0, vec!["{\"a\": 1.50, \"b\":\"\\u00e9\"}"], ""));
    let report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(report).expect("a report")).expect("JSON");
    let told = (&report["ended_by"], &report["complete"], &report["records"]);
    assert_eq!(told, (&"max_records".into(), &false.into(), &1.into()));
    assert_eq!(tokenline(&["parse", "--max-records", "0"], ANSWER).code, 2);
    // Of a provider's stream too, which need not be complete then; what is not written is not counted.
    let stream = fixture("tool-calls-in-text.sse");
    let from = ["parse", &stream, "--from", "openai-chat", "--emit", "tool-calls", "--max-records", "2"];
    let run = tokenline(&from, "");
    assert_eq!((run.code, run.lines().len(), &*run.err), (0, 2, ""));
}

#[test]
fn it_stops_at_too_many_rejects() {
    let run = tokenline(&["parse", "--max-errors", "0"], ANSWER);
    assert_eq!((run.code, run.lines().len()), (1, 1));
    assert_eq!(
        run.err.lines().collect::<Vec<_>>(),
        [
            "stdin:4:6: malformed_json: expected a value, found a letter",
            "stdin: the stream was ended at reject 1: its error budget is 0",
            "stdin: 1 record, 1 rejected, 1 line of prose",
        ]
    );
    assert_eq!(tokenline(&["parse", "--max-errors", "1"], ANSWER).code, 1);
    assert_eq!(tokenline(&["parse", "--max-errors", "2"], ANSWER).code, 0);
    assert_eq!(tokenline(&["parse", "--max-errors", "2", "--deny"], ANSWER).code, 1);
    assert_eq!(tokenline(&["parse", "--max-errors", "0"], "Prose.\n{}\n").code, 0);
}

#[test]
fn what_is_written_does_not_depend_on_the_chunks() {
    for extra in [
        &[][..],
        &["--mode", "strict"],
        &["--eager"],
        &["--emit", "events"],
        &["--emit", "tool-calls"],
        &["--max-records", "1"],
        &["--max-errors", "0"],
    ] {
        let whole = tokenline(&[&["parse"], extra].concat(), ANSWER);
        for size in ["1", "3", "10"] {
            let cut = tokenline(&[&["parse", "--chunk-size", size], extra].concat(), ANSWER);
            assert_eq!((cut.code, cut.out, cut.err), (whole.code, whole.out.clone(), whole.err.clone()));
        }
    }
}

#[test]
fn events_carry_their_places() {
    let folder = folder();
    let schema = file(&folder, "schema.json", r#"{"properties":{"a":{"type":"string"}}}"#);
    let run = tokenline(
        &["parse", "--emit", "events", "--schema", &schema],
        "{\"a\": \"enough text\"}\n{\"a\": 1, \"b\": 1234}\nText.\n",
    );
    assert_eq!(
        run.lines(),
        [
            r#"{"event":"record","line":1,"start":0,"end":20,"completion":"newline","value":{"a": "enough text"}}"#,
            r#"{"event":"rejected","code":"schema_violation","line":2,"start":21,"end":40,"column":7,"instance_path":"/a","schema_path":"/properties/a/type","message":"expected type string, found a number"}"#,
            r#"{"event":"note","code":"prose","line":3,"start":41,"end":46,"column":1,"message":"text without a record"}"#,
        ]
    );
}

const TOOLS: &str = r#"[
  {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}},
  {"type": "function", "function": {"name": "now"}}
]"#;

#[test]
fn partials_tell_how_a_record_grows_and_what_becomes_of_it() {
    let text = "{\"a\": \"caf\\u00e9\", \"n\":0.90}\n{\"b\":[true,NaN]}\n";
    let run = tokenline(&["parse", "--emit", "partials", "--chunk-size", "4"], text);
    assert_eq!(run.code, 0);
    assert_eq!(
        run.lines(),
        [
            r#"{"event":"open","start":0,"path":"","kind":"object"}"#,
            r#"{"event":"open","start":0,"path":"/a","kind":"string"}"#,
            r#"{"event":"append","start":0,"path":"/a","text":"c"}"#,
            r#"{"event":"append","start":0,"path":"/a","text":"af"}"#,
            r#"{"event":"append","start":0,"path":"/a","text":"é"}"#,
            r#"{"event":"close","start":0,"path":"/a"}"#,
            r#"{"event":"set","start":0,"path":"/n","value":0.90}"#,
            r#"{"event":"close","start":0,"path":""}"#,
            r#"{"event":"record","line":1,"start":0,"end":28,"completion":"newline","value":{"a": "caf\u00e9", "n":0.90}}"#,
            r#"{"event":"open","start":29,"path":"","kind":"object"}"#,
            r#"{"event":"open","start":29,"path":"/b","kind":"array"}"#,
            r#"{"event":"set","start":29,"path":"/b/0","value":true}"#,
            r#"{"event":"rejected","code":"malformed_json","line":2,"start":29,"end":45,"column":12,"message":"expected a value, found a letter"}"#,
        ]
    );
    assert!(run.err.contains("1 record, 1 rejected"), "{}", run.err);

    for from in ["openai-chat", "anthropic"] {
        let run = tokenline(&["parse", "--emit", "partials", "--from", from], "");
        assert_eq!((run.code, run.out.as_str()), (2, ""));
        assert!(run.err.contains("--emit partials is for text"), "{}", run.err);
    }
}

#[test]
fn what_models_write_in_place_of_json_lines() {
    let text = "Sure:\n```json\n[\n  {\n    \"a\": 0.90\n  },\n  {\"b\": NaN},\n  {\"c\": 1}\n]\n```\n";
    let run = tokenline(&["parse"], text);
    assert_eq!(run.lines(), ["{\"a\":0.90}", "{\"c\": 1}"]);
    assert!(run.err.contains("7:9: malformed_json"), "{}", run.err);
    let events = tokenline(&["parse", "--emit", "events"], text);
    assert_eq!(
        events.lines()[1],
        r#"{"event":"record","line":4,"start":18,"end":37,"completion":"array_element","recovered":["fence","array_element","several_lines"],"value":{"a":0.90}}"#
    );
    // Strict mode takes none of it, and says why; what is left is a line that is an object.
    let strict = tokenline(&["parse", "--mode", "strict"], text);
    assert_eq!(strict.lines(), ["{\"c\": 1}"]);
    assert!(
        strict.err.contains("2:1: malformed_json: expected an object at the start of the line"),
        "{}",
        strict.err
    );
}

#[test]
fn the_items_of_a_wrapper_are_records() {
    let text = "{\"ok\": true, \"items\": [{\"a\":1}, {\"b\":2}]}\n{\"ok\": false}\n";
    let run = tokenline(&["parse", "--items", "/items"], text);
    assert_eq!(run.lines(), ["{\"a\":1}", "{\"b\":2}"]);
    assert!(run.err.contains("2:1: missing_field: no array of items at `/items`"), "{}", run.err);
    for (args, reason) in [
        (&["parse", "--items", "items"][..], "--items: not a JSON Pointer"),
        (&["parse", "--items", "/items", "--mode", "strict"], "--items is for --mode lenient"),
    ] {
        let run = tokenline(args, text);
        assert_eq!((run.code, &*run.out), (2, ""), "{}", run.err);
        assert!(run.err.contains(reason), "{}", run.err);
    }
}

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

    // Without definitions any name will do.
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
fn the_report_is_whole_or_not_there() {
    let folder = folder();
    let path = folder.path().join("report.json");
    let run = tokenline(&["parse", "--report-json", path.to_str().expect("UTF-8")], ANSWER);
    assert_eq!(run.code, 0);
    let report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&path).expect("written")).expect("JSON");
    assert_eq!(
        (&report["records"], &report["rejected"], &report["notes"], &report["complete"]),
        (&2.into(), &2.into(), &1.into(), &true.into())
    );
    assert_eq!(report["by_code"], serde_json::json!({"malformed_json": 1, "prose": 1, "truncated": 1}));
    assert_eq!(report["diagnostics"][1]["code"], "malformed_json");

    let nowhere = folder.path().join("no/such/folder/report.json");
    let run = tokenline(&["parse", "--report-json", nowhere.to_str().expect("UTF-8")], ANSWER);
    assert_eq!((run.code, run.out.as_str()), (3, ""), "nothing half written: {}", run.err);
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1, "no temporary file is left");
}

/// Bad usage: one line with the place, the right exit code, nothing written.
#[test]
fn bad_usage_is_told_in_one_line() {
    let folder = folder();
    let schema = file(&folder, "schema.json", r#"{"type":"object"}"#);
    let unknown_type = file(&folder, "unknown_type.json", r#"{"properties":{"a":{"type":"strin"}}}"#);
    let not_json = file(&folder, "not_json.json", "{\"type\":\n object}");
    let not_utf8 = file(&folder, "not_utf8.json", b"{\"title\":\"\xFF\"}");
    let remote = file(&folder, "remote.json", r#"{"$ref":"https://example.com/x.json"}"#);
    let broken_tools = file(&folder, "tools.json", r#"[{"name":"a"},{"nam":"b"}]"#);
    let bad_tool = file(&folder, "bad_tool.json", r#"[{"name":"a","parameters":{"type":"objekt"}}]"#);
    let missing = folder.path().join("missing").to_str().expect("UTF-8").to_owned();
    let a_folder = folder.path().to_str().expect("UTF-8").to_owned();
    for (args, code, says) in [
        (&["--schema", &unknown_type][..], 2, "/properties/a/type"),
        (&["--schema", &not_json], 2, "line 2"),
        (&["--schema", &not_utf8], 2, "offset 10"),
        (&["--schema", &remote], 2, "$ref"),
        (&["--schema", &missing], 3, "missing"),
        (&["--tools", &broken_tools], 2, "tools.json"),
        (&["--tools", &bad_tool], 2, "/type"),
        (&["--schema", &schema, "--tools", &broken_tools], 2, "tools.json"),
        (&[&missing], 3, "missing"),
        (&[&a_folder], 3, "directory"),
        (&["--from", "nothing"], 2, "openai-chat"),
        (&["--chunk-size", "0"], 2, "--chunk-size"),
        (&["--chunk-size", "18446744073709551615"], 2, "--chunk-size"),
        (&["--report-json", "-"], 2, "standard output"),
        (&["--report-json", &schema, &schema], 2, "the input"),
        (&["--report-json", &a_folder], 3, "directory"),
        (&["--nonsense"], 2, "--nonsense"),
    ] {
        let run = tokenline(&[&["parse"], args].concat(), "{\"a\":1}\n");
        assert_eq!(run.code, code, "{args:?}: {}", run.err);
        assert_eq!(run.out, "", "{args:?}");
        assert!(run.err.contains(says), "{args:?}: {}", run.err);
        let told_by_us = run.err.starts_with("tokenline: ");
        assert!(!told_by_us || run.err.lines().count() == 1, "{args:?}: {}", run.err);
    }
}

#[cfg(unix)]
#[test]
fn the_report_respects_what_is_there() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = folder();
    let private = file(&folder, "private.json", "old");
    let mode = |path: &str| std::fs::metadata(path).expect("there").permissions().mode() & 0o777;
    std::fs::set_permissions(&private, std::fs::Permissions::from_mode(0o600)).expect("set");
    let link = folder.path().join("link.json");
    std::os::unix::fs::symlink(&private, &link).expect("linked");
    assert_eq!(tokenline(&["parse", "--report-json", link.to_str().expect("UTF-8")], "{}\n").code, 0);
    assert_eq!(mode(&private), 0o600);
    assert!(link.is_symlink() && std::fs::read_to_string(&private).expect("there").contains("records"));
    // A device is written to, not replaced.
    assert_eq!(tokenline(&["parse", "--report-json", "/dev/null"], "{}\n").code, 0);
    assert!(!std::fs::metadata("/dev/null").expect("there").is_file());
}

#[cfg(target_os = "linux")]
#[test]
fn records_do_not_depend_on_who_hears_of_the_rejects() {
    let full = std::fs::File::options().write(true).open("/dev/full").expect("a device");
    let mut child = Command::new(env!("CARGO_BIN_EXE_tokenline"))
        .arg("parse")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(full)
        .spawn()
        .expect("the program starts");
    child.stdin.take().expect("piped").write_all(b"{bad\n{\"a\":1}\n").expect("read");
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"{\"a\":1}\n"[..]));
}

#[test]
fn what_a_provider_says_cannot_drive_the_terminal() {
    let error = "data: {\"error\":{\"message\":\"boom \\u001b[31m\\nsecond\"}}\n\n";
    let run = tokenline(&["parse", "--from", "openai-chat"], error);
    assert!(!run.err.contains('\u{1b}') && run.err.contains("boom \\u{1b}[31m\\nsecond"), "{}", run.err);
    let refusal = ["I can", "not do that."].map(|text| {
        format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"refusal\":\"{text}\"}}}}]}}\n\n")
    });
    let run = tokenline(&["parse", "--from", "openai-chat"], format!("{}data: [DONE]\n\n", refusal.concat()));
    assert!(run.err.starts_with("stdin: the model refuses: I cannot do that.\n"), "{}", run.err);
}

#[test]
fn an_openai_stream_becomes_records_and_calls() {
    let definitions = tokenline(&["parse", "--from", "openai-chat", &fixture("definitions.sse")], "");
    assert_eq!((definitions.code, definitions.lines().len()), (0, 8), "{}", definitions.err);
    for line in definitions.lines() {
        let record: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(record["type"], "definition");
    }
    let calls = ["parse", "--from", "openai-chat", "--emit", "tool-calls"];
    let calls_in_text = fixture("tool-calls-in-text.sse");
    let in_text = tokenline(&[&calls[..], &[&calls_in_text]].concat(), "");
    assert_eq!((in_text.code, in_text.lines().len()), (0, 4), "{}", in_text.err);
    let bytewise = [&calls[..], &["--chunk-size", "1", &calls_in_text]].concat();
    assert_eq!(tokenline(&bytewise, "").out, in_text.out);

    // Cut by its token limit: a complete source with a truncated answer.
    let truncated = fixture("truncated.sse");
    let run = tokenline(&["parse", "--from", "openai-chat", &truncated], "");
    assert_eq!(run.code, 0);
    assert!(run.err.contains("truncated"), "{}", run.err);
    assert_eq!(tokenline(&["parse", "--from", "openai-chat", "--deny", &truncated], "").code, 1);

    // Cut by nobody knows what: what was complete is printed, and the source is incomplete.
    let bytes = std::fs::read(fixture("definitions.sse")).expect("readable");
    let run = tokenline(&["parse", "--from", "openai-chat"], &bytes[..bytes.len() / 2]);
    assert_eq!(run.code, 3);
    assert!(!run.lines().is_empty() && run.lines().len() < 8);
    assert!(run.err.contains("stream_incomplete"), "{}", run.err);

    let error = "data: {\"error\":{\"message\":\"the model is overloaded\"}}\n\n";
    let run = tokenline(&["parse", "--from", "openai-chat"], error);
    assert_eq!(run.code, 3);
    assert!(run.err.contains("the model is overloaded"), "{}", run.err);
}

#[test]
fn every_provider_is_read() {
    for (from, path, text, call) in [
        ("openai-chat", "openai-chat/quirks/text-then-call.sse", "Let me look that up.", "fjord"),
        ("openai-responses", "openai-responses/text-then-call.sse", "Let me look that up.", "fjord"),
        ("anthropic", "anthropic/text-then-tool.sse", "I'll look that up.", "fjord"),
        ("gemini", "gemini/text-then-call.sse", "Let me look that up.", "fjord"),
        ("ollama", "ollama/text-then-call.ndjson", "Let me look that up.", "fjord"),
    ] {
        let path = format!("{}/../tokenline-llm/fixtures/{path}", env!("CARGO_MANIFEST_DIR"));
        for chunk_size in ["1", "65536"] {
            let parse = ["parse", "--from", from, "--chunk-size", chunk_size, &path, "--emit"];
            let run = tokenline(&[&parse[..], &["tool-calls"]].concat(), "");
            assert_eq!((run.code, run.lines().len()), (0, 1), "{from}: {}{}", run.out, run.err);
            let line: serde_json::Value = serde_json::from_str(run.lines()[0]).expect("JSON");
            assert_eq!(
                (&line["name"], &line["parameters"]["query"]),
                (&"search".into(), &call.into()),
                "{from}"
            );

            let run = tokenline(&[&parse[..], &["events"]].concat(), "");
            let events: Vec<serde_json::Value> =
                run.lines().iter().map(|line| serde_json::from_str(line).expect("JSON")).collect();
            let texts = events.iter().filter(|event| event["event"] == "text");
            assert_eq!(texts.filter_map(|event| event["text"].as_str()).collect::<String>(), text, "{from}");
            assert!(events.iter().any(|event| event["event"] == "finish"), "{from}");
        }
        // Without its end the source is incomplete, and a call is not delivered without proof.
        let whole = std::fs::read(&path).expect("readable");
        let run = tokenline(&["parse", "--from", from], &whole[..whole.len() / 3]);
        assert_eq!(run.code, 3, "{from}: {}", run.err);
        assert!(run.err.contains("stream_incomplete"), "{from}: {}", run.err);
    }
}

#[test]
fn a_stream_taken_for_another_is_named() {
    for (path, named) in [
        ("openai-chat/definitions.sse", "openai-chat"),
        ("openai-responses/text.sse", "openai-responses"),
        ("anthropic/text.sse", "anthropic"),
        ("gemini/text.sse", "gemini"),
        ("gemini/array-pretty.json", "gemini"),
        ("ollama/text.ndjson", "ollama"),
    ] {
        let path = format!("{}/../tokenline-llm/fixtures/{path}", env!("CARGO_MANIFEST_DIR"));
        for from in ["text", "openai-chat", "openai-responses", "anthropic", "gemini", "ollama"] {
            let run = tokenline(&["parse", "--from", from, &path], "");
            let hint = format!("this looks like --from {named}\n");
            assert_eq!(run.err.contains(&hint), from != named, "{path} as {from}: {}", run.err);
        }
    }
    assert!(!tokenline(&["parse"], "{\"choices\": 1}\n{\"a\":1}\n").err.contains("--from"));
}

#[test]
fn a_rejected_call_is_told_with_what_is_known_of_it() {
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

#[test]
fn every_code_is_explained_with_an_input_that_triggers_it() {
    use tokenline::{Code, Example};
    let folder = folder();
    for &code in Code::ALL {
        let explained = tokenline(&["explain", code.as_str()], "");
        assert_eq!(explained.code, 0);
        let mut args = vec!["parse", "--emit", "events"];
        let (schema, tools);
        let input = match code.example() {
            Example::Text(text) => text,
            Example::Schema { schema: rules, text } => {
                schema = file(&folder, "schema.json", rules);
                args.extend(["--schema", &schema]);
                text
            }
            Example::Tools { tools: rules, text } => {
                tools = file(&folder, "tools.json", rules);
                args.extend(["--tools", &tools]);
                text
            }
            Example::OpenAiChat(events) => {
                args.extend(["--from", "openai-chat", "--emit", "events"]);
                events
            }
            _ => continue,
        };
        let args: Vec<&str> = if args.contains(&"openai-chat") {
            vec!["parse", "--from", "openai-chat", "--emit", "events"]
        } else {
            args
        };
        let run = tokenline(&args, input);
        assert!(run.out.contains(&format!("\"code\":\"{code}\"")), "{code}: {}", run.out);
        assert!(explained.out.contains(input.lines().next().expect("a line")), "{}", explained.out);
    }
    let unknown = tokenline(&["explain", "no_such_code"], "");
    assert_eq!(unknown.code, 2);
    assert!(unknown.err.contains("trailing_data"));
    assert_eq!(tokenline(&["explain"], "").lines().len(), Code::ALL.len());
}

#[test]
fn a_reader_that_has_seen_enough_ends_the_program_quietly() {
    let input = "{\"a\":1}\n".repeat(100_000);
    let mut child = Command::new(env!("CARGO_BIN_EXE_tokenline"))
        .arg("parse")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let _ = child.stdin.take().expect("piped").write_all(input.as_bytes());
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
}

#[test]
fn the_demo_prints_records_and_calls_as_they_complete() {
    let run = tokenline(&["demo", "--delay-ms", "0", "--chunk-size", "100"], "");
    assert_eq!(run.code, 0, "{}", run.err);
    let lines = run.lines();
    assert!(lines.len() >= 10, "{}", run.out);
    for line in &lines {
        assert!(serde_json::from_str::<serde_json::Value>(line).expect("JSON").is_object());
    }
    assert!(lines.iter().any(|line| line.starts_with("{\"name\":")), "calls are among them");
}

#[test]
fn replay_serves_what_it_was_given() {
    use std::io::{BufRead as _, BufReader};
    let folder = folder();
    let recording: PathBuf = folder.path().join("mine.sse");
    std::fs::copy(fixture("definitions.sse"), &recording).expect("copied");
    let mut child = Command::new(env!("CARGO_BIN_EXE_tokenline"))
        .args(["replay", "--listen", "127.0.0.1:0", "--chunk-size", "7"])
        .arg(&recording)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let mut url = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut url).expect("a URL");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let body = runtime.block_on(async {
        let url = format!("{}/v1/chat/completions", url.trim());
        let response = tokenline::llm::client::reqwest::Client::new()
            .post(url)
            .body("{}")
            .send()
            .await
            .expect("an answer");
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        response.bytes().await.expect("a body")
    });
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    assert_eq!(body, std::fs::read(&recording).expect("readable"));

    let run = tokenline(&["replay", "--listen", "0.0.0.0:0"], "");
    assert_eq!(run.code, 2, "{}", run.err);
    let run = tokenline(&["replay", "no-such-file"], "");
    assert_eq!(run.code, 3, "{}", run.err);
}
