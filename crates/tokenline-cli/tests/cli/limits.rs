//! Ending a stream early.

use crate::ANSWER;
use crate::common::{fixture, folder, tokenline};

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
            "stdin: the stream was ended: more than 0 rejected",
            "stdin: 1 record, 1 rejected, 1 line of prose",
        ]
    );
    assert_eq!(tokenline(&["parse", "--max-errors", "1"], ANSWER).code, 1);
    assert_eq!(tokenline(&["parse", "--max-errors", "2"], ANSWER).code, 0);
    assert_eq!(tokenline(&["parse", "--max-errors", "2", "--deny"], ANSWER).code, 1);
    assert_eq!(tokenline(&["parse", "--max-errors", "0"], "Prose.\n{}\n").code, 0);
}
