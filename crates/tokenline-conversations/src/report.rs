//! What came of a validation.

use serde::{Deserialize, Serialize};

use crate::LineError;

/// What came of a validation of conversations. Its JSON form is stable.
///
/// Several inputs are one dataset, and one report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ValidationReport {
    /// The version of this form: `1.0.0`.
    pub schema_version: String,
    /// Where the conversations are from; several paths with spaces between them.
    pub input_path: String,
    /// Lines, blank ones too.
    pub total_lines: u64,
    /// Lines with more than white space on them, and those that are too long.
    pub non_empty_lines: u64,
    /// Lines that are conversations, and the first of their id.
    pub valid_conversation_count: u64,
    /// Lines that are not blank, and not that.
    pub invalid_line_count: u64,
    /// Ids of the valid ones.
    pub unique_conversation_id_count: u64,
    /// Lines that are conversations, of an id that came before.
    pub duplicate_conversation_id_count: u64,
    /// All errors, also those that were dropped.
    pub error_count: u64,
    /// Errors that are not named because they were too many.
    pub dropped_error_count: u64,
    /// Whether there is no error.
    pub is_valid: bool,
    /// What the valid conversations hold.
    pub summary: Summary,
    /// The first errors, in order.
    pub errors: Vec<LineError>,
    /// What is allowed and seldom meant. Not part of the JSON form.
    #[serde(skip)]
    pub advice: Warnings,
}

impl ValidationReport {
    /// The version of the JSON form.
    pub const SCHEMA_VERSION: &'static str = "1.0.0";
}

/// What the valid conversations of a dataset hold. A turn is a message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Summary {
    /// Valid conversations.
    pub conversation_count: u64,
    /// Users that have one.
    pub unique_user_count: u64,
    /// Messages in all.
    pub message_count: u64,
    /// Messages a conversation, on average; 0 if there is none.
    pub avg_turn_count: f64,
    /// Messages of the shortest; 0 if there is none.
    pub min_turn_count: u64,
    /// Messages of the longest; 0 if there is none.
    pub max_turn_count: u64,
}

/// What is allowed in conversations and seldom meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Warnings {
    /// Messages of a role that is neither `user` nor `assistant`.
    pub unusual_role_count: u64,
    /// Conversations without `metadata`.
    pub missing_metadata_count: u64,
}

/// What came of a validation of records. Its JSON form is stable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RecordReport {
    /// The version of this form: `1.0.0`.
    pub schema_version: String,
    /// Where the records are from; several paths with spaces between them.
    pub input_path: String,
    /// Lines, blank ones too.
    pub total_lines: u64,
    /// Lines with more than white space on them, and those that are too long.
    pub non_empty_lines: u64,
    /// Lines that are objects which fit the schema.
    pub valid_line_count: u64,
    /// Lines that are not blank, and not that.
    pub invalid_line_count: u64,
    /// All errors, also those that were dropped.
    pub error_count: u64,
    /// Errors that are not named because they were too many.
    pub dropped_error_count: u64,
    /// Whether there is no error.
    pub is_valid: bool,
    /// The first errors, in order.
    pub errors: Vec<LineError>,
}
