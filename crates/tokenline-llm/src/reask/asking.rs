//! Further requests, beside a response whose events go on.

use std::collections::{HashSet, VecDeque};
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use serde::de::DeserializeOwned;
use tokenline_core::adapter::{Digest, RejectedTexts};
use tokenline_core::{Code, Origin, Reasks, Record, Report};

use super::attempt::{Attempt, Counts, Failed, Found, NextAsk, ask};
use super::options::{Kind, ReaskOptions};
use super::requests::{Item, Setup};
use crate::ResponseEvent;

/// Most events that wait for one that was asked for again, and most items that wait for a request.
const MAX_WAITING: usize = 1024;

/// Further requests, and the events of a response in their order.
pub(crate) struct Asking<T> {
    options: ReaskOptions,
    setup: Arc<Setup>,
    texts: RejectedTexts,
    slots: VecDeque<Slot<T>>,
    waiting: VecDeque<Question<T>>,
    in_flight: Vec<(Question<T>, Asked<T>)>,
    next_slot: u64,
    /// The further requests so far, which the report has as well.
    counts: Reasks,
    /// The texts that were asked for, by their hashes. Each is asked for once: a model in a loop writes the same again, and one
    /// that continues a list may repeat a part of it.
    asked: HashSet<u64>,
    /// Decided events that wait until no record grows.
    late: VecDeque<ResponseEvent<T>>,
    /// The choice and the block of the record that grows, if events say so.
    growing: Option<(u64, u64)>,
    /// Errors of the response: they come after everything that is asked for.
    last: Vec<ResponseEvent<T>>,
    is_closed: bool,
}

/// A request, in a mutex that is never locked, so that the stream is `Sync` although the future is not.
type Asked<T> = Mutex<Pin<Box<dyn Future<Output = Attempt<T>> + Send>>>;

#[expect(clippy::large_enum_variant, reason = "most slots have an event")]
enum Slot<T> {
    Event(ResponseEvent<T>),
    /// The place of an item that was asked for.
    Open(u64),
}

/// An item that is asked for again.
struct Question<T> {
    slot: u64,
    /// The reject, which is final if the requests fail.
    event: ResponseEvent<T>,
    /// The item to ask for: the original, or a later reject in its place.
    item: Item,
    attempts: u32,
    /// Of the last response.
    digest: Option<Digest>,
    reasons: Vec<String>,
}

impl<T> Asking<T> {
    /// Asks for the rejects of a response whose repair hook notes them in `texts`.
    pub(crate) fn new(options: ReaskOptions, setup: Setup, texts: RejectedTexts) -> Self {
        Self {
            options,
            setup: Arc::new(setup),
            texts,
            slots: VecDeque::new(),
            waiting: VecDeque::new(),
            in_flight: Vec::new(),
            next_slot: 0,
            counts: Reasks::default(),
            asked: HashSet::new(),
            late: VecDeque::new(),
            growing: None,
            last: Vec::new(),
            is_closed: false,
        }
    }

    /// Whether events wait for those before them that are asked for.
    pub(crate) fn is_in_place(&self) -> bool {
        self.options.is_in_place
    }

    /// Asks for one kind of item only.
    pub(super) fn set_only(&mut self, only: Kind) {
        self.options.only = Some(only);
    }

    /// Takes the next event of the response.
    pub(crate) fn push(&mut self, event: ResponseEvent<T>) {
        if event
            .diagnostic()
            .is_some_and(|its| matches!(its.code, Code::ProviderError | Code::StreamIncomplete))
        {
            return self.last.push(event);
        }
        let is_wanted = |item: &Item| {
            let kind = if item.is_call() { Kind::ToolCalls } else { Kind::Records };
            let is_skipped = self.options.skips_truncated && item.why().code == Code::Truncated;
            !self.is_closed && !is_skipped && self.options.only.is_none_or(|only| only == kind)
        };
        let Some(item) = Item::of(&event, &self.texts).filter(is_wanted) else {
            return self.slots.push_back(Slot::Event(event));
        };
        if self.exhausted().is_none() && !self.asked.insert(item.digest().hash()) {
            let event = with_attempts(
                event,
                vec!["not asked again, because the same was asked for before".to_owned()],
            );
            return self.slots.push_back(Slot::Event(event));
        }
        self.discard(&event);
        let slot = self.next_slot;
        self.next_slot += 1;
        if self.options.is_in_place {
            self.slots.push_back(Slot::Open(slot));
        }
        let (attempts, digest, reasons) = (0, None, Vec::new());
        self.waiting.push_back(Question { slot, event, item, attempts, digest, reasons });
    }

    /// Ends what has grown: the reject that would end it may not come.
    fn discard(&mut self, event: &ResponseEvent<T>) {
        match *event {
            ResponseEvent::Rejected { choice: Some(choice), block, .. } if self.setup.has_partials => {
                self.slots.push_back(Slot::Event(ResponseEvent::PartialDiscarded { choice, block }));
            }
            ResponseEvent::RejectedCall { choice, number: Some(number), .. }
                if self.setup.has_call_updates =>
            {
                self.slots.push_back(Slot::Event(ResponseEvent::ToolCallDiscarded { choice, number }));
            }
            _ => {}
        }
    }

    /// The next event to yield, if nothing before it is open.
    pub(crate) fn next(&mut self) -> Option<ResponseEvent<T>> {
        if self.growing.is_none()
            && let Some(event) = self.late.pop_front()
        {
            return Some(event);
        }
        let event = match self.slots.pop_front()? {
            Slot::Event(event) => event,
            open @ Slot::Open(_) => {
                self.slots.push_front(open);
                return None;
            }
        };
        self.growing = match event {
            ResponseEvent::Partial { choice, block, .. } => Some((choice, block)),
            ResponseEvent::Record { choice, block, .. }
            | ResponseEvent::PartialDiscarded { choice, block }
            | ResponseEvent::Rejected { choice: Some(choice), block, .. } => {
                self.growing.filter(|growing| *growing != (choice, block))
            }
            _ => self.growing,
        };
        Some(event)
    }

    /// The response has ended, and nothing is asked for any more. Returns whether events are to be yielded yet.
    pub(crate) fn end(&mut self) -> bool {
        self.growing = None;
        let errors = mem::take(&mut self.last);
        self.slots.extend(errors.into_iter().map(Slot::Event));
        !self.slots.is_empty() || !self.late.is_empty()
    }

    /// Begins no more requests, and drops those in flight.
    pub(crate) fn close(&mut self) {
        self.is_closed = true;
        self.fail_all("no more, because the response was closed");
    }

    fn fail_all(&mut self, why: &str) {
        let in_flight = self.in_flight.drain(..).map(|(question, _)| question);
        let open: Vec<_> =
            in_flight.chain(self.waiting.drain(..)).map(|question| question.fail(Some(why))).collect();
        open.into_iter().for_each(|decided| self.decide(decided));
    }

    /// Whether nothing is asked for.
    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.in_flight.is_empty()
    }

    /// Whether nothing is asked for, and nothing is to be yielded.
    pub(crate) fn is_settled(&self) -> bool {
        self.is_idle() && self.slots.is_empty() && self.late.is_empty()
    }

    /// Whether so much waits that no more is to be read.
    pub(crate) fn is_full(&self) -> bool {
        self.slots.len() >= MAX_WAITING || self.waiting.len() >= MAX_WAITING
    }

    /// Puts an event in its slot, or after all others.
    fn decide(&mut self, (slot, event): (u64, ResponseEvent<T>)) {
        let open = self.slots.iter_mut().find(|its| matches!(its, Slot::Open(its) if *its == slot));
        match open {
            Some(open) => *open = Slot::Event(event),
            None => self.late.push_back(event),
        }
    }

    /// Why no further request may begin.
    fn exhausted(&self) -> Option<&'static str> {
        if self.counts.requests >= self.options.max_requests {
            Some("no more, because the limit of requests is reached")
        } else if self.options.max_output_tokens.is_some_and(|max| self.counts.output_tokens >= max) {
            Some("no more, because the limit of output tokens is reached")
        } else {
            None
        }
    }
}

impl<T: DeserializeOwned + Send + 'static> Asking<T> {
    /// Begins requests, and takes what came of those in flight. Returns whether an item is decided.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, report: &mut Report) -> bool {
        loop {
            if let Some(why) = self.exhausted()
                && let Some(question) = self.waiting.pop_front()
            {
                self.decide(question.fail(Some(why)));
                return true;
            }
            while self.in_flight.len() < self.options.max_in_flight
                && self.exhausted().is_none()
                && let Some(question) = self.waiting.pop_front()
            {
                let asked = u64::from(question.attempts == 0);
                self.count(report, |counts| (counts.asked, counts.requests) = (asked, 1));
                let asked = Box::pin(ask(Arc::clone(&self.setup), question.item.clone()));
                self.in_flight.push((question, Mutex::new(asked)));
            }
            let polled = self.in_flight.iter_mut().enumerate().find_map(|(at, (_, asked))| {
                let asked = asked.get_mut().unwrap_or_else(PoisonError::into_inner);
                match asked.as_mut().poll(cx) {
                    Poll::Ready(attempt) => Some((at, attempt)),
                    Poll::Pending => None,
                }
            });
            let Some((at, attempt)) = polled else { return false };
            let (question, _) = self.in_flight.swap_remove(at);
            if let Some(decided) = self.attempted(question, attempt, report) {
                self.decide(decided);
                return true;
            }
        }
    }

    fn count(&mut self, report: &mut Report, add: impl FnOnce(&mut Reasks)) {
        let mut counts = Reasks::default();
        add(&mut counts);
        self.counts += counts;
        report.count_reasks(counts);
    }

    /// Takes the outcome of a request. Returns the event, if the item is decided.
    fn attempted(
        &mut self,
        mut question: Question<T>,
        attempt: Attempt<T>,
        report: &mut Report,
    ) -> Option<(u64, ResponseEvent<T>)> {
        let Attempt { result, counts: Counts { input_tokens, output_tokens, digest } } = attempt;
        self.count(report, |counts| {
            (counts.input_tokens, counts.output_tokens) = (input_tokens, output_tokens);
        });
        question.attempts += 1;
        let Failed { reason, next } = match result {
            Ok(found) => return Some(question.answer(found, self.setup.has_call_updates)),
            Err(failed) => failed,
        };
        question.reasons.push(reason);
        let is_same_item = matches!(&next, NextAsk::Instead(item) if item.digest() == question.item.digest());
        let is_same_response = question.digest.replace(digest) == Some(digest);
        match next {
            NextAsk::Nothing => return Some(question.fail(None)),
            _ if question.attempts >= self.options.attempts => return Some(question.fail(None)),
            _ if is_same_item || is_same_response => {
                return Some(question.fail(Some("no more, because the model wrote the same again")));
            }
            NextAsk::Instead(item) => question.item = item,
            NextAsk::Same => {}
        }
        self.waiting.push_front(question);
        None
    }
}

impl<T> Question<T> {
    /// The record or call in place of the reject.
    fn answer(self, found: Found<T>, has_call_updates: bool) -> (u64, ResponseEvent<T>) {
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
                let record = (its.origin == Origin::Text).then_some(place);
                call.recovered = recovered;
                // The id that the conversation has.
                (call.call_id, call.is_synthetic_id) = (rejected.call_id, rejected.is_synthetic_id);
                let number = number.filter(|_| !has_call_updates);
                ResponseEvent::ToolCall { choice, number, block, call, record }
            }
            _ => unreachable!("records are found for records, and calls for calls"),
        };
        (slot, event)
    }

    /// The final reject, with the reason of each further request.
    fn fail(self, last: Option<&str>) -> (u64, ResponseEvent<T>) {
        let Self { slot, event, mut reasons, .. } = self;
        reasons.extend(last.map(str::to_owned));
        (slot, with_attempts(event, reasons))
    }
}

/// The reject with the outcome of each further request.
fn with_attempts<T>(mut event: ResponseEvent<T>, attempts: Vec<String>) -> ResponseEvent<T> {
    if let Some(diagnostic) = event.diagnostic_mut() {
        *diagnostic = diagnostic.clone().with_attempts(attempts);
    }
    event
}
