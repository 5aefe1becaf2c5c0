//! The state machine.

use std::borrow::Cow;

use super::outcome::{Decision, Finish, Finished, IterationError, Progress, StepFailure};
use super::request::{Request, continuation_prompt};
use crate::contexts::ContextOptions;
use crate::document::{Document, Status};
use crate::merge::{Confidence, Join, MergeOptions};

/// When an iteration gives up, and how much it tells the model. The fields are public: construct it with
/// `..IterationOptions::default()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IterationOptions {
    /// How much of the cut answer a continuation prompt holds.
    pub contexts: ContextOptions,
    /// So many responses in a row may be of no use before it falls back. 3 by default.
    pub max_failures: usize,
    /// So many requests are made in all. 100 by default.
    pub max_requests: usize,
    /// The most bytes of the document. 64 MiB by default. A response that could take it further ends the iteration.
    pub max_bytes: usize,
}

impl Default for IterationOptions {
    fn default() -> Self {
        Self { contexts: ContextOptions::default(), max_failures: 3, max_requests: 100, max_bytes: 64 << 20 }
    }
}

/// Asks a model for a JSON document until it is whole, without I/O: it says what to send, and is given what
/// came back.
///
/// ```
/// use tokenline_continuation::{Decision, Finish, Iteration, IterationOptions};
///
/// // A model that stops after 20 bytes, and goes on as it is asked to.
/// let answer = r#"{"rows":[{"id":1},{"id":2},{"id":3}]}"#;
/// let mut written = 0;
///
/// let mut iteration = Iteration::new("List the rows.", IterationOptions::default());
/// let finished = loop {
///     let request = iteration.next_request().expect("it has not ended");
///     let from = written - request.requested_overlap.unwrap_or(0);
///     written = answer.len().min(written + 20);
///     match iteration.receive(&answer[from..written]) {
///         Decision::Continue(_) => {}
///         Decision::Finished(finished) => break finished,
///         Decision::Failed(error) => return Err(error.into()),
///     }
/// };
/// assert_eq!((finished.document.as_str(), finished.finish), (answer, Finish::Complete));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Iteration {
    prompt: String,
    options: IterationOptions,
    document: Document,
    requests: usize,
    failures: usize,
    end: Option<End>,
}

#[derive(Clone, Copy, Debug)]
enum End {
    Finished(Finish),
    Failed(IterationError),
}

impl Iteration {
    /// An iteration that begins with this prompt.
    #[must_use]
    pub fn new(prompt: impl Into<String>, options: IterationOptions) -> Self {
        Self::of(prompt, Document::new(), options)
    }

    /// An iteration that goes on with a document, such as one of an earlier process. Of a document that is
    /// not [open](Status::Open) nothing is kept, unless it is complete: then it has ended.
    #[must_use]
    pub fn of(prompt: impl Into<String>, document: Document, options: IterationOptions) -> Self {
        let (document, end) = match document.status() {
            Status::Open => (document, None),
            Status::Complete => (document, Some(End::Finished(Finish::Complete))),
            Status::Empty | Status::Malformed(_) => (Document::new(), None),
        };
        Self { prompt: prompt.into(), options, document, requests: 0, failures: 0, end }
    }

    /// What to send to the model; `None` once it has ended. The same until a response is received.
    #[must_use]
    pub fn next_request(&self) -> Option<Request<'_>> {
        if self.end.is_some() {
            return None;
        }
        let number = self.requests + 1;
        if self.document.status() == Status::Empty {
            return Some(Request { number, prompt: Cow::Borrowed(&self.prompt), requested_overlap: None });
        }
        let contexts = self.document.contexts(&self.options.contexts);
        let prompt = Cow::Owned(continuation_prompt(&self.prompt, &contexts));
        Some(Request { number, prompt, requested_overlap: self.requested_overlap() })
    }

    /// Takes the response to the request, and says what to do. After the end it says the same again.
    pub fn receive(&mut self, response: &str) -> Decision {
        if self.end.is_none() {
            self.requests += 1;
            match self.take(response) {
                _ if self.end.is_some() => {}
                Ok(progress) => {
                    self.failures = 0;
                    if self.document.status() == Status::Complete {
                        self.end = Some(End::Finished(Finish::Complete));
                    } else if self.requests < self.options.max_requests {
                        return Decision::Continue(progress);
                    } else {
                        self.fall_back(Finish::AfterTooManyRequests, IterationError::TooManyRequests);
                    }
                }
                Err(failure) => {
                    self.failures += 1;
                    if self.failures >= self.options.max_failures {
                        self.fall_back(Finish::AfterFailures(failure), IterationError::Failures(failure));
                    } else if self.requests < self.options.max_requests {
                        return Decision::Continue(Progress::Retry(failure));
                    } else {
                        self.fall_back(Finish::AfterTooManyRequests, IterationError::TooManyRequests);
                    }
                }
            }
        }
        match self.end {
            Some(End::Failed(error)) => Decision::Failed(error),
            Some(End::Finished(finish)) => {
                let document = self.document.complete_part().unwrap_or_default().into_owned();
                Decision::Finished(Finished { document, finish })
            }
            None => unreachable!("it has ended, or has returned"),
        }
    }

    /// What there is of the document.
    #[must_use]
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// The response so far: the cut text of the first one with all that was merged since. It changes only when
    /// a response is merged. `None` before the first that is of use.
    #[must_use]
    pub fn last_raw_response(&self) -> Option<&str> {
        (self.document.status() != Status::Empty).then(|| self.document.text())
    }

    /// How many responses were received.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.requests
    }

    /// How many of them failed since the last that was of use.
    #[must_use]
    pub fn failures(&self) -> usize {
        self.failures
    }

    fn requested_overlap(&self) -> Option<usize> {
        let overlap = self.document.overlap(self.options.contexts.overlap_bytes).len();
        (overlap > 0).then_some(overlap)
    }

    /// Makes the response part of the document, or leaves it as it was.
    fn take(&mut self, response: &str) -> Result<Progress, StepFailure> {
        let held = if self.document.status() == Status::Empty { 0 } else { self.document.text().len() };
        if held.saturating_add(response.len()) > self.options.max_bytes {
            self.fall_back(Finish::TooLarge, IterationError::TooLarge);
            return Err(StepFailure::NoProgress);
        }
        if self.document.status() == Status::Empty {
            let document = Document::of(response);
            return match document.status() {
                Status::Malformed(error) => Err(StepFailure::Malformed(error)),
                Status::Complete => {
                    self.document = document;
                    Ok(Progress::Began)
                }
                Status::Open if document.complete_part().is_some() => {
                    self.document = document;
                    Ok(Progress::Began)
                }
                Status::Open | Status::Empty => Err(StepFailure::NoJson),
            };
        }
        let options =
            MergeOptions { requested_overlap: self.requested_overlap(), min_confidence: Confidence::Certain };
        let report = self.document.merge(response, &options);
        match report.join {
            Join::Failed(failure) => Err(StepFailure::Merge(failure)),
            _ if report.has_progress => Ok(Progress::Merged(report)),
            _ => Err(StepFailure::NoProgress),
        }
    }

    fn fall_back(&mut self, finish: Finish, error: IterationError) {
        self.end = Some(match self.document.complete_part() {
            Some(_) => End::Finished(finish),
            None => End::Failed(error),
        });
    }
}
