//! The states of the scanner, and what is known of the open value.
//!
//! A new state is a variant of [`State`] and a method `enter_*` of [`CurrentState`]. Its step is called in
//! `Scanner::advance_in_steps`, and what the end of the text means in it is in `Scanner::finish_step`. These two, and the
//! methods of `CurrentState` that ask about several states, list all of them, so the compiler asks for the new one: what it
//! holds back is in [`open_start`](CurrentState::open_start), and whether the parser or the scanner examines its bytes in
//! [`is_scanned`](CurrentState::is_scanned).
//!
//! In a debug build with `TOKENLINE_TRACE` set, each transition is a line on standard error.

use crate::json::error::{Expected, Fault};
use crate::records::line::Line;
use crate::{CompletedBy, Record, Recoveries, Span};

/// The part of the text that the next byte belongs to.
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

/// A part of the text of which nothing is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passed {
    /// The rest of a line.
    Line,
    /// The text between tags around thinking.
    Thinking,
    /// Whatever follows the end.
    Everything,
}

/// The state of a scanner, which only the methods `enter_*` change.
#[derive(Clone, Copy, Debug)]
pub(super) struct CurrentState(State);

impl Default for CurrentState {
    fn default() -> Self {
        Self(State::LineStart)
    }
}

impl CurrentState {
    /// The state, for its step.
    #[inline(always)]
    pub(super) fn get(&self) -> &State {
        &self.0
    }

    #[inline(always)]
    fn enter(&mut self, state: State) {
        #[cfg(debug_assertions)]
        trace(self.0, state);
        self.0 = state;
    }

    #[inline(always)]
    pub(super) fn enter_line_start(&mut self) {
        self.enter(State::LineStart);
    }

    #[inline(always)]
    pub(super) fn enter_fence(&mut self, marker: u8, count: u8) {
        self.enter(State::Fence { marker, count });
    }

    #[inline(always)]
    pub(super) fn enter_tag(&mut self) {
        self.enter(State::Tag);
    }

    #[inline(always)]
    pub(super) fn enter_think(&mut self, matched: u8) {
        self.enter(State::Think { matched });
    }

    #[inline(always)]
    pub(super) fn enter_text(&mut self) {
        self.enter(State::Text);
    }

    #[inline(always)]
    pub(super) fn enter_value(&mut self, start: u64) {
        self.enter(State::Value { start });
    }

    #[inline(always)]
    pub(super) fn enter_undecided(&mut self, start: u64, fault: Option<Fault>) {
        self.enter(State::Undecided { start, fault });
    }

    /// The value is balanced, and not released.
    #[inline(always)]
    pub(super) fn enter_confirming(&mut self, start: u64, end: u64) {
        self.stay_confirming(start, end, false, false);
    }

    /// The value is balanced and released; it may prove that it was not complete.
    #[inline(always)]
    pub(super) fn enter_released(&mut self, start: u64, end: u64) {
        self.stay_confirming(start, end, false, true);
    }

    #[inline(always)]
    pub(super) fn stay_confirming(&mut self, start: u64, end: u64, comma: bool, released: bool) {
        self.enter(State::Confirming { start, end, comma, released });
    }

    #[inline(always)]
    pub(super) fn enter_call(&mut self, start: u64) {
        self.enter(State::Call { start });
    }

    #[inline(always)]
    pub(super) fn enter_array(&mut self) {
        self.enter(State::Array);
    }

    #[inline(always)]
    pub(super) fn enter_skip(&mut self, skip: Skip) {
        self.enter(State::Skip(skip));
    }

    #[inline(always)]
    pub(super) fn enter_after_rejected(&mut self, start: u64) {
        self.enter(State::AfterRejected { start });
    }

    #[inline(always)]
    pub(super) fn enter_discard(&mut self) {
        self.enter(State::Discard);
    }

    #[inline(always)]
    pub(super) fn enter_ended(&mut self) {
        self.enter(State::Ended);
    }
}

// Questions. Those about several states list all of them.
impl CurrentState {
    /// Whether only white space is on the line so far.
    #[inline(always)]
    pub(super) fn is_line_start(&self) -> bool {
        matches!(self.0, State::LineStart)
    }

    /// Whether the parser reads a value.
    #[inline(always)]
    pub(super) fn is_value(&self) -> bool {
        matches!(self.0, State::Value { .. })
    }

    /// Whether the text may be a call.
    #[inline(always)]
    pub(super) fn is_call(&self) -> bool {
        matches!(self.0, State::Call { .. })
    }

    /// The start of the value that the parser reads.
    #[inline(always)]
    pub(super) fn value_start(&self) -> Option<u64> {
        let State::Value { start } = self.0 else { return None };
        Some(start)
    }

    /// The start of the text that may be a call.
    #[inline(always)]
    pub(super) fn call_start(&self) -> Option<u64> {
        let State::Call { start } = self.0 else { return None };
        Some(start)
    }

    /// The start of what may be a record or a call and is not released.
    #[inline(always)]
    pub(super) fn open_start(&self) -> Option<u64> {
        match self.0 {
            State::Value { start } | State::Undecided { start, .. } | State::Call { start } => Some(start),
            State::Confirming { start, released, .. } => (!released).then_some(start),
            State::LineStart
            | State::Fence { .. }
            | State::Tag
            | State::Think { .. }
            | State::Text
            | State::Array
            | State::Skip(_)
            | State::AfterRejected { .. }
            | State::Discard
            | State::Ended => None,
        }
    }

    /// Start and end of a balanced value, with whether it is released.
    #[inline(always)]
    pub(super) fn balanced(&self) -> Option<(u64, u64, bool)> {
        let State::Confirming { start, end, released, .. } = self.0 else { return None };
        Some((start, end, released))
    }

    /// The skip over a rejected value.
    #[inline(always)]
    pub(super) fn skip(&self) -> Option<Skip> {
        let State::Skip(skip) = self.0 else { return None };
        Some(skip)
    }

    /// Whether a value is balanced, and what follows it decides.
    #[inline(always)]
    pub(super) fn is_confirming(&self) -> bool {
        matches!(self.0, State::Confirming { .. })
    }

    /// Whether the rest of the line is dropped.
    #[inline(always)]
    pub(super) fn is_discard(&self) -> bool {
        matches!(self.0, State::Discard)
    }

    /// Between tags around thinking: how much of the closing one is read.
    #[inline(always)]
    pub(super) fn think(&self) -> Option<u8> {
        let State::Think { matched } = self.0 else { return None };
        Some(matched)
    }

    /// The part of the text that is passed over, even if it is not UTF-8.
    #[inline(always)]
    pub(super) fn passes(&self) -> Option<Passed> {
        match self.0 {
            State::Discard => Some(Passed::Line),
            State::Think { .. } => Some(Passed::Thinking),
            State::Ended => Some(Passed::Everything),
            State::LineStart
            | State::Fence { .. }
            | State::Tag
            | State::Text
            | State::Value { .. }
            | State::Undecided { .. }
            | State::Confirming { .. }
            | State::Call { .. }
            | State::Array
            | State::Skip(_)
            | State::AfterRejected { .. } => None,
        }
    }

    /// Whether it is in a tag around thinking, or between such tags.
    #[inline(always)]
    pub(super) fn is_in_tag(&self) -> bool {
        match self.0 {
            State::Tag | State::Think { .. } => true,
            State::LineStart
            | State::Fence { .. }
            | State::Text
            | State::Value { .. }
            | State::Undecided { .. }
            | State::Confirming { .. }
            | State::Call { .. }
            | State::Array
            | State::Skip(_)
            | State::AfterRejected { .. }
            | State::Discard
            | State::Ended => false,
        }
    }

    /// Whether it is between the elements of an array.
    #[inline(always)]
    pub(super) fn is_between_elements(&self) -> bool {
        matches!(self.0, State::Array)
    }

    /// Whether the line may prove not to belong to the value that is skipped.
    #[inline(always)]
    pub(super) fn is_line_unproven(&self) -> bool {
        matches!(self.0, State::Skip(Skip { proof: Proof::Missing | Proof::Due, .. }))
    }

    /// Whether an array may follow in which the parser has not begun.
    #[inline(always)]
    pub(super) fn is_before_array(&self) -> bool {
        matches!(self.0, State::Undecided { fault: None, .. })
    }

    /// Whether an element of an array may have begun.
    #[inline(always)]
    pub(super) fn may_be_element(&self) -> bool {
        match self.0 {
            State::Text | State::Value { .. } | State::Confirming { .. } => true,
            State::LineStart
            | State::Fence { .. }
            | State::Tag
            | State::Think { .. }
            | State::Undecided { .. }
            | State::Call { .. }
            | State::Array
            | State::Skip(_)
            | State::AfterRejected { .. }
            | State::Discard
            | State::Ended => false,
        }
    }

    /// Whether the scanner examines the bytes itself, and not a parser or the reader of a call.
    #[inline(always)]
    pub(super) fn is_scanned(&self) -> bool {
        match self.0 {
            State::Value { .. } | State::Undecided { .. } | State::Call { .. } => false,
            State::LineStart
            | State::Fence { .. }
            | State::Tag
            | State::Think { .. }
            | State::Text
            | State::Confirming { .. }
            | State::Array
            | State::Skip(_)
            | State::AfterRejected { .. }
            | State::Discard
            | State::Ended => true,
        }
    }
}

/// Prints a transition, if asked for.
#[cfg(debug_assertions)]
#[inline(never)]
fn trace(from: State, to: State) {
    use std::sync::OnceLock;
    static IS_ON: OnceLock<bool> = OnceLock::new();
    if *IS_ON.get_or_init(|| std::env::var_os("TOKENLINE_TRACE").is_some()) {
        eprintln!("{from:?} -> {to:?}");
    }
}

/// The start of the open value, and how it would be recovered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    pub(super) line: u64,
    pub(super) column: u64,
    pub(super) recovered: Recoveries,
}

/// A record without its value, in 40 bytes.
#[derive(Clone, Copy, Debug)]
pub(in crate::records) struct Found {
    pub(super) line: u64,
    pub(super) column: u64,
    pub(in crate::records) span: Span,
    pub(super) completion: CompletedBy,
    pub(super) recovered: Recoveries,
}

impl Found {
    /// The record with this value.
    #[inline]
    pub(in crate::records) fn record<T>(&self, value: T) -> Record<T> {
        let Self { line, column, span, completion, recovered } = *self;
        Record { value, line, column, span, completion, recovered: recovered.into() }
    }
}

impl Default for Found {
    fn default() -> Self {
        Self {
            line: 0,
            column: 0,
            span: Span::new(0, 0),
            completion: CompletedBy::Newline,
            recovered: Recoveries::NONE,
        }
    }
}

/// The first line of an open value that continues after it.
#[derive(Debug)]
pub(super) struct MultilineValue {
    pub(super) line: Line,
    /// Offset of its newline.
    pub(super) end: u64,
    /// The tokens that the grammar allowed there, and the number of open containers.
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
    pub(super) proof: Proof,
    pub(super) end: SkipTo,
}

/// The proof that a line continues the string of the line before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Proof {
    #[default]
    NotNeeded,
    /// The string is still open. Until the proof, the line is held from its first byte.
    Missing,
    /// The string has closed: the next byte is the proof.
    Due,
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
