//! One response: what of it is new.

mod decide;
mod grow;
mod place;

use std::collections::VecDeque;

use tokenline_core::json::Raw;
use tokenline_core::{Diagnostic, Options, Recovery, Severity, Span};

use super::error::ContinuationFailure;
use super::fingerprint::begins_as;
use super::overlap::{Overlap, Verdict};
use super::progress::{Form, Progress};
use super::reader::{Item, Reader};
use super::repair::Repair;
use super::seam::{Pending, WINDOW};
use super::source::Source;
use place::is_changed;

/// One response.
#[derive(Debug)]
pub(super) struct Response {
    source: Source,
    stage: Stage,
    /// What cannot go out before more is known.
    waiting: VecDeque<Item>,
    /// What can.
    ready: VecDeque<Item>,
    pending: Option<Pending>,
    is_over: bool,
    is_drained: bool,
    /// Whether its end is a limit's, so that more of an open record would have come.
    is_cut: bool,
    is_first: bool,
    is_asked_inside: bool,
    is_elements: bool,
    /// Whether a record waits for what follows it.
    waits_for_next: bool,
    /// Whether records were delivered before it.
    goes_on: bool,
    /// The length of the cut record, if it is whole and was not told yet.
    joined: Option<u64>,
    /// What became of the cut record, if it is still open.
    cut_again: Option<CutAgain>,
    new_records: u64,
    skipped: u64,
    has_record: bool,
    has_other_text: bool,
    last_byte: u8,
    /// Bytes of its text.
    bytes: u64,
    /// Bytes up to the end of the last record.
    told_to: u64,
}

#[derive(Debug)]
enum Stage {
    /// Does it begin with the end of the cut record, as it was asked to?
    Asked,
    /// It does: it is more of that record.
    Grow,
    /// The record is whole. Is it followed by what may follow one?
    Grown,
    /// Does it repeat what was delivered?
    Overlap(Overlap),
    Seam,
    /// Nothing is repeated. Does it begin where a record does?
    Unproven,
    Deliver,
    Failed(ContinuationFailure),
}

/// What became of the cut record in a response that did not end it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CutAgain {
    /// It is longer.
    Longer,
    /// It was written again, and nothing is new.
    Same,
    /// It was written again in other words.
    Other,
}

impl Response {
    /// The one in which the answer begins.
    pub(super) fn first(options: &Options, has_wrapper: bool) -> Self {
        Self::new(Source::first(options, has_wrapper), Stage::Deliver, None, true)
    }

    /// One that goes on with it.
    pub(super) fn further(
        progress: &Progress,
        options: &Options,
        has_wrapper: bool,
        quote_bytes: usize,
    ) -> Self {
        let pending = Pending::new(progress, options, quote_bytes);
        let stage = match pending.as_ref().is_some_and(|pending| pending.asked.is_some()) {
            true => Stage::Asked,
            false => Stage::Overlap(Overlap::new(progress)),
        };
        let response = Self::new(Source::further(progress, options, has_wrapper), stage, pending, false);
        Self { goes_on: progress.records > 0, is_elements: progress.form == Form::Elements, ..response }
    }

    fn new(source: Source, stage: Stage, pending: Option<Pending>, is_first: bool) -> Self {
        Self {
            is_asked_inside: matches!(stage, Stage::Asked),
            source,
            stage,
            waiting: VecDeque::new(),
            ready: VecDeque::new(),
            pending,
            is_over: false,
            is_drained: false,
            is_cut: false,
            is_first,
            goes_on: false,
            is_elements: false,
            waits_for_next: false,
            joined: None,
            cut_again: None,
            new_records: 0,
            skipped: 0,
            has_record: false,
            has_other_text: false,
            last_byte: 0,
            bytes: 0,
            told_to: 0,
        }
    }

    pub(super) fn push(&mut self, text: &str, progress: &mut Progress) {
        if self.failure().is_some() || self.is_over {
            return;
        }
        self.bytes += text.len() as u64;
        progress.longest = progress.longest.max(self.bytes);
        self.last_byte = text.trim_ascii_end().bytes().last().unwrap_or(self.last_byte);
        if matches!(self.stage, Stage::Grow) {
            return self.grow(text, progress);
        }
        if let Some(pending) = &mut self.pending {
            pending.text += text;
        }
        match self.stage {
            Stage::Asked => self.asked(progress),
            Stage::Grown => {}
            _ => self.source.push(text, progress),
        }
    }

    pub(super) fn finish(&mut self, is_cut: bool, progress: &Progress) {
        if !self.is_over {
            (self.is_over, self.is_cut) = (true, is_cut);
            self.source.settle(false, progress.form);
        }
    }

    /// What is new. `None` if more is needed, and at the end.
    pub(super) fn next(&mut self, progress: &mut Progress, repair: &mut Repair) -> Option<Item> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                self.new_records += u64::from(matches!(item, Item::Record(_)));
                return Some(item);
            }
            if self.failure().is_some() || self.is_drained {
                return None;
            }
            match self.stage {
                // Less than it was asked to begin with is nothing new.
                Stage::Asked | Stage::Grow => {
                    self.is_drained = self.is_over;
                    return None;
                }
                Stage::Grown => match self.grown(progress) {
                    true => continue,
                    false => return None,
                },
                _ => {}
            }
            match self.source.reader_mut()?.next(repair, self.pending.is_some()) {
                Some(item) => self.take(item, progress),
                None if std::mem::take(&mut self.waits_for_next) && self.is_again_already(progress) => {
                    self.deliver(progress);
                }
                None if !self.is_over => {
                    if !self.is_due() {
                        return None;
                    }
                    self.decide(progress);
                }
                None => {
                    if let Some(reader) = self.source.reader_mut().filter(|reader| !reader.is_finished()) {
                        reader.finish(self.is_cut);
                    } else {
                        self.end(progress);
                    }
                }
            }
        }
    }

    /// Whether so much has come that it is to be decided now whether it goes on inside the cut record.
    fn is_due(&mut self) -> bool {
        if matches!(self.stage, Stage::Unproven) {
            return self.bytes > WINDOW as u64;
        }
        let Some(pending) = &mut self.pending else { return false };
        let is_open = match &self.stage {
            // Records that wait to be known for repeats are not to be taken for the cut one.
            Stage::Overlap(overlap) => !overlap.has_begun(),
            stage => matches!(stage, Stage::Seam),
        };
        let is_due = is_open && pending.text.len() > pending.next_look;
        if is_due {
            pending.next_look = 2 * pending.text.len();
        }
        is_due
    }

    fn take(&mut self, item: Item, progress: &mut Progress) {
        self.has_record |= is_record(&item);
        // Brackets that close what is around the records are no talk.
        self.has_other_text |= matches!(&item, Item::Finding(finding) if finding.span.len() > 3);
        match &mut self.stage {
            Stage::Deliver => self.ready.push_back(item),
            Stage::Overlap(overlap) => {
                let Item::Record(read) = &item else {
                    self.waiting.push_back(item);
                    return;
                };
                let (fingerprint, span) = (read.fingerprint, read.record.span);
                let verdict = overlap.feed(fingerprint);
                self.waiting.push_back(item);
                match verdict {
                    Verdict::Hold => {}
                    Verdict::Skip => {
                        let records = self.waiting.iter().filter(|item| is_record(item)).count() as u64;
                        self.waiting.clear();
                        self.repeated(records, span);
                    }
                    Verdict::Decided(records) => self.decided(records, progress),
                    Verdict::Failed(failure) => self.fail(failure),
                }
            }
            Stage::Seam => {
                let is_before = !self.waiting.iter().any(is_record);
                if let (Item::Finding(finding), Some(pending)) = (&item, &mut self.pending) {
                    pending.is_garbled |= finding.severity() == Severity::Error && is_before;
                }
                if let (Item::Record(read), Some(pending)) = (&item, &mut self.pending)
                    && is_before
                    && read.record.recovered.contains(Recovery::Repaired)
                {
                    // What is made of a part of the cut record is no record.
                    pending.is_garbled |= self.skipped == 0 || !begins_as(&read.text, progress.open.text());
                }
                let is_candidate = is_record(&item) && is_before;
                self.waiting.push_back(item);
                if is_candidate && self.is_again_already(progress) {
                    self.deliver(progress);
                }
            }
            Stage::Unproven => {
                self.waiting.push_back(item);
                self.doubt(progress);
            }
            Stage::Asked | Stage::Grow | Stage::Grown | Stage::Failed(_) => {}
        }
    }

    /// So many records of those that wait are repeats.
    fn decided(&mut self, records: u64, progress: &mut Progress) {
        let mut waiting = std::mem::take(&mut self.waiting);
        // Of those that are repeats some are gone already.
        let mut left = records.saturating_sub(self.skipped);
        left = left.min(waiting.iter().filter(|item| is_record(item)).count() as u64);
        while left > 0 {
            if let Some(Item::Record(read)) = waiting.pop_front() {
                left -= 1;
                self.repeated(1, read.record.span);
            }
        }
        if self.pending.is_none() && self.skipped == 0 && self.goes_on && self.is_garbled(&waiting) {
            // What could not be read may have been, or have spoiled, a record that was to come.
            return self.fail(ContinuationFailure::Diverged);
        }
        if self.skipped == 0 && self.goes_on && is_changed(&waiting, progress) {
            return self.fail(ContinuationFailure::Diverged);
        }
        self.stage = match () {
            () if self.pending.is_some() => Stage::Seam,
            () if self.has_place(progress) => Stage::Deliver,
            () => Stage::Unproven,
        };
        waiting.into_iter().for_each(|item| self.take(item, progress));
    }

    /// Whether what stands before the first record may be the rest of another one, in which that record is.
    fn is_garbled(&self, waiting: &VecDeque<Item>) -> bool {
        let is_any = self.is_elements && waiting.iter().any(is_record);
        let is_strange = |finding: &Diagnostic| is_any || finding.severity() == Severity::Error;
        waiting.iter().find_map(|item| match item {
            Item::Finding(finding) => is_strange(finding).then_some(true),
            Item::Record(read) => Some(
                read.record.recovered.contains(Recovery::Prose)
                    || read.record.recovered.contains(Recovery::Repaired),
            ),
        }) == Some(true)
    }

    /// So many records were delivered before.
    fn repeated(&mut self, records: u64, last: Span) {
        self.skipped += records;
        self.told_to = last.end;
        if let Some(pending) = &mut self.pending {
            pending.repeated(last, self.skipped >= decide::SURE);
        }
    }

    /// All that waits goes out, and what follows.
    fn release(&mut self) {
        self.stage = Stage::Deliver;
        self.pending = None;
        self.ready.append(&mut self.waiting);
    }

    fn fail(&mut self, failure: ContinuationFailure) {
        self.stage = Stage::Failed(failure);
        self.waiting.clear();
        self.ready.clear();
    }

    /// The reader has nothing more.
    fn end(&mut self, progress: &mut Progress) {
        if matches!(self.stage, Stage::Overlap(_) | Stage::Seam | Stage::Unproven) {
            self.decide(progress);
            if matches!(self.stage, Stage::Deliver) {
                return;
            }
        }
        self.is_drained = true;
    }

    pub(super) fn failure(&self) -> Option<ContinuationFailure> {
        match self.stage {
            Stage::Failed(failure) => Some(failure),
            _ => None,
        }
    }

    /// How far the record went beyond the one before, in bytes; not what was repeated.
    pub(super) fn told(&mut self, span: Span) -> u64 {
        if let Some(len) = self.joined.take() {
            // The rest is read as a text of its own.
            self.told_to = 0;
            return len;
        }
        let told = span.end.saturating_sub(self.told_to);
        self.told_to = span.end;
        told
    }

    /// Whether the cut record is still waited for.
    pub(super) fn is_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// Whether all records that were read were taken, and are new.
    pub(super) fn is_abreast(&self) -> bool {
        matches!(self.stage, Stage::Deliver) && self.ready.is_empty()
    }

    /// Whether it was asked to go on inside the cut record.
    pub(super) fn was_asked_inside(&self) -> bool {
        self.is_asked_inside
    }

    pub(super) fn is_first(&self) -> bool {
        self.is_first
    }

    pub(super) fn new_records(&self) -> u64 {
        self.new_records
    }

    pub(super) fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Whether it neither repeats nor adds a record, nor closes what was open: then its end proves nothing.
    pub(super) fn proves_nothing(&self) -> bool {
        !self.has_record && (self.has_other_text || !matches!(self.last_byte, b']' | b'}'))
    }

    /// Its last byte that is no white space.
    pub(super) fn last_byte(&self) -> Option<u8> {
        (self.last_byte != 0).then_some(self.last_byte)
    }

    /// What became of the cut record, if it is still open.
    pub(super) fn cut_again(&self) -> Option<CutAgain> {
        self.cut_again
    }

    pub(super) fn reader(&self) -> Option<&Reader> {
        self.source.reader()
    }

    /// Bytes of text that are kept.
    pub(super) fn held_bytes(&self) -> usize {
        let items = self.waiting.iter().chain(&self.ready).map(|item| match item {
            Item::Record(read) => read.text.len() + read.record.value.as_str().len(),
            Item::Finding(finding) => finding.message.len(),
        });
        let reader = self.reader().map_or(0, Reader::held_bytes);
        let pending = self.pending.as_ref().map_or(0, Pending::held_bytes);
        items.sum::<usize>() + reader + pending
    }
}

fn is_record(item: &Item) -> bool {
    matches!(item, Item::Record(_))
}

/// Findings go out as they are.
pub(super) fn event(finding: Diagnostic) -> tokenline_core::Event<Raw> {
    tokenline_core::Event::from_diagnostic(finding)
}
