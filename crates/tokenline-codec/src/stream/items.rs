//! Streams of records only; rejects go to the report.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::stream::{FusedStream, Stream, TryStream};
use pin_project_lite::pin_project;
use tokenline_core::json::Raw;
use tokenline_core::{Event, Record, Report, ToolCall};

use super::{EventStream, JsonlStreamParser, Next, Reporting, StopOnError, StopOnReject};

/// The records of a stream, read into `T`, with their positions.
pub type Records<S, T = Raw> = Items<JsonlStreamParser<S, T>, Record<T>>;

/// The values of a stream's records, read into `T`.
pub type Values<S, T = Raw> = Items<JsonlStreamParser<S, T>, T>;

/// The tool calls of a stream.
pub type ToolCalls<S> = Values<S, ToolCall>;

pin_project! {
    /// One kind of item from a stream: [`Records`], [`Values`] or [`ToolCalls`].
    ///
    /// Skips rejects and prose, and leaves them in the [`report`](Self::report). An error is the source's, or
    /// means that the error budget was exceeded; for a provider's response, also that it failed or is
    /// incomplete. It comes once, after everything complete, and then the stream has ended.
    #[must_use = "streams do nothing unless polled"]
    pub struct Items<A: EventStream, I> {
        #[pin]
        pub(super) events: A,
        pub(super) item: fn(A::Event) -> Option<I>,
    }
}

impl<A: EventStream, I> Items<A, I> {
    /// Picks the item from an event.
    pub fn new(events: A, item: fn(A::Event) -> Option<I>) -> Self {
        Self { events, item }
    }

    /// The next item; `None` at the end. Needs no `StreamExt`. Dropping the future loses nothing.
    pub fn next(&mut self) -> Next<'_, Self>
    where
        Self: Unpin,
    {
        Next::new(self)
    }

    /// The items without `Result`: an error ends the stream and is available afterwards.
    pub fn infallible(self) -> StopOnError<Self> {
        StopOnError::new(self)
    }

    /// The counts and diagnostics so far.
    #[must_use]
    pub fn report(&self) -> &Report {
        self.events.report()
    }

    /// The machine that reads the chunks, for state besides the items: a response's finish reasons and usage.
    #[must_use]
    pub fn parser(&self) -> &A::Parser {
        self.events.parser()
    }
}

impl<S: TryStream<Ok: AsRef<[u8]>>, T, I> Items<JsonlStreamParser<S, T>, I> {
    /// The same items up to the first reject, which is an error.
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
