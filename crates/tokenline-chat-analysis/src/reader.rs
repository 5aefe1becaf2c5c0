//! Reads a response while it streams.

use std::fmt;

use tokenline_core::json::{Change, Kind};
use tokenline_core::{CheckedChunk, Code, Diagnostic, Event, LentEvent, Options, RecordDecoder, Recovery};

use crate::check::{Checked, Review, check_record, is_one_object, not_one_object};
use crate::{AnalysisWarning, CheckError, Received};

/// Reads a response while it streams: returns the `response` text as it grows, and the checked response at the end.
/// Does no I/O.
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
/// Code fences and text around the JSON are ignored with a [warning](AnalysisWarning::SurroundingText), unless the text
/// contains braces: these cannot be told from a malformed response, and are an error unless they are on the same line
/// as the JSON. Text shown from the response is final only at the end: it may still be cut off or rejected.
pub struct ResponseReader {
    decoder: RecordDecoder,
    state: State,
}

struct State {
    received: Received,
    /// The start of the current object.
    start: Option<u64>,
    response: TextState,
    /// The length of the `response` text already returned.
    shown: usize,
    has_surrounding_text: bool,
    review: Option<Review>,
    max_errors: usize,
    failed: Option<CheckError>,
}

/// The state of the `response` text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextState {
    Awaited,
    Open,
    Closed,
}

/// The path of the text shown while it streams.
const RESPONSE: &str = "/response";
/// A valid response is below 100 KB, whatever its escapes. The rest is room for text around it, mostly reasoning.
pub(crate) const MAX_BYTES: usize = 8 << 20;

impl Default for ResponseReader {
    fn default() -> Self {
        Self::new()
    }
}

impl ResponseReader {
    /// A reader at the start of a response.
    #[must_use]
    pub fn new() -> Self {
        Self::with_max_errors(1)
    }

    /// A reader that continues after the first error.
    pub(crate) fn for_review() -> Self {
        Self::with_max_errors(Review::MAX_ERRORS)
    }

    fn with_max_errors(max_errors: usize) -> Self {
        Self {
            decoder: RecordDecoder::new(Options::lenient().partials(true)),
            state: State {
                received: Received::default(),
                start: None,
                response: TextState::Awaited,
                shown: 0,
                has_surrounding_text: false,
                review: None,
                max_errors,
                failed: None,
            },
        }
    }

    /// Reads the next piece. Returns new text of `response`, with escapes decoded, never a part of a character.
    ///
    /// # Errors
    ///
    /// The first error of the response; later calls return it again. If the piece has new text before the error, the
    /// text is returned first, and the error by the next call.
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

    /// Whether there was an error.
    pub(crate) fn has_failed(&self) -> bool {
        self.state.failed.is_some()
    }

    /// The `response` text so far.
    #[must_use]
    pub fn response(&self) -> &str {
        &self.state.received.response
    }

    /// The text received so far.
    #[must_use]
    pub fn received(&self) -> &Received {
        &self.state.received
    }

    /// The text received so far.
    #[must_use]
    pub fn into_received(self) -> Received {
        self.state.received
    }

    /// Ends the response: the source has ended without an error.
    ///
    /// # Errors
    ///
    /// If the response is incomplete or invalid.
    pub fn finish(self) -> Result<Checked, CheckError> {
        let Review { response, errors, warnings } = self.finish_review()?;
        match (response, errors.into_iter().next()) {
            (Some(response), None) => Ok(Checked { response, warnings }),
            (_, Some(error)) => Err(error),
            (None, None) => unreachable!("a response without errors is present"),
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
        if state.has_surrounding_text {
            review.warnings.push(AnalysisWarning::SurroundingText);
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
        let mut chunk = CheckedChunk::from(piece);
        while let Some(event) = decoder.next_event(&mut chunk) {
            self.take(event)?;
        }
        Ok(())
    }

    fn take(&mut self, event: LentEvent<'_>) -> Result<(), CheckError> {
        Err(match event {
            Event::Partial(partial) => {
                if self.review.is_none() {
                    if self.start.replace(partial.start) != Some(partial.start) {
                        // What looked like a start was a brace in the text.
                        self.response = TextState::Awaited;
                        self.received.response.clear();
                        self.shown = 0;
                    }
                    if partial.value.is_at(RESPONSE) {
                        self.update_response(partial.value.change);
                    }
                }
                return Ok(());
            }
            Event::Note(_) => {
                self.has_surrounding_text = true;
                return Ok(());
            }
            // A reference in the text, such as `[1]`.
            Event::Rejected(diagnostic) if diagnostic.code == Code::NotAnObject => {
                self.has_surrounding_text = true;
                return Ok(());
            }
            Event::Record(record) if self.review.is_some() || !is_one_object(record.recovered) => {
                not_one_object(&record)
            }
            Event::Record(record) => {
                self.has_surrounding_text |= record
                    .recovered
                    .iter()
                    .any(|recovery| !matches!(recovery, Recovery::SeveralLines | Recovery::Think));
                let mut review = check_record(&record, self.max_errors);
                if self.max_errors > 1 || review.errors.is_empty() {
                    self.review = Some(review);
                    return Ok(());
                }
                review.errors.swap_remove(0)
            }
            Event::Rejected(mut diagnostic) if self.is_truncated(&diagnostic) => {
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

    /// Whether the only error is the missing end. If an object is cut off before its first member, the decoder only
    /// reports that it is malformed.
    fn is_truncated(&self, diagnostic: &Diagnostic) -> bool {
        diagnostic.code == Code::Truncated
            || self.received.text.trim_end().strip_suffix('{').is_some_and(|before| {
                diagnostic.code == Code::MalformedJson && before.len() as u64 == diagnostic.span.start
            })
    }

    fn update_response(&mut self, change: Change<'_>) {
        match (self.response, change) {
            (TextState::Awaited, Change::Open(Kind::String)) => self.response = TextState::Open,
            (TextState::Open, Change::Append(text)) => self.received.response.push_str(text),
            // A repeated member is an error, reported at the end.
            (TextState::Open, Change::Close) => self.response = TextState::Closed,
            _ => {}
        }
    }
}

/// Shows sizes only: responses are private.
impl fmt::Debug for ResponseReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseReader").field("received", &self.state.received).finish_non_exhaustive()
    }
}
