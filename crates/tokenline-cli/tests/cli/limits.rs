//! Ending a stream early.

use crate::RESPONSE;
use crate::common::{file, fixture, folder, tokenline};

#[test]
fn stops_at_max_records() {
    let folder = folder();
    let report = folder.path().join("report.json");
    let args = ["parse", "--max-records", "1", "--deny", "--report-json", report.to_str().expect("UTF-8")];
    let run = tokenline(&args, RESPONSE);
    assert_eq!((run.code, run.lines(), &*run.err), (0, vec!["{\"a\": 1.50, \"b\":\"\\u00e9\"}"], ""));
    let report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(report).expect("a report")).expect("JSON");
    let members = (&report["ended_by"], &report["complete"], &report["records"]);
    assert_eq!(members, (&"max_records".into(), &false.into(), &1.into()));
    assert_eq!(tokenline(&["parse", "--max-records", "0"], RESPONSE).code, 2);
    // Also for a provider's stream, which may then be incomplete. Only written items count.
    let stream = fixture("tool-calls-in-text.sse");
    let from = ["parse", &stream, "--from", "openai-chat", "--emit", "tool-calls", "--max-records", "2"];
    let run = tokenline(&from, "");
    assert_eq!((run.code, run.lines().len(), &*run.err), (0, 2, ""));
}

#[test]
fn stops_at_max_errors() {
    let run = tokenline(&["parse", "--max-errors", "0"], RESPONSE);
    assert_eq!((run.code, run.lines().len()), (1, 1));
    assert_eq!(
        run.err.lines().collect::<Vec<_>>(),
        [
            "stdin:4:6: malformed_json: expected a value, found a letter",
            "stdin: the stream was ended: more than 0 rejected",
            "stdin: 1 record, 1 rejected, 1 line of prose",
        ]
    );
    assert_eq!(tokenline(&["parse", "--max-errors", "1"], RESPONSE).code, 1);
    assert_eq!(tokenline(&["parse", "--max-errors", "2"], RESPONSE).code, 0);
    assert_eq!(tokenline(&["parse", "--max-errors", "2", "--deny"], RESPONSE).code, 1);
    assert_eq!(tokenline(&["parse", "--max-errors", "0"], "Prose.\n{}\n").code, 0);
}

#[test]
fn stops_between_the_calls_of_one_record() {
    let calls = "{\"tool_calls\":[{\"name\":\"a\",\"arguments\":{}},{\"name\":\"b\",\"arguments\":{}},{\"name\":\"c\",\"arguments\":{}}]}\n";
    let run = tokenline(&["parse", "--emit", "tool-calls", "--max-records", "1"], calls);
    assert_eq!((run.code, run.lines()), (0, vec!["{\"name\":\"a\",\"parameters\":{}}"]));
    let broken = "{\"tool_calls\":[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"c\",\"arguments\":{}},{\"name\":\"e\"}]}\n";
    let run = tokenline(&["parse", "--emit", "tool-calls", "--max-errors", "0"], broken);
    assert_eq!((run.code, run.lines().len()), (1, 0));
    assert!(
        run.err.ends_with(
            "stdin: the stream was ended: more than 0 rejected\nstdin: 0 tool calls, 1 rejected\n"
        ),
        "{}",
        run.err
    );
}

#[test]
fn options_without_effect_are_rejected() {
    let run = tokenline(&["parse", "--format", "hermes"], "");
    assert_eq!(
        (run.code, run.err.contains("--call-format needs --emit tool-calls")),
        (2, true),
        "{}",
        run.err
    );
    let run = tokenline(&["parse", "--format", "hermes", "--mode", "strict", "--emit", "tool-calls"], "");
    assert_eq!((run.code, run.err.contains("--call-format needs --mode lenient")), (2, true), "{}", run.err);
}

/// Native calls count where they are written, whatever else is.
#[test]
fn calls_of_a_provider_count_in_every_emit() {
    let call = |index: u32| {
        format!(
            "data: {{\"type\":\"content_block_start\",\"index\":{index},\"content_block\":{{\"type\":\"tool_use\",\"id\":\"c{index}\",\"name\":\"w\",\"input\":{{}}}}}}\n\ndata: {{\"type\":\"content_block_delta\",\"index\":{index},\"delta\":{{\"type\":\"input_json_delta\",\"partial_json\":\"{{}}\"}}}}\n\ndata: {{\"type\":\"content_block_stop\",\"index\":{index}}}\n\n"
        )
    };
    // It never ends: what is read after the quota would fail.
    let stream: String = (0..6).map(call).collect();
    let folder = folder();
    let tools = file(&folder, "tools.json", r#"[{"name":"w","parameters":{}}]"#);
    for emit in ["tool-calls", "events", "partials"] {
        for tools in [&[][..], &["--tools", &tools]] {
            let args = ["parse", "--from", "anthropic", "--emit", emit, "--max-records", "2"];
            let run = tokenline(&[&args, tools].concat(), &stream);
            assert_eq!((run.code, &*run.err), (0, ""), "{emit}");
            let calls = run.lines().iter().filter(|line| line.contains("\"name\":\"w\"")).count();
            assert_eq!(calls, 2, "{emit}: {}", run.out);
        }
    }
    let calls = "{\"name\":\"w\",\"parameters\":{}}\n".repeat(5);
    let args = ["parse", "--emit", "partials", "--max-records", "2", "--tools", &tools];
    let run = tokenline(&args, calls);
    assert_eq!((run.code, run.out.matches("\"event\":\"tool_call\"").count()), (0, 2), "{}", run.out);
}

#[test]
fn fewer_than_min_records_is_a_failure() {
    let parse = |args: &[&str]| tokenline(&[&["parse", "--min-records"], args].concat(), RESPONSE);
    let run = parse(&["2"]);
    assert_eq!((run.code, run.lines().len()), (0, 2), "{}", run.err);
    let run = parse(&["3"]);
    assert_eq!((run.code, run.lines().len()), (1, 2));
    assert!(run.err.ends_with("stdin: 2 written, fewer than --min-records 3\n"), "{}", run.err);
    assert_eq!(parse(&["3", "--emit", "events", "--deny"]).code, 1);
    assert_eq!(parse(&["1", "--max-records", "1"]).code, 0);
    // Only what is written counts.
    assert_eq!(parse(&["1", "--emit", "tool-calls"]).code, 1);
    let run = parse(&["3", "--max-records", "2"]);
    let message = "tokenline: --min-records 3 is more than --max-records 2 lets through\n";
    assert_eq!((run.code, &*run.err), (2, message));
    // An incomplete source says more.
    let body = "data: {\"choices\":[{\"delta\":{\"content\":\"{}\\n\"}}]}\n\n";
    let run = tokenline(&["parse", "--from", "openai-chat", "--min-records", "9"], body);
    assert_eq!(run.code, 3, "{}", run.err);
}
