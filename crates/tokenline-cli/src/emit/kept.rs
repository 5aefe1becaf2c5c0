//! A diagnostic for `--report-json`.

use std::borrow::Borrow;

use serde::Serialize;
use tokenline::Diagnostic;

use super::line::Part;

/// A diagnostic of the report, with where it comes from.
#[derive(Serialize)]
pub(super) struct KeptDiagnostic {
    #[serde(flatten)]
    part: Option<Part>,
    #[serde(flatten)]
    diagnostic: Diagnostic,
    /// The name of the input, if it is one of several.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
}

impl KeptDiagnostic {
    pub(super) fn new(diagnostic: &Diagnostic, part: Option<&Part>, file: Option<&str>) -> Self {
        Self { part: part.cloned(), diagnostic: diagnostic.clone(), file: file.map(str::to_owned) }
    }
}

impl Borrow<Diagnostic> for KeptDiagnostic {
    fn borrow(&self) -> &Diagnostic {
        &self.diagnostic
    }
}
