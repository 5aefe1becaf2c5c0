//! The text of a response.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::stream::{FusedStream, Stream, TryStream};
use pin_project_lite::pin_project;
use serde::de::DeserializeOwned;
use tokenline_codec::{EventStream, Next, Reporting, StopOnError};
use tokenline_core::json::Raw;
use tokenline_core::{Code, Diagnostic, Report};

use super::{ResponseError, ResponseStream};
use crate::{ResponseEvent, ResponseParser};

pin_project! {
    /// The text of a response's first choice, in pieces as they arrive.
    ///
    /// It includes the text of records and calls, but not reasoning, refusals or native calls. If a choice has several
    /// texts (content blocks, output items, a response that a proxy started over), each starts on a new line, so that
    /// no line mixes two of them. That line feed is the only addition.
    ///
    /// The text is complete unless the stream ends with an error:
    ///
    /// - the source or the provider failed, or the response is incomplete;
    /// - a part of it is unreadable; the error comes before the text that follows that part;
    /// - its end does not prove it complete, such as the token limit.
    ///
    /// After the error the stream has ended and dropped its source. So it can be the source of another parser, which
    /// never takes an incomplete text for a complete one:
    ///
    /// ```
    /// use tokenline_codec::JsonlStreamParser;
    /// use tokenline_core::{Options, json::Raw};
    /// use tokenline_llm::{ResponseParser, ResponseStream, Provider};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// // The server closes the connection before the response ends.
    /// let body = futures_util::stream::iter([
    ///     "data: {\"choices\":[{\"delta\":{\"content\":\"{\\\"a\\\":1}\\n{\\\"a\\\"\"}}]}\n\nda",
    ///     "ta: {\"choices\":[{\"delta\":{\"content\":\":2}\\n{\"}}]}\n\n",
    /// ].map(Ok::<_, std::io::Error>));
    ///
    /// let parser = ResponseParser::<Raw>::new(Provider::OpenAiChat, Options::lenient());
    /// let text = ResponseStream::new(body, parser).text();
    /// let mut values = JsonlStreamParser::<_, serde_json::Value>::new(text).values();
    /// assert_eq!(values.next().await.unwrap().unwrap()["a"], 1);
    /// assert_eq!(values.next().await.unwrap().unwrap()["a"], 2);
    /// let error = values.next().await.unwrap().unwrap_err().into_source().unwrap();
    /// let incomplete = "the response is incomplete: the stream ended without a finish reason or `[DONE]`";
    /// assert_eq!(error.to_string(), incomplete);
    /// assert!(values.next().await.is_none() && !values.report().is_complete());
    /// # }
    /// ```
    ///
    /// [`records`](ResponseStream::records) and [`tool_calls`](ResponseStream::tool_calls) read the same text but know
    /// more about it: a missing part, or invalid bytes (U+FFFD in this stream), invalidates only its own line there.
    #[must_use = "streams do nothing unless polled"]
    pub struct TextPieces<S: TryStream, T = Raw> {
        #[pin]
        response: ResponseStream<S, T>,
        // Why the text so far, or what follows, is incomplete.
        failure: Option<ResponseError<S::Error>>,
        is_finished: bool,
        is_ended: bool,
    }
}

/// The first choice: the only one, unless more were requested.
const FIRST: u64 = 0;

/// Whether a part of the first choice's text may be missing.
fn is_gap(choice: Option<u64>, diagnostic: &Diagnostic) -> bool {
    match choice {
        // An unreadable event may belong to any choice. An event truncated by the end is not the reason why a response
        // is incomplete.
        None => diagnostic.code != Code::Truncated,
        Some(choice) => choice == FIRST && diagnostic.code == Code::RecordTooLarge,
    }
}

impl<S: TryStream, T> TextPieces<S, T> {
    /// The text of a stream whose parser emits text only.
    pub(super) fn new(response: ResponseStream<S, T>) -> Self {
        Self { response, failure: None, is_finished: false, is_ended: false }
    }

    /// The pieces without `Result`: an error ends the stream and is kept.
    pub fn infallible(self) -> StopOnError<Self>
    where
        Self: TryStream,
    {
        StopOnError::new(self)
    }

    /// The next item; `None` at the end. Needs no `StreamExt`. Dropping the future loses nothing.
    pub fn next(&mut self) -> Next<'_, Self>
    where
        Self: Stream + Unpin,
    {
        Next::new(self)
    }

    /// Counts of what was rejected so far.
    #[must_use]
    pub fn report(&self) -> &Report {
        self.response.report()
    }

    /// The parser, for what it knows in addition to the text: finish reasons, usage.
    #[must_use]
    pub fn parser(&self) -> &ResponseParser<T> {
        self.response.parser()
    }
}

impl<S, T> Stream for TextPieces<S, T>
where
    S: TryStream<Ok: AsRef<[u8]>>,
    T: DeserializeOwned,
{
    type Item = Result<String, ResponseError<S::Error>>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        if *this.is_ended {
            return Poll::Ready(None);
        }
        let polled = this.response.as_mut().poll_pick(cx, |event| match event {
            ResponseEvent::Text { choice: FIRST, text, .. } => match this.failure.take() {
                None => {
                    *this.is_finished = false;
                    Some(Ok(text))
                }
                Some(failure) => Some(Err(failure)),
            },
            ResponseEvent::Finish { choice: FIRST, reason } => {
                *this.is_finished = true;
                if !reason.is_clean() {
                    // Keep reading: the usage may follow.
                    this.failure.get_or_insert(ResponseError::Truncated(reason));
                }
                None
            }
            ResponseEvent::Rejected { choice, diagnostic, .. } if is_gap(choice, &diagnostic) => {
                if !*this.is_finished {
                    this.failure.get_or_insert(ResponseError::Incomplete(Box::new(diagnostic)));
                }
                None
            }
            _ => None,
        });
        let piece = match ready!(polled) {
            Some(piece) => Some(piece.unwrap_or_else(Err)),
            None => this.failure.take().map(Err),
        };
        if !matches!(piece, Some(Ok(_))) {
            *this.is_ended = true;
            this.response.drop_source();
        }
        Poll::Ready(piece)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, self.is_ended.then_some(0))
    }
}

impl<S, T> FusedStream for TextPieces<S, T>
where
    S: TryStream<Ok: AsRef<[u8]>>,
    T: DeserializeOwned,
{
    fn is_terminated(&self) -> bool {
        self.is_ended
    }
}

impl<S: TryStream, T> Reporting for TextPieces<S, T> {
    fn report(&self) -> &Report {
        self.response.report()
    }
}

impl<S: TryStream, T> fmt::Debug for TextPieces<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextPieces")
            .field("response", &self.response)
            .field("is_ended", &self.is_ended)
            .finish_non_exhaustive()
    }
}
