//! Where the scanner is in a text: its states, and what is known of the open value.

use crate::Recovered;
use crate::json::error::{Expected, Fault};
use crate::records::line::Line;

#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    /// Nothing but white space on the line so far.
    LineStart,
    /// Counting the marks that may make a code fence.
    Fence { marker: u8, count: u8 },
    /// In what may become a tag around thinking.
    Tag,
    /// Inside such tags.
    Think { matched: u8 },
    /// Text, up to the next opener.
    Text,
    /// Inside a value.
    Value { start: u64 },
    /// Whether a record was meant takes more of the text: at a fault in a value, or before an array in it is scanned.
    Judge { start: u64, fault: Option<Fault> },
    /// A value is balanced; what follows decides whether it was whole.
    Sealing { start: u64, end: u64, comma: bool, released: bool },
    /// In what may be a tool call that is no JSON object, or several.
    Call { start: u64 },
    /// Between the elements of an array, or the members that lead to one.
    Array,
    /// After a fault: up to where the brackets of the rejected value balance.
    Skip(Skip),
    /// After a rejected value whose brackets balance.
    AfterRejected { start: u64 },
    /// After a fault: up to the end of the line.
    Discard,
    /// After the end of the input.
    Ended,
}

/// Where the open value begins, and what it would be recovered from.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    pub(super) line: u64,
    pub(super) column: u64,
    pub(super) recovered: Recovered,
}

/// The first line of an open value that goes on behind it.
#[derive(Debug)]
pub(super) struct MultilineValue {
    pub(super) line: Line,
    /// Offset of its line feed.
    pub(super) end: u64,
    /// What the grammar allowed there, and how many containers were open.
    pub(super) expected: Expected,
    pub(super) depth: u32,
}

/// On the way to where the brackets of a rejected value balance, or to the end of the line.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Skip {
    /// Where the rejected value starts.
    pub(super) start: u64,
    pub(super) depth: u32,
    pub(super) in_string: bool,
    pub(super) escaped: bool,
    pub(super) end: SkipTo,
}

/// Where a rejected value ends on its line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SkipTo {
    /// Where its brackets balance.
    #[default]
    Balance,
    /// At a comma or the bracket of what is around it.
    Separator,
    /// With the line.
    LineEnd,
}

/// What happened to bytes upstream, so that nothing on their line can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Gap {
    /// They are missing.
    Missing,
    /// They were not UTF-8, and were replaced by U+FFFD.
    Replaced,
}
