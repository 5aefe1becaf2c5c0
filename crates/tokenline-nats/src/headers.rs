//! Names of message headers.
//!
//! | header | of a chunk | of a record or reject |
//! |---|---|---|
//! | `Nats-Msg-Id` | the producer's choice | run, source, offset, and the ordinal after `r` (record) or `x` (reject): `glossary-7/a/120/r3` |
//! | [`RUN`] | | the run id |
//! | [`ORDINAL`] | | the number of the message on its subject, from 1 |
//! | [`CHUNK`] | | the stream sequence of the chunk that completed it |
//! | [`FIRST_CHUNK`] | | the stream sequence of the source's first chunk |
//! | [`LINE`] | | the line, from 1 |
//! | [`SPAN`] | | its bytes: `120-164` |
//! | [`COMPLETION`] | | of a record: why it counts as complete, such as `newline` |
//! | [`CHOICE`], [`BLOCK`] | | of a response: the choice and the block of its text, if not 0 |
//! | [`END`] | `complete` or `incomplete`: this chunk is the source's last | the same, of the last message on the records' subject; it is empty |
//! | [`RECORDS`], [`REJECTS`] | | of the last message: the counts of the source |
//!
//! A native tool call of a response has no position, thus neither line nor span, and offset 0.

/// The run id.
pub const RUN: &str = "Tokenline-Run";
/// The number of a message on its subject, from 1.
pub const ORDINAL: &str = "Tokenline-Ordinal";
/// The stream sequence of the chunk that completed a record or reject.
pub const CHUNK: &str = "Tokenline-Chunk";
/// The stream sequence of the source's first chunk.
pub const FIRST_CHUNK: &str = "Tokenline-First-Chunk";
/// The line on which a record starts, or with the fault of a reject, from 1.
pub const LINE: &str = "Tokenline-Line";
/// The first byte of a record or reject, and the byte after its last: `120-164`.
pub const SPAN: &str = "Tokenline-Span";
/// Why a record counts as complete; see [`CompletedBy`](tokenline::CompletedBy).
pub const COMPLETION: &str = "Tokenline-Completion";
/// The choice of a response, if not the first.
pub const CHOICE: &str = "Tokenline-Choice";
/// The block of a response, if not the first.
pub const BLOCK: &str = "Tokenline-Block";
/// The end of a source: `complete`, or `incomplete` if it failed, ended without the provider's end, or was cut off by the
/// token limit or a filter. A text does not say that it was cut off; its producer can, by this header.
pub const END: &str = "Tokenline-End";
/// The number of a source's records.
pub const RECORDS: &str = "Tokenline-Records";
/// The number of a source's rejects.
pub const REJECTS: &str = "Tokenline-Rejects";

/// The value of [`END`] for a source that is complete.
pub const COMPLETE: &str = "complete";
/// The value of [`END`] for a source that failed, ended without the provider's end, or was cut off.
pub const INCOMPLETE: &str = "incomplete";
