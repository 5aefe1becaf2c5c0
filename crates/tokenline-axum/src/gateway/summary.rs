//! The summary of a request.

use std::fmt;
use std::time::Duration;

use tokenline::Code;
use tokenline::llm::writer::Failure;
use tokenline::llm::{Provider, Usage};

/// The summary of a request. [`Display`](fmt::Display) writes one line for a log, without contents and keys; `{:#}` adds the
/// message of the error, which may quote contents.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RequestSummary {
    /// The id of the request, also in the response's header `x-request-id`.
    pub id: String,
    /// The API of the client.
    pub client: Provider,
    /// The API of the upstream.
    pub upstream: Provider,
    /// The model that the client named; empty if the request was not read.
    pub model: String,
    /// The HTTP status of the response.
    pub status: u16,
    /// Whether the response was streamed.
    pub is_streamed: bool,
    /// Whether request and response were translated. If not, they were forwarded as they are.
    pub is_translated: bool,
    /// Whether the request was sent to the upstream. If not, the gateway refused it.
    pub was_sent: bool,
    /// JSON Pointers (RFC 6901) to the members of the request that the upstream cannot receive.
    pub left_out: Vec<String>,
    /// The calls that were delivered. Of a response that was forwarded whole, none is counted.
    pub tool_calls: u64,
    /// The calls that were rejected.
    pub rejected_calls: u64,
    /// Why the first of them was rejected.
    pub first_reject: Option<Code>,
    /// The calls that were read out of the model's text.
    pub calls_in_text: u64,
    /// The records that were delivered in a response with a schema: the items of its list, or its document.
    pub records: u64,
    /// The records of such a response that the schema rejects.
    pub rejected_records: u64,
    /// Further requests for what was rejected.
    pub reasks: u64,
    /// Further requests for the rest of a response that was cut off.
    pub continuations: u64,
    /// The tokens, as far as they are known.
    pub usage: Usage,
    /// The time until the first byte of the response; `None` if there was none.
    pub first_byte: Option<Duration>,
    /// The time until the end.
    pub duration: Duration,
    /// The error that ended the response, as the client received it. Its message may quote the request or the response.
    pub failure: Option<Failure>,
    /// Whether the client left before the end.
    pub client_left: bool,
}

impl RequestSummary {
    pub(super) fn new(id: String, client: Provider, upstream: Provider) -> Self {
        Self {
            id,
            client,
            upstream,
            model: String::new(),
            status: 200,
            is_streamed: false,
            is_translated: false,
            was_sent: false,
            left_out: Vec::new(),
            tool_calls: 0,
            rejected_calls: 0,
            first_reject: None,
            calls_in_text: 0,
            records: 0,
            rejected_records: 0,
            reasks: 0,
            continuations: 0,
            usage: Usage::default(),
            first_byte: None,
            duration: Duration::ZERO,
            failure: None,
            client_left: false,
        }
    }
}

/// The most characters of a text from outside.
const MAX_SHOWN: usize = 200;

impl fmt::Display for RequestSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Debug escapes line feeds: a client must not write lines of its own.
        let quoted = |text: &str| format!("{:?}", text.chars().take(MAX_SHOWN).collect::<String>());
        let how = match (self.was_sent, self.is_translated) {
            (false, _) => "refused",
            (true, true) => "translated",
            (true, false) => "forwarded",
        };
        let form = if self.is_streamed { "stream" } else { "whole" };
        write!(
            f,
            "{} {} -> {} {how} {form} status={}",
            self.id,
            self.client.as_str(),
            self.upstream.as_str(),
            self.status
        )?;
        if !self.model.is_empty() {
            write!(f, " model={}", quoted(&self.model))?;
        }
        let counts = [
            ("calls", self.tool_calls),
            ("calls_in_text", self.calls_in_text),
            ("rejected_calls", self.rejected_calls),
            ("records", self.records),
            ("rejected_records", self.rejected_records),
            ("reasks", self.reasks),
            ("continuations", self.continuations),
        ];
        for (name, count) in counts.iter().filter(|(_, count)| *count > 0) {
            write!(f, " {name}={count}")?;
        }
        if let Some(code) = self.first_reject {
            write!(f, " first_reject={code}")?;
        }
        let tokens = [("input_tokens", self.usage.input_tokens), ("output_tokens", self.usage.output_tokens)];
        for (name, tokens) in tokens {
            if let Some(tokens) = tokens {
                write!(f, " {name}={tokens}")?;
            }
        }
        if let Some(first_byte) = self.first_byte {
            write!(f, " first_byte_ms={}", first_byte.as_millis())?;
        }
        write!(f, " ms={}", self.duration.as_millis())?;
        if !self.left_out.is_empty() {
            write!(f, " left_out={}", quoted(&self.left_out.join(",")))?;
        }
        if self.client_left {
            f.write_str(" client_left")?;
        }
        match &self.failure {
            Some(failure) if f.alternate() => {
                write!(f, " error={} message={}", failure.status, quoted(&failure.message))
            }
            Some(failure) => write!(f, " error={}", failure.status),
            None => Ok(()),
        }
    }
}
