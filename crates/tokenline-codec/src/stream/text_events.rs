//! Everything in a text, as a stream.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::stream::{FusedStream, Stream, TryStream};
use pin_project_lite::pin_project;
use tokenline_core::{Report, TextEvent, TextParser};

use super::{EventStream, Next, Pump, Reporting, StreamError};

pin_project! {
    /// The records, the tool calls and the text beside them, in order; see
    /// [`JsonlStreamParser::text_events`](super::JsonlStreamParser::text_events).
    #[must_use = "streams do nothing unless polled"]
    pub struct TextEvents<S: TryStream, T> {
        #[pin]
        pump: Pump<S, TextParser<T>>,
    }
}

impl<S: TryStream, T> TextEvents<S, T> {
    pub(super) fn new(pump: Pump<S, TextParser<T>>) -> Self {
        Self { pump }
    }

    /// The counts and diagnostics so far.
    #[must_use]
    pub fn report(&self) -> &Report {
        self.pump.machine().report()
    }
}

impl<S: TryStream<Ok: AsRef<[u8]>>, T> TextEvents<S, T> {
    /// The next item; `None` at the end. Needs no `StreamExt`. Dropping the future loses nothing.
    pub fn next(&mut self) -> Next<'_, Self>
    where
        Self: Unpin,
    {
        Next::new(self)
    }
}

impl<S: TryStream<Ok: AsRef<[u8]>>, T> EventStream for TextEvents<S, T> {
    type Event = TextEvent<T>;
    type Error = StreamError<S::Error>;
    type Parser = TextParser<T>;

    fn poll_pick<R>(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pick: impl FnMut(TextEvent<T>) -> Option<R>,
    ) -> Poll<Option<Result<R, Self::Error>>> {
        self.project().pump.poll_pick(cx, pick)
    }

    fn has_ended(&self) -> bool {
        self.pump.is_terminated()
    }

    fn parser(&self) -> &TextParser<T> {
        self.pump.machine()
    }
}

impl<S: TryStream<Ok: AsRef<[u8]>>, T> Stream for TextEvents<S, T> {
    type Item = Result<TextEvent<T>, StreamError<S::Error>>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_pick(cx, Some)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, self.has_ended().then_some(0))
    }
}

impl<S: TryStream<Ok: AsRef<[u8]>>, T> FusedStream for TextEvents<S, T> {
    fn is_terminated(&self) -> bool {
        self.has_ended()
    }
}

impl<S: TryStream, T> Reporting for TextEvents<S, T> {
    fn report(&self) -> &Report {
        self.pump.machine().report()
    }
}

impl<S: TryStream, T> fmt::Debug for TextEvents<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextEvents").field("parser", self.pump.machine()).finish_non_exhaustive()
    }
}
