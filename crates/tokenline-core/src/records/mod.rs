//! The scanner: where in a model's text the data is.
//!
//! [`RecordDecoder`] owns the bytes of a text that arrives in pieces; [`JsonlParser`](crate::JsonlParser) is the
//! comfortable way to use it. Under both is the scanner. Its states are values in `scanner/state.rs`, what it does in
//! each is in `scanner/steps.rs`, and each rule of recovery has a file:
//!
//! ```text
//! LineStart -> Value -> Sealing -> (record released) -> Text -> LineStart
//!   |          |         |                              ^
//!   |          |         +- conflict ---------> Skip ---+   to the end of the line
//!   |          +- malformed -----------> Judge -> Skip -+   until its brackets balance
//!   |          +- at the end of its line: goes on (lenient)
//!   +- text ---------------------------> Text               to the next opener
//!   +- `[`, or what leads to the items > Array              to the next element
//!   +- ``` ----------------------------> Fence
//!   +- <think> ------------------------> Tag -> Think       to the closing tag
//! ```
//!
//! What a step reads is checked to be UTF-8 by the [cursor](cursor::Cursor): a bad byte is met where it stands, and
//! rejects its line, as a [gap](Gap) does. A rejected value is reported as soon as it is over, before anything behind
//! it. What else a line yields is decided at its end: at most one diagnostic.
//!
//! Where it is [asked for](crate::Options::text), `segments.rs` sorts what is no record into text for people and markup.
//! `parts.rs` puts that, and the [deltas](crate::Options::partials) of open records, between the events: a wrapper, apart
//! from the usual way.
//!
//! # Text with brackets in it
//!
//! A value that is not JSON is rejected only if a record was meant by it: `scanner/meant.rs` has the rule. All else is
//! text, which is read on from the byte at fault, so that it hides nothing.
//!
//! # A value on several lines
//!
//! In the lenient mode a value goes on behind its line, at any indentation, while its grammar holds. If it then proves
//! malformed, or too large, or is cut by the end of the input, the scanner goes back to the end of its first line.
//! What is whole in the value and began a line at or left of its column is read like any other: it may be records
//! behind something that was left open. All other lines up to the fault are rejected with it. So are the line with the
//! fault and those after it that belong to it: lines that are indented deeper, and lines that start with a character
//! prose does not start with: `"`, `,`, `:` or, at the same indentation, a closing bracket. So a bad line harms no good
//! one, and inner objects of what is rejected do not pass for records.
//!
//! # Arrays
//!
//! An array is not parsed as a value: the scanner goes from element to element, and each is a record
//! as it closes, or a fault of its own. An element that is no record and began a line at or left of the array's column
//! is held until a comma or bracket follows it: if anything else does, the array was left open before it, and its line
//! is read again. So memory holds one element, whatever the array. The way to an
//! array [inside another value](crate::Options::items) is read alike.

mod carry;
mod cursor;
mod decoder;
mod line;
mod parts;
mod scanner;
mod segments;

pub use decoder::{Decoded, RecordDecoder};
pub use scanner::Gap;
