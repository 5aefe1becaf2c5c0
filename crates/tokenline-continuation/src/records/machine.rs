//! The state machine of a list: takes the texts of responses, returns each record once.

use std::fmt;

use tokenline_core::adapter::SourceEnd;
use tokenline_core::json::Raw;
use tokenline_core::{Event, Options, Rejected};

use super::progress::{OpenRecord, Progress};
use super::repair::Repair;
use super::response::Response;
use super::{Checkpoint, ContinuationMessages};
use crate::error::{ContinuationError, ContinuationFailure};
use crate::options::ContinuationOptions;
use crate::response_end::ResponseEnd;

/// The records of a list that may take several responses: each once, and in order. Without I/O: it takes the texts, and
/// returns the next request.
///
/// ```
/// use tokenline_continuation::{ContinuationOptions, ContinuationStep, RecordContinuation, ResponseEnd};
/// use tokenline_core::{Event, Options};
///
/// let mut machine = RecordContinuation::new(ContinuationOptions::new(), Options::lenient());
/// // The responses of the model, and how each ends.
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
///             assert_eq!(messages.is_some(), !records.is_empty());
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
    progress: Progress,
    repair: Repair,
    response: Option<Response>,
    end: Option<ResponseEnd>,
    failures: u32,
    all_failures: u64,
    skipped: u64,
    error: Option<ContinuationError>,
}

/// The next step.
#[derive(Clone, Debug, PartialEq)]
pub enum ContinuationStep {
    /// Send the request, followed by these messages. Call [`begin`](RecordContinuation::begin), then push the response.
    Ask(Option<ContinuationMessages>),
    /// Push more of the response and take events, until it has ended and there are none.
    Read,
    /// The list is complete.
    Done,
    /// The list is incomplete, and no further request is made.
    Failed(ContinuationError),
}

impl RecordContinuation {
    /// A machine before its first request. The options say how responses are read; it yields no partials.
    #[must_use]
    pub fn new(settings: ContinuationOptions, options: Options) -> Self {
        Self {
            progress: settings.progress.clone(),
            options: options.partials(false).text(false),
            settings,
            repair: Repair::default(),
            response: None,
            end: None,
            failures: 0,
            all_failures: 0,
            skipped: 0,
            error: None,
        }
    }

    /// Asks a closure for replacements of malformed lines: one JSON object each, which becomes a record that is marked as
    /// [repaired](tokenline_core::Recovery::Repaired).
    ///
    /// Give the same text the same replacement each time: a model that starts over writes the line again. The closure is
    /// not asked about truncated records: the model writes them again.
    ///
    /// ```
    /// use tokenline_continuation::{ContinuationOptions, RecordContinuation};
    /// use tokenline_core::{Event, Options, Recovery};
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
        self.repair.set_hook(Box::new(repair));
        self
    }

    /// Like [`with_repair`](Self::with_repair), but asks with [`question`](Self::question), and waits for the
    /// [`answer`](Self::answer).
    ///
    /// ```
    /// use tokenline_continuation::{ContinuationOptions, RecordContinuation};
    /// use tokenline_core::{Event, Options};
    ///
    /// let machine = RecordContinuation::new(ContinuationOptions::new(), Options::lenient());
    /// let mut machine = machine.with_repair_steps();
    /// machine.begin();
    /// machine.push("{\"n\":NaN}\n");
    /// assert!(machine.next_event().is_none());
    /// let rejected = machine.question().expect("a question");
    /// machine.answer(Some(rejected.text.replace("NaN", "null")));
    /// assert!(matches!(machine.next_event(), Some(Event::Record(_))));
    /// ```
    #[must_use]
    pub fn with_repair_steps(mut self) -> Self {
        self.repair.set_steps();
        self
    }

    /// The question about a malformed line that the next event depends on, once. While it is not
    /// [answered](Self::answer), there are no more events.
    pub fn question(&mut self) -> Option<Rejected> {
        self.repair.question()
    }

    /// Answers the [`question`](Self::question): with `None`, or anything but one JSON object, the reject stands.
    pub fn answer(&mut self, replacement: Option<String>) {
        self.repair.answer(replacement);
    }

    /// The next step.
    #[must_use]
    pub fn step(&self) -> ContinuationStep {
        let Progress { requests, output_tokens, .. } = self.progress;
        match self.error {
            Some(error) => return ContinuationStep::Failed(error),
            None if self.progress.is_done => return ContinuationStep::Done,
            None if self.response.is_some() => return ContinuationStep::Read,
            None => {}
        }
        if let Some(limit) = self.settings.limit_reached(requests, output_tokens) {
            return ContinuationStep::Failed(limit);
        }
        let is_first = requests == 0 && self.progress.records == 0;
        let messages = || ContinuationMessages::new(&self.progress, self.settings.context_bytes);
        ContinuationStep::Ask((!is_first).then(messages))
    }

    /// Starts a request. From now on, push its response.
    pub fn begin(&mut self) {
        self.response = Some(Response::new(&self.progress, &self.options));
        self.end = None;
        self.repair.reset();
        self.progress.requests += 1;
    }

    /// Cancels the request, because it was refused and has no response. It does not count, and can be sent again.
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

    /// Whether more of the response is of use. If not, it can be closed and [finished](Self::finish).
    #[must_use]
    pub fn wants_more(&self) -> bool {
        self.response.as_ref().is_some_and(|response| response.failure().is_none())
    }

    /// Adds the output tokens of the response. Call it before [`finish`](Self::finish).
    pub fn count_output_tokens(&mut self, tokens: u64) {
        self.progress.output_tokens = self.progress.output_tokens.saturating_add(tokens);
    }

    /// Ends the response. Take the remaining [events](Self::next_event); then [`step`](Self::step) says what to do next.
    pub fn finish(&mut self, end: ResponseEnd) {
        if let Some(response) = &mut self.response
            && self.end.is_none()
        {
            self.end = Some(end);
            let end = if end == ResponseEnd::Clean { SourceEnd::Clean } else { SourceEnd::Failed };
            response.finish(end);
        }
    }

    /// The next event of the text that was pushed; `None` if more text is needed, or an
    /// [answer](Self::with_repair_steps). Each record is returned once. Its
    /// position is that in the response; of a record that two responses wrote, that in the second. A truncated record
    /// is not a reject.
    pub fn next_event(&mut self) -> Option<Event<Raw>> {
        let response = self.response.as_mut()?;
        let Some(event) = response.next(&mut self.progress, &mut self.repair) else {
            if !self.repair.is_waiting()
                && let Some(end) = self.end.take()
            {
                self.conclude(end);
            }
            return None;
        };
        if let Event::Record(record) = &event {
            let progress = &mut self.progress;
            progress.deliver(record.value.to_compact(), self.settings.context_bytes);
            (progress.open, progress.reached) = (OpenRecord::default(), 0);
            progress.prefers_overlap = false;
        }
        Some(event)
    }

    /// Evaluates the response after it has ended and all events were taken.
    fn conclude(&mut self, end: ResponseEnd) {
        let Some(response) = self.response.take() else { return };
        self.skipped += response.skipped;
        let progress = &mut self.progress;
        let limit = self.options.limits.line_bytes;
        if progress.open.len() > limit {
            self.error = Some(ContinuationError::TooLarge { limit });
            return;
        }
        if let Some(failure) = response.failure() {
            progress.ask_otherwise(failure);
            return self.count_failure(failure, end);
        }
        response.learn_form(progress);
        let is_new = response.is_first || response.new_records > 0;
        let open = response.open(progress);
        if !open.is_empty() && (is_new || progress.is_longer(open)) {
            progress.open = OpenRecord::of(open);
        }
        // Writing a dropped record again, as far as before, is not progress.
        let is_extended = !is_new && progress.open.len() > progress.reached.max(response.open_len);
        progress.reached = progress.reached.max(progress.open.len()).max(usize::from(!open.is_empty()));
        let is_inside = response.is_truncated() || progress.reached > 0;
        if end == ResponseEnd::Clean && !is_inside && (is_new || response.skipped > 0) {
            progress.is_done = true;
        } else if is_new || is_extended {
            progress.prefers_overlap = is_extended;
            progress.failure = None;
            self.failures = 0;
            self.disconnected(end);
        } else {
            let failure = ContinuationFailure::NothingNew;
            progress.ask_otherwise(failure);
            self.count_failure(failure, end);
        }
    }

    /// Counts a response that is not used.
    fn count_failure(&mut self, last: ContinuationFailure, end: ResponseEnd) {
        self.failures += 1;
        self.all_failures += 1;
        self.progress.failure = Some(last);
        let failures = self.failures;
        if failures >= self.settings.max_failures {
            self.error = Some(ContinuationError::NoProgress { failures, last });
        }
        self.disconnected(end);
    }

    fn disconnected(&mut self, end: ResponseEnd) {
        if end == ResponseEnd::Broken && !self.settings.continue_after_disconnect {
            self.error = Some(ContinuationError::Disconnected);
        }
    }

    /// The state of the list after the last event that was taken. Text that was only pushed is not part of it.
    #[must_use]
    pub fn checkpoint(&self) -> Checkpoint {
        let mut progress = self.progress.clone();
        if let Some(response) = self.response.as_ref().filter(|response| response.is_delivering()) {
            response.learn_form(&mut progress);
            let open = response.open(&progress);
            if !open.is_empty() {
                progress.open = OpenRecord::of(open);
            }
        }
        Checkpoint::new(progress)
    }

    /// The number of records delivered, those before a [checkpoint](ContinuationOptions::resume) included.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.progress.records
    }

    /// The number of requests made, those before a checkpoint included.
    #[must_use]
    pub fn requests(&self) -> u32 {
        self.progress.requests
    }

    /// The number of continuations that added nothing.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.all_failures
    }

    /// The number of records that responses repeated. They were not delivered again.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped + self.response.as_ref().map_or(0, |response| response.skipped)
    }

    /// The number of output tokens, as far as they were [counted](Self::count_output_tokens).
    #[must_use]
    pub fn output_tokens(&self) -> u64 {
        self.progress.output_tokens
    }

    /// The bytes of text that are held: the open record, the last records, and text that was pushed but not yet
    /// read. They do not grow with the list.
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
