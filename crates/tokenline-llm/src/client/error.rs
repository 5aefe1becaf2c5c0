//! Errors of requests and their responses.

use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::time::Duration;

/// The reason a request failed or its response broke off.
///
/// The message includes the provider's error text and, of the URL, host and path only; nothing else that was sent.
#[derive(Debug)]
pub struct ClientError(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ClientErrorKind,
    message: String,
    status: Option<u16>,
    retry_after: Option<Duration>,
    request_id: Option<String>,
    error_code: Option<String>,
    attempts: u32,
    is_retryable: bool,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// The kind of a [`ClientError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ClientErrorKind {
    /// The client's configuration is invalid, such as its base URL or key. Nothing was sent.
    Configuration,
    /// The provider cannot express the request; see [`RequestError`](crate::request::RequestError). Nothing was sent.
    Request,
    /// Cannot connect. Nothing was sent.
    Connect,
    /// The provider responded with an error: a status other than success, or an error in place of the stream.
    Status,
    /// The provider responded with something other than a stream.
    ContentType,
    /// A timeout passed.
    Timeout,
    /// The connection broke.
    Transport,
}

impl ClientError {
    pub(crate) fn new(kind: ClientErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            status: None,
            retry_after: None,
            request_id: None,
            error_code: None,
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

    pub(super) fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
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

    pub(super) fn with_error_code(mut self, code: Option<String>) -> Self {
        self.0.error_code = code;
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

    /// The kind of the error.
    #[must_use]
    pub fn kind(&self) -> ClientErrorKind {
        self.0.kind
    }

    /// The HTTP status, if there was a response.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// The wait the provider asks for before the next request.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// The provider's request id, for its support.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        self.0.request_id.as_deref()
    }

    /// The provider's own code of its error, such as `context_length_exceeded`.
    #[must_use]
    pub fn error_code(&self) -> Option<&str> {
        self.0.error_code.as_deref()
    }

    /// The number of attempts to send the request.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.0.attempts
    }

    /// Whether the request produced nothing and may be sent again: no connection, 429, or a status that signals a
    /// transient fault.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.0.is_retryable
    }
}

/// For settings that cannot be invalid.
impl From<Infallible> for ClientError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { message, retry_after, request_id, attempts, .. } = &*self.0;
        f.write_str(message)?;
        let mut details = Vec::new();
        if *attempts > 1 {
            details.push(format!("{attempts} attempts"));
        }
        if let Some(retry_after) = retry_after.filter(|wait| !wait.is_zero()) {
            details.push(format!("try again after {} s", retry_after.as_secs_f64().ceil()));
        }
        if let Some(request_id) = request_id {
            details.push(format!("request id {request_id}"));
        }
        if !details.is_empty() {
            write!(f, " ({})", details.join(", "))?;
        }
        Ok(())
    }
}

impl Error for ClientError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

/// The innermost error, in the words of the system or the protocol.
pub(super) fn root_cause(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}
