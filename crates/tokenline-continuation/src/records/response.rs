//! One response, and the part of it that is new.

use std::collections::VecDeque;

use tokenline_core::adapter::SourceEnd;
use tokenline_core::json::Raw;
use tokenline_core::{CompletedBy, Event, Options, Record, Recovered, Span};

use super::ContinuationFailure::{self, Ambiguous, Diverged, Nothing, StartedOver};
use super::fingerprint::{Fingerprint, begins_with};
use super::progress::{Begin, Form, OpenRecord, Progress};
use super::reader::{Reader, without_prose};
use super::repair::Repair;
use super::repeats::Repeats;
use crate::document::Status;
use crate::tokens::first_name;

/// One response.
#[derive(Debug)]
pub(super) struct Response {
    /// The limit of a record, in bytes.
    limit: usize,
    stage: Stage,
    reader: Reader,
    ready: VecDeque<Event<Raw>>,
    /// How much there was of the open record before.
    pub(super) open_len: usize,
    /// Whether the records are in an array within another value.
    has_wrapper: bool,
    end: Option<SourceEnd>,
    pub(super) is_first: bool,
    pub(super) new_records: u64,
    pub(super) skipped: u64,
    last_byte: u8,
    /// Its first bytes, and how many there are.
    head: String,
    bytes: u64,
    /// The end of the last record in it.
    counted_to: u64,
    /// The length of the record that ended with the overlap, until it is counted.
    appended: Option<u64>,
}

#[derive(Debug)]
enum Stage {
    /// Does it begin with the overlap? This much has come.
    Overlap {
        overlap: String,
        seen: String,
    },
    /// It does: it is more of the open record.
    Append,
    /// The record that ended with the overlap is complete. Is it followed by what may follow one? This much has come.
    Appended(String),
    /// Does it begin with records that were delivered?
    Repeats(Repeats),
    /// What they are is decided. Is the next one the record that was cut off?
    First,
    /// All that follows is new.
    Deliver,
    Failed(ContinuationFailure),
}

impl Response {
    pub(super) fn new(progress: &Progress, options: &Options) -> Self {
        let is_first = progress.requests == 0 && progress.records == 0;
        let stage = match progress.begin() {
            _ if is_first => Stage::Deliver,
            Begin::Overlap(overlap) => Stage::Overlap { overlap: overlap.to_owned(), seen: String::new() },
            Begin::List => Stage::First,
            Begin::Anchor(count) => Stage::Repeats(Repeats::new(progress, count)),
        };
        Self {
            reader: match progress.wrapper.as_deref() {
                _ if progress.records == 0 && progress.form == Form::Lines => Reader::new(options),
                None if progress.records == 0 && options.looks_for_items() => Reader::new(options),
                wrapper => {
                    // Of elements that begin as what is around them does, it is more likely one.
                    let record = progress.recent.back().map_or(progress.open.text(), |last| last);
                    let wrapper =
                        wrapper.filter(|name| progress.records == 0 || first_name(record) != Some(name));
                    Reader::among(options, progress.form, wrapper)
                }
            },
            limit: options.limits.line_bytes,
            stage,
            ready: VecDeque::new(),
            open_len: progress.open.len(),
            has_wrapper: options.looks_for_items(),
            end: None,
            is_first,
            new_records: 0,
            skipped: 0,
            last_byte: 0,
            head: String::new(),
            bytes: 0,
            counted_to: 0,
            appended: None,
        }
    }

    pub(super) fn push(&mut self, text: &str, progress: &mut Progress) {
        if self.failure().is_some() || self.end.is_some() {
            return;
        }
        self.bytes += text.len() as u64;
        self.head += crate::text::head(text, HEAD.saturating_sub(self.head.len()));
        self.last_byte = text.trim_ascii_end().bytes().last().unwrap_or(self.last_byte);
        progress.longest = progress.longest.max(self.bytes);
        match &mut self.stage {
            Stage::Overlap { seen, .. } => {
                *seen += text;
                self.compare_overlap(progress);
            }
            Stage::Append => self.append(text, progress),
            Stage::Appended(rest) => {
                *rest += text;
                if rest.len() > HEAD && rest.trim_ascii().is_empty() {
                    self.fail(Diverged);
                }
            }
            Stage::Repeats(_) | Stage::First | Stage::Deliver => self.reader.push(text),
            Stage::Failed(_) => {}
        }
    }

    /// `end` is clean if the end of the response is that of the list.
    pub(super) fn finish(&mut self, end: SourceEnd, progress: &Progress) {
        if let Stage::Overlap { seen, .. } = &self.stage {
            // It is shorter than the overlap, or something else.
            let seen = seen.clone();
            self.read_as_repeats(&seen, progress);
        }
        self.end = Some(end);
        self.reader.finish(end);
    }

    fn compare_overlap(&mut self, progress: &mut Progress) {
        let Stage::Overlap { overlap, seen } = &self.stage else { return };
        let unfenced = &seen[fence(seen)..];
        let new = seen.strip_prefix(&**overlap).or_else(|| unfenced.strip_prefix(&**overlap));
        if let Some(new) = new.map(str::to_owned) {
            if progress.open.is_empty() {
                self.stage = Stage::Appended(new);
            } else {
                self.stage = Stage::Append;
                self.append(&new, progress);
            }
            return;
        }
        let opener = seen.trim_start_matches(['\r', '\n']);
        let may_be_fence = "```".starts_with(opener) || (opener.starts_with("```") && !opener.contains('\n'));
        let may_be_overlap = overlap.starts_with(&**seen) || overlap.starts_with(unfenced) || may_be_fence;
        if !may_be_overlap || seen.len() > overlap.len() + HEAD {
            let seen = seen.clone();
            self.read_as_repeats(&seen, progress);
        }
    }

    /// It does not begin with the overlap. It may still repeat the anchor, or all.
    fn read_as_repeats(&mut self, text: &str, progress: &Progress) {
        self.stage = match progress.records {
            0 => Stage::First,
            _ => Stage::Repeats(Repeats::new(progress, progress.anchor())),
        };
        self.reader.push(text);
    }

    /// More of the open record.
    fn append(&mut self, text: &str, progress: &mut Progress) {
        match progress.open.0.push_value(text) {
            Some(end) => self.stage = Stage::Appended(text[end..].to_owned()),
            None if matches!(progress.open.0.status(), Status::Open) => {
                if progress.open.len() > self.limit {
                    self.fail(Nothing);
                }
            }
            None => self.fail_append(progress),
        }
    }

    fn fail_append(&mut self, progress: &mut Progress) {
        progress.open = OpenRecord::of(progress.open.text().get(..self.open_len).unwrap_or_default());
        self.fail(Diverged);
    }

    /// What follows the record that ended with the overlap. `None` if that is not known yet.
    fn read_appended(&mut self, progress: &mut Progress) -> Option<()> {
        let Stage::Appended(rest) = &self.stage else { return None };
        match rest.trim_start_matches([' ', '\t', '\r']).bytes().next() {
            None if self.end.is_none() => return None,
            None | Some(b'\n') => {}
            Some(b',' | b']') if progress.form == Form::Elements => {}
            Some(_) => {
                self.fail_append(progress);
                return Some(());
            }
        }
        let mut rest = rest.clone();
        self.reader.expect_elements();
        if progress.form == Form::Elements && rest.trim_ascii_start().starts_with(']') {
            rest.clear();
            self.reader.close();
        }
        self.stage = Stage::Deliver;
        if progress.open.is_empty() {
            // It repeated the end of a record that was delivered.
            self.skipped += 1;
        } else {
            let text = std::mem::take(&mut progress.open.0).into_text();
            let Ok(value) = Raw::new(&text) else {
                self.fail(Diverged);
                return Some(());
            };
            let end = self.bytes - rest.len() as u64;
            let span = Span::new(end.saturating_sub((text.len() - self.open_len) as u64), end);
            let (completion, recovered) = (CompletedBy::Newline, Recovered::default());
            self.appended = Some(text.len() as u64);
            self.ready.push_back(Event::Record(Record {
                value,
                line: 1,
                column: 1,
                span,
                completion,
                recovered,
            }));
        }
        self.reader.push(&rest);
        Some(())
    }

    /// What is new. `None` if more is needed, and at the end.
    pub(super) fn next(&mut self, progress: &mut Progress, repair: &mut Repair) -> Option<Event<Raw>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.new_records += u64::from(matches!(event, Event::Record(_)));
                return Some(event);
            }
            match self.stage {
                Stage::Overlap { .. } | Stage::Append | Stage::Failed(_) => return None,
                Stage::Appended(_) => {
                    self.read_appended(progress)?;
                    continue;
                }
                Stage::Repeats(_) | Stage::First | Stage::Deliver => {}
            }
            let is_decided = matches!(self.stage, Stage::Deliver);
            let event = self.reader.next(repair, !is_decided && !progress.open.is_empty())?;
            match &mut self.stage {
                Stage::Deliver => {
                    if matches!(event, Event::Record(_)) {
                        self.reader.take_gap();
                    }
                    self.ready.push_back(event);
                }
                Stage::Repeats(repeats) => match event {
                    Event::Record(record) if self.reader.take_gap().is_some() => {
                        match repeats.push(Fingerprint::of(&record.value.to_compact()), progress) {
                            Ok(is_decided) => {
                                self.skipped += 1;
                                self.counted_to = record.span.end;
                                if is_decided {
                                    self.stage = Stage::First;
                                }
                            }
                            Err(failure) => self.fail(failure),
                        }
                    }
                    Event::Note(_) => {}
                    _ => self.fail(Diverged),
                },
                _ => self.take_first(event, progress),
            }
        }
    }

    /// The first event behind what is repeated: the record that was cut off, written again, or the next one.
    fn take_first(&mut self, event: Event<Raw>, progress: &Progress) {
        match event {
            Event::Record(record) => match self.reader.take_gap() {
                // Before the first record is no comma, except in what is around the records.
                Some(gap) if progress.records > 0 || !gap.contains(',') || gap.contains('{') => {
                    if !begins_with(record.value.as_str(), progress.open.text()) {
                        self.fail(Diverged);
                    } else if self.may_be_inside(&gap, &record, progress) {
                        self.fail(Ambiguous);
                    } else {
                        self.stage = Stage::Deliver;
                        self.ready.push_back(Event::Record(record));
                    }
                }
                _ => self.fail(Diverged),
            },
            Event::Rejected(_) if !progress.open.is_empty() => self.fail(Diverged),
            event => self.ready.push_back(event),
        }
    }

    /// Whether the first record may be a part of the one that was cut off: one may begin as the whole does. All of the
    /// response could be more of that, or only what is new in it.
    fn may_be_inside(&self, gap: &str, record: &Record<Raw>, progress: &Progress) -> bool {
        let end = (record.span.end as usize).min(self.head.len());
        let head = self.head.get(..end).unwrap_or(&self.head);
        let text = record.value.as_str();
        !progress.open.is_empty()
            && !progress.is_distinct(text)
            && (progress.open.takes(&[gap, text].concat()) || progress.open.takes(&without_prose(head)))
    }

    fn fail(&mut self, failure: ContinuationFailure) {
        self.stage = Stage::Failed(failure);
        self.ready.clear();
    }

    /// Why it is not used. Known at its end if it had nothing new.
    pub(super) fn failure(&self) -> Option<ContinuationFailure> {
        match &self.stage {
            Stage::Failed(failure) => Some(*failure),
            Stage::Repeats(repeats) if self.end.is_some() => {
                Some(if repeats.is_restart && self.skipped > 0 { StartedOver } else { Nothing })
            }
            _ => None,
        }
    }

    /// How many bytes the list advances with a record that was delivered: from the end of the one before.
    pub(super) fn advance(&mut self, span: Span) -> u64 {
        if let Some(len) = self.appended.take() {
            // What follows is read as a text of its own.
            self.counted_to = 0;
            return len;
        }
        let advance = span.end.saturating_sub(self.counted_to);
        self.counted_to = span.end;
        advance
    }

    /// Whether everything that was read of it was taken, and all that follows is new.
    pub(super) fn is_delivering(&self) -> bool {
        matches!(self.stage, Stage::Deliver) && self.ready.is_empty()
    }

    /// The name of the first member in it.
    pub(super) fn first_name(&self) -> Option<&str> {
        let head = &self.head[crate::text::behind_thought(&self.head)?..];
        let start = head.find(['{', '['])?;
        first_name(&head[start..])
    }

    /// Remembers that the records are in an array, if the first one is open.
    pub(super) fn learn_form(&self, progress: &mut Progress) {
        if progress.records == 0 && progress.open.is_empty() && self.is_first_element() {
            progress.form = Form::Elements;
        }
    }

    /// Whether it ended in the first element of an array, or before it.
    fn is_first_element(&self) -> bool {
        self.reader.is_first_element() || (self.last_byte == b'[' && self.reader.open().is_empty())
    }

    pub(super) fn is_truncated(&self) -> bool {
        self.reader.is_truncated()
    }

    /// The record that is open. Before the first element, what is open is around the records.
    pub(super) fn open(&self, progress: &Progress) -> &str {
        let is_beginning = progress.records == 0 && progress.open.is_empty();
        if self.has_wrapper && is_beginning && !self.is_first_element() { "" } else { self.reader.open() }
    }

    /// Its last byte that is not white space.
    pub(super) fn last_byte(&self) -> u8 {
        self.last_byte
    }

    /// Bytes of text that are kept.
    pub(super) fn held_bytes(&self) -> usize {
        let stage = match &self.stage {
            Stage::Overlap { seen: text, .. } | Stage::Appended(text) => text.len(),
            _ => 0,
        };
        let ready = self.ready.iter().map(|event| match event {
            Event::Record(record) => record.value.as_str().len(),
            _ => 0,
        });
        self.reader.held_bytes() + self.head.len() + stage + ready.sum::<usize>()
    }
}

/// How much of a response is kept to see whether it is more of the open record, in bytes.
const HEAD: usize = 4096;

/// The length of the line that opens a code fence, if the text begins with one.
fn fence(text: &str) -> usize {
    let rest = text.trim_start_matches(['\r', '\n']);
    let start = text.len() - rest.len();
    match rest.strip_prefix("```").and_then(|opener| opener.find('\n')) {
        Some(line) => start + 3 + line + 1,
        None => start,
    }
}
