//! A response that goes on inside the record that was cut off.

use tokenline_core::json::Raw;
use tokenline_core::{CompletedBy, Record, Recovered, Span};

use super::super::among::Among;
use super::super::error::ContinuationFailure;
use super::super::overlap::Overlap;
use super::super::progress::{Form, Progress};
use super::super::reader::{Item, Read};
use super::super::seam::{Head, LIKELY};
use super::super::source::{Source, reader};
use super::{CutAgain, Response, Stage};

impl Response {
    /// Looks whether it begins as it was asked to, inside the cut record.
    pub(super) fn asked(&mut self, progress: &mut Progress) {
        let Some(pending) = &mut self.pending else { return };
        let overlap = pending.asked.clone().unwrap_or_default();
        match pending.head(&overlap) {
            Head::Wait => {}
            Head::Asked(start) if progress.open.go_on(&overlap) => {
                self.stage = Stage::Grow;
                let new = std::mem::take(&mut pending.text).split_off(start + overlap.len());
                self.grow(&new, progress);
            }
            Head::Asked(_) | Head::Otherwise => {
                self.stage = Stage::Overlap(Overlap::new(progress));
                self.source.push(&pending.text, progress);
            }
        }
    }

    /// More of the cut record.
    pub(super) fn grow(&mut self, text: &str, progress: &mut Progress) {
        let Some(pending) = &mut self.pending else { return };
        match progress.open.push(text) {
            Some(end) => {
                text[end..].clone_into(&mut pending.text);
                self.stage = Stage::Grown;
            }
            None if progress.open.is_malformed() => self.ungrow(progress),
            None if progress.open.len() > pending.options.limits.line_bytes => {
                self.fail(ContinuationFailure::Nothing);
            }
            None if progress.open.len() > pending.from => self.cut_again = Some(CutAgain::Longer),
            None => {}
        }
    }

    /// What was taken for more of the cut record was none.
    fn ungrow(&mut self, progress: &mut Progress) {
        let from = self.pending.as_ref().map_or(0, |pending| pending.from);
        progress.open.truncate(from);
        self.fail(ContinuationFailure::Diverged);
    }

    /// The cut record has come to its end, and this follows. Whether it is known what that means.
    pub(super) fn grown(&mut self, progress: &mut Progress) -> bool {
        let Some(pending) = &self.pending else { return true };
        match pending.text.trim_start_matches([' ', '\t', '\r']).bytes().next() {
            None if !self.is_over => return false,
            None | Some(b'\n') => self.joined(0, progress),
            Some(b',' | b']') if pending.form == Form::Elements => self.joined(0, progress),
            Some(_) => self.ungrow(progress),
        }
        true
    }

    /// The cut record is whole, up to there in what may be more of it.
    pub(super) fn joined(&mut self, end: usize, progress: &mut Progress) {
        let Some(pending) = self.pending.take() else { return };
        let rest = &pending.fragment()[end..];
        let mut among = Among::behind(pending.form, pending.options.looks_for_items());
        among.relined(rest);
        // It was inside another one; or it may have been, with as little of it as there was, and nothing behind it.
        let is_bare = rest.trim_matches([' ', '\t', '\r', '\n', ',']).is_empty();
        let is_guess = is_bare && self.is_cut && self.skipped == 0 && pending.from < LIKELY;
        if pending.form == Form::Elements && (among.began_inside() || is_guess) {
            progress.open.truncate(pending.from);
            return self.fail(ContinuationFailure::Ambiguous);
        }
        let text = progress.open.take();
        let Ok(value) = Raw::new(&text) else { return self.fail(ContinuationFailure::Ambiguous) };
        let (completion, recovered) = (CompletedBy::Newline, Recovered::default());
        let end = self.bytes - rest.len() as u64;
        let span = Span::new(end - (text.len() - pending.from) as u64, end);
        let record = Record { value, line: 1, column: 1, span, completion, recovered };
        self.has_record = true;
        self.joined = Some(text.len() as u64);
        self.waiting.clear();
        self.ready.push_back(Item::Record(Box::new(Read::new(record))));
        // From here on it is read as if it began here.
        let mut further = reader(&pending.options, pending.form);
        further.push(rest);
        self.source = Source::Known(further);
        self.stage = Stage::Deliver;
    }
}
