//! The good ones only; rejects go to the report.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::stream::{FusedStream, Stream, TryStream};
use pin_project_lite::pin_project;
use tokenline_core::json::Raw;
use tokenline_core::{Event, Record, Report, ToolCall};

use super::{EventStream, JsonlStreamParser, Reporting, StopOnError, StopOnReject};

/// The records of a stream, read into `T`, with their places.
pub type Records<S, T = Raw> = Items<JsonlStreamParser<S, T>, Record<T>>;

/// The records of a stream, read into `T`.
pub type Values<S, T = Raw> = Items<JsonlStreamParser<S, T>, T>;

/// The tool calls of a stream.
pub type ToolCalls<S> = Values<S, ToolCall>;

pin_project! {
    /// One kind of what a stream yields: [`Records`], [`Values`] or [`ToolCalls`].
    ///
    /// Rejects and prose are skipped and left in the [`report`](Self::report). An error is the
    /// source's, or that too much was rejected; of a provider's response also that it failed or is not
    /// complete. It comes once, after everything complete, and then the stream has ended.
    #[must_use = "streams do nothing unless polled"]
    pub struct Items<A: EventStream, I> {
        #[pin]
        pub(super) events: A,
        pub(super) item: fn(A::Event) -> Option<I>,
    }
}

impl<A: EventStream, I> Items<A, I> {
    /// What `item` picks out of the events.
    pub fn new(events: A, item: fn(A::Event) -> Option<I>) -> Self {
        Self { events, item }
    }

    /// The items themselves: an error ends the stream and can be asked for later.
    pub fn infallible(self) -> StopOnError<Self> {
        StopOnError::new(self)
    }

    /// What was delivered and rejected so far.
    #[must_use]
    pub fn report(&self) -> &Report {
        self.events.report()
    }

    /// The machine that reads the chunks, for what it knows beside the items: finish reasons and usage of
    /// a response.
    #[must_use]
    pub fn parser(&self) -> &A::Parser {
        self.events.parser()
    }
}

impl<S: TryStream<Ok: AsRef<[u8]>>, T, I> Items<JsonlStreamParser<S, T>, I> {
    /// The same up to the first reject, which is an error.
    pub fn strict(self) -> StopOnReject<Self> {
        StopOnReject::new(self)
    }
}

/// The record of an event, if it is one.
pub(super) fn record<T>(event: Event<T>) -> Option<Record<T>> {
    event.into_record()
}

/// The value of a record.
pub(super) fn value<T>(event: Event<T>) -> Option<T> {
    event.into_record().map(|record| record.value)
}

impl<A: EventStream, I> Stream for Items<A, I> {
    type Item = Result<I, A::Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.project();
        this.events.poll_pick(cx, *this.item)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, self.events.has_ended().then_some(0))
    }
}

impl<A: EventStream, I> FusedStream for Items<A, I> {
    fn is_terminated(&self) -> bool {
        self.events.has_ended()
    }
}

impl<A: EventStream, I> Reporting for Items<A, I> {
    fn report(&self) -> &Report {
        self.events.report()
    }
}

impl<A: EventStream + fmt::Debug, I> fmt::Debug for Items<A, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Items").field("events", &self.events).finish_non_exhaustive()
    }
}
