//! What a response has to do with the record that was cut off.

use super::super::error::ContinuationFailure::{Ambiguous, Diverged};
use super::super::fingerprint::{Fingerprint, begins_as, squeeze};
use super::super::progress::{Form, Progress, TailRecord};
use super::super::reader::{Item, Read, Reader};
use super::super::seam::{self, Pending, Seam, WINDOW};
use super::{CutAgain, Response, Stage};

/// So many records are not like those before by chance.
pub(super) const SURE: u64 = 3;
/// From so many bytes on the beginning of a record tells it from others.
const DISTINCT: usize = 64;

impl Response {
    /// The first record that is no repeat.
    pub(super) fn candidate(&self) -> Option<&Read> {
        self.waiting.iter().find_map(|item| match item {
            Item::Record(read) => Some(&**read),
            Item::Finding(_) => None,
        })
    }

    /// The same as [`is_again`](Self::is_again), before all of the response has come.
    pub(super) fn is_again_already(&mut self, progress: &mut Progress) -> bool {
        let is_odd = self.pending.as_ref().is_some_and(Pending::is_odd);
        (self.skipped >= SURE || !is_odd) && self.is_again(progress)
    }

    /// Whether the first record that is no repeat stands where a record does, and is the cut one.
    fn is_again(&mut self, progress: &mut Progress) -> bool {
        let Some(pending) = self.pending.as_ref().filter(|pending| !pending.is_garbled) else { return false };
        let Some(record) = self.candidate() else { return false };
        let end = record.record.span.end;
        let is_alone = pending.stands_alone(end);
        if is_alone.is_none() && !self.is_over {
            self.waits_for_next = true;
            return false;
        }
        let began_inside = self.began_inside();
        let is_doubtful = began_inside || (self.is_cut && pending.is_closed_amid(end));
        if is_alone == Some(false)
            || (is_alone.is_none() && is_doubtful)
            || !begins_as(&record.text, progress.open.text())
        {
            return false;
        }
        if self.skipped > 0 {
            return true;
        }
        // It may be a part of the cut record that begins as the whole does.
        if self.is_over {
            let fragment = pending.behind_fence();
            let is_no_part = |text: &str| match progress.open.takes(text) {
                None => true,
                // An answer that comes to its end leaves nothing open.
                Some(None) => !self.is_cut,
                Some(Some(end)) => {
                    !self.is_cut && pending.form == Form::Elements && text[end..].trim_ascii().is_empty()
                }
            };
            // A bracket may be repeated.
            return is_no_part(fragment) && fragment.strip_prefix(['[', ',', '{']).is_none_or(is_no_part);
        }
        match pending.up_to(end) {
            Some(text) => progress.open.takes(text).is_none_or(|end| end.is_some_and(|end| end < text.len())),
            None => {
                self.waits_for_next = true;
                false
            }
        }
    }

    /// Decides it: all of the response has come, or as much as is waited for.
    pub(super) fn decide(&mut self, progress: &mut Progress) {
        if let Stage::Overlap(overlap) = &self.stage {
            match overlap.finish(self.is_cut || !self.is_over) {
                // Nothing of it, or all of it, is a repeat.
                Ok(records) => self.decided(records, progress),
                Err(failure) => return self.fail(failure),
            }
        }
        if matches!(self.stage, Stage::Seam) {
            self.decide_seam(progress);
        }
        if matches!(self.stage, Stage::Unproven) {
            self.prove(progress);
        }
    }

    fn decide_seam(&mut self, progress: &mut Progress) {
        let is_unsure = self.skipped > 0 && self.skipped < SURE;
        let Some(pending) = &self.pending else { return };
        if is_unsure && pending.is_odd() && pending.may_be_all(&mut progress.open) {
            return self.fail(Ambiguous);
        }
        if self.is_again(progress) {
            return self.deliver(progress);
        }
        match self.candidate().is_some() {
            true => self.decide_before_a_record(progress),
            false => self.decide_without_a_record(progress),
        }
    }

    /// There is a record, and it is not the cut one as it was to be written again.
    fn decide_before_a_record(&mut self, progress: &mut Progress) {
        let (Some(pending), Some(first)) = (&self.pending, self.candidate()) else { return };
        let begins_a_record = pending.begins_a_record() && !pending.is_garbled;
        let open = progress.open.text();
        let is_again = begins_as(&first.text, open);
        let is_known_again = is_again
            && pending.is_prose_before(first.record.span.start)
            && (progress.tail.is_empty() || !is_usual(progress));
        // Other words for the cut record are taken behind a repeat of what came before it, and nowhere else: they
        // could be from within a record.
        let is_first =
            progress.tail.is_empty() && pending.asked.is_none() && seam::is_like(&first.text, open);
        let has_place = begins_a_record && (self.skipped > 0 || is_first);
        let from = progress.open.len();
        if (self.is_cut || !self.is_over) && pending.is_within(open) {
            self.waiting.clear();
            return;
        }
        match self.join(progress) {
            Seam::Whole { is_again: true, .. } if is_known_again => {
                progress.open.truncate(from);
                self.deliver(progress);
            }
            Seam::Whole { end, .. } if !begins_a_record => {
                // The end of the record may be that of an earlier one, repeated. Then the cut one follows as a whole.
                let is_other = is_again && self.is_end_of_another(progress, end);
                self.join_if(!is_other, end, from, progress);
            }
            // What is written again as a whole stands where a record does.
            Seam::Whole { end, is_again: true } => self.join_if(!self.began_inside(), end, from, progress),
            // An answer that comes to its end leaves no record open.
            Seam::Open { is_again: false } if begins_a_record && is_again && !self.is_cut && self.is_over => {
                progress.open.truncate(from);
                self.deliver(progress);
            }
            Seam::Whole { .. } | Seam::Open { .. } => {
                progress.open.truncate(from);
                self.fail(Ambiguous);
            }
            Seam::Ambiguous => self.fail(Ambiguous),
            Seam::None if is_known_again || has_place => self.deliver(progress),
            Seam::None | Seam::Same => self.fail(Diverged),
        }
    }

    /// There is no record but those that are repeated.
    fn decide_without_a_record(&mut self, progress: &mut Progress) {
        let Some(pending) = &self.pending else { return };
        let is_cut = self.is_cut || !self.is_over;
        let begins_a_record = pending.begins_a_record();
        let is_garbled = pending.is_garbled;
        let is_too_long = pending.text.len() > pending.options.limits.line_bytes.saturating_add(WINDOW);
        let is_plain = !pending.fragment().contains(['{', '}', '[', ']', '"']);
        // Other records that begin so could follow any text, and what breaks off may be one that is repeated.
        let is_distinct =
            progress.tail.is_empty() || (progress.open.len() >= DISTINCT && !is_usual(progress));
        let has_place = self.skipped > 0 || (progress.tail.is_empty() && pending.asked.is_none());
        let written = self.source.reader().map_or("", Reader::open);
        let written = if written.is_empty() { pending.behind_fence().trim_ascii_start() } else { written };
        let is_shorter = begins_a_record && begins_as(progress.open.text(), written);
        if is_shorter {
            self.cut_again = Some(CutAgain::Same);
            return;
        }
        if is_cut && (pending.is_blank() || pending.is_within(progress.open.text())) {
            return;
        }
        let from = progress.open.len();
        match self.join(progress) {
            Seam::Whole { end, is_again } => {
                let is_part = is_cut && self.is_part_of_another(progress, end);
                let is_other =
                    !is_again && (is_part || self.is_end_of_another(progress, end) || is_one_of(progress));
                self.join_if(!is_other, end, from, progress);
            }
            Seam::Open { is_again: true } if self.skipped == 0 && !is_distinct => {
                progress.open.truncate(from);
                self.cut_again = Some(CutAgain::Same);
            }
            // What breaks off is more of the record only if it would have gone on, and is not from within an earlier
            // one.
            Seam::Open { is_again }
                if is_cut && (is_again || !(begins_a_record || self.is_part_of_another(progress, 0))) =>
            {
                self.cut_again = Some(CutAgain::Longer);
                match self.is_over {
                    true => {
                        self.waiting.clear();
                        self.release();
                    }
                    false => self.stage = Stage::Grow,
                }
            }
            Seam::Open { .. } => {
                progress.open.truncate(from);
                self.fail(Ambiguous);
            }
            // A remark, which could be a part of a string as well.
            Seam::Ambiguous if is_plain => {}
            Seam::Ambiguous => self.fail(Ambiguous),
            Seam::Same => self.cut_again = Some(CutAgain::Same),
            Seam::None if begins_a_record && is_cut => match has_place {
                true => self.cut_again = Some(CutAgain::Other),
                false => self.fail(Diverged),
            },
            Seam::None if !is_garbled && !is_too_long => {}
            Seam::None => self.fail(Diverged),
        }
    }

    /// Joins what may be more of the cut record to it.
    fn join(&self, progress: &mut Progress) -> Seam {
        let Some(pending) = &self.pending else { return Seam::None };
        let begins_a_record = pending.begins_a_record() && !pending.is_garbled;
        let is_strange = !begins_a_record && is_usual(progress);
        let from = progress.open.len();
        let seam = pending.join(&mut progress.open);
        match seam {
            // It may be another record, behind what is no prose but the rest of the cut one.
            Seam::Whole { is_again: true, .. } | Seam::Open { is_again: true } if is_strange => {
                progress.open.truncate(from);
                Seam::None
            }
            Seam::Whole { is_again: false, .. } | Seam::Open { is_again: false }
                if self.skipped > 0 && self.skipped < SURE =>
            {
                // What is like the records before may be a part of the cut one.
                let more = progress.open.text()[from..].to_owned();
                progress.open.truncate(from);
                if pending.may_be_all(&mut progress.open) {
                    return Seam::Ambiguous;
                }
                progress.open.push(&more);
                seam
            }
            Seam::Whole { is_again: false, .. } | Seam::Open { is_again: false }
                if pending.is_from_before(progress.tail.back(), &progress.open.text()[..from]) =>
            {
                progress.open.truncate(from);
                Seam::Ambiguous
            }
            seam => seam,
        }
    }

    /// The record is whole, up to there in what may be more of it; if that is so.
    fn join_if(&mut self, is_so: bool, end: usize, from: usize, progress: &mut Progress) {
        if is_so {
            return self.joined(end, progress);
        }
        progress.open.truncate(from);
        self.fail(Ambiguous);
    }

    /// Whether what ends the cut record may be the end of an earlier one.
    fn is_end_of_another(&self, progress: &Progress, end: usize) -> bool {
        self.pending.as_ref().is_some_and(|pending| pending.is_end_of_another(tail(progress), end))
    }

    /// Whether what there is of the response may be from within an earlier record; of what ends a record, the end of one.
    fn is_part_of_another(&self, progress: &Progress, end: usize) -> bool {
        let Some(pending) = &self.pending else { return false };
        let is_end = end > 0 && pending.is_end_of_another(tail(progress), end);
        is_end || pending.is_part_of_another(tail(progress))
    }
}

fn tail(progress: &Progress) -> impl Iterator<Item = &TailRecord> {
    progress.tail.iter()
}

/// Whether the cut record, which is whole now, is equal to one of the last.
fn is_one_of(progress: &Progress) -> bool {
    let fingerprint = Fingerprint::of(&squeeze(progress.open.text()));
    tail(progress).any(|record| record.fingerprint == fingerprint)
}

/// Whether records before begin as the cut one does.
fn is_usual(progress: &Progress) -> bool {
    progress.may_be_known(progress.open.text())
}
