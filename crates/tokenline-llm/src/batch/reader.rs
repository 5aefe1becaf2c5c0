//! Reads the responses in a result file, one line after another.

use std::borrow::Cow;
use std::fmt;

use serde::de::DeserializeOwned;
use tokenline_core::Span;
use tokenline_core::json::{Parser, Raw, SyntaxError, Value};

use super::BatchFormat;
use super::format::Parts;
use crate::providers::error_message;
use crate::{LentResponseEvent, Provider, ResponseEvent, ResponseOptions, ResponseParser};

/// Reads the lines of a result file: a line in, the events of its response out. Does no I/O.
///
/// The parser of a response is reused for the next line. See the [module](crate::batch) for an example.
pub struct BatchReader<T = Raw> {
    format: BatchFormat,
    options: ResponseOptions,
    json: Parser,
    /// The parser of the previous response, reused for the same provider.
    parser: Option<(Provider, ResponseParser<T>)>,
}

/// A line of a result file, and the events of its response.
#[non_exhaustive]
pub struct BatchLine<'a, T = Raw> {
    /// The id given to the request: `custom_id`, Bedrock's `recordId`, Gemini's `key`.
    pub custom_id: Option<Cow<'a, str>>,
    /// The HTTP status of the response, if the format has one.
    pub status: Option<u16>,
    /// Why the request has no response. Then there are no events.
    pub failure: Option<BatchFailure>,
    parser: Option<&'a mut ResponseParser<T>>,
}

/// Why a request of a batch has no response.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatchFailure {
    /// The kind of failure.
    pub kind: FailureKind,
    /// The provider's error message.
    pub message: String,
}

/// The kind of failure of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FailureKind {
    /// The provider reported an error.
    Errored,
    /// The batch expired before the request was processed.
    Expired,
    /// The batch was canceled before the request was processed.
    Canceled,
}

impl FailureKind {
    /// The name: `errored`, `expired` or `canceled`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Errored => "errored",
            Self::Expired => "expired",
            Self::Canceled => "canceled",
        }
    }

    /// The kind by Anthropic's type of result, or OpenAI's code of error.
    fn of_name(name: &str) -> Self {
        match name {
            "expired" | "batch_expired" => Self::Expired,
            "canceled" | "batch_canceled" | "batch_cancelled" => Self::Canceled,
            _ => Self::Errored,
        }
    }
}

impl BatchFailure {
    pub(super) fn errored(message: String) -> Self {
        Self { kind: FailureKind::Errored, message }
    }

    pub(super) fn of_error(error: Option<Value<'_>>) -> Self {
        let Some(error) = error else {
            return Self::errored("the line has neither a response nor an error".to_owned());
        };
        // Some formats wrap the provider's own error.
        let inner = error.get("error").filter(|inner| !inner.is_null()).unwrap_or(error);
        let message = match inner.get("errorMessage").and_then(Value::as_str) {
            Some(message) => message.into_owned(),
            None => error_message(inner).into_owned(),
        };
        let name = error.as_str().or_else(|| inner.get("code").and_then(Value::as_str));
        Self { kind: FailureKind::of_name(name.as_deref().unwrap_or_default()), message }
    }
}

impl<T: DeserializeOwned + 'static> BatchReader<T> {
    /// A reader of lines in this format. The options apply to each of the responses.
    ///
    /// ```
    /// use tokenline_core::{Options, json::Raw};
    /// use tokenline_llm::batch::{BatchFormat, BatchReader};
    /// use tokenline_llm::{ResponseOptions, TextMode};
    ///
    /// let options = ResponseOptions::from(Options::lenient()).text_as(TextMode::ToolCalls);
    /// let reader = BatchReader::<Raw>::new(BatchFormat::Anthropic, options);
    /// ```
    #[must_use]
    pub fn new(format: BatchFormat, options: impl Into<ResponseOptions>) -> Self {
        let options = options.into();
        let json = Parser::new().with_limits(options.limits());
        Self { format, options, json, parser: None }
    }

    /// Reads a line. Diagnostics of the wire are placed at line 1; their span is that of the line.
    ///
    /// # Errors
    ///
    /// If the line is not JSON.
    pub fn read_line<'a>(&'a mut self, line: &'a str) -> Result<BatchLine<'a, T>, SyntaxError> {
        let Self { format, options, json, parser } = self;
        let value = json.parse(line)?;
        let parts = format.split(value);
        let place = (1, Span::new(0, line.len() as u64));
        Ok(Self::begin(parts, place, options, parser))
    }

    /// Reads a line that is already parsed. Diagnostics of the wire are placed at this line and span.
    pub fn read<'a>(&'a mut self, value: Value<'a>, line: u64, span: Span) -> BatchLine<'a, T> {
        let Self { format, options, parser, .. } = self;
        Self::begin(format.split(value), (line, span), options, parser)
    }

    fn begin<'a>(
        parts: Parts<'a>,
        (line, span): (u64, Span),
        options: &ResponseOptions,
        parser: &'a mut Option<(Provider, ResponseParser<T>)>,
    ) -> BatchLine<'a, T> {
        let Parts { custom_id, status, outcome } = parts;
        let (provider, body) = match outcome {
            Ok(response) => response,
            Err(failure) => return BatchLine { custom_id, status, failure: Some(failure), parser: None },
        };
        match parser {
            Some((previous, parser)) if *previous == provider => parser.reset(),
            _ => *parser = None,
        }
        let new = || (provider, ResponseParser::new(provider, options.clone()).whole_body());
        let (_, parser) = parser.get_or_insert_with(new);
        parser.read_body(body, line, span);
        BatchLine { custom_id, status, failure: None, parser: Some(parser) }
    }
}

impl<T: DeserializeOwned> BatchLine<'_, T> {
    /// The next event of the response; `None` at its end.
    pub fn next_event(&mut self) -> Option<ResponseEvent<T>> {
        self.parser.as_mut()?.next_event()
    }

    /// The parser of the response, with its report, usage and finish reasons as far as the events are taken; `None` if the
    /// request failed.
    #[must_use]
    pub fn response(&self) -> Option<&ResponseParser<T>> {
        self.parser.as_deref()
    }
}

impl BatchLine<'_, Raw> {
    /// Passes the remaining events to `take`, without copying the records: faster than
    /// [`next_event`](Self::next_event) if they are only looked at or written.
    ///
    /// ```
    /// use tokenline_core::{Options, json::Raw};
    /// use tokenline_llm::LentResponseEvent;
    /// use tokenline_llm::batch::{BatchFormat, BatchReader};
    ///
    /// let line = r#"{"custom_id":"7","response":{"status_code":200,"body":{"choices":[
    ///     {"message":{"content":"{\"a\":1}\n{\"a\":2}\n"},"finish_reason":"stop"}]}},"error":null}"#;
    /// let mut reader = BatchReader::<Raw>::new(BatchFormat::OpenAi, Options::lenient());
    /// let mut records = Vec::new();
    /// reader.read_line(line)?.lend_events(|event| {
    ///     if let LentResponseEvent::Record { record, .. } = event {
    ///         records.push(record.value.raw().to_owned());
    ///     }
    /// });
    /// assert_eq!(records, [r#"{"a":1}"#, r#"{"a":2}"#]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn lend_events(&mut self, take: impl FnMut(LentResponseEvent<'_>)) {
        if let Some(parser) = &mut self.parser {
            parser.lend_events(take);
        }
    }
}

/// Hides the line.
impl<T> fmt::Debug for BatchReader<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchReader").field("format", &self.format).finish_non_exhaustive()
    }
}

/// Hides the response.
impl<T> fmt::Debug for BatchLine<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchLine").field("status", &self.status).finish_non_exhaustive()
    }
}
