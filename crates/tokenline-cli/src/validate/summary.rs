//! The common part of both reports.

use serde::Serialize;
use tokenline::conversations::{LineError, RecordReport, ValidationReport, Warnings};

use crate::emit::count;

/// The common part of both reports.
pub(super) struct Summary<'r> {
    pub(super) report: Report<'r>,
    pub(super) input_path: &'r str,
    pub(super) errors: &'r [LineError],
    pub(super) error_count: u64,
    pub(super) dropped: u64,
    pub(super) valid: String,
    pub(super) warnings: Warnings,
}

/// The report of either command.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Report<'r> {
    Conversations(&'r ValidationReport),
    Records(&'r RecordReport),
}

impl<'r> Summary<'r> {
    /// The input of the first error.
    pub(super) fn first_input(&self) -> Option<&'r str> {
        self.errors.first().map(|error| &*error.input_path)
    }

    pub(super) fn new(report: &'r ValidationReport) -> Self {
        Self {
            report: Report::Conversations(report),
            input_path: &report.input_path,
            errors: &report.errors,
            error_count: report.error_count,
            dropped: report.dropped_error_count,
            valid: count(report.valid_conversation_count, "valid conversation"),
            warnings: report.advice,
        }
    }

    pub(super) fn of_records(report: &'r RecordReport, noun: &str) -> Self {
        Self {
            report: Report::Records(report),
            input_path: &report.input_path,
            errors: &report.errors,
            error_count: report.error_count,
            dropped: report.dropped_error_count,
            valid: match report.repaired_line_count {
                0 => count(report.valid_line_count, noun),
                repaired => format!("{}, {repaired} of them repaired", count(report.valid_line_count, noun)),
            },
            warnings: Warnings::default(),
        }
    }
}
