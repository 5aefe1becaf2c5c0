//! The events of a response, in which rejects are asked for again.

use std::collections::VecDeque;
use std::fmt;
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use futures_core::stream::{FusedStream, Stream};
use serde::de::DeserializeOwned;
use tokenline_codec::{EventStream, Items, Next, Reporting};
use tokenline_core::adapter::{QuotaUnit, StopAfter, Tally};
use tokenline_core::json::Raw;
use tokenline_core::{EarlyEnd, Limits, Reasks, Record, Report, ToolCall};

use super::ReaskOptions;
use super::attempt::{Attempt, Failed, Found, NextAsk, ask};
use super::rejected_texts::RejectedTexts;
use super::requests::{Item, Setup};
use crate::client::{ClientError, ResponseBody};
use crate::{ResponseError, ResponseEvent, ResponseParser, ResponseStream};

/// Most events that wait for one that was asked for again, and most items that wait for a request.
const MAX_WAITING: usize = 1024;
/// Most events that are read before the further requests are looked at.
const MAX_UNASKED: usize = 64;
/// Events without an item that one poll takes before it yields to the other tasks of the thread.
const MAX_EVENTS_PER_POLL: usize = 256;

/// The events of a response, in which rejects [are asked for again](super::Extraction): a reject comes once it is final, and
/// what the model wrote in its place is a record or a call.
///
/// Lazy and cancel-safe: it reads and sends only when polled. Dropping it closes all connections. An error comes once, after
/// everything that was complete and asked for again, and ends the stream.
#[must_use = "streams do nothing unless polled"]
pub struct ExtractionEvents<T = Raw> {
    response: Pin<Box<ResponseStream<ResponseBody, T>>>,
    has_response_ended: bool,
    /// Events read since the further requests were looked at.
    unasked: usize,
    asking: Option<Box<Asking<T>>>,
    /// Events to yield, in their order.
    slots: VecDeque<Slot<T>>,
    error: Option<ResponseError<ClientError>>,
    tally: Tally,
    has_ended: bool,
}

/// The records of an [extraction](super::Extraction).
pub type ExtractionRecords<T = Raw> = Items<ExtractionEvents<T>, Record<T>>;

/// The tool calls of an [extraction](super::Extraction).
pub type ExtractionToolCalls<T = Raw> = Items<ExtractionEvents<T>, ToolCall>;

enum Slot<T> {
    Event(ResponseEvent<T>),
    /// The place of an item that was asked for.
    Open(u64),
}

/// Further requests, and the items for which they are.
struct Asking<T> {
    options: ReaskOptions,
    setup: Arc<Setup>,
    texts: RejectedTexts,
    waiting: VecDeque<Question<T>>,
    /// In mutexes that are never locked, so that the stream is `Sync` although the futures are not.
    in_flight: Vec<(Question<T>, Mutex<Pin<Box<Asked<T>>>>)>,
    next_slot: u64,
    requests: u64,
    output_tokens: u64,
}

type Asked<T> = dyn Future<Output = Attempt<T>> + Send;

/// An item that is asked for again.
struct Question<T> {
    slot: u64,
    /// The reject, which is final if the requests fail.
    event: ResponseEvent<T>,
    /// What to ask for: the item, or what came in its place and was rejected, too.
    item: Item,
    attempts: u32,
    reasons: Vec<String>,
}

impl<T: DeserializeOwned + Send + 'static> Asking<T> {
    /// Takes an event that is asked for again. Returns its slot, or the event.
    fn open(&mut self, event: ResponseEvent<T>) -> Result<u64, ResponseEvent<T>> {
        let Some(item) = Item::of(&event, &self.texts) else { return Err(event) };
        let slot = self.next_slot;
        self.next_slot += 1;
        self.waiting.push_back(Question { slot, event, item, attempts: 0, reasons: Vec::new() });
        Ok(slot)
    }

    fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.in_flight.is_empty()
    }

    /// Why no further request may begin.
    fn exhausted(&self) -> Option<&'static str> {
        if self.requests >= self.options.max_requests {
            Some("the limit of further requests is reached")
        } else if self.options.max_output_tokens.is_some_and(|max| self.output_tokens >= max) {
            Some("the limit of output tokens is reached")
        } else {
            None
        }
    }

    /// Begins requests, and takes what came of those in flight. Returns an item that is decided.
    fn poll(&mut self, cx: &mut Context<'_>, tally: &mut Tally) -> Option<(u64, ResponseEvent<T>)> {
        loop {
            while self.in_flight.len() < self.options.max_in_flight
                && let Some(question) = self.waiting.pop_front()
            {
                if let Some(why) = self.exhausted() {
                    return Some(question.fail(Some(why)));
                }
                self.requests += 1;
                tally.report_mut().count_reasks(reasks(0, 1, 0));
                let asked: Pin<Box<Asked<T>>> = Box::pin(ask(Arc::clone(&self.setup), question.item.clone()));
                self.in_flight.push((question, Mutex::new(asked)));
            }
            let polled = self.in_flight.iter_mut().enumerate().find_map(|(at, (_, asked))| {
                let asked = asked.get_mut().unwrap_or_else(PoisonError::into_inner);
                match asked.as_mut().poll(cx) {
                    Poll::Ready(attempt) => Some((at, attempt)),
                    Poll::Pending => None,
                }
            });
            let (at, Attempt { result, output_tokens }) = polled?;
            let (mut question, _) = self.in_flight.swap_remove(at);
            self.output_tokens += output_tokens;
            tally.report_mut().count_reasks(reasks(0, 0, output_tokens));
            question.attempts += 1;
            match result {
                Ok(found) => {
                    tally.report_mut().count_reasks(reasks(1, 0, 0));
                    return Some(question.answer(found));
                }
                Err(Failed { reason, next }) => {
                    question.reasons.push(reason);
                    let is_last = question.attempts >= self.options.attempts;
                    match next {
                        NextAsk::Nothing => return Some(question.fail(None)),
                        _ if is_last => return Some(question.fail(None)),
                        NextAsk::Instead(item) if item.text() == question.item.text() => {
                            return Some(question.fail(Some("the model wrote the same again")));
                        }
                        NextAsk::Instead(item) => question.item = item,
                        NextAsk::Same => {}
                    }
                    self.waiting.push_front(question);
                }
            }
        }
    }
}

fn reasks(items: u64, requests: u64, output_tokens: u64) -> Reasks {
    let mut reasks = Reasks::default();
    (reasks.items, reasks.requests, reasks.output_tokens) = (items, requests, output_tokens);
    reasks
}

impl<T> Question<T> {
    /// What was found in place of the reject.
    fn answer(self, found: Found<T>) -> (u64, ResponseEvent<T>) {
        let Self { slot, event, attempts, .. } = self;
        let event = match (event, found) {
            (ResponseEvent::Rejected { choice, block, diagnostic }, Found::Record(record)) => {
                let record = Record {
                    line: diagnostic.line,
                    column: diagnostic.column,
                    span: diagnostic.span,
                    recovered: record.recovered.with_attempts(attempts),
                    ..record
                };
                ResponseEvent::Record { choice: choice.unwrap_or_default(), block, record }
            }
            (
                ResponseEvent::RejectedCall { choice, number, block, call: rejected },
                Found::Call(mut call),
            ) => {
                let recovered = call.recovered.with_attempts(attempts);
                let its = &rejected.diagnostic;
                let place = Record {
                    value: (),
                    line: its.line,
                    column: its.column,
                    span: its.span,
                    completion: call.completion,
                    recovered,
                };
                let record = (its.origin == tokenline_core::Origin::Text).then_some(place);
                call.recovered = recovered;
                ResponseEvent::ToolCall { choice, number, block, call, record }
            }
            _ => unreachable!("records are found for records, and calls for calls"),
        };
        (slot, event)
    }

    /// The final reject, with the reason of each further request.
    fn fail(self, last: Option<&str>) -> (u64, ResponseEvent<T>) {
        let Self { slot, mut event, attempts, reasons, .. } = self;
        if let Some(diagnostic) = event.diagnostic_mut() {
            if attempts > 0 {
                let times = if attempts == 1 { "once".to_owned() } else { format!("{attempts} times") };
                diagnostic.message += &format!("; asked again {times}: {}", reasons.join("; "));
            }
            if let Some(last) = last {
                let more = if attempts > 0 { "no more" } else { "not asked again" };
                diagnostic.message += &format!("; {more}: {last}");
            }
        }
        (slot, event)
    }
}

impl<T> ExtractionEvents<T> {
    /// The counts of records, rejects and further requests so far.
    #[must_use]
    pub fn report(&self) -> &Report {
        self.tally.report()
    }

    /// The parser of the response, for what it knows in addition to the events: finish reasons, usage.
    #[must_use]
    pub fn parser(&self) -> &ResponseParser<T> {
        self.response.parser()
    }
}

impl<T: DeserializeOwned> ExtractionEvents<T> {
    pub(super) fn new(
        response: ResponseStream<ResponseBody, T>,
        (limits, quota): (&Limits, StopAfter),
        asking: Option<(ReaskOptions, Setup, RejectedTexts)>,
    ) -> Self {
        let mut tally = Tally::new(limits);
        tally.set_quota(|own| *own = quota);
        let asking = asking.map(|(options, setup, texts)| {
            Box::new(Asking {
                options,
                setup: Arc::new(setup),
                texts,
                waiting: VecDeque::new(),
                in_flight: Vec::new(),
                next_slot: 0,
                requests: 0,
                output_tokens: 0,
            })
        });
        let (slots, error) = (VecDeque::new(), None);
        let response = Box::pin(response);
        let mut events = Self {
            response,
            has_response_ended: false,
            unasked: 0,
            asking,
            slots,
            error,
            tally,
            has_ended: false,
        };
        events.end_if_over();
        events
    }

    /// Ends the stream if a quota is reached. At once: there may be no next poll.
    fn end_if_over(&mut self) {
        if let Some(error) = self.tally.too_many_rejected().cloned() {
            self.error = Some(ResponseError::TooManyRejected(error));
        }
        if self.tally.is_over() {
            self.end();
        }
    }

    /// Drops what is left, and closes all connections.
    fn end(&mut self) {
        self.has_ended = true;
        self.slots.clear();
        self.asking = None;
        self.response.as_mut().drop_source();
    }
}

impl<T: DeserializeOwned + Send + 'static> ExtractionEvents<T> {
    /// The next item; `None` at the end. Needs no `StreamExt`. Dropping the future loses nothing.
    pub fn next(&mut self) -> Next<'_, Self> {
        Next::new(self)
    }

    /// The records in the text. Rejects only appear in the report.
    pub fn records(mut self) -> ExtractionRecords<T> {
        self.tally.set_quota(|quota| quota.counted = QuotaUnit::Records);
        Items::new(self, |event| match event {
            ResponseEvent::Record { record, .. } => Some(record),
            _ => None,
        })
    }

    /// The tool calls. Rejects only appear in the report. Calls in a text are read if the options say so; see
    /// [`TextMode`](crate::TextMode).
    pub fn tool_calls(mut self) -> ExtractionToolCalls<T> {
        self.tally.set_quota(|quota| quota.counted = QuotaUnit::ToolCalls);
        Items::new(self, |event| match event {
            ResponseEvent::ToolCall { call, .. } => Some(call),
            _ => None,
        })
    }

    /// Closes the response. What was complete still comes, and what is asked for again; then the stream ends.
    pub fn close(&mut self) {
        self.response.as_mut().close();
    }

    /// Puts an event in its slot.
    fn decided(&mut self, slot: u64, event: ResponseEvent<T>) {
        let open = self.slots.iter_mut().find(|its| matches!(its, Slot::Open(its) if *its == slot));
        match open {
            Some(open) => *open = Slot::Event(event),
            None => self.slots.push_back(Slot::Event(event)),
        }
    }

    /// Takes an event of the response.
    fn take(&mut self, event: ResponseEvent<T>) {
        let Some(asking) = &mut self.asking else { return self.slots.push_back(Slot::Event(event)) };
        match asking.open(event) {
            Ok(slot) if asking.options.is_in_place => self.slots.push_back(Slot::Open(slot)),
            Ok(_) => {}
            Err(event) => self.slots.push_back(Slot::Event(event)),
        }
    }

    /// Whether too much waits to read on.
    fn is_full(&self) -> bool {
        let waiting = self.asking.as_ref().map_or(0, |asking| asking.waiting.len());
        self.slots.len() >= MAX_WAITING || waiting >= MAX_WAITING
    }

    /// The next event; `None` at the end, when the error may still have to be returned.
    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<ResponseEvent<T>>> {
        loop {
            if let Some(event) = self.slots.pop_front_if(|slot| matches!(slot, Slot::Event(_))) {
                let Slot::Event(event) = event else { unreachable!("it is an event") };
                self.tally.count(event.count_as());
                self.end_if_over();
                return Poll::Ready(Some(event));
            }
            if self.has_ended {
                return Poll::Ready(None);
            }
            // What has arrived comes first: sending a request takes longer than reading a record.
            let may_read = !self.has_response_ended && !self.is_full() && self.unasked < MAX_UNASKED;
            if may_read && let Poll::Ready(event) = self.response.as_mut().poll_next(cx) {
                self.unasked += 1;
                match event {
                    Some(Ok(event)) => self.take(event),
                    Some(Err(error)) => {
                        self.error = Some(error);
                        self.has_response_ended = true;
                    }
                    None => self.has_response_ended = true,
                }
                continue;
            }
            if let Some(asking) = &mut self.asking
                && let Some((slot, event)) = asking.poll(cx, &mut self.tally)
            {
                self.decided(slot, event);
                continue;
            }
            if mem::take(&mut self.unasked) >= MAX_UNASKED {
                continue;
            }
            if self.has_response_ended && self.asking.as_ref().is_none_or(|asking| asking.is_idle()) {
                self.finish();
                continue;
            }
            return Poll::Pending;
        }
    }

    /// Everything was read and asked for.
    fn finish(&mut self) {
        let parser = self.response.parser();
        let (is_complete, ended_by) = (parser.report().is_complete(), parser.report().ended_by());
        let report = self.tally.report_mut();
        if is_complete {
            report.set_complete();
        }
        if ended_by == Some(EarlyEnd::Repetition) {
            report.set_ended_by(EarlyEnd::Repetition);
        }
        self.has_ended = true;
    }

    /// The next item that `pick` takes from the events.
    fn poll_picked<R>(
        &mut self,
        cx: &mut Context<'_>,
        mut pick: impl FnMut(ResponseEvent<T>) -> Option<R>,
    ) -> Poll<Option<Result<R, ResponseError<ClientError>>>> {
        for _ in 0..MAX_EVENTS_PER_POLL {
            match self.poll_event(cx) {
                Poll::Ready(Some(event)) => {
                    if let Some(item) = pick(event) {
                        return Poll::Ready(Some(Ok(item)));
                    }
                }
                Poll::Ready(None) => return Poll::Ready(self.error.take().map(Err)),
                Poll::Pending => return Poll::Pending,
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl<T> Unpin for ExtractionEvents<T> {}

impl<T: DeserializeOwned + Send + 'static> EventStream for ExtractionEvents<T> {
    type Event = ResponseEvent<T>;
    type Error = ResponseError<ClientError>;
    type Parser = ResponseParser<T>;

    /// Turns provider failures and incomplete responses into errors.
    fn poll_pick<R>(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut pick: impl FnMut(ResponseEvent<T>) -> Option<R>,
    ) -> Poll<Option<Result<R, Self::Error>>> {
        let polled = self.get_mut().poll_picked(cx, |event| match ResponseError::of(event) {
            Ok(event) => pick(event).map(Ok),
            Err(error) => Some(Err(error)),
        });
        polled.map(|polled| Some(polled?.and_then(|picked| picked)))
    }

    fn has_ended(&self) -> bool {
        self.has_ended && self.error.is_none()
    }

    fn parser(&self) -> &ResponseParser<T> {
        self.response.parser()
    }
}

impl<T: DeserializeOwned + Send + 'static> Stream for ExtractionEvents<T> {
    type Item = Result<ResponseEvent<T>, ResponseError<ClientError>>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_picked(cx, Some)
    }
}

impl<T: DeserializeOwned + Send + 'static> FusedStream for ExtractionEvents<T> {
    fn is_terminated(&self) -> bool {
        self.has_ended()
    }
}

impl<T> Reporting for ExtractionEvents<T> {
    fn report(&self) -> &Report {
        self.tally.report()
    }
}

impl<T> fmt::Debug for ExtractionEvents<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExtractionEvents").field("response", &self.response).finish_non_exhaustive()
    }
}
