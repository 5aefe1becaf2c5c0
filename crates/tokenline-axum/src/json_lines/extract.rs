//! The extractor.

use std::error::Error;
use std::fmt;

use axum_core::RequestExt as _;
use axum_core::extract::{FromRequest, Request};
use axum_core::response::{IntoResponse, Response};
use futures_core::Stream as _;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use http::{HeaderMap, HeaderName, StatusCode};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use tokenline::schema::SchemaError;
use tokenline::{JsonlStreamParser, Options};

use super::JsonLines;
use super::cache::validator_for;
use crate::headers::has_content_type;
use crate::rejection;

/// The media types of JSON Lines in use. None is registered with IANA.
const CONTENT_TYPES: [&str; 6] = [
    "application/x-ndjson",
    "application/ndjson",
    "application/jsonl",
    "application/jsonlines",
    "application/x-jsonlines",
    "application/json-lines",
];

impl<S, T> FromRequest<S> for JsonLines<T>
where
    S: Sync,
    T: DeserializeOwned + JsonSchema + 'static,
{
    type Rejection = JsonLinesRejection;

    async fn from_request(request: Request, _state: &S) -> Result<Self, JsonLinesRejection> {
        check_headers(request.headers())?;
        let announced =
            text(request.headers(), &CONTENT_LENGTH).and_then(|length| length.parse::<usize>().ok());
        let body = request.into_limited_body().into_data_stream();
        // The body's size is at most the limit, if there is one.
        if announced.zip(body.size_hint().1).is_some_and(|(announced, limit)| announced > limit) {
            return Err(JsonLinesRejection::BodyTooLarge);
        }
        let validator = validator_for::<T>().map_err(JsonLinesRejection::InvalidSchema)?;
        let parser = JsonlStreamParser::new(body).with_options(Options::strict()).with_validator(validator);
        Ok(Self { parser })
    }
}

fn check_headers(headers: &HeaderMap) -> Result<(), JsonLinesRejection> {
    if !has_content_type(headers, &CONTENT_TYPES) {
        return Err(JsonLinesRejection::UnsupportedContentType);
    }
    let is_encoded = |encoding: &str| !encoding.trim().eq_ignore_ascii_case("identity");
    if headers.contains_key(CONTENT_ENCODING) && text(headers, &CONTENT_ENCODING).is_none_or(is_encoded) {
        return Err(JsonLinesRejection::UnsupportedContentEncoding);
    }
    Ok(())
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Why a request has no [`JsonLines`]. As a response, JSON with a `code` and a `message`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JsonLinesRejection {
    /// The `content-type` is missing, or not one of JSON Lines. Status 415.
    UnsupportedContentType,
    /// The body has a `content-encoding` such as gzip. Status 415. A layer can decompress it before the extractor, such
    /// as tower-http's `RequestDecompressionLayer`.
    UnsupportedContentEncoding,
    /// The `content-length` exceeds the [limit](JsonLines#limits). Status 413.
    BodyTooLarge,
    /// The schema of the type is invalid, as only a `JsonSchema` written by hand can be. Status 500, without the
    /// reason.
    InvalidSchema(SchemaError),
}

impl fmt::Display for JsonLinesRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnsupportedContentType => {
                "the body must be JSON Lines: send `content-type: application/x-ndjson` or `application/jsonl`, and one \
                 JSON object a line"
            }
            Self::UnsupportedContentEncoding => "the body must not be compressed: send no `content-encoding`",
            Self::BodyTooLarge => super::error::TOO_LARGE,
            Self::InvalidSchema(_) => "the server's schema of the lines is invalid",
        })
    }
}

impl Error for JsonLinesRejection {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::InvalidSchema(error) => Some(error),
            Self::UnsupportedContentType | Self::UnsupportedContentEncoding | Self::BodyTooLarge => None,
        }
    }
}

impl IntoResponse for JsonLinesRejection {
    fn into_response(self) -> Response {
        let (status, code) = match self {
            Self::UnsupportedContentType => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_content_type"),
            Self::UnsupportedContentEncoding => {
                (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_content_encoding")
            }
            Self::BodyTooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "body_too_large"),
            Self::InvalidSchema(_) => (StatusCode::INTERNAL_SERVER_ERROR, "invalid_schema"),
        };
        rejection::response(status, code, &self)
    }
}
