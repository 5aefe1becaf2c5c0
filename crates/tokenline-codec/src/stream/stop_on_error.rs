//! Items without `Result`.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::stream::{FusedStream, Stream, TryStream};
use pin_project_lite::pin_project;
use tokenline_core::Report;

use super::{Next, Reporting};

pin_project! {
    /// The items of a stream, without `Result`: the first error ends it.
    ///
    /// The error is available from [`error`](Self::error) after the loop. Whether everything was read is also
    /// in the report, as [`Report::is_complete`].
    ///
    /// ```
    /// use tokenline_codec::JsonlStreamParser;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let body = futures_util::stream::iter([Ok("{\"a\":1}\n{\"a\":"), Err("reset by peer")]);
    /// let mut values = JsonlStreamParser::<_, serde_json::Value>::new(body).values().infallible();
    /// while let Some(value) = values.next().await {
    ///     assert_eq!(value["a"], 1);
    /// }
    /// assert_eq!(values.error().unwrap().to_string(), "the source failed after 13 bytes: reset by peer");
    /// assert_eq!(values.report().diagnostics()[0].code.as_str(), "truncated");
    /// # }
    /// ```
    #[derive(Debug)]
    #[must_use = "streams do nothing unless polled"]
    pub struct StopOnError<A: TryStream> {
        #[pin]
        stream: A,
        error: Option<A::Error>,
        ended: bool,
    }
}

impl<A: TryStream> StopOnError<A> {
    /// The items of any stream of results.
    pub fn new(stream: A) -> Self {
        Self { stream, error: None, ended: false }
    }

    /// The next item; `None` at the end. Needs no `StreamExt`. Dropping the future loses nothing.
    pub fn next(&mut self) -> Next<'_, Self>
    where
        Self: Unpin,
    {
        Next::new(self)
    }

    /// The error that ended the stream, if any.
    #[must_use]
    pub fn error(&self) -> Option<&A::Error> {
        self.error.as_ref()
    }

    /// The stream of the items.
    #[must_use]
    pub fn get_ref(&self) -> &A {
        &self.stream
    }

    /// Takes the error that ended the stream, if any.
    pub fn take_error(&mut self) -> Option<A::Error> {
        self.error.take()
    }
}

impl<A: TryStream + Reporting> StopOnError<A> {
    /// The counts and diagnostics so far.
    #[must_use]
    pub fn report(&self) -> &Report {
        self.stream.report()
    }
}

impl<A: TryStream> Stream for StopOnError<A> {
    type Item = A::Ok;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<A::Ok>> {
        let this = self.project();
        if *this.ended {
            return Poll::Ready(None);
        }
        let item = match ready!(this.stream.try_poll_next(cx)) {
            Some(Ok(item)) => Some(item),
            end => {
                *this.ended = true;
                *this.error = end.and_then(Result::err);
                None
            }
        };
        Poll::Ready(item)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, if self.ended { Some(0) } else { self.stream.size_hint().1 })
    }
}

impl<A: TryStream> FusedStream for StopOnError<A> {
    fn is_terminated(&self) -> bool {
        self.ended
    }
}

impl<A: TryStream + Reporting> Reporting for StopOnError<A> {
    fn report(&self) -> &Report {
        self.stream.report()
    }
}
