//! Rows and conversations that are not written.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! codes {
    ($($(#[doc = $explanation:literal])+ $name:ident = $text:literal,)+) => {
        /// Why a row or a conversation was rejected.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum ImportCode {
            $($(#[doc = $explanation])+ $name,)+
        }

        impl ImportCode {
            /// All codes.
            pub const ALL: [Self; [$($text),+].len()] = [$(Self::$name),+];

            /// The name in reports, such as `missing_role`.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)+
                }
            }

            /// The meaning of the code, and what to do.
            #[must_use]
            pub fn explanation(self) -> &'static str {
                match self {
                    $(Self::$name => concat!($($explanation),+).trim_start(),)+
                }
            }
        }
    };
}

codes! {
    /// The row cannot be read. It is not JSON, not an object, not UTF-8, or has another number of fields than the header.
    MalformedRow = "malformed_row",
    /// The row does not name its conversation. Check the column of the mapping.
    MissingConversationId = "missing_conversation_id",
    /// The id of the conversation is neither a text nor a number.
    InvalidConversationId = "invalid_conversation_id",
    /// The id of the user is neither a text nor a number.
    InvalidUserId = "invalid_user_id",
    /// The message has no role.
    MissingRole = "missing_role",
    /// The role is not a usual one, and the mapping does not name it. Add it to `roles`, or keep unknown roles.
    UnknownRole = "unknown_role",
    /// The time cannot be read. Set the format or, for times without an offset, the time zone.
    InvalidTimestamp = "invalid_timestamp",
    /// The content is neither a string, nor a number, nor a list of text parts.
    InvalidContent = "invalid_content",
    /// The message has no text, and the mapping rejects such messages.
    EmptyContent = "empty_content",
    /// The message cannot be ordered. Its order column or, if none is mapped, its time is empty.
    MissingOrder = "missing_order",
    /// The order is neither a number, nor a time, nor a text.
    InvalidOrder = "invalid_order",
    /// The document has no array of messages where the mapping expects it.
    MissingMessages = "missing_messages",
    /// No row of the conversation names its user. Map a column, or set a default user.
    MissingUserId = "missing_user_id",
    /// No row of the conversation has a time. Map a column, or set a default time.
    MissingTimestamp = "missing_timestamp",
    /// The rows of the conversation name several users. The mapping can take the first one.
    SeveralUsers = "several_users",
    /// No message of the conversation has a text.
    NoMessages = "no_messages",
    /// An earlier conversation has this id, whether or not it was written. Rows that are not grouped need to be sorted.
    RepeatedConversation = "repeated_conversation",
    /// The line of the conversation would be longer than 8 MiB, which is the limit of the validator.
    TooLong = "too_long",
}

impl ImportCode {
    /// Rows that are rejected so, and the options of `tokenline conversations import` with which they are. The rows are
    /// empty if it takes too many of them.
    #[must_use]
    pub fn example(self) -> (&'static str, &'static str) {
        const DOCUMENT: &str = "--messages messages";
        match self {
            Self::MalformedRow => ("", "{\"conversation_id\":\"c1\",\"user_id\":\"u1\",\"time"),
            Self::MissingConversationId => {
                ("", r#"{"user_id":"u1","timestamp":"2026-02-10T12:34:56Z","role":"user","content":"Hi."}"#)
            }
            Self::InvalidConversationId => (
                "",
                r#"{"conversation_id":true,"user_id":"u1","timestamp":"2026-02-10T12:34:56Z","role":"user","content":"Hi."}"#,
            ),
            Self::InvalidUserId => (
                "",
                r#"{"conversation_id":"c1","user_id":["u1"],"timestamp":"2026-02-10T12:34:56Z","role":"user","content":"Hi."}"#,
            ),
            Self::MissingRole => (
                "",
                r#"{"conversation_id":"c1","user_id":"u1","timestamp":"2026-02-10T12:34:56Z","content":"Hi."}"#,
            ),
            Self::UnknownRole => (
                "",
                r#"{"conversation_id":"c1","user_id":"u1","timestamp":"2026-02-10T12:34:56Z","role":"agent 7","content":"Hi."}"#,
            ),
            Self::InvalidTimestamp => (
                "",
                r#"{"conversation_id":"c1","user_id":"u1","timestamp":"2026-02-10 12:34:56","role":"user","content":"Hi."}"#,
            ),
            Self::InvalidContent => (
                "",
                r#"{"conversation_id":"c1","user_id":"u1","timestamp":"2026-02-10T12:34:56Z","role":"user","content":true}"#,
            ),
            Self::EmptyContent => (
                "--empty-messages reject",
                r#"{"conversation_id":"c1","user_id":"u1","timestamp":"2026-02-10T12:34:56Z","role":"user","content":""}"#,
            ),
            Self::MissingOrder => (
                "",
                r#"{"conversation_id":"c1","user_id":"u1","timestamp":null,"role":"user","content":"Hi."}"#,
            ),
            Self::InvalidOrder => (
                "--order number",
                r#"{"conversation_id":"c1","user_id":"u1","timestamp":"2026-02-10T12:34:56Z","role":"user","content":"Hi.","number":[1]}"#,
            ),
            Self::MissingMessages => (
                DOCUMENT,
                r#"{"id":"c1","user_id":"u1","timestamp":"2026-02-10T12:34:56Z","messages":"Hi."}"#,
            ),
            Self::MissingUserId => (
                "",
                r#"{"conversation_id":"c1","timestamp":"2026-02-10T12:34:56Z","role":"user","content":"Hi."}"#,
            ),
            Self::MissingTimestamp => {
                (DOCUMENT, r#"{"id":"c1","user_id":"u1","messages":[{"role":"user","content":"Hi."}]}"#)
            }
            Self::SeveralUsers => (
                "",
                r#"{"conversation_id":"c1","user_id":"u1","timestamp":"2026-02-10T12:34:56Z","role":"user","content":"Hi."}
{"conversation_id":"c1","user_id":"u2","timestamp":"2026-02-10T12:34:57Z","role":"user","content":"Hi."}"#,
            ),
            Self::NoMessages => {
                (DOCUMENT, r#"{"id":"c1","user_id":"u1","timestamp":"2026-02-10T12:34:56Z","messages":[]}"#)
            }
            Self::RepeatedConversation => (
                "--messages messages --conversation-id id",
                r#"{"id":"c1","user_id":"u1","timestamp":"2026-02-10T12:34:56Z","messages":[{"role":"user","content":"Hi."}]}
{"id":"c1","user_id":"u1","timestamp":"2026-02-10T12:34:57Z","messages":[{"role":"user","content":"Hi."}]}"#,
            ),
            Self::TooLong => ("", ""),
        }
    }
}

impl fmt::Display for ImportCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ImportCode {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let code = Self::ALL.into_iter().find(|code| code.as_str() == name);
        code.ok_or_else(|| serde::de::Error::custom("an unknown code"))
    }
}

impl Serialize for ImportCode {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Where a row is in its source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The row or document, counted from 1.
    pub row: u64,
    /// The line on which it begins, counted from 1; 0 if the source has no lines.
    pub line: u64,
}

/// A row or a conversation that was not written. A row has one reject, the first of conversation id, user id, time, order,
/// role and text; in a document, each message has one. Without the content, unless the importer was asked for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ImportReject {
    /// The name of the source.
    pub source: String,
    /// The row or document, counted from 1; for a conversation, that of its first message, in their order.
    pub row: u64,
    /// Whether the document is in an array, which may be on one line.
    #[serde(skip)]
    pub(crate) is_in_array: bool,
    /// The line on which it begins, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The message in the document, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_number: Option<u64>,
    /// Why.
    pub code: ImportCode,
    /// The column that the mapping names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// A description of the problem.
    pub message: String,
    /// The row as a JSON object of its mapped columns, or the id of the conversation; only on request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}

/// `rows.csv:3: invalid_timestamp: the time cannot be read (column sent_at)`
impl fmt::Display for ImportReject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, row, is_in_array, line, message_number, code, column, message, .. } = self;
        match line {
            Some(line) => write!(f, "{source}:{line}: {code}: {message}")?,
            None => write!(f, "{source}: row {row}: {code}: {message}")?,
        }
        // Not if each document has a line of its own.
        if *is_in_array && line.is_some_and(|line| line == 1 || line < *row) {
            write!(f, " (document {row})")?;
        }
        if let Some(number) = message_number {
            write!(f, " (message {number})")?;
        }
        match column {
            Some(column) => write!(f, " (column {column})"),
            None => Ok(()),
        }
    }
}
