//! The sources of records and rejects in batch files.

use std::fs;

use serde_json::{Value, json};

use crate::batch::{ANTHROPIC, OPENAI, TOOLS, messages, results};
use crate::common::{file, folder, tokenline};

#[test]
fn messages_name_a_result_without_an_id_by_its_line() {
    let without_id = OPENAI.replace(r#""custom_id":"r-2""#, r#""custom_id":null"#);
    let run = tokenline(&["batch"], without_id);
    assert!(run.err.contains("\nstdin:1: 2:6 of the response: truncated: "), "{}", run.err);
}

#[test]
fn records_keep_where_they_come_from() {
    let folder = folder();
    let (one, two) = (file(&folder, "one.jsonl", OPENAI), file(&folder, "two.jsonl", ANTHROPIC));
    for jobs in ["1", "3"] {
        let run = tokenline(&["batch", &one, &two, "--with-source", "-j", jobs], "");
        let lines: Vec<Value> =
            run.lines().iter().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let line = |id: &str, file: &str, line: u64, value: u64| json!({"custom_id": id, "file": file, "line": line, "value": {"a": value}});
        assert_eq!(lines, [line("r-2", &one, 1, 1), line("r-4", &one, 5, 4), line("one", &two, 1, 1)]);
    }
    // Members that do not apply are left out.
    let without_id = OPENAI.replace(r#""custom_id":"r-2""#, r#""custom_id":null"#);
    let run = tokenline(&["batch", "--with-source", "--max-records", "1"], without_id);
    assert_eq!(run.lines(), [r#"{"line":1,"value":{"a":1}}"#]);
    for emit in ["events", "text"] {
        let run = tokenline(&["batch", "--with-source", "--emit", emit], OPENAI);
        assert_eq!((run.code, run.err.contains("--with-source needs")), (2, true), "{}", run.err);
    }
    let tools = file(&folder, "tools.json", TOOLS);
    let calls = file(&folder, "calls.jsonl", results(4));
    let args = ["batch", &calls, "--with-source", "--emit", "tool-calls", "--tools", &tools];
    let run = tokenline(&args, "");
    let call = format!(
        r#"{{"custom_id":"r3","file":{},"line":4,"value":{{"name":"weather","parameters":{{"city":"Oslo"}},"call_id":"c"}}}}"#,
        json!(calls)
    );
    assert_eq!(run.lines(), [call]);
}

/// Several results in one file, whose records look alike.
#[test]
fn an_output_without_sources_is_warned_of() {
    let folder = folder();
    let output = file(&folder, "out", "old");
    let warns = |args: &[&str], input: &str| {
        let run = tokenline(&[&["batch"], args].concat(), input);
        assert_eq!(run.code, 0, "{}", run.err);
        run.err.contains("--with-source adds the custom_id")
    };
    assert!(warns(&["--output", &output], OPENAI));
    assert!(!warns(&["--output", &output, "--with-source"], OPENAI));
    assert!(!warns(&["--output", &output, "--emit", "events"], OPENAI));
    assert!(!warns(&["--output", &output], OPENAI.lines().next().expect("a result")));
    assert!(!warns(&[], OPENAI));
}

#[test]
fn rejects_in_the_report_have_their_id_and_room() {
    let folder = folder();
    let report = file(&folder, "report", "");
    let prose = Value::from("prose\n".repeat(3000) + "{\"n\":x}\n");
    let line = |id: &str| {
        format!(
            r#"{{"custom_id":"{id}","response":{{"status_code":200,"body":{{"choices":[{{"message":{{"content":{prose}}},"finish_reason":"stop"}}]}}}}}}"#
        )
    };
    for jobs in ["1", "2"] {
        let args = ["batch", "-j", jobs, "--report-json", &report];
        tokenline(&args, line("first") + "\n" + &line("second"));
        let report: Value = serde_json::from_slice(&fs::read(&report).expect("written")).expect("a report");
        let kept = report["diagnostics"].as_array().expect("diagnostics");
        let rejects = kept.iter().filter(|diagnostic| diagnostic["code"] == "malformed_json");
        let ids: Vec<&Value> = rejects.map(|reject| &reject["custom_id"]).collect();
        assert_eq!(ids, ["first", "second"]);
        assert_eq!((kept.len(), &report["dropped_diagnostics"]), (1000, &json!(5002)));
    }
}

/// More rejects in one result than are shown or kept.
#[test]
fn a_result_with_many_rejects_is_that_of_parse() {
    let folder = folder();
    let content = Value::from("{\"n\":x}\nprose\n{\"n\":1}\n".repeat(3000));
    let result = format!(
        r#"{{"custom_id":"r","response":{{"status_code":200,"body":{{"choices":[{{"message":{{"content":{content}}},"finish_reason":"stop"}}]}}}}}}"#
    );
    let (input, rejects, report) =
        (file(&folder, "in.jsonl", result), file(&folder, "rejects", ""), file(&folder, "report", ""));
    for options in [&[][..], &["--emit", "events"], &["--max-errors", "2500"]] {
        let run = |command: &[&str]| {
            let outputs = ["--reject-file", &*rejects, "--report-json", &report];
            let run = tokenline(&[command, &[&input], options, &outputs].concat(), "");
            let read = |path: &str| fs::read_to_string(path).expect("written");
            (run.code, run.out, messages(&run.err), read(&rejects), read(&report))
        };
        let batch = run(&["batch"]);
        assert!(batch == run(&["parse", "--from", "openai-batch"]), "{options:?}");
        let more = "in.jsonl: further rejects are not shown: the file of --reject-file has all of them\n";
        assert!(batch.2.contains(more) && batch.3.lines().count() > 2500);
        assert_eq!(batch.2.matches(": malformed_json: ").count(), 100);
    }
}
