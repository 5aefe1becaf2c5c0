//! Records and events in text.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::RESPONSE;
use crate::common::{Run, file, folder, tokenline};

#[test]
fn records_keep_their_bytes() {
    let run = tokenline(&["parse"], RESPONSE);
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
    assert_eq!(tokenline(&["parse", "--deny"], RESPONSE).code, 1);
    assert_eq!(tokenline(&["parse", "--deny"], "{}\n").code, 0);
}

#[test]
fn the_output_does_not_depend_on_the_chunks() {
    for extra in [
        &[][..],
        &["--mode", "strict"],
        &["--eager"],
        &["--emit", "events"],
        &["--emit", "tool-calls"],
        &["--max-records", "1"],
        &["--max-errors", "0"],
    ] {
        let whole = tokenline(&[&["parse"], extra].concat(), RESPONSE);
        for size in ["1", "3", "10"] {
            let cut = tokenline(&[&["parse", "--chunk-size", size], extra].concat(), RESPONSE);
            assert_eq!((cut.code, cut.out, cut.err), (whole.code, whole.out.clone(), whole.err.clone()));
        }
    }
}

#[test]
fn events_carry_positions() {
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

#[test]
fn recovers_records_from_fences_and_arrays() {
    let text = "Sure:\n```json\n[\n  {\n    \"a\": 0.90\n  },\n  {\"b\": NaN},\n  {\"c\": 1}\n]\n```\n";
    let run = tokenline(&["parse"], text);
    assert_eq!(run.lines(), ["{\"a\":0.90}", "{\"c\": 1}"]);
    assert!(run.err.contains("7:9: malformed_json"), "{}", run.err);
    let events = tokenline(&["parse", "--emit", "events"], text);
    assert_eq!(
        events.lines()[1],
        r#"{"event":"record","line":4,"start":18,"end":37,"completion":"array_element","recovered":["fence","array_element","several_lines"],"value":{"a":0.90}}"#
    );
    // Strict mode rejects all of it except a line that is an object.
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
        (&["parse", "--items", "/items", "--mode", "strict"], "--items needs --mode lenient"),
    ] {
        let run = tokenline(args, text);
        assert_eq!((run.code, &*run.out), (2, ""), "{}", run.err);
        assert!(run.err.contains(reason), "{}", run.err);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn records_are_written_even_if_standard_error_fails() {
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
fn a_closed_output_ends_the_program_quietly() {
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
fn all_errors_of_a_reject_are_reported_on_request() {
    let folder = folder();
    let schema = r#"{"required":["n"],"properties":{"a":{"minimum":1},"b":{"type":"string"}}}"#;
    let tools = format!(r#"[{{"name":"add","parameters":{schema}}}]"#);
    let (schema, tools) = (file(&folder, "schema.json", schema), file(&folder, "tools.json", &tools));
    let (rejects, report) = (file(&folder, "rejects", ""), file(&folder, "report", ""));
    let record = "{\"a\":0,\n \"b\":1}";
    let expected = [
        "1:1: schema_violation: missing required member `n`",
        "1:6: schema_violation: less than the minimum 1 (at /a)",
        "2:6: schema_violation: expected type string, found a number (at /b)",
    ];
    let args = ["parse", "--schema", &schema, "--all-errors", "--emit", "events"];
    let files = ["--reject-file", &rejects, "--report-json", &report];
    let run = tokenline(&[&args[..], &files].concat(), record);
    let messages: Vec<String> = expected.iter().map(|message| format!("stdin:{message}")).collect();
    assert_eq!(run.err.lines().take(3).collect::<Vec<_>>(), messages, "{}", run.err);
    // One reject, which has the others in it: as an event, in the reject file and in the report.
    let event: Value = serde_json::from_str(run.lines()[0]).expect("JSON");
    let further = json!([
        {"code": "schema_violation", "line": 1, "column": 6, "instance_path": "/a",
         "schema_path": "/properties/a/minimum", "message": "less than the minimum 1"},
        {"code": "schema_violation", "line": 2, "column": 6, "instance_path": "/b",
         "schema_path": "/properties/b/type", "message": "expected type string, found a number"},
    ]);
    assert_eq!((run.lines().len(), &event["further"]), (1, &further));
    let reject = std::fs::read_to_string(&rejects).expect("written");
    let reject: Value = serde_json::from_str(&reject).expect("one line");
    let report: Value = serde_json::from_slice(&std::fs::read(&report).expect("written")).expect("a report");
    assert_eq!((&reject["further"], &report["diagnostics"][0]["further"]), (&further, &further));
    assert_eq!(report["rejected"], 1);
    // Without the option, only the first.
    let run = tokenline(&args[..3], record);
    assert_eq!(run.err.lines().filter(|line| line.contains("schema_violation")).count(), 1);

    // Calls, in a text and native, and responses.
    let call = json!({"name": "add", "parameters": {"a": 0, "b": 1}}).to_string();
    let args = ["parse", "--tools", &tools, "--all-errors", "--emit", "tool-calls"];
    let run = tokenline(&args, &call);
    let paths = |run: &Run| {
        let paths = run.err.lines().filter(|line| line.contains("invalid_parameters"));
        paths.map(|line| line.rsplit("(at ").next().expect("a path").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(paths(&run), ["/parameters)", "/parameters/a)", "/parameters/b)"], "{}", run.err);
    let arguments = json!({"a": 0, "b": 1}).to_string();
    let call = json!({"index": 0, "id": "c", "function": {"name": "add", "arguments": arguments}});
    let chunk = json!({"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]});
    let run = tokenline(&[&args[..], &["--from", "openai-chat"]].concat(), format!("data: {chunk}\n\n"));
    assert_eq!(paths(&run), ["/parameters)", "/parameters/a)", "/parameters/b)"], "{}", run.err);

    let message = json!({"content": "{\"a\":0,\"b\":1}"});
    let body = json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
    let line = json!({"custom_id": "x", "response": {"status_code": 200, "body": body}});
    let run = tokenline(&["batch", "--schema", &schema, "--all-errors"], format!("{line}\n"));
    assert_eq!(run.err.lines().filter(|line| line.contains("schema_violation")).count(), 3, "{}", run.err);
}

#[test]
fn text_that_repeats_itself_is_stopped_on_request() {
    let folder = folder();
    let text = format!("{{\"a\":1}}\n{}\n{{\"a\":2}}\n", "I see the problem now. ".repeat(400));
    let other = file(&folder, "b.txt", "{\"b\":1}\n");
    let looping = file(&folder, "a.txt", &text);
    for size in ["7", "65536"] {
        let run = tokenline(&["parse", "--stop-on-repetition", &looping, &other, "--chunk-size", size], "");
        assert_eq!(
            (run.code, &run.lines()[0], run.lines().last()),
            (3, &"{\"a\":1}", Some(&"{\"b\":1}")),
            "{}",
            run.err
        );
        assert!(
            run.err.contains("repetition: the text repeats 23 bytes 22 times; the text was stopped"),
            "{}",
            run.err
        );
        assert!(run.err.contains("stopped, because the model repeats itself"), "{}", run.err);
    }
    assert_eq!(tokenline(&["parse", &looping], "").lines().len(), 2);
    // The same bytes, however they are cut; and nothing beyond a quota is looked at.
    let same = format!("{{\"name\":\"{}\"}}\n", "x".repeat(120)).repeat(500);
    for size in ["1", "100", "65536"] {
        let run = tokenline(&["parse", "--stop-on-repetition", "--chunk-size", size], &*same);
        assert_eq!((run.code, run.lines().len()), (3, 64), "{}", run.err);
        let run =
            tokenline(&["parse", "--stop-on-repetition", "--max-records", "1", "--chunk-size", size], &*text);
        assert_eq!((run.code, run.lines().len()), (0, 1), "{}", run.err);
    }
    // Each line of a file with responses is a text of its own.
    let line = serde_json::json!({"output": "I see the problem now. ".repeat(12)}).to_string() + "\n";
    let args = ["parse", "--from", "lines", "--text-pointer", "/output", "--stop-on-repetition"];
    let run = tokenline(&args, line.repeat(200));
    assert_eq!(run.code, 0, "{}", run.err);
    // One that repeats itself does not end the file.
    let line = |text: &str| json!({"output": text}).to_string() + "\n";
    let run = tokenline(&args, line(&"I see the problem now. ".repeat(99)) + &line("{\"a\":1}"));
    assert_eq!((run.code, run.lines()), (0, vec!["{\"a\":1}"]), "{}", run.err);
    assert!(run.err.contains("repetition: the text repeats"), "{}", run.err);
    // A response.
    let chunk = json!({"choices": [{"delta": {"reasoning_content": "Wait. ".repeat(100)}}]});
    let wire = format!("data: {chunk}\n\ndata: [DONE]\n\n");
    let report = folder.path().join("report.json").display().to_string();
    let args = ["parse", "--from", "openai-chat", "--stop-on-repetition", "--report-json", &report];
    let run = tokenline(&args, wire);
    assert_eq!(run.code, 3, "{}", run.err);
    let report: Value = serde_json::from_slice(&std::fs::read(&report).expect("written")).expect("JSON");
    assert_eq!((&report["ended_by"], &report["complete"]), (&json!("repetition"), &json!(false)));
    assert!(run.err.contains("repetition: the reasoning repeats 6 bytes 85 times"), "{}", run.err);
}

#[test]
fn syntax_is_repaired_on_request() {
    let folder = folder();
    let schema = file(&folder, "schema.json", r#"{"required":["a"],"properties":{"a":{"type":"integer"}}}"#);
    let report = file(&folder, "report.json", "");
    let text = "{\"a\":1,}\n{'a':2}\n{\"a\":3}}\n{\"a\":,}\n{\"a\":4}\n";
    let run = tokenline(&["parse"], text);
    assert_eq!((run.lines(), run.err.lines().count()), (vec!["{\"a\":4}"], 5));
    // Without a schema, only what cannot change a value.
    let run = tokenline(&["parse", "--repair"], text);
    assert_eq!(run.lines(), ["{\"a\":1}", "{\"a\":3}", "{\"a\":4}"]);
    assert!(run.err.ends_with("stdin: 3 records, 2 repaired, 2 rejected\n"), "{}", run.err);
    let args = ["parse", "--repair", "--schema", &schema, "--emit", "events", "--report-json", &report];
    let run = tokenline(&args, text);
    let events: Vec<Value> =
        run.lines().iter().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(events[0]["repaired"], json!([{"edit": "trailing_comma", "start": 6, "end": 7}]));
    assert_eq!(events[0]["recovered"], json!(["syntax_repaired"]));
    assert_eq!(events[1]["repaired"], json!([{"edit": "single_quotes", "start": 10, "end": 13}]));
    assert_eq!((&events[1]["value"], &events[3]["event"]), (&json!({"a": 2}), &json!("rejected")));
    let report: Value = serde_json::from_slice(&std::fs::read(&report).expect("written")).expect("JSON");
    let by_edit = json!({"trailing_comma": 1, "surplus_closer": 1, "single_quotes": 1});
    assert_eq!((&report["repaired"], &report["repaired_by_edit"]), (&json!(3), &by_edit));

    // A line feed in a string: the next line goes on with it, or is one of its own.
    let run = tokenline(&["parse", "--repair"], "{\"a\":\"x\n- y\"}\n{\"a\":\"z\nNext: {\"a\":1}\n");
    assert_eq!(run.lines(), ["{\"a\":\"x\\n- y\"}", "{\"a\":1}"], "{}", run.err);

    // A provider's confirmed end, and its limit.
    let wire = |reason: &str| {
        let chunk =
            json!({"choices": [{"delta": {"content": "{\"a\":1,\"b\":[\"x\""}, "finish_reason": reason}]});
        format!("data: {chunk}\n\ndata: [DONE]\n\n")
    };
    let args = ["parse", "--from", "openai-chat", "--repair", "--schema", &schema];
    assert_eq!(tokenline(&args, wire("stop")).lines(), ["{\"a\":1,\"b\":[\"x\"]}"]);
    assert_eq!(tokenline(&args, wire("length")).lines().len(), 0);
    // Calls in a text and native ones are repaired, and not completed.
    let tools = file(&folder, "tools.json", r#"[{"name":"f"}]"#);
    let args = ["parse", "--repair", "--emit", "tool-calls", "--tools", &tools];
    let run = tokenline(
        &args,
        "{\"name\":\"f\",\"parameters\":{\"a\":[1,2,],},}\n{\"name\":\"f\",\"parameters\":{\"a\":1\n",
    );
    assert_eq!(run.lines(), [r#"{"name":"f","parameters":{"a":[1,2]}}"#], "{}", run.err);
    let args = [&args[..], &["--from", "openai-chat"]].concat();
    for (arguments, lines) in [("{\"a\":1,}", 1), ("{\"a\":[1", 0)] {
        let call = json!({"index": 0, "id": "c", "function": {"name": "f", "arguments": arguments}});
        let chunk = json!({"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]});
        let run = tokenline(&args, format!("data: {chunk}\n\n"));
        assert_eq!(run.lines().len(), lines, "{}", run.err);
    }
}
