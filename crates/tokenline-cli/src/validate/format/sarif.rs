//! Errors as a SARIF 2.1.0 log, for tools that display the results of analyzers.

use std::iter;

use serde_json::{Value, json};
use tokenline::conversations::{ErrorCode, LineError};

use super::{Format, Writes, message};
use crate::validate::summary::Summary;

pub(super) const FORMAT: Format = Format {
    name: "sarif",
    help: "A SARIF 2.1.0 log, at the end",
    writes: Writes::AllAtEnd(|summary, columns| serde_json::to_string_pretty(&log(summary, columns))),
    has_excerpts: false,
};

/// The log of one run. `columns` are those of the errors, in characters.
fn log(summary: &Summary<'_>, columns: &[Option<u64>]) -> Value {
    let rules: Vec<_> = ErrorCode::ALL
        .iter()
        .map(|code| json!({"id": code.as_str(), "fullDescription": {"text": code.explanation()}}))
        .collect();
    // An error of the whole input has no column.
    let columns = columns.iter().copied().chain(iter::repeat(None));
    let results: Vec<_> =
        summary.errors.iter().zip(columns).map(|(error, column)| result(error, column)).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "tokenline",
                "version": env!("CARGO_PKG_VERSION"),
                "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": rules
            }},
            "columnKind": "unicodeCodePoints",
            "properties": {"errorCount": summary.error_count, "droppedErrorCount": summary.dropped},
            "results": results
        }]
    })
}

fn result(error: &LineError, column: Option<u64>) -> Value {
    let uri = uri(&error.input_path);
    let mut location = json!({"artifactLocation": {"uri": uri}});
    if error.line_number > 0 {
        location["region"] = json!({"startLine": error.line_number, "byteOffset": error.byte_offset});
        if let Some(column) = column {
            location["region"]["startColumn"] = column.into();
        }
    }
    json!({
        "ruleId": error.code.as_str(),
        "ruleIndex": ErrorCode::ALL.iter().position(|code| *code == error.code),
        "level": "error",
        "message": {"text": message(error)},
        "locations": [{"physicalLocation": location}],
        "properties": {"rule": error.rule, "instancePath": error.instance_path, "column": error.column}
    })
}

/// A path as a URI reference.
fn uri(path: &str) -> String {
    let mut uri = String::new();
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            b'\\' if cfg!(windows) => uri.push('/'),
            _ => uri += &format!("%{byte:02X}"),
        }
    }
    uri
}
