//! Result files of the providers' batch APIs.
//!
//! A batch result is one line of JSON: the id given to the request, and a complete response or an error.
//! [`BatchFormat::parse`] splits the line; a [`ResponseParser`](crate::ResponseParser) of a [whole
//! body](crate::ResponseParser::whole_body) reads the response. The order of the lines is not that of the requests.
//!
//! ```
//! use tokenline_core::{Options, json::Raw};
//! use tokenline_llm::batch::{BatchFormat, BatchOutcome};
//! use tokenline_llm::{ResponseEvent, ResponseParser};
//!
//! let line = r#"{"custom_id":"7","response":{"status_code":200,"body":{"choices":[
//!     {"message":{"role":"assistant","content":"{\"entity\":\"DNA\"}"},"finish_reason":"stop"}]}},"error":null}"#;
//! let result = BatchFormat::OpenAi.parse(line)?;
//! assert_eq!(result.custom_id.as_deref(), Some("7"));
//! let BatchOutcome::Response { provider, body } = result.outcome else { panic!() };
//! let mut parser = ResponseParser::<Raw>::new(provider, Options::lenient()).whole_body();
//! parser.push(body.as_str().as_bytes());
//! parser.finish();
//! assert!(matches!(parser.next_event(), Some(ResponseEvent::Record { record, .. }) if record.value == r#"{"entity":"DNA"}"#));
//! # Ok::<(), tokenline_core::json::SyntaxError>(())
//! ```

use std::borrow::Cow;

use tokenline_core::json::{Number, Parser, Raw, SyntaxError, Value};

use crate::Provider;
use crate::providers::{error_message, text_of};

/// The format of a batch result file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BatchFormat {
    /// OpenAI Batch, with chat completions or Responses; also vLLM's `run-batch` and Together:
    /// <https://platform.openai.com/docs/guides/batch>.
    OpenAi,
    /// Anthropic Message Batches: <https://docs.anthropic.com/en/docs/build-with-claude/batch-processing>.
    Anthropic,
    /// Amazon Bedrock batch inference: <https://docs.aws.amazon.com/bedrock/latest/userguide/batch-inference-results.html>.
    Bedrock,
    /// Gemini Batch: <https://ai.google.dev/gemini-api/docs/batch-api>.
    Gemini,
}

/// One line of a batch result file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatchResult {
    /// The id given to the request: `custom_id`, Bedrock's `recordId`, Gemini's `key`.
    pub custom_id: Option<String>,
    /// The HTTP status of the response, if the format has one.
    pub status: Option<u16>,
    /// The response, or the error.
    pub outcome: BatchOutcome,
}

/// The result of one request of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BatchOutcome {
    /// A response.
    Response {
        /// The provider whose format the body has.
        provider: Provider,
        /// The body of the response.
        body: Raw,
    },
    /// No response: the request failed, expired or was canceled.
    Failed {
        /// The provider's error message.
        message: String,
    },
}

impl BatchFormat {
    /// All formats.
    pub const ALL: &'static [Self] = &[Self::OpenAi, Self::Anthropic, Self::Bedrock, Self::Gemini];

    /// The name, as the program's `--from` accepts it: `openai-batch`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai-batch",
            Self::Anthropic => "anthropic-batch",
            Self::Bedrock => "bedrock-batch",
            Self::Gemini => "gemini-batch",
        }
    }

    /// Looks up a format by its name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|format| format.as_str() == name)
    }

    /// A short description, for help texts.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::OpenAi => "OpenAI Batch, vLLM run-batch, Together",
            Self::Anthropic => "Anthropic Message Batches",
            Self::Bedrock => "Amazon Bedrock batch inference",
            Self::Gemini => "Gemini Batch",
        }
    }

    /// Parses one line.
    ///
    /// # Errors
    ///
    /// If the line is not JSON.
    pub fn parse(self, line: &str) -> Result<BatchResult, SyntaxError> {
        Parser::new().parse(line.trim()).map(|line| self.read(line))
    }

    /// Reads one line that is already parsed.
    #[must_use]
    pub fn read(self, line: Value<'_>) -> BatchResult {
        let member = |name| line.get(name).filter(|value| !value.is_null());
        let result = member("result");
        let (id, body, error, status) = match self {
            Self::OpenAi => {
                let response = member("response");
                let status = response.and_then(|response| response.get("status_code")?.as_number());
                let body = response.and_then(|response| response.get("body"));
                ("custom_id", body, member("error"), status.and_then(Number::as_u64))
            }
            Self::Anthropic => {
                let of = |name| result.and_then(|result| result.get(name));
                // An expired or canceled request has only its type.
                ("custom_id", of("message"), of("error").or_else(|| of("type")), None)
            }
            Self::Bedrock => ("recordId", member("modelOutput"), member("error"), None),
            Self::Gemini => ("key", member("response"), member("error"), None),
        };
        let metadata_key =
            || line.get("metadata").and_then(|metadata| metadata.get("key").or(Some(metadata)));
        let custom_id = member(id).or_else(metadata_key).and_then(text_of).map(Cow::into_owned);
        let status = status.and_then(|status| u16::try_from(status).ok());
        let outcome = match body.and_then(|body| Some((Provider::of_value(body)?, body))) {
            Some((provider, body)) => BatchOutcome::Response { provider, body: Raw::from(body) },
            None => BatchOutcome::Failed { message: failure(error.or(body)) },
        };
        BatchResult { custom_id, status, outcome }
    }
}

/// The error message for a request without a response.
fn failure(error: Option<Value<'_>>) -> String {
    let Some(error) = error else { return "the line has neither a response nor an error".to_owned() };
    // Some formats wrap the provider's own error.
    let inner = error.get("error").filter(|inner| !inner.is_null()).unwrap_or(error);
    match inner.get("errorMessage").and_then(Value::as_str) {
        Some(message) => message.into_owned(),
        None => error_message(inner).into_owned(),
    }
}
