//! The next item of a stream.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::future::FusedFuture;
use futures_core::stream::{FusedStream, Stream};

/// The next item of a stream; `None` at its end. Dropping the future loses nothing.
///
/// The streams of this library have a method `next` of their own, which needs no import. It is the same as that of
/// `StreamExt` in `futures-util`.
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct Next<'a, S: ?Sized>(&'a mut S);

impl<'a, S: Stream + Unpin + ?Sized> Next<'a, S> {
    /// Waits for the next item of this stream.
    pub fn new(stream: &'a mut S) -> Self {
        Self(stream)
    }
}

impl<S: Stream + Unpin + ?Sized> Future for Next<'_, S> {
    type Output = Option<S::Item>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut *self.0).poll_next(cx)
    }
}

impl<S: FusedStream + Unpin + ?Sized> FusedFuture for Next<'_, S> {
    fn is_terminated(&self) -> bool {
        self.0.is_terminated()
    }
}
