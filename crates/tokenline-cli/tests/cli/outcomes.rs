//! The texts that every reader gives the same outcomes, in the same words.

use serde_json::Value;

use crate::common::{file, folder, tokenline};
use crate::outcome_cases::Case;

#[test]
fn outcomes_are_those_of_the_library() {
    let folder = folder();
    // The program has no repair and one schema, and a file does not fail.
    let is_here = |case: &Case| case.repair().is_none() && case.schemas().len() < 2 && !case.has_failed();
    for case in Case::all().iter().filter(|case| is_here(case)) {
        let emit = if case.is_invalid_while_open() { "partials" } else { "events" };
        let mut args = vec!["parse".to_owned(), "--emit".to_owned(), emit.to_owned()];
        for schema in case.schemas() {
            args.extend(["--schema".to_owned(), file(&folder, "schema.json", schema)]);
        }
        if let Some(tools) = case.tools() {
            args.extend(["--tools".to_owned(), file(&folder, "tools.json", tools)]);
        }
        if let Some(max_records) = case.max_records() {
            args.extend(["--max-records".to_owned(), max_records.to_string()]);
        }
        for size in ["1", "100", "100000"] {
            let args: Vec<&str> = args.iter().map(String::as_str).chain(["--chunk-size", size]).collect();
            let run = tokenline(&args, case.text());
            let (mut delivered, mut rejected, mut is_invalid) = (Vec::new(), Vec::new(), false);
            for line in run.lines() {
                let event: Value = serde_json::from_str(line).expect("JSON");
                let value = &event["value"];
                match event["event"].as_str() {
                    Some("record") => delivered.push(value.to_string()),
                    Some("tool_call") => delivered.push(format!(
                        "{} {}",
                        value["name"].as_str().expect("a name"),
                        value["parameters"]
                    )),
                    Some("rejected") => rejected.push(message(&event)),
                    Some("invalid") => {
                        is_invalid = true;
                        assert_eq!(case.expected().1, [message(&event)], "{}", case.name());
                    }
                    _ => {}
                }
            }
            assert_eq!((delivered, rejected), case.expected(), "{}, in chunks of {size}", case.name());
            assert_eq!(is_invalid, case.is_invalid_while_open() && size != "100000", "{}", case.name());
        }
    }
}

/// The event as the library writes its diagnostic.
fn message(event: &Value) -> String {
    let text = |key: &str| event[key].as_str();
    let [line, column] = ["line", "column"].map(|key| &event[key]);
    let [code, message] = ["code", "message"].map(|key| text(key).expect("a text"));
    let path = text("instance_path").filter(|path| !path.is_empty());
    let path = path.map(|path| format!(" (at {path})")).unwrap_or_default();
    format!("{line}:{column}: {code}: {message}{path}")
}
