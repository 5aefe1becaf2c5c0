//! The edits of a record, in short.

use super::{Edit, EditKind};
use crate::Span;

/// The edits that made a malformed record JSON, in short: their kinds, their number, and the bytes from the first to the
/// last.
///
/// A repair has edits of one kind, or of the two of a [notation](crate::syntax_repair#notations).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RepairedSyntax {
    kind: EditKind,
    count: u8,
    other: Option<EditKind>,
    other_count: u8,
    start: u32,
    end: u32,
}

impl RepairedSyntax {
    /// The summary of the edits of a repair; `None` if there are none.
    #[must_use]
    pub fn new(edits: &[Edit]) -> Option<Self> {
        let (first, last) = (edits.first()?, edits.last()?);
        let offset = |at: u64| u32::try_from(at).unwrap_or(u32::MAX);
        let of_first = edits.iter().filter(|edit| edit.kind == first.kind).count();
        let count = |count: usize| u8::try_from(count).unwrap_or(u8::MAX);
        Some(Self {
            kind: first.kind,
            count: count(of_first),
            other: edits.iter().map(|edit| edit.kind).find(|kind| *kind != first.kind),
            other_count: count(edits.len() - of_first),
            start: offset(first.span.start),
            end: offset(last.span.end),
        })
    }

    /// The kinds of the edits, one or two, each with its number: together at most 64.
    pub fn kinds(self) -> impl Iterator<Item = (EditKind, usize)> {
        let other = self.other.map(|kind| (kind, self.other_count.into()));
        [Some((self.kind, self.count.into())), other].into_iter().flatten()
    }

    /// From the start of the first edit to the end of the last, in bytes of the malformed text, whose first byte is that of
    /// the [record's span](crate::Record::span).
    #[must_use]
    pub fn span(self) -> Span {
        Span::new(self.start.into(), self.end.into())
    }
}
