//! Errors in place of a response.

use std::fmt;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use tokenline::llm::Provider;
use tokenline::llm::client::{ClientError, ClientErrorKind};
use tokenline::llm::writer::Failure;

use super::incoming::with_id;
use crate::headers::NO_STORE;

/// The header that decides whether OpenAI's and Anthropic's libraries retry, before the status does.
pub(super) const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// An error in place of a response.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) failure: Failure,
    retry_after: Option<Duration>,
    /// The model may have run: the request must not be sent again.
    may_have_run: bool,
}

impl Fault {
    pub(super) fn new(status: StatusCode, message: impl fmt::Display) -> Self {
        let failure = Failure::new(status.as_u16(), message.to_string());
        Self { failure, retry_after: None, may_have_run: false }
    }

    /// The same with a code for programs.
    pub(super) fn with_code(mut self, code: &str) -> Self {
        self.failure = self.failure.with_code(Some(code));
        self
    }

    /// A response that failed after the model has run.
    pub(super) fn of_response(failure: Failure) -> Self {
        Self { failure, retry_after: None, may_have_run: true }
    }

    /// The response, in the form of the client's API.
    pub(super) fn into_response(self, client: Provider, id: &str) -> Response {
        let Self { failure, retry_after, may_have_run } = self;
        let body = failure.to_body(client, Some(id)).unwrap_or_default();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = StatusCode::from_u16(failure.status).unwrap_or(StatusCode::BAD_GATEWAY);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static(NO_STORE));
        if may_have_run {
            headers.insert(SHOULD_RETRY, HeaderValue::from_static("false"));
        }
        if let Some(wait) = retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(wait.as_secs_f64().ceil() as u64));
        }
        with_id(response, id)
    }
}

/// The statuses that mean the same from a gateway as from a provider.
const PASSED_ON: [u16; 12] = [400, 401, 402, 403, 404, 409, 413, 422, 429, 500, 503, 529];

impl From<ClientError> for Fault {
    fn from(error: ClientError) -> Self {
        let status = match (error.kind(), error.status()) {
            (ClientErrorKind::Request, _) => 400,
            (ClientErrorKind::Configuration, _) => 500,
            (ClientErrorKind::Timeout, _) | (_, Some(504)) => 504,
            (ClientErrorKind::Status, Some(status)) if PASSED_ON.contains(&status) => status,
            _ => 502,
        };
        let is_its_fault = (400..500).contains(&status);
        Self {
            failure: Failure::new(status, error.to_string()).with_code(error.error_code()),
            retry_after: error.retry_after(),
            may_have_run: !is_its_fault
                && !error.is_retryable()
                && error.kind() != ClientErrorKind::Configuration,
        }
    }
}
