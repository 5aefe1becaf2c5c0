//! Responses as streams.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::stream::{FusedStream, Stream, TryStream};
use pin_project_lite::pin_project;

use crate::{AnalysisError, Checked, Received, ResponseReader};

/// An item of an [`AnalysisStream`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AnalysisEvent {
    /// The next piece of the `response` text, to be shown. Never empty.
    Text(String),
    /// The complete, checked response. This is the last event.
    Response(Checked),
}

pin_project! {
    /// A response read from a stream of its text.
    ///
    /// It yields the `response` text as it grows, and the complete, checked response at the end; or an error, after
    /// which it has ended and dropped its source. It is lazy, and never restarts its source.
    ///
    /// ```
    /// use futures_util::{StreamExt, stream};
    /// use tokenline_chat_analysis::{AnalysisEvent, AnalysisStream};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// // Any stream of text, such as `text()` of a response in `tokenline::llm`.
    /// let text = stream::iter([
    ///     "{\"response\": \"A 529 plan ",
    ///     "is a good start.\", \"analysis\": {\"subjects\": [], \"summ",
    ///     "aryUpdate\": \"User asked about college savings.\"}}",
    /// ].map(Ok::<_, std::io::Error>));
    ///
    /// let mut events = AnalysisStream::new(text);
    /// let mut shown = Vec::new();
    /// while let Some(event) = events.next().await {
    ///     match event? {
    ///         AnalysisEvent::Text(text) => shown.push(text),
    ///         AnalysisEvent::Response(checked) => assert!(checked.response.analysis.subjects.is_empty()),
    ///         _ => {}
    ///     }
    /// }
    /// assert_eq!(shown, ["A 529 plan ", "is a good start."]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use = "streams do nothing unless polled"]
    pub struct AnalysisStream<S> {
        #[pin]
        source: Option<S>,
        reader: Option<ResponseReader>,
    }
}

/// Pieces read per poll without anything to yield, in fairness to other tasks: the analysis yields no text.
const MAX_SILENT_PIECES: usize = 64;

impl<S> AnalysisStream<S> {
    /// Reads the response whose text `source` yields.
    pub fn new(source: S) -> Self {
        Self { source: Some(source), reader: Some(ResponseReader::new()) }
    }

    /// The text received so far; `None` after the last item.
    #[must_use]
    pub fn received(&self) -> Option<&Received> {
        Some(self.reader.as_ref()?.received())
    }
}

impl<S> Stream for AnalysisStream<S>
where
    S: TryStream<Ok: AsRef<str>>,
{
    type Item = Result<AnalysisEvent, AnalysisError<S::Error>>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        for _ in 0..MAX_SILENT_PIECES {
            let (Some(source), Some(reader)) = (this.source.as_mut().as_pin_mut(), this.reader.as_mut())
            else {
                return Poll::Ready(None);
            };
            let piece = if reader.has_failed() {
                // Stops reading; `finish` returns the error.
                Poll::Ready(None)
            } else {
                source.try_poll_next(cx)
            };
            let end = match piece {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Ok(piece))) => match reader.push(piece.as_ref()) {
                    Ok("") => continue,
                    Ok(text) => return Poll::Ready(Some(Ok(AnalysisEvent::Text(text.to_owned())))),
                    Err(error) => Err(error.into()),
                },
                Poll::Ready(Some(Err(error))) => {
                    let received = this.reader.take().map(ResponseReader::into_received).unwrap_or_default();
                    Err(AnalysisError::Source { error, received })
                }
                Poll::Ready(None) => match this.reader.take().map(ResponseReader::finish) {
                    Some(Ok(checked)) => Ok(AnalysisEvent::Response(checked)),
                    Some(Err(error)) => Err(error.into()),
                    None => return Poll::Ready(None),
                },
            };
            *this.reader = None;
            this.source.set(None);
            return Poll::Ready(Some(end));
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl<S> FusedStream for AnalysisStream<S>
where
    S: TryStream<Ok: AsRef<str>>,
{
    fn is_terminated(&self) -> bool {
        self.source.is_none()
    }
}

impl<S> fmt::Debug for AnalysisStream<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnalysisStream")
            .field("reader", &self.reader)
            .field("is_open", &self.source.is_some())
            .finish_non_exhaustive()
    }
}
