//! `parse --from lines`: lines that hold a response as a string.

use std::fs;

use serde_json::{Value, json};

use crate::common::{file, folder, tokenline};

const LINES: &str = r#"{"id":"a","output":"Sure:\n{\"n\":1}\n{\"n\":"}
{"id":7,"output":"{\"n\":2}\n{\"n\":3}\n"}
{"id":"c","output":null}
{"output":"{\"n\":4}"}
not json
"#;

const ARGS: [&str; 7] = ["parse", "--from", "lines", "--text-pointer", "/output", "--id-pointer", "/id"];

#[test]
fn each_response_is_parsed_separately() {
    let run = tokenline(&ARGS, LINES);
    assert_eq!((run.code, run.lines()), (0, vec![r#"{"n":1}"#, r#"{"n":2}"#, r#"{"n":3}"#, r#"{"n":4}"#]));
    let messages: Vec<&str> = run.err.lines().collect();
    assert!(messages[0].starts_with("stdin:1 (id a): 3:6 of the response: truncated: "), "{}", run.err);
    assert_eq!(messages[1], "stdin:3 (id c): schema_violation: expected a string at /output, found null");
    assert!(messages[2].starts_with("stdin:5:2: malformed_json: "), "{}", run.err);
}

#[test]
fn events_name_the_id_whatever_the_chunks() {
    let args = [&ARGS[..], &["--emit", "events"]].concat();
    let run = tokenline(&args, LINES);
    let events = run.lines();
    assert_eq!(events[0], r#"{"event":"response","id":"a","line":1}"#);
    assert!(events[1].starts_with(r#"{"event":"note","id":"a","code":"prose","#), "{}", events[1]);
    assert_eq!(
        events[2],
        r#"{"event":"record","id":"a","line":2,"start":6,"end":13,"completion":"newline","value":{"n":1}}"#
    );
    assert!(events.contains(&r#"{"event":"response","id":"7","line":2}"#), "{}", run.out);
    assert!(events.contains(&r#"{"event":"response","id":"line 4","line":4}"#), "{}", run.out);
    for size in ["1", "7", "100"] {
        let cut = tokenline(&[&args[..], &["--chunk-size", size]].concat(), LINES);
        assert_eq!((cut.out, cut.err), (run.out.clone(), run.err.clone()));
    }
}

#[test]
fn records_keep_the_id_and_the_line() {
    let run = tokenline(&[&ARGS[..], &["--with-source"]].concat(), LINES);
    assert_eq!(
        run.lines(),
        [
            r#"{"id":"a","line":1,"value":{"n":1}}"#,
            r#"{"id":"7","line":2,"value":{"n":2}}"#,
            r#"{"id":"7","line":2,"value":{"n":3}}"#,
            r#"{"line":4,"value":{"n":4}}"#,
        ]
    );
    let folder = folder();
    let report = file(&folder, "report", "");
    tokenline(&[&ARGS[..], &["--report-json", &report]].concat(), LINES);
    let report: Value = serde_json::from_slice(&fs::read(&report).expect("written")).expect("a report");
    let diagnostics = report["diagnostics"].as_array().expect("diagnostics");
    let ids: Vec<&Value> = diagnostics.iter().map(|diagnostic| &diagnostic["id"]).collect();
    assert_eq!(ids, [&json!("a"), &json!("a"), &json!("c"), &json!(null)]);
}

#[test]
fn the_pointers_are_checked() {
    for (args, says) in [
        (&["--from", "lines"][..], "--from lines needs --text-pointer"),
        (&["--from", "lines", "--text-pointer", "output"], "--text-pointer: not a JSON Pointer"),
        (&["--text-pointer", "/output"], "need --from lines"),
        (&["--from", "anthropic", "--id-pointer", "/id"], "need --from lines"),
    ] {
        let run = tokenline(&[&["parse"], args].concat(), LINES);
        assert_eq!((run.code, run.err.contains(says)), (2, true), "{args:?}: {}", run.err);
    }
}
