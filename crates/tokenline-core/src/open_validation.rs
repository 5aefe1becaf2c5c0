//! Validates the records of a decoder while they arrive.

use std::fmt;
use std::sync::Arc;

use crate::json::Value;
use crate::{CompletedBy, Diagnostic, Record, RecordDecoder, Recovered, Span, Validate, ValidateOpen};

/// Validates the records of a [`RecordDecoder`] while they arrive. Once a record is complete, little of it remains to be
/// validated, however long it is. And an invalid record is known before it ends.
///
/// The verdicts are those of the validator. One that does not [support it](Validate::open) validates complete records.
///
/// ```
/// use tokenline_core::adapter::OpenValidation;
/// use tokenline_core::{CheckedChunk, Code, Event, Options, RecordDecoder};
/// # use tokenline_core::{Validate, Violation, json};
/// # struct Rules;
/// # impl Validate for Rules {
/// #     fn validate(&self, value: json::Value<'_>) -> Result<(), Box<Violation>> {
/// #         match value.get("n") {
/// #             Some(n) if n.as_number().is_none() => Err(Box::new(Violation::new(Code::SchemaViolation, n.range().start, "not a number"))),
/// #             _ => Ok(()),
/// #         }
/// #     }
/// # }
///
/// let mut decoder = RecordDecoder::new(Options::lenient());
/// let mut validation = OpenValidation::new(Rules);
/// let mut verdicts = Vec::new();
/// for chunk in ["{\"n\":1}\n{\"n\":", "\"two\"}\n{\"n\":3}\n"] {
///     let mut chunk = CheckedChunk::from(chunk);
///     while let Some(event) = decoder.next_event(&mut chunk) {
///         if let Event::Record(record) = event {
///             verdicts.push(validation.finish(&record).is_ok());
///         }
///     }
///     validation.read_on(&mut decoder);
/// }
/// assert_eq!(verdicts, [true, false, true]);
/// ```
pub struct OpenValidation<V = Arc<dyn Validate + Send + Sync>> {
    validator: V,
    open: Option<Box<dyn ValidateOpen + Send + Sync>>,
    /// How many bytes must be new to be worth a look.
    least: u64,
    /// The decoder's position at the last look.
    read_to: u64,
    /// Why the open record will be rejected, and its start.
    violation: Option<(u64, Box<Diagnostic>)>,
}

/// Records of a few lines are validated once they are complete.
const LEAST: u64 = 512;

impl<V: Validate> OpenValidation<V> {
    /// Validates an open record about every 512 bytes.
    #[must_use]
    pub fn new(validator: V) -> Self {
        Self { open: validator.open(), validator, least: LEAST, read_to: 0, violation: None }
    }

    /// Validates whatever is new, so that an invalid record is known at once. Takes time for each chunk.
    #[must_use]
    pub fn at_once(mut self) -> Self {
        self.set_at_once(true);
        self
    }

    pub(crate) fn set_at_once(&mut self, yes: bool) {
        self.least = if yes { 0 } else { LEAST };
    }

    /// Forgets the open record.
    pub fn reset(&mut self) {
        (self.read_to, self.violation) = (0, None);
    }

    /// Validates what is new in the open record, if there is one. Call it once the decoder has no more
    /// events. Returns why the record will be rejected, as soon as that is known, and only once for a record. It may still
    /// turn out to be prose or malformed.
    #[inline]
    pub fn read_on(&mut self, decoder: &mut RecordDecoder) -> Option<&Diagnostic> {
        let position = decoder.position();
        if position.wrapping_sub(self.read_to) < self.least || self.open.is_none() {
            return None;
        }
        self.read_to = position;
        self.advance(decoder)
    }

    #[inline(never)]
    fn advance(&mut self, decoder: &mut RecordDecoder) -> Option<&Diagnostic> {
        let start = decoder.open_value();
        if self.violation.as_ref().is_some_and(|(of, _)| start == Some(*of)) {
            return None;
        }
        self.violation = None;
        if let (Some(open), Some(snapshot)) = (&mut self.open, decoder.snapshot())
            && let Err(violation) = open.advance(snapshot.value)
        {
            let span = Span::new(snapshot.start, snapshot.start + snapshot.value.document().len() as u64);
            let record = Record {
                value: snapshot.value,
                line: snapshot.line,
                column: snapshot.column,
                span,
                completion: CompletedBy::EndOfInput,
                recovered: Recovered::NONE,
            };
            self.violation = Some((snapshot.start, Box::new(record.diagnose(*violation))));
        }
        self.violation()
    }

    /// Why the open record will be rejected, if that was known when [`read_on`](Self::read_on) looked at it last. The
    /// span ends where the record did then.
    #[must_use]
    pub fn violation(&self) -> Option<&Diagnostic> {
        self.violation.as_ref().map(|(_, diagnostic)| &**diagnostic)
    }

    /// Leaves out a complete record, which is not validated.
    pub(crate) fn skip(&mut self) {
        self.violation = None;
    }

    /// Validates a complete record. What was seen of it before is not validated again.
    ///
    /// # Errors
    ///
    /// The diagnostic, if it breaks a rule.
    #[inline]
    pub fn finish(&mut self, record: &Record<Value<'_>>) -> Result<(), Box<Diagnostic>> {
        self.violation = None;
        let result = match &mut self.open {
            Some(open) if record.value.document_id().is_some() => open.finish(record.value),
            _ => self.validator.validate(record.value),
        };
        result.map_err(|violation| Box::new(record.diagnose(*violation)))
    }
}

impl<V> fmt::Debug for OpenValidation<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenValidation").field("violation", &self.violation).finish_non_exhaustive()
    }
}
