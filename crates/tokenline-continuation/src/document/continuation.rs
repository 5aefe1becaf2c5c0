//! Requests one document over several responses, without I/O.

use std::borrow::Cow;

use super::{Document, Status};
use crate::error::{ContinuationError, ContinuationFailure};
use crate::merge::{Confidence, MergeOptions, MergeReport};
use crate::options::ContinuationOptions;
use crate::prompt::{MIN_OVERLAP, ask_for_rest};
use crate::response_end::ResponseEnd;
use crate::text::{count_non_space, tail, trim_end};

/// The next request for a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentRequest<'a> {
    /// Which request it is, counted from 1.
    pub number: u32,
    /// The prompt: the original one, or one that asks for the rest.
    pub prompt: Cow<'a, str>,
    /// The length of the requested overlap in bytes; `None` if the whole response is requested.
    pub requested_overlap: Option<usize>,
}

/// The decision after a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Send the next request. It is the same as before if the response was not used; the error says why.
    Continue(Result<MergeReport, ContinuationFailure>),
    /// The document is complete.
    Complete,
    /// The document is incomplete, and no further request is made. What is complete of it is
    /// [`Document::complete_part`].
    Failed(ContinuationError),
}

/// Requests a JSON document until it is complete, without I/O: it returns the requests to send, and takes the responses.
///
/// ```
/// use tokenline_continuation::{ContinuationOptions, Decision, DocumentContinuation, ResponseEnd};
///
/// // A model that stops after 20 bytes, and continues as requested.
/// let whole = r#"{"rows":[{"id":1},{"id":2},{"id":3}]}"#;
/// let mut written = 0;
///
/// let mut machine = DocumentContinuation::new("List the rows.", ContinuationOptions::new());
/// while let Some(request) = machine.next_request() {
///     let from = written - request.requested_overlap.unwrap_or(0);
///     written = whole.len().min(written + 20);
///     match machine.receive(&whole[from..written], ResponseEnd::Cut) {
///         Decision::Continue(_) | Decision::Complete => {}
///         Decision::Failed(error) => return Err(error.into()),
///     }
/// }
/// assert_eq!(machine.document().text(), whole);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct DocumentContinuation {
    prompt: String,
    options: ContinuationOptions,
    document: Document,
    requests: u32,
    failures: u32,
    output_tokens: u64,
    /// Whether [`begin`](Self::begin) has counted the open request.
    has_begun: bool,
    error: Option<ContinuationError>,
}

impl DocumentContinuation {
    /// A machine before its first request.
    #[must_use]
    pub fn new(prompt: impl Into<String>, options: ContinuationOptions) -> Self {
        Self::resume(prompt, Document::new(), options)
    }

    /// Continues a document, such as one from an earlier process. A complete document has ended; an empty or malformed one
    /// starts anew. Requests, failures and tokens are counted anew as well.
    #[must_use]
    pub fn resume(prompt: impl Into<String>, document: Document, options: ContinuationOptions) -> Self {
        let document = match document.status() {
            Status::Open | Status::Complete => document,
            Status::Empty | Status::Malformed(_) => Document::new(),
        };
        let (requests, failures, output_tokens) = (0, 0, 0);
        let prompt = prompt.into();
        Self { prompt, options, document, requests, failures, output_tokens, has_begun: false, error: None }
    }

    /// The request to send; `None` once the document is complete, or has [failed](Self::error). It is the same until a
    /// response is used.
    #[must_use]
    pub fn next_request(&self) -> Option<DocumentRequest<'_>> {
        if self.is_complete() || self.error().is_some() {
            return None;
        }
        let number = self.requests + 1;
        let (prompt, requested_overlap) = if self.document.status() == Status::Empty {
            (Cow::Borrowed(&*self.prompt), None)
        } else {
            let outline = self.document.outline(self.options.context_bytes);
            let overlap = self.overlap();
            (Cow::Owned(ask_for_rest(&self.prompt, &outline, overlap)), Some(overlap.len()))
        };
        Some(DocumentRequest { number, prompt, requested_overlap })
    }

    /// Counts the request when it is sent, so that it counts even if its response is lost. Without this call, the request is
    /// counted when its response is [received](Self::receive).
    pub fn begin(&mut self) {
        self.requests += 1;
        self.has_begun = true;
    }

    /// Cancels the request that has begun, because it was refused and has no response: it does not count.
    pub fn give_up(&mut self) {
        if std::mem::take(&mut self.has_begun) {
            self.requests -= 1;
        }
    }

    /// Takes the response to the request, and returns what to do. After the end it returns the same decision.
    pub fn receive(&mut self, response: &str, end: ResponseEnd) -> Decision {
        let mut taken = Err(ContinuationFailure::NothingNew);
        let has_begun = std::mem::take(&mut self.has_begun);
        let is_expected = has_begun || self.requests < self.options.max_requests;
        if is_expected && !self.is_complete() && self.error.is_none() {
            self.requests += u32::from(!has_begun);
            taken = self.take(response, end);
            self.failures = if taken.is_ok() { 0 } else { self.failures + 1 };
            self.error = match taken {
                _ if self.is_complete() => None,
                Err(_) if response.len() > self.free_bytes() => Some(self.too_large()),
                _ if end == ResponseEnd::Broken && !self.options.continue_after_disconnect => {
                    Some(ContinuationError::Disconnected)
                }
                Err(last) if self.failures >= self.options.max_failures => {
                    Some(ContinuationError::NoProgress { failures: self.failures, last })
                }
                _ => None,
            };
        }
        match self.error() {
            Some(error) => Decision::Failed(error),
            None if self.is_complete() => Decision::Complete,
            None => Decision::Continue(taken),
        }
    }

    /// Why no further request is made, although the document is incomplete.
    #[must_use]
    pub fn error(&self) -> Option<ContinuationError> {
        if self.is_complete() {
            return None;
        }
        let is_full = || (self.free_bytes() == 0).then(|| self.too_large());
        self.error.or_else(|| self.options.limit_reached(self.requests, self.output_tokens)).or_else(is_full)
    }

    fn is_complete(&self) -> bool {
        self.document.status() == Status::Complete
    }

    fn too_large(&self) -> ContinuationError {
        ContinuationError::TooLarge { limit: self.options.max_bytes }
    }

    /// Adds the output tokens of the response. Call it before [`receive`](Self::receive).
    pub fn count_output_tokens(&mut self, tokens: u64) {
        self.output_tokens = self.output_tokens.saturating_add(tokens);
    }

    /// How long the next response may be, in bytes: what is left of [`max_bytes`](ContinuationOptions::max_bytes).
    #[must_use]
    pub fn free_bytes(&self) -> usize {
        self.options.max_bytes.saturating_sub(self.document.text().len())
    }

    /// The document so far. It changes only when a response is merged.
    #[must_use]
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// The document so far.
    #[must_use]
    pub fn into_document(self) -> Document {
        self.document
    }

    /// The number of requests made.
    #[must_use]
    pub fn requests(&self) -> u32 {
        self.requests
    }

    /// The current number of failures in a row.
    #[must_use]
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// The number of output tokens, as far as they were [counted](Self::count_output_tokens).
    #[must_use]
    pub fn output_tokens(&self) -> u64 {
        self.output_tokens
    }

    /// The overlap that the next response is asked to begin with.
    fn overlap(&self) -> &str {
        let text = self.document.text();
        let mut overlap = tail(text, self.options.overlap_bytes);
        while count_non_space(overlap) < MIN_OVERLAP && overlap.len() < text.len() {
            overlap = tail(text, (2 * overlap.len()).max(MIN_OVERLAP));
        }
        overlap
    }

    /// Merges the response into the document, or leaves the document unchanged.
    fn take(&mut self, response: &str, end: ResponseEnd) -> Result<MergeReport, ContinuationFailure> {
        if response.len() > self.free_bytes() {
            return Err(ContinuationFailure::NothingNew);
        }
        let report = if self.document.status() == Status::Empty {
            let mut document = Document::new();
            let report = document.merge(response, &MergeOptions::default());
            report.join.failure().map_or(Ok(()), Err)?;
            // Digits may be missing.
            let is_cut_number = document.is_lone_number() && end != ResponseEnd::Clean;
            if document.complete_part().is_none() || is_cut_number {
                return Err(ContinuationFailure::NoJson);
            }
            self.document = document;
            report
        } else {
            let requested_overlap = Some(self.overlap().len());
            let options = MergeOptions { requested_overlap, min_confidence: Confidence::Certain };
            let report = self.document.merge(response, &options);
            report.join.failure().map_or(Ok(()), Err)?;
            if !report.has_progress {
                return Err(ContinuationFailure::NothingNew);
            }
            report
        };
        self.drop_trailing_space();
        Ok(report)
    }

    /// Drops a long run of white space at the end of the open document. Models that are constrained to JSON may write it up to
    /// their limit; it would be quoted back to them as the overlap.
    fn drop_trailing_space(&mut self) {
        let text = self.document.text();
        let trimmed = trim_end(text);
        let is_between_tokens = self.document.cut().is_some_and(|cut| cut.token.is_none());
        if is_between_tokens && text.len() - trimmed.len() > MIN_OVERLAP {
            self.document = Document::of(trimmed);
        }
    }
}
