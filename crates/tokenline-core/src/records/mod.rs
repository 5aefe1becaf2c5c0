//! Records out of text that arrives in pieces.
//!
//! [`RecordDecoder`] is the machine; [`JsonlParser`](crate::JsonlParser) is the comfortable way to
//! use it. The machine reads on through these phases:
//!
//! ```text
//! Start -> LineStart -> Value -> Sealing -> (record released) -> Text -> LineStart
//!              |          |         |                              ^
//!              |          |         +- conflict --> Discard -------+   to the end of the line
//!              |          +- malformed -----------> Judge -> Skip -+   until its brackets balance
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
//! # Text with brackets in it
//!
//! A value that is not JSON is lost only if a record was meant by it: `meant.rs` has the rule. All else is text, which
//! is read on from the byte at fault, so that it hides nothing.
//!
//! # A value on several lines
//!
//! In the lenient mode a value goes on behind its line, at any indentation, while its grammar holds. If it then proves
//! malformed, or too large, or is cut by the end of the input, the machine goes back to the end of its first line.
//! What is whole in the value and began a line at or left of its column is read like any other: it may be records
//! behind something that was left open. All other lines up to the fault are lost with it. So are the line with the
//! fault and those after it that belong to it: those indented deeper, and those that begin as no line of text does,
//! with `"`, `,`, `:` or, at the same indentation, a closing bracket. So a bad line harms no good one, and inner objects
//! of what is lost do not pass for records.
//!
//! # Arrays
//!
//! An array is not parsed as a value: the machine walks from element to element, and each is a record
//! as it closes, or a fault of its own. An element that is no record and began a line at or left of the array's column
//! is held until a comma or bracket follows it: if anything else does, the array was left open before it, and its line
//! is read again. So memory holds one element, whatever the array. The way to an
//! array [inside another value](crate::Options::items) is walked alike.

mod carry;
mod cursor;
mod decoder;
mod line;
mod parts;
mod scanner;
mod segments;

pub use decoder::{Decoded, RecordDecoder};
pub use scanner::Gap;
