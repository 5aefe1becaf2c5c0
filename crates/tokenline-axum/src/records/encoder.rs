//! Records as the chunks of a body.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum_core::BoxError;
use bytes::Bytes;
use futures_core::{Stream, TryStream};
use pin_project_lite::pin_project;
use tokenline::Report;

use super::{Entry, IntoEntry, RecordsFormat};
use crate::DataLoss;
use crate::json_line::json_line;
use crate::sse::{FieldValue, ServerSentEvent};

/// The report of a stream, if it has one.
pub(super) type ReportOf<S> = Option<fn(&S) -> &Report>;

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
        report: ReportOf<S>,
        format: RecordsFormat,
        on_error: Option<OnError>,
        has_begun: bool,
        // The id of the last event.
        id: u64,
        records: u64,
        rejected: u64,
        // By the rejects so far.
        loss: Option<DataLoss>,
    }
}

impl<S> Encoder<S> {
    pub(super) fn new(
        format: RecordsFormat,
        source: S,
        report: ReportOf<S>,
        on_error: Option<OnError>,
    ) -> Self {
        let source = Some(source);
        let (has_begun, id, records, rejected, loss) = (false, 0, 0, 0, None);
        Self { source, report, format, on_error, has_begun, id, records, rejected, loss }
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
            Bytes::from(ServerSentEvent::new(data).with_id(*this.id).with_name(name))
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
                    *this.loss = DataLoss::worse(this.loss.take(), DataLoss::of(&diagnostic));
                    if is_sse {
                        let data = serde_json::to_string(&diagnostic).expect("its keys are strings");
                        return Poll::Ready(Some(Ok(event(REJECTED, data))));
                    }
                }
                Some(Ok(Entry::Nothing)) => {}
                Some(Ok(Entry::Failed(diagnostic))) => break DataLoss::Failed(Some(diagnostic)).into(),
                Some(Err(error)) => break error.into(),
                None => {
                    let report = this.report.map(|report| report(&source));
                    let loss = DataLoss::worse(report.and_then(DataLoss::in_report), this.loss.take());
                    let is_truncated = match loss {
                        // The last event can say so; a line cannot.
                        Some(DataLoss::Truncated(_)) if is_sse => true,
                        Some(loss) => break loss.into(),
                        None => false,
                    };
                    this.source.set(None);
                    if !is_sse {
                        return Poll::Ready(None);
                    }
                    let mut counts = serde_json::json!({"records": *this.records});
                    if S::Ok::HAS_REJECTS {
                        counts["rejected"] = (*this.rejected).into();
                    }
                    if is_truncated {
                        counts["truncated"] = true.into();
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
