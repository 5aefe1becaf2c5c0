//! What a response repeats.

use tokenline_core::Options;
use tokenline_core::adapter::SourceEnd;
use tokenline_core::json::{Parser, Step};

use super::ContinuationFailure::{self, Ambiguous, Diverged};
use super::fingerprint::{Fingerprint, begins_with, end_of, minify};
use super::progress::{Form, Progress};
use super::reader::{MAX_HEAD, Place, Reader, is_plain, without_prose};
use super::repair::Repair;
use crate::text::behind_thought;

/// The beginning of a response: records that were delivered, compared with those that it is to begin with.
#[derive(Debug)]
pub(super) struct Repeats {
    /// What is not compared yet.
    text: String,
    /// Where that begins in the response.
    place: Place,
    /// The record that it begins with.
    parser: Parser,
    /// Whether what may stand before the first record has been passed.
    has_begun: bool,
    /// Whether the response writes its records as elements of an array.
    pub(super) is_array: bool,
    /// What has been compared, as far as it is kept.
    pub(super) head: String,
    anchor: Vec<Fingerprint>,
    is_anchor: bool,
    pub(super) is_restart: bool,
    pub(super) seen: u64,
    chain: Fingerprint,
}

/// How much is kept of what a response repeats, to see whether it is more of the open record, in bytes.
const HEAD: usize = 4096;

impl Repeats {
    pub(super) fn new(progress: &Progress, anchor: usize) -> Self {
        Self {
            text: String::new(),
            place: Place::START,
            parser: Parser::new(),
            has_begun: false,
            is_array: progress.form == Form::Elements,
            head: String::new(),
            anchor: progress.anchor_fingerprints(anchor),
            is_anchor: true,
            is_restart: true,
            seen: 0,
            chain: Fingerprint::default(),
        }
    }

    pub(super) fn push(&mut self, text: &str) {
        self.text += text;
    }

    /// Bytes of text that are kept.
    pub(super) fn held_bytes(&self) -> usize {
        self.text.len() + self.head.len()
    }

    /// Compares what has come. Where what is new begins, and that text, once it is known.
    pub(super) fn read(
        &mut self,
        progress: &Progress,
        options: &Options,
        repair: &mut Repair,
        is_over: bool,
    ) -> Option<Result<(Place, String), ContinuationFailure>> {
        if !self.has_begun {
            match self.first(progress, is_over)? {
                Some(first) => self.pass(first),
                None => return Some(Err(Diverged)),
            }
            self.has_begun = true;
        }
        loop {
            let start = self.text.len() - self.text.trim_start_matches([' ', '\t', '\r', '\n', ',']).len();
            if start == self.text.len() {
                return None;
            }
            let record = &self.text[start..];
            let (fingerprint, end) = match self.parser.resume(record) {
                Step::NeedMore if record.starts_with('{') => return None,
                Step::Complete { end } if record.starts_with('{') => {
                    (Fingerprint::of(&minify(&record[..end])), start + end)
                }
                Step::Malformed(_) if record.starts_with('{') => {
                    // The line may be one that was replaced.
                    let end = match record.find('\n') {
                        Some(end) => end,
                        None if is_over => record.len(),
                        None => return None,
                    };
                    match replaced(&record[..end], options, repair) {
                        Some(fingerprint) => (fingerprint, start + end),
                        None => return Some(Err(Diverged)),
                    }
                }
                _ => return Some(Err(Diverged)),
            };
            self.parser.reset();
            self.pass(end);
            match self.compare(fingerprint, progress) {
                Ok(true) => return Some(Ok((self.place, std::mem::take(&mut self.text)))),
                Ok(false) => {}
                Err(failure) => return Some(Err(failure)),
            }
        }
    }

    /// Where the first record begins, behind prose, a fence and what opens the array: `None` inside if it is none.
    fn first(&mut self, progress: &Progress, is_over: bool) -> Option<Option<usize>> {
        let found = behind_thought(&self.text)
            .and_then(|from| Some(from + self.text[from..].find(['{', '['])?))
            .filter(|found| *found <= MAX_HEAD);
        let Some(found) = found else { return (self.text.len() > MAX_HEAD).then_some(None) };
        let (before, rest) = self.text.split_at(found);
        if !is_plain(&without_prose(before)) {
            return Some(None);
        }
        let opening = &*progress.opening;
        // Of elements that begin as what is around them does, it is more likely one.
        let may_open =
            !opening.is_empty() && !progress.recent.back().is_some_and(|last| last.starts_with(opening));
        self.is_array |= rest.starts_with('[');
        match end_of(rest, opening).filter(|_| may_open) {
            Some(end) => Some(Some(found + end)),
            None if may_open && !is_over && begins_with(opening, rest) => None,
            None => Some(Some(found + usize::from(rest.starts_with('[')))),
        }
    }

    fn pass(&mut self, to: usize) {
        self.place = self.place.behind(&self.text[..to]);
        let passed = if self.has_begun { &self.text[..to] } else { "" };
        self.head += crate::text::head(passed, HEAD.saturating_sub(self.head.len()));
        self.text.drain(..to);
    }

    /// One record more. Whether what is repeated is decided, and all that follows is new.
    fn compare(&mut self, record: Fingerprint, progress: &Progress) -> Result<bool, ContinuationFailure> {
        let at = self.seen as usize;
        self.seen += 1;
        self.chain = self.chain.then(record);
        self.is_anchor &= self.anchor.get(at) == Some(&record);
        self.is_restart &= progress.head.get(at).is_none_or(|head| *head == record);
        let is_all = self.seen == progress.records;
        match (self.is_anchor && self.seen as usize == self.anchor.len(), self.is_restart) {
            // The list begins as it ends.
            (true, true) if !is_all => Err(Ambiguous),
            (true, _) => Ok(true),
            (false, true) if is_all => (self.chain == progress.chain).then_some(true).ok_or(Diverged),
            (false, is_restart) if is_restart || self.is_anchor => Ok(false),
            (false, _) => Err(Diverged),
        }
    }
}

/// The record that replaces a malformed line.
fn replaced(line: &str, options: &Options, repair: &mut Repair) -> Option<Fingerprint> {
    let mut reader = Reader::new(options);
    reader.push(line);
    reader.push("\n");
    reader.finish(SourceEnd::Clean);
    let record = reader.next(repair, false)?.into_record()?;
    Some(Fingerprint::of(&record.value.to_compact()))
}
