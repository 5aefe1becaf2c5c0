//! Errors that end a response.

use std::error::Error;
use std::fmt;

use tokenline_core::Diagnostic;

use crate::Provider;

/// An error that ends a response, as a client receives it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failure {
    /// The HTTP status of the response; within a stream, the status that it would have had.
    pub status: u16,
    /// The reason, for people.
    pub message: String,
}

impl Failure {
    /// An error with an HTTP status, 400 to 599.
    pub fn new(status: u16, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    /// The JSON of an error response, in the provider's form; `None` if it has no writer. `request_id` is for support.
    ///
    /// ```
    /// use tokenline_llm::Provider;
    /// use tokenline_llm::writer::Failure;
    ///
    /// let failure = Failure::new(429, "slow down");
    /// assert_eq!(
    ///     failure.to_body(Provider::Anthropic, None).as_deref(),
    ///     Some(r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow down"},"request_id":null}"#)
    /// );
    /// ```
    #[must_use]
    pub fn to_body(&self, provider: Provider, request_id: Option<&str>) -> Option<String> {
        Some(provider.for_clients()?.error_body(self, request_id).to_string())
    }

    /// The event of the error in a stream of this provider's format; empty if it has no writer.
    #[must_use]
    pub fn to_event(&self, provider: Provider) -> Vec<u8> {
        let mut out = Vec::new();
        if let Some(responses) = provider.for_clients() {
            responses.append_error(&mut out, self);
        }
        out
    }

    /// The provider failed, or its response is incomplete: 502.
    pub(super) fn of_provider(diagnostic: &Diagnostic) -> Self {
        Self::new(502, diagnostic.message.clone())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Failure {}
