//! `tokenline extract --reask`.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::common::{file, folder, ollama, tokenline};

/// A server of Ollama's API: its first response has this text, every further one has `again`. Returns its URL and the
/// bodies of the requests.
fn server(first: &'static str, again: &'static str) -> (String, Arc<Mutex<Vec<String>>>) {
    ollama(move |_, body| (if body.contains("rejected") { again } else { first }, "stop"))
}

#[test]
fn rejects_are_asked_for_again() {
    let folder = folder();
    let schema = file(
        &folder,
        "schema.json",
        r#"{"required":["id","n"],"properties":{"id":{"type":"integer"},"n":{"type":"integer"}}}"#,
    );
    let report = folder.path().join("report.json").display().to_string();
    let rejects = folder.path().join("rejects.jsonl").display().to_string();
    let list = "{\"id\":1,\"n\":1}\n{\"id\":\"x\"}\n{\"id\":3,\"n\":3}\n";
    let run = |url: &str, more: &[&str]| {
        let args =
            ["extract", "--provider", "ollama", "--base-url", url, "--model", "m", "--prompt", "List."];
        let args = [&args[..], &["--schema", &schema, "--report-json", &report], more].concat();
        tokenline(&args, "")
    };
    let report = || serde_json::from_slice::<Value>(&std::fs::read(&report).expect("written")).expect("JSON");

    let (url, requests) = server(list, "```json\n{\"id\":2,\"n\":2}\n```");
    let done = run(&url, &["--reask", "2", "--emit", "events"]);
    let events: Vec<Value> =
        done.lines().iter().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let again = events.iter().find(|event| event["value"]["id"] == 2).expect("a record");
    assert_eq!((&again["line"], &again["attempts"]), (&json!(2), &json!(1)));
    assert_eq!(again["recovered"], json!(["fence", "reasked"]));
    assert_eq!(events.iter().filter(|event| event["event"] == "record").count(), 3);
    assert!(
        done.err.contains("m: 3 records, 1 asked for again in 1 request: 1 delivered, 0 rejected"),
        "{}",
        done.err
    );
    assert_eq!((done.code, report()["reasked"]["requests"].as_u64()), (0, Some(1)));
    let sent = requests.lock().expect("a lock")[1].clone();
    assert!(sent.contains("2 faults") && sent.contains("/id: ") && sent.contains("`n`"), "{sent}");

    // What still fails is a reject with each reason.
    let (url, requests) = server(list, "{\"id\":2,\"n\":\"two\"}");
    let done = run(&url, &["--reask", "3", "--reject-file", &rejects, "--show-values"]);
    assert_eq!(done.lines().len(), 2);
    let reject = std::fs::read_to_string(&rejects).expect("written");
    let reject: Value = serde_json::from_str(&reject).expect("one line");
    assert_eq!(reject["received"], "{\"id\":\"x\"}");
    let attempts = reject["attempts"].as_array().expect("attempts");
    assert_eq!((attempts.len(), reject["further"].as_array().map(Vec::len)), (3, Some(1)), "{reject}");
    assert_eq!(attempts[0], "expected type integer, found a string (at /n)");
    assert!(done.err.contains("; asked again: expected type integer"), "{}", done.err);
    assert_eq!(requests.lock().expect("a lock").len(), 3);

    // Not unless asked for, and not beyond the bound.
    for more in [&[][..], &["--reask", "3", "--max-reasks", "0"]] {
        let (url, requests) = server(list, "{\"id\":2,\"n\":2}");
        assert_eq!(run(&url, more).lines().len(), 2);
        assert_eq!(requests.lock().expect("a lock").len(), 1);
        assert_eq!(report().get("reasked"), None);
    }
    // A list that is continued.
    let (url, _) = server(list, "{\"id\":2,\"n\":2}");
    let done = run(&url, &["--reask", "1", "--continue", "2"]);
    assert_eq!(done.lines().len(), 3);
    assert_eq!((&report()["reasked"]["delivered"], &report()["reasked"]["requests"]), (&json!(1), &json!(1)));
}
