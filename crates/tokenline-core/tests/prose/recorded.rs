//! Recorded reasoning and responses in prose. They are not in this repository: `TOKENLINE_RECORDINGS` names
//! their folder.
#![allow(clippy::disallowed_methods, reason = "recordings are files")]

use std::path::PathBuf;
use std::{env, fs};

use serde_json::Value;
use tokenline_core::Options;

use crate::documents::expect_prose;
use crate::faults::{Faults, run};

/// The texts of a recording, one payload per line: reasoning, and the rest of the response.
fn texts(payloads: &str) -> [String; 2] {
    let [mut reasoning, mut answer] = [String::new(), String::new()];
    for line in payloads.lines() {
        let payload: Value = match serde_json::from_str(line.strip_prefix("data: ").unwrap_or(line)) {
            Ok(payload) => payload,
            // `[DONE]`, blank lines.
            Err(_) => continue,
        };
        for pointer in ["/choices/0/delta/reasoning", "/choices/0/delta/reasoning_content"] {
            reasoning.push_str(payload.pointer(pointer).and_then(Value::as_str).unwrap_or_default());
        }
        let thought = "/contentBlockDelta/delta/reasoningContent/text";
        reasoning.push_str(payload.pointer(thought).and_then(Value::as_str).unwrap_or_default());
        for pointer in ["/choices/0/delta/content", "/contentBlockDelta/delta/text"] {
            answer.push_str(payload.pointer(pointer).and_then(Value::as_str).unwrap_or_default());
        }
    }
    [reasoning, answer]
}

#[test]
#[ignore = "needs TOKENLINE_RECORDINGS"]
fn recorded_reasoning_is_prose() {
    let folder: PathBuf = env::var_os("TOKENLINE_RECORDINGS").expect("TOKENLINE_RECORDINGS is set").into();
    let mut faults = Faults::default();
    let entries = fs::read_dir(folder.join("more")).expect("the folder is there");
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        let is_chat =
            name.starts_with("openai-chat.") && (name.contains("reasoning") || name.contains("citations"));
        if !is_chat && !name.starts_with("bedrock.reasoning") && !name.starts_with("bedrock.text") {
            continue;
        }
        let payloads = fs::read_to_string(&path).expect("it can be read");
        let [reasoning, answer] = texts(&payloads);
        assert!(!reasoning.is_empty() || !answer.is_empty(), "{name}: no text");
        for (what, text) in [("reasoning", reasoning), ("answer", answer)] {
            let seen = run(&Options::lenient(), text.as_bytes());
            expect_prose(&mut faults, &format!("{name}, {what}"), &text, seen);
        }
    }
    faults.report();
}
