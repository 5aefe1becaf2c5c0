//! What a response repeats.

use tokenline_core::Options;
use tokenline_core::adapter::SourceEnd;
use tokenline_core::json::{Parser, Step};

use super::ContinuationFailure::{self, Ambiguous, Diverged};
use super::fingerprint::{Fingerprint, begins_with, end_of, minify};
use super::progress::{Form, Progress};
use super::reader::{MAX_HEAD, Place, Reader, is_plain, without_prose};
use super::repair::Repair;
use crate::text::tail;

/// The beginning of a response: records that were delivered, compared with those that it is to begin with.
#[derive(Debug)]
pub(super) struct Repeats {
    text: String,
    /// How much of it has been compared, and where in the response that ends.
    at: usize,
    place: Place,
    /// The record that is next.
    parser: Parser,
    /// Whether a think block is open.
    is_thinking: bool,
    /// Whether what may stand before the first record has been passed.
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
    pub(super) fn new(progress: &Progress, anchor: usize) -> Self {
        Self {
            text: String::new(),
            at: 0,
            place: Place::START,
            parser: Parser::new(),
            is_thinking: false,
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
        self.text += text;
    }

    /// Bytes of text that are kept.
    pub(super) fn held_bytes(&self) -> usize {
        self.text.len()
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
            let rest = &self.text[self.at..];
            self.pass(rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n', ',']).len());
            let rest = &self.text[self.at..];
            let (fingerprint, end) = match self.parser.resume(rest) {
                _ if rest.is_empty() => return None,
                _ if !rest.starts_with('{') || rest.len() > options.limits.line_bytes => {
                    return Some(Err(Diverged));
                }
                Step::NeedMore => return None,
                Step::Complete { end } => (Fingerprint::of(&minify(&rest[..end])), end),
                // The line may be one that was replaced.
                Step::Malformed(_) => match rest.find('\n').or_else(|| is_over.then_some(rest.len())) {
                    None if rest.len() <= MAX_HEAD => return None,
                    end => match end.and_then(|end| Some((replaced(&rest[..end], options, repair)?, end))) {
                        Some(replaced) => replaced,
                        None => return Some(Err(Diverged)),
                    },
                },
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

    /// Where the first record begins, behind a think block, prose, a fence and what opens the array: `None` inside if it is
    /// none.
    fn first(&mut self, progress: &Progress, is_over: bool) -> Option<Option<usize>> {
        const END_OF_THOUGHT: &str = "</think>";
        self.is_thinking |= self.text[self.at..].trim_ascii_start().starts_with("<think");
        if self.is_thinking {
            let rest = &self.text[self.at..];
            let Some(end) = rest.find(END_OF_THOUGHT) else {
                self.pass(rest.len() - tail(rest, END_OF_THOUGHT.len()).len());
                return None;
            };
            self.pass(end + END_OF_THOUGHT.len());
            self.is_thinking = false;
        }
        let rest = &self.text[self.at..];
        let Some(found) = rest.find(['{', '[']).filter(|found| *found <= MAX_HEAD) else {
            return (rest.len() > MAX_HEAD).then_some(None);
        };
        let (before, rest) = rest.split_at(found);
        if !is_plain(&without_prose(before)) {
            return Some(None);
        }
        let opening = &*progress.opening;
        let may_open = !opening.is_empty();
        self.is_array |= rest.starts_with('[');
        match end_of(rest, opening).filter(|_| may_open) {
            Some(end) => Some(Some(found + end)),
            None if may_open && !is_over && begins_with(opening, rest) => None,
            None => Some(Some(found + usize::from(rest.starts_with('[')))),
        }
    }

    fn pass(&mut self, bytes: usize) {
        self.place = self.place.behind(&self.text[self.at..self.at + bytes]);
        self.at += bytes;
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
    let record = reader.next(repair)?.into_record()?;
    Some(Fingerprint::of(&record.value.to_compact()))
}
