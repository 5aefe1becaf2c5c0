//! The format of a response, chosen by the request.

use std::error::Error;
use std::fmt;

use axum_core::extract::FromRequestParts;
use axum_core::response::{IntoResponse, Response};
use http::header::{ACCEPT, CACHE_CONTROL};
use http::request::Parts;
use http::{HeaderMap, StatusCode};

use super::accept::negotiate;
use crate::headers::NO_STORE;
use crate::rejection;

/// The format of a [`RecordsResponse`](crate::RecordsResponse). As an extractor, the one that the request's `Accept`
/// header asks for.
///
/// Weights (`q=0.5`) and wildcards count as RFC 9110 says; among equal weights, a format that is named comes before one
/// that a wildcard matches. Without a preference it is [`Ndjson`](Self::Ndjson).
///
/// # Reconnects
///
/// A browser's `EventSource` reconnects when a response ends or breaks off, and sends the id of the last event as
/// `Last-Event-ID`. These records cannot be resumed: running the handler again would send a paid request twice. The
/// extractor therefore rejects requests for server-sent events that have this header. At status 204 the browser stops. A [`RecordsResponse`](crate::RecordsResponse) begins with an id, so that the browser always has one
/// to send.
///
/// That leaves one case: the connection breaks before the response begins. To rule it out too, take the request with
/// `POST`, which `EventSource` cannot send, and read the events with `fetch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RecordsFormat {
    /// A line of JSON for each record, as `application/x-ndjson`.
    Ndjson,
    /// The same bytes as `application/jsonl`.
    Jsonl,
    /// Server-sent events, `text/event-stream`.
    Sse,
}

impl RecordsFormat {
    /// The format that the headers of a request ask for.
    ///
    /// # Errors
    ///
    /// If the client accepts none of the formats, or reconnects after an interrupted event stream.
    pub fn from_headers(headers: &HeaderMap) -> Result<Self, RecordsFormatRejection> {
        let accepted = headers.get_all(ACCEPT).iter().map(|value| value.to_str().unwrap_or("unreadable"));
        let format = negotiate(accepted).ok_or(RecordsFormatRejection::NotAcceptable)?;
        if format == Self::Sse && headers.contains_key("last-event-id") {
            return Err(RecordsFormatRejection::Reconnect);
        }
        Ok(format)
    }

    /// The media type: `application/x-ndjson`, `application/jsonl` or `text/event-stream`.
    #[must_use]
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Ndjson => "application/x-ndjson",
            Self::Jsonl => "application/jsonl",
            Self::Sse => "text/event-stream",
        }
    }
}

impl<S: Sync> FromRequestParts<S> for RecordsFormat {
    type Rejection = RecordsFormatRejection;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Self::Rejection> {
        Self::from_headers(&parts.headers)
    }
}

/// Why a request has no [`RecordsFormat`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordsFormatRejection {
    /// The client accepts none of the formats. Status 406, with the formats in the message.
    NotAcceptable,
    /// An `EventSource` reconnects; see [`RecordsFormat`]. Status 204, which ends it.
    Reconnect,
}

impl fmt::Display for RecordsFormatRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAcceptable => {
                "the response has none of the accepted types; accept `application/x-ndjson` or `application/jsonl` \
                 (a record a line), or `text/event-stream` (server-sent events)"
            }
            Self::Reconnect => "the records are not sent again: an event stream cannot be resumed here",
        })
    }
}

impl Error for RecordsFormatRejection {}

impl IntoResponse for RecordsFormatRejection {
    fn into_response(self) -> Response {
        match self {
            Self::NotAcceptable => rejection::response(StatusCode::NOT_ACCEPTABLE, "not_acceptable", &self),
            Self::Reconnect => (StatusCode::NO_CONTENT, [(CACHE_CONTROL, NO_STORE)]).into_response(),
        }
    }
}
