//! Repetition in one text with records.

use super::{RecordRepetitionDetector, Repeated, Repetition, RepetitionDetector, RepetitionLimits};
use crate::{Code, Diagnostic, Span};

/// Finds repetition in a text, and in its records, of which calls in the text are some.
///
/// For authors of stream adapters. Records separate the text between them, so that text which precedes each of many records is no
/// loop; equal records have a [limit](RepetitionLimits::records) of their own.
///
/// ```
/// use tokenline_core::RepetitionLimits;
/// use tokenline_core::adapter::RepetitionGuard;
///
/// let mut guard = RepetitionGuard::new(&RepetitionLimits::default());
/// let mut text = String::new();
/// while guard.found().is_none() {
///     let start = text.len() as u64;
///     text.push_str("I will try again. ");
///     guard.text("I will try again. ", start);
/// }
/// assert_eq!(guard.found().unwrap().to_string(), "the text repeats 18 bytes 28 times");
/// ```
#[derive(Clone, Debug)]
pub struct RepetitionGuard {
    limits: RepetitionLimits,
    text: RepetitionDetector,
    records: Option<Box<RecordRepetitionDetector>>,
    /// Where records end in the text that is read.
    ends: Vec<u64>,
    found: Option<Repetition>,
}

impl RepetitionGuard {
    /// A guard of a text.
    #[must_use]
    pub fn new(limits: &RepetitionLimits) -> Self {
        let text = RepetitionDetector::new(Repeated::Text, limits);
        Self { limits: *limits, text, records: None, ends: Vec::new(), found: None }
    }

    /// Takes note of a record in the text, before the [text](Self::text) that ends it. `end` is its end in the text.
    pub fn record(&mut self, raw: &str, end: u64) {
        let limits = &self.limits;
        let records = self
            .records
            .get_or_insert_with(|| Box::new(RecordRepetitionDetector::new(Repeated::Records, limits)));
        let found = records.push(&[raw]);
        self.found = self.found.or(found);
        self.ends.push(end);
    }

    /// Takes the next piece of the text, which begins at `start`, after the records in it.
    pub fn text(&mut self, text: impl AsRef<[u8]>, start: u64) {
        let text = text.as_ref();
        let mut at = 0;
        for end in std::mem::take(&mut self.ends) {
            let end = usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX).min(text.len());
            if end > at {
                let found = self.text.push(&text[at..end]);
                self.found = self.found.or(found);
                at = end;
            }
            self.text.separate();
        }
        let found = self.text.push(&text[at..]);
        self.found = self.found.or(found);
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

    /// The warning that the text was stopped, if a repetition reached its limit: at this line, and this offset.
    #[must_use]
    pub fn warning(&self, line: u64, offset: u64) -> Option<Diagnostic> {
        let message = format!("{}; the text was stopped", self.found?);
        Some(Diagnostic::new(Code::Repetition, line, Span::new(offset, offset), 1, message))
    }

    /// The first repetition that reached its limit.
    #[must_use]
    pub fn found(&self) -> Option<&Repetition> {
        self.found.as_ref()
    }
}
