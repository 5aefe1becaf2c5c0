//! Why there is no answer, or no more of it.

use std::error::Error;
use std::fmt;
use std::time::Duration;

/// Why a request has no answer, or an answer broke off.
///
/// It says what a person needs who has to mend it, the provider's own words among it, but of the URL no more
/// than host and path, and nothing else that was sent.
#[derive(Debug)]
pub struct ClientError(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ClientErrorKind,
    message: String,
    status: Option<u16>,
    retry_after: Option<Duration>,
    request_id: Option<String>,
    attempts: u32,
    is_retryable: bool,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// What kind of thing went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ClientErrorKind {
    /// The client is set up wrongly: a base URL that is none, a key that cannot be sent. Nothing
    /// was sent.
    Configuration,
    /// The provider cannot be asked that; see [`RequestError`](crate::request::RequestError). Nothing was sent.
    Request,
    /// No connection came about. Nothing was sent.
    Connect,
    /// The provider answered with an error: with a status other than success, or with one in place of the stream.
    Status,
    /// The provider answered with something that is no stream.
    ContentType,
    /// Nothing came for too long.
    Timeout,
    /// The connection broke.
    Transport,
}

impl ClientError {
    pub(super) fn new(kind: ClientErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            status: None,
            retry_after: None,
            request_id: None,
            attempts: 0,
            is_retryable: false,
            source: None,
        }))
    }

    pub(super) fn configuration(message: impl Into<String>) -> Self {
        Self::new(ClientErrorKind::Configuration, message)
    }

    pub(super) fn in_variable(mut self, variable: &str) -> Self {
        self.0.message = format!("{variable}: {}", self.0.message);
        self
    }

    pub(super) fn with_source(mut self, source: impl Error + Send + Sync + 'static) -> Self {
        self.0.source = Some(Box::new(source));
        self
    }

    pub(super) fn with_status(mut self, status: u16) -> Self {
        self.0.status = Some(status);
        self
    }

    pub(super) fn with_retry_after(mut self, retry_after: Option<Duration>) -> Self {
        self.0.retry_after = retry_after;
        self
    }

    pub(super) fn with_request_id(mut self, request_id: Option<String>) -> Self {
        self.0.request_id = request_id;
        self
    }

    pub(super) fn with_attempts(mut self, attempts: u32) -> Self {
        self.0.attempts = attempts;
        self
    }

    pub(super) fn retryable(mut self, is_retryable: bool) -> Self {
        self.0.is_retryable = is_retryable;
        self
    }

    /// What kind of thing went wrong.
    #[must_use]
    pub fn kind(&self) -> ClientErrorKind {
        self.0.kind
    }

    /// The HTTP status, if there was a response.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// How long the provider asks to wait before the next request.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// The provider's id of the request, for its support.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        self.0.request_id.as_deref()
    }

    /// How often the request was sent, or tried to be.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.0.attempts
    }

    /// Whether the request produced nothing and may be sent again: no connection, 429, or a status
    /// that tells of a fault that passes.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.0.is_retryable
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { message, retry_after, request_id, attempts, .. } = &*self.0;
        f.write_str(message)?;
        let mut beside = Vec::new();
        if *attempts > 1 {
            beside.push(format!("{attempts} attempts"));
        }
        if let Some(retry_after) = retry_after.filter(|wait| !wait.is_zero()) {
            beside.push(format!("try again after {} s", retry_after.as_secs_f64().ceil()));
        }
        if let Some(request_id) = request_id {
            beside.push(format!("request id {request_id}"));
        }
        if !beside.is_empty() {
            write!(f, " ({})", beside.join(", "))?;
        }
        Ok(())
    }
}

impl Error for ClientError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

/// What is beneath all: the system's or the protocol's own word for it.
pub(super) fn root_cause(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}
