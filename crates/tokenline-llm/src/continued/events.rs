//! A response and its continuations, as one stream of events.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_core::stream::{FusedStream, Stream};
use serde::de::DeserializeOwned;
use tokenline_codec::{AsyncRepair, Next};
use tokenline_continuation::ContinuationMessages;
use tokenline_core::adapter::{Judge, QuotaUnit, RejectedTexts, StopAfter, Tally, Verdict};
use tokenline_core::json::{Raw, Value};
use tokenline_core::{Diagnostic, Event, Limits, Record, Rejected, RepetitionLimits};

use super::request::Settings;
use super::response_end::{end_of, ended_by};
use super::verdict::verdict;
use super::{
    Checkpoint, ContinuationReport, ContinuationStep, ContinuedError, ContinuedRequest, RecordContinuation,
    ResponseEnd,
};
use crate::client::{ClientError, LlmClient, ResponseBody};
use crate::reask::{Asking, Setup};
use crate::request::{ChatRequest, Message};
use crate::{ResponseError, ResponseEvent, ResponseOptions, ResponseStream, TextPieces};

/// The events of a response and its continuations: each record once and in order, with the rejects between them.
///
/// Lazy and cancel-safe: it sends requests and reads bytes only when polled. Dropping it closes the connection.
/// Positions are those in the [response](ContinuationReport::requests) that the event came in. An error comes once,
/// after everything that was complete, and ends the stream; a [checkpoint](Self::checkpoint) taken then continues where
/// it ended.
#[must_use = "streams do nothing unless polled"]
pub struct ContinuedEvents<T = Raw> {
    client: LlmClient,
    request: ChatRequest,
    judge: Judge,
    machine: RecordContinuation,
    repair: Option<Box<AsyncRepair>>,
    asking: Option<Box<Asking<T>>>,
    /// The states after the events that wait for their turn, if they are yielded in their order.
    states: VecDeque<Checkpoint>,
    /// A quota ended the stream while something was asked for.
    is_cut: bool,
    /// Events taken since the further requests were looked at.
    unasked: usize,
    /// With an asynchronous hook, the state after the last event that was taken; with further requests, the last state in
    /// which nothing was asked for.
    taken: Option<Box<Checkpoint>>,
    /// The reject of the machine that a replacement is awaited for.
    asked: Option<Box<Diagnostic>>,
    limits: Limits,
    repetition: Option<RepetitionLimits>,
    state: State,
    /// The error to return after the last record.
    error: Option<ContinuedError>,
    tally: Tally,
    output_tokens: Option<u64>,
    kind: PhantomData<fn() -> T>,
}

type Sending = dyn Future<Output = Result<ResponseStream<ResponseBody>, ClientError>> + Send;

enum State {
    /// The next request has not been sent.
    Ask,
    Sending(Pin<Box<Sending>>),
    Reading(Pin<Box<TextPieces<ResponseBody>>>),
    /// The response has ended, and may have more events.
    Draining,
    /// Nothing more is read. The error may still have to be returned.
    Ended,
}

/// Most events that are taken before the further requests are looked at.
const MAX_UNASKED: usize = 64;
/// Pieces without an event that one poll takes before it yields to the other tasks of the thread.
const MAX_PIECES_PER_POLL: usize = 256;

impl<T> ContinuedEvents<T> {
    pub(super) fn new(request: ContinuedRequest<T>) -> Self
    where
        T: DeserializeOwned,
    {
        let ContinuedRequest { settings, kind } = request;
        let Settings { client, request, continuation, options, mut rules, repair, quota, repetition, reask } =
            settings;
        let reask = Some(reask).filter(|reask| reask.attempts > 0);
        let repair = repair.filter(|_| reask.is_none());
        let asking = reask.map(|reask| {
            let options = ResponseOptions::with_rules(options.clone().partials(false), rules.clone());
            let options = options.stop_on_repetition(repetition);
            let setup = Setup::new(client.clone(), request.clone(), options, &reask);
            let texts = RejectedTexts::default();
            texts.watch(&mut rules);
            Box::new(Asking::new(reask, setup, texts))
        });
        let limits = options.limits;
        let mut machine = RecordContinuation::new(continuation, options);
        if rules.has_repair_steps() {
            machine = machine.with_repair_steps();
        } else if rules.repairs() {
            let rules = rules.clone();
            machine = machine.with_repair(move |rejected| {
                let diagnostic = rejected.diagnostic.clone();
                rules.replacement(rejected).filter(|replacement| {
                    rules.accepts(replacement, &diagnostic, &limits, |record| record.deserialize::<T>())
                })
            });
        }
        let mut events = Self {
            client,
            request,
            judge: Judge::new(Arc::new(rules), &limits),
            tally: Tally::new(&limits),
            output_tokens: None,
            machine,
            repair,
            asking,
            states: VecDeque::new(),
            is_cut: false,
            unasked: 0,
            taken: None,
            asked: None,
            limits,
            repetition,
            state: State::Ask,
            error: None,
            kind,
        };
        let quota = StopAfter { counted: QuotaUnit::Records, ..quota };
        events.note_taken();
        events.tally.set_quota(|current| *current = quota);
        events.end_if_over();
        events
    }

    /// Remembers the state after an event that is taken.
    fn note_taken(&mut self) {
        if let Some(state) = self.states.pop_front() {
            self.taken = Some(Box::new(state));
        } else if self.repair.is_some() || self.asking.as_ref().is_some_and(|asking| asking.is_settled()) {
            self.taken = Some(Box::new(self.machine.checkpoint()));
        }
    }

    /// The counts of records, rejects, requests and tokens so far.
    #[must_use]
    pub fn report(&self) -> ContinuationReport<'_> {
        let Self { machine, output_tokens, .. } = self;
        ContinuationReport { report: self.tally.report(), machine, output_tokens: *output_tokens }
    }

    /// The state after the last event that was taken. Save it, and
    /// [resume](super::ContinuationOptions::resume) it in another process.
    #[must_use]
    pub fn checkpoint(&self) -> Checkpoint {
        // The record that the rules ask about was not taken, nor is one that the model is asked for.
        let is_open = self.is_cut
            || self.judge.is_asking()
            || self.asking.as_ref().is_some_and(|asking| !asking.is_settled());
        let before = self.taken.as_deref().filter(|_| is_open);
        before.cloned().unwrap_or_else(|| self.machine.checkpoint())
    }

    /// The state machine of the list.
    #[must_use]
    pub fn machine(&self) -> &RecordContinuation {
        &self.machine
    }

    fn ask(&self, messages: Option<ContinuationMessages>) -> Result<Pin<Box<Sending>>, ClientError> {
        let messages = messages.into_iter().flat_map(|ContinuationMessages { assistant, user }| {
            let assistant = assistant.map(|text| Message::assistant(text, []));
            assistant.into_iter().chain([Message::user(user)])
        });
        let request = self.request.clone().messages(messages);
        let request = self.client.stream(&request)?;
        let request = request.with_options(|options| options.stop_on_repetition(self.repetition));
        Ok(Box::pin(request.send()))
    }

    /// Ends the response, with its error and its output tokens.
    fn end_response(&mut self, error: Option<ResponseError<ClientError>>, tokens: Option<u64>) {
        if let Some(tokens) = tokens {
            self.machine.count_output_tokens(tokens);
            *self.output_tokens.get_or_insert(0) += tokens;
        }
        let end = end_of(error.as_ref());
        self.error = ended_by(error);
        self.machine.finish(end);
        self.state = State::Draining;
    }

    fn fail(&mut self, error: ContinuedError) {
        self.error = Some(error);
        self.state = State::Ended;
    }

    /// Ends the stream if a quota is reached. At once: there may be no next poll.
    fn end_if_over(&mut self) {
        if let Some(error) = self.tally.too_many_rejected().cloned() {
            self.fail(ContinuedError::Response(Box::new(ResponseError::TooManyRejected(error))));
        } else if self.tally.is_over() {
            self.state = State::Ended;
        }
        if self.tally.is_over()
            && let Some(asking) = self.asking.take()
        {
            // What waits is not yielded any more.
            self.is_cut = !asking.is_settled();
        }
    }
}

/// The next thing to do with the text that was pushed.
enum Taken<T> {
    Event(Event<T>),
    /// Ask for a replacement.
    Question(Box<Rejected>),
}

/// The event as one of a response.
fn to_response<T>(event: Event<T>) -> ResponseEvent<T> {
    match event {
        Event::Record(record) => ResponseEvent::Record { choice: 0, block: 0, record },
        Event::Rejected(diagnostic) | Event::Note(diagnostic) => {
            ResponseEvent::from_diagnostic(Some(0), 0, diagnostic)
        }
        _ => unreachable!("the machine does not emit other events"),
    }
}

/// The event of a response as one of a list.
fn from_response<T>(event: ResponseEvent<T>) -> Event<T> {
    match event {
        ResponseEvent::Record { record, .. } => Event::Record(record),
        ResponseEvent::Rejected { diagnostic, .. } => Event::Rejected(diagnostic),
        ResponseEvent::Note { diagnostic, .. } => Event::Note(diagnostic),
        _ => unreachable!("it is of the list, or in place of a record"),
    }
}

impl<T> From<Verdict<T>> for Taken<T> {
    fn from(verdict: Verdict<T>) -> Self {
        match verdict {
            Verdict::Record(record) => Self::Event(Event::Record(record)),
            Verdict::Rejected(diagnostic) => Self::Event(Event::Rejected(diagnostic)),
            Verdict::Ask(rejected) => Self::Question(rejected),
            Verdict::Call(..) | Verdict::RejectedCall(_) | Verdict::NotACall(_) => {
                unreachable!("records are not read as calls")
            }
        }
    }
}

impl<T: DeserializeOwned + Send + 'static> ContinuedEvents<T> {
    /// The next item; `None` at the end. Needs no `StreamExt`. Dropping the future loses nothing.
    pub fn next(&mut self) -> Next<'_, Self> {
        Next::new(self)
    }

    /// The next event of the text that was pushed, or a question about a reject.
    fn take(&mut self) -> Option<Taken<T>> {
        loop {
            let event = match self.machine.next_event() {
                Some(Event::Record(record)) => return Some(verdict(&mut self.judge, &record).into()),
                Some(Event::Rejected(diagnostic)) => Event::Rejected(diagnostic),
                Some(Event::Note(diagnostic)) => Event::Note(diagnostic),
                // The machine does not emit other events.
                Some(_) => continue,
                None => {
                    let rejected = self.machine.question()?;
                    self.asked = Some(Box::new(rejected.diagnostic.clone()));
                    return Some(Taken::Question(Box::new(rejected)));
                }
            };
            return Some(Taken::Event(event));
        }
    }

    /// Takes the answer to a question about a reject. Returns the event that it decides at once.
    fn answer(&mut self, replacement: Option<String>) -> Option<Taken<T>> {
        let make = |record: &Record<Value<'_>>| record.deserialize::<T>();
        if let Some(rejected) = self.asked.take() {
            let (rules, limits) = (self.judge.rules(), &self.limits);
            let is_accepted = |text: &String| rules.accepts(text, &rejected, limits, make);
            self.machine.answer(replacement.filter(is_accepted));
            return None;
        }
        let Ok(verdict) = self.judge.resume(replacement, |record| Ok::<_, Infallible>(make(record)));
        verdict.map(Taken::from)
    }

    /// Counts an event that is yielded.
    fn count(&mut self, event: &Event<T>) {
        self.note_taken();
        self.tally.count(event.count_as());
        self.end_if_over();
    }

    /// The next event for which `pick` returns a value.
    pub(super) fn poll_pick<R>(
        &mut self,
        cx: &mut Context<'_>,
        mut pick: impl FnMut(Event<T>) -> Option<R>,
    ) -> Poll<Option<Result<R, ContinuedError>>> {
        // Whether the further requests were looked at after what was read last.
        let mut is_asked = false;
        for _ in 0..MAX_PIECES_PER_POLL {
            if let Some(event) = self.asking.as_mut().and_then(|asking| asking.next()) {
                let event = from_response(event);
                self.count(&event);
                match pick(event) {
                    Some(item) => return Poll::Ready(Some(Ok(item))),
                    None => continue,
                }
            }
            let mut taken = None;
            if let Some(repair) = &mut self.repair
                && let Some(replacement) = ready!(repair.poll_replacement(cx))
            {
                taken = self.answer(replacement);
            }
            if let Some(asking) = &mut self.asking {
                // What has arrived comes first.
                let may_have_more = matches!(self.state, State::Reading(_) | State::Draining);
                if !is_asked && (!may_have_more || self.unasked >= MAX_UNASKED || asking.is_full()) {
                    if asking.poll(cx, self.tally.report_mut()) {
                        continue;
                    }
                    (self.unasked, is_asked) = (0, true);
                }
                if asking.is_full() || (matches!(self.state, State::Ended) && !asking.is_idle()) {
                    return Poll::Pending;
                }
            }
            match &mut self.state {
                State::Ended => return Poll::Ready(self.error.take().map(Err)),
                State::Ask => match self.machine.step() {
                    ContinuationStep::Ask(messages) => match self.ask(messages) {
                        Ok(sending) => {
                            self.machine.begin();
                            self.state = State::Sending(sending);
                        }
                        Err(error) => self.fail(ContinuedError::Client(error)),
                    },
                    ContinuationStep::Failed(error) => self.fail(ContinuedError::Continuation(error)),
                    ContinuationStep::Done => {
                        self.tally.report_mut().set_complete();
                        self.state = State::Ended;
                    }
                    ContinuationStep::Read => self.state = State::Draining,
                },
                State::Sending(sending) => match ready!(sending.as_mut().poll(cx)) {
                    Ok(response) => self.state = State::Reading(Box::pin(response.text())),
                    Err(error) => {
                        // No response arrived, so the state is unchanged.
                        self.machine.give_up();
                        self.fail(ContinuedError::Client(error));
                    }
                },
                State::Reading(_) | State::Draining => {
                    match taken.or_else(|| self.take()) {
                        Some(Taken::Event(event)) => {
                            if let Some(asking) = &mut self.asking {
                                (self.unasked, is_asked) = (self.unasked + 1, false);
                                if asking.is_in_place() {
                                    self.states.push_back(self.machine.checkpoint());
                                }
                                asking.push(to_response(event));
                                continue;
                            }
                            self.count(&event);
                            match pick(event) {
                                Some(item) => return Poll::Ready(Some(Ok(item))),
                                None => continue,
                            }
                        }
                        Some(Taken::Question(rejected)) => {
                            let repair = self.repair.as_mut().expect("the rules ask for it");
                            repair.ask(*rejected);
                            continue;
                        }
                        None if self.asking.is_some() && !is_asked => {
                            self.unasked = MAX_UNASKED;
                            continue;
                        }
                        None => {}
                    }
                    let State::Reading(text) = &mut self.state else {
                        self.state = if self.error.is_some() { State::Ended } else { State::Ask };
                        continue;
                    };
                    if !self.machine.wants_more() {
                        self.machine.finish(ResponseEnd::Cut);
                        self.state = State::Draining;
                        continue;
                    }
                    let piece = ready!(text.as_mut().poll_next(cx));
                    let tokens = text.parser().usage().and_then(|usage| usage.output_tokens);
                    match piece {
                        Some(Ok(piece)) => self.machine.push(&piece),
                        Some(Err(error)) => self.end_response(Some(error), tokens),
                        None => self.end_response(None, tokens),
                    }
                }
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl<T> Unpin for ContinuedEvents<T> {}

impl<T: DeserializeOwned + Send + 'static> Stream for ContinuedEvents<T> {
    type Item = Result<Event<T>, ContinuedError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_pick(cx, Some)
    }
}

impl<T: DeserializeOwned + Send + 'static> FusedStream for ContinuedEvents<T> {
    fn is_terminated(&self) -> bool {
        let is_settled = self.asking.as_ref().is_none_or(|asking| asking.is_settled());
        matches!(self.state, State::Ended) && self.error.is_none() && is_settled
    }
}

/// Without the messages and without the text.
impl<T> fmt::Debug for ContinuedEvents<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContinuedEvents")
            .field("client", &self.client)
            .field("machine", &self.machine)
            .field("is_over", &matches!(self.state, State::Ended))
            .finish_non_exhaustive()
    }
}
