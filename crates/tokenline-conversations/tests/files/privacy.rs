//! Reports do not repeat the content of lines.

use crate::common::{conversation, lines, validate};
use serde_json::{Value, json};
use tokenline_conversations::Profile;
use tokenline_core::Limits;

const SECRET: &str = "s3cr3t";

/// The value with other content in one place, for all places.
fn planted(value: &Value) -> Vec<Value> {
    let mut all = vec![json!(SECRET), json!({SECRET: SECRET}), json!([SECRET]), json!([{SECRET: [SECRET]}])];
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                for planted in planted(member) {
                    let mut changed = members.clone();
                    changed.insert(name.clone(), planted);
                    all.push(Value::Object(changed));
                }
                let mut renamed = members.clone();
                let member = renamed.remove(name).expect("there");
                renamed.insert(format!("{SECRET}{name}"), member);
                all.push(Value::Object(renamed));
            }
            let mut more = members.clone();
            more.insert(SECRET.to_owned(), json!(SECRET));
            all.push(Value::Object(more));
        }
        Value::Array(elements) => {
            for (at, element) in elements.iter().enumerate() {
                for planted in planted(element) {
                    let mut changed = elements.clone();
                    changed[at] = planted;
                    all.push(Value::Array(changed));
                }
            }
        }
        _ => {}
    }
    all
}

#[test]
fn no_report_repeats_the_content_of_a_line() {
    let mut all = Vec::new();
    for (number, value) in planted(&conversation("c")).into_iter().enumerate() {
        let text = value.to_string();
        // Unchanged; truncated; repeated; with invalid bytes, repeated names, and trailing text.
        all.push(text.clone().into_bytes());
        all.push(text.as_bytes()[..text.len() - 1 - number % 7].to_vec());
        all.push(text.replace("\"s3cr3t\"", "s3cr3t").into_bytes());
        all.push([text.as_bytes(), b"s3cr3t"].concat());
        all.push(text.replace("s3cr3t", "s3cr3t\u{1}").into_bytes());
        all.push([&text.as_bytes()[..text.len() / 2], b"\xff s3cr3t\""].concat());
        let twice = text.replacen('{', "{\"s3cr3t\":1,\"s3cr3t\":{\"s3cr3t\":1,\"s3cr3t\":2},", 1);
        all.push(twice.into_bytes());
    }
    let input = all.join(&b'\n');
    for profile in [Profile::Open, Profile::Strict] {
        let (report, told) = validate(&input, profile, Limits::default());
        assert!(report.error_count > 300);
        assert!(!serde_json::to_string(&report).expect("JSON").contains(SECRET));
        for (error, _) in told {
            let all = format!("{error} {error:?} {}", serde_json::to_string(&error).expect("JSON"));
            assert!(!all.contains(SECRET), "{error}");
        }
    }
    assert!(
        validate(lines([conversation(SECRET)]).as_bytes(), Profile::Strict, Limits::default()).0.is_valid
    );
}
