//! Streams of records as responses.

mod accept;
mod encoder;
mod entry;
mod format;

use std::error::Error;
use std::fmt;
use std::time::Duration;

use axum_core::BoxError;
use axum_core::body::Body;
use axum_core::response::{IntoResponse, Response};
use futures_core::TryStream;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use serde::Serialize;
use tokenline::Reporting;

use crate::headers::{NO_STORE, UNBUFFERED};
use crate::sse::KEEP_ALIVE;
use crate::stream_body::StreamBody;
use encoder::{Encoder, OnError, ReportOf};
pub use entry::{Entry, IntoEntry, PlainValue, PlainValues};
pub use format::{RecordsFormat, RecordsFormatRejection};

/// A response that streams records as they are completed, as NDJSON or server-sent events.
///
/// The stream yields `Result`s of
///
/// - [`Record`](tokenline::Record): `JsonlStreamParser::records()`, `ResponseStream::records()`;
/// - events, for rejects as well: a `JsonlStreamParser`, a `ResponseStream` or [`JsonLines`](crate::JsonLines);
/// - plain values, with [`from_values`](Self::from_values);
/// - [`Entry`], for anything else, with [`from_entries`](Self::from_entries).
///
/// ```
/// use axum::extract::State;
/// # use axum::http::StatusCode;
/// use axum::response::IntoResponse;
/// use schemars::JsonSchema;
/// use serde::{Deserialize, Serialize};
/// use tokenline::{ChatRequest, LlmClient, Validated};
/// use tokenline_axum::{RecordsFormat, RecordsResponse};
///
/// #[derive(Deserialize, JsonSchema, Serialize)]
/// struct Definition {
///     entity: String,
///     definition: String,
/// }
///
/// # struct AppError;
/// # impl<E: std::error::Error> From<E> for AppError { fn from(_: E) -> Self { Self } }
/// # impl IntoResponse for AppError { fn into_response(self) -> axum::response::Response { StatusCode::BAD_GATEWAY.into_response() } }
/// // `AppError` is the application's own, for what fails before the first record.
/// async fn definitions(format: RecordsFormat, State(model): State<LlmClient>) -> Result<impl IntoResponse, AppError> {
///     let request = ChatRequest::new("gpt-5-mini").user("What is in a cell?");
///     let request = model.stream(&request)?.typed::<Definition>().validated()?;
///     Ok(RecordsResponse::new(format, request.send().await?.records()))
/// }
/// # let _ = axum::Router::new().route("/", axum::routing::get(definitions));
/// ```
///
/// # Formats
///
/// **NDJSON** has one line of JSON for each record, and nothing else.
///
/// **Server-sent events** have increasing ids, and these names:
///
/// | event | data |
/// |---|---|
/// | `record` | the record's value |
/// | `rejected` | the diagnostic of a reject, if the stream has rejects: `{"code":"malformed_json","line":3,...}` as `tokenline parse --emit events` writes it |
/// | `done` | the last event: `{"records":8}`, with `"rejected":1` if the stream has rejects, and `"truncated":true` if it was cut off |
/// | `error` | the last event if the response failed: `{"message":"..."}` |
///
/// A page should close its `EventSource` at `done` and `error`. One that does not reconnects, and is
/// [rejected](RecordsFormat#reconnects), so that the model is not asked twice. The listeners of `error` also receive the
/// errors of the connection, which have no `data`.
///
/// A [`Raw`](tokenline::json::Raw) value is sent as written: number literals, escapes and the order of members are
/// unchanged. Inside another type it is written like any value.
///
/// # Failures
///
/// A response does not end like a complete one if something is missing, also where the stream does not yield rejects:
///
/// | | server-sent events | NDJSON |
/// |---|---|---|
/// | the source or the provider failed, or a part cannot be read | `error` | breaks off |
/// | cut off, such as by the token limit | `done`, with `"truncated":true` | breaks off |
///
/// [`DataLoss`](crate::DataLoss) has the details. An invalid record is not a failure, nor is a bad line in the body of
/// a request.
///
/// The records that were complete come first. An NDJSON client that lags behind may not receive the last of them. The
/// text of the error may hold private things, and goes to [`on_error`](Self::on_error) only.
///
/// # Backpressure and cancellation
///
/// The stream is polled when the connection can take more. So a slow reader slows the model down: between both there
/// is one record, and the buffers of hyper and the sockets. A reader that leaves drops the stream, which closes the
/// connection to the model, also while the model is silent.
///
/// The headers are those of an [`SseResponse`](crate::sse::SseResponse). Comments keep silent event streams alive,
/// which needs tokio's timers.
#[must_use = "a response does nothing unless it is returned from a handler"]
pub struct RecordsResponse<S> {
    format: RecordsFormat,
    records: S,
    report: ReportOf<S>,
    on_error: Option<OnError>,
    keep_alive: Option<Duration>,
}

impl<S> RecordsResponse<S>
where
    S: TryStream<Ok: IntoEntry, Error: Into<BoxError>> + Send + 'static,
{
    /// Sends the records of a stream, and its rejects if it yields them. At the end, its report decides whether the
    /// response is complete.
    pub fn new(format: RecordsFormat, records: S) -> Self
    where
        S: Reporting,
    {
        Self { report: Some(S::report), ..Self::from_entries(format, records) }
    }

    /// Sends a stream that has no report, such as one that was mapped. It is complete unless it yields an error,
    /// [`Entry::Failed`] or the rejects in [`DataLoss`](crate::DataLoss). Records alone do not show whether a response
    /// was cut off: for [`Record`](tokenline::Record)s, prefer [`new`](Self::new).
    pub fn from_entries(format: RecordsFormat, entries: S) -> Self {
        Self { format, records: entries, report: None, on_error: None, keep_alive: Some(KEEP_ALIVE) }
    }

    /// Sets a closure that is called if the response ends with `error`, or breaks off: to log the reason, and to choose
    /// the message for the client. NDJSON has no place for the message. By default it is the same for all errors.
    ///
    /// The error is that of the stream, a [`DataLoss`](crate::DataLoss), or why a record cannot be written as JSON.
    ///
    /// ```
    /// # use tokenline::{JsonlStreamParser, json::Raw};
    /// # use tokenline_axum::{RecordsFormat, RecordsResponse};
    /// # let body = futures_util::stream::iter(["{}\n"].map(Ok::<_, std::io::Error>));
    /// # let records = JsonlStreamParser::<_, Raw>::new(body).records();
    /// let response = RecordsResponse::new(RecordsFormat::Sse, records).on_error(|error| {
    ///     eprintln!("{error}");
    ///     "the model is overloaded; try again in a minute".to_owned()
    /// });
    /// # let _ = response;
    /// ```
    pub fn on_error(
        self,
        message: impl FnOnce(&(dyn Error + Send + Sync + 'static)) -> String + Send + 'static,
    ) -> Self {
        Self { on_error: Some(Box::new(message)), ..self }
    }

    /// Sets the time of silence after which an event stream sends a comment; 15 seconds by default, `None` for never.
    pub fn with_keep_alive(self, interval: impl Into<Option<Duration>>) -> Self {
        Self { keep_alive: interval.into(), ..self }
    }
}

impl<S> RecordsResponse<PlainValues<S>>
where
    S: TryStream<Ok: Serialize + 'static, Error: Into<BoxError>> + Send + 'static,
{
    /// Sends a stream of plain values. It is complete unless it yields an error.
    ///
    /// ```
    /// use tokenline::JsonlStreamParser;
    /// use tokenline_axum::{RecordsFormat, RecordsResponse};
    ///
    /// # let body = futures_util::stream::iter(["{\"a\":1}\n"].map(Ok::<_, std::io::Error>));
    /// let values = JsonlStreamParser::<_, serde_json::Value>::new(body).values();
    /// let response = RecordsResponse::from_values(RecordsFormat::Ndjson, values);
    /// # let _ = response;
    /// ```
    pub fn from_values(format: RecordsFormat, values: S) -> Self {
        Self::from_entries(format, PlainValues::new(values))
    }
}

impl<S> IntoResponse for RecordsResponse<S>
where
    S: TryStream<Ok: IntoEntry, Error: Into<BoxError>> + Send + 'static,
{
    fn into_response(self) -> Response {
        let Self { format, records, report, on_error, keep_alive } = self;
        let keep_alive = keep_alive.filter(|_| format == RecordsFormat::Sse);
        let body = StreamBody::new(Encoder::new(format, records, report, on_error), keep_alive);
        let headers = [(CONTENT_TYPE, format.content_type()), (CACHE_CONTROL, NO_STORE), UNBUFFERED];
        (headers, Body::from_stream(body)).into_response()
    }
}

impl<S: fmt::Debug> fmt::Debug for RecordsResponse<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordsResponse")
            .field("format", &self.format)
            .field("records", &self.records)
            .field("keep_alive", &self.keep_alive)
            .finish_non_exhaustive()
    }
}
