//! The states of the scanner, and what is known of the open value.

use crate::Recovered;
use crate::json::error::{Expected, Fault};
use crate::records::line::Line;

#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    /// Only white space on the line so far.
    LineStart,
    /// Counting the characters of a possible code fence.
    Fence { marker: u8, count: u8 },
    /// In a possible tag around thinking.
    Tag,
    /// Between such tags.
    Think { matched: u8 },
    /// Text, up to the next opener.
    Text,
    /// Inside a value.
    Value { start: u64 },
    /// More text is needed to decide whether a record was intended: at a fault in a value, or before an array
    /// in it is scanned.
    Undecided { start: u64, fault: Option<Fault> },
    /// A value is balanced; what follows decides whether it is complete.
    Confirming { start: u64, end: u64, comma: bool, released: bool },
    /// In what may be one or more tool calls that are not JSON objects.
    Call { start: u64 },
    /// Between the elements of an array, or the members on the path to one.
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

/// The start of the open value, and how it would be recovered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    pub(super) line: u64,
    pub(super) column: u64,
    pub(super) recovered: Recovered,
}

/// The first line of an open value that continues after it.
#[derive(Debug)]
pub(super) struct MultilineValue {
    pub(super) line: Line,
    /// Offset of its newline.
    pub(super) end: u64,
    /// What the grammar allowed there, and the number of open containers.
    pub(super) expected: Expected,
    pub(super) depth: u32,
}

/// The [`MultilineValue`], if there is one. Boxed, because most values are on one line, and kept for the next.
#[derive(Debug, Default)]
pub(super) struct Multiline {
    is_open: bool,
    value: Option<Box<MultilineValue>>,
}

impl Multiline {
    #[inline]
    pub(super) fn is_some(&self) -> bool {
        self.is_open
    }

    #[inline]
    pub(super) fn get(&self) -> Option<&MultilineValue> {
        self.value.as_deref().filter(|_| self.is_open)
    }

    pub(super) fn set(&mut self, value: MultilineValue) {
        self.is_open = true;
        match &mut self.value {
            Some(kept) => **kept = value,
            None => self.value = Some(Box::new(value)),
        }
    }

    #[inline]
    pub(super) fn clear(&mut self) {
        self.is_open = false;
    }

    pub(super) fn take(&mut self) -> Option<MultilineValue> {
        let is_open = std::mem::take(&mut self.is_open);
        self.value.take_if(|_| is_open).map(|value| *value)
    }
}

/// A skip to where the brackets of a rejected value balance, or to the end of the line.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Skip {
    /// The start of the rejected value.
    pub(super) start: u64,
    pub(super) depth: u32,
    pub(super) in_string: bool,
    pub(super) escaped: bool,
    pub(super) end: SkipTo,
}

/// The end of a rejected value on its line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SkipTo {
    /// Where its brackets balance.
    #[default]
    Balance,
    /// At a comma or the bracket of the container around it.
    Separator,
    /// At the end of the line.
    LineEnd,
}

/// Something happened to bytes upstream, so that nothing on their line can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Gap {
    /// They are missing.
    Missing,
    /// They were not UTF-8, and were replaced by U+FFFD.
    Replaced,
    /// Others were sent in their place later on: the line is [`Code::TrailingData`](crate::Code::TrailingData).
    Contradicted,
    /// They were delivered as complete, but their line goes on: it is
    /// [`Code::LateFragment`](crate::Code::LateFragment).
    Delivered,
}
