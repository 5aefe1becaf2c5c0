//! Repetition in one text with records.

use super::{RecordRepetitionDetector, Repeated, Repetition, RepetitionDetector, RepetitionLimits};
use crate::{Code, Diagnostic, Event, LentEvent, Span};

/// Finds repetition in a text, and in its records and calls.
///
/// For authors of stream adapters. Give it what the decoder reads, with each record: records separate the text between
/// them, so that text which precedes each of many records is no loop; equal records have a
/// [limit](RepetitionLimits::records) of their own. The text of an open record counts as text.
///
/// A text ends at the same byte however it is cut if it is read up to the end of a [block](Self::block), with all events,
/// before the guard is asked whether it [stops](Self::stops) there.
///
/// ```
/// use tokenline_core::RepetitionLimits;
/// use tokenline_core::adapter::RepetitionGuard;
///
/// let mut guard = RepetitionGuard::new(&RepetitionLimits::default());
/// while guard.found().is_none() {
///     guard.text("I will try again. ");
/// }
/// assert_eq!(guard.found().unwrap().to_string(), "the text repeats 18 bytes 28 times");
/// ```
#[derive(Clone, Debug)]
pub struct RepetitionGuard {
    limits: RepetitionLimits,
    text: RepetitionDetector,
    records: Option<Box<RecordRepetitionDetector>>,
    found: Option<Repetition>,
    /// The end of the text that was read.
    offset: u64,
    /// The last of it, up to a block, which is searched once all records that end in it are known.
    unsearched: Vec<u8>,
    /// The positions in it between which no repetition is looked for.
    separations: Vec<usize>,
    /// The line and the offset at which the text was stopped.
    stopped: Option<(u64, u64)>,
}

/// The length of a block in bytes.
const BLOCK: u64 = 64;

impl RepetitionGuard {
    /// A guard of a text.
    #[must_use]
    pub fn new(limits: &RepetitionLimits) -> Self {
        Self {
            limits: *limits,
            text: RepetitionDetector::new(Repeated::Text, limits),
            records: None,
            found: None,
            offset: 0,
            unsearched: Vec::new(),
            separations: Vec::new(),
            stopped: None,
        }
    }

    /// Takes the next piece of the text.
    pub fn text(&mut self, text: impl AsRef<[u8]>) {
        let mut rest = text.as_ref();
        while !rest.is_empty() {
            if self.offset.is_multiple_of(BLOCK) {
                self.search();
            }
            let room = BLOCK - self.offset % BLOCK;
            let (piece, after) = rest.split_at(rest.len().min(room as usize));
            self.unsearched.extend_from_slice(piece);
            self.offset += piece.len() as u64;
            rest = after;
        }
    }

    /// Takes what a decoder has read since its last event, and the event that it returned at this position, if it did.
    pub fn event(&mut self, read: &[u8], event: Option<&LentEvent<'_>>, position: u64) {
        self.text(read);
        if let Some(Event::Record(record)) = event {
            let limits = &self.limits;
            let records = self
                .records
                .get_or_insert_with(|| Box::new(RecordRepetitionDetector::new(Repeated::Records, limits)));
            let found = records.push(&[record.value.raw()]);
            self.found = self.found.or(found);
            self.separate_before(position - record.span.end);
        }
    }

    /// Separates the text before from what follows: no repetition has both.
    pub fn separate(&mut self) {
        self.separate_before(0);
    }

    /// Separates the text before its last `len` bytes from them, or where it was searched up to.
    fn separate_before(&mut self, len: u64) {
        self.separations.push(self.unsearched.len().saturating_sub(len as usize));
    }

    fn search(&mut self) {
        let mut from = 0;
        self.separations.sort_unstable();
        for at in self.separations.drain(..) {
            let found = self.text.push(&self.unsearched[from..at]);
            self.found = self.found.or(found);
            self.text.separate();
            from = at;
        }
        let found = self.text.push(&self.unsearched[from..]);
        self.found = self.found.or(found);
        self.unsearched.clear();
    }

    /// The bytes to read, at most, before the guard is next asked whether the text [stops](Self::stops). Not 0, except at the
    /// end of a block: the decoder may have more events there.
    #[must_use]
    pub fn block(&self) -> usize {
        match self.offset % BLOCK {
            0 if !self.unsearched.is_empty() => 0,
            read => (BLOCK - read) as usize,
        }
    }

    /// Whether the text is to end here: a repetition has reached its limit, and a block ends here. It is on this line.
    pub fn stops(&mut self, line: impl FnOnce() -> u64) -> bool {
        let stops = self.offset.is_multiple_of(BLOCK) && self.found().is_some();
        if stops && self.stopped.is_none() {
            self.stopped = Some((line(), self.offset));
        }
        stops
    }

    /// The first repetition that reached its limit, in all that was read.
    pub fn found(&mut self) -> Option<&Repetition> {
        self.search();
        self.found.as_ref()
    }

    /// The warning that the text [was stopped](Self::stops), if it was.
    #[must_use]
    pub fn warning(&self) -> Option<Diagnostic> {
        let (line, offset) = self.stopped?;
        let message = format!("{}; the text was stopped", self.found?);
        Some(Diagnostic::new(Code::Repetition, line, Span::new(offset, offset), 1, message))
    }

    /// The limits.
    #[must_use]
    pub fn limits(&self) -> &RepetitionLimits {
        &self.limits
    }

    /// Starts over with the next text.
    pub fn reset(&mut self) {
        *self = Self::new(&self.limits);
    }
}
