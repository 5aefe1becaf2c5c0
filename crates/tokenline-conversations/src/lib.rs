//! Conversations as JSON Lines: what stores export, held against a contract before anything else reads it.
//!
//! One conversation a line, each with an id that is its own:
//!
//! ```json
//! {"conversation_id":"c1","user_id":"u1","timestamp":"2026-02-10T12:34:56Z","messages":[{"role":"user","content":"Hi."}],"metadata":{}}
//! ```
//!
//! - [`ConversationValidator`] reads a file of any size, or what is pushed to it, and names every bad line in a
//!   [`ValidationReport`]: by its place and the rule that it breaks, never by what it says. [`schema`] is the contract as a JSON
//!   Schema.
//! - [`RecordValidator`] does the same for any JSON Schema.
//! - [`Snapshot`] rewrites conversations so that only the messages are left.
//! - [`Conversation`] is one of them, typed.
//!
//! A line is an error of its own, whatever is wrong with it: bytes that are not UTF-8, nesting that is too deep, a
//! name that an object has twice, a line that is too long. Only the first fault of a line counts. Blank lines, one byte
//! order mark at the start and line ends with a carriage return are fine.

mod contract;
mod conversation;
mod conversations;
mod error;
mod ids;
mod lines;
mod records;
mod report;
mod schema;
mod snapshot;
mod timestamp;

pub use conversation::{Conversation, ConversationMessage};
pub use conversations::{ConversationValidator, Profile};
pub use error::{ErrorCode, LineError};
pub use lines::InvalidLine;
pub use records::RecordValidator;
pub use report::{RecordReport, Summary, ValidationReport, Warnings};
pub use schema::schema;
pub use snapshot::Snapshot;
