//! One response: what of it is new.

use std::collections::VecDeque;

use tokenline_core::json::Raw;
use tokenline_core::{Completion, Diagnostic, Options, Record, Recovered, Severity, Span};

use super::error::ContinuationFailure;
use super::fingerprint::{Fingerprint, squeeze};
use super::overlap::{Overlap, Verdict};
use super::progress::{Form, Progress};
use super::reader::{FirstMember, Item, Read, Reader};
use super::seam::{self, Seam};

/// One response.
#[derive(Debug)]
pub(super) struct Response {
    source: Source,
    stage: Stage,
    /// What cannot go out before more is known.
    waiting: VecDeque<Item>,
    /// What can.
    ready: VecDeque<Item>,
    seam: Option<Pending>,
    is_over: bool,
    is_drained: bool,
    /// Whether its end is a limit's, so that more of an open record would have come.
    is_cut: bool,
    is_first: bool,
    /// Whether records were delivered before it.
    goes_on: bool,
    is_joined: bool,
    /// The cut record, longer than it was.
    extended: Option<String>,
    new_records: u64,
    skipped: u64,
    has_record: bool,
    has_other_text: bool,
    last_byte: u8,
    /// Bytes up to the end of the last record.
    told_to: u64,
}

/// Who reads the text.
#[derive(Debug)]
enum Source {
    /// It is not known yet how it begins.
    Unknown {
        head: FirstMember,
        wrapper: Option<Fingerprint>,
        options: Options,
    },
    /// It is read already, and how it begins is still to be learned.
    Learning(Reader, FirstMember),
    Known(Reader),
}

#[derive(Debug)]
enum Stage {
    /// Does it repeat what was delivered?
    Overlap(Overlap),
    /// Does it go on inside the cut record?
    Seam,
    Deliver,
    Failed(ContinuationFailure),
}

/// The record that was cut off, and what may be more of it.
#[derive(Debug)]
struct Pending {
    open: String,
    squeezed: String,
    /// The last records, as far as they are known.
    tail: Vec<Option<String>>,
    fragment: String,
    /// Where the fragment begins in the text.
    base: u64,
    form: Form,
    options: Options,
    /// The length at which it is looked at next.
    next_look: usize,
    /// Whether something before the first record was rejected.
    is_garbled: bool,
}

impl Pending {
    /// Whether the fragment up to there is, or may be, the end of a record that was delivered.
    fn is_end_of_another(&self, end: usize) -> bool {
        // It may begin inside a string: what is white space between tokens is not known.
        let bare = |text: &str| text.split_ascii_whitespace().collect::<String>();
        let end = bare(&self.fragment[..end]);
        self.tail.iter().any(|text| text.as_ref().is_none_or(|text| bare(text).ends_with(&end)))
    }
}

/// The options for what is no beginning of an answer: the place of the records in it is known by then.
fn plain(options: &Options) -> Options {
    options.clone().items("").unwrap_or_else(|_| options.clone())
}

fn reader(options: &Options, form: Form) -> Reader {
    match form {
        Form::Lines => Reader::new(plain(options)),
        Form::Elements => Reader::among_elements(plain(options)),
    }
}

impl Response {
    /// The one in which the answer begins.
    pub(super) fn first(options: &Options, has_wrapper: bool) -> Self {
        let reader = Reader::new(options.clone());
        let source = match has_wrapper {
            true => Source::Learning(reader, FirstMember::default()),
            false => Source::Known(reader),
        };
        Self::new(source, Stage::Deliver, None, true)
    }

    /// One that goes on with it.
    pub(super) fn further(progress: &Progress, options: &Options, has_wrapper: bool) -> Self {
        let source = match (has_wrapper, progress.wrapper, progress.records) {
            (true, None, 0) => Source::Learning(Reader::new(options.clone()), FirstMember::default()),
            (true, Some(wrapper), _) => Source::Unknown {
                head: FirstMember::default(),
                wrapper: Some(wrapper),
                options: options.clone(),
            },
            _ => Source::Known(reader(options, progress.form)),
        };
        let seam = (!progress.open.is_empty()).then(|| Pending {
            open: progress.open.clone(),
            squeezed: squeeze(&progress.open),
            tail: progress.tail.iter().map(|record| record.text.clone()).collect(),
            fragment: String::new(),
            base: 0,
            form: progress.form,
            options: options.clone(),
            next_look: 64,
            is_garbled: false,
        });
        let response = Self::new(source, Stage::Overlap(Overlap::new(progress)), seam, false);
        Self { goes_on: progress.records > 0, ..response }
    }

    fn new(source: Source, stage: Stage, seam: Option<Pending>, is_first: bool) -> Self {
        Self {
            source,
            stage,
            waiting: VecDeque::new(),
            ready: VecDeque::new(),
            seam,
            is_over: false,
            is_drained: false,
            is_cut: false,
            is_first,
            goes_on: false,
            is_joined: false,
            extended: None,
            new_records: 0,
            skipped: 0,
            has_record: false,
            has_other_text: false,
            last_byte: 0,
            told_to: 0,
        }
    }

    pub(super) fn push(&mut self, text: &str, progress: &mut Progress) {
        if self.failure().is_some() || self.is_over {
            return;
        }
        self.last_byte = text.trim_ascii_end().bytes().last().unwrap_or(self.last_byte);
        if let Some(pending) = &mut self.seam {
            pending.fragment += text;
        }
        match &mut self.source {
            Source::Known(reader) => reader.push(text),
            Source::Learning(reader, member) => {
                reader.push(text);
                if let Some(name) = member.push(text) {
                    progress.wrapper = name;
                    self.know(|source| match source {
                        Source::Learning(reader, _) => reader,
                        _ => unreachable!("it was learning"),
                    });
                }
            }
            Source::Unknown { head, wrapper, .. } => {
                if let Some(name) = head.push(text) {
                    let begins_again = name.is_some() && name == *wrapper;
                    self.choose(begins_again, progress.form);
                }
            }
        }
    }

    /// Takes the reader that the bytes so far call for.
    fn choose(&mut self, begins_again: bool, form: Form) {
        self.know(|source| match source {
            Source::Unknown { head, options, .. } => {
                let mut chosen = match begins_again {
                    true => Reader::new(options),
                    false => reader(&options, form),
                };
                chosen.push(&head.into_text());
                chosen
            }
            Source::Learning(reader, _) | Source::Known(reader) => reader,
        });
    }

    fn know(&mut self, reader: impl FnOnce(Source) -> Reader) {
        let empty = Source::Known(Reader::new(Options::lenient()));
        let source = std::mem::replace(&mut self.source, empty);
        self.source = Source::Known(reader(source));
    }

    pub(super) fn finish(&mut self, is_cut: bool, progress: &Progress) {
        if !self.is_over {
            (self.is_over, self.is_cut) = (true, is_cut);
            self.choose(false, progress.form);
        }
    }

    /// What is new. `None` if more is needed, and at the end.
    pub(super) fn next(&mut self) -> Option<Item> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                self.new_records += u64::from(matches!(item, Item::Record(_)));
                return Some(item);
            }
            if self.failure().is_some() || self.is_drained {
                return None;
            }
            let reader = match &mut self.source {
                Source::Known(reader) | Source::Learning(reader, _) => reader,
                Source::Unknown { .. } => return None,
            };
            match reader.next() {
                Some(item) => self.take(item),
                None if !self.is_over => {
                    let is_due = self.seam.as_ref().is_some_and(|seam| seam.fragment.len() >= seam.next_look);
                    // Records that wait to be known for repeats are not to be taken for the cut one.
                    let is_open = match self.stage {
                        Stage::Overlap(_) => !self.waiting.iter().any(is_record),
                        Stage::Seam => true,
                        Stage::Deliver | Stage::Failed(_) => false,
                    };
                    if !(is_due && is_open && self.may_be_inside() && self.look()) {
                        return None;
                    }
                }
                None if !reader.is_finished() => reader.finish(),
                None => self.end(),
            }
        }
    }

    fn take(&mut self, item: Item) {
        self.has_record |= matches!(item, Item::Record(_));
        // Brackets that close what is around the records are no talk.
        self.has_other_text |= matches!(&item, Item::Finding(finding) if finding.span.len() > 3);
        match &mut self.stage {
            Stage::Failed(_) => {}
            Stage::Deliver => self.ready.push_back(item),
            Stage::Overlap(overlap) => {
                let Item::Record(read) = &item else {
                    self.waiting.push_back(item);
                    return;
                };
                let (fingerprint, end) = (read.fingerprint, read.record.span.end);
                let verdict = overlap.feed(fingerprint);
                self.waiting.push_back(item);
                match verdict {
                    Verdict::Hold => {}
                    Verdict::Skip => {
                        self.waiting.clear();
                        self.repeated(end);
                    }
                    Verdict::Decided(records) => self.decided(records),
                    Verdict::Diverged => self.fail(ContinuationFailure::Diverged),
                }
            }
            Stage::Seam => {
                if let (Item::Finding(finding), Some(pending)) = (&item, &mut self.seam) {
                    pending.is_garbled |=
                        finding.severity() == Severity::Error && !self.waiting.iter().any(is_record);
                }
                let is_candidate = is_record(&item) && !self.waiting.iter().any(is_record);
                self.waiting.push_back(item);
                if is_candidate {
                    self.look();
                }
            }
        }
    }

    /// So many records of those that wait are repeats.
    fn decided(&mut self, records: u64) {
        let mut waiting = std::mem::take(&mut self.waiting);
        let mut left = records.min(waiting.iter().filter(|item| is_record(item)).count() as u64);
        while left > 0 {
            if let Some(Item::Record(read)) = waiting.pop_front() {
                left -= 1;
                self.repeated(read.record.span.end);
            }
        }
        let mut before = waiting.iter().take_while(|item| !is_record(item));
        let is_garbled = before
            .any(|item| matches!(item, Item::Finding(finding) if finding.severity() == Severity::Error));
        if is_garbled && self.seam.is_none() && self.skipped == 0 && self.goes_on {
            // What could not be read may have been, or have spoiled, a record that was to come.
            return self.fail(ContinuationFailure::Diverged);
        }
        self.stage = if self.seam.is_some() { Stage::Seam } else { Stage::Deliver };
        waiting.into_iter().for_each(|item| self.take(item));
    }

    /// A record up to there was delivered before.
    fn repeated(&mut self, end: u64) {
        self.skipped += 1;
        self.told_to = end;
        if let Some(pending) = &mut self.seam {
            let gone = ((end - pending.base) as usize).min(pending.fragment.len());
            let rest = &pending.fragment[gone..];
            let between = separator(rest);
            pending.fragment.drain(..gone + between);
            (pending.base, pending.next_look) = (end + between as u64, 64);
        }
    }

    /// Whether the head of the text, or what follows the repeats in it, is anything but the beginning of a record.
    fn may_be_inside(&self) -> bool {
        self.seam.as_ref().is_some_and(|pending| !seam::begins_a_record(&pending.fragment))
    }

    /// Looks whether the response goes on inside the cut record. Whether that was settled.
    fn look(&mut self) -> bool {
        let Some(pending) = &mut self.seam else { return false };
        // Other records that begin so could follow any text.
        let is_usual = pending.tail.iter().flatten().any(|text| text.starts_with(&pending.squeezed));
        let has_place = self.skipped > 0 || pending.tail.is_empty();
        let first = self.waiting.iter().find_map(|item| match item {
            Item::Record(read) => Some(read),
            Item::Finding(_) => None,
        });
        let is_whole_again = first.is_some_and(|first| first.text.starts_with(&pending.squeezed));
        let is_known_again = is_whole_again && (!is_usual || pending.tail.is_empty());
        let begins_a_record = seam::begins_a_record(&pending.fragment) && !pending.is_garbled;
        if is_whole_again && begins_a_record {
            self.deliver();
            return true;
        }
        pending.next_look = 2 * pending.fragment.len().max(32);
        let too_long = pending.fragment.len() > pending.options.limits.line_bytes.saturating_add(64 * 1024);
        match seam::join(&pending.open, &pending.fragment, pending.form, self.is_over) {
            Seam::Wait if !too_long => return false,
            Seam::Joined { record, end } if first.is_none() || !begins_a_record => {
                // The end of the record may be that of an earlier one, repeated. Then the cut one follows as a whole.
                match pending.is_end_of_another(end) {
                    true if first.is_none() && !self.is_over => return false,
                    true if is_whole_again || (first.is_none() && self.is_cut) => {
                        self.fail(ContinuationFailure::Ambiguous);
                    }
                    _ => self.joined(&record, end),
                }
            }
            Seam::Joined { .. } | Seam::Ambiguous => self.fail(ContinuationFailure::Ambiguous),
            // What breaks off is more of the record only if it would have gone on.
            Seam::Open(open) if self.is_cut && first.is_none() && !begins_a_record => {
                self.extended = Some(open);
                self.deliver();
            }
            // Other words for the cut record are taken behind a repeat of what came before it, and nowhere else: they
            // could be from within a record.
            _ if first.is_some() && (is_known_again || (begins_a_record && has_place)) => self.deliver(),
            // Nothing has come yet that could be the record.
            _ if first.is_none() && !self.is_over => return false,
            _ if first.is_none() && !pending.is_garbled => {}
            _ => self.fail(ContinuationFailure::Diverged),
        }
        true
    }

    /// All that waits goes out, and what follows.
    fn deliver(&mut self) {
        self.stage = Stage::Deliver;
        self.seam = None;
        self.ready.append(&mut self.waiting);
    }

    /// The cut record is whole.
    fn joined(&mut self, text: &str, end: usize) {
        let Some(pending) = self.seam.take() else { return };
        let Ok(value) = Raw::new(text) else { return self.fail(ContinuationFailure::Ambiguous) };
        if !value.as_str().starts_with('{') {
            return self.fail(ContinuationFailure::Ambiguous);
        }
        let (completion, recovered) = (Completion::Newline, Recovered::default());
        let span = Span::new(pending.base, pending.base + end as u64);
        let record = Record { value, line: 1, column: 1, span, completion, recovered };
        self.has_record = true;
        self.is_joined = true;
        self.told_to = span.start;
        self.waiting.clear();
        self.ready.push_back(Item::Record(Box::new(Read::new(record))));
        // From here on it is read as if it began here.
        let mut rest = reader(&pending.options, pending.form);
        rest.push(&pending.fragment[end..]);
        self.source = Source::Known(rest);
        self.stage = Stage::Deliver;
    }

    fn fail(&mut self, failure: ContinuationFailure) {
        self.stage = Stage::Failed(failure);
        self.waiting.clear();
        self.ready.clear();
    }

    /// The reader has nothing more.
    fn end(&mut self) {
        if let Stage::Overlap(overlap) = &self.stage {
            match overlap.finish() {
                // Nothing of it, or all of it, is a repeat.
                Some(records) => return self.decided(records),
                None => self.fail(ContinuationFailure::Nothing),
            }
        }
        let is_at_seam = matches!(self.stage, Stage::Seam);
        if is_at_seam && self.look() && matches!(self.stage, Stage::Deliver) {
            return;
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
        let told = span.end.saturating_sub(self.told_to);
        self.told_to = span.end;
        if std::mem::take(&mut self.is_joined) {
            // The rest is read as a text of its own.
            self.told_to = 0;
        }
        told
    }

    /// Whether the cut record is still waited for.
    pub(super) fn is_pending(&self) -> bool {
        self.seam.is_some()
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

    /// Whether it ended behind a comma.
    pub(super) fn ends_with_comma(&self) -> bool {
        self.last_byte == b','
    }

    pub(super) fn extended(&mut self) -> Option<String> {
        self.extended.take()
    }

    pub(super) fn reader(&self) -> Option<&Reader> {
        match &self.source {
            Source::Known(reader) | Source::Learning(reader, _) => Some(reader),
            Source::Unknown { .. } => None,
        }
    }

    /// Bytes of text that are kept.
    pub(super) fn held_bytes(&self) -> usize {
        let items = self.waiting.iter().chain(&self.ready).map(|item| match item {
            Item::Record(read) => read.text.len() + read.record.value.as_str().len(),
            Item::Finding(finding) => finding.message.len(),
        });
        let reader = self.reader().map_or(0, Reader::held_bytes);
        let seam =
            self.seam.as_ref().map_or(0, |seam| seam.open.len() + seam.squeezed.len() + seam.fragment.len());
        items.sum::<usize>() + reader + seam
    }
}

/// Bytes between a record and what follows it: up to the next line, or a comma and one space. More may be a part of what
/// follows.
fn separator(rest: &str) -> usize {
    let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\r', ',']).len();
    if rest[blank..].starts_with('\n') {
        return blank + 1;
    }
    let comma = rest.trim_start_matches([' ', '\t']).strip_prefix(',');
    comma.map_or(0, |next| rest.len() - next.strip_prefix(' ').unwrap_or(next).len())
}

fn is_record(item: &Item) -> bool {
    matches!(item, Item::Record(_))
}

/// Findings go out as they are.
pub(super) fn event(finding: Diagnostic) -> tokenline_core::Event<Raw> {
    tokenline_core::Event::from_diagnostic(finding)
}
