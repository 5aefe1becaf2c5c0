//! The diagnostics for `--report-json`.

use serde::Serialize;
use tokenline::{Diagnostic, Limits, Severity};

use super::line::Part;

/// The first diagnostics, each with where it comes from. Rejects and warnings displace notes.
#[derive(Default)]
pub(super) struct KeptDiagnostics {
    /// In the order of the input.
    kept: Vec<KeptDiagnostic>,
    /// The number of notes among them.
    notes: usize,
    dropped: u64,
}

/// A diagnostic of the report.
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

impl KeptDiagnostics {
    /// Keeps a diagnostic while there is room.
    pub(super) fn add(&mut self, diagnostic: &Diagnostic, part: Option<&Part>, file: Option<&str>) {
        let is_note = |diagnostic: &Diagnostic| diagnostic.severity() == Severity::Info;
        if self.kept.len() == Limits::DEFAULT.diagnostics {
            self.dropped += 1;
            if self.notes == 0 || is_note(diagnostic) {
                return;
            }
            let last = self.kept.iter().rposition(|kept| is_note(&kept.diagnostic));
            self.kept.remove(last.expect("there are notes"));
            self.notes -= 1;
        }
        self.notes += usize::from(is_note(diagnostic));
        self.kept.push(KeptDiagnostic {
            part: part.cloned(),
            diagnostic: diagnostic.clone(),
            file: file.map(str::to_owned),
        });
    }

    pub(super) fn as_slice(&self) -> &[KeptDiagnostic] {
        &self.kept
    }

    /// The number of diagnostics that are not kept.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }
}
