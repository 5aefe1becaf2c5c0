//! Records out of text that arrives in pieces.
//!
//! [`RecordDecoder`] is the machine; [`JsonlParser`](crate::JsonlParser) is the comfortable way to
//! use it. The machine reads a line at a time, through these phases:
//!
//! ```text
//! Start -> LineStart -> Value -> Sealing -> (record released) -> Text -> LineStart
//!              |          |         |                              ^
//!              |          |         +- conflict --> Discard -------+   to the end of the line
//!              |          +- malformed -----------> Skip ----------+   until its brackets balance
//!              +- text (lenient) -----------------> Text               to the next opener
//! ```
//!
//! What a line yields besides records is decided at its end: at most one diagnostic.

mod carry;
mod decoder;
mod line;
mod phase;
mod window;

pub use decoder::{Decoded, RecordDecoder};
