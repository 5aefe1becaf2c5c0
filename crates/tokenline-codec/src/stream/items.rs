//! The good ones only; rejects go to the report.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::stream::{FusedStream, Stream, TryStream};
use pin_project_lite::pin_project;
use tokenline_core::json::Raw;
use tokenline_core::{Diagnostic, Event, Record, Report, ToolCall};

use super::budget::Budget;
use super::{Infallible, JsonlStreamParser, Reporting, StreamError, Strict};

/// The records of a stream, read into `T`, with their places.
pub type Records<S, T = Raw> = Items<S, T, Record<T>>;

/// The records of a stream, read into `T`.
pub type Values<S, T = Raw> = Items<S, T, T>;

/// The tool calls of a stream.
pub type ToolCalls<S> = Values<S, ToolCall>;

pin_project! {
    /// What was delivered of a [`JsonlStreamParser`]: [`Records`], [`Values`] or [`ToolCalls`].
    ///
    /// Rejects and prose are skipped and left in the [`report`](Self::report). An error is the
    /// source's, or that too much was rejected; it comes once, after everything complete, and then the
    /// stream has ended.
    #[must_use = "streams do nothing unless polled"]
    pub struct Items<S: TryStream, T, I> {
        #[pin]
        parser: JsonlStreamParser<S, T>,
        item: fn(Record<T>) -> I,
    }
}

/// What a poll for an item or a reject comes to.
pub(super) type ItemPoll<I, E> = Poll<Option<Result<Result<I, Diagnostic>, StreamError<E>>>>;

impl<S: TryStream, T, I> Items<S, T, I> {
    pub(super) fn new(parser: JsonlStreamParser<S, T>, item: fn(Record<T>) -> I) -> Self {
        Self { parser, item }
    }

    /// The same up to the first reject, which is an error.
    pub fn strict(self) -> Strict<Self> {
        Strict::new(self)
    }

    /// What was delivered and rejected so far.
    #[must_use]
    pub fn report(&self) -> &Report {
        self.parser.report()
    }

    pub(super) fn parser(self: Pin<&mut Self>) -> Pin<&mut JsonlStreamParser<S, T>> {
        self.project().parser
    }
}

impl<S: TryStream<Ok: AsRef<[u8]>>, T, I> Items<S, T, I> {
    /// The items themselves: an error ends the stream and is kept for who asks.
    pub fn infallible(self) -> Infallible<Self> {
        Infallible::new(self)
    }

    /// The next item or reject; prose is skipped. Rejects are left to the caller to count.
    pub(super) fn poll_item(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        budget: &mut Budget,
    ) -> ItemPoll<I, S::Error> {
        loop {
            let item = self.item;
            let polled = match ready!(self.as_mut().parser().poll_event(cx, budget)) {
                None => None,
                Some(Err(error)) => Some(Err(error)),
                Some(Ok(Event::Record(record))) => Some(Ok(Ok(item(record)))),
                Some(Ok(Event::Rejected(diagnostic))) => Some(Ok(Err(diagnostic))),
                Some(Ok(Event::Note(diagnostic))) => {
                    self.as_mut().parser().note(diagnostic);
                    continue;
                }
                Some(Ok(_)) => unreachable!("the reader yields no other event"),
            };
            return Poll::Ready(polled);
        }
    }
}

impl<S: TryStream<Ok: AsRef<[u8]>>, T, I> Stream for Items<S, T, I> {
    type Item = Result<I, StreamError<S::Error>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut budget = Budget::new();
        loop {
            match ready!(self.as_mut().poll_item(cx, &mut budget)) {
                Some(Ok(Ok(item))) => return Poll::Ready(Some(Ok(item))),
                Some(Ok(Err(diagnostic))) => self.as_mut().parser().note(diagnostic),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.parser.size_hint()
    }
}

impl<S: TryStream<Ok: AsRef<[u8]>>, T, I> FusedStream for Items<S, T, I> {
    fn is_terminated(&self) -> bool {
        self.parser.is_terminated()
    }
}

impl<S: TryStream, T, I> Reporting for Items<S, T, I> {
    fn report(&self) -> &Report {
        self.parser.report()
    }
}

impl<S: TryStream, T, I> fmt::Debug for Items<S, T, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Items").field("parser", &self.parser).finish_non_exhaustive()
    }
}
