//! The cases of `fixtures/repair/cases.jsonl`.
#![allow(clippy::disallowed_methods, reason = "fixtures are files")]

use std::fs;
use std::path::Path;

use serde_json::Value;

/// A malformed text with the expected result.
pub(crate) struct Case {
    pub(crate) text: String,
    pub(crate) is_end_confirmed: bool,
    pub(crate) has_schema: bool,
    /// The value that the text stands for, if there is only one.
    pub(crate) original: Option<Value>,
    /// The edits, or the reason why there are none.
    pub(crate) result: String,
}

/// All cases, in the order of the file.
pub(crate) fn all() -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/repair/cases.jsonl");
    let text = fs::read_to_string(path).expect("the fixture is read");
    let cases = text.lines().filter(|line| !line.is_empty()).map(|line| {
        let case: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        Case {
            text: case["text"].as_str().expect("a text").to_owned(),
            is_end_confirmed: case["confirmed"] == true,
            has_schema: case["schema"] != false,
            original: case.get("original").cloned(),
            result: case["result"].as_str().expect("a result").to_owned(),
        }
    });
    cases.collect()
}
