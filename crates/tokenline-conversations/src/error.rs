//! Errors of lines, as in reports.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An error of a line: the first one only.
///
/// Private by design: it has positions, rules and types, never the content of a line. It only has member names of the
/// contract, and with a [schema](crate::RecordValidator) the names on the path to the invalid value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LineError {
    /// The line in its input, counted from 1; 0 if the error concerns the complete input.
    pub line_number: u64,
    /// The kind of error.
    pub code: ErrorCode,
    /// One sentence for people.
    pub message: String,
    /// The column, counted from 1 in bytes; 0 if the error concerns the complete input.
    pub column: u64,
    /// The offset in the input, in bytes.
    pub byte_offset: u64,
    /// JSON Pointer to the invalid value, as far as the contract's names lead there.
    pub instance_path: String,
    /// The violated rule: a JSON Pointer into the schema, or a code that `tokenline explain` describes.
    pub rule: String,
    /// The input.
    pub input_path: String,
}

/// The kind of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorCode {
    /// The line is not one JSON value: malformed, not UTF-8, too deep, too long, or with a repeated member name.
    InvalidJson,
    /// The line is JSON, but not an object.
    NonObjectLine,
    /// The object violates the schema.
    SchemaValidationFailed,
    /// An earlier valid line has the same id.
    DuplicateConversationId,
    /// All lines are blank.
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

    /// The meaning, in a few sentences.
    #[must_use]
    pub const fn explanation(self) -> &'static str {
        match self {
            Self::InvalidJson => {
                "The line is not one JSON value. It is malformed or cut off, has more text after the value, is not \
                 UTF-8, is nested too deep or too long, or an object in it repeats a member name; the error's rule \
                 says which. The usual cause is a line left half written by a crash. Other lines are not affected."
            }
            Self::NonObjectLine => {
                "The line is JSON, but not an object. A file that is one JSON array instead of JSON Lines has one such line, \
                 or many malformed ones."
            }
            Self::SchemaValidationFailed => {
                "The object violates the schema. The error's rule is the JSON Pointer to the violated rule, and its \
                 instance path the one to the value. Only the first fault in the line is reported, missing members \
                 last."
            }
            Self::DuplicateConversationId => {
                "An earlier valid line has the same conversation_id. Invalid lines do not reserve an id."
            }
            Self::EmptyDataset => {
                "All lines are blank. This is reported once, for line 0: a failed export often leaves an \
                 empty file."
            }
        }
    }

    /// An input with exactly one such error.
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
            message: "the input contains no conversation".to_owned(),
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
