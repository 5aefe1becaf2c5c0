//! The text of an answer, and nothing else.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::stream::{FusedStream, Stream, TryStream};
use pin_project_lite::pin_project;
use serde::de::DeserializeOwned;
use tokenline_codec::{EventStream, Reporting, StopOnError};
use tokenline_core::json::Raw;
use tokenline_core::{Code, Diagnostic, Report};

use super::{ResponseError, ResponseStream};
use crate::{ResponseEvent, ResponseParser};

pin_project! {
    /// The text of an answer's first choice, in pieces as they arrive.
    ///
    /// All of its text: also what would be records or calls. Reasoning, refusals and native calls are not in it. Where
    /// a choice has several texts (content blocks, output items, the answer that a proxy began anew) they follow each
    /// other, each from the start of a line, so that no line is put together from two. That line feed is all that is
    /// added.
    ///
    /// It is the whole text, or an error says that it is not: besides the source's, the provider's and that of an
    /// answer which is not complete, a part of it that could not be read (before what follows it), and an end that
    /// does not prove it whole, such as the token limit. After the error the stream has ended and has let go of its
    /// source. So it can be the source of another parser, and nothing there passes for whole that is not:
    ///
    /// ```
    /// use futures_util::StreamExt;
    /// use tokenline_codec::JsonlStreamParser;
    /// use tokenline_core::{Options, json::Raw};
    /// use tokenline_llm::{ResponseParser, ResponseStream, Provider};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// // The server closes before the provider came to its end.
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
    /// let incomplete = "the answer is incomplete: the stream ended without a finish reason or `[DONE]`";
    /// assert_eq!(error.to_string(), incomplete);
    /// assert!(values.next().await.is_none() && !values.report().is_complete());
    /// # }
    /// ```
    ///
    /// [`records`](ResponseStream::records) and [`tool_calls`](ResponseStream::tool_calls) read the same text and know
    /// more of it. There a part that is missing, or a character that was bad bytes (here it comes as U+FFFD), spoils
    /// its line and not the rest.
    #[must_use = "streams do nothing unless polled"]
    pub struct TextPieces<S: TryStream, T = Raw> {
        #[pin]
        answer: ResponseStream<S, T>,
        // Why the text so far, or what is to follow, is not whole.
        lack: Option<ResponseError<S::Error>>,
        is_finished: bool,
        is_ended: bool,
    }
}

/// The first choice: the only one, unless more were asked for.
const FIRST: u64 = 0;

/// Whether a part of the first choice's text may be missing.
fn is_gap(choice: Option<u64>, diagnostic: &Diagnostic) -> bool {
    match choice {
        // An event that could not be read, of whichever choice it was. One that the end cut off is not the
        // reason why an answer is incomplete, if it is.
        None => diagnostic.code != Code::Truncated,
        Some(choice) => choice == FIRST && diagnostic.code == Code::RecordTooLarge,
    }
}

impl<S: TryStream, T> TextPieces<S, T> {
    /// Of a stream whose parser is set to yield the text alone.
    pub(super) fn new(answer: ResponseStream<S, T>) -> Self {
        Self { answer, lack: None, is_finished: false, is_ended: false }
    }

    /// The pieces themselves: an error ends the stream and is kept for who asks.
    pub fn infallible(self) -> StopOnError<Self>
    where
        Self: TryStream,
    {
        StopOnError::new(self)
    }

    /// What was rejected so far.
    #[must_use]
    pub fn report(&self) -> &Report {
        self.answer.report()
    }

    /// The parser, for what it knows beside the text: finish reasons, usage.
    #[must_use]
    pub fn parser(&self) -> &ResponseParser<T> {
        self.answer.parser()
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
        let polled = this.answer.as_mut().poll_pick(cx, |event| match event {
            ResponseEvent::Text { choice: FIRST, text, .. } => match this.lack.take() {
                None => {
                    *this.is_finished = false;
                    Some(Ok(text))
                }
                Some(lack) => Some(Err(lack)),
            },
            ResponseEvent::Finish { choice: FIRST, reason } => {
                *this.is_finished = true;
                if !reason.is_clean() {
                    // What is left may be worth its while: the usage.
                    this.lack.get_or_insert(ResponseError::Truncated(reason));
                }
                None
            }
            ResponseEvent::Rejected { choice, diagnostic, .. } if is_gap(choice, &diagnostic) => {
                if !*this.is_finished {
                    this.lack.get_or_insert(ResponseError::Incomplete(Box::new(diagnostic)));
                }
                None
            }
            _ => None,
        });
        let piece = match ready!(polled) {
            Some(piece) => Some(piece.unwrap_or_else(Err)),
            None => this.lack.take().map(Err),
        };
        if !matches!(piece, Some(Ok(_))) {
            *this.is_ended = true;
            this.answer.drop_source();
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
        self.answer.report()
    }
}

impl<S: TryStream, T> fmt::Debug for TextPieces<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextPieces")
            .field("answer", &self.answer)
            .field("is_ended", &self.is_ended)
            .finish_non_exhaustive()
    }
}
