//! Streams that end at the first reject.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::stream::{FusedStream, Stream, TryStream};
use pin_project_lite::pin_project;
use tokenline_core::{Event, Report};

use super::{
    EventStream, Items, JsonlStreamParser, Next, Reporting, StopOnError, StopOnRejectError, StreamError,
};

pin_project! {
    /// [`Records`](crate::Records), [`Values`](crate::Values) or [`ToolCalls`](crate::ToolCalls) up to the
    /// first reject, which is an error. It comes once, in its place; then the stream has ended and has
    /// dropped the source. Prose is not a reject.
    ///
    /// ```
    /// use futures_util::TryStreamExt;
    /// use tokenline_codec::{JsonlStreamParser, StopOnRejectError};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let body = futures_util::stream::iter(["Sure:\n[1]\n[2]\n[3]\n"].map(Ok::<_, std::io::Error>));
    /// let values = JsonlStreamParser::<_, [u8; 1]>::new(body).values().strict();
    /// let error = values.try_collect::<Vec<_>>().await.unwrap_err();
    /// let StopOnRejectError::Rejected(diagnostic) = error else { panic!() };
    /// assert_eq!(diagnostic.to_string(), "2:1: not_an_object: expected an object, found an array");
    /// # }
    /// ```
    #[derive(Debug)]
    #[must_use = "streams do nothing unless polled"]
    pub struct StopOnReject<A> {
        #[pin]
        items: A,
    }
}

impl<S: TryStream<Ok: AsRef<[u8]>>, T, I> StopOnReject<Items<JsonlStreamParser<S, T>, I>> {
    pub(super) fn new(items: Items<JsonlStreamParser<S, T>, I>) -> Self {
        // The stream ends at its first reject anyway.
        let events = items.events.map(|driver| driver.with_quota(|quota| quota.error_budget = None));
        Self { items: Items { events, ..items } }
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
        self.items.report()
    }
}

impl<S: TryStream<Ok: AsRef<[u8]>>, T, I> Stream for StopOnReject<Items<JsonlStreamParser<S, T>, I>> {
    type Item = Result<I, StopOnRejectError<S::Error>>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut items = self.project().items.project();
        let polled = items.events.as_mut().poll_pick(cx, |event| match event {
            Event::Rejected(diagnostic) => Some(Err(diagnostic)),
            event => (items.item)(event).map(Ok),
        });
        Poll::Ready(ready!(polled).map(|polled| match polled {
            Ok(Ok(item)) => Ok(item),
            Ok(Err(diagnostic)) => {
                items.events.stop();
                Err(StopOnRejectError::Rejected(Box::new(diagnostic)))
            }
            Err(StreamError::Source(error)) => Err(StopOnRejectError::Source(error)),
            // Only if the stream was over its budget before it became strict.
            Err(StreamError::TooManyRejected(error)) => {
                Err(StopOnRejectError::Rejected(Box::new(error.last().clone())))
            }
        }))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.items.size_hint()
    }
}

impl<S: TryStream<Ok: AsRef<[u8]>>, T, I> FusedStream for StopOnReject<Items<JsonlStreamParser<S, T>, I>> {
    fn is_terminated(&self) -> bool {
        self.items.is_terminated()
    }
}

impl<A: Reporting> Reporting for StopOnReject<A> {
    fn report(&self) -> &Report {
        self.items.report()
    }
}
