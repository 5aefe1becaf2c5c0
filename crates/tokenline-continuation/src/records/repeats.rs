//! Compares the beginning of a response with the delivered records.

use memchr::{memchr, memchr2};
use tokenline_core::adapter::SourceEnd;
use tokenline_core::json::{Parser, Step};
use tokenline_core::{Event, Options};

use super::fingerprint::{Fingerprint, begins_with, end_of, minify};
use super::progress::{Form, Progress};
use super::reader::{MAX_HEAD, Place, Reader, is_plain};
use super::repair::Repair;
use crate::beginning::without_prose;
use crate::error::ContinuationFailure::{self, Ambiguous, Diverged};

/// The repeated beginning of a response, which is compared with the records that were delivered.
#[derive(Debug)]
pub(super) struct Repeats {
    text: String,
    /// How much of `text` has been compared.
    at: usize,
    /// The position of `at` in the response.
    place: Place,
    /// Reads the next record.
    parser: Parser,
    /// Whether a malformed record may have ended since it was last read.
    may_end: bool,
    /// Whether the text before the first record has been skipped.
    has_begun: bool,
    /// Whether the response writes its records as elements of an array.
    pub(super) is_array: bool,
    anchor: Vec<Fingerprint>,
    is_anchor: bool,
    pub(super) is_restart: bool,
    pub(super) seen: u64,
    chain: Fingerprint,
}

impl Repeats {
    /// For the text of a response from `place` on, where its thoughts have ended.
    pub(super) fn new(progress: &Progress, anchor: usize, place: Place) -> Self {
        Self {
            text: String::new(),
            at: 0,
            place,
            parser: Parser::new(),
            may_end: false,
            has_begun: false,
            is_array: progress.form == Form::Elements,
            anchor: progress.anchor_fingerprints(anchor),
            is_anchor: true,
            is_restart: true,
            seen: 0,
            chain: Fingerprint::default(),
        }
    }

    pub(super) fn push(&mut self, text: &str) {
        self.text.drain(..std::mem::take(&mut self.at));
        self.may_end |= text.contains(['\n', ',', ']']);
        self.text += text;
    }

    /// Bytes of text that are kept.
    pub(super) fn held_bytes(&self) -> usize {
        self.text.len()
    }

    /// Compares the text so far. Returns the position of the new part and its text; `None` if more is needed.
    pub(super) fn read(
        &mut self,
        progress: &Progress,
        options: &Options,
        repair: &mut Repair,
        end: Option<SourceEnd>,
    ) -> Option<Result<(Place, String), ContinuationFailure>> {
        while !self.has_begun {
            if !self.begin(progress, end.is_some())? {
                return Some(Err(Diverged));
            }
        }
        loop {
            let rest = &self.text[self.at..];
            let before = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n', ',']).len();
            self.pass(before);
            let rest = &self.text[self.at..];
            if !rest.starts_with('{') {
                match memchr(b'{', rest.as_bytes()) {
                    Some(found) if is_plain(&without_prose(&rest[..found])) => self.pass(found),
                    None if rest.len() <= MAX_HEAD => return None,
                    _ => return Some(Err(Diverged)),
                }
            }
            let rest = &self.text[self.at..];
            let (fingerprint, end) = match self.parser.resume(rest) {
                Step::NeedMore if rest.len() <= options.limits.line_bytes => return None,
                Step::NeedMore => return Some(Err(Diverged)),
                Step::Complete { end } => (Fingerprint::of(&minify(&rest[..end])), end),
                // It may be a line that the repair hook replaced.
                Step::Malformed(_) => {
                    let mut reader = Reader::after(options, self.is_array, "", self.place);
                    reader.push(rest);
                    if let Some(end) = end {
                        reader.finish(end);
                    }
                    let is_decided = self.may_end || end.is_some();
                    match is_decided.then(|| reader.next(repair)).flatten() {
                        Some(Event::Record(record)) => {
                            let end = record.span.end as usize - usize::from(self.is_array);
                            (Fingerprint::of(&record.value.to_compact()), end)
                        }
                        None if repair.is_waiting() => return None,
                        None if end.is_none() && rest.len() <= MAX_HEAD => {
                            self.may_end = false;
                            return None;
                        }
                        _ => return Some(Err(Diverged)),
                    }
                }
            };
            self.parser.reset();
            self.pass(end);
            match self.compare(fingerprint, progress) {
                Ok(true) => return Some(Ok((self.place, self.text.split_off(self.at)))),
                Ok(false) => {}
                Err(failure) => return Some(Err(failure)),
            }
        }
    }

    /// Skips prose, a fence and the opening of the array. Returns whether nothing else precedes the first record; `None` if
    /// more is needed.
    fn begin(&mut self, progress: &Progress, is_over: bool) -> Option<bool> {
        let rest = &self.text[self.at..];
        let Some(found) = memchr2(b'{', b'[', rest.as_bytes()).filter(|found| *found <= MAX_HEAD) else {
            return (rest.len() > MAX_HEAD).then_some(false);
        };
        let (before, rest) = rest.split_at(found);
        if !is_plain(&without_prose(before)) {
            return Some(false);
        }
        // If the records begin as the opening does, the text is more likely a record.
        let anchor = progress.recent.len() - self.anchor.len();
        let is_element = |record: &&String| record.starts_with(&progress.opening);
        let is_around = progress.recent.get(anchor).filter(is_element).is_none();
        let opening = if is_around { &*progress.opening } else { "" };
        let opened = end_of(rest, opening).filter(|_| !opening.is_empty());
        let may_open = !is_over && rest.len() <= MAX_HEAD.min(1024 + 4 * opening.len());
        if opened.is_none() && !opening.is_empty() && may_open && begins_with(opening, rest) {
            return None;
        }
        self.is_array |= rest.starts_with('[');
        self.has_begun = true;
        self.pass(found + opened.unwrap_or(usize::from(rest.starts_with('['))));
        Some(true)
    }

    fn pass(&mut self, bytes: usize) {
        self.place = self.place.after(&self.text[self.at..self.at + bytes]);
        self.at += bytes;
    }

    /// Compares one more record. Returns whether the repeated part ends here, so that all that follows is new.
    fn compare(&mut self, record: Fingerprint, progress: &Progress) -> Result<bool, ContinuationFailure> {
        let at = self.seen as usize;
        self.seen += 1;
        self.chain = self.chain.then(record);
        self.is_anchor &= self.anchor.get(at) == Some(&record);
        self.is_restart &= progress.head.get(at).is_none_or(|head| *head == record);
        let is_all = self.seen == progress.records;
        match (self.is_anchor && self.seen as usize == self.anchor.len(), self.is_restart) {
            // The anchor is also the beginning of the list.
            (true, true) if !is_all => Err(Ambiguous),
            (true, _) => Ok(true),
            (false, true) if is_all => (self.chain == progress.chain).then_some(true).ok_or(Diverged),
            (false, is_restart) if is_restart || self.is_anchor => Ok(false),
            (false, _) => Err(Diverged),
        }
    }
}
