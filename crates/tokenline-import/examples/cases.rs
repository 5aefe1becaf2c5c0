//! Imports many small sources: the side of the library in a comparison with another implementation.
//!
//! Reads cases as JSON Lines from standard input:
//! `{"mapping": {...}, "grouped": false, "kind": "csv", "sources": ["..."]}`; without a kind it is detected. Writes a line
//! for each: `{"conversations": [...], "rejects": [...], "report": {...}}`, or `{"error": "..."}`.

use std::io::{self, BufRead as _, BufWriter, Write as _};

use serde::Deserialize;
use serde_json::{Value, json};
use tokenline_import::{FileKind, ImportError, ImportReport, Importer, Mapping, Output};

#[derive(Deserialize)]
struct Case {
    mapping: Mapping,
    #[serde(default)]
    grouped: bool,
    kind: Option<String>,
    sources: Vec<String>,
}

fn main() -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        let case: Case = serde_json::from_str(&line?)?;
        let mut output = Vec::new();
        let result = match import(&case, &mut output) {
            Ok(report) => {
                let lines = output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
                let conversations = lines.map(serde_json::from_slice).collect::<Result<Vec<Value>, _>>()?;
                json!({"conversations": conversations, "rejects": report.errors, "report": report})
            }
            Err(error) => json!({"error": error.to_string()}),
        };
        writeln!(out, "{result}")?;
    }
    out.flush()
}

fn import(case: &Case, output: &mut Vec<u8>) -> Result<ImportReport, ImportError> {
    let kind =
        case.kind.as_ref().and_then(|name| FileKind::ALL.into_iter().find(|kind| kind.as_str() == name));
    let importer = Importer::new(&case.mapping, Output::writer(output))?;
    let mut importer = importer.grouped(case.grouped).max_errors(usize::MAX).memory(4096);
    for (number, source) in case.sources.iter().enumerate() {
        importer.read(&format!("source{number}"), kind, source.as_bytes())?;
    }
    importer.finish()
}
