//! The events of a response, in which rejects are asked for again.

use std::fmt;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::stream::{FusedStream, Stream};
use serde::de::DeserializeOwned;
use tokenline_codec::{EventStream, Items, Next, Reporting};
use tokenline_core::adapter::{CountAs, QuotaUnit, StopAfter, Tally};
use tokenline_core::json::Raw;
use tokenline_core::{Code, Diagnostic, EarlyEnd, Limits, Record, Report, ToolCall};

use super::asking::Asking;
use super::options::Kind;
use crate::client::{ClientError, ResponseBody};
use crate::{ResponseError, ResponseEvent, ResponseParser, ResponseStream};

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
    error: Option<ResponseError<ClientError>>,
    tally: Tally,
    has_ended: bool,
}

/// The records of an [extraction](super::Extraction).
pub type ExtractionRecords<T = Raw> = Items<ExtractionEvents<T>, Record<T>>;

/// The tool calls of an [extraction](super::Extraction).
pub type ExtractionToolCalls<T = Raw> = Items<ExtractionEvents<T>, ToolCall>;

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
        asking: Option<Asking<T>>,
    ) -> Self {
        let mut tally = Tally::new(limits);
        tally.set_quota(|own| *own = quota);
        let response = Box::pin(response);
        let asking = asking.map(Box::new);
        let mut events = Self {
            response,
            has_response_ended: false,
            unasked: 0,
            asking,
            error: None,
            tally,
            has_ended: false,
        };
        events.end_if_over();
        events
    }

    /// Ends the stream if a quota is reached. At once: there may be no next poll.
    fn end_if_over(&mut self) {
        if self.tally.is_over() {
            self.error = self.tally.too_many_rejected().cloned().map(ResponseError::TooManyRejected);
            self.end();
        }
    }

    /// Drops what is left, and closes all connections.
    fn end(&mut self) {
        self.has_ended = true;
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
        self.pick_only(QuotaUnit::Records, Kind::Records);
        Items::new(self, |event| match event {
            ResponseEvent::Record { record, .. } => Some(record),
            _ => None,
        })
    }

    /// The tool calls. Rejects only appear in the report. Calls in a text are read if the options say so; see
    /// [`TextMode`](crate::TextMode).
    pub fn tool_calls(mut self) -> ExtractionToolCalls<T> {
        self.pick_only(QuotaUnit::ToolCalls, Kind::ToolCalls);
        Items::new(self, |event| match event {
            ResponseEvent::ToolCall { call, .. } => Some(call),
            _ => None,
        })
    }

    /// Asks for one kind only. A quota counts items of that kind.
    fn pick_only(&mut self, unit: QuotaUnit, kind: Kind) {
        self.tally.set_quota(|quota| quota.counted = unit);
        if let Some(asking) = &mut self.asking {
            asking.set_only(kind);
        }
        self.end_if_over();
    }

    /// Closes the response, and all further requests. What was complete still comes, and what was asked for is a reject; then
    /// the stream ends.
    pub fn close(&mut self) {
        self.response.as_mut().close();
        if let Some(asking) = &mut self.asking {
            asking.close();
        }
    }

    /// The next event; `None` at the end, when the error may still have to be returned.
    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<ResponseEvent<T>>> {
        loop {
            if let Some(event) = self.asking.as_mut().and_then(|asking| asking.next()) {
                return Poll::Ready(Some(self.counted(event)));
            }
            if self.has_ended {
                return Poll::Ready(None);
            }
            // What has arrived comes first: sending a request takes longer than reading a record.
            let is_full = self.asking.as_ref().is_some_and(|asking| asking.is_full());
            let may_read = !self.has_response_ended && !is_full && self.unasked < MAX_UNASKED;
            if may_read && let Poll::Ready(event) = self.response.as_mut().poll_next(cx) {
                match (event, &mut self.asking) {
                    (Some(Ok(event)), None) => return Poll::Ready(Some(self.counted(event))),
                    (Some(Ok(event)), Some(asking)) => {
                        self.unasked += 1;
                        asking.push(event);
                    }
                    (Some(Err(error)), _) => {
                        self.error = Some(error);
                        self.has_response_ended = true;
                    }
                    (None, _) => self.has_response_ended = true,
                }
                continue;
            }
            let report = self.tally.report_mut();
            if self.asking.as_mut().is_some_and(|asking| asking.poll(cx, report)) {
                continue;
            }
            if mem::take(&mut self.unasked) >= MAX_UNASKED {
                continue;
            }
            if self.has_response_ended && self.asking.as_ref().is_none_or(|asking| asking.is_idle()) {
                if !self.asking.as_mut().is_some_and(|asking| asking.end()) {
                    self.finish();
                }
                continue;
            }
            return Poll::Pending;
        }
    }

    /// Counts an event that is yielded.
    fn counted(&mut self, event: ResponseEvent<T>) -> ResponseEvent<T> {
        self.tally.count(event.count_as());
        self.end_if_over();
        event
    }

    /// Everything was read and asked for.
    fn finish(&mut self) {
        let report = self.response.report();
        let (is_complete, ended_by) = (report.is_complete(), report.ended_by());
        // That the source failed, or was closed, is no event.
        if !self.tally.report().by_code().contains_key(&Code::StreamIncomplete) {
            let is_incomplete = |its: &&Diagnostic| its.code == Code::StreamIncomplete;
            for diagnostic in report.rejects().filter(is_incomplete) {
                self.tally.count(CountAs::Diagnostic(diagnostic));
            }
        }
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
