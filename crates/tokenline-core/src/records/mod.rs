//! Records out of text that arrives in pieces.
//!
//! [`RecordDecoder`] is the machine; [`JsonlParser`](crate::JsonlParser) is the comfortable way to
//! use it. The machine reads on through these phases:
//!
//! ```text
//! Start -> LineStart -> Value -> Sealing -> (record released) -> Text -> LineStart
//!              |          |         |                              ^
//!              |          |         +- conflict --> Discard -------+   to the end of the line
//!              |          +- malformed -----------> Skip ----------+   until its brackets balance
//!              |          +- at the end of its line: goes on (lenient)
//!              +- text ---------------------------> Text               to the next opener
//!              +- `[`, or what leads to the items > Walk               to the next element
//!              +- ``` ----------------------------> Fence
//!              +- <think> ------------------------> Tag -> Think       to the closing tag
//! ```
//!
//! A value that is lost is told of as soon as it is over, before anything behind it. What else a line
//! yields is decided at its end: at most one diagnostic.
//!
//! # A value on several lines
//!
//! In the lenient mode a value may go on behind its line. If it then proves malformed, or too large, or
//! is cut by the end of the input, what is lost with it are its first line and the lines after it that
//! belong to it: those indented deeper than the first, and those that begin as no line of text does, with
//! `"`, `,`, `:` or, at the same indentation, a closing bracket. They are lost up to where their brackets balance on a
//! line that is not indented deeper. The machine goes back to the end of the first line; every other line up to the fault is decoded once more, as a
//! line of its own, and from the line with the fault on decoding starts afresh. So a bad line harms no good one,
//! inner objects of what is lost never pass for records, and no byte is read more than twice.
//!
//! # Arrays
//!
//! An array is not parsed as a value: the machine walks from element to element, and each is a record
//! as it closes, or a fault of its own. So memory holds one element, whatever the array. The way to an
//! array [inside another value](crate::Options::items) is walked alike.

mod carry;
mod decoder;
mod line;
mod partial;
mod phase;
mod window;

pub use decoder::{Decoded, RecordDecoder};
