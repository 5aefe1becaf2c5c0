//! One kind of what an answer yields, and nothing else.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::stream::{FusedStream, Stream, TryStream};
use pin_project_lite::pin_project;
use serde::de::DeserializeOwned;
use tokenline_codec::{Infallible, Reporting};
use tokenline_core::json::Raw;
use tokenline_core::{Code, Record, Report, ToolCall};

use super::{AnswerError, AnswerStream};
use crate::{AnswerEvent, AnswerParser};

/// The records of an answer's text, of all its choices.
pub type Records<S, T = Raw> = Items<S, T, Record<T>>;

/// The tool calls of an answer, of all its choices.
pub type ToolCalls<S, T = Raw> = Items<S, T, ToolCall>;

pin_project! {
    /// One kind of what an [`AnswerStream`] yields: [`Records`] or [`ToolCalls`].
    ///
    /// What was rejected is left in the [`report`](Self::report). An error is about the answer as
    /// a whole: its source, the provider, that it is not complete, or that too much of it was rejected.
    #[must_use = "streams do nothing unless polled"]
    pub struct Items<S: TryStream, T, I> {
        #[pin]
        stream: AnswerStream<S, T>,
        item: fn(AnswerEvent<T>) -> Option<I>,
    }
}

/// Events of other kinds that one poll skips, for the sake of the other tasks of the thread.
const SKIPPED_EVENTS: usize = 256;

pub(super) fn record<T>(event: AnswerEvent<T>) -> Option<Record<T>> {
    match event {
        AnswerEvent::Record { record, .. } => Some(record),
        _ => None,
    }
}

pub(super) fn tool_call<T>(event: AnswerEvent<T>) -> Option<ToolCall> {
    match event {
        AnswerEvent::ToolCall { call, .. } => Some(call),
        _ => None,
    }
}

impl<S: TryStream, T, I> Items<S, T, I> {
    pub(super) fn new(stream: AnswerStream<S, T>, item: fn(AnswerEvent<T>) -> Option<I>) -> Self {
        Self { stream, item }
    }

    /// Lets go of the source: nothing more will be asked of it.
    pub(super) fn let_go(self: Pin<&mut Self>) {
        self.project().stream.let_go();
    }

    /// The items themselves: an error ends the stream and is kept for who asks.
    ///
    /// ```
    /// use futures_util::StreamExt;
    /// use tokenline_core::Options;
    /// use tokenline_llm::{AnswerParser, AnswerStream, Provider};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// # let body = futures_util::stream::iter([
    /// #     Ok("data: {\"choices\":[{\"delta\":{\"content\":\"{\\\"a\\\":1}\\n\"}}]}\n\n"), Err("reset by peer"),
    /// # ]);
    /// let parser = AnswerParser::<serde_json::Value>::new(Provider::OpenAiChat, Options::lenient());
    /// let mut records = AnswerStream::new(body, parser).records().infallible();
    /// while let Some(record) = records.next().await {
    ///     assert_eq!(record.value["a"], 1);
    /// }
    /// assert_eq!(records.error().unwrap().to_string(), "the source of the answer failed");
    /// assert!(!records.report().is_complete());
    /// # }
    /// ```
    pub fn infallible(self) -> Infallible<Self>
    where
        Self: TryStream,
    {
        Infallible::new(self)
    }

    /// What was delivered and rejected so far.
    #[must_use]
    pub fn report(&self) -> &Report {
        self.stream.report()
    }

    /// The parser, for what it knows beside the events: finish reasons, usage.
    #[must_use]
    pub fn parser(&self) -> &AnswerParser<T> {
        self.stream.parser()
    }
}

impl<S: TryStream, T, I> Reporting for Items<S, T, I> {
    fn report(&self) -> &Report {
        self.stream.report()
    }
}

impl<S, T, I> Stream for Items<S, T, I>
where
    S: TryStream<Ok: AsRef<[u8]>>,
    T: DeserializeOwned,
{
    type Item = Result<I, AnswerError<S::Error>>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        for _ in 0..SKIPPED_EVENTS {
            let item = match ready!(this.stream.as_mut().poll_next(cx)) {
                None => return Poll::Ready(None),
                Some(Err(error)) => Some(Err(error)),
                Some(Ok(AnswerEvent::Rejected { diagnostic, .. }))
                    if diagnostic.code == Code::ProviderError =>
                {
                    Some(Err(AnswerError::Provider(Box::new(diagnostic))))
                }
                Some(Ok(AnswerEvent::Rejected { diagnostic, .. }))
                    if diagnostic.code == Code::StreamIncomplete =>
                {
                    Some(Err(AnswerError::Incomplete(Box::new(diagnostic))))
                }
                Some(Ok(event)) => (this.item)(event).map(Ok),
            };
            if item.is_some() {
                return Poll::Ready(item);
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl<S, T, I> FusedStream for Items<S, T, I>
where
    S: TryStream<Ok: AsRef<[u8]>>,
    T: DeserializeOwned,
{
    fn is_terminated(&self) -> bool {
        self.stream.is_terminated()
    }
}

impl<S: TryStream, T, I> fmt::Debug for Items<S, T, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Items").field("stream", &self.stream).finish_non_exhaustive()
    }
}
