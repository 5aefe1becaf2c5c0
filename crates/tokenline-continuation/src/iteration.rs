//! Requests one document over several responses, without I/O.

mod outcome;

use std::borrow::Cow;

use crate::contexts::{ContextOptions, Contexts};
use crate::document::{Document, Status};
use crate::merge::{Confidence, Join, MergeOptions};
use crate::text::{count_non_space, tail};

pub use outcome::{Decision, Finish, Finished, IterationError, Progress, StepFailure};

/// The limits of an iteration, and how much context its prompts have. The fields are public: construct it with
/// `..IterationOptions::default()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IterationOptions {
    /// How much of the truncated response a continuation prompt contains. The overlap has at least 32 bytes besides white
    /// space, or is the whole document if that is shorter: a shorter overlap may occur elsewhere in the document.
    pub contexts: ContextOptions,
    /// After this many unusable responses in a row, it returns the complete part, or fails if there is none. 3 by default.
    pub max_failures: usize,
    /// The maximum number of requests. 100 by default.
    pub max_requests: usize,
    /// The maximum length of the document, in bytes. 64 MiB by default. A response that could exceed this ends the
    /// iteration.
    pub max_bytes: usize,
}

/// The shortest overlap, in bytes besides white space. A shorter one may occur elsewhere in the document or list.
pub(crate) const MIN_OVERLAP: usize = 32;

impl Default for IterationOptions {
    fn default() -> Self {
        Self { contexts: ContextOptions::default(), max_failures: 3, max_requests: 100, max_bytes: 64 << 20 }
    }
}

/// The next request to send to the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// Which request it is, counted from 1.
    pub number: usize,
    /// The prompt: the original one, or one that asks for the rest.
    pub prompt: Cow<'a, str>,
    /// The length of the requested overlap in bytes; `None` if the whole response is requested.
    pub requested_overlap: Option<usize>,
}

/// Requests a JSON document until it is complete, without I/O: it returns the requests to send, and takes the responses.
///
/// ```
/// use tokenline_continuation::{Decision, Finish, Iteration, IterationOptions};
///
/// // A model that stops after 20 bytes, and continues as requested.
/// let whole = r#"{"rows":[{"id":1},{"id":2},{"id":3}]}"#;
/// let mut written = 0;
///
/// let mut iteration = Iteration::new("List the rows.", IterationOptions::default());
/// let finished = loop {
///     let request = iteration.next_request().expect("it has not ended");
///     let from = written - request.requested_overlap.unwrap_or(0);
///     written = whole.len().min(written + 20);
///     match iteration.receive(&whole[from..written]) {
///         Decision::Continue(_) => {}
///         Decision::Finished(finished) => break finished,
///         Decision::Failed(error) => return Err(error.into()),
///     }
/// };
/// assert_eq!((finished.document.as_str(), finished.finish), (whole, Finish::Complete));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Iteration {
    prompt: String,
    options: IterationOptions,
    document: Document,
    requests: usize,
    failures: usize,
    end: Option<Result<Finish, IterationError>>,
}

impl Iteration {
    /// An iteration that begins with this prompt.
    #[must_use]
    pub fn new(prompt: impl Into<String>, options: IterationOptions) -> Self {
        Self::of(prompt, Document::new(), options)
    }

    /// An iteration that continues a document, such as one from an earlier process. If the document is complete, the
    /// iteration has ended; if it is empty or malformed, it starts anew.
    #[must_use]
    pub fn of(prompt: impl Into<String>, document: Document, options: IterationOptions) -> Self {
        let (document, end) = match document.status() {
            Status::Open => (document, None),
            Status::Complete => (document, Some(Ok(Finish::Complete))),
            Status::Empty | Status::Malformed(_) => (Document::new(), None),
        };
        Self { prompt: prompt.into(), options, document, requests: 0, failures: 0, end }
    }

    /// The request to send; `None` once the iteration has ended. It is the same until a response is received.
    #[must_use]
    pub fn next_request(&self) -> Option<Request<'_>> {
        let number = self.requests + 1;
        let (prompt, requested_overlap) = match self.document.status() {
            _ if self.end.is_some() => return None,
            Status::Empty => (Cow::Borrowed(&*self.prompt), None),
            _ => {
                let outline = self.document.outline(self.options.contexts.prompt_budget_bytes);
                let overlap = self.overlap();
                (Cow::Owned(ask_for_rest(&self.prompt, &outline, overlap)), Some(overlap.len()))
            }
        };
        Some(Request { number, prompt, requested_overlap })
    }

    /// Takes the response to the request, and returns what to do. After the end it returns the same decision.
    pub fn receive(&mut self, response: &str) -> Decision {
        if self.end.is_none() {
            self.requests += 1;
            let held = self.last_raw_response().map_or(0, str::len);
            let is_too_large = held.saturating_add(response.len()) > self.options.max_bytes;
            let taken = if is_too_large { Err(StepFailure::NoProgress) } else { self.take(response) };
            self.failures = if taken.is_ok() { 0 } else { self.failures + 1 };
            let whole_or = |finish, error| match self.document.complete_part() {
                Some(_) => Ok(finish),
                None => Err(error),
            };
            self.end = Some(match taken {
                _ if is_too_large => whole_or(Finish::TooLarge, IterationError::TooLarge),
                Ok(_) if self.document.status() == Status::Complete => Ok(Finish::Complete),
                Err(failure) if self.failures >= self.options.max_failures => {
                    whole_or(Finish::AfterFailures(failure), IterationError::Failures(failure))
                }
                _ if self.requests >= self.options.max_requests => {
                    whole_or(Finish::AfterTooManyRequests, IterationError::TooManyRequests)
                }
                taken => return Decision::Continue(taken.unwrap_or_else(Progress::Retry)),
            });
        }
        match self.end {
            Some(Err(error)) => Decision::Failed(error),
            Some(Ok(finish)) => {
                let document = self.document.complete_part().unwrap_or_default().into_owned();
                Decision::Finished(Finished { document, finish })
            }
            None => unreachable!("it has ended, or has returned"),
        }
    }

    /// The document so far.
    #[must_use]
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// The response so far: the first one with everything that was merged since. It changes only when a response is merged.
    /// `None` before the first usable response.
    #[must_use]
    pub fn last_raw_response(&self) -> Option<&str> {
        (self.document.status() != Status::Empty).then(|| self.document.text())
    }

    /// How many responses were received.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.requests
    }

    /// How many responses failed since the last usable one.
    #[must_use]
    pub fn failures(&self) -> usize {
        self.failures
    }

    /// The overlap that the next response is asked to begin with.
    fn overlap(&self) -> &str {
        let text = self.document.text();
        let mut overlap = tail(text, self.options.contexts.overlap_bytes);
        while count_non_space(overlap) < MIN_OVERLAP && overlap.len() < text.len() {
            overlap = tail(text, (2 * overlap.len()).max(MIN_OVERLAP));
        }
        overlap
    }

    /// Merges the response into the document, or leaves the document unchanged.
    fn take(&mut self, response: &str) -> Result<Progress, StepFailure> {
        if self.document.status() == Status::Empty {
            let document = Document::of(response);
            return match document.status() {
                Status::Malformed(error) => Err(StepFailure::Malformed(error)),
                _ if document.complete_part().is_none() => Err(StepFailure::NoJson),
                _ => {
                    self.document = document;
                    Ok(Progress::Began)
                }
            };
        }
        let options = MergeOptions {
            requested_overlap: Some(self.overlap().len()),
            min_confidence: Confidence::Certain,
        };
        let report = self.document.merge(response, &options);
        match report.join {
            Join::Failed(failure) => Err(StepFailure::Merge(failure)),
            _ if report.has_progress => Ok(Progress::Merged(report)),
            _ => Err(StepFailure::NoProgress),
        }
    }
}

/// The prompt that asks for the rest of a truncated response to `prompt`. It contains the original prompt, so it is a
/// conversation by itself.
///
/// ```
/// use tokenline_continuation::{ContextOptions, Document, continuation_prompt};
///
/// let document = Document::of(r#"{"rows":[{"id":1},{"i"#);
/// let prompt = continuation_prompt("List the rows.", &document.contexts(&ContextOptions::default()));
/// assert!(prompt.starts_with("List the rows.\n"));
/// assert!(prompt.ends_with("after them:\n\n{\"rows\":[{\"id\":1},{\"i"));
/// ```
#[must_use]
pub fn continuation_prompt(prompt: &str, contexts: &Contexts<'_>) -> String {
    ask_for_rest(prompt, &contexts.hierarchy_context_for_prompt, contexts.overlap_context)
}

fn ask_for_rest(prompt: &str, outline: &str, overlap: &str) -> String {
    let shown = so_far("the answer", outline.strip_suffix(overlap).unwrap_or_default(), overlap);
    let begin = match overlap {
        "" => " Begin with the very next character.".to_owned(),
        _ => begin_with("the answer", overlap),
    };
    format!(
        "{prompt}\n\n\
         Your answer to this was cut off. {shown}Write the rest of it, and stop when the JSON document is complete. Do not \
         start over, and do not reopen arrays or objects that are already open. Write nothing but JSON: no explanation, no \
         code fences.{begin}"
    )
}

/// Shows the truncated response or record up to the overlap. The text to repeat appears once, at the end of the prompt:
/// models continue from what they read last.
pub(crate) fn so_far(whole: &str, shown: &str, overlap: &str) -> String {
    let without = if overlap.is_empty() { "" } else { ", without its last characters" };
    match shown {
        "" => String::new(),
        _ => format!(
            "This is {whole} so far{without} (… marks what is left out here; it is not part of {whole}):\n\n{shown}\n\n"
        ),
    }
}

/// Asks for an overlap: the end of a response or a record. This ends the prompt.
pub(crate) fn begin_with(whole: &str, overlap: &str) -> String {
    format!(
        " Begin with exactly these last characters of {whole}, and continue directly after them:\n\n{overlap}"
    )
}
