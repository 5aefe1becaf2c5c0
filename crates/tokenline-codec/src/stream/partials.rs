//! The open record of a stream, in its own type.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::stream::{FusedStream, Stream, TryStream};
use pin_project_lite::pin_project;
use serde::de::DeserializeOwned;
use tokenline_core::adapter::{OwnRule, PartialDriver};
use tokenline_core::partial::{Partial, PartialEvent};
use tokenline_core::{Report, Validate};

use super::{Next, Pump, Reporting, StreamError};

pin_project! {
    /// Records in their own type while they grow: for a form or a page that fills live.
    ///
    /// [`next`](Self::next) borrows the partial, which costs the same however large it is. It yields one for each chunk
    /// of the source that brings something new, so a slow consumer sees fewer and larger steps.
    /// [`cloned`](Self::cloned) is a `Stream` of clones.
    ///
    /// Complete records are [validated](super::JsonlStreamParser::with_validator); partials are not.
    #[must_use = "streams do nothing unless polled"]
    pub struct Partials<S: TryStream, T: Partial> {
        #[pin]
        pump: Pump<S, PartialDriver<T>>,
    }
}

type Item<P, T, E> = Option<Result<PartialEvent<P, T>, StreamError<E>>>;

impl<S: TryStream<Ok: AsRef<[u8]>>, T: Partial + DeserializeOwned> Partials<S, T> {
    pub(super) fn new(pump: Pump<S, PartialDriver<T>>) -> Self {
        Self { pump }
    }

    /// Holds each complete record against a validator. One that breaks a rule is rejected. To be called before the
    /// first poll.
    pub fn with_validator(self, validator: impl Validate + Send + Sync + 'static) -> Self {
        Self { pump: self.pump.map(|driver| driver.with_validator(validator)) }
    }

    /// Rejects complete records that a rule of your own finds invalid; see
    /// [`JsonlStreamParser::validated_with`](crate::JsonlStreamParser::validated_with).
    pub fn validated_with(self, rule: impl Fn(&T) -> Result<(), String> + Send + Sync + 'static) -> Self
    where
        T: 'static,
    {
        self.with_validator(OwnRule::new(rule))
    }

    /// The next event; `None` at the end. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Item<&T::Partial, T, S::Error>
    where
        S: Unpin,
    {
        let event = poll_fn(|cx| Pin::new(&mut self.pump).poll_pick(cx, Some)).await?;
        Some(event.map(|event| event.map(|()| self.partial().expect("it has grown"))))
    }

    /// A `Stream` of the same events, with a clone of the partial in each: takes time proportional to its size.
    pub fn cloned(self) -> ClonedPartials<S, T> {
        ClonedPartials { partials: self }
    }

    /// The open record as far as it has arrived.
    #[must_use]
    pub fn partial(&self) -> Option<&T::Partial> {
        self.pump.machine().partial()
    }

    /// The counts and diagnostics so far.
    #[must_use]
    pub fn report(&self) -> &Report {
        self.pump.machine().driver().report()
    }
}

impl<S: TryStream, T: Partial> fmt::Debug for Partials<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Partials").field("driver", self.pump.machine()).finish_non_exhaustive()
    }
}

pin_project! {
    /// The events of [`Partials`], with clones of the partials.
    #[must_use = "streams do nothing unless polled"]
    pub struct ClonedPartials<S: TryStream, T: Partial> {
        #[pin]
        partials: Partials<S, T>,
    }
}

impl<S: TryStream<Ok: AsRef<[u8]>>, T: Partial<Partial: Clone> + DeserializeOwned> ClonedPartials<S, T> {
    /// The next item; `None` at the end. Needs no `StreamExt`. Dropping the future loses nothing.
    pub fn next(&mut self) -> Next<'_, Self>
    where
        Self: Unpin,
    {
        Next::new(self)
    }
}

impl<S: TryStream<Ok: AsRef<[u8]>>, T: Partial<Partial: Clone> + DeserializeOwned> Stream
    for ClonedPartials<S, T>
{
    type Item = Result<PartialEvent<T::Partial, T>, StreamError<S::Error>>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut partials = self.project().partials.project();
        let polled = partials.pump.as_mut().poll_pick(cx, Some);
        let partial = || partials.pump.machine().partial().cloned().expect("it has grown");
        polled.map(|item| item.map(|event| event.map(|event| event.map(|()| partial()))))
    }
}

impl<S: TryStream<Ok: AsRef<[u8]>>, T: Partial<Partial: Clone> + DeserializeOwned> FusedStream
    for ClonedPartials<S, T>
{
    fn is_terminated(&self) -> bool {
        self.partials.pump.is_terminated()
    }
}

impl<S: TryStream<Ok: AsRef<[u8]>>, T: Partial<Partial: Clone> + DeserializeOwned> Reporting
    for ClonedPartials<S, T>
{
    fn report(&self) -> &Report {
        self.partials.report()
    }
}

impl<S: TryStream, T: Partial> fmt::Debug for ClonedPartials<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.partials.fmt(f)
    }
}
