//! An answer that is read while it comes.

use std::fmt;

use tokenline_core::json::{Change, Kind};
use tokenline_core::{Code, Diagnostic, Event, LentEvent, Options, RecordDecoder, Recovery};

use crate::check::{Checked, Review, is_one_object, judge, not_one_object};
use crate::{AnalysisWarning, CheckError, Received};

/// Reads an answer while it comes: the text of the response as it grows, and in the end all of it, checked.
/// Sans-IO.
///
/// ```
/// use tokenline_chat_analysis::ResponseReader;
///
/// let mut reader = ResponseReader::new();
/// let mut shown = String::new();
/// for piece in [
///     "{\"response\": \"A 529 plan is a",
///     " good start.\", \"analysis\": {\"subj",
///     "ects\": [], \"summaryUpdate\": \"User asked about college savings.\"}}",
/// ] {
///     shown.push_str(reader.push(piece)?);
/// }
/// assert_eq!(shown, "A 529 plan is a good start.");
/// let checked = reader.finish()?;
/// assert_eq!(checked.response.response, shown);
/// # Ok::<(), tokenline_chat_analysis::CheckError>(())
/// ```
///
/// A fence, and text around the JSON, are passed over with a [warning](AnalysisWarning::NotAlone), but for text that has braces
/// of its own: that cannot be told from a broken answer, and is an error unless it stands on the line of the JSON. What was
/// shown of the response is final only once the answer is: it may still be cut off, or not pass.
pub struct ResponseReader {
    decoder: RecordDecoder,
    state: State,
}

struct State {
    received: Received,
    /// Where the object that is read began.
    start: Option<u64>,
    response: Growing,
    /// How much of the response's text was returned.
    shown: usize,
    is_beside_text: bool,
    review: Option<Review>,
    max_errors: usize,
    failed: Option<CheckError>,
}

/// How much of the response is there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Growing {
    Awaited,
    Open,
    Over,
}

/// The path of the text that is shown while it grows.
const RESPONSE: &str = "/response";
/// An answer that fits the schema has less than 100 KB, whatever its escapes; what else a model may put
/// around it, thinking above all, is given some room.
pub(crate) const MAX_BYTES: usize = 8 << 20;

impl Default for ResponseReader {
    fn default() -> Self {
        Self::new()
    }
}

impl ResponseReader {
    /// A reader at the start of an answer.
    #[must_use]
    pub fn new() -> Self {
        Self::with_max_errors(1)
    }

    /// One that goes on after the first fault.
    pub(crate) fn for_review() -> Self {
        Self::with_max_errors(Review::MAX_ERRORS)
    }

    fn with_max_errors(max_errors: usize) -> Self {
        Self {
            decoder: RecordDecoder::new(Options::lenient().partials(true)),
            state: State {
                received: Received::default(),
                start: None,
                response: Growing::Awaited,
                shown: 0,
                is_beside_text: false,
                review: None,
                max_errors,
                failed: None,
            },
        }
    }

    /// Reads on. Returns what is new of the response's text, its escapes decoded, never a part of a character.
    ///
    /// # Errors
    ///
    /// The first fault of the answer, and from then on the same. If there is new text before it in the piece, that is
    /// returned first, and the fault from the next call.
    pub fn push(&mut self, piece: &str) -> Result<&str, CheckError> {
        let Self { decoder, state } = self;
        if let Some(error) = &state.failed {
            return Err(error.clone());
        }
        state.shown = state.received.response.len();
        if let Err(error) = state.read(decoder, piece) {
            state.failed = Some(error.clone());
            if state.received.response.len() == state.shown {
                return Err(error);
            }
        }
        Ok(&state.received.response[state.shown..])
    }

    /// Whether a fault was found.
    pub(crate) fn has_failed(&self) -> bool {
        self.state.failed.is_some()
    }

    /// The response's text so far.
    #[must_use]
    pub fn response(&self) -> &str {
        &self.state.received.response
    }

    /// What there is so far.
    #[must_use]
    pub fn received(&self) -> &Received {
        &self.state.received
    }

    /// The same, for who has no more use for the reader.
    #[must_use]
    pub fn into_received(self) -> Received {
        self.state.received
    }

    /// Ends the answer: nothing more comes, and what came is whole as far as its source knows.
    ///
    /// # Errors
    ///
    /// If it is not whole after all, or does not pass.
    pub fn finish(self) -> Result<Checked, CheckError> {
        let Review { response, errors, warnings } = self.finish_review()?;
        match (response, errors.into_iter().next()) {
            (Some(response), None) => Ok(Checked { response, warnings }),
            (_, Some(error)) => Err(error),
            (None, None) => unreachable!("an answer without a fault is read"),
        }
    }

    pub(crate) fn finish_review(mut self) -> Result<Review, CheckError> {
        let Self { decoder, state } = &mut self;
        if let Some(error) = state.failed.take() {
            return Err(error);
        }
        while let Some(event) = decoder.finish() {
            state.take(event)?;
        }
        let Some(mut review) = state.review.take() else {
            return Err(CheckError::NoObject(std::mem::take(&mut state.received)));
        };
        if state.is_beside_text {
            review.warnings.push(AnalysisWarning::NotAlone);
        }
        Ok(review)
    }
}

impl State {
    fn read(&mut self, decoder: &mut RecordDecoder, piece: &str) -> Result<(), CheckError> {
        if self.received.text.len() + piece.len() > MAX_BYTES {
            return Err(CheckError::TooLarge(self.received.clone()));
        }
        self.received.text.push_str(piece);
        let mut rest = piece.as_bytes();
        loop {
            let decoded = decoder.decode(rest);
            rest = &rest[decoded.consumed..];
            let Some(event) = decoded.event else { return Ok(()) };
            self.take(event)?;
        }
    }

    fn take(&mut self, event: LentEvent<'_>) -> Result<(), CheckError> {
        Err(match event {
            Event::Partial(partial) => {
                if self.review.is_none() {
                    if self.start.replace(partial.start) != Some(partial.start) {
                        // What seemed to begin before was a brace in the text.
                        self.response = Growing::Awaited;
                        self.received.response.clear();
                        self.shown = 0;
                    }
                    if partial.value.is_at(RESPONSE) {
                        self.grow(partial.value.change);
                    }
                }
                return Ok(());
            }
            Event::Note(_) => {
                self.is_beside_text = true;
                return Ok(());
            }
            // A reference in the text, `[1]`.
            Event::Rejected(diagnostic) if diagnostic.code == Code::NotAnObject => {
                self.is_beside_text = true;
                return Ok(());
            }
            Event::Record(record) if self.review.is_some() || !is_one_object(record.recovered) => {
                not_one_object(&record)
            }
            Event::Record(record) => {
                self.is_beside_text |= record
                    .recovered
                    .iter()
                    .any(|its| !matches!(its, Recovery::SeveralLines | Recovery::Think));
                let mut review = judge(&record, self.max_errors);
                if self.max_errors > 1 || review.errors.is_empty() {
                    self.review = Some(review);
                    return Ok(());
                }
                review.errors.swap_remove(0)
            }
            Event::Rejected(mut diagnostic) if self.is_cut(&diagnostic) => {
                if diagnostic.code != Code::Truncated {
                    diagnostic.code = Code::Truncated;
                    "expected a name in double quotes or `}`, found the end of the input"
                        .clone_into(&mut diagnostic.message);
                }
                CheckError::Truncated { diagnostic: Box::new(diagnostic), received: self.received.clone() }
            }
            Event::Rejected(diagnostic) => CheckError::Malformed(Box::new(diagnostic)),
            other => unreachable!("a record decoder has no other events: {other:?}"),
        })
    }

    /// Whether nothing is wrong but that the end is missing. Of an object that is cut before its first member the
    /// decoder only says that it is none.
    fn is_cut(&self, diagnostic: &Diagnostic) -> bool {
        diagnostic.code == Code::Truncated
            || self.received.text.trim_end().strip_suffix('{').is_some_and(|before| {
                diagnostic.code == Code::MalformedJson && before.len() as u64 == diagnostic.span.start
            })
    }

    fn grow(&mut self, change: Change<'_>) {
        match (self.response, change) {
            (Growing::Awaited, Change::Open(Kind::String)) => self.response = Growing::Open,
            (Growing::Open, Change::Append(text)) => self.received.response.push_str(text),
            // A second member of this name is a fault, which is told of in the end.
            (Growing::Open, Change::Close) => self.response = Growing::Over,
            _ => {}
        }
    }
}

/// Counts only: an answer is private.
impl fmt::Debug for ResponseReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseReader").field("received", &self.state.received).finish_non_exhaustive()
    }
}
