//! Conversations as JSON Lines, as stores export them: validated against a contract before anything else reads them.
//!
//! Each line is one conversation with a unique id:
//!
//! ```json
//! {"conversation_id":"c1","user_id":"u1","timestamp":"2026-02-10T12:34:56Z","messages":[{"role":"user","content":"Hi."}],"metadata":{}}
//! ```
//!
//! - [`ConversationValidator`] reads a file of any size, or pushed bytes, and names every invalid line in a
//!   [`ValidationReport`]: by its position and the violated rule, never by its content. [`schema`] is the contract as a
//!   JSON Schema.
//! - [`RecordValidator`] does the same for any JSON Schema.
//! - [`LineChecker`] checks single lines, for engines that distribute files over machines.
//! - [`LineMapper`] maps the lines of files on several threads, in order.
//! - [`Snapshot`] reduces conversations to their messages.
//! - [`Conversation`] is the type of a conversation.
//!
//! Every error affects its own line only: invalid UTF-8, excessive nesting, repeated member names, excessive length.
//! Only the first error of a line is reported, unless [all](RecordValidator::all_errors) are wanted. Blank lines, a byte order mark at the start, and carriage returns at
//! line ends are allowed.

mod contract;
mod conversation;
mod conversations;
mod error;
mod ids;
mod items;
mod line_checker;
mod lines;
mod records;
mod report;
mod schema;
mod snapshot;
mod timestamp;

pub use conversation::{Conversation, ConversationMessage};
pub use conversations::{ConversationValidator, Profile};
pub use error::{ErrorCode, LineError};
pub use line_checker::{ConversationFacts, LineChecker};
pub use lines::{InvalidLine, LineMapper, LineWorker, MappedLines};
pub use records::RecordValidator;
pub use report::{RecordReport, Summary, ValidationReport, Warnings};
pub use schema::schema;
pub use snapshot::Snapshot;
