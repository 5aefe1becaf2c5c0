//! Result files of the providers' batch APIs.
//!
//! A batch result is one line of JSON: the id given to the request, and a complete response or an error. A [`BatchReader`]
//! reads one line after another, and yields the events of each response. The order of the lines is not that of the
//! requests.
//!
//! ```
//! use tokenline_core::json::{Parser, Raw};
//! use tokenline_core::Options;
//! use tokenline_llm::batch::{BatchFormat, BatchReader};
//! use tokenline_llm::{ResponseEvent, ResponseParser};
//!
//! let line = r#"{"custom_id":"7","response":{"status_code":200,"body":{"choices":[
//!     {"message":{"role":"assistant","content":"{\"entity\":\"DNA\"}"},"finish_reason":"stop"}]}},"error":null}"#;
//! let mut parser = Parser::new();
//! let line = parser.parse(line)?;
//!
//! let format = BatchFormat::detect(line).expect("a batch result");
//! let mut reader = BatchReader::new(format, |provider| ResponseParser::<Raw>::new(provider, Options::lenient()));
//! let mut result = reader.read(line);
//! assert_eq!((result.custom_id.as_deref(), result.status, &result.error), (Some("7"), Some(200), &None));
//! let mut records = Vec::new();
//! while let Some(event) = result.next_event() {
//!     if let ResponseEvent::Record { record, .. } = event {
//!         records.push(record.value);
//!     }
//! }
//! assert_eq!(records, [r#"{"entity":"DNA"}"#]);
//! # Ok::<(), tokenline_core::json::SyntaxError>(())
//! ```

use std::borrow::Cow;
use std::fmt;

use serde::de::DeserializeOwned;
use tokenline_core::json::{Number, Parser, Raw, SyntaxError, Value};

use crate::providers::{error_message, text_of};
use crate::{Provider, ResponseEvent, ResponseParser};

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
        let Parts { custom_id, status, body } = self.split(line);
        let outcome = match body {
            Ok((provider, body)) => BatchOutcome::Response { provider, body: Raw::from(body) },
            Err(message) => BatchOutcome::Failed { message },
        };
        BatchResult { custom_id, status, outcome }
    }

    /// The format of a file with this line; `None` if it is not a batch result.
    ///
    /// ```
    /// use tokenline_core::json::Parser;
    /// use tokenline_llm::batch::BatchFormat;
    ///
    /// let line = r#"{"custom_id":"7","result":{"type":"expired"}}"#;
    /// assert_eq!(BatchFormat::detect(Parser::new().parse(line)?), Some(BatchFormat::Anthropic));
    /// # Ok::<(), tokenline_core::json::SyntaxError>(())
    /// ```
    #[must_use]
    pub fn detect(line: Value<'_>) -> Option<Self> {
        let has = |name| line.get(name).is_some();
        let is_result = |result: Value<'_>| result.get("type").is_some();
        if has("recordId") && (has("modelOutput") || has("error")) {
            Some(Self::Bedrock)
        } else if has("custom_id") && line.get("result").is_some_and(is_result) {
            Some(Self::Anthropic)
        } else if has("custom_id") && (has("response") || has("error")) {
            Some(Self::OpenAi)
        } else if (has("key") || has("metadata")) && (has("response") || has("error")) {
            Some(Self::Gemini)
        } else {
            None
        }
    }

    fn split(self, line: Value<'_>) -> Parts<'_> {
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
        let body = body
            .and_then(|body| Some((Provider::of_value(body)?, body)))
            .ok_or_else(|| failure(error.or(body)));
        Parts { custom_id, status, body }
    }
}

/// The parts of a line: the response's provider and body, or the error message.
struct Parts<'l> {
    custom_id: Option<String>,
    status: Option<u16>,
    body: Result<(Provider, Value<'l>), String>,
}

/// Reads the lines of a batch result file, with one parser for all responses of a provider.
pub struct BatchReader<T = Raw> {
    format: BatchFormat,
    new_parser: Box<dyn FnMut(Provider) -> ResponseParser<T> + Send>,
    /// The parser of the previous response.
    parser: Option<(Provider, ResponseParser<T>)>,
}

/// A batch result, and the events of its response.
#[derive(Debug)]
#[non_exhaustive]
pub struct BatchResponse<'r, T = Raw> {
    /// The id given to the request: `custom_id`, Bedrock's `recordId`, Gemini's `key`.
    pub custom_id: Option<String>,
    /// The HTTP status of the response, if the format has one.
    pub status: Option<u16>,
    /// The provider's error message, if the request failed, expired or was canceled. Then there are no events.
    pub error: Option<String>,
    parser: Option<&'r mut ResponseParser<T>>,
}

impl<T: DeserializeOwned> BatchReader<T> {
    /// A reader of this format. `new_parser` makes a parser for the responses of a provider, with the caller's options.
    pub fn new(
        format: BatchFormat,
        new_parser: impl FnMut(Provider) -> ResponseParser<T> + Send + 'static,
    ) -> Self {
        Self { format, new_parser: Box::new(new_parser), parser: None }
    }

    /// Reads a line. Take all events of its response before the next one.
    pub fn read(&mut self, line: Value<'_>) -> BatchResponse<'_, T> {
        let Parts { custom_id, status, body } = self.format.split(line);
        let (provider, body) = match body {
            Ok(response) => response,
            Err(message) => return BatchResponse { custom_id, status, error: Some(message), parser: None },
        };
        let parser = self.parser.take().filter(|(previous, _)| *previous == provider);
        let (_, parser) = self
            .parser
            .insert(parser.unwrap_or_else(|| (provider, (self.new_parser)(provider).whole_body())));
        parser.reset();
        parser.push(body.raw());
        parser.finish();
        BatchResponse { custom_id, status, error: None, parser: Some(parser) }
    }
}

impl<T: DeserializeOwned> BatchResponse<'_, T> {
    /// The next event of the response.
    pub fn next_event(&mut self) -> Option<ResponseEvent<T>> {
        self.parser.as_mut()?.next_event()
    }

    /// The parser of the response: its usage, finish reason and report. `None` if there is no response.
    #[must_use]
    pub fn parser(&self) -> Option<&ResponseParser<T>> {
        self.parser.as_deref()
    }
}

impl<T> fmt::Debug for BatchReader<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchReader").field("format", &self.format).finish_non_exhaustive()
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
