//! Why the lines of a body end early.

use std::error::Error;
use std::fmt;
use std::iter::successors;

use axum_core::response::{IntoResponse, Response};
use http::StatusCode;
use http_body_util::LengthLimitError;
use tokenline::{Diagnostic, StreamError, TooManyRejected};

use crate::rejection;

pub(super) const TOO_LARGE: &str = "the body is larger than this server accepts";

/// Why [`JsonLines`](crate::JsonLines) end before the body does. As a response, JSON with a `code` and a `message`.
///
/// A handler can turn any reject into the same response:
///
/// ```
/// use axum::response::IntoResponse;
/// use tokenline::{Code, Diagnostic, Span};
/// use tokenline_axum::JsonLinesError;
///
/// let diagnostic = Diagnostic::new(Code::MalformedJson, 7, Span::new(90, 99), 4, "expected a value, found `}`");
/// let response = JsonLinesError::from(diagnostic).into_response();
/// assert_eq!(response.status(), 422);
/// // {"code":"malformed_json","line":7,"start":90,"end":99,"column":4,"message":"expected a value, found `}`"}
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum JsonLinesError {
    /// A line was rejected. Only from [`records`](crate::JsonLines::records) and [`values`](crate::JsonLines::values).
    /// Status 422, with the diagnostic: `code`, `line`, `column`, `start` and `end` (bytes from the start of the body),
    /// `message`, and if a value breaks a rule its `instance_path` and `schema_path`.
    Rejected(Box<Diagnostic>),
    /// There were more rejects than the [budget](crate::JsonLines::with_error_budget) allows. Status 422, with the last
    /// diagnostic as `last`.
    TooManyRejected(TooManyRejected),
    /// The body exceeds the [limit](crate::JsonLines#limits). Status 413.
    BodyTooLarge,
    /// The body cannot be read: the client disconnected, or broke the protocol. Status 400.
    Body(axum_core::Error),
}

impl JsonLinesError {
    pub(super) fn from_stream(error: StreamError<axum_core::Error>) -> Self {
        match error {
            StreamError::Source(error) => {
                let error = error.into_inner();
                let mut causes = successors(Some(&error as &(dyn Error + 'static)), |&cause| cause.source());
                if causes.any(<dyn Error>::is::<LengthLimitError>) {
                    Self::BodyTooLarge
                } else {
                    Self::Body(error)
                }
            }
            StreamError::TooManyRejected(error) => Self::TooManyRejected(error),
            _ => unreachable!("a stream fails for no other reason"),
        }
    }
}

impl From<Diagnostic> for JsonLinesError {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::Rejected(Box::new(diagnostic))
    }
}

impl fmt::Display for JsonLinesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rejected(diagnostic) => diagnostic.fmt(f),
            Self::TooManyRejected(error) => error.fmt(f),
            Self::BodyTooLarge => f.write_str(TOO_LARGE),
            Self::Body(_) => f.write_str("the body could not be read to its end"),
        }
    }
}

impl Error for JsonLinesError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::TooManyRejected(error) => error.source(),
            Self::Body(error) => Some(error),
            Self::Rejected(_) | Self::BodyTooLarge => None,
        }
    }
}

impl IntoResponse for JsonLinesError {
    fn into_response(self) -> Response {
        match &self {
            Self::Rejected(diagnostic) => rejection::json(StatusCode::UNPROCESSABLE_ENTITY, diagnostic),
            Self::TooManyRejected(error) => {
                let body = serde_json::json!({
                    "code": "too_many_rejected",
                    "message": error.to_string(),
                    "last": error.last(),
                });
                rejection::json(StatusCode::UNPROCESSABLE_ENTITY, &body)
            }
            Self::BodyTooLarge => rejection::response(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", &self),
            Self::Body(_) => rejection::response(StatusCode::BAD_REQUEST, "unreadable_body", &self),
        }
    }
}
