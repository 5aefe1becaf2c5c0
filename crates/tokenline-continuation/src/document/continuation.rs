//! Requests one document over several responses, without I/O.

use std::borrow::Cow;

use super::{Document, Status};
use crate::error::{ContinuationError, ContinuationFailure};
use crate::merge::{Confidence, Join, MergeOptions, MergeReport};
use crate::options::ContinuationOptions;
use crate::prompt::{MIN_OVERLAP, ask_for_rest};
use crate::response_end::ResponseEnd;
use crate::text::{count_non_space, tail};

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
    /// Send the next request. If the response was not used, it is the same request as before.
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
    end: Option<Result<(), ContinuationError>>,
}

impl DocumentContinuation {
    /// A machine before its first request.
    #[must_use]
    pub fn new(prompt: impl Into<String>, options: ContinuationOptions) -> Self {
        Self::resume(prompt, Document::new(), options)
    }

    /// Continues a document, such as one from an earlier process. A complete document has ended; an empty or malformed one
    /// starts anew.
    #[must_use]
    pub fn resume(prompt: impl Into<String>, document: Document, options: ContinuationOptions) -> Self {
        let (document, end) = match document.status() {
            Status::Open => (document, None),
            Status::Complete => (document, Some(Ok(()))),
            Status::Empty | Status::Malformed(_) => (Document::new(), None),
        };
        let prompt = prompt.into();
        Self { prompt, options, document, requests: 0, failures: 0, output_tokens: 0, end }
    }

    /// The request to send; `None` once the document is complete or has failed. It is the same until a response is received.
    #[must_use]
    pub fn next_request(&self) -> Option<DocumentRequest<'_>> {
        if self.end.is_some() {
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

    /// Takes the response to the request, and returns what to do. After the end it returns the same decision.
    pub fn receive(&mut self, response: &str, end: ResponseEnd) -> Decision {
        if self.end.is_none() {
            self.requests += 1;
            let taken = self.take(response);
            self.failures = if taken.is_ok() { 0 } else { self.failures + 1 };
            self.end = match taken {
                Ok(_) if self.document.status() == Status::Complete => Some(Ok(())),
                _ => self.error(taken.err(), response, end).map(Err),
            };
            if self.end.is_none() {
                return Decision::Continue(taken);
            }
        }
        match self.end {
            Some(Err(error)) => Decision::Failed(error),
            _ => Decision::Complete,
        }
    }

    /// Why the incomplete document ends with this response.
    fn error(
        &self,
        failure: Option<ContinuationFailure>,
        response: &str,
        end: ResponseEnd,
    ) -> Option<ContinuationError> {
        let options = &self.options;
        let (requests, tokens, failures) = (self.requests, self.output_tokens, self.failures);
        let is_spent = options.max_output_tokens.is_some_and(|max| tokens >= max);
        match failure {
            Some(_) if response.len() > self.free_bytes() => {
                Some(ContinuationError::TooLarge { limit: options.max_bytes })
            }
            Some(last) if failures >= options.max_failures => {
                Some(ContinuationError::NoProgress { failures, last })
            }
            _ if end == ResponseEnd::Broken && !options.continue_after_disconnect => {
                Some(ContinuationError::Disconnected)
            }
            _ if requests >= options.max_requests => Some(ContinuationError::TooManyRequests { requests }),
            _ => is_spent.then_some(ContinuationError::TooManyTokens { tokens }),
        }
    }

    /// Adds the output tokens of the response. Call it before [`receive`](Self::receive).
    pub fn count_output_tokens(&mut self, tokens: u64) {
        self.output_tokens += tokens;
    }

    /// How long the next response may be, in bytes: one that is longer could exceed
    /// [`max_bytes`](ContinuationOptions::max_bytes).
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

    /// How many responses were received.
    #[must_use]
    pub fn requests(&self) -> u32 {
        self.requests
    }

    /// How many responses failed since the last usable one.
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
    fn take(&mut self, response: &str) -> Result<MergeReport, ContinuationFailure> {
        if response.len() > self.free_bytes() {
            return Err(ContinuationFailure::NothingNew);
        }
        if self.document.status() == Status::Empty {
            let mut document = Document::new();
            let report = document.merge(response, &MergeOptions::default());
            return match report.join {
                Join::Failed(failure) => Err(failure),
                _ if document.complete_part().is_none() => Err(ContinuationFailure::NoJson),
                _ => {
                    self.document = document;
                    Ok(report)
                }
            };
        }
        let requested_overlap = Some(self.overlap().len());
        let options = MergeOptions { requested_overlap, min_confidence: Confidence::Certain };
        let report = self.document.merge(response, &options);
        match report.join {
            Join::Failed(failure) => Err(failure),
            _ if report.has_progress => Ok(report),
            _ => Err(ContinuationFailure::NothingNew),
        }
    }
}
