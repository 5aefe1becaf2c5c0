//! The chunks of a response's body.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum_core::BoxError;
use bytes::Bytes;
use futures_core::{Stream, TryStream};
use pin_project_lite::pin_project;
use tokio::time::{Sleep, sleep};

/// A comment of an event stream, which readers ignore.
const COMMENT: &str = ": keep-alive\n\n";

pin_project! {
    /// The chunks of a stream, and a comment whenever it has been silent for `keep_alive`.
    ///
    /// Drops the stream with its last item: hyper may keep the body until the reader has everything.
    pub(crate) struct StreamBody<S> {
        #[pin]
        source: Option<S>,
        keep_alive: Option<Duration>,
        comment: &'static str,
        // The last chunk ended an event: a comment may follow.
        is_between: bool,
        #[pin]
        timer: Option<Sleep>,
        // The timer has run since the last chunk.
        is_armed: bool,
        failure: Option<BoxError>,
    }
}

impl<S> StreamBody<S> {
    /// Without `keep_alive` there are no comments.
    pub(crate) fn new(source: S, keep_alive: Option<Duration>) -> Self {
        let (source, timer, failure, comment) = (Some(source), None, None, COMMENT);
        Self { source, keep_alive, comment, is_between: true, timer, is_armed: false, failure }
    }

    /// Replaces the comment by this event.
    #[cfg(feature = "gateway")]
    pub(crate) fn with_comment(self, comment: &'static str) -> Self {
        Self { comment, ..self }
    }
}

impl<S: TryStream<Ok: Into<Bytes>, Error: Into<BoxError>>> Stream for StreamBody<S> {
    type Item = Result<Bytes, BoxError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        let Some(source) = this.source.as_mut().as_pin_mut() else {
            return Poll::Ready(this.failure.take().map(Err));
        };
        match source.try_poll_next(cx) {
            Poll::Ready(Some(Ok(chunk))) => {
                *this.is_armed = false;
                let chunk = chunk.into();
                if !chunk.is_empty() {
                    *this.is_between = ends_event(&chunk);
                }
                return Poll::Ready(Some(Ok(chunk)));
            }
            Poll::Ready(None) => {
                this.source.set(None);
                this.timer.set(None);
                return Poll::Ready(None);
            }
            Poll::Ready(Some(Err(error))) => {
                this.source.set(None);
                this.timer.set(None);
                // When a body fails, hyper discards what it has not written yet. While the body is pending, it writes:
                // the error waits for the next poll.
                *this.failure = Some(error.into());
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            Poll::Pending => {}
        }
        let Some(keep_alive) = this.keep_alive.filter(|_| *this.is_between) else { return Poll::Pending };
        match this.timer.as_mut().as_pin_mut() {
            None => this.timer.set(Some(sleep(keep_alive))),
            // `sleep` limits what the clock cannot hold, such as `Duration::MAX`.
            Some(timer) if !*this.is_armed => timer.reset(sleep(keep_alive).deadline()),
            Some(_) => {}
        }
        *this.is_armed = true;
        let timer = this.timer.as_mut().as_pin_mut().expect("set above");
        timer.poll(cx).map(|()| {
            *this.is_armed = false;
            Some(Ok(Bytes::from_static(this.comment.as_bytes())))
        })
    }
}

/// Whether an event stream may go on with another event after this chunk.
pub(crate) fn ends_event(chunk: &[u8]) -> bool {
    [&b"\n\n"[..], b"\n\r\n", b"\r\r"].iter().any(|end| chunk.ends_with(end))
}
