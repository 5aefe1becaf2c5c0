//! Records up to the first reject.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use futures_core::stream::FusedStream;
use pin_project_lite::pin_project;
use tokenline::{Code, Diagnostic, Event, Record, Report, Reporting};

use super::{JsonLines, JsonLinesError};

/// The records of a request's body, with their lines.
pub type JsonLinesRecords<T> = JsonLinesItems<T, Record<T>>;

/// The values of a request's body.
pub type JsonLinesValues<T> = JsonLinesItems<T, T>;

pin_project! {
    /// [`JsonLinesRecords`] or [`JsonLinesValues`]: items up to the first reject, which is an error. After an error the
    /// stream has ended.
    #[must_use = "streams do nothing unless polled"]
    pub struct JsonLinesItems<T, I> {
        #[pin]
        lines: JsonLines<T>,
        item: fn(Record<T>) -> I,
        // The last line was cut off: by the end of the body, or by an error that is still to come.
        truncated: Option<Diagnostic>,
        has_ended: bool,
    }
}

impl<T, I> JsonLinesItems<T, I> {
    pub(super) fn new(lines: JsonLines<T>, item: fn(Record<T>) -> I) -> Self {
        Self { lines, item, truncated: None, has_ended: false }
    }

    /// The counts and diagnostics so far.
    #[must_use]
    pub fn report(&self) -> &Report {
        self.lines.report()
    }
}

impl<T, I> Stream for JsonLinesItems<T, I> {
    type Item = Result<I, JsonLinesError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        if *this.has_ended {
            return Poll::Ready(None);
        }
        let error = loop {
            match ready!(this.lines.as_mut().poll_next(cx)) {
                Some(Ok(Event::Record(record))) => return Poll::Ready(Some(Ok((this.item)(record)))),
                Some(Ok(Event::Rejected(diagnostic))) if diagnostic.code == Code::Truncated => {
                    *this.truncated = Some(diagnostic);
                }
                Some(Ok(Event::Rejected(diagnostic))) => break Some(diagnostic.into()),
                Some(Ok(_)) => {}
                Some(Err(error)) => break Some(error),
                None => break this.truncated.take().map(JsonLinesError::from),
            }
        };
        *this.has_ended = true;
        Poll::Ready(error.map(Err))
    }
}

impl<T, I> FusedStream for JsonLinesItems<T, I> {
    fn is_terminated(&self) -> bool {
        self.has_ended
    }
}

impl<T, I> Reporting for JsonLinesItems<T, I> {
    fn report(&self) -> &Report {
        self.lines.report()
    }
}

impl<T, I> fmt::Debug for JsonLinesItems<T, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonLinesItems").field("lines", &self.lines).finish_non_exhaustive()
    }
}
