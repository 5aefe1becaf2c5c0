//! Repetition in one text with records.

use super::{RecordRepetitionDetector, Repeated, Repetition, RepetitionDetector, RepetitionLimits};
use crate::{Code, Diagnostic, Event, LentEvent, Span};

/// Finds repetition in a text, and in its records and calls.
///
/// For authors of stream adapters. Give it the text up to each record, then the record: records separate the text between
/// them, so that text which precedes each of many records is no loop; equal records have a
/// [limit](RepetitionLimits::records) of their own. The text of an open record counts as text.
///
/// Read the text in [blocks](Self::block) and stop at the end of one. A text then ends at the same byte however it is cut.
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
    /// The line and the offset at which the text was stopped.
    stopped: Option<(u64, u64)>,
}

/// The length of a block in bytes.
const BLOCK: u64 = 64;

impl RepetitionGuard {
    /// A guard of a text.
    #[must_use]
    pub fn new(limits: &RepetitionLimits) -> Self {
        let text = RepetitionDetector::new(Repeated::Text, limits);
        Self { limits: *limits, text, records: None, found: None, stopped: None }
    }

    /// Takes the next piece of the text, up to a record if there is one in it.
    pub fn text(&mut self, text: impl AsRef<[u8]>) {
        let found = self.text.push(text);
        self.found = self.found.or(found);
    }

    /// Takes a record, after the text that contains it.
    pub fn record(&mut self, raw: &str) {
        let limits = &self.limits;
        let records = self
            .records
            .get_or_insert_with(|| Box::new(RecordRepetitionDetector::new(Repeated::Records, limits)));
        let found = records.push(&[raw]);
        self.found = self.found.or(found);
        self.text.separate();
    }

    /// Takes what a decoder has read up to an event: `bytes` from `from` to `to`. Moves `from` to `to`.
    pub fn event(&mut self, event: Option<&LentEvent<'_>>, bytes: &[u8], from: &mut usize, to: usize) {
        self.text(&bytes[*from..to]);
        *from = to;
        if let Some(Event::Record(record)) = event {
            self.record(record.value.raw());
        }
    }

    /// Separates the text before from what follows: no repetition has both.
    pub fn separate(&mut self) {
        self.text.separate();
    }

    /// The bytes from this offset of the text to the end of its block.
    #[must_use]
    pub fn block(offset: u64) -> usize {
        (BLOCK - offset % BLOCK) as usize
    }

    /// Whether the text is to end here: a repetition has reached its limit, and a block ends at this offset. It is on this
    /// line.
    pub fn stops_at(&mut self, offset: u64, line: impl FnOnce() -> u64) -> bool {
        let stops = self.found.is_some() && offset.is_multiple_of(BLOCK);
        if stops && self.stopped.is_none() {
            self.stopped = Some((line(), offset));
        }
        stops
    }

    /// The first repetition that reached its limit.
    #[must_use]
    pub fn found(&self) -> Option<&Repetition> {
        self.found.as_ref()
    }

    /// The warning that the text [was stopped](Self::stops_at), if it was.
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
