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
    /// The provider's code of the error, such as `context_length_exceeded`, which clients may know.
    pub code: Option<String>,
}

impl Failure {
    /// An error with an HTTP status, 400 to 599.
    pub fn new(status: u16, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), code: None }
    }

    /// The same with the provider's code of the error.
    #[must_use]
    pub fn with_code(self, code: Option<impl Into<String>>) -> Self {
        Self { code: code.map(Into::into), ..self }
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

    /// The code, if it is one as OpenAI has them. Types of errors, and the codes of other providers, are none.
    pub(crate) fn openai_code(&self) -> Option<&str> {
        let is_word = |code: &&str| code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        self.code.as_deref().filter(is_word).filter(|code| !code.ends_with("_error"))
    }

    /// The provider failed, with a status that its code says, or its response is incomplete: 502.
    #[must_use]
    pub fn of_provider(diagnostic: &Diagnostic) -> Self {
        let code = diagnostic.error_code();
        Self::new(code.map_or(502, status_of), diagnostic.message.clone()).with_code(code)
    }
}

/// The status that providers use with a code.
fn status_of(code: &str) -> u16 {
    match code {
        "context_length_exceeded" | "invalid_request_error" | "invalid_prompt" | "INVALID_ARGUMENT" => 400,
        "insufficient_quota" | "rate_limit_error" | "rate_limit_exceeded" | "RESOURCE_EXHAUSTED" => 429,
        "UNAVAILABLE" => 503,
        "overloaded_error" => 529,
        // Some have the status in place of a code.
        code => code.parse().ok().filter(|status| (400..600).contains(status)).unwrap_or(502),
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Failure {}
