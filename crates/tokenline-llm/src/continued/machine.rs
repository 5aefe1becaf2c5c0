//! The machine: the texts of responses in, each record once out.

use std::fmt;

use tokenline_core::json::Raw;
use tokenline_core::{CompletedBy, Event, Options, Rejected};

use super::error::ContinuationFailure;
use super::open::OpenRecord;
use super::progress::{Form, Progress};
use super::reader::{Item, Reader};
use super::repair::Repair;
use super::response::{self, CutAgain, Response};
use super::{Checkpoint, ContinuationError, ContinuationOptions, prompt};
use crate::request::Message;

/// Records out of an answer that comes in several responses, each record once and in order. Sans-IO: it is told the
/// texts, and says what is to be asked next.
///
/// ```
/// use tokenline_core::{Event, Options};
/// use tokenline_llm::{ContinuationOptions, ContinuationStep, RecordContinuation, ResponseEnd};
///
/// let mut machine = RecordContinuation::new(ContinuationOptions::new(), Options::lenient());
/// // What the model answers, and how each response ends.
/// let mut responses = [
///     ("{\"n\":1}\n{\"n\":2}\n{\"n", ResponseEnd::Cut),
///     ("```\n{ \"n\": 2 }\n{\"n\":3}\n```", ResponseEnd::Clean),
/// ]
/// .into_iter();
/// let mut records = Vec::new();
/// loop {
///     match machine.step() {
///         // The messages follow those of the request; at first there are none.
///         ContinuationStep::Ask(messages) => {
///             assert_eq!(messages.len(), if records.is_empty() { 0 } else { 2 });
///             machine.begin();
///             let (text, end) = responses.next().unwrap();
///             machine.push(text);
///             machine.finish(end);
///         }
///         ContinuationStep::Read => {
///             while let Some(event) = machine.next_event() {
///                 if let Event::Record(record) = event {
///                     records.push(record.value.to_compact());
///                 }
///             }
///         }
///         ContinuationStep::Done => break,
///         ContinuationStep::Failed(error) => panic!("{error}"),
///     }
/// }
/// assert_eq!(records, ["{\"n\":1}", "{\"n\":2}", "{\"n\":3}"]);
/// ```
pub struct RecordContinuation {
    settings: ContinuationOptions,
    options: Options,
    /// Whether the records are looked for inside another value.
    has_wrapper: bool,
    progress: Progress,
    repair: Repair,
    response: Option<Response>,
    end: Option<ResponseEnd>,
    failures: u32,
    all_failures: u64,
    skipped: u64,
    error: Option<ContinuationError>,
}

/// How a response ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseEnd {
    /// The provider came to its end, for a reason that proves the answer whole: `stop`. If the text ends inside a
    /// value it is not.
    Clean,
    /// The provider came to its end, for another reason: `length`.
    Cut,
    /// The connection broke, or closed before the provider's end.
    Broken,
}

/// What is to be done next.
#[derive(Clone, Debug, PartialEq)]
pub enum ContinuationStep {
    /// A request is to be made: the original one, with these messages behind its own. Call
    /// [`begin`](RecordContinuation::begin), then push what comes.
    Ask(Vec<Message>),
    /// A response is being read: push and take events, until it has ended and there are none.
    Read,
    /// The answer is whole.
    Done,
    /// It is not, and no more is asked.
    Failed(ContinuationError),
}

impl RecordContinuation {
    /// A machine before its first request. The options say how the text is read; partials and tool calls are not
    /// looked for.
    #[must_use]
    pub fn new(settings: ContinuationOptions, options: Options) -> Self {
        let options = options.partials(false);
        Self {
            progress: settings.progress.clone(),
            has_wrapper: options.looks_for_items(),
            repair: Repair::new(options.limits),
            settings,
            options,
            response: None,
            end: None,
            failures: 0,
            all_failures: 0,
            skipped: 0,
            error: None,
        }
    }

    /// Gives lines that are malformed a second chance: the closure gets the text that was lost, with the finding, and may
    /// return one JSON object to take its place. That is a record like all others, marked as
    /// [repaired](tokenline_core::Recovery::Repaired).
    ///
    /// It is to say the same of the same text each time: a model that starts over, or repeats the last record as it wrote
    /// it, writes the line again, which then counts as the record that it was made into. What a cut leaves open is not
    /// for it: the model writes that again.
    ///
    /// ```
    /// use tokenline_core::{Event, Options, Recovery};
    /// use tokenline_llm::{ContinuationOptions, RecordContinuation};
    ///
    /// let machine = RecordContinuation::new(ContinuationOptions::new(), Options::lenient());
    /// let mut machine = machine.with_repair(|rejected| Some(rejected.text.replace("NaN", "null")));
    /// machine.begin();
    /// machine.push("{\"n\":NaN}\n");
    /// let Some(Event::Record(record)) = machine.next_event() else { panic!("a record") };
    /// assert_eq!(record.value.as_str(), "{\"n\":null}");
    /// assert!(record.recovered.contains(Recovery::Repaired));
    /// ```
    #[must_use]
    pub fn with_repair(
        mut self,
        repair: impl FnMut(Rejected) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.repair.set(Box::new(repair));
        self
    }

    /// The hook, for who asks about more than malformed lines.
    #[cfg(feature = "client")]
    pub(super) fn repair_mut(&mut self) -> &mut Repair {
        &mut self.repair
    }

    /// What is to be done next.
    #[must_use]
    pub fn step(&self) -> ContinuationStep {
        if let Some(error) = self.error {
            return ContinuationStep::Failed(error);
        }
        if self.progress.is_done {
            return ContinuationStep::Done;
        }
        if self.response.is_some() {
            return ContinuationStep::Read;
        }
        match self.exhausted() {
            Some(error) => ContinuationStep::Failed(error),
            None if self.progress.requests == 0 => ContinuationStep::Ask(Vec::new()),
            None => ContinuationStep::Ask(prompt::messages(&self.progress, self.settings.quote_bytes)),
        }
    }

    fn exhausted(&self) -> Option<ContinuationError> {
        let Progress { requests, output_tokens: tokens, .. } = self.progress;
        if requests >= self.settings.max_requests {
            return Some(ContinuationError::TooManyRequests { requests });
        }
        let is_spent = self.settings.max_output_tokens.is_some_and(|most| tokens >= most && requests > 0);
        is_spent.then_some(ContinuationError::TooManyTokens { tokens })
    }

    /// Says that the request is being made. What is pushed from now on is its response.
    pub fn begin(&mut self) {
        self.response = Some(match self.progress.requests {
            0 => Response::first(&self.options, self.has_wrapper),
            _ => {
                let quote_bytes = self.settings.quote_bytes;
                Response::further(&self.progress, &self.options, self.has_wrapper, quote_bytes)
            }
        });
        self.end = None;
        self.progress.requests += 1;
    }

    /// Says that there is no response after all: the request was refused. It is not counted, and can be made again.
    pub fn give_up(&mut self) {
        if self.response.take().is_some() {
            self.end = None;
            self.progress.requests -= 1;
        }
    }

    /// Hands over more of the response's text. Take the events before the next push.
    pub fn push(&mut self, text: &str) {
        if let Some(response) = &mut self.response {
            response.push(text, &mut self.progress);
        }
    }

    /// Whether more of the response is of use. If not it can be closed, and [finished](Self::finish).
    #[must_use]
    pub fn wants_more(&self) -> bool {
        self.response.as_ref().is_some_and(|response| response.failure().is_none())
    }

    /// Says how many tokens the response took, before it is finished.
    pub fn count_output_tokens(&mut self, tokens: u64) {
        self.progress.output_tokens += tokens;
    }

    /// Says that the response has ended. There may be more [events](Self::next_event); after them
    /// [`step`](Self::step) says what is next.
    pub fn finish(&mut self, end: ResponseEnd) {
        if let Some(response) = &mut self.response
            && self.end.is_none()
        {
            self.end = Some(end);
            response.finish(end != ResponseEnd::Clean, &self.progress);
        }
    }

    /// The next event of what was pushed, or `None` if it is used up. A record is one that no event before was; its
    /// places are those of the response that it was in. Of one whose two halves were in two responses, the second's.
    ///
    /// Rejects are those of what is new in a response. That it was cut is none.
    pub fn next_event(&mut self) -> Option<Event<Raw>> {
        let response = self.response.as_mut()?;
        match response.next(&mut self.progress, &mut self.repair) {
            Some(Item::Record(read)) => {
                self.progress.offset += response.told(read.record.span);
                // An array inside another value, or an array that is the answer.
                if self.has_wrapper
                    || (self.progress.records == 0
                        && (read.record.completion == CompletedBy::ArrayElement
                            || response.reader().and_then(|reader| reader.before(read.record.span.start))
                                == Some(b'[')))
                {
                    self.progress.form = Form::Elements;
                }
                self.progress.shape.has_lines |= read.record.value.as_str().contains('\n');
                self.progress.deliver(read.text, read.fingerprint, self.settings.quote_bytes);
                if !response.is_pending() {
                    self.progress.open.clear();
                    self.progress.is_cut_again = false;
                }
                Some(Event::Record(read.record))
            }
            Some(Item::Finding(finding)) => Some(response::event(finding)),
            None => {
                if let Some(end) = self.end.take() {
                    self.conclude(end);
                }
                None
            }
        }
    }

    /// The response is over, and all of it was taken.
    fn conclude(&mut self, end: ResponseEnd) {
        let Some(response) = self.response.take() else { return };
        self.skipped += response.skipped();
        let limit = self.options.limits.line_bytes;
        if self.progress.open.len() > limit {
            self.error = Some(ContinuationError::RecordTooLarge { limit });
            return;
        }
        let is_pending = response.is_pending();
        let is_unread = matches!(
            response.failure(),
            Some(ContinuationFailure::Diverged | ContinuationFailure::Ambiguous)
        );
        if is_unread && response.was_asked_inside() {
            // It does not get on so.
            self.progress.is_cut_again = false;
        }
        if let Some(failure) = response.failure() {
            return self.failed(failure, end);
        }
        let reader = response.reader();
        let is_truncated = reader.is_some_and(Reader::is_truncated);
        let cut_again = response.cut_again();
        let is_extended = cut_again == Some(CutAgain::Longer);
        let open = match cut_again {
            Some(CutAgain::Longer | CutAgain::Same) => "",
            None if is_pending => "",
            // It may be what was to be repeated, as far as it came.
            None if !response.is_first()
                && self.progress.records > 0
                && response.new_records() + response.skipped() == 0
                && reader.is_some_and(|reader| {
                    self.progress.anchor() > 0
                        || reader.before_open().is_some()
                        || self.progress.may_be_known(reader.open())
                }) =>
            {
                ""
            }
            None | Some(CutAgain::Other) => reader.map_or("", Reader::open),
        };
        let before = match open.is_empty() {
            true => response.last_byte(),
            false => reader.and_then(Reader::before_open),
        };
        if self.progress.records == 0 && (before == Some(b'[') || (self.has_wrapper && !open.is_empty())) {
            self.progress.form = Form::Elements;
        }
        if !open.is_empty() {
            self.progress.open = OpenRecord::of(open);
        }
        self.progress.is_cut_again |= cut_again.is_some();
        self.progress.is_cut_again &= !self.progress.open.is_empty();
        let is_inside = is_truncated
            || !self.progress.open.is_empty()
            || (self.progress.form == Form::Elements && response.last_byte() == Some(b','));
        let is_silent = !response.is_first() && response.proves_nothing();
        if end == ResponseEnd::Clean && !is_inside && !is_silent {
            self.progress.is_done = true;
        } else if response.is_first() || response.new_records() > 0 || is_extended {
            self.failures = 0;
            self.progress.failure = None;
            self.broken(end);
        } else {
            let failure = match cut_again {
                Some(CutAgain::Other) => ContinuationFailure::Diverged,
                _ => ContinuationFailure::Nothing,
            };
            self.failed(failure, end);
        }
    }

    fn failed(&mut self, last: ContinuationFailure, end: ResponseEnd) {
        self.failures += 1;
        self.progress.failure = Some(last);
        self.all_failures += 1;
        let failures = self.failures;
        if failures >= self.settings.max_failures {
            self.error = Some(ContinuationError::NoProgress { failures, last });
        }
        self.broken(end);
    }

    fn broken(&mut self, end: ResponseEnd) {
        if end == ResponseEnd::Broken && !self.settings.after_breaks {
            self.error = Some(ContinuationError::Broken);
        }
    }

    /// Where the answer is: what was taken so far, and nothing that was only pushed.
    #[must_use]
    pub fn checkpoint(&self) -> Checkpoint {
        let mut progress = self.progress.clone();
        if let Some(response) = self.response.as_ref().filter(|response| response.is_abreast())
            && let Some(open) = response.reader().map(Reader::open).filter(|open| !open.is_empty())
            && response.failure().is_none()
            // Before the first of them it is what is around the records.
            && !(self.has_wrapper && self.progress.records == 0)
        {
            progress.open = OpenRecord::of(open);
        }
        Checkpoint::new(progress)
    }

    /// Records delivered, those before a [checkpoint](ContinuationOptions::resume) among them.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.progress.records
    }

    /// Requests made, those before a checkpoint among them.
    #[must_use]
    pub fn requests(&self) -> u32 {
        self.progress.requests
    }

    /// Continuations that brought nothing.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.all_failures
    }

    /// Records that responses repeated, and that were left out.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped + self.response.as_ref().map_or(0, Response::skipped)
    }

    /// Tokens written, as far as it was [told](Self::count_output_tokens).
    #[must_use]
    pub fn output_tokens(&self) -> u64 {
        self.progress.output_tokens
    }

    /// Bytes of the answer's text that are held: the open record, the last ones, and what was pushed and not yet
    /// taken. It does not grow with the answer.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.progress.held_bytes()
            + self.repair.held_bytes()
            + self.response.as_ref().map_or(0, Response::held_bytes)
    }
}

/// Without the text.
impl fmt::Debug for RecordContinuation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordContinuation")
            .field("records", &self.records())
            .field("requests", &self.requests())
            .field("failures", &self.failures())
            .field("is_reading", &self.response.is_some())
            .finish_non_exhaustive()
    }
}
