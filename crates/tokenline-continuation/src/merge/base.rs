//! What merging needs to know of the base.

use tokenline_core::json::{Cut, Kind, OpenContainer, OpenToken, Parser};

use crate::document::Document;
use crate::tokens::{members, string_end};

pub(super) struct Base<'a> {
    pub(super) text: &'a str,
    pub(super) parser: &'a Parser,
    pub(super) cut: Cut,
    /// The open containers, the outermost first.
    pub(super) open: Vec<OpenContainer>,
}

/// How far back the members of an open container are looked for, in bytes.
const WINDOW: usize = 2048;

impl<'a> Base<'a> {
    /// `None` unless it is open.
    pub(super) fn new(document: &'a Document) -> Option<Self> {
        let cut = document.cut()?;
        Some(Self { text: document.text(), parser: &document.parser, cut, open: document.open_containers() })
    }

    /// Whether it stops between two tokens, where white space means nothing.
    pub(super) fn is_between_tokens(&self) -> bool {
        self.cut.token.is_none()
    }

    /// Whether no member is open: the innermost container may go on with another, or end.
    pub(super) fn is_between_members(&self) -> bool {
        self.cut.member == self.text.len() && self.is_between_tokens()
    }

    pub(super) fn is_in_number(&self) -> bool {
        matches!(self.cut.token, Some(OpenToken::Number { .. }))
    }

    pub(super) fn is_in_string(&self) -> bool {
        matches!(self.cut.token, Some(OpenToken::String { .. } | OpenToken::Name { .. }))
    }

    /// The name of the open member, with its quotes, if it is whole.
    pub(super) fn member_name(&self) -> Option<&'a str> {
        let is_object = self.open.last().is_some_and(|open| open.kind == Kind::Object);
        let in_name = matches!(self.cut.token, Some(OpenToken::Name { .. }));
        let start = self.cut.member;
        let is_named = is_object && !in_name && start < self.text.len();
        is_named.then(|| &self.text[start..string_end(self.text.as_bytes(), start + 1)])
    }

    /// The name of a container, with its quotes, if it is a member of an object.
    pub(super) fn name(&self, open: &OpenContainer) -> Option<&'a str> {
        open.name.as_ref().map(|name| &self.text[name.start - 1..=name.end])
    }

    /// Where the open member of the open container of this level begins, or the next one would.
    pub(super) fn open_member(&self, level: usize) -> usize {
        match self.open.get(level + 1) {
            Some(next) => next.name.as_ref().map_or(next.start, |name| name.start - 1),
            None => self.cut.member,
        }
    }

    /// Where the members begin that are before that one and near it.
    pub(super) fn members(&self, level: usize) -> Vec<usize> {
        let to = self.open_member(level);
        let from = self.parser.token_before(to.saturating_sub(WINDOW)).max(self.open[level].start);
        members(self.text, from, to).pop().unwrap_or_default()
    }

    /// The names of these members, with their quotes, if it is an object.
    pub(super) fn names(&self, level: usize) -> Vec<&'a str> {
        let bytes = self.text.as_bytes();
        self.members(level).iter().map(|&at| &self.text[at..string_end(bytes, at + 1)]).collect()
    }
}
