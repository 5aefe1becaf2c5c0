//! Reports of validations.

use serde::{Deserialize, Serialize};

use crate::LineError;

/// The report of a validation of conversations. Its JSON form is stable.
///
/// Several inputs form one dataset with one report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ValidationReport {
    /// The version of this format: `1.0.0`.
    pub schema_version: String,
    /// The path of the input; several paths are separated by spaces.
    pub input_path: String,
    /// Lines, including blank ones.
    pub total_lines: u64,
    /// Lines that are not blank or exceed the limit.
    pub non_empty_lines: u64,
    /// Valid conversations with a unique id.
    pub valid_conversation_count: u64,
    /// Non-blank lines that are not valid.
    pub invalid_line_count: u64,
    /// Unique ids of valid conversations.
    pub unique_conversation_id_count: u64,
    /// Conversations with the id of an earlier one.
    pub duplicate_conversation_id_count: u64,
    /// All errors, including dropped ones.
    pub error_count: u64,
    /// Errors beyond the limit, which are not listed.
    pub dropped_error_count: u64,
    /// Whether there are no errors.
    pub is_valid: bool,
    /// A summary of the valid conversations.
    pub summary: Summary,
    /// The first errors, in order.
    pub errors: Vec<LineError>,
    /// Unusual but valid content. Not part of the JSON form.
    #[serde(skip)]
    pub advice: Warnings,
}

impl ValidationReport {
    /// The version of the JSON form.
    pub const SCHEMA_VERSION: &'static str = "1.0.0";
}

/// A summary of the valid conversations in a dataset. A turn is a message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Summary {
    /// Valid conversations.
    pub conversation_count: u64,
    /// Users with at least one.
    pub unique_user_count: u64,
    /// Messages in total.
    pub message_count: u64,
    /// Average number of messages per conversation; 0 if there are none.
    pub avg_turn_count: f64,
    /// Messages in the shortest conversation; 0 if there are none.
    pub min_turn_count: u64,
    /// Messages in the longest conversation; 0 if there are none.
    pub max_turn_count: u64,
}

/// Unusual but valid content of conversations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Warnings {
    /// Messages with a role other than `user` and `assistant`.
    pub unusual_role_count: u64,
    /// Conversations without `metadata`.
    pub missing_metadata_count: u64,
}

/// The report of a validation of records. Its JSON form is stable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RecordReport {
    /// The version of this format: `1.0.0`.
    pub schema_version: String,
    /// The path of the input; several paths are separated by spaces.
    pub input_path: String,
    /// Lines, including blank ones.
    pub total_lines: u64,
    /// Lines that are not blank or exceed the limit.
    pub non_empty_lines: u64,
    /// Objects that match the schema.
    pub valid_line_count: u64,
    /// Those of them whose syntax [can be repaired](crate::RecordValidator::repair_syntax). Not in the JSON form if there are
    /// none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repaired_line_count: u64,
    /// Non-blank lines that are not valid.
    pub invalid_line_count: u64,
    /// All errors, including dropped ones.
    pub error_count: u64,
    /// Errors beyond the limit, which are not listed.
    pub dropped_error_count: u64,
    /// Whether there are no errors.
    pub is_valid: bool,
    /// The first errors, in order.
    pub errors: Vec<LineError>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
