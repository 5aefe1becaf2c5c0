//! The formats of result files, and what their lines hold.

use std::borrow::Cow;
use std::fmt;

use tokenline_core::json::{Number, Parser, Raw, SyntaxError, Value};

use super::BatchFailure;
use crate::Provider;
use crate::providers::text_of;

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
        let Parts { custom_id, status, outcome } = self.split(line);
        let outcome = match outcome {
            Ok((provider, body)) => BatchOutcome::Response { provider, body: Raw::from(body) },
            Err(failure) => BatchOutcome::Failed { message: failure.message },
        };
        BatchResult { custom_id: custom_id.map(Cow::into_owned), status, outcome }
    }

    /// Detects the format from one line of the file. `None` if the line is not a batch result.
    #[must_use]
    pub fn detect(line: &str) -> Option<Self> {
        let mut json = Parser::new();
        Self::of_line(json.parse(line.trim_start_matches('\u{feff}').trim()).ok()?)
    }

    fn of_line(line: Value<'_>) -> Option<Self> {
        let has = |name| line.get(name).is_some();
        if has("recordId") {
            return Some(Self::Bedrock);
        }
        if has("custom_id") {
            return match () {
                () if has("response") || has("error") => Some(Self::OpenAi),
                () => line.get("result")?.get("type").map(|_| Self::Anthropic),
            };
        }
        // Gemini's lines need no id.
        let is_gemini = match line.get("response") {
            Some(response) => has("key") || has("metadata") || response.get("candidates").is_some(),
            None => (has("key") || has("metadata")) && has("error"),
        };
        is_gemini.then_some(Self::Gemini)
    }

    /// Finds the parts of a line, without copying the response.
    pub(super) fn split(self, line: Value<'_>) -> Parts<'_> {
        let id_name = match self {
            Self::OpenAi | Self::Anthropic => "custom_id",
            Self::Bedrock => "recordId",
            Self::Gemini => "key",
        };
        let (mut id, mut answer, mut error, mut metadata) = (None, None, None, None);
        for (name, value) in line.as_object().into_iter().flatten() {
            let value = Some(value).filter(|value| !value.is_null());
            match (name, self) {
                (name, _) if name == id_name => id = value,
                ("response", Self::OpenAi | Self::Gemini)
                | ("result", Self::Anthropic)
                | ("modelOutput", Self::Bedrock) => answer = value,
                ("error", _) => error = value,
                ("metadata", _) => metadata = value,
                _ => {}
            }
        }
        let of = |name| answer.and_then(|answer| answer.get(name));
        let (body, error, status) = match self {
            Self::OpenAi => (of("body"), error, of("status_code").and_then(Value::as_number)),
            // An expired or canceled request has only its type.
            Self::Anthropic => (of("message"), of("error").or_else(|| of("type")), None),
            Self::Bedrock | Self::Gemini => (answer, error, None),
        };
        let status = status.and_then(Number::as_u64);
        let metadata_key = || metadata.and_then(|metadata| metadata.get("key").or(Some(metadata)));
        let custom_id = id.or_else(metadata_key).and_then(text_of);
        let status = status.and_then(|status| u16::try_from(status).ok());
        let response = body.and_then(|body| Some((Provider::of_value(body)?, body)));
        let outcome = match (response, status) {
            (Some(_), Some(status @ 400..)) => Err(BatchFailure::errored(format!("HTTP status {status}"))),
            (Some(response), _) => Ok(response),
            (None, _) => Err(match Self::of_line(line).filter(|other| *other != self && error.is_none()) {
                Some(other) => {
                    BatchFailure::errored(format!("the line is in the format {other}, not {self}"))
                }
                None => BatchFailure::of_error(error.or(body)),
            }),
        };
        Parts { custom_id, status, outcome }
    }
}

/// The name, such as `openai-batch`.
impl fmt::Display for BatchFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The parts of a line.
pub(super) struct Parts<'a> {
    pub(super) custom_id: Option<Cow<'a, str>>,
    pub(super) status: Option<u16>,
    /// The response and its provider.
    pub(super) outcome: Result<(Provider, Value<'a>), BatchFailure>,
}
