//! Errors of lines, as in reports.

use std::fmt;

use serde::de;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tokenline_core::Code;

/// An error of a line: the first one, unless all are asked for.
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

/// The kind of an error. In JSON its [name](Self::as_str).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ErrorCode {
    /// The line is not a JSON object, or the object violates the schema: the code that a stream of records has for it.
    Record(Code),
    /// An earlier valid line has the same id.
    DuplicateConversationId,
    /// All lines are blank.
    EmptyDataset,
}

impl ErrorCode {
    /// All codes that validators report.
    pub const ALL: [Self; 12] = [
        Self::Record(Code::MalformedJson),
        Self::Record(Code::Truncated),
        Self::Record(Code::TrailingData),
        Self::Record(Code::NotAnObject),
        Self::Record(Code::DuplicateKey),
        Self::Record(Code::InvalidUtf8),
        Self::Record(Code::LineTooLong),
        Self::Record(Code::TooDeep),
        Self::Record(Code::SchemaViolation),
        Self::Record(Code::MissingField),
        Self::DuplicateConversationId,
        Self::EmptyDataset,
    ];

    /// Names of earlier versions, each with the codes that took its place.
    pub const OLD_NAMES: [(&'static str, &'static [Code]); 3] = [
        (
            "invalid_json",
            &[
                Code::MalformedJson,
                Code::Truncated,
                Code::TrailingData,
                Code::DuplicateKey,
                Code::InvalidUtf8,
                Code::LineTooLong,
                Code::TooDeep,
            ],
        ),
        ("non_object_line", &[Code::NotAnObject]),
        ("schema_validation_failed", &[Code::SchemaViolation]),
    ];

    /// The name used in reports, such as `malformed_json`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Record(code) => code.as_str(),
            Self::DuplicateConversationId => "duplicate_conversation_id",
            Self::EmptyDataset => "empty_dataset",
        }
    }

    /// The code of this name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "duplicate_conversation_id" => Some(Self::DuplicateConversationId),
            "empty_dataset" => Some(Self::EmptyDataset),
            name => Code::from_name(name).map(Self::Record),
        }
    }

    /// The meaning, in a few sentences.
    #[must_use]
    pub const fn explanation(self) -> &'static str {
        match self {
            Self::Record(code) => code.explanation(),
            Self::DuplicateConversationId => {
                "An earlier valid line has the same conversation_id. Invalid lines do not reserve an id."
            }
            Self::EmptyDataset => {
                "All lines are blank. This is reported once, for line 0: a failed export often leaves an \
                 empty file."
            }
        }
    }

    /// An input of conversations with exactly one such error; empty if it is too long to show.
    #[must_use]
    pub const fn example(self) -> &'static str {
        match self {
            Self::Record(Code::MalformedJson) => "{\"conversation_id\":c1}",
            Self::Record(Code::Truncated) => "{\"conversation_id\":\"c1\",\"user_id\":\"u1\",\"times",
            Self::Record(Code::TrailingData) => "{} {}",
            Self::Record(Code::NotAnObject) => "[\"c1\",\"u1\"]",
            Self::Record(Code::DuplicateKey) => "{\"user_id\":\"u1\",\"user_id\":\"u2\"}",
            Self::Record(Code::SchemaViolation) => {
                "{\"conversation_id\":\"c1\",\"user_id\":\"u1\",\"timestamp\":\"2026-02-30T12:00:00Z\",\"messages\":[]}"
            }
            Self::Record(_) | Self::EmptyDataset => "",
            Self::DuplicateConversationId => {
                "{\"conversation_id\":\"c1\",\"user_id\":\"u1\",\"timestamp\":\"2026-02-10T12:00:00Z\",\"messages\":[]}\n{\"conversation_id\":\"c1\",\"user_id\":\"u2\",\"timestamp\":\"2026-02-11T12:00:00Z\",\"messages\":[]}"
            }
        }
    }
}

impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ErrorCode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::from_name(&name).ok_or_else(|| de::Error::custom("unknown error code"))
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

/// `conversations.jsonl:3:17: schema_violation: expected type string, found a number (at /user_id)`
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
