//! Records as the chunks of a body.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum_core::BoxError;
use bytes::Bytes;
use futures_core::{Stream, TryStream};
use pin_project_lite::pin_project;

use super::{Entry, IntoEntry, RecordsFormat};
use crate::json_line::json_line;
use crate::sse::{Event, FieldValue};

/// The message of a failure, for the client.
pub(super) type OnError = Box<dyn FnOnce(&(dyn Error + Send + Sync + 'static)) -> String + Send>;

const DONE: FieldValue = FieldValue::from_static("done");
const ERROR: FieldValue = FieldValue::from_static("error");
const RECORD: FieldValue = FieldValue::from_static("record");
const REJECTED: FieldValue = FieldValue::from_static("rejected");

/// Sets the last event id, without an event: from here on, a browser that reconnects can be recognized.
const FIRST_ID: &[u8] = b"id: 0\n\n";

/// Items that one poll may pass over. A source that is always ready must not starve other tasks.
const SKIPPED_ITEMS: u32 = 128;

pin_project! {
    /// Pulls one item from the source for each chunk.
    pub(super) struct Encoder<S> {
        // Dropped with its last item.
        #[pin]
        source: Option<S>,
        format: RecordsFormat,
        on_error: Option<OnError>,
        has_begun: bool,
        // The id of the last event.
        id: u64,
        records: u64,
        rejected: u64,
    }
}

impl<S> Encoder<S> {
    pub(super) fn new(format: RecordsFormat, source: S, on_error: Option<OnError>) -> Self {
        Self { source: Some(source), format, on_error, has_begun: false, id: 0, records: 0, rejected: 0 }
    }
}

impl<S: TryStream<Ok: IntoEntry, Error: Into<BoxError>>> Stream for Encoder<S> {
    type Item = Result<Bytes, BoxError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        let Some(mut source) = this.source.as_mut().as_pin_mut() else { return Poll::Ready(None) };
        let is_sse = *this.format == RecordsFormat::Sse;
        if !*this.has_begun {
            *this.has_begun = true;
            if is_sse {
                return Poll::Ready(Some(Ok(Bytes::from_static(FIRST_ID))));
            }
        }
        let mut event = |name: FieldValue, data: String| {
            *this.id += 1;
            Bytes::from(Event::new(data).with_id(*this.id).with_name(name))
        };
        let mut skipped = 0;
        let failure: BoxError = loop {
            let item = match source.as_mut().try_poll_next(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(item) => item,
            };
            match item.map(|item| item.map(IntoEntry::into_entry)) {
                Some(Ok(Entry::Record(value))) => match json_line(&value) {
                    Ok(mut line) => {
                        *this.records += 1;
                        if is_sse {
                            return Poll::Ready(Some(Ok(event(RECORD, line))));
                        }
                        line.push('\n');
                        return Poll::Ready(Some(Ok(line.into())));
                    }
                    Err(error) => break error.into(),
                },
                Some(Ok(Entry::Rejected(diagnostic))) => {
                    *this.rejected += 1;
                    if is_sse {
                        let data = serde_json::to_string(&diagnostic).expect("its keys are strings");
                        return Poll::Ready(Some(Ok(event(REJECTED, data))));
                    }
                }
                Some(Ok(Entry::Nothing)) => {}
                Some(Ok(Entry::Failed(diagnostic))) => break diagnostic,
                Some(Err(error)) => break error.into(),
                None => {
                    this.source.set(None);
                    if !is_sse {
                        return Poll::Ready(None);
                    }
                    let mut counts = serde_json::json!({"records": *this.records});
                    if S::Ok::HAS_REJECTS {
                        counts["rejected"] = (*this.rejected).into();
                    }
                    return Poll::Ready(Some(Ok(event(DONE, counts.to_string()))));
                }
            }
            skipped += 1;
            if skipped == SKIPPED_ITEMS {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
        };
        this.source.set(None);
        let message = this.on_error.take().map(|on_error| on_error(&*failure));
        if is_sse {
            let message = message.as_deref().unwrap_or("the source of the records failed");
            let data = serde_json::json!({"message": message});
            return Poll::Ready(Some(Ok(event(ERROR, data.to_string()))));
        }
        Poll::Ready(Some(Err(failure)))
    }
}
