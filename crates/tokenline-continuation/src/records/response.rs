//! One response: its repeated and its new part.

use tokenline_core::adapter::SourceEnd;
use tokenline_core::json::{Parser, Raw, Step};
use tokenline_core::{Event, Options, Record, Recovery};

use super::fingerprint::{begins_with, minify};
use super::progress::{Begin, Form, OpenRecord, Progress};
use super::reader::{Place, Reader, is_plain};
use super::repair::Repair;
use super::repeats::Repeats;
use crate::beginning::{self, Thoughts};
use crate::document::Status;
use crate::error::ContinuationFailure::{self, Ambiguous, Diverged, NothingNew, StartedOver};
use crate::text::trim_start;

/// One response.
#[derive(Debug)]
pub(super) struct Response {
    options: Options,
    stage: Stage,
    /// Reads the new part.
    reader: Reader,
    /// The length of the open record before this response.
    pub(super) open_len: usize,
    end: Option<SourceEnd>,
    pub(super) is_first: bool,
    pub(super) new_records: u64,
    pub(super) skipped: u64,
    bytes: u64,
    /// The end of the last record that the reader found.
    counted_to: u64,
}

#[derive(Debug)]
enum Stage {
    /// In the thoughts before the repeated part.
    Thoughts(Box<Thoughts>),
    /// Undecided whether the response begins with the overlap; `seen` is its text so far.
    Overlap {
        overlap: String,
        seen: String,
        /// The position of `seen` in the response.
        place: Place,
    },
    /// The response continues the open record, from this position on. The text is not appended yet.
    Append(Place, String),
    /// Undecided whether the response begins with delivered records.
    Repeats(Box<Repeats>),
    /// The next record is the stand-in for the repeated part.
    StandIn,
    /// The repeated part has ended; the next record must be the one that was cut off, if one was.
    First,
    /// All that follows is new.
    Deliver,
    Failed(ContinuationFailure),
}

impl Stage {
    /// Compares the text of a response, from `place` on, with this many of the last records.
    fn repeats(progress: &Progress, anchor: usize, text: &str, place: Place) -> Self {
        let mut repeats = Repeats::new(progress, anchor, place);
        repeats.push(text);
        Self::Repeats(Box::new(repeats))
    }
}

impl Response {
    pub(super) fn new(progress: &Progress, options: &Options) -> Self {
        let is_first = progress.requests == 0 && progress.records == 0;
        let stage = if is_first {
            Stage::Deliver
        } else {
            Stage::Thoughts(Box::new(Thoughts::new(options.begins_in_reasoning())))
        };
        Self {
            options: options.clone(),
            stage,
            reader: Reader::new(options),
            open_len: progress.open.len(),
            end: None,
            is_first,
            new_records: 0,
            skipped: 0,
            bytes: 0,
            counted_to: 0,
        }
    }

    pub(super) fn push(&mut self, text: &str, progress: &mut Progress) {
        if self.end.is_some() {
            return;
        }
        self.bytes += text.len() as u64;
        progress.longest = progress.longest.max(self.bytes);
        match &mut self.stage {
            Stage::Thoughts(thoughts) => thoughts.push(text),
            Stage::Overlap { seen, .. } => *seen += text,
            Stage::Append(_, new) => *new += text,
            Stage::Repeats(repeats) => repeats.push(text),
            Stage::StandIn | Stage::First | Stage::Deliver => self.reader.push(text),
            Stage::Failed(_) => {}
        }
    }

    /// `end` is clean if the end of the response is that of the list.
    pub(super) fn finish(&mut self, end: SourceEnd) {
        self.end = Some(end);
        self.reader.finish(end);
    }

    /// The next new event. `None` if more is needed, and at the end.
    pub(super) fn next(&mut self, progress: &mut Progress, repair: &mut Repair) -> Option<Event<Raw>> {
        loop {
            match &mut self.stage {
                Stage::Failed(_) => return None,
                Stage::Thoughts(_) => self.pass_thoughts(progress)?,
                Stage::Overlap { .. } => self.compare_overlap(progress)?,
                Stage::Append(..) => self.append(progress)?,
                Stage::Repeats(repeats) => {
                    let read = repeats.read(progress, &self.options, repair, self.end);
                    self.skipped = repeats.seen;
                    match read? {
                        Ok((place, new)) => {
                            let is_array = repeats.is_array;
                            self.read_after(is_array, STAND_IN, &new, place);
                            self.stage = Stage::StandIn;
                        }
                        Err(failure) => self.stage = Stage::Failed(failure),
                    }
                }
                Stage::StandIn | Stage::First | Stage::Deliver => {
                    let event = self.reader.next(repair)?;
                    if let Some(event) = self.take(event, progress) {
                        return Some(self.reader.placed(event));
                    }
                }
            }
        }
    }

    /// Reads text that follows a record, or the beginning of one.
    fn read_after(&mut self, is_array: bool, record: &str, new: &str, place: Place) {
        self.read_with(Reader::after(&self.options, is_array, record, place), new);
        self.counted_to = u64::from(is_array);
    }

    fn read_with(&mut self, reader: Reader, text: &str) {
        self.reader = reader;
        self.reader.push(text);
        if let Some(end) = self.end {
            self.reader.finish(end);
        }
    }

    /// Begins after the thoughts. `None` if more is needed.
    fn pass_thoughts(&mut self, progress: &Progress) -> Option<()> {
        let Stage::Thoughts(thoughts) = &mut self.stage else { return None };
        let begin = progress.begin();
        let (end, at_end) = match begin {
            // The records may be about thoughts.
            Begin::Overlap(overlap) if thoughts.text().starts_with(overlap) => (Some(0), 0),
            Begin::Overlap(overlap) if overlap.starts_with(thoughts.text()) => (None, 0),
            _ => (thoughts.end(), thoughts.text().len()),
        };
        let end = end.or_else(|| self.end.map(|_| at_end))?;
        let text = thoughts.text()[end..].to_owned();
        let place = Place::START.after(&thoughts.text()[..end]);
        self.stage = match begin {
            Begin::Overlap(overlap) => Stage::Overlap { overlap: overlap.to_owned(), seen: text, place },
            Begin::Anchor(count) => Stage::repeats(progress, count, &text, place),
            Begin::List => {
                self.read_with(Reader::after_thoughts(&self.options, place), &text);
                Stage::First
            }
        };
        Some(())
    }

    /// Decides whether the response begins with the overlap. `None` if more is needed.
    fn compare_overlap(&mut self, progress: &Progress) -> Option<()> {
        let Stage::Overlap { overlap, seen, place } = &self.stage else { return None };
        let starts = beginning::at_start(seen);
        let start = starts.iter().copied().find(|&start| seen[start..].starts_with(&**overlap));
        let line = trim_start(seen);
        let may_be_fence = ["```", "~~~"]
            .into_iter()
            .any(|fence| fence.starts_with(line) || line.starts_with(fence) && !line.contains('\n'));
        let may_be_overlap = starts.iter().any(|&start| overlap.starts_with(&seen[start..])) || may_be_fence;
        if let Some(start) = start {
            let (repeated, new) = seen.split_at(start + overlap.len());
            let (place, new) = (place.after(repeated), new.to_owned());
            if progress.open.is_empty() {
                self.skipped += 1;
                self.read_after(progress.form == Form::Elements, STAND_IN, &new, place);
                self.stage = Stage::StandIn;
            } else {
                self.stage = Stage::Append(place, new);
            }
        } else if self.end.is_some() || !may_be_overlap || seen.len() > overlap.len() + MAX_OVERLAP_DELAY {
            // It may still repeat the anchor, or the whole list.
            let (seen, place) = (seen.clone(), *place);
            if progress.records == 0 {
                self.read_with(Reader::after_thoughts(&self.options, place), &seen);
                self.stage = Stage::First;
            } else {
                self.stage = Stage::repeats(progress, progress.anchor(), &seen, place);
            }
        } else {
            return None;
        }
        Some(())
    }

    /// Appends to the open record. `None` if more is needed.
    fn append(&mut self, progress: &mut Progress) -> Option<()> {
        let Stage::Append(place, new) = &mut self.stage else { return None };
        let (place, new) = (*place, std::mem::take(new));
        let end = progress.open.0.push_value(&new);
        let is_open = matches!(progress.open.0.status(), Status::Open);
        if end.is_none() && is_open {
            if progress.open.len() > self.options.limits.line_bytes {
                self.stage = Stage::Failed(NothingNew);
            }
            return None;
        }
        let record = std::mem::take(&mut progress.open.0).into_text();
        let (before, appended) = record.split_at(self.open_len);
        progress.open = OpenRecord::of(before);
        match end {
            Some(end) => {
                self.read_after(progress.form == Form::Elements, before, appended, place);
                self.reader.push(&new[end..]);
                self.stage = Stage::Deliver;
            }
            None => self.stage = Stage::Failed(Diverged),
        }
        Some(())
    }

    /// Filters an event of the reader: `None` if it is not new.
    fn take(&mut self, event: Event<Raw>, progress: &mut Progress) -> Option<Event<Raw>> {
        let Event::Record(record) = &event else {
            let is_expected = match self.stage {
                Stage::StandIn => false,
                Stage::First => matches!(event, Event::Note(_)) || progress.open.is_empty(),
                _ => true,
            };
            if !is_expected {
                self.stage = Stage::Failed(Diverged);
            }
            return is_expected.then_some(event);
        };
        let gap = self.reader.take_gap();
        let advance = record.span.end.saturating_sub(self.counted_to);
        self.counted_to = record.span.end;
        match self.stage {
            Stage::StandIn => {
                self.stage = Stage::First;
                return None;
            }
            Stage::First => {
                if let Some(failure) = self.first_failure(&gap, record, progress) {
                    self.stage = Stage::Failed(failure);
                    return None;
                }
                self.stage = Stage::Deliver;
                let is_element = record.recovered.contains(Recovery::ArrayElement);
                self.reader.is_array |= is_element && !self.options.looks_for_items();
            }
            _ => {}
        }
        progress.offset += advance;
        self.new_records += 1;
        if progress.records == 0 {
            self.learn_opening(record.recovered.contains(Recovery::ArrayElement), &gap, progress);
        }
        Some(event)
    }

    /// Why the first record is not the one that was cut off, or the next one.
    fn first_failure(
        &self,
        gap: &str,
        record: &Record<Raw>,
        progress: &Progress,
    ) -> Option<ContinuationFailure> {
        let text = record.value.as_str();
        let is_next = match progress.records {
            0 if !progress.opening.is_empty() => minify(gap).ends_with(&progress.opening),
            0 if self.options.looks_for_items() => true,
            0 if progress.form == Form::Elements => is_plain(gap) && gap.contains('['),
            _ => is_plain(gap),
        };
        if !is_next || !begins_with(text, progress.open.text()) {
            return Some(Diverged);
        }
        // A value inside the open record may begin as the record does.
        let may_be_inside = !progress.open.is_empty()
            && !progress.is_distinct(text)
            && progress.open.takes(&[gap, text].concat());
        may_be_inside.then_some(Ambiguous)
    }

    /// Why the response is not used. That nothing is new is known only at its end.
    pub(super) fn failure(&self) -> Option<ContinuationFailure> {
        match &self.stage {
            Stage::Failed(failure) => Some(*failure),
            Stage::Repeats(repeats) if self.end.is_some() => {
                Some(if repeats.is_restart && repeats.seen > 0 { StartedOver } else { NothingNew })
            }
            _ => None,
        }
    }

    /// Whether the repeated part has ended, and everything that follows is new.
    pub(super) fn is_delivering(&self) -> bool {
        matches!(self.stage, Stage::Deliver)
    }

    /// Remembers that the records are in an array, if the first one is open.
    pub(super) fn learn_form(&self, progress: &mut Progress) {
        let is_around = self.options.looks_for_items() && self.reader.open().is_empty();
        if progress.records == 0
            && progress.open.is_empty()
            && !is_around
            && let Some(before) = self.reader.opening()
        {
            self.learn_opening(true, &before, progress);
        }
    }

    /// Remembers the text before the first record.
    fn learn_opening(&self, is_element: bool, before: &str, progress: &mut Progress) {
        let is_json = |from: &usize| Parser::new().resume(&before[*from..]) == Step::NeedMore;
        if self.options.looks_for_items() {
            let starts = memchr::memchr2_iter(b'{', b'[', before.as_bytes()).take(MAX_STARTS);
            progress.opening =
                starts.into_iter().find(is_json).map_or_else(String::new, |from| minify(&before[from..]));
        }
        if is_element || self.options.looks_for_items() {
            progress.form = Form::Elements;
        }
    }

    pub(super) fn is_truncated(&self) -> bool {
        self.reader.is_truncated()
    }

    /// The open record. Before the first element, the open value is the container of the records.
    pub(super) fn open(&self, progress: &Progress) -> &str {
        let is_beginning = progress.records == 0 && progress.open.is_empty();
        let is_around = self.options.looks_for_items() && is_beginning && self.reader.opening().is_none();
        if is_around { "" } else { self.reader.open() }
    }

    /// Bytes of text that are kept.
    pub(super) fn held_bytes(&self) -> usize {
        let stage = match &self.stage {
            Stage::Thoughts(thoughts) => thoughts.text().len(),
            Stage::Overlap { seen: text, .. } | Stage::Append(_, text) => text.len(),
            Stage::Repeats(repeats) => repeats.held_bytes(),
            _ => 0,
        };
        self.reader.held_bytes() + stage
    }
}

/// How many brackets before the first record may be prose.
const MAX_STARTS: usize = 16;

/// A record that stands in for the repeated part. Not `{}`: that may be prose.
const STAND_IN: &str = "{\"\":0}";

/// A response that has not repeated the overlap after this many more bytes does not begin with it.
const MAX_OVERLAP_DELAY: usize = 4096;
