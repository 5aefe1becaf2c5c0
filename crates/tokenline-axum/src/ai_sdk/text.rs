//! The text streams that `useObject`, `useCompletion` and `TextStreamChatTransport` read.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum_core::BoxError;
use axum_core::body::Body;
use axum_core::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_core::{Stream, TryStream};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use pin_project_lite::pin_project;
use serde::Serialize;
use tokenline::{Record, Reporting};

use crate::DataLoss;
use crate::headers::{NO_STORE, UNBUFFERED};
use crate::json_line::json_line;
use crate::stream_body::StreamBody;

/// A text stream as a response: `text/plain; charset=utf-8`, piece by piece.
///
/// The text of a response is [`ResponseStream::text`](tokenline::ResponseStream::text). `useObject` reads it as one
/// JSON document that grows, `useCompletion` (with `streamProtocol: 'text'`) and `useChat` (with
/// `TextStreamChatTransport`) as text. To show validated records only, use [`JsonArray`].
///
/// An error of the stream breaks the body off instead of ending it, so that the page does not take a part for the
/// whole; [`on_error`](Self::on_error) receives it. The text of a response ends
/// with an error unless it is complete, as [`DataLoss`] says. The next piece is made when the client has read the one before. If the client leaves, the stream is dropped.
///
/// ```no_run
/// # use tokenline::{ChatRequest, LlmClient};
/// # use tokenline_axum::ai_sdk::TextResponse;
/// use axum_core::response::IntoResponse;
///
/// # async fn text(client: LlmClient, request: ChatRequest) -> Result<impl IntoResponse, Box<dyn std::error::Error>> {
/// let response = client.stream(&request)?.send().await?;
/// Ok(TextResponse::new(response.text()))
/// # }
/// ```
#[must_use = "it does nothing until it is read"]
pub struct TextResponse<S> {
    pieces: S,
    on_error: Option<OnError>,
}

type OnError = Box<dyn FnOnce(&(dyn Error + Send + Sync + 'static)) + Send>;

impl<S> TextResponse<S> {
    /// A response with these pieces of text.
    pub fn new(pieces: S) -> Self {
        Self { pieces, on_error: None }
    }

    /// Sets a closure that is called with the error that breaks the response off, to log it.
    pub fn on_error(self, log: impl FnOnce(&(dyn Error + Send + Sync + 'static)) + Send + 'static) -> Self {
        Self { on_error: Some(Box::new(log)), ..self }
    }
}

impl<S, T, E> IntoResponse for TextResponse<S>
where
    S: Stream<Item = Result<T, E>> + Send + 'static,
    T: Into<Bytes>,
    E: Into<BoxError>,
{
    fn into_response(self) -> Response {
        let headers = [
            (CONTENT_TYPE, "text/plain; charset=utf-8"),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (CACHE_CONTROL, NO_STORE),
            UNBUFFERED,
        ];
        let pieces = LoggedPieces { pieces: self.pieces, on_error: self.on_error };
        (headers, Body::from_stream(StreamBody::new(pieces, None))).into_response()
    }
}

impl<S: fmt::Debug> fmt::Debug for TextResponse<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextResponse").field("pieces", &self.pieces).finish_non_exhaustive()
    }
}

pin_project! {
    /// Pieces whose error is logged.
    struct LoggedPieces<S> {
        #[pin]
        pieces: S,
        on_error: Option<OnError>,
    }
}

impl<S: TryStream<Error: Into<BoxError>>> Stream for LoggedPieces<S> {
    type Item = Result<S::Ok, BoxError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.project();
        let piece = ready!(this.pieces.try_poll_next(cx));
        Poll::Ready(piece.map(|piece| {
            piece.map_err(|error| {
                let error = error.into();
                if let Some(log) = this.on_error.take() {
                    log(&*error);
                }
                error
            })
        }))
    }
}

pin_project! {
    /// Records as the elements of one JSON array that fills: what `useObject` with the schema of an array reads.
    ///
    /// The stream yields pieces of the array's text, each with one whole element, so the page never shows a part of a
    /// record, and none that was rejected. [`into_response`](IntoResponse::into_response) sends it as [`TextResponse`].
    ///
    /// The array ends only if the list did. If the source fails, or the report says that something is missing (see
    /// [`DataLoss`]), such as what comes after the token limit, the stream ends with an error, and the body breaks off
    /// inside the array. [`on_error`](Self::on_error) receives the reason.
    ///
    /// ```
    /// use futures_util::TryStreamExt;
    /// use tokenline::JsonlStreamParser;
    /// use tokenline_axum::ai_sdk::JsonArray;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let lines = ["{\"river\":\"Rhine\"}\n{\"riv", "er\":\"Po\"}\n"].map(Ok::<_, std::io::Error>);
    /// let records = JsonlStreamParser::<_, serde_json::Value>::new(futures_util::stream::iter(lines)).records();
    /// let pieces: Vec<String> = JsonArray::new(records).try_collect().await?;
    /// assert_eq!(pieces, ["[", r#"{"river":"Rhine"}"#, r#",{"river":"Po"}"#, "]"]);
    /// # Ok(())
    /// # }
    /// ```
    #[derive(Debug)]
    #[must_use = "streams do nothing unless polled"]
    pub struct JsonArray<S> {
        // `None` once it has ended.
        #[pin]
        records: Option<S>,
        has_begun: bool,
        elements: u64,
    }
}

/// Why an array is incomplete.
#[derive(Debug)]
#[non_exhaustive]
pub enum JsonArrayError<E> {
    /// The stream of records failed.
    Records(E),
    /// Records may be missing: the list was cut off, or a part of the response cannot be read.
    DataLoss(DataLoss),
    /// A record cannot be written as JSON.
    Serialize(serde_json::Error),
}

impl<S> JsonArray<S> {
    /// An array of these records.
    pub fn new(records: S) -> Self {
        Self { records: Some(records), has_begun: false, elements: 0 }
    }

    /// The response, with a closure that is called with the error that breaks it off, to log it.
    ///
    /// ```
    /// # use tokenline::{JsonlStreamParser, json::Raw};
    /// # use tokenline_axum::ai_sdk::JsonArray;
    /// # let body = futures_util::stream::iter(["{}\n"].map(Ok::<_, std::io::Error>));
    /// # let records = JsonlStreamParser::<_, Raw>::new(body).records();
    /// let response = JsonArray::new(records).on_error(|error| eprintln!("{error}"));
    /// # let _ = response;
    /// ```
    pub fn on_error(
        self,
        log: impl FnOnce(&(dyn Error + Send + Sync + 'static)) + Send + 'static,
    ) -> TextResponse<Self> {
        TextResponse::new(self).on_error(log)
    }
}

impl<S, T, E> Stream for JsonArray<S>
where
    S: Stream<Item = Result<Record<T>, E>> + Reporting,
    T: Serialize + 'static,
{
    type Item = Result<String, JsonArrayError<E>>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        let Some(mut records) = this.records.as_mut().as_pin_mut() else { return Poll::Ready(None) };
        if !std::mem::replace(this.has_begun, true) {
            return Poll::Ready(Some(Ok("[".to_owned())));
        }
        let polled = ready!(records.as_mut().poll_next(cx));
        let piece = match polled {
            Some(Ok(record)) => match json_line(&record.value) {
                Ok(json) => {
                    *this.elements += 1;
                    let comma = if *this.elements > 1 { "," } else { "" };
                    return Poll::Ready(Some(Ok(format!("{comma}{json}"))));
                }
                Err(error) => Err(JsonArrayError::Serialize(error)),
            },
            Some(Err(error)) => Err(JsonArrayError::Records(error)),
            None => match DataLoss::in_report(records.report()) {
                Some(loss) => Err(JsonArrayError::DataLoss(loss)),
                None => Ok("]".to_owned()),
            },
        };
        this.records.set(None);
        Poll::Ready(Some(piece))
    }
}

impl<S, T, E> IntoResponse for JsonArray<S>
where
    S: Stream<Item = Result<Record<T>, E>> + Reporting + Send + 'static,
    T: Serialize + 'static,
    E: Error + Send + Sync + 'static,
{
    fn into_response(self) -> Response {
        TextResponse::new(self).into_response()
    }
}

impl<E: fmt::Display> fmt::Display for JsonArrayError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Records(error) => error.fmt(f),
            Self::DataLoss(loss) => loss.fmt(f),
            Self::Serialize(_) => f.write_str("a record cannot be written as JSON"),
        }
    }
}

impl<E: Error + 'static> Error for JsonArrayError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Records(error) => error.source(),
            Self::DataLoss(loss) => loss.source(),
            Self::Serialize(error) => Some(error),
        }
    }
}
