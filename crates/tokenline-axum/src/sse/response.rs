//! The response.

use std::time::Duration;

use axum_core::BoxError;
use axum_core::body::Body;
use axum_core::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_core::TryStream;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};

use crate::headers::{NO_STORE, UNBUFFERED};
use crate::stream_body::StreamBody;

/// The time of silence after which a comment is sent.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// A response that streams server-sent events.
///
/// The stream yields [`ServerSentEvent`](super::ServerSentEvent)s, or bytes that are events already.
///
/// - **Backpressure.** The stream is polled when the connection can take more, and nothing is buffered in between. A
///   reader that does not read stops the stream.
/// - **Cancellation.** When the reader leaves, hyper drops the body, and with it the stream, also while the stream is
///   silent.
/// - **The end.** The stream is dropped with its last item. If it fails, the connection breaks off, so that the reader
///   notices. To give a reason, send an event first.
/// - **Keep-alive.** When the stream has been silent for 15 seconds, a comment keeps proxies from closing the
///   connection.
/// - **Headers.** `content-type: text/event-stream`, `cache-control: no-store, no-transform`, and
///   `x-accel-buffering: no`, which nginx needs to pass events on as they arrive.
///
/// A browser's `EventSource` reconnects when the response ends, unless the page closes it after the last event. It stops
/// when a request with `Last-Event-ID` gets status 204, as [`RecordsFormat`](crate::RecordsFormat) responds.
///
/// Needs tokio's timers, unless [keep-alive](Self::with_keep_alive) is off.
#[derive(Clone, Debug)]
#[must_use = "a response does nothing unless it is returned from a handler"]
pub struct SseResponse<S> {
    events: S,
    keep_alive: Option<Duration>,
}

impl<S> SseResponse<S>
where
    S: TryStream<Ok: Into<Bytes>, Error: Into<BoxError>> + Send + 'static,
{
    /// Streams these events.
    pub fn new(events: S) -> Self {
        Self { events, keep_alive: Some(KEEP_ALIVE) }
    }

    /// Sets the time of silence after which a comment is sent; 15 seconds by default, `None` for never.
    pub fn with_keep_alive(self, interval: impl Into<Option<Duration>>) -> Self {
        Self { keep_alive: interval.into(), ..self }
    }
}

impl<S> IntoResponse for SseResponse<S>
where
    S: TryStream<Ok: Into<Bytes>, Error: Into<BoxError>> + Send + 'static,
{
    fn into_response(self) -> Response {
        let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, NO_STORE), UNBUFFERED];
        (headers, Body::from_stream(StreamBody::new(self.events, self.keep_alive))).into_response()
    }
}
