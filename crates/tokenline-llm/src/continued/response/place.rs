//! Whether a response that repeats nothing begins where a record does, or inside one.

use std::collections::VecDeque;

use super::super::among::Among;
use super::super::error::ContinuationFailure::{Ambiguous, Diverged};
use super::super::fingerprint::{Fingerprint, squeeze};
use super::super::progress::{Form, Progress};
use super::super::reader::{Item, Reader};
use super::super::shape;
use super::decide::SURE;
use super::{Response, Stage};

impl Response {
    /// All that waits goes out, and what follows, if it has its place.
    pub(super) fn deliver(&mut self, progress: &Progress) {
        if self.has_place(progress) {
            return self.release();
        }
        self.stage = Stage::Unproven;
        self.pending = None;
        self.doubt(progress);
    }

    /// Whether what is new stands where records do: behind one that is repeated, if that is no part of others; where there
    /// was nothing before; or on a line, where no record takes more than one.
    pub(super) fn has_place(&self, progress: &Progress) -> bool {
        let Some(among) = self.reader().and_then(Reader::place) else { return true };
        let is_spread = progress.form == Form::Elements
            || among.has_array()
            || progress.shape.has_lines
            || progress.open.text().contains('\n');
        let is_begin = progress.records == 0 && progress.open.is_empty();
        let is_behind = || self.skipped >= SURE || (self.skipped > 0 && !is_last_within(progress));
        !is_spread || is_begin || is_behind()
    }

    /// Looks whether what there is shows that it began inside a record.
    pub(super) fn doubt(&mut self, progress: &Progress) {
        let Some(first) = self.candidate() else { return };
        let began_inside = self.began_inside();
        let name = shape::first_name(&first.text);
        let is_open = match shape::first_name(progress.open.text()) {
            Some(open) => name == Some(open),
            None => progress.shape.is_unknown(),
        };
        let is_like = name.is_none_or(|name| is_open || progress.shape.is_usual(Fingerprint::of(name)));
        if began_inside || (self.skipped == 0 && !is_like) {
            self.fail(Diverged);
        }
    }

    /// All of the response has come, or as much as is waited for: with more brackets closed than opened it would have
    /// been doubted by now.
    pub(super) fn prove(&mut self, progress: &Progress) {
        self.doubt(progress);
        if !matches!(self.stage, Stage::Unproven) {
            return;
        }
        match (self.is_cut || !self.is_over) && self.may_be_inside(progress) {
            true => self.fail(Ambiguous),
            false => self.release(),
        }
    }

    /// Whether the first record may be from within one that was delivered or is open.
    fn may_be_inside(&self, progress: &Progress) -> bool {
        // What is open may be as well.
        let Some(first) = self.candidate() else { return self.skipped > 0 };
        if !progress.shape.is_like_within(progress.open.text()) {
            return false;
        }
        let open = squeeze(progress.open.text());
        let mut parts = open.match_indices('{').skip(1).map(|(at, _)| &open[at..]);
        is_within_any(&first.text, progress)
            || parts.any(|part| part.starts_with(&first.text) || first.text.starts_with(part))
    }

    pub(super) fn began_inside(&self) -> bool {
        self.reader().and_then(Reader::place).is_some_and(Among::began_inside)
    }
}

/// Whether the last record is a part of an earlier one, or of the one that is open, as well, as far as those are
/// remembered.
fn is_last_within(progress: &Progress) -> bool {
    let Some(last) = progress.tail.back().and_then(|last| last.text.as_deref()) else { return false };
    let open = progress.open.text();
    let is_in = |text: &str| text.get(1..).is_some_and(|inner| inner.contains(last));
    progress.shape.is_like_within(open)
        && (is_in(&squeeze(open))
            || progress.tail.iter().filter_map(|record| record.text.as_deref()).any(is_in))
}

/// Whether a record is a part of one of the last that were delivered, or may be.
fn is_within_any(record: &str, progress: &Progress) -> bool {
    let is_in = |text: &str| text.get(1..).is_some_and(|inner| inner.contains(record));
    progress.tail.iter().any(|record| record.text.as_deref().is_none_or(is_in))
}

/// Whether the first record that waits is one that was delivered, in other words.
pub(super) fn is_changed(waiting: &VecDeque<Item>, progress: &Progress) -> bool {
    let first = waiting.iter().find_map(|item| match item {
        Item::Record(read) => Some(&**read),
        Item::Finding(_) => None,
    });
    let member = first.and_then(|read| shape::first(&read.text)).map(|first| first.member);
    let earlier = progress.tail.iter().filter_map(|record| record.first);
    member.is_some_and(|member| progress.shape.is_changed(member, earlier))
}
