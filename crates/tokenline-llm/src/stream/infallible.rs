//! Items without `Result`.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::stream::{FusedStream, Stream, TryStream};
use pin_project_lite::pin_project;
use serde::de::DeserializeOwned;
use tokenline_core::Report;

use super::{AnswerError, Items};
use crate::AnswerParser;

pin_project! {
    /// The items of an answer, without `Result`: an error ends the stream.
    ///
    /// It is not lost: look at [`error`](Self::error) after the loop. Whether the answer came to
    /// its end is also in the report, as [`Report::is_complete`].
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
    #[must_use = "streams do nothing unless polled"]
    pub struct Infallible<S: TryStream, T, I> {
        #[pin]
        items: Items<S, T, I>,
        error: Option<AnswerError<S::Error>>,
        is_ended: bool,
    }
}

impl<S: TryStream, T, I> Infallible<S, T, I> {
    pub(super) fn new(items: Items<S, T, I>) -> Self {
        Self { items, error: None, is_ended: false }
    }

    /// The error that ended the stream, if one did.
    #[must_use]
    pub fn error(&self) -> Option<&AnswerError<S::Error>> {
        self.error.as_ref()
    }

    /// What was delivered and rejected so far.
    #[must_use]
    pub fn report(&self) -> &Report {
        self.items.report()
    }

    /// The parser, for what it knows beside the events: finish reasons, usage.
    #[must_use]
    pub fn parser(&self) -> &AnswerParser<T> {
        self.items.parser()
    }
}

impl<S, T, I> Stream for Infallible<S, T, I>
where
    S: TryStream<Ok: AsRef<[u8]>>,
    T: DeserializeOwned,
{
    type Item = I;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<I>> {
        let this = self.project();
        if *this.is_ended {
            return Poll::Ready(None);
        }
        match ready!(this.items.poll_next(cx)) {
            Some(Ok(item)) => Poll::Ready(Some(item)),
            end => {
                *this.is_ended = true;
                *this.error = end.and_then(Result::err);
                Poll::Ready(None)
            }
        }
    }
}

impl<S, T, I> FusedStream for Infallible<S, T, I>
where
    S: TryStream<Ok: AsRef<[u8]>>,
    T: DeserializeOwned,
{
    fn is_terminated(&self) -> bool {
        self.is_ended
    }
}

impl<S: TryStream, T, I> fmt::Debug for Infallible<S, T, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Infallible").field("items", &self.items).finish_non_exhaustive()
    }
}
