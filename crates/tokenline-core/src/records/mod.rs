//! The scanner: finds the records in a model's text.
//!
//! [`RecordDecoder`] owns the bytes of a text that arrives in chunks; [`JsonlParser`](crate::JsonlParser) is
//! a more convenient interface to it. Both are built on the scanner. Its states are in `scanner/state.rs`,
//! its steps in `scanner/steps.rs`, and each rule of recovery has a file:
//!
//! ```text
//! LineStart -> Value -> Confirming -> (record released) -> Text -> LineStart
//!   |          |         |                                 ^
//!   |          |         +- conflict ------------> Skip ---+   to the end of the line
//!   |          +- malformed ----------> Undecided -> Skip -+   until its brackets balance
//!   |          +- at the end of its line: continues (lenient)
//!   +- text ------------------------------> Text               to the next opener
//!   +- `[`, or a path to the items -------> Array              to the next element
//!   +- ``` -------------------------------> Fence
//!   +- <think> ---------------------------> Tag -> Think       to the closing tag
//! ```
//!
//! The [cursor](cursor::Cursor) checks that a step reads UTF-8: an invalid byte is found at its position, and
//! rejects its line, as a [gap](Gap) does. A rejected value is reported as soon as it ends, before anything
//! after it. Other diagnostics of a line are decided at its end: at most one.
//!
//! If [asked for](crate::Options::text), `segments.rs` splits what is not a record into text for people and
//! markup. `parts.rs` puts these segments, and the [deltas](crate::Options::partials) of open records,
//! between the events. It is a wrapper, so that the common path does not pay for it.
//!
//! # Text with brackets
//!
//! A value that is not JSON is rejected only if a record was intended: `scanner/intent.rs` has the rule.
//! Otherwise it is text. If it is on one line, scanning continues from the byte at fault, so that the text hides
//! nothing.
//!
//! # A value on several lines
//!
//! In the lenient mode a value continues after its line, at any indentation, while its grammar holds. If it
//! then proves malformed or too large, or the input ends inside it, the scanner goes back to the end of its
//! first line. Parts of the value that are complete and began a line at or left of its column are read like
//! any other: they may be records after a value that was left open. All other lines up to the fault are
//! rejected with it. So are the line with the fault and the lines after it that belong to it: lines that are
//! indented deeper, and lines that start with a character prose does not start with: `"`, `,`, `:` or, at the
//! same indentation, a closing bracket. So an invalid line does not harm valid ones, and objects inside a
//! rejected value do not become records.
//!
//! If malformed records are to be repaired, a string that is open at the end of a value's only line goes on in the lines
//! after it that begin like text. Such a line is held until the string closes: if no comma, colon, bracket or line feed
//! follows there, the line is none of the string's, and is read like any other.
//!
//! The same lines are read and skipped wherever the value is. If it is text, because no record was intended or because
//! it is in a code fence of another language, the lines that are skipped stay text: a note
//! ([`Code::Prose`](crate::Code::Prose)), not a reject, has the span of each run of them.
//!
//! # Arrays
//!
//! An array is not parsed as a value: the scanner goes from element to element, and each is a record once it
//! closes, or a fault of its own. An element that is not a record and began a line at or left of the array's
//! column is held until a comma or bracket follows it: if anything else does, the array was left open before
//! it, and its line is scanned again. So memory holds one element, however long the array. The path to an
//! array [inside another value](crate::Options::items) is scanned in the same way.

mod carry;
mod cursor;
mod decoder;
mod input;
mod line;
mod parts;
mod scanner;
mod segments;

pub use decoder::{Decoded, RecordDecoder};
pub use input::CheckedChunk;
pub(crate) use scanner::STILL_THINKING;
pub use scanner::{Gap, THINK_TAGS};
