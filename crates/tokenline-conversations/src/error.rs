//! What is wrong with a line, as reports have it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What is wrong with a line. Only the first thing counts.
///
/// Private by design: places, rules and kinds are told, never what a line says. Names of members are told only if the
/// contract knows them; against a [schema](crate::RecordValidator) also those that lead to the value at fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LineError {
    /// The line, counted from 1 in its input; 0 if it is about all of it.
    pub line_number: u64,
    /// What kind of fault it is.
    pub code: ErrorCode,
    /// One sentence for a person.
    pub message: String,
    /// The place in its line, counted from 1 in bytes; 0 if it is about all of the input.
    pub column: u64,
    /// The place in its input, in bytes from the start.
    pub byte_offset: u64,
    /// JSON Pointer to the value at fault, as far as the contract knows the way to it.
    pub instance_path: String,
    /// The rule that is broken: of a schema, JSON Pointer to it; else one of the codes that `tokenline explain` knows.
    pub rule: String,
    /// The input.
    pub input_path: String,
}

/// What kind of fault an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorCode {
    /// The line is not one JSON value: malformed, not UTF-8, too deep, too long, or with two members of one name.
    InvalidJson,
    /// The line is JSON, but no object.
    NonObjectLine,
    /// The object breaks the schema.
    SchemaValidationFailed,
    /// An earlier line, which was valid, has the same id.
    DuplicateConversationId,
    /// There is no line but blank ones.
    EmptyDataset,
}

impl ErrorCode {
    /// All codes.
    pub const ALL: [Self; 5] = [
        Self::InvalidJson,
        Self::NonObjectLine,
        Self::SchemaValidationFailed,
        Self::DuplicateConversationId,
        Self::EmptyDataset,
    ];

    /// The name used in reports, such as `invalid_json`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidJson => "invalid_json",
            Self::NonObjectLine => "non_object_line",
            Self::SchemaValidationFailed => "schema_validation_failed",
            Self::DuplicateConversationId => "duplicate_conversation_id",
            Self::EmptyDataset => "empty_dataset",
        }
    }

    /// What it means, in a few sentences.
    #[must_use]
    pub const fn explanation(self) -> &'static str {
        match self {
            Self::InvalidJson => {
                "The line is not one JSON value. It is malformed or cut off, has something behind the value, is not \
                 UTF-8, nested too deep or too long, or an object in it has two members of one name; the error's rule \
                 tells which. A line that a crash left half written is the usual cause. The other lines are read on."
            }
            Self::NonObjectLine => {
                "The line is JSON, but no object. A file that is one JSON array, and not JSON Lines, has one such line \
                 or many that are malformed."
            }
            Self::SchemaValidationFailed => {
                "The object breaks the schema. The error's rule is the JSON Pointer to the part that is broken, and its \
                 instance path the one to the value. Of several faults the first in the line is told, what is missing \
                 last."
            }
            Self::DuplicateConversationId => {
                "An earlier line has the same conversation_id, and is valid. A line that is not valid reserves no id."
            }
            Self::EmptyDataset => {
                "There is no line but blank ones. It is told once, of line 0: an export that went wrong often leaves an \
                 empty file behind."
            }
        }
    }

    /// An input with one such error, and no other.
    #[must_use]
    pub const fn example(self) -> &'static str {
        match self {
            Self::InvalidJson => "{\"conversation_id\":\"c1\",\"user_id\":\"u1\",\"times",
            Self::NonObjectLine => "[\"c1\",\"u1\"]",
            Self::SchemaValidationFailed => {
                "{\"conversation_id\":\"c1\",\"user_id\":\"u1\",\"timestamp\":\"2026-02-30T12:00:00Z\",\"messages\":[]}"
            }
            Self::DuplicateConversationId => {
                "{\"conversation_id\":\"c1\",\"user_id\":\"u1\",\"timestamp\":\"2026-02-10T12:00:00Z\",\"messages\":[]}\n{\"conversation_id\":\"c1\",\"user_id\":\"u2\",\"timestamp\":\"2026-02-11T12:00:00Z\",\"messages\":[]}"
            }
            Self::EmptyDataset => "",
        }
    }
}

impl LineError {
    pub(crate) fn empty_dataset(input_path: &str) -> Self {
        Self {
            line_number: 0,
            code: ErrorCode::EmptyDataset,
            message: "there is no conversation".to_owned(),
            column: 0,
            byte_offset: 0,
            instance_path: String::new(),
            rule: ErrorCode::EmptyDataset.as_str().to_owned(),
            input_path: input_path.to_owned(),
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// `conversations.jsonl:3:17: schema_validation_failed: expected type string, found a number (at /user_id)`
impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.input_path.is_empty() {
            write!(f, "{}:", self.input_path)?;
        }
        write!(f, "{}:{}: {}: {}", self.line_number, self.column, self.code, self.message)?;
        if !self.instance_path.is_empty() {
            write!(f, " (at {})", self.instance_path)?;
        }
        Ok(())
    }
}
