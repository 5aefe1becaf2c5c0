//! The parser of tool calls in lines, complete responses and streams.

use std::sync::Arc;

use futures_core::stream::TryStream;
use tokenline_codec::{JsonlStreamParser, ToolCalls};
use tokenline_core::adapter::SourceEnd;
use tokenline_core::{Code, Diagnostic, Limits, Options, RejectedCall, Severity, Span, ToolCall};
use tokenline_schema::ToolSet;

use super::native;
use super::parsed::Collector;
use super::text::{self, NonCall};
use super::{ParsedCalls, ToolCalling};
use tokenline_llm::Provider;

/// Reads the tool calls in a model's response.
///
/// Lines, complete responses and streams share one decoder, so they yield the same calls, however a stream is chunked.
/// A malformed or invalid call affects only itself.
///
/// ```
/// use futures_util::StreamExt;
/// use tokenline_core::{CallFormat, ToolDefinition};
/// use tokenline_prompt::tools::ToolCallParser;
/// use tokenline_schema::ToolSet;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let tools = ToolSet::new(&[ToolDefinition::new("weather"), ToolDefinition::new("now")])?;
/// let parser = ToolCallParser::new(CallFormat::Jsonl).with_tools(tools);
///
/// let line = r#"{"name": "weather", "parameters": {"city": "Paris"}, "call_id": "call_1"}"#;
/// let call = parser.parse_line(line).expect("there is a call")?;
/// assert_eq!(call.call_id.as_deref(), Some("call_1"));
///
/// let text = format!("{line}\n{{\"name\": \"wether\", \"parameters\": {{}}}}\n{{\"name\": \"now\", \"args\": {{}}}}\n");
/// let parsed = parser.parse(&text);
/// assert_eq!(parsed.calls.len(), 2);
/// assert_eq!(
///     parsed.rejected[0].to_string(),
///     "2:10: unknown_tool: no such tool; did you mean `weather`? Defined tools: `weather`, `now` (at /name)"
/// );
///
/// let pieces = futures_util::stream::iter([&text[..50], &text[50..]]).map(Ok::<_, std::io::Error>);
/// let streamed: Vec<_> = parser.parse_stream(pieces).infallible().collect().await;
/// assert_eq!(streamed, parsed.calls);
///
/// assert_eq!(parser.validate_jsonl(&text).len(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ToolCallParser {
    calling: ToolCalling,
    provider: Option<Provider>,
    tools: Option<Arc<ToolSet>>,
    limits: Limits,
    in_reasoning: bool,
}

impl ToolCallParser {
    /// A parser for calls made in this way, to tools of any name.
    #[must_use]
    pub fn new(calling: impl Into<ToolCalling>) -> Self {
        let (provider, tools, limits, in_reasoning) = (None, None, Limits::default(), false);
        Self { calling: calling.into(), provider, tools, limits, in_reasoning }
    }

    /// Validates each call against tool definitions: its name and its parameters.
    #[must_use]
    pub fn with_tools(self, tools: impl Into<Arc<ToolSet>>) -> Self {
        Self { tools: Some(tools.into()), ..self }
    }

    /// Sets the provider of native responses; default: detected from each response.
    #[must_use]
    pub fn with_provider(self, provider: Provider) -> Self {
        Self { provider: Some(provider), ..self }
    }

    /// Sets the limits on memory.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Sets whether each text begins inside the model's reasoning, because the prompt has opened it; see
    /// [`Options::in_reasoning`]. A [single line](Self::parse_line) never does.
    #[must_use]
    pub fn in_reasoning(self, in_reasoning: bool) -> Self {
        Self { in_reasoning, ..self }
    }

    /// The way calls are made.
    #[must_use]
    pub fn calling(&self) -> &ToolCalling {
        &self.calling
    }

    /// The tool definitions that calls are validated against.
    #[must_use]
    pub fn tools(&self) -> Option<&Arc<ToolSet>> {
        self.tools.as_ref()
    }
}

// Text.
impl ToolCallParser {
    /// Reads one line of a model's text: `None` if it contains no call, such as blank lines and prose.
    ///
    /// A line with several calls is an error; [`parse`](Self::parse) reads them.
    pub fn parse_line(&self, line: &str) -> Option<Result<ToolCall, Box<RejectedCall>>> {
        let options = self.text_options().in_reasoning(false);
        let ParsedCalls { mut calls, mut rejected, .. } =
            self.parse_text(line.as_bytes(), options, SourceEnd::Clean);
        match calls.len() + rejected.len() {
            0 => None,
            1 => calls.pop().map(Ok).or_else(|| rejected.pop().map(|rejected| Err(Box::new(rejected)))),
            _ => {
                let span = Span::new(0, line.len() as u64);
                let message = "the line contains several tool calls instead of one";
                let diagnostic = Diagnostic::new(Code::TrailingData, 1, span, 1, message);
                Some(Err(Box::new(RejectedCall::new(diagnostic, line))))
            }
        }
    }

    /// Reads the tool calls in a stream of a model's text, in chunks of any `AsRef<[u8]>` type, split anywhere, even
    /// within a character.
    ///
    /// Each call is yielded as soon as it is known to be complete, and nothing is read ahead. Rejects are in the
    /// stream's report. If your stream has no errors, wrap each item in `Ok`.
    ///
    /// This is for text. The decoders in `tokenline-llm` assemble streamed native calls; this parser still reads the
    /// calls that such a model writes into its text.
    pub fn parse_stream<S: TryStream<Ok: AsRef<[u8]>>>(&self, source: S) -> ToolCalls<S> {
        let parser = JsonlStreamParser::new(source).with_options(self.text_options());
        match &self.tools {
            Some(tools) => parser.with_tools(Arc::clone(tools)).tool_calls(),
            None => parser.tool_calls(),
        }
    }

    /// Validates a text against the format that the JSON Lines prompt asks for: every line that is not blank is one
    /// JSON object that is a call; with tools, a call of one of them, with valid parameters. Each diagnostic has its
    /// line and the reason; the text is valid if there are none.
    ///
    /// [`parse`](Self::parse) is more lenient: it skips code fences and prose. Both accept the same member names in
    /// calls.
    #[must_use]
    pub fn validate_jsonl(&self, text: &str) -> Vec<Diagnostic> {
        let mut collector = Collector::new(&self.limits);
        let options = Options::strict().limits(self.limits);
        text::read(
            text.as_bytes(),
            options,
            self.tools.as_ref(),
            (SourceEnd::Clean, NonCall::Rejected),
            &mut collector,
        );
        let report = collector.finish().report;
        report.diagnostics().iter().filter(|finding| finding.severity() == Severity::Error).cloned().collect()
    }

    fn parse_text(&self, text: &[u8], options: Options, end: SourceEnd) -> ParsedCalls {
        let mut collector = Collector::new(&self.limits);
        text::read(text, options, self.tools.as_ref(), (end, NonCall::Rejected), &mut collector);
        collector.finish()
    }

    /// The options for reading calls in text.
    fn text_options(&self) -> Options {
        let options = Options::lenient().limits(self.limits).calls(self.calling.text_format());
        options.in_reasoning(self.in_reasoning)
    }
}

// Responses.
impl ToolCallParser {
    /// Reads the calls of a complete response.
    ///
    /// With [`ToolCalling::FunctionCalling`] it is the JSON of a provider's response that was not streamed, or the
    /// message in it; see [`Provider`]. Of several choices, the first with calls is used. If there are no native calls,
    /// whether `tool_calls` is empty, `null` or missing, calls in any format are read from the response's text; other
    /// objects in it are not rejected, because the response may be JSON. Anything that is not a response of a known
    /// provider is read as such a text too.
    ///
    /// Otherwise it is the model's text.
    #[must_use]
    pub fn parse(&self, response: &str) -> ParsedCalls {
        self.parse_to(response.as_bytes(), SourceEnd::Clean)
    }

    /// Like [`parse`](Self::parse), for a response that may not be UTF-8: a line with such a byte is rejected as
    /// [`invalid_utf8`](Code::InvalidUtf8), and the others are read.
    #[must_use]
    pub fn parse_bytes(&self, response: &[u8]) -> ParsedCalls {
        self.parse_to(response, SourceEnd::Clean)
    }

    /// Like [`parse`](Self::parse), for a text that reached a limit: a call at its very end is rejected as
    /// [`unsealed`](Code::Unsealed), because it may be truncated. Native responses report this themselves.
    #[must_use]
    pub fn parse_truncated(&self, text: &str) -> ParsedCalls {
        self.parse_to(text.as_bytes(), SourceEnd::Failed)
    }

    fn parse_to(&self, response: &[u8], end: SourceEnd) -> ParsedCalls {
        // A body that is not UTF-8 is not JSON.
        let body = match self.calling {
            ToolCalling::Text(_) => return self.parse_text(response, self.text_options(), end),
            ToolCalling::FunctionCalling => std::str::from_utf8(response),
        };
        let mut collector = Collector::new(&self.limits);
        let (options, tools) = (self.text_options(), self.tools.as_ref());
        match body {
            Ok(body) => {
                let body = body.strip_prefix('\u{feff}').unwrap_or(body);
                native::read(body, self.provider, tools, (options, end), &mut collector);
            }
            Err(_) => text::read(response, options, tools, (end, NonCall::Text), &mut collector),
        }
        collector.finish()
    }
}
