//! Reports of imports.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::assemble::Facts;
use crate::{ImportCode, ImportReject};

/// The report of an import. Its JSON form is stable.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ImportReport {
    /// The version of this format: `1.0.0`.
    pub schema_version: String,
    /// The sources that were read, in order.
    pub sources: Vec<ImportedSource>,
    /// Rows and documents that were read.
    pub row_count: u64,
    /// Rows and messages that were rejected. They reject their conversations.
    pub rejected_row_count: u64,
    /// Conversations that were not written.
    pub rejected_conversation_count: u64,
    /// All rejects, including dropped ones: of rows, and of conversations whose rows are valid.
    pub error_count: u64,
    /// Rejects beyond the limit, which are not listed.
    pub dropped_error_count: u64,
    /// Whether nothing was rejected.
    pub is_valid: bool,
    /// The number of rejects with each code.
    pub rejects_by_code: BTreeMap<ImportCode, u64>,
    /// A summary of the written conversations.
    pub summary: ImportSummary,
    /// The first rejects, in order: those of rows as they are read, those of conversations as they would be written.
    pub errors: Vec<ImportReject>,
}

/// Something that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ImportedSource {
    /// Its name.
    pub name: String,
    /// Its kind, such as `csv`.
    pub kind: String,
    /// Rows and documents.
    pub row_count: u64,
}

/// A summary of the written conversations. A turn is a message.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ImportSummary {
    /// Conversations.
    pub conversation_count: u64,
    /// Messages in total.
    pub message_count: u64,
    /// Messages without text that were left out.
    pub skipped_message_count: u64,
    /// Average number of messages per conversation; 0 if there are none.
    pub avg_turn_count: f64,
    /// Messages in the shortest conversation; 0 if there are none.
    pub min_turn_count: u64,
    /// Messages in the longest conversation; 0 if there are none.
    pub max_turn_count: u64,
}

impl ImportReport {
    /// The version of the JSON form.
    pub const SCHEMA_VERSION: &'static str = "1.0.0";
}

/// The counts so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Totals {
    pub(crate) conversation_count: u64,
    pub(crate) message_count: u64,
    pub(crate) skipped_message_count: u64,
    pub(crate) min_turn_count: Option<u64>,
    pub(crate) max_turn_count: u64,
    pub(crate) rejected_conversation_count: u64,
}

impl Totals {
    pub(crate) fn add(&mut self, facts: &Facts) {
        self.conversation_count += 1;
        self.message_count += facts.messages;
        self.skipped_message_count += facts.skipped;
        self.min_turn_count = Some(self.min_turn_count.map_or(facts.messages, |min| min.min(facts.messages)));
        self.max_turn_count = self.max_turn_count.max(facts.messages);
    }

    pub(crate) fn summary(&self) -> ImportSummary {
        let Self { conversation_count, message_count, .. } = *self;
        let average = match conversation_count {
            0 => 0.0,
            _ => message_count as f64 / conversation_count as f64,
        };
        ImportSummary {
            conversation_count,
            message_count,
            skipped_message_count: self.skipped_message_count,
            avg_turn_count: average,
            min_turn_count: self.min_turn_count.unwrap_or(0),
            max_turn_count: self.max_turn_count,
        }
    }
}
