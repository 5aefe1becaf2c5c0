//! The parser of responses: a line, a whole response, a stream, and the check of a text.

use std::sync::Arc;

use futures_core::stream::TryStream;
use tokenline_codec::{JsonlStreamParser, ToolCalls};
use tokenline_core::{CallFormat, Code, Diagnostic, Limits, Options, RejectedCall, Severity, Span, ToolCall};
use tokenline_schema::ToolSet;

use super::native;
use super::parsed::Collector;
use super::prompter::Caches;
use super::text::{self, Data, End};
use super::{ParsedCalls, ToolCalling};
use tokenline_llm::Provider;

/// Reads tool calls out of what a model answers.
///
/// A line, a whole response and a stream are read by one machine, so that they come to the same calls,
/// however a stream is cut. A call that is malformed, or breaks the rules of its tool, harms only itself.
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
///     "2:10: unknown_tool: no such tool; defined tools: `weather`, `now` (at /name)"
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
    caches: Option<Arc<Caches>>,
}

/// A response in the cache, under all that its result depends on.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct ResponseKey {
    calling: ToolCalling,
    provider: Option<Provider>,
    tools: Option<SameTools>,
    limits: [usize; 3],
    text: Box<str>,
}

/// Tools that are the same if they were compiled as one. They are held, so that no others can take their
/// place in memory.
#[derive(Debug)]
struct SameTools(Arc<ToolSet>);

/// Longer responses are not cached: entries are counted, not weighed.
const MAX_CACHED: usize = 64 * 1024;

impl ToolCallParser {
    /// A parser of calls that are made this way, of tools of any name.
    #[must_use]
    pub fn new(calling: impl Into<ToolCalling>) -> Self {
        let (provider, tools, limits, caches) = (None, None, Limits::default(), None);
        Self { calling: calling.into(), provider, tools, limits, caches }
    }

    /// The same, with each call held against the definitions of tools: its name, and its parameters.
    #[must_use]
    pub fn with_tools(self, tools: impl Into<Arc<ToolSet>>) -> Self {
        Self { tools: Some(tools.into()), ..self }
    }

    /// The same for native responses of this provider. Otherwise it is found from the response.
    #[must_use]
    pub fn with_provider(self, provider: Provider) -> Self {
        Self { provider: Some(provider), ..self }
    }

    /// The same with other caps on memory.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    pub(super) fn with_caches(self, caches: Arc<Caches>) -> Self {
        Self { caches: Some(caches), ..self }
    }

    /// How the calls are made.
    #[must_use]
    pub fn calling(&self) -> &ToolCalling {
        &self.calling
    }

    /// The definitions of tools that calls are held against.
    #[must_use]
    pub fn tools(&self) -> Option<&Arc<ToolSet>> {
        self.tools.as_ref()
    }
}

// Text.
impl ToolCallParser {
    /// Reads one line of a model's text: `None` if there is no call in it, as in a blank line or in prose.
    ///
    /// A line that holds several calls is an error, as they are not one; [`parse`](Self::parse) reads them.
    pub fn parse_line(&self, line: &str) -> Option<Result<ToolCall, Box<RejectedCall>>> {
        let ParsedCalls { mut calls, mut rejected, .. } = self.parse_text(line, End::Clean);
        match calls.len() + rejected.len() {
            0 => None,
            1 => calls.pop().map(Ok).or_else(|| rejected.pop().map(|rejected| Err(Box::new(rejected)))),
            _ => {
                let span = Span::new(0, line.len() as u64);
                let message = "the line holds several tool calls, not one";
                let diagnostic = Diagnostic::new(Code::TrailingData, 1, span, 1, message);
                Some(Err(Box::new(RejectedCall::new(diagnostic, line))))
            }
        }
    }

    /// Reads the tool calls of a stream of pieces of a model's text: anything that is `AsRef<[u8]>`, cut
    /// anywhere, even within a character.
    ///
    /// Each call comes as soon as it is known to be whole, and nothing is read ahead of what was asked for.
    /// What is rejected is in the stream's report. For a stream of mere texts put an `Ok` around each.
    ///
    /// This is about text. Streamed native calls are fragments that the provider's decoder puts together, in
    /// `tokenline-llm`; of a model that has those, this reads the calls it writes all the same.
    pub fn parse_stream<S: TryStream<Ok: AsRef<[u8]>>>(&self, source: S) -> ToolCalls<S> {
        let parser = JsonlStreamParser::new(source).with_options(self.text_options());
        match &self.tools {
            Some(tools) => parser.with_tools(Arc::clone(tools)).tool_calls(),
            None => parser.tool_calls(),
        }
    }

    /// Holds a text against the format that the prompt for JSON Lines asks for: every line that is not
    /// blank is one JSON object that is a call; with tools, a call of one of them, with parameters that fit.
    /// Each finding has its line and the reason; a text without any is in the format.
    ///
    /// [`parse`](Self::parse) is more forgiving: it reads past fences and prose. What the members of a call may be
    /// called is the same for both.
    #[must_use]
    pub fn validate_jsonl(&self, text: &str) -> Vec<Diagnostic> {
        let mut collector = Collector::new(&self.limits);
        let options = Options::strict().limits(self.limits);
        text::read(text, options, self.tools.as_ref(), (End::Clean, Data::Rejected), &mut collector);
        let report = collector.finish().report;
        report.diagnostics().iter().filter(|finding| finding.severity() == Severity::Error).cloned().collect()
    }

    fn parse_text(&self, text: &str, end: End) -> ParsedCalls {
        let mut collector = Collector::new(&self.limits);
        text::read(text, self.text_options(), self.tools.as_ref(), (end, Data::Rejected), &mut collector);
        collector.finish()
    }

    fn text_options(&self) -> Options {
        text_options(self.calling.text_format(), &self.limits)
    }
}

/// How text is read for calls, wherever it comes from.
pub(super) fn text_options(format: CallFormat, limits: &Limits) -> Options {
    Options::lenient().limits(*limits).calls(format)
}

// Responses.
impl ToolCallParser {
    /// Reads the calls of a whole response.
    ///
    /// With [`ToolCalling::FunctionCalling`] it is the JSON of a provider's response, not streamed, or the
    /// message in it; see [`Provider`]. Of several choices that counts which has calls. If there are no
    /// native calls, whether `tool_calls` is empty, `null` or not there, the text of the answer is read for
    /// calls in any format; an object in it that does not look like a call is no reject, for the answer may be
    /// JSON. What is no response of a known provider is read as such a text too.
    ///
    /// Otherwise it is the model's text.
    #[must_use]
    pub fn parse(&self, response: &str) -> ParsedCalls {
        self.parse_to(response, End::Clean)
    }

    /// As [`parse`](Self::parse), of a text that a limit cut off: a call at its very end is rejected as
    /// [`unsealed`](Code::Unsealed), because it may have been meant to go on. A native response tells by
    /// itself.
    #[must_use]
    pub fn parse_cut(&self, text: &str) -> ParsedCalls {
        self.parse_to(text, End::Cut)
    }

    /// As [`parse`](Self::parse), through the cache of the [`ToolPrompter`](super::ToolPrompter) that
    /// made this parser, for who asks for the same again. Responses of more than 64 KiB are not kept.
    #[must_use]
    pub fn parse_cached(&self, response: &str) -> Arc<ParsedCalls> {
        let parse = || Arc::new(self.parse(response));
        let Some(caches) = self.caches.as_ref().filter(|_| response.len() <= MAX_CACHED) else {
            return parse();
        };
        let Limits { line_bytes, depth, diagnostics, .. } = self.limits;
        let key = ResponseKey {
            calling: self.calling.clone(),
            provider: self.provider,
            tools: self.tools.clone().map(SameTools),
            limits: [line_bytes, depth, diagnostics],
            text: response.into(),
        };
        match caches.responses.try_get(key, |_| Ok::<_, std::convert::Infallible>(parse())) {
            Ok(parsed) => parsed,
            Err(never) => match never {},
        }
    }

    fn parse_to(&self, response: &str, end: End) -> ParsedCalls {
        match self.calling {
            ToolCalling::Text(_) => self.parse_text(response, end),
            ToolCalling::FunctionCalling => {
                let mut collector = Collector::new(&self.limits);
                let response = response.strip_prefix('\u{feff}').unwrap_or(response);
                native::read(response, self.provider, self.tools.as_ref(), end, &mut collector);
                collector.finish()
            }
        }
    }
}

impl PartialEq for SameTools {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for SameTools {}

impl std::hash::Hash for SameTools {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).hash(state);
    }
}
